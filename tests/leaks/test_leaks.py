"""A million requests leave nothing behind: no memory, no objects, no descriptors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.client import chunked, request

if TYPE_CHECKING:
    from support.client import Connection
    from support.server import Server, Servers

APPLICATION = Path(__file__).with_name("application.py")
REQUESTS = 1_000_000
BATCH = 50
"""Requests in one send."""
PER_CONNECTION = 2_000

WARM_UPS = 8
"""Warm-ups, each over a connection of its own: there may be several event loops, and all are to be warm."""

ROUNDS_MAX = 3
"""Maximum of rounds: the heap of a thread that had little to do grows in one, and a leak in each of them."""

GROWTH_BYTES_MAX = 1 << 20
OBJECTS_MAX = 50
BLOCKS_MAX = 500
"""Number of blocks above which there is a leak; an interpreter that has warmed up varies by a few."""

CHUNKED = ("Transfer-Encoding", "chunked")
POST = request("/read", method="POST", body=b"x" * 100)
CHUNKS = request("/lines", method="POST", fields=[CHUNKED], body=chunked(b"one\n", b"two\n"))
BROWSER = [
    ("User-Agent", "Mozilla/5.0"),
    ("Accept-Language", "en"),
    ("Cookie", "a=1; b=2"),
    ("X-Unknown-Name", "value"),
]

WSGI = {
    "plain": request("/"),
    "fields": request("/?a=b", fields=BROWSER),
    "list": request("/list"),
    "generator": request("/generator"),
    "post": POST,
    "chunks": CHUNKS,
    "write": request("/write"),
    "file": request("/file"),
    "static": request("/static/application.py.txt"),
    "missing": request("/static/missing"),
    "not modified": request("/static/application.py.txt", fields=[("If-None-Match", "*")]),
}
WSGI_FAILING = {"raise": request("/raise"), "none": request("/none")}
HANDLER = {
    "plain": request("/"),
    "all": request("/all?a=b", method="POST", fields=BROWSER, body=b"text"),
    "cookie": request("/cookie"),
    "abort": request("/abort"),
    "stream": request("/stream"),
    "file": request("/file"),
}
HANDLER_FAILING = {"raise": request("/raise"), "wrong": request("/wrong")}


def pump(server: Server, data: bytes, count: int) -> None:
    """Send `data` `count` times, pipelined, and check each answer by its size."""
    sent = 0
    while sent < count:
        with server.connect(lint_answers=False) as connection:
            size = answer_size(connection, data)
            batches = min(PER_CONNECTION, count - sent) // BATCH
            for _ in range(max(1, batches)):
                connection.send(data * BATCH)
                receive(connection, size * BATCH)
                sent += BATCH


def answer_size(connection: Connection, data: bytes) -> int:
    """Return the length of one answer, head and all."""
    connection.send(data)
    total = bytearray()
    take = connection.reader.fill

    def fill() -> bool:
        before = len(connection.reader.buffer)
        more = take()
        total.extend(connection.reader.buffer[before:])
        return more

    connection.reader.fill = fill  # type: ignore[method-assign]
    connection.receive()
    connection.reader.fill = take  # type: ignore[method-assign]
    return len(total)


def receive(connection: Connection, size: int) -> None:
    """Receive exactly `size` bytes."""
    while size > 0:
        data = connection.socket.recv(1 << 20)
        assert data, "closed in the middle"
        size -= len(data)
    assert 0 == size


def check(server: Server, kinds: dict[str, bytes], each: int) -> None:
    """Ask for all kinds in rounds: no round may leave objects behind, and the last one no memory."""
    for _ in range(WARM_UPS):
        for data in kinds.values():
            pump(server, data, each // (2 * WARM_UPS))
    grown: list[int] = []
    while not grown or (grown[-1] >= GROWTH_BYTES_MAX and len(grown) < ROUNDS_MAX):
        before, rss, fds = server.fetch("/counts").json(), server.rss(), server.resting_fds()
        for data in kinds.values():
            pump(server, data, each)
        after = server.fetch("/counts").json()
        grown.append(server.rss() - rss)

        assert OBJECTS_MAX > after["objects"] - before["objects"]
        assert BLOCKS_MAX > after["blocks"] - before["blocks"]
        assert server.settles_at_fds(fds)
    assert GROWTH_BYTES_MAX > grown[-1], grown


@pytest.fixture
def wsgi(serve: Servers, tmp_path: Path) -> Server:
    """Serve the WSGI application."""
    (tmp_path / "application.py.txt").write_bytes(APPLICATION.read_bytes())
    return serve(APPLICATION, f"--static=/static={tmp_path}", "--access-log", str(tmp_path / "log"))


@pytest.fixture
def handler(serve: Servers) -> Server:
    """Serve the handler."""
    return serve(f"{APPLICATION}:handler")


@pytest.mark.long
def test_wsgi(wsgi: Server) -> None:
    """Half a million requests to WSGI and static files leave nothing behind."""
    check(wsgi, WSGI, REQUESTS // 2 // len(WSGI))


@pytest.mark.long
def test_handler(handler: Server) -> None:
    """Half a million requests to handlers leave nothing behind."""
    check(handler, HANDLER, REQUESTS // 2 // len(HANDLER))


def test_wsgi_soon(wsgi: Server) -> None:
    """A leak per request shows after some thousands already."""
    check(wsgi, WSGI, 2_000)


def test_handler_soon(handler: Server) -> None:
    """A leak per request shows after some thousands already."""
    check(handler, HANDLER, 2_000)


@pytest.mark.parametrize("which", ["wsgi", "handler"])
def test_failing(request: pytest.FixtureRequest, which: str) -> None:
    """Exceptions and their tracebacks are freed, too."""
    server: Server = request.getfixturevalue(which)
    check(server, WSGI_FAILING if which == "wsgi" else HANDLER_FAILING, 2_000)


def test_cut_answers(wsgi: Server) -> None:
    """Answers that are cut must be freed; each of them ends its connection."""

    def cut(count: int) -> None:
        for _ in range(count):
            with wsgi.connect(lint_answers=False) as connection:
                assert not connection.get("/failing").complete

    cut(1_000)
    before = wsgi.fetch("/counts").json()
    cut(1_000)
    after = wsgi.fetch("/counts").json()

    assert OBJECTS_MAX > after["objects"] - before["objects"]
    assert BLOCKS_MAX > after["blocks"] - before["blocks"]
