"""The fixtures of the pytest plugin, for the tests of applications."""

from __future__ import annotations

import re
import subprocess
import sys
from hashlib import sha256
from typing import TYPE_CHECKING

from bench.runs import APPLICATION, liar
from support.server import environment

if TYPE_CHECKING:
    from pathlib import Path


PLUGIN_TESTS = """
def test_right(adyton_serve, adyton_bench):
    url = adyton_serve({application!r}, threads=2)
    report = adyton_bench(url + "/", connections=4, requests=100, warm_up="100ms", header=["A: b"])
    assert report["counts"]["right"] > 0

def test_pairs(adyton_serve, adyton_bench):
    url = adyton_serve({application!r}, threads=2)
    asked = dict(connections=1, requests=1, warm_up="0", header={{"X-Two": 2}}, cookie={{"c": "d", "e": "f"}})
    report = adyton_bench(url + "/fields", **asked, form={{"g": "h"}}, expect_sha256={fields!r})
    assert report["asked"]["method"] == "POST"

def test_no_pairs(adyton_bench):
    adyton_bench({liar!r}, rate={{"a": 1}})

def test_wrong(adyton_bench):
    adyton_bench({liar!r}, connections=4, requests=100, warm_up="100ms")

def test_no_application(adyton_serve):
    adyton_serve("nowhere.py")
"""

CONDITIONS = """
SURE = {{"connections": 4, "requests": 100, "warm_up": "100ms"}}

def test_condition_that_holds(adyton_bench):
    adyton_bench({liar!r}, **SURE, fail_if=["p50>1us", "errors>0"])

def test_condition_that_does_not(adyton_bench):
    adyton_bench({liar!r}, **SURE, fail_if="p50>1000s")

def test_no_rate(adyton_bench):
    adyton_bench({liar!r}, connections=4, duration="300ms", warm_up="100ms", find_rate="p50<1us")

def test_debug(adyton_bench):
    adyton_bench({liar!r}, debug=True)
"""


def run(folder: Path, tests: str) -> str:
    """Run tests with our fixtures, as in a job of GitHub's; return what pytest says."""
    (folder / "test_it.py").write_text(tests)
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder / "test_it.py"))
    variables = environment(None) | {"GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, cwd=folder, env=variables
    )
    return done.stdout


def test_plugin(tmp_path: Path) -> None:
    """With our fixtures a test must fail if an answer is not right, and if the server does not start."""
    fields = sha256(b"X-Two: 2\nCookie: c=d; e=f\n").hexdigest()
    with liar("bad-gateway") as url:
        said = run(tmp_path, PLUGIN_TESTS.format(application=str(APPLICATION), liar=url, fields=fields))

    assert "3 failed, 2 passed" in said
    assert "requests had no right answer" in said
    assert re.search(r"^statuses: 200: \d+, 502: \d+; right is 200$", said, re.MULTILINE)
    assert "rate: a dictionary is for header, cookie, form" in said
    assert "the server does not start" in said
    assert "nowhere" in said
    assert not (tmp_path / "summary.md").exists(), "a smoke test is no result of the job's"


def test_conditions(tmp_path: Path) -> None:
    """A test must fail if a condition holds, if no rate is found, and if an option cannot be used."""
    with liar("honest") as url:
        said = run(tmp_path, CONDITIONS.format(liar=url))

    assert "3 failed, 1 passed" in said
    assert "failed, because p50>1us" in said
    assert "p50<1us holds at no rate" in said
    assert "debug shows an exchange and measures nothing" in said
