"""Signals of the application: its handlers run although its main thread sleeps, or the log says why not."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.server import Server, Servers

#: A handler that is called says so on standard output.
APPLICATION = """
import os, signal, threading
from pathlib import Path

def hear(number, frame):
    is_main = threading.current_thread() is threading.main_thread()
    print("heard", signal.Signals(number).name, "here" if is_main else "elsewhere", flush=True)

def fail(number, frame):
    raise SystemExit("a handler that fails")

for name in os.environ.get("HANDLED", "").split():
    signal.signal(getattr(signal, name), hear)
if "FAILS" in os.environ:
    signal.signal(signal.SIGUSR2, fail)
if "TIMER" in os.environ:
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)

def application(environ, start_response):
    path, query = environ["PATH_INFO"], environ["QUERY_STRING"]
    if path == "/set":
        signal.signal(getattr(signal, query), hear)
    if path == "/hold":
        print("holding", flush=True)
        os.read(os.open(query, os.O_RDONLY), 1)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [str(os.getpid()).encode()]
"""

NAMES = ["SIGALRM", "SIGUSR1", "SIGUSR2", "SIGCHLD", "SIGHUP", "SIGPROF"]
WAYS = [("0",), ("1",), ("1", "--preload")]
THREADS = ["1", "4"]


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """Return the file of the application."""
    file = tmp_path / "application.py"
    file.write_text(APPLICATION, encoding="utf-8")
    return file


@pytest.fixture
def started(serve: Servers, target: Path) -> Callable[..., Server]:
    """Start servers of one process that serves."""

    def start(way: tuple[str, ...], threads: str, **variables: str) -> Server:
        return serve(target, "--processes", *way, "--threads", threads, env=variables)

    return start


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_handlers_run(started: Callable[..., Server], way: tuple[str, ...], threads: str) -> None:
    """Handlers that were set by the import run on the main thread, while no request comes."""
    names = [name for name in NAMES if way != ("0",) or name != "SIGUSR1"]
    server = started(way, threads, HANDLED=" ".join(names))
    pid = int(server.fetch().body)
    for name in names:
        for _ in range(2):
            mark = server.mark()
            os.kill(pid, getattr(signal, name))
            server.wait_for_log(f"heard {name} here", since=mark)

    assert str(pid).encode() == server.fetch().body
    server.stop()


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("way", WAYS[:2], ids=" ".join)
def test_timer(started: Callable[..., Server], way: tuple[str, ...], threads: str) -> None:
    """A timer that the import has set goes on while nothing else happens."""
    server = started(way, threads, HANDLED="SIGALRM", TIMER="yes")
    server.wait_for_log("heard SIGALRM here", count=20, since=server.mark())
    server.stop()


def test_timer_of_a_prototype(started: Callable[..., Server]) -> None:
    """Workers do not inherit timers, and the log says so."""
    server = started(WAYS[2], "1", HANDLED="SIGALRM", TIMER="yes")
    server.wait_for_log("--preload: timers of SIGALRM will not run in workers: set timers in a hook")


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_handler_set_in_a_request(started: Callable[..., Server], way: tuple[str, ...]) -> None:
    """With one thread, a request may set a handler, which also runs after the request is over."""
    server = started(way, "1")
    pid = int(server.fetch("/set?SIGUSR2").body)
    os.kill(pid, signal.SIGUSR2)
    server.wait_for_log("heard SIGUSR2 here")


@pytest.mark.parametrize("threads", THREADS)
def test_handler_during_a_request(started: Callable[..., Server], tmp_path: Path, threads: str) -> None:
    """A handler runs while requests wait, whichever threads they have."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    server = started(("1",), threads, HANDLED="SIGUSR2")
    pid = int(server.fetch().body)
    with server.connect() as connection:
        connection.send(f"GET /hold?{fifo} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        server.wait_for_log("holding")
        os.kill(pid, signal.SIGUSR2)
        server.wait_for_log("heard SIGUSR2 here")
        os.close(os.open(fifo, os.O_WRONLY))

        assert str(pid).encode() == connection.receive().body


@pytest.mark.parametrize("threads", THREADS)
def test_handler_that_fails(started: Callable[..., Server], threads: str) -> None:
    """An exception of a signal handler is in the log, and the worker goes on."""
    server = started(("1",), threads, FAILS="yes", HANDLED="SIGALRM")
    pid = int(server.fetch().body)
    os.kill(pid, signal.SIGUSR2)
    server.wait_for_log("a signal handler of the application failed:(.|\n)*SystemExit: a handler that fails")
    os.kill(pid, signal.SIGALRM)
    server.wait_for_log("heard SIGALRM here")

    assert str(pid).encode() == server.fetch().body


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_lost_handlers_are_told(started: Callable[..., Server], way: tuple[str, ...], threads: str) -> None:
    """For each of the server's own signals the log says once that the application's handler does not run."""
    server = started(way, threads, HANDLED="SIGTERM SIGINT SIGUSR1")
    server.fetch("/set?SIGTERM" if threads == "1" else "/")
    lost = {"SIGTERM", "SIGINT"} | ({"SIGUSR1"} if way == ("0",) else set())
    server.stop()
    told = "the application's handler for it does not run"
    said = [line for line in server.log().splitlines() if told in line]

    assert lost == {name for name in ("SIGTERM", "SIGINT", "SIGUSR1") if any(name in line for line in said)}
    assert len(lost) == len(said)
    assert "heard" not in server.log()


def test_a_wakeup_of_the_application(started: Callable[..., Server], target: Path) -> None:
    """If the application calls `signal.set_wakeup_fd` itself, the log says that its handlers may wait."""
    wakeup = "import socket\nours = socket.socketpair()\nours[1].setblocking(False)\n"
    wakeup += "signal.set_wakeup_fd(ours[1].fileno())\n"
    target.write_text(APPLICATION + wakeup, encoding="utf-8")
    server = started(("1",), "4", HANDLED="SIGALRM")
    server.wait_for_log("the application has called signal.set_wakeup_fd itself")
    os.kill(int(server.fetch().body), signal.SIGALRM)

    assert 200 == server.fetch().status
