"""Applications that break rules: each gets the expected answer, and the process goes on."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from attack.applications import OUTCOMES
from support.server import OUR_TRACEBACK, PANIC

if TYPE_CHECKING:
    from support.server import Server, Servers


@pytest.fixture(scope="session")
def wild(serve_session: Servers) -> Server:
    """Serve all applications. Some log megabytes: the queue must have room for the lines of the next one."""
    return serve_session(Path(__file__).with_name("applications.py"), "--log-queue-bytes-max=256m")


@pytest.mark.parametrize("path", OUTCOMES)
def test_outcome(wild: Server, path: str) -> None:
    """The answer is the expected one, and the same process answers the next request rightly."""
    pid = str(wild.process.pid).encode()
    outcome, mark = OUTCOMES[path], wild.mark()
    with wild.connect(lint_answers=False) as connection:
        response = connection.get(path)

        assert outcome.status == response.status
        assert outcome.body in {None, response.body}
        assert outcome.complete == response.complete
        assert "X-Evil" not in response
        if response.complete and not response.closing:
            assert pid == connection.get("/").body
    assert pid == wild.fetch("/").body
    if outcome.said:
        wild.wait_for_log(outcome.said, since=mark)
    said = wild.log()[mark:]
    assert not PANIC.search(said)
    assert not OUR_TRACEBACK.search(said)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", said)
