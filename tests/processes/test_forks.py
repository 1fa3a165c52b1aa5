"""Children that an application forks in a request are plain programs: they never serve, and delay nothing."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from processes.conftest import is_alive
from support.client import request
from support.server import STOP_TIMEOUT_S, until

if TYPE_CHECKING:
    from support.server import Server, Servers

FORKING = Path(__file__).with_name("forking.py")

WAYS = {
    "threads": ("--processes", "0", "--threads", "4"),
    "one thread": ("--processes", "0", "--threads", "1"),
    "worker": ("--processes", "1", "--threads", "4"),
    "preload": ("--processes", "1", "--preload", "--threads", "1"),
}

STATUS = {"return": "0 True", "raise": "1 True", "exit": "7 True", "words": "1 True", "_exit": "9 False"}


@pytest.fixture(params=["application", "handler"])
def interface(request: pytest.FixtureRequest) -> str:
    """Run a test with both kinds of applications."""
    found: str = request.param
    return found


def start(serve: Servers, way: str, name: str = "application") -> Server:
    """Serve the applications that fork."""
    return serve(f"{FORKING}:{name}", *WAYS[way])


@pytest.mark.parametrize("way", WAYS)
def test_ends_with_its_status(serve: Servers, way: str, interface: str) -> None:
    """However a child comes back to the server, it ends there, as a program does; only the parent answers."""
    server = start(serve, way, interface)
    for how, status in STATUS.items():
        with server.connect() as connection:
            assert status == connection.get(f"/fork/{how}").body.decode(), how
            assert f"before {status}" == connection.get(f"/items/{how}").body.decode(), how
            assert b"closing soon" == connection.get(f"/closing/{how}").body
            assert status == connection.get("/closed").body.decode(), how
    # An answer of a child would have come before the answer to the next request.
    log = server.log()

    assert 3 == log.count("ValueError: the child fails"), log
    assert 3 == log.count("last words"), log
    server.stop()


@pytest.mark.parametrize("way", ["threads", "worker"])
def test_from_a_thread_of_the_application(serve: Servers, way: str) -> None:
    """If a thread of the application forks, Python itself ends the child: with 0, even after an exception."""
    server = start(serve, way)
    for how in ("return", "raise", "_exit"):
        expected = "9" if how == "_exit" else "0"

        assert expected == server.fetch(f"/in_thread/{how}").body.decode().split()[0]


@pytest.mark.parametrize("way", WAYS)
def test_signals(serve: Servers, way: str) -> None:
    """SIGTERM ends a child, or calls the handler that the child has set, and does not stop the server."""
    server = start(serve, way)
    for _ in range(5):
        assert str(-signal.SIGTERM) == server.fetch("/terminate").body.decode()
        if not sysconfig.get_config_var("Py_GIL_DISABLED"):
            # Without any server, too, free-threaded 3.13 loses some signals that such a child handles.
            assert "11" == server.fetch("/handle").body.decode()


@pytest.mark.parametrize("way", WAYS)
def test_descriptors(serve: Servers, way: str) -> None:
    """A child has none of the server's sockets, connections, and descriptors with which the server waits."""
    server = start(serve, way)
    with server.connect() as first, server.connect() as second:
        second.send(request("/fork/return"))

        assert second.receive().complete
        assert "()" == first.get("/descriptors").body.decode()


@pytest.mark.parametrize("way", WAYS)
def test_a_living_child(serve: Servers, way: str) -> None:
    """A child that lives on delays no stop, keeps no client waiting, and leaves the address free."""
    server = start(serve, way)
    with server.connect() as connection:
        child = int(connection.get("/keep").body)
        try:
            server.signal(signal.SIGTERM)

            assert connection.at_end()
            assert 0 == server.process.wait(STOP_TIMEOUT_S)
            assert is_alive(child)
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("127.0.0.1", server.port))
                probe.listen()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
    assert until(lambda: not is_alive(child))
