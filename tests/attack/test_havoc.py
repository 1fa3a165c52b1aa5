"""Applications that do havoc to their process: requests are answered, and the process ends as it should."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from attack.havoc import HAVOC

if TYPE_CHECKING:
    from support.server import Servers

ENDS_WITH = {
    "stdout-broken": 120,
    "stdout-number": 120,
    "stderr-broken": 120,
    "stderr-number": 120,
    "import-fails": 1,
    "all-modules-gone": 1,
}
"""Exit status of a process after havoc: 120 is Python's, if a stream cannot be flushed; 1 is ours, with a
message."""

TARGET = Path(__file__).with_name("havoc.py")


@pytest.mark.parametrize("kind", HAVOC)
def test_havoc(serve: Servers, kind: str) -> None:
    """Whatever the application did, the same process answers further requests, and its end is clean."""
    server = serve(TARGET, "--threads=2")
    pid = str(server.process.pid).encode()
    first = server.fetch(f"/havoc/{kind}")

    assert first.status in {200, 500}
    for _ in range(2):
        assert pid == server.fetch("/").body
        assert 500 == server.fetch("/fails").status
        assert server.fetch("/prints").status in {200, 500}
    assert pid == server.fetch("/").body

    server.signal(signal.SIGTERM)
    assert ENDS_WITH.get(kind, 0) == server.wait(), server.log()
    assert 1 != ENDS_WITH.get(kind) or "the interpreter failed: " in server.log()
