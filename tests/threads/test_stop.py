"""A stop answers requests under way, late or queued, and waits for no request longer than it may."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import pytest

from support.client import request
from support.http import NoResponseError
from support.server import until
from threads.scenes import PATIENCE_S, Flag, holding, receive_all, start, target, under_way

if TYPE_CHECKING:
    from pathlib import Path

    from support.client import Connection
    from support.server import Server, Servers
    from threads.scenes import Site

THREADS = pytest.mark.parametrize("threads", [1, 2, 16])
GRACE_S = 0.5
AT_EXIT = """
import atexit, pathlib, threading
from application import *
atexit.register(lambda: pathlib.Path({file!r}).write_text(threading.current_thread().name))
"""


def is_closed(server: Server) -> bool:
    """Tell whether the port takes no more connections."""
    try:
        server.connect().socket.close()
    except OSError:
        return True
    return False


def stop(site: Site) -> None:
    """Begin to stop, and wait until it has begun."""
    site.server.signal(signal.SIGTERM)
    assert until(lambda: is_closed(site.server), PATIENCE_S)


def start_with_exit(servers: Servers, folder: Path, threads: int, *flags: str) -> tuple[Site, Path]:
    """Serve the application from a program that writes a file at its exit."""
    program, file = folder / "at_exit.py", folder / "exited"
    program.write_text(AT_EXIT.format(file=str(file)), encoding="utf-8")
    return start(servers, folder, threads, *flags, file=program), file


@pytest.mark.parametrize(
    ("threads", "by"),
    [(1, "sleeping"), (2, "sleeping"), (16, "sleeping"), (1, "computing"), (2, "computing")],
)
def test_running_late_and_queued(serve: Servers, tmp_path: Path, flag: Flag, threads: int, by: str) -> None:
    """All requests that were accepted are answered, even requests that had no thread yet."""
    site = start(serve, tmp_path, threads)
    names = range(threads + 5)
    targets = [target("/hold", flag=flag, id=number, by=by) for number in names]
    with under_way(site.server, *targets[:threads]) as running:
        flag.wait_started(range(threads))
        with under_way(site.server, *targets[threads:]) as waiting:
            site.wait_queued(5)
            stop(site)
            flag.lift()
            responses = receive_all([*running, *waiting])

            assert [b"held%d" % number for number in names] == [answer.body for answer in responses]
            assert all(response.closing for response in responses)
            assert all(connection.at_end() for connection in [*running, *waiting])
    assert 0 == site.server.wait()


@THREADS
def test_stream_goes_on(serve: Servers, tmp_path: Path, flag: Flag, threads: int) -> None:
    """A stream that has begun comes to its end, and so do requests that were pipelined behind it."""
    site = start(serve, tmp_path, threads)
    with site.server.connect() as connection:
        connection.send(request(target("/steps", flag=flag, n=3)) + request("/hello"))
        flag.child(1).wait_started()
        stop(site)
        flag.child(1).lift()
        flag.child(2).lift()
        response = connection.receive()

        assert b"<0><1><2>" == response.body
        assert response.complete
        if not response.closing:
            assert b"hello" == connection.receive().body
        assert connection.at_end()
    assert 0 == site.server.wait()


@THREADS
def test_slow_reader(serve: Servers, tmp_path: Path, threads: int) -> None:
    """A thread that waits for its reader finishes the answer."""
    site = start(serve, tmp_path, threads)
    asked = request(target("/pour-write", name="reader", items=200))
    with site.server.connect(receive_buffer_bytes=32768) as connection:
        connection.send(asked)
        assert connection.reader.fill()
        stop(site)
        response = connection.receive()

        assert b"x" * 65536 * 200 == response.body
        assert response.complete
    assert 0 == site.server.wait()


@THREADS
@pytest.mark.parametrize("by", ["sleeping", "computing"])
def test_one_that_hangs(serve: Servers, tmp_path: Path, flag: Flag, threads: int, by: str) -> None:
    """A request that hangs delays the stop by the set time at most; others are answered, `atexit` runs."""
    site, exited = start_with_exit(serve, tmp_path, threads, f"--graceful-timeout={GRACE_S}s")
    with holding(site, flag, 1, by=by) as hung:
        begun = time.monotonic()
        site.server.signal(signal.SIGTERM)

        assert 0 == site.server.wait(PATIENCE_S)
        assert GRACE_S < time.monotonic() - begun
        assert exited.exists()
        assert_unanswered(hung[0])


def assert_unanswered(connection: Connection) -> None:
    """Check that the connection ended without an answer."""
    with pytest.raises(NoResponseError):
        connection.receive()


@pytest.mark.parametrize("threads", [2, 16])
def test_all_hang(serve: Servers, tmp_path: Path, flag: Flag, threads: int) -> None:
    """Even if all threads hang, and requests are queued, the stop is delayed by the set time at most."""
    site, exited = start_with_exit(serve, tmp_path, threads, f"--graceful-timeout={GRACE_S}s")
    with holding(site, flag, threads), under_way(site.server, "/hello", "/hello"):
        site.wait_queued(2)
        site.server.signal(signal.SIGTERM)

        assert 0 == site.server.wait(PATIENCE_S)
        assert exited.exists()


@THREADS
def test_hung_reader(serve: Servers, tmp_path: Path, threads: int) -> None:
    """A thread that waits for a client that never reads delays the stop by the set time at most."""
    site, exited = start_with_exit(serve, tmp_path, threads, f"--graceful-timeout={GRACE_S}s")
    asked = target("/pour-write", name="reader", items=300)
    with site.server.connect(receive_buffer_bytes=4096) as connection:
        connection.send(request(asked))
        assert connection.reader.fill()
        site.server.signal(signal.SIGTERM)

        assert 0 == site.server.wait(PATIENCE_S)
        assert exited.exists()


@THREADS
def test_at_exit(serve: Servers, tmp_path: Path, threads: int) -> None:
    """Handlers of `atexit` run in the main thread after requests of all threads."""
    site, exited = start_with_exit(serve, tmp_path, threads)
    with under_way(site.server, *[target("/linger", ms=5)] * 3 * threads) as connections:
        receive_all(connections)
    site.server.stop()

    assert "MainThread" == exited.read_text(encoding="utf-8")


@THREADS
def test_daemon_thread(serve: Servers, tmp_path: Path, flag: Flag, threads: int) -> None:
    """A daemon thread of the application does not hold up the end."""
    site, exited = start_with_exit(serve, tmp_path, threads)
    site.server.fetch(target("/thread", what="daemon", flag=flag))
    flag.wait_started(["thread"])
    site.server.signal(signal.SIGTERM)

    assert 0 == site.server.wait(PATIENCE_S)
    assert exited.exists()
    assert not flag.is_done()


@THREADS
def test_other_thread(serve: Servers, tmp_path: Path, flag: Flag, threads: int) -> None:
    """The interpreter waits for a thread that is no daemon, as at the end of any program."""
    site, exited = start_with_exit(serve, tmp_path, threads)
    site.server.fetch(target("/thread", what="other", flag=flag))
    flag.wait_started(["thread"])
    stop(site)
    time.sleep(0.2)  # it would have ended by now

    assert site.server.process.poll() is None
    flag.lift()
    assert 0 == site.server.wait(PATIENCE_S)
    assert flag.is_done()
    assert exited.exists()


@THREADS
def test_second_signal(serve: Servers, tmp_path: Path, flag: Flag, threads: int) -> None:
    """A second signal ends the server at once, even if all threads are busy."""
    site = start(serve, tmp_path, threads)
    with holding(site, flag, threads):
        site.server.signal(signal.SIGTERM)
        assert until(lambda: is_closed(site.server), PATIENCE_S)
        site.server.signal(signal.SIGTERM)
        site.server.wait(PATIENCE_S)

        assert not flag.path.exists()


@THREADS
@pytest.mark.parametrize("times", range(5))
def test_under_load(serve: Servers, tmp_path: Path, threads: int, times: int) -> None:
    """A stop under load cuts no answer that was begun; a connection without an answer just ends."""
    site = start(serve, tmp_path, threads)
    targets = [target("/linger", ms=number % 4, id=number) for number in range(40)]
    with under_way(site.server, *targets) as connections:
        time.sleep(times * 0.004)
        site.server.signal(signal.SIGTERM)
        for number, connection in enumerate(connections):
            try:
                assert b"lingered%d" % number == connection.receive().body
            except NoResponseError:
                continue
    assert 0 == site.server.wait(PATIENCE_S)
