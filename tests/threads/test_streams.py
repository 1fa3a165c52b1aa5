"""Streams go out as they are made, and go on in the thread and with the variables that they began with."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.client import request
from threads.scenes import APPLICATION, PATIENT, receive_all, target, under_way

if TYPE_CHECKING:
    from support.client import Connection
    from support.server import Server, Servers
    from threads.scenes import Flag, Site

FLASK_APPLICATION = Path(__file__).with_name("flask_application.py")
STEPS = 4
PAD = 20_000
"""Bytes in a line, so that a stream passes every mark at which one side may wait for the other."""
MIB = 1 << 20
GATHERED_BYTES = 256 << 10
ANSWERS = 10


def wait_until_here(connection: Connection, data: bytes) -> None:
    """Receive until `data` has come."""
    while data not in connection.reader.buffer:
        assert connection.reader.fill(), "closed before the item came"


@pytest.mark.parametrize("by", ["sleeping", "computing"])
@pytest.mark.parametrize("version", ["1.0", "1.1"])
@pytest.mark.parametrize("path", ["/steps", "/write-steps"])
@pytest.mark.parametrize("ms", [0, 5], ids=["begun at once", "begun late"])
def test_prompt(site: Site, flag: Flag, path: str, version: str, by: str, ms: int) -> None:
    """Each item reaches the client before the next item exists: the client itself triggers the next."""
    asked = target(path, flag=flag, n=STEPS, by=by, ms=ms)
    with under_way(site.server, asked, version=version) as (connection,):
        for number in range(STEPS):
            wait_until_here(connection, b"<%d>" % number)
            flag.child(number + 1).lift()

        assert b"<0><1><2><3>" == connection.receive().body


@pytest.mark.parametrize("ms", [1, 50])
def test_prompt_after_quick_items(site: Site, flag: Flag, ms: int) -> None:
    """Items that come too quickly to be sent one by one reach the client while the next item is slow."""
    with under_way(site.server, target("/burst", flag=flag, n=STEPS, ms=ms)) as (connection,):
        for number in range(STEPS):
            wait_until_here(connection, b"<%d>" % number)
            flag.child(number).lift()

        assert b"<0><1><2><3>" == connection.receive().body.replace(b".", b"")


def packets(client: socket.socket) -> int:
    """Return how many packets with data have come (`tcpi_data_segs_in`, tcp(7))."""
    at = 152
    told = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, at + 4)
    (count,) = struct.unpack_from("=I", told, at)
    return int(count)


def packets_of_one_send(size: int) -> int:
    """Return how many packets the kernel makes of bytes that are sent with one call."""
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * MIB)
        client.connect(listener.getsockname())
        server, _ = listener.accept()
        with server:
            sender = threading.Thread(target=server.sendall, args=(bytes(size),))
            sender.start()
            left = size
            while left:
                left -= len(client.recv(left))
            sender.join()
        return packets(client)


@pytest.mark.parametrize("promised", [True, False], ids=["with its length", "in chunks"])
@pytest.mark.parametrize("threads", [1, 16])
@pytest.mark.parametrize(("size", "items"), [(16_384, 64), (1_000, 200), (40_000, 3)])
def test_few_packets(serve: Servers, size: int, items: int, threads: int, *, promised: bool) -> None:
    """Items that are there at once are sent together: neither item nor chunk head has its own packet.

    After each `GATHERED_BYTES` one packet may be less than full, and so may the last one.
    """
    server = serve(f"{APPLICATION}:pieces", f"--threads={threads}", "--hand-over=never", *PATIENT)
    asked = target("/", items=items, size=size, length=items * size if promised else "")

    with_heads = items * (size + 10) + 1_000

    def count() -> tuple[int, int]:
        # The connection is new: to a client that was slow once, the kernel sends small packets.
        with server.connect(receive_buffer_bytes=4 * MIB) as connection:
            assert bytes(items * size) == connection.get(asked).body
            return packets(connection.socket), packets_of_one_send(with_heads)

    # If the next item is late, because its thread waits for a CPU, the items that are there are sent at once.
    counts = [count() for _ in range(ANSWERS)]
    of_ours, of_one_send = (min(those) for those in zip(*counts, strict=True))
    assert of_one_send + with_heads // GATHERED_BYTES + 1 >= of_ours, counts


@pytest.mark.parametrize("path", ["/steps", "/write-steps"])
def test_many_at_once(threaded: Site, flag: Flag, path: str) -> None:
    """As many streams as threads go on side by side, each at its own pace."""
    flags = [flag.child(f"stream{number}") for number in range(threaded.threads)]
    targets = [target(path, flag=one, n=STEPS) for one in flags]
    with under_way(threaded.server, *targets) as connections:
        for number in range(STEPS):
            for connection in connections:
                wait_until_here(connection, b"<%d>" % number)
            for one in reversed(flags):
                one.child(number + 1).lift()
        assert [b"<0><1><2><3>"] * threaded.threads == [
            response.body for response in receive_all(connections)
        ]


@pytest.mark.parametrize("size", [10, 70_000, 8_000_000])
def test_next_request_before_the_end(site: Site, size: int) -> None:
    """A client that has all bytes of an answer asks again, and is answered when the first call has ended."""
    with site.server.connect(receive_buffer_bytes=4096) as connection:
        for _ in range(3):
            assert bytes(size - 1) + b"." == connection.get(target("/slow-end", size=size, ms=20)).body
            assert b"hello" == connection.get("/hello").body


def test_pages_between_the_items(site: Site, flag: Flag) -> None:
    """A stream is not mixed up with the answers to requests that its connection sends meanwhile."""
    with site.server.connect() as connection:
        connection.send(request(target("/steps", flag=flag, n=3)))
        connection.send(request("/hello?id=1") + request("/hello?id=2"))
        for number in range(3):
            wait_until_here(connection, b"<%d>" % number)
            flag.child(number + 1).lift()
        assert [b"<0><1><2>", b"hello1", b"hello2"] == [connection.receive().body for _ in range(3)]


@pytest.mark.parametrize("pad", [0, PAD], ids=["small", "large"])
@pytest.mark.parametrize("ms", [0, 3], ids=["fast", "slow"])
def test_variables(site: Site, ms: int, pad: int) -> None:
    """A stream finds its context variable and its thread-local at each item, in the same thread.

    Other streams set the same variables meanwhile, and the readers of large streams come late, so that
    streams wait for them. If there is only one thread, such streams take turns on it, and share its
    thread-local.
    """
    count = 1 if pad and site.threads == 1 else 3 * site.threads
    items = 5 if pad == 0 else 80
    targets = [target("/variables", id=f"id{n}", items=items, ms=ms, pad=pad) for n in range(count)]
    with under_way(site.server, *targets) as connections:
        for number, response in enumerate(receive_all(connections)):
            line = f"id{number} id{number} True{'.' * pad}\n"
            assert line * items == response.body.decode()


def test_context(site: Site) -> None:
    """Large streams that take turns on a thread have each their own context, to their end."""
    count, items = 3 * site.threads, 80
    ids = [f"id{number}" for number in range(count)]
    targets = [target("/context", id=one, items=items, pad=PAD) for one in ids]
    with under_way(site.server, *targets) as connections:
        for one, response in zip(ids, receive_all(connections), strict=True):
            lines = [f"{one}.{number}{'.' * PAD}\n" for number in range(items)]
            assert "".join(lines) == response.body.decode()
    for one in ids:
        assert [f"{one}.{items}"] == site.wait_noted(one, f"{one}.{items}")


@pytest.mark.parametrize("ms", [0, 3], ids=["fast", "slow"])
def test_sqlite(site: Site, ms: int) -> None:
    """A generator that opens a connection of sqlite3, which is bound to its thread, can use it to the end."""
    expected = "".join(f"{number} {way}\n" for way in ("in", "out") for number in range(6))
    targets = [target("/sqlite", items=6, ms=ms)] * 3 * site.threads
    with under_way(site.server, *targets) as connections:
        assert [expected] * len(targets) == [response.body.decode() for response in receive_all(connections)]


@pytest.fixture(params=[1, 2, 16], ids=lambda threads: f"{threads}-threads")
def flask(serve: Servers, request: pytest.FixtureRequest) -> Server:
    """Serve the Flask application."""
    return serve(FLASK_APPLICATION, f"--threads={request.param}")


def test_flask(flask: Server) -> None:
    """A stream of Flask's `stream_with_context` has its own request at each item, beside many others."""
    with ExitStack() as stack:
        connections = [stack.enter_context(flask.connect(lint_answers=False)) for _ in range(24)]
        for turn in range(4):
            for number, connection in enumerate(connections):
                path = "/page" if number % 4 == 3 else "/stream"
                one = f"{turn}.{number}"
                connection.send(request(target(path, id=one, items=4, ms=number % 3)))
            for number, response in enumerate(receive_all(connections)):
                path, lines = ("/page", 1) if number % 4 == 3 else ("/stream", 4)
                assert f"{turn}.{number} {turn}.{number} {path}\n" * lines == response.body.decode()
    assert "Traceback" not in flask.log()
