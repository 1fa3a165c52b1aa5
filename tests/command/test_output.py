"""Output of commands that goes nowhere: to a reader that has seen enough, or to a full disk."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from support.server import AS_ROOT, environment

if TYPE_CHECKING:
    from pathlib import Path

SITE = """
[[sites]]

[[sites.routes]]
path = "/"
respond = 404
"""
NGINX = "user nobody;\nevents {}\nhttp { server { listen 8080; location / { return 404; } } }\n"
COMMANDS = (
    "--help",
    "bench --help",
    "compare --list",
    "schema",
    "reference",
    "check site.toml",
    "help route",
    "route site.toml GET /",
    "import nginx.conf",
    "init",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with files that commands read."""
    (tmp_path / "site.toml").write_text(SITE, encoding="ascii")
    (tmp_path / "nginx.conf").write_text(NGINX, encoding="ascii")
    (tmp_path / "empty").mkdir()
    return tmp_path


def run(folder: Path, command: str, output: int) -> subprocess.CompletedProcess[str]:
    """Run a command whose output goes to a descriptor."""
    words = [sys.executable, "-m", "adyton", *command.split()]
    inside = folder / "empty" if command == "init" else folder
    return subprocess.run(
        words, cwd=inside, env=environment(), stdout=output, stderr=subprocess.PIPE, text=True, check=False
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_reader_is_gone(folder: Path, command: str) -> None:
    """A reader that has closed the pipe, as ``| head`` does, is no error, and there is no message."""
    reader, writer = os.pipe()
    os.close(reader)

    done = run(folder, command, writer)
    os.close(writer)

    assert (0, "") == (done.returncode, AS_ROOT.sub("", done.stderr))


@pytest.mark.parametrize("command", COMMANDS)
def test_disk_is_full(folder: Path, command: str) -> None:
    """If output cannot be written for another reason, there is an error message, and the command fails."""
    full = os.open("/dev/full", os.O_WRONLY)

    done = run(folder, command, full)
    os.close(full)

    assert 1 == done.returncode
    assert "standard output cannot be written: No space left on device" in done.stderr
    assert 1 == len(AS_ROOT.sub("", done.stderr).splitlines())
