"""A slow request never stops a fast one, whatever makes it slow."""

from __future__ import annotations

import socket
from contextlib import ExitStack, contextmanager, suppress
from threading import Event, Thread
from typing import TYPE_CHECKING

import pytest

from support.client import request
from support.server import until
from threads.scenes import (
    APPLICATION,
    PATIENCE_S,
    holding,
    keeping_interpreter,
    receive_all,
    receive_held,
    start,
    target,
    under_way,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.client import Connection
    from support.server import Server, Servers
    from threads.scenes import Flag, Site

FETCHES = 20
BY = pytest.mark.parametrize("by", ["sleeping", "computing"])


def goes_on(server: Server, path: str, body: bytes) -> None:
    """Check that a page is served again and again, over old connections and over new ones."""
    with server.connect() as kept:
        for _ in range(FETCHES):
            assert body == kept.get(path).body
            assert body == server.fetch(path).body


@BY
def test_hello_goes_on(threaded: Site, flag: Flag, by: str) -> None:
    """As long as a thread is free, other requests are answered, and slow ones are answered in the end."""
    count = threaded.threads - 1 if by == "sleeping" else 1
    with holding(threaded, flag, count, by=by) as slow:
        goes_on(threaded.server, "/hello", b"hello")
        goes_on(threaded.server, "/static/file.txt", b"static")
        assert all(connection.is_silent(0.001) for connection in slow)
        flag.lift()
        receive_held(slow)


@contextmanager
def taking_all(connection: Connection) -> Iterator[list[int]]:
    """Receive as fast as possible, to the end; give a list that gets the number of bytes each time."""
    taken: list[int] = []

    def take() -> None:
        with suppress(OSError):
            while received := connection.socket.recv(1 << 20):
                taken.append(len(received))

    reader = Thread(target=take)
    reader.start()
    yield taken
    reader.join()


@pytest.mark.parametrize("threads", [1, 2, 16])
@pytest.mark.parametrize("size", [0, 10, 20_000])
def test_others_go_on_beside_a_stream_of_quick_items(
    serve: Servers, tmp_path: Path, flag: Flag, threads: int, size: int
) -> None:
    """A stream of quick items holds up no other request, though its client takes all of them at once.

    No other thread of Python makes the stream wait for the interpreter: that would look like a slow item.
    """
    (tmp_path / "file.txt").write_bytes(b"static")
    flags = (f"--threads={threads}", f"--static=/static={tmp_path}")
    server = serve(f"{APPLICATION}:application", *flags, env={"PYTHONPATH": str(APPLICATION.parent)})
    asked = request(target("/endless", flag=flag, size=size), version="1.0")
    with server.connect() as stream, taking_all(stream):
        stream.send(asked)
        flag.wait_started()
        goes_on(server, "/static/file.txt", b"static")
        if size or threads > 1:
            goes_on(server, "/hello", b"hello")
        assert not flag.is_done()
        flag.lift()


@pytest.mark.parametrize("path", ["/hello", "/static/file.txt"])
def test_others_go_on_beside_a_flood_of_requests(site: Site, path: str) -> None:
    """A client that always has further requests under way takes turns with other clients."""
    many = request(path) * 5_000
    with ExitStack() as stack:
        flood = stack.enter_context(site.server.connect())
        taken = stack.enter_context(taking_all(flood))
        ended = Event()

        def send() -> None:
            with suppress(OSError):
                while not ended.is_set():
                    flood.socket.sendall(many)
                flood.socket.shutdown(socket.SHUT_RDWR)

        sender = Thread(target=send)
        sender.start()
        stack.callback(sender.join)
        stack.callback(ended.set)
        assert until(lambda: sum(taken) > len(many), PATIENCE_S)
        goes_on(site.server, "/static/file.txt", b"static")
        goes_on(site.server, "/hello", b"hello")


@BY
def test_static_goes_on_with_all_threads_busy(site: Site, flag: Flag, by: str) -> None:
    """Files need no thread of the application; a page waits for a thread, and gets it."""
    with holding(site, flag, site.threads, by=by) as slow, under_way(site.server, "/hello") as page:
        goes_on(site.server, "/static/file.txt", b"static")
        assert page[0].is_silent(0.1)
        assert all(connection.is_silent(0.001) for connection in slow)
        flag.lift()
        receive_held(slow)
        assert b"hello" == page[0].receive().body


def test_static_goes_on_while_c_keeps_the_interpreter(site: Site, flag: Flag) -> None:
    """A file needs no interpreter either: it is sent during a call into C that keeps the interpreter."""
    with keeping_interpreter(site, flag):
        goes_on(site.server, "/static/file.txt", b"static")

        assert not flag.is_done()


def test_hello_goes_on_after_c_kept_the_interpreter(threaded: Site, flag: Flag) -> None:
    """Pages that waited for the interpreter during the call are all answered after it."""
    pages = [target("/hello", id=number) for number in range(3 * threaded.threads)]
    with ExitStack() as stack:
        with keeping_interpreter(threaded, flag):
            waiting = stack.enter_context(under_way(threaded.server, *pages))
            goes_on(threaded.server, "/static/file.txt", b"static")
        answers = receive_all(waiting)
    assert [b"hello%d" % number for number in range(len(pages))] == [answer.body for answer in answers]


def test_same_batch(threaded: Site, flag: Flag) -> None:
    """Requests that are ready in the same moment as a slow one change hands with the loop."""
    with ExitStack() as stack:
        slow, *fast = [stack.enter_context(threaded.server.connect()) for _ in range(30)]
        for number, connection in enumerate(fast[:15]):
            connection.send(request(target("/hello", id=number)))
        slow.send(request(target("/hold", flag=flag, id=0)))
        for number, connection in enumerate(fast[15:], 15):
            connection.send(request(target("/hello", id=number)))
        try:
            for number, connection in enumerate(fast):
                assert b"hello%d" % number == connection.receive().body
        finally:
            flag.lift()
        receive_held([slow])


@BY
@pytest.mark.parametrize("path", ["/steps", "/write-steps"])
def test_streams(threaded: Site, flag: Flag, path: str, by: str) -> None:
    """An application that takes long for its next item holds up no other request."""
    count = threaded.threads - 1 if by == "sleeping" else 1
    targets = [target(path, flag=flag.child(number), n=2, by=by) for number in range(count)]
    with under_way(threaded.server, *targets) as slow:
        for number in range(count):
            flag.child(number).child(1).wait_started()
        goes_on(threaded.server, "/hello", b"hello")
        goes_on(threaded.server, "/static/file.txt", b"static")
        for number in range(count):
            flag.child(number).child(1).lift()
        assert [b"<0><1>"] * count == [answer.body for answer in receive_all(slow)]


def test_slow_close(threaded: Site, flag: Flag) -> None:
    """An application that takes long to close its answer holds up no other request."""
    with under_way(threaded.server, target("/slow-close", flag=flag)) as slow:
        flag.wait_started()
        try:
            goes_on(threaded.server, "/hello", b"hello")
        finally:
            flag.lift()
        assert b"closes slowly" == slow[0].receive().body


def test_slow_uploads(site: Site) -> None:
    """Uploads that pause use no thread at all."""
    half = b"POST /upload?how=all&name=slow HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello"
    with ExitStack() as stack:
        slow = [stack.enter_context(site.server.connect()) for _ in range(3 * site.threads)]
        for connection in slow:
            connection.send(half)
        goes_on(site.server, "/hello", b"hello")
        for connection in slow:
            connection.send(b"hello")
        assert [b"hellohello"] * len(slow) == [answer.body for answer in receive_all(slow)]


@pytest.mark.parametrize("path", ["/pour", "/pour-generator", "/pour-write"])
def test_slow_readers(site: Site, tmp_path: Path, path: str) -> None:
    """Threads that wait for readers do not count as busy: however many wait, other requests are served."""
    poured = request(target(path, name=tmp_path, items=200))
    with ExitStack() as stack:
        count = 1 if site.threads == 1 else 2 * site.threads
        slow = [stack.enter_context(site.server.connect(receive_buffer_bytes=4096)) for _ in range(count)]
        for connection in slow:
            connection.send(poured)
            assert connection.reader.fill()
        goes_on(site.server, "/static/file.txt", b"static")
        if site.threads > 1:
            goes_on(site.server, "/hello", b"hello")
            assert b"lingered" == site.server.fetch(target("/linger", ms=20)).body
        for connection in slow:
            connection.abort()


@pytest.mark.parametrize("threads", [2, 16])
def test_handlers(serve: Servers, tmp_path: Path, flag: Flag, threads: int) -> None:
    """A slow handler never stops a fast one either."""
    site = start(serve, tmp_path, threads, of="handler")
    targets = [target("/", flag=flag, id=number) for number in range(threads - 2)]
    targets += [target("/steps", flag=flag, n=2)]
    with under_way(site.server, *targets) as slow:
        flag.wait_started(range(threads - 2))
        flag.child(1).wait_started()
        goes_on(site.server, "/", b"handled")
        flag.lift()
        flag.child(1).lift()
        *held, stream = receive_all(slow)
        assert [b"handled%d" % number for number in range(len(held))] == [answer.body for answer in held]
        assert b"<0><1>" == stream.body


def test_many_slow_and_many_fast(shared: Callable[[int], Site]) -> None:
    """Sixteen clients of a slow page and as many of a fast one: each has all its answers."""
    site = shared(16)
    with ExitStack() as stack:
        slow = [stack.enter_context(site.server.connect()) for _ in range(16)]
        fast = [stack.enter_context(site.server.connect()) for _ in range(16)]
        for turn in range(20):
            for number, connection in enumerate(slow):
                connection.send(request(target("/linger", ms=5, id=turn * 100 + number)))
            for number, connection in enumerate(fast * 3):
                assert b"hello%d" % number == connection.get(target("/hello", id=number)).body
            for number, connection in enumerate(slow):
                assert b"lingered%d" % (turn * 100 + number) == connection.receive().body
    site.wait_settled()
