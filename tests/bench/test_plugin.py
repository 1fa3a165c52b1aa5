"""Fixtures for the tests of applications."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from bench.runs import APPLICATION, liar
from support.server import environment

if TYPE_CHECKING:
    from pathlib import Path


PLUGIN_TESTS = """
def test_right(adyton_serve, adyton_bench):
    url = adyton_serve({application!r}, threads=2)
    report = adyton_bench(url + "/", connections=4, duration="300ms", warm_up="100ms", header=["A: b"])
    assert report["counts"]["right"] > 0

def test_wrong(adyton_bench):
    adyton_bench({liar!r}, connections=4, duration="300ms", warm_up="100ms")

def test_no_application(adyton_serve):
    adyton_serve("nowhere.py")
"""


def test_plugin(tmp_path: Path) -> None:
    """With our fixtures a test fails when an answer is not right, and when the server does not start."""
    with liar("bad-gateway") as url:
        (tmp_path / "test_it.py").write_text(PLUGIN_TESTS.format(application=str(APPLICATION), liar=url))
        command = (
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            str(tmp_path / "test_it.py"),
        )
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            cwd=tmp_path,
            env=environment(None),
        )

    assert "2 failed, 1 passed" in done.stdout
    assert "requests had no right answer" in done.stdout
    assert "the server does not start" in done.stdout
    assert "nowhere" in done.stdout
