"""Where nothing can be written, the server does without its files, but fails if a user has named one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.server import adyton, run

if TYPE_CHECKING:
    from support.server import Servers

HERE = Path(__file__).parent

SEALED = """
set -e
mount -o remount,bind,ro /
for folder in /run /tmp; do mount -t tmpfs -o ro none $folder; done
exec "$@"
"""
"""Runs a command in a mount namespace of its own: `/run` and `/tmp` are empty, and nothing can be written."""


def sealed(*flags: str) -> list[str]:
    """Return the command that serves where root can write nothing; others only lack the control socket."""
    command = adyton("serve", "application.py", "--bind", "127.0.0.1:0", *flags)
    if os.geteuid() != 0:
        return ["env", "XDG_RUNTIME_DIR=/proc", *command]
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", SEALED, "sealed", *command]


@pytest.mark.parametrize("flags", [("0",), ("2",), ("1", "--preload")], ids=" ".join)
def test_serves(serve: Servers, flags: tuple[str, ...]) -> None:
    """The server starts, serves, and says once what it lacks, and which setting gives it."""
    server = serve.start(sealed("--processes", *flags), cwd=HERE)

    assert b"hello" == server.fetch().body
    log = server.log()
    assert (flags != ("0",)) == log.count("adyton status, reload, stop and the like do not find this server")
    assert (flags != ("0",)) == log.count("(setting --control)")
    assert (os.geteuid() == 0) == log.count("large bodies cannot be stored in /tmp: ")
    server.stop()


@pytest.mark.parametrize(
    ("flag", "said"),
    [
        (("--control", "/proc/control.sock"), "cannot listen for orders at /proc/control.sock"),
        (("--temp-dir", "/proc"), "large bodies cannot be stored in /proc"),
    ],
)
def test_what_is_named_must_work(flag: tuple[str, str], said: str) -> None:
    """A file that the user has named and that cannot be made keeps the server from starting."""
    flags = ("--bind", "127.0.0.1:0", "--processes", "1", *flag)
    done = run("serve", str(HERE / "application.py"), *flags)

    assert done.returncode in {1, 2}
    assert said in done.stderr
    assert flag[0] in done.stderr
