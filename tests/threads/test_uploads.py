"""With `--stream-body` an application reads a body as it comes; a slow sender holds up no other client."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from support.client import chunked, request
from threads.application import pattern
from threads.scenes import receive_all, start, target

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.client import Connection
    from support.server import Servers
    from threads.scenes import Site

THREADS = pytest.mark.parametrize("threads", [1, 2, 16])
FRAMINGS = pytest.mark.parametrize("framing", ["length", "chunked"])
LINES = [b"one\n", b"two\n", b"three\n"]


@pytest.fixture
def streaming(serve: Servers, tmp_path: Path) -> Callable[..., Site]:
    """Return a function that starts a server that gives bodies to the application as they come."""

    def start_streaming(threads: int, *flags: str) -> Site:
        return start(serve, tmp_path, threads, "--stream-body=on", *flags)

    return start_streaming


def head(how: str, name: str, framing: str, size: int) -> bytes:
    """Return the head of an upload."""
    field = f"Content-Length: {size}" if framing == "length" else "Transfer-Encoding: chunked"
    return f"POST {target('/upload', how=how, name=name)} HTTP/1.1\r\nHost: a\r\n{field}\r\n\r\n".encode()


def part(data: bytes, framing: str) -> bytes:
    """Return a part of a body as it is sent."""
    return data if framing == "length" else chunked(data, last=b"")


def end(framing: str) -> bytes:
    """Return the end of a body."""
    return b"" if framing == "length" else chunked()


@FRAMINGS
@pytest.mark.parametrize("threads", [2, 16])
def test_as_it_comes(streaming: Callable[..., Site], threads: int, framing: str) -> None:
    """The application is called before there is a body, and has each line as soon as it is sent."""
    site = streaming(threads)
    with site.server.connect() as connection:
        connection.send(head("lines", "lines", framing, sum(map(len, LINES))))
        site.wait_noted("lines", "called")
        for number, line in enumerate(LINES):
            connection.send(part(line, framing))
            told = site.wait_noted("lines", line.decode())
            assert ["called", *(line.decode() for line in LINES[: number + 1])] == told
        connection.send(end(framing))
        assert b"".join(LINES) == connection.receive().body
        assert b"hello" == connection.get("/hello").body


@FRAMINGS
@THREADS
@pytest.mark.parametrize("size", [0, 1, 100, 300_000, 5_000_000])
def test_whole(streaming: Callable[..., Site], threads: int, framing: str, size: int) -> None:
    """Bodies of any size come whole, one behind the other on one connection."""
    site = streaming(threads)
    body = pattern(size)
    pieces = [part(body[at : at + 70_000], framing) for at in range(0, size, 70_000)]
    with site.server.connect() as connection:
        for _ in range(3):
            connection.send(head("all", "whole", framing, size))
            for piece in pieces:
                connection.send(piece)
            connection.send(end(framing))
            assert body == connection.receive().body
        assert b"hello" == connection.get("/hello").body


@FRAMINGS
@THREADS
def test_pipelined(streaming: Callable[..., Site], threads: int, framing: str) -> None:
    """Bytes that follow a body in the same send are the next request."""
    site = streaming(threads)
    upload = head("all", "pipelined", framing, 100) + part(pattern(100), framing) + end(framing)
    with site.server.connect() as connection:
        connection.send((upload + request("/hello")) * 5)
        for _ in range(5):
            assert pattern(100) == connection.receive().body
            assert b"hello" == connection.receive().body


@FRAMINGS
@THREADS
@pytest.mark.parametrize("size", [10, 100_000])
def test_unread(streaming: Callable[..., Site], threads: int, framing: str, size: int) -> None:
    """An application may answer without reading; the body is then discarded, or the connection ends."""
    site = streaming(threads)
    data = head("nothing", "unread", framing, size) + part(pattern(size), framing) + end(framing)
    with site.server.connect() as connection:
        connection.send(data)
        response = connection.receive()

        assert b"unread" == response.body
        if not response.closing:
            assert b"hello" == connection.get("/hello").body


@FRAMINGS
@pytest.mark.parametrize("threads", [2, 16])
@pytest.mark.parametrize("how", ["reset", "close"])
def test_client_that_leaves(streaming: Callable[..., Site], threads: int, framing: str, how: str) -> None:
    """A client that leaves midway ends the reading with an OSError, which is not logged as a failure."""
    site = streaming(threads)
    with site.server.connect() as connection:
        connection.send(head("all", "left", framing, 1000) + part(b"x" * 500, framing))
        site.wait_noted("left", "called")
        if how == "reset":
            connection.abort()
    told = site.wait_noted("left", "OSError")

    assert ["called", "OSError"] == told
    site.wait_settled()
    assert "Traceback" not in site.server.log()


def test_client_that_stops(streaming: Callable[..., Site]) -> None:
    """A client that stops sending does not hold a thread for ever."""
    site = streaming(2, "--body-idle-timeout=300ms")
    with site.server.connect() as connection:
        connection.send(head("all", "stopped", "length", 1000) + b"x")
        site.wait_noted("stopped", "OSError")
        assert 408 == connection.receive().status
        assert connection.at_end()
    site.wait_settled()


def trickle(connections: list[Connection]) -> None:
    """Send one more byte over each connection."""
    for connection in connections:
        connection.send(b"x")


@pytest.mark.parametrize("threads", [2, 16])
def test_slow_ones_stop_nobody(streaming: Callable[..., Site], threads: int) -> None:
    """While all threads except one wait for bodies, other requests are served."""
    site = streaming(threads)
    with ExitStack() as stack:
        slow = [stack.enter_context(site.server.connect()) for _ in range(threads - 1)]
        for number, connection in enumerate(slow):
            connection.send(head("all", f"slow{number}", "length", 10))
            site.wait_noted(f"slow{number}", "called")
        for _ in range(10):
            assert b"hello" == site.server.fetch("/hello").body
            assert b"static" == site.server.fetch("/static/file.txt").body
            trickle(slow)
        assert [b"x" * 10] * len(slow) == [response.body for response in receive_all(slow)]


@THREADS
def test_static_with_all_threads_reading(streaming: Callable[..., Site], threads: int) -> None:
    """When every thread waits for a body, files are served all the same."""
    site = streaming(threads)
    with ExitStack() as stack:
        slow = [stack.enter_context(site.server.connect()) for _ in range(threads + 2)]
        for connection in slow:
            connection.send(head("all", "slow", "length", 10))
        for _ in range(10):
            assert b"static" == site.server.fetch("/static/file.txt").body
            trickle(slow)
        assert [b"x" * 10] * len(slow) == [response.body for response in receive_all(slow)]


@THREADS
def test_expect(streaming: Callable[..., Site], threads: int) -> None:
    """A client that waits to be asked for its body is asked when the application reads."""
    site = streaming(threads)
    data = head("all", "asked", "length", 5).replace(b"\r\n\r\n", b"\r\nExpect: 100-continue\r\n\r\n")
    with site.server.connect() as connection:
        connection.send(data)
        assert 100 == connection.reader.interim()
        connection.send(b"hello")
        assert b"hello" == connection.receive().body


@pytest.mark.parametrize("threads", [1, 2, 16])
def test_too_many_are_read_before(streaming: Callable[..., Site], threads: int) -> None:
    """When as many bodies as allowed are read as they come, a further body is read before the call."""
    site = streaming(threads, "--stream-body-threads=1")
    with ExitStack() as stack:
        first, second = (stack.enter_context(site.server.connect()) for _ in range(2))
        first.send(head("all", "first", "length", 10) + b"hello")
        if threads > 1:
            site.wait_noted("first", "called")
        second.send(head("all", "second", "length", 10) + b"HELLO")
        for _ in range(5):
            assert b"hello" == site.server.fetch("/hello").body
        assert [] == site.notes("second")
        second.send(b"world")
        assert b"HELLOworld" == second.receive().body
        first.send(b"WORLD")
        assert b"helloWORLD" == first.receive().body


@FRAMINGS
@pytest.mark.parametrize("threads", [2, 16])
def test_answered_before_the_end(streaming: Callable[..., Site], threads: int, framing: str) -> None:
    """A client that sends on while the answer comes gets the answer, and no reset."""
    site = streaming(threads, "--linger-timeout=1m")
    with site.server.connect() as connection:
        connection.send(head("nothing", "early", framing, 1_000_000) + part(b"x" * 1000, framing))
        response = connection.receive()
        assert (b"unread", True) == (response.body, response.closing)

        for _ in range(100):
            connection.send(part(b"x" * 1000, framing))
        assert connection.at_end()


@pytest.mark.parametrize("threads", [2, 16])
def test_too_large(streaming: Callable[..., Site], threads: int) -> None:
    """A chunked body that becomes too large is answered 413, whatever the application does."""
    site = streaming(threads, "--body-bytes-max=1k")
    with site.server.connect() as connection:
        connection.send(head("all", "large", "chunked", 0) + part(b"x" * 1025, "chunked"))
        assert 413 == connection.receive().status
        assert connection.at_end()


@pytest.mark.parametrize("threads", [2, 16])
@pytest.mark.parametrize("sent", [b"", b"hello"], ids=["nothing", "half"])
def test_read_elsewhere(streaming: Callable[..., Site], threads: int, sent: bytes) -> None:
    """A request that ends while another thread still reads its body keeps no other request waiting."""
    site = streaming(threads, "--linger-timeout=1m")
    with site.server.connect() as connection:
        connection.send(head("elsewhere", "elsewhere", "length", 10) + sent)
        answer = connection.receive()
        assert (b"unread", True) == (answer.body, answer.closing)

        assert b"hello" == site.server.fetch("/hello").body
        assert ["called"] == site.notes("elsewhere"), "it reads still"
    assert len(site.wait_noted("elsewhere", "RuntimeError")) == 2
