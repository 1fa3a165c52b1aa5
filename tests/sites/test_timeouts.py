"""Timeouts of a route: they replace the site's timeout for the route's calls."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from sites.conftest import write
from support.server import until

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Server, Servers

APPLICATION = '''
import time


def application(environ, start_response):
    """Take as many seconds as the query says, or for ever, or speak now and then."""
    start_response("200 OK", [("Content-Type", "text/plain")])
    if environ["QUERY_STRING"] == "for-ever":
        while True:
            time.sleep(0.01)
    if environ["QUERY_STRING"] == "speak":
        return speak()
    time.sleep(float(environ["QUERY_STRING"] or 0))
    return [environ["PATH_INFO"].encode()]


def speak():
    """Say something now and then, without an end."""
    while True:
        time.sleep(0.01)
        yield b"more"


def send_on(environ, start_response):
    """Have another route answer."""
    start_response("200 OK", [("X-Accel-Redirect", "/sent/?" + environ["QUERY_STRING"])])
    return []


def check_password(environ, user, password):
    """Never answer."""
    while True:
        time.sleep(0.01)
'''

FILE = """
[[sites]]
request-timeout = "TIMEOUT"

[[sites.routes]]
app = "slow:application"

[[sites.routes]]
path = "/brief/"
app = "slow:application"
request-timeout = "200ms"

[[sites.routes]]
path = "/bounded/"
app = "slow:application"
request-total-timeout = "300ms"

[[sites.routes]]
path = "/long/"
app = "slow:application"
request-timeout = "60s"

[[sites.routes]]
path = "/brief/sending/"
app = "slow:send_on"
request-timeout = "200ms"
internal-redirects = true

[[sites.routes]]
path = "/sent/"
app = "slow:application"
internal = true

[[sites.routes]]
path = "/guarded/"
files = "public"
static-fall-through = true
auth = "basic-python:slow"
request-timeout = "200ms"

[[sites.routes]]
path = "/through/"
files = "public"
headers = { X-Passed = "files" }
static-fall-through = true
request-timeout = "200ms"
"""


@pytest.fixture
def slow(project: Path) -> Path:
    """Return the project with a slow application."""
    (project / "slow.py").write_text(APPLICATION, encoding="utf-8")
    return project


def start(serve: Servers, slow: Path, timeout: str, *arguments: str) -> Server:
    """Serve the file, with this timeout for the site."""
    return serve(write(slow, FILE.replace("TIMEOUT", timeout)), *arguments, cwd=slow)


@pytest.mark.parametrize("threads", ["--threads=1", "--threads=4"])
def test_shorter(serve: Servers, slow: Path, threads: str) -> None:
    """A route may have a shorter timeout than its site; other routes keep the site's timeout."""
    server = start(serve, slow, "60s", threads)
    with server.connect() as connection:
        assert 504 == connection.get("/brief/?for-ever").status
        for target in ("/?0.6", "/through/none?0.6", "/?0.6"):
            answer = connection.get(target)

            assert 200 == answer.status, target
        # On a busy machine, so short a timeout may end before the first piece was sent.
        for target in ("/brief/?0", "/bounded/?0"):
            assert until(lambda target=target: 200 == connection.get(target).status)

    def breaks_off() -> bool:
        with server.connect() as connection:
            return not connection.get("/bounded/?speak").complete

    assert until(breaks_off)


def test_longer(serve: Servers, slow: Path) -> None:
    """A route may have a longer timeout than its site."""
    server = start(serve, slow, "300ms", "--threads=4")

    assert [504, 200] == [server.fetch(target).status for target in ("/?for-ever", "/long/?0.8")]
    with server.connect() as connection:
        assert [200, 504, 200] == [
            connection.get(target).status for target in ("/long/?0.5", "/?for-ever", "/long/?0.5")
        ]


def test_sent_on(serve: Servers, slow: Path) -> None:
    """A request that is sent on has the timeout of the route that answers it."""
    server = start(serve, slow, "60s", "--threads=4")

    # On a busy machine, the short timeout of the first route may end before it sends the request on.
    assert until(lambda: b"/sent/" == server.fetch("/brief/sending/?0.6").body)


def test_who_asks(serve: Servers, slow: Path) -> None:
    """A Python function that a route's rules call has that route's timeout."""
    server = start(serve, slow, "60s", "--threads=4")
    fields = [("Authorization", "Basic YTpi")]

    assert 504 == server.fetch("/guarded/", fields=fields, lint_answers=False).status


def test_many(serve: Servers, slow: Path) -> None:
    """Concurrent requests of both routes each have their route's timeout."""
    server = start(serve, slow, "60s", "--threads=4")
    statuses: dict[str, int] = {}

    def ask(target: str) -> None:
        statuses[target] = server.fetch(target).status

    asking = [
        threading.Thread(target=ask, args=[target]) for target in ("/?0.7", "/brief/?for-ever", "/?0.71")
    ]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()

    assert {"/?0.7": 200, "/brief/?for-ever": 504, "/?0.71": 200} == statuses
