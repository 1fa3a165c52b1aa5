"""Hostile bytes: always the right status or a close, never a stuck connection."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from hostile.attacks import GOOD, garbage, mutants
from support.client import request
from support.http import NoResponseError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from support.http import Response
    from support.server import Server

ALLOWED = {200, 204, 206, 304, 400, 404, 405, 406, 408, 412, 413, 414, 416, 417, 431, 501, 505}
"""Statuses that a broken request may get; a 500 is none of them."""


def all_answers(server: Server, data: bytes, methods: Iterable[str] = ()) -> list[Response]:
    """Send bytes and a FIN, and read strictly until the end, which must come."""
    answers: list[Response] = []
    with server.connect(lint_answers=False) as connection:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError, OSError):
            connection.send(data)
            connection.half_close()
        with contextlib.suppress(NoResponseError):
            while True:
                answers.append(connection.receive(next(iter(methods), "GET")))
    return answers


@pytest.mark.parametrize("kind", GOOD)
def test_cut_at_every_byte(server: Server, kind: str) -> None:
    """A request that ends too early is refused or forgotten, wherever it ends."""
    data = GOOD[kind]
    for end in range(len(data)):
        answers = all_answers(server, data[:end])

        assert {answer.status for answer in answers} <= ALLOWED
        assert len(answers) <= data.count(b"HTTP/1.1\r\n")


@pytest.mark.parametrize("kind", GOOD)
def test_reset_at_every_byte(server: Server, kind: str) -> None:
    """A reset in the middle leaves nothing behind."""
    data = GOOD[kind]
    for end in range(len(data) + 1):
        with server.connect() as connection:
            connection.send(data[:end])
            connection.abort()


@pytest.mark.parametrize("seed", range(8))
def test_mutants(server: Server, seed: int) -> None:
    """Requests with bytes changed, lost, doubled and put in get an allowed status or a close."""
    for data in mutants(seed, 200):
        statuses = {answer.status for answer in all_answers(server, data)}

        assert statuses <= ALLOWED, data


def test_garbage(server: Server) -> None:
    """Random bytes get an error status or a close."""
    for data in garbage(2026, 300):
        answers = all_answers(server, data)

        assert {answer.status for answer in answers} <= {400, 414, 431, 501, 505}, data
        assert len(answers) <= 1


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 100_000,
        b"GET /" + b"a" * (1 << 20),
        b"A" * (1 << 20),
        b"\r\n" * (1 << 19),
        b"\0" * (1 << 20),
        b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"y" * (1 << 20),
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 200_000 + b"z",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1;a=b\r\nx\r\n" * 20_000,
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + b"X: y\r\n" * 100_000,
    ],
    ids=[
        "fields",
        "target",
        "method",
        "empty lines",
        "zeros",
        "field",
        "chunks",
        "extensions",
        "trailers",
    ],
)
def test_oversized(server: Server, data: bytes) -> None:
    """Endless requests are refused early and cost no memory."""
    before = server.rss()
    answers = all_answers(server, data)

    assert len(answers) <= 1
    assert {answer.status for answer in answers} <= {400, 413, 414, 431, 501}
    assert 4 << 20 > server.rss() - before


def test_client_leaves_a_large_answer(server: Server) -> None:
    """Clients that leave in the middle of a file or stream, with a FIN or a reset, leave nothing behind."""
    for target in ("/files/large.bin", "/pour?200"):
        for leave in ("abort", "close", "at once"):
            with server.connect(receive_buffer_bytes=4096) as connection:
                connection.send(request(target))
                if leave != "at once":
                    connection.socket.recv(100)
                if leave == "abort":
                    connection.abort()


def test_many_small_chunks(server: Server) -> None:
    """A body in chunks of one byte is read all the same, in reasonable time."""
    body = b"1\r\nx\r\n" * 100_000 + b"0\r\n\r\n"
    data = request("/", method="POST", fields=[("Transfer-Encoding", "chunked")], body=body)
    with server.connect() as connection:
        connection.send(data)

        assert b"x" * 100_000 == connection.receive("POST").body


def test_connections_that_say_nothing(server: Server) -> None:
    """Three hundred clients that connect and send nothing do not disturb other clients."""
    silent = [server.connect() for _ in range(300)]
    for _ in range(20):
        assert b"small" == server.fetch("/files/small.txt").body
    # After a time these clients are sent away.
    for connection in silent:
        assert connection.at_end()
        connection.socket.close()
