"""Slow clients: a byte now and then does not keep a connection open."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

import pytest

from hostile.conftest import LARGE_BYTES, sockets
from support.client import request
from support.http import NoResponseError
from support.server import until

if TYPE_CHECKING:
    from hostile.conftest import Impatient
    from support.client import Connection

PATIENCE_S = 9.0
"""Time after which a test counts as stuck: its timeouts are below a second, default ones 10 s and more."""
BETWEEN_BYTES_S = 0.05
STANDSTILL_S = 3.0
"""A timeout of the server that a client of the tests keeps to, even if it does not run for two seconds."""
SLOW_BYTES = 64 << 10
"""Bytes that a slow reader takes every 20 ms: half of the large file in four seconds."""


def trickle(connection: Connection, data: bytes, pause_s: float = BETWEEN_BYTES_S) -> None:
    """Send a byte at a time until the server answers or leaves."""
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        for byte in data:
            connection.socket.send(bytes([byte]))
            if not connection.is_silent(pause_s):
                break


def status_at_end(connection: Connection) -> int:
    """Return the status of the answer, 0 for none, once the connection has ended."""
    try:
        response = connection.receive()
    except NoResponseError:
        return 0
    assert response.closing
    assert connection.at_end()
    return response.status


def test_says_nothing(impatient: Impatient) -> None:
    """A client that connects and sends nothing is disconnected without an answer."""
    server = impatient("--first-byte-timeout=300ms")
    start = time.monotonic()
    with server.connect() as connection:
        assert connection.at_end()
        assert 0.2 < time.monotonic() - start < PATIENCE_S


def test_slow_head(impatient: Impatient) -> None:
    """The whole head must come within a time, however regularly its bytes come."""
    server = impatient("--header-timeout=600ms")
    start = time.monotonic()
    with server.connect() as connection:
        trickle(connection, request("/", fields=[("X-Long", "x" * 500)]))

        assert 0.5 < time.monotonic() - start < PATIENCE_S
        assert status_at_end(connection) in {0, 408}


def test_slow_head_on_a_used_connection(impatient: Impatient) -> None:
    """The whole head of the second request of a connection must come within a time, too."""
    server = impatient("--header-timeout=600ms")
    with server.connect() as connection:
        assert 200 == connection.get("/unread").status

        start = time.monotonic()
        trickle(connection, request("/", fields=[("X-Long", "x" * 500)]))

        assert 0.5 < time.monotonic() - start < PATIENCE_S
        assert status_at_end(connection) in {0, 408}


def test_slow_empty_lines(impatient: Impatient) -> None:
    """Empty lines, which make no head, do not extend the time for the head."""
    server = impatient("--header-timeout=600ms")
    start = time.monotonic()
    with server.connect() as connection:
        trickle(connection, b"\r\n" * 200)

        assert time.monotonic() - start < PATIENCE_S
        assert status_at_end(connection) in {0, 400, 408}


def test_head_in_time(impatient: Impatient) -> None:
    """A slow head that is complete in time is answered, long after the time for the first byte."""
    server = impatient(f"--first-byte-timeout={STANDSTILL_S}s")
    with server.connect() as connection:
        data = request("/unread")
        trickle(connection, data, 1.1 * STANDSTILL_S / len(data))

        assert 200 == connection.receive().status


@pytest.mark.parametrize("sent", [b"", b"hello"])
def test_body_that_stops(impatient: Impatient, sent: bytes) -> None:
    """A body that does not go on is given up."""
    server = impatient("--body-idle-timeout=400ms")
    start = time.monotonic()
    with server.connect() as connection:
        connection.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n" + sent)

        assert 408 == status_at_end(connection)
        assert 0.3 < time.monotonic() - start < PATIENCE_S


@pytest.mark.parametrize("framing", ["Content-Length: 5000", "Transfer-Encoding: chunked"])
def test_slow_body(impatient: Impatient, framing: str) -> None:
    """A body that trickles is given up when it is below the rate."""
    server = impatient("--body-rate-min=1000", "--body-rate-grace=800ms")
    start = time.monotonic()
    with server.connect() as connection:
        connection.send(f"POST / HTTP/1.1\r\nHost: a\r\n{framing}\r\n\r\n".encode())
        trickle(connection, b"1388\r\n" + b"x" * 5000 if "chunked" in framing else b"x" * 5000)

        assert 0.7 < time.monotonic() - start < PATIENCE_S
        assert status_at_end(connection) in {0, 408}


@pytest.mark.parametrize("target", ["/files/large.bin", "/pour?300"])
def test_client_that_does_not_read(impatient: Impatient, target: str) -> None:
    """If a client does not read its answer, the answer is given up, and the connection with it."""
    server = impatient("--write-idle-timeout=600ms")
    before = sockets(server)
    with server.connect(receive_buffer_bytes=4096) as connection:
        connection.send(request(target))
        assert connection.socket.recv(100)
        start = time.monotonic()

        assert until(lambda: sockets(server) == before)
        assert PATIENCE_S > time.monotonic() - start


def test_slow_reader_above_the_rate(impatient: Impatient) -> None:
    """A client that reads slowly, but goes on, gets the whole response."""
    server = impatient(f"--write-idle-timeout={STANDSTILL_S}s")
    start = time.monotonic()
    with server.connect(receive_buffer_bytes=65536) as connection:
        connection.send(request("/files/large.bin"))
        while time.monotonic() - start < 1.2 * STANDSTILL_S:
            data = connection.socket.recv(SLOW_BYTES)
            assert data
            connection.reader.buffer += data
            time.sleep(0.02)

        assert LARGE_BYTES == len(connection.receive().body)


def test_slow_reader_is_not_idle(impatient: Impatient) -> None:
    """A client that takes some bytes all the time is not idle, however much the kernel holds for it."""
    server = impatient(f"--write-idle-timeout={STANDSTILL_S}s")
    start = time.monotonic()
    with server.connect(receive_buffer_bytes=4096) as connection:
        connection.send(request("/files/large.bin"))
        while time.monotonic() - start < 1.5 * STANDSTILL_S:
            connection.reader.buffer += connection.socket.recv(1000)
            time.sleep(0.02)

        # The kernel holds only a part: the whole response arrives only if the server has not given it up.
        assert LARGE_BYTES == len(connection.receive().body)


def test_reader_below_the_rate(impatient: Impatient) -> None:
    """A client that takes a few bytes now and then is cut after the grace, by a reset.

    A mere close would let the kernel go on for minutes with what is in the socket's buffer, some
    megabytes for each such client.
    """
    server = impatient("--write-rate-min=1m", "--write-rate-grace=500ms")
    before = sockets(server)
    with server.connect(receive_buffer_bytes=4096) as connection:
        connection.send(request("/files/large.bin"))
        with pytest.raises(ConnectionResetError):
            sip(connection)

        assert until(lambda: sockets(server) == before)


def sip(connection: Connection) -> None:
    """Receive a few bytes now and then, for some seconds."""
    start = time.monotonic()
    while time.monotonic() - start < PATIENCE_S:
        connection.socket.recv(1000)
        time.sleep(0.02)


def test_idle_after_an_answer(impatient: Impatient) -> None:
    """An idle connection ends in silence: no 408 for a request that was not begun."""
    server = impatient("--keep-alive-timeout=400ms")
    with server.connect() as connection:
        assert 200 == connection.get("/unread").status
        assert connection.at_end()


def test_lingers_only_so_long(impatient: Impatient) -> None:
    """After a refusal a client may send on for a while, not for ever."""
    server = impatient("--linger-timeout=300ms")
    before = sockets(server)
    with server.connect() as connection:
        connection.send(b"GET / HTTP/1.1\r\nBad Name: x\r\n\r\n")

        assert 400 == connection.receive().status

        def has_left() -> bool:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.socket.send(b"x")
            return sockets(server) == before

        assert until(has_left)


def test_fifty_slow_clients(impatient: Impatient) -> None:
    """Slow clients do not slow down others, which are answered before the slow ones have sent a request."""
    server = impatient("--body-idle-timeout=2m", "--body-rate-min=0")
    slow = [server.connect() for _ in range(50)]
    for connection in slow:
        connection.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n")
    for _ in range(50):
        assert b"small" == server.fetch("/files/small.txt").body
        assert b"quick" == server.fetch("/", method="POST", body=b"quick").body
    for connection in slow:
        connection.send(b"x" * 100)

        assert b"x" * 100 == connection.receive("POST").body

        connection.socket.close()
