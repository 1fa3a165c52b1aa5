"""Clients that leave in every state and in every way, or ask and never read: nothing is kept for them."""

from __future__ import annotations

import contextlib
import socket
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hostile.conftest import has_sockets, sockets
from support.client import chunked, request
from support.server import until

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.client import Connection
    from support.server import Server, Servers

APPLICATION = Path(__file__).parents[1] / "hostile" / "application.py"
CROWD = 10
"""Number of clients that act alike at one time."""
LARGE_BYTES = 8 << 20
CHUNKED = ("Transfer-Encoding", "chunked")
EXPECT = ("Expect", "100-continue")


def post(*fields: tuple[str, str], body: bytes = b"") -> bytes:
    """Return a POST with exactly this body."""
    return request("/", method="POST", fields=fields, body=body)


STATES: dict[str, tuple[bytes, bytes]] = {
    "connected": (b"", b""),
    "an empty line": (b"\r\n", b""),
    "one letter": (b"G", b""),
    "half a head": (request("/unread")[:-7], b""),
    "a head but for its last byte": (request("/unread")[:-1], b""),
    "a head of a body": (post(("Content-Length", "100")), b""),
    "half a body": (post(("Content-Length", "100"), body=b"x" * 50), b""),
    "half a large body": (post(("Content-Length", "9000000"), body=b"x" * 3_000_000), b""),
    "a chunk's size": (post(CHUNKED, body=b"5"), b""),
    "half a chunk": (post(CHUNKED, body=b"5\r\nhe"), b""),
    "a chunk": (post(CHUNKED, body=b"5\r\nhello\r\n"), b""),
    "the last chunk": (post(CHUNKED, body=b"5\r\nhello\r\n0\r\n"), b""),
    "half a trailer": (post(CHUNKED, body=b"0\r\nX: "), b""),
    "leave to send": (post(EXPECT, ("Content-Length", "100")), b"100 Continue"),
    "leave to send, half sent": (post(EXPECT, ("Content-Length", "100"), body=b"x" * 50), b""),
    "a whole request": (request("/unread"), b""),
    "a whole body": (post(body=b"hello"), b""),
    "an answer read": (request("/unread"), b"unread"),
    "an answer read, another asked for": (request("/unread") * 2, b"unread"),
    "a stream begun": (request("/pour?200"), b"200 OK"),
    "a stream begun, more asked for": (request("/pour?200") + request("/unread") * 50, b"200 OK"),
    "a file begun": (request("/files/large.bin"), b"200 OK"),
    "a file asked for twice": (request("/files/large.bin") * 2, b"200 OK"),
    "parts of a file": (request("/files/large.bin", fields=[("Range", "bytes=0-3000000,4000000-")]), b"206"),
    "an echo begun": (post(body=b"x" * 3_000_000), b"200 OK"),
    "an echo of chunks": (post(CHUNKED, body=chunked(*[b"x" * 100_000] * 20)), b"200 OK"),
    "a refusal": (b"\0" * 100, b"400 Bad Request"),
    "a refusal with more behind": (b"GET / HTTP/9\r\n\r\n" + b"x" * 500_000, b"505"),
    "too large a head": (b"GET / HTTP/1.1\r\nX: " + b"y" * 100_000, b"431"),
    "too large a body": (post(("Content-Length", "99999999999")), b"413"),
    "a hundred asked for": (request("/unread") * 100, b"unread"),
}
"""Bytes that have been sent, and bytes that have come back, before the client leaves."""


def _shut_both(connection: Connection) -> None:
    connection.socket.shutdown(socket.SHUT_RDWR)
    connection.socket.close()


def _half_close_then_reset(connection: Connection) -> None:
    connection.half_close()
    connection.abort()


def _deaf(connection: Connection) -> None:
    connection.socket.shutdown(socket.SHUT_RD)
    connection.send(request("/unread"))
    connection.socket.close()


def _garbage_then_reset(connection: Connection) -> None:
    connection.send(b"\r\n\0\xff" * 100)
    connection.abort()


WAYS: dict[str, Callable[[Connection], None]] = {
    "close": lambda connection: connection.socket.close(),
    "reset": lambda connection: connection.abort(),
    "both halves": _shut_both,
    "half, then reset": _half_close_then_reset,
    "deaf": _deaf,
    "garbage, then reset": _garbage_then_reset,
}


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a large file."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "large.bin").write_bytes(b"x" * LARGE_BYTES)
    return folder


@pytest.fixture(scope="session", params=["whole bodies", "streamed bodies"])
def resting(request: pytest.FixtureRequest, serve_session: Servers, folder: Path) -> tuple[Server, int]:
    """Serve; return the server, and the number of its sockets while no client is connected."""
    streams = ["--stream-body"] if request.param == "streamed bodies" else []
    server = serve_session(APPLICATION, f"--static=/files={folder}", "--linger-timeout=300ms", *streams)
    return server, sockets(server)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("state", STATES)
def test_leaves(resting: tuple[Server, int], state: str, way: str) -> None:
    """After ten clients leave in one state, their connections are gone, and the next client is answered."""
    server, count = resting
    data, comes = STATES[state]
    for _ in range(CROWD):
        connection = server.connect(lint_answers=False, receive_buffer_bytes=4096)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            send_what_is_taken(connection, data)
            while comes not in connection.reader.buffer and connection.reader.fill():
                pass
        with contextlib.suppress(OSError):
            WAYS[way](connection)
        connection.socket.close()

    assert b"alive" == server.fetch("/", method="POST", body=b"alive").body
    assert until(partial(has_sockets, server, count))


def send_what_is_taken(connection: Connection, data: bytes) -> None:
    """Send until all is sent, or the server takes no more until its answers are read."""
    connection.socket.settimeout(0.2)
    try:
        connection.send(data)
    except TimeoutError:
        return
    finally:
        connection.socket.settimeout(40)


FLOODS = {
    "small answers": request("/unread"),
    "errors of paths": request("/files/missing"),
    "heads of a file": request("/files/large.bin", method="HEAD"),
    "files": request("/files/large.bin"),
    "ranges": request("/files/large.bin", fields=[("Range", "bytes=0-9,20-29,40-49")]),
    "streams": request("/pour?50"),
    "echoes": post(body=b"x" * 1000),
    "echoes of chunks": post(CHUNKED, body=chunked(b"x" * 500, b"y" * 500)),
}
FLOOD_REQUESTS = 10_000
GROWTH_BYTES_MAX = 48 << 20
"""Growth of memory for ten such clients together."""


@pytest.mark.parametrize("what", FLOODS)
def test_asks_and_never_reads(serve: Servers, folder: Path, what: str) -> None:
    """Clients that pipeline 10,000 requests and read nothing hold up nobody, and cost little memory."""
    server = serve(APPLICATION, f"--static=/files={folder}", "--linger-timeout=300ms")
    count = sockets(server)
    assert 200 == server.fetch("/unread").status
    before = server.rss()
    with contextlib.ExitStack() as stack:
        for _ in range(CROWD):
            connection = stack.enter_context(server.connect(receive_buffer_bytes=4096))
            send_what_is_taken(connection, FLOODS[what] * FLOOD_REQUESTS)
        for _ in range(5):
            assert b"alive" == server.fetch("/", method="POST", body=b"alive").body
        assert GROWTH_BYTES_MAX > server.rss() - before
    assert until(partial(has_sockets, server, count))
    assert b"alive" == server.fetch("/", method="POST", body=b"alive").body
