"""Slow clients: a byte now and then does not keep a connection open."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

import pytest

from support.client import request
from support.http import NoResponseError

if TYPE_CHECKING:
    from pathlib import Path

    from support.client import Connection
    from support.server import Server, Servers

PATIENCE_S = 4.0
"""The set timeouts are below a second; more than this is stuck."""
BETWEEN_BYTES_S = 0.05
WRITE_IDLE_S = 0.6
"""As in conftest."""


def trickle(connection: Connection, data: bytes, pause_s: float = BETWEEN_BYTES_S) -> float:
    """Send a byte at a time until the server answers or leaves; return how long that took."""
    start = time.monotonic()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        for byte in data:
            connection.socket.send(bytes([byte]))
            if not connection.is_silent(pause_s):
                break
    return time.monotonic() - start


def status_at_end(connection: Connection) -> int:
    """Return the status of the answer, 0 for none, once the connection has ended."""
    try:
        response = connection.receive()
    except NoResponseError:
        return 0
    assert response.closing
    assert connection.at_end()
    return response.status


def test_says_nothing(server: Server) -> None:
    """Who connects and says nothing is sent away without an answer."""
    with server.connect() as connection:
        start = time.monotonic()

        assert connection.at_end()
        assert 0.2 < time.monotonic() - start < PATIENCE_S


def test_slow_head(server: Server) -> None:
    """A head has a time for all of it, however regularly its bytes come."""
    with server.connect() as connection:
        data = request("/", fields=[("X-Long", "x" * 500)])

        assert 0.5 < trickle(connection, data) < PATIENCE_S
        assert status_at_end(connection) in {0, 408}


def test_slow_head_on_a_used_connection(server: Server) -> None:
    """The same holds for the second request of a connection."""
    with server.connect() as connection:
        assert 200 == connection.get("/unread").status
        assert PATIENCE_S > trickle(connection, request("/", fields=[("X-Long", "x" * 500)]))
        assert status_at_end(connection) in {0, 408}


def test_slow_empty_lines(server: Server) -> None:
    """Bytes that make no head do not help."""
    with server.connect() as connection:
        assert PATIENCE_S > trickle(connection, b"\r\n" * 100)
        assert status_at_end(connection) in {0, 400, 408}


def test_head_in_time(server: Server) -> None:
    """A slow head that is complete in time is answered."""
    with server.connect() as connection:
        data = request("/unread")
        trickle(connection, data, 0.3 / len(data))

        assert 200 == connection.receive().status


@pytest.mark.parametrize("sent", [b"", b"hello"])
def test_body_that_stops(server: Server, sent: bytes) -> None:
    """A body that does not go on is given up."""
    with server.connect() as connection:
        connection.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n" + sent)
        start = time.monotonic()

        assert status_at_end(connection) in {0, 408}
        assert 0.3 < time.monotonic() - start < PATIENCE_S


@pytest.mark.parametrize("framing", ["Content-Length: 5000", "Transfer-Encoding: chunked"])
def test_slow_body(server: Server, framing: str) -> None:
    """A body that trickles is given up when it is below the rate."""
    with server.connect() as connection:
        connection.send(f"POST / HTTP/1.1\r\nHost: a\r\n{framing}\r\n\r\n".encode())
        data = b"1388\r\n" + b"x" * 5000 if "chunked" in framing else b"x" * 5000

        assert 0.7 < trickle(connection, data) < PATIENCE_S
        assert status_at_end(connection) in {0, 408}


@pytest.mark.parametrize("target", ["/files/large.bin", "/pour?300"])
def test_client_that_does_not_read(server: Server, target: str) -> None:
    """An answer that nobody takes is given up, and its connection with it."""
    before = server.resting_fds()
    with server.connect(receive_buffer_bytes=4096) as connection:
        connection.send(request(target))
        connection.socket.recv(100)
        start = time.monotonic()

        assert server.settles_at_fds(before)
        assert PATIENCE_S > time.monotonic() - start


def test_slow_reader_above_the_rate(server: Server) -> None:
    """Who reads slowly, but goes on, gets all of it."""
    with server.connect(receive_buffer_bytes=65536) as connection:
        connection.send(request("/files/large.bin"))
        total = 0
        while total < 10 << 20:
            total += len(connection.socket.recv(1 << 20))
            time.sleep(0.002)
        connection.reader.buffer.clear()
        while total < 20 << 20:
            total += len(connection.socket.recv(1 << 20))

        assert total > 20 << 20


def test_slow_reader_is_not_idle(server: Server) -> None:
    """Who takes some bytes all the time is not idle, however much the kernel still holds for it."""
    before = server.resting_fds()
    with server.connect(receive_buffer_bytes=4096) as connection:
        connection.send(request("/files/large.bin"))
        start = time.monotonic()
        while time.monotonic() - start < 3 * WRITE_IDLE_S:
            assert connection.socket.recv(1000)
            time.sleep(0.02)

        assert before < server.fds()
        connection.abort()


def test_reader_below_the_rate(serve: Servers, tmp_path: Path) -> None:
    """Who takes a few bytes now and then is cut after the grace, by a reset.

    A mere close would let the kernel go on for minutes with what is in the socket's buffer, some
    megabytes for each such client.
    """
    (tmp_path / "large.bin").write_bytes(b"x" * (20 << 20))
    server = serve(tmp_path, "--write-rate-min=1m", "--write-rate-grace=500ms")
    server.fetch("/large.bin")
    before = server.resting_fds()
    with server.connect(receive_buffer_bytes=4096) as connection:
        connection.send(request("/large.bin"))
        with pytest.raises(ConnectionResetError):
            sip(connection)

        assert server.settles_at_fds(before)


def sip(connection: Connection) -> None:
    """Receive a few bytes now and then, for some seconds."""
    start = time.monotonic()
    while time.monotonic() - start < PATIENCE_S:
        connection.socket.recv(1000)
        time.sleep(0.02)


def test_idle_after_an_answer(server: Server) -> None:
    """An idle connection ends in silence: no 408 for what was not begun."""
    with server.connect() as connection:
        assert 200 == connection.get("/unread").status
        assert connection.at_end()


def test_lingers_only_so_long(server: Server) -> None:
    """After a refusal a client may send on for a while, not for ever."""
    before = server.resting_fds()
    with server.connect() as connection:
        connection.send(b"GET / HTTP/1.1\r\nBad Name: x\r\n\r\n")

        assert 400 == connection.receive().status

        start = time.monotonic()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            while server.fds() > before and time.monotonic() - start < PATIENCE_S:
                connection.socket.send(b"x")
                time.sleep(BETWEEN_BYTES_S)

        assert PATIENCE_S > time.monotonic() - start
        assert server.settles_at_fds(before)


def test_fifty_slow_clients(server: Server) -> None:
    """Slow clients do not slow down the others."""
    slow = [server.connect() for _ in range(50)]
    for connection in slow:
        connection.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n")
    start = time.monotonic()
    for _ in range(50):
        assert b"small" == server.fetch("/files/small.txt").body

    assert PATIENCE_S > time.monotonic() - start
    for connection in slow:
        connection.abort()
