"""Rules 24, 27, 29 and 31: bodies that are cut off, too large, or not read."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from support.client import chunked, request
from support.http import NoResponseError

if TYPE_CHECKING:
    from pathlib import Path

    from support.client import Connection
    from support.server import Server, Servers

CHUNKED = ("Transfer-Encoding", "chunked")
MEGABYTE = 1 << 20


def post(target: str, length: int) -> bytes:
    """Return the head of a POST with a body of this length."""
    return request(target, method="POST", fields=[("Content-Length", str(length))])


def status_at_end(connection: Connection) -> int:
    """Return the status of the only answer once the connection has ended; 0 if there was no answer."""
    try:
        status = connection.receive("POST").status
    except NoResponseError:
        return 0
    assert connection.at_end()
    return status


@pytest.mark.parametrize(
    "data",
    [
        post("/", 10) + b"hello",
        post("/", 10),
        request(method="POST", fields=[CHUNKED], body=b"5\r\nhel"),
        request(method="POST", fields=[CHUNKED], body=b"5\r\nhello\r\n"),
        request(method="POST", fields=[CHUNKED], body=b"5\r\nhello\r\n0\r\n"),
        request(method="POST", fields=[CHUNKED], body=b"5\r\nhello\r\n0"),
        request(method="POST", fields=[CHUNKED], body=b"5\r\nhello\r\n0\r\nX-A: b\r\n"),
        request(method="POST", fields=[CHUNKED]),
    ],
    ids=["half", "nothing", "in data", "no last", "no end", "no line", "in trailers", "no chunk"],
)
def test_cut_body_is_no_success(server: Server, data: bytes) -> None:
    """A body that ends early is never taken for a complete one (rule 24)."""
    server.fetch("/seen")
    with server.connect() as connection:
        connection.send(data)
        connection.half_close()

        assert status_at_end(connection) in {0, 400, 408}
    assert [] == server.fetch("/seen").json()


@pytest.mark.parametrize("data", [b"G", b"GET / HT", b"GET / HTTP/1.1\r\nHost: a\r\n", b"\r\n"])
def test_cut_head_is_no_request(server: Server, data: bytes) -> None:
    """A head that ends early gets an error or no answer, and never becomes a request."""
    server.fetch("/seen")
    with server.connect() as connection:
        connection.send(data)
        connection.half_close()

        assert status_at_end(connection) in {0, 400, 408}
    assert [] == server.fetch("/seen").json()


@pytest.mark.parametrize("size", [10, 70_000, 3 * MEGABYTE])
def test_unread_body_is_no_request(server: Server, size: int) -> None:
    """A body that the application does not read is drained, or the connection ends (rules 27 and 29)."""
    server.fetch("/seen")
    body = (request("/smuggled") * (size // 40 + 1))[:size]
    with server.connect() as connection, contextlib.suppress(BrokenPipeError, ConnectionResetError):
        connection.send(post("/unread", size))
        connection.send(body)
        first = connection.receive("POST")

        assert 200 == first.status
        if not first.closing:
            assert "/tail" == connection.get("/tail").json()["path"]
        else:
            assert connection.at_end()
    assert "GET /smuggled" not in server.fetch("/seen").json()


@pytest.mark.parametrize("size", [1024, 1025])
def test_body_limit_by_length(serve: Servers, application: Path, size: int) -> None:
    """A length up to the limit is accepted; one byte more is answered 413 before any of the body is read."""
    server = serve(application, "--body-bytes-max", "1k")
    with server.connect() as connection:
        connection.send(post("/", size))
        if size > 1024:
            assert 413 == status_at_end(connection)
        else:
            connection.send(b"x" * size)

            assert size == len(connection.receive("POST").json()["body"])


@pytest.mark.parametrize("size", [1024, 1025])
def test_body_limit_by_chunks(serve: Servers, application: Path, size: int) -> None:
    """The limit also holds for a body whose length is not announced."""
    server = serve(application, "--body-bytes-max", "1k")
    with server.connect() as connection:
        connection.send(
            request(
                "/",
                method="POST",
                fields=[CHUNKED],
                body=chunked(b"x" * 1000, b"y" * (size - 1000)),
            )
        )
        if size > 1024:
            assert 413 == status_at_end(connection)
        else:
            assert size == len(connection.receive("POST").json()["body"])


def test_announced_chunk_above_the_limit(serve: Servers, application: Path) -> None:
    """A chunk that announces a size above the limit is refused before its data comes."""
    server = serve(application, "--body-bytes-max", "1k")
    with server.connect() as connection:
        connection.send(request("/", method="POST", fields=[CHUNKED], body=b"401\r\n"))

        assert 413 == status_at_end(connection)


@pytest.mark.parametrize("size", [100_000, 300_000, 20 * MEGABYTE])
@pytest.mark.parametrize("framing", ["length", "chunks"])
def test_early_answer_survives(serve: Servers, application: Path, size: int, framing: str) -> None:
    """A client that sends its whole body before it reads gets the 413, not a reset (rule 29)."""
    server = serve(application, "--body-bytes-max", "1k")
    if framing == "length":
        head, body = post("/", size), b"x" * size
    else:
        head, body = request("/", method="POST", fields=[CHUNKED]), chunked(b"x" * size)
    with server.connect() as connection:
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            connection.send(head)
            connection.send(body)
        response = connection.receive("POST")

        assert 413 == response.status
        assert response.complete
        assert response.closing
        if size <= 300_000:
            assert connection.at_end()
            assert not connection.was_reset


@pytest.mark.parametrize("pieces", [1, 50])
def test_error_survives_what_follows(server: Server, pieces: int) -> None:
    """A 400 reaches even a client that goes on sending (rules 28 and 29)."""
    with server.connect() as connection:
        connection.send(b"GET / HTTP/1.1\r\nBad Name: x\r\n\r\n")
        for _ in range(pieces):
            connection.send(b"x" * 4000)
        response = connection.receive()

        assert 400 == response.status
        assert connection.at_end()
        assert not connection.was_reset
