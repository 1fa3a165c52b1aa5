"""`close` of an iterable is called exactly once, whatever happens."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from support.client import request
from support.server import LOG_TIMEOUT_S

if TYPE_CHECKING:
    from support.server import Server


def closed(server: Server, count: int = 1) -> list[str]:
    """Return the names of the closed iterables, waiting a little for the first `count`."""
    told: list[str] = []
    deadline = time.monotonic() + LOG_TIMEOUT_S
    while len(told) < count and time.monotonic() < deadline:
        told += server.fetch("/closed").json()
    told += server.fetch("/closed").json()
    return told


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
def test_normal(site: Server, method: str) -> None:
    """`close` is called once for a request that went well; several connections close in any order."""
    for number in range(3):
        assert 200 == site.fetch(f"/closing?{number}", method=method).status
    assert ["0", "1", "2"] == sorted(closed(site, 3))


def test_before_the_next_request(plain: Server) -> None:
    """`close` is called before the next request of the connection runs."""
    with plain.connect() as connection:
        connection.send(request("/closing?a") + request("/closed") + request("/closed"))

        assert b"one two" == connection.receive().body
        assert ["a"] == connection.receive().json()
        assert [] == connection.receive().json()


@pytest.mark.parametrize("target", ["/length", "/empty-first"])
def test_other_iterables(site: Server, target: str) -> None:
    """Iterables with a length of their own, and with empty items, are closed."""
    site.fetch(target)

    assert [target[1:]] == closed(site)


@pytest.mark.parametrize("target", ["/file?0", "/memory?0"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_files(site: Server, target: str, method: str) -> None:
    """The file in a wrapper is closed, sent or not."""
    site.fetch(target, method=method)

    assert [target[1:-2]] == closed(site)


@pytest.mark.parametrize("target", ["/raises-at-first", "/raises-midway", "/second-item"])
def test_exceptions(plain: Server, target: str) -> None:
    """An exception does not keep `close` from being called."""
    with plain.connect() as connection:
        connection.get(target)

    assert [target[1:]] == closed(plain)


def test_without_start_response(plain: Server) -> None:
    """An application that never calls start_response has its iterable closed."""
    assert 500 == plain.fetch("/never-starts").status
    assert ["never-starts"] == closed(plain)


@pytest.mark.parametrize("how", ["reset", "close", "half close"])
def test_client_that_leaves(plain: Server, how: str) -> None:
    """A client that leaves in the middle ends the iterable: it is closed and does not run on for ever."""
    with plain.connect(receive_buffer_bytes=4096) as connection:
        connection.send(request("/pour?200"))
        connection.socket.recv(1000)
        if how == "reset":
            connection.abort()
        elif how == "half close":
            connection.half_close()
            connection.socket.recv(1000)
    assert ["pour"] == closed(plain)
    assert 200 > len(plain.fetch("/noted").json())
    assert b"hello, world" == plain.fetch("/").body


def test_client_that_leaves_logs_no_traceback(plain: Server) -> None:
    """A client that leaves is no error of the application."""
    mark = plain.mark()
    with plain.connect(receive_buffer_bytes=4096) as connection:
        connection.send(request("/pour?50"))
        connection.socket.recv(1000)
        connection.abort()
    assert ["pour"] == closed(plain)
    assert "Traceback" not in plain.log()[mark:]
