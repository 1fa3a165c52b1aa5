"""Threads of the application's own run whether the server idles or is busy, and fail as in other programs."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import TYPE_CHECKING

import pytest

from support.client import request
from support.server import until
from threads.scenes import PATIENCE_S, holding, receive_all, receive_held, start, target, under_way

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Servers
    from threads.scenes import Flag, Site

TICKS = 20


@pytest.fixture(params=[1, 2, 16], ids=lambda threads: f"{threads}-threads")
def ticking(serve: Servers, tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Site, Path]:
    """Serve an application with a thread that adds bytes to a file."""
    ticks = tmp_path / "ticks"
    site = start(serve, tmp_path, request.param, env={"TICKS": str(ticks)})
    return site, ticks


def counted(ticks: Path) -> int:
    """Return how often the thread has run."""
    return ticks.stat().st_size if ticks.exists() else 0


def grows(ticks: Path) -> bool:
    """Tell whether the thread has run some more, and then some more."""
    before = counted(ticks)
    return until(lambda: counted(ticks) >= before + TICKS, PATIENCE_S)


def test_while_idle(ticking: tuple[Site, Path]) -> None:
    """The thread runs while nobody asks for anything, before the first request and after it."""
    site, ticks = ticking

    assert grows(ticks)
    assert b"hello" == site.server.fetch("/hello").body
    assert grows(ticks)


@pytest.mark.parametrize("by", ["sleeping", "computing"])
def test_while_busy(ticking: tuple[Site, Path], flag: Flag, by: str) -> None:
    """The thread runs while all threads are in the application."""
    site, ticks = ticking
    count = site.threads if by == "sleeping" else 1
    with holding(site, flag, count, by=by) as connections:
        assert grows(ticks)
        flag.lift()
        receive_held(connections)


def test_while_many_ask(ticking: tuple[Site, Path]) -> None:
    """The thread runs while the loop has something to do all the time."""
    site, ticks = ticking
    before = counted(ticks)
    for turn in range(1000):
        targets = [target("/hello", id=turn)] * 32
        with under_way(site.server, *targets) as connections:
            assert {b"hello%d" % turn} == {response.body for response in receive_all(connections)}
        if counted(ticks) >= before + TICKS:
            return
    raise AssertionError("the thread has hardly run during 32,000 requests")


def test_while_files_are_sent(ticking: tuple[Site, Path]) -> None:
    """The thread runs while files alone keep the loop busy without a pause, after one request."""
    site, ticks = ticking
    files = request("/static/file.txt") * 20_000
    with contextlib.ExitStack() as stack:
        crowd = [stack.enter_context(site.server.connect(lint_answers=False)) for _ in range(3)]
        for connection in crowd:
            threading.Thread(target=send_for_ever, args=(connection.socket, files), daemon=True).start()
            assert connection.socket.recv(1)
            threading.Thread(target=receive_for_ever, args=(connection.socket,), daemon=True).start()
        assert b"hello" == site.server.fetch("/hello").body
        grown = grows(ticks)
        for connection in crowd:
            connection.socket.shutdown(socket.SHUT_RDWR)
    assert grown


def send_for_ever(of: socket.socket, files: bytes) -> None:
    """Ask for files until the connection ends."""
    with contextlib.suppress(OSError):
        while True:
            of.sendall(files)


def receive_for_ever(of: socket.socket) -> None:
    """Receive bytes until the connection ends."""
    room = bytearray(1 << 20)
    with contextlib.suppress(OSError):
        while of.recv_into(room):
            pass


def test_timer(site: Site, flag: Flag) -> None:
    """A `threading.Timer` that a request has started fires while nobody asks."""
    assert b"started" == site.server.fetch(target("/thread", what="timer", flag=flag)).body
    assert until(flag.path.exists, PATIENCE_S)


def test_timer_while_busy(site: Site, flag: Flag) -> None:
    """A `threading.Timer` fires while all threads are busy, too."""
    fired = flag.child("fired")

    assert b"started" == site.server.fetch(target("/thread", what="timer", flag=fired)).body
    with holding(site, flag, site.threads) as connections:
        assert until(fired.path.exists, PATIENCE_S)
        flag.lift()
        receive_held(connections)


def test_failing_thread(site: Site) -> None:
    """The interpreter's own hook reports a thread that fails."""
    mark = site.server.mark()

    assert b"started" == site.server.fetch(target("/thread", what="failing")).body
    text = site.server.wait_for_log(r"^RuntimeError: in a thread of its own$", since=mark)
    assert "Exception in thread failing" in text


def test_excepthook(site: Site, tmp_path: Path) -> None:
    """An application's own hook is called for its threads, and not for exceptions in requests."""
    server, mark = site.server, site.server.mark()
    server.fetch(target("/hook", name=tmp_path, set="ours"))
    try:
        with server.connect() as connection:
            assert 500 == connection.get(target("/answer", kind="raise")).status
        with server.connect() as connection:
            assert 500 == connection.get(target("/answer", kind="raise", ms=5)).status
        server.wait_for_log(r"^RuntimeError: expected$", count=2, since=mark)
        server.fetch(target("/thread", what="failing"))
        noted = ["failing", "in a thread of its own"]

        assert [noted] == site.wait_noted(str(tmp_path), noted)
        assert "in a thread of its own" not in server.log()[mark:]
    finally:
        server.fetch(target("/hook", name=tmp_path, set="the interpreter's"))
