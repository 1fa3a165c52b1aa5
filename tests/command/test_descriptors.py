"""When descriptors run out, connections wait: nothing crashes, spins or gets stuck."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.client import request
from support.http import NoResponseError
from support.server import adyton, environment, until

if TYPE_CHECKING:
    from support.server import Server, Servers

FILES_MAX = 48
CLIENTS = 90


def cpu_seconds(server: Server) -> float:
    """Return the processor time that the server has used."""
    fields = (f"/proc/{server.process.pid}/stat", "rb")
    with open(*fields) as stream:  # noqa: PTH123 (a file of the kernel's)
        values = stream.read().rpartition(b")")[2].split()
    return (int(values[11]) + int(values[12])) / os.sysconf("SC_CLK_TCK")


@pytest.fixture
def short(serve: Servers, application: Path) -> Server:
    """Start a server that may open only a few files, and thinks that it may open more."""
    code = (
        "import os, resource, sys\n"
        f"resource.setrlimit(resource.RLIMIT_NOFILE, ({FILES_MAX}, {FILES_MAX}))\n"
        "os.execv(sys.executable, sys.argv[1:])\n"
    )
    # A client that is connected may have to wait for its turn to send a request.
    flags = ["--bind", "127.0.0.1:0", "--first-byte-timeout", "60s"]
    command = [*adyton("serve"), str(application), *flags]
    return serve.start([sys.executable, "-c", code, *command])


def test_more_clients_than_files(short: Server) -> None:
    """Each client is answered in the end, as earlier ones leave."""
    clients = [short.connect() for _ in range(CLIENTS)]
    for client in clients:
        client.send(request())
    before = cpu_seconds(short)

    clients[-1].is_silent(0.5)

    assert 0.3 > cpu_seconds(short) - before

    for client in clients:
        assert b"hello" == client.receive().body

        client.socket.close()
    assert b"hello" == short.fetch().body


def test_idle_connections_make_room(short: Server) -> None:
    """Idle connections are closed when other clients wait."""
    clients = [short.connect() for _ in range(CLIENTS)]
    try:
        for client in clients:
            assert b"hello" == client.get().body
    finally:
        for client in clients:
            client.socket.close()
    assert b"hello" == short.fetch().body


@pytest.mark.parametrize("begun", ["head", "body"])
def test_slow_clients_make_room(short: Server, begun: str) -> None:
    """Requests that do not go on keep no clients out: they are answered 503 as soon as other clients wait."""
    head = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n"
    stalled = [short.connect(lint_answers=False) for _ in range(CLIENTS)]
    try:
        for client in stalled:
            client.send(f"{head}\r\nbody".encode() if begun == "body" else head.encode())
        assert b"hello" == short.fetch().body

        short.wait_for_log(
            r"ADY109 warning: .* with 503: There are too many connections, and this one is slow"
        )
        assert 503 == stalled[0].receive().status
    finally:
        for client in stalled:
            client.socket.close()


def test_connection_limit(serve: Servers, application: Path) -> None:
    """Connections beyond `--connections-max` wait for a place."""
    server = serve(application, "--connections-max", "5")
    clients = [server.connect() for _ in range(20)]
    for client in clients:
        client.send(request(fields=[("Connection", "close")]))
    for client in clients:
        assert b"hello" == client.receive().body
        client.socket.close()
    assert b"hello" == server.fetch().body


def test_connections_of_one_address(serve: Servers, application: Path) -> None:
    """A connection beyond `--connections-per-address-max` is closed, until another one ends."""
    server = serve(application, "--connections-per-address-max", "2")
    clients = [server.connect() for _ in range(2)]
    for client in clients:
        assert b"hello" == client.get().body
    refused = server.connect()
    assert b"" == refused.socket.recv(1)
    refused.socket.close()
    clients[0].send(request(fields=[("Connection", "close")]))
    assert b"hello" == clients[0].receive().body
    clients[0].socket.close()
    assert until(lambda: is_answered(server))
    clients[1].socket.close()


def is_answered(server: Server) -> bool:
    """Tell whether a new connection is answered, and not closed."""
    with contextlib.suppress(NoResponseError, ConnectionResetError, BrokenPipeError):
        return server.fetch().body == b"hello"
    return False


@pytest.mark.parametrize("processes", ["0", "1"])
@pytest.mark.parametrize("closed", ["2>&-", "<&- 2>&-"])
def test_closed_streams(
    serve: Servers, application: Path, tmp_path: Path, processes: str, closed: str
) -> None:
    """Without standard streams the server works, and no socket and no log gets a descriptor from 0 to 2."""
    log = tmp_path / "error.log"
    flags = ["--bind", "127.0.0.1:0", "--processes", processes, "--error-log", str(log), "--control", "off"]
    command = [*adyton("serve"), str(application), *flags]
    server = serve.start(["sh", "-c", f'exec "$@" {closed}', "sh", *command], log=log)

    assert b"hello" == server.fetch().body
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text("ascii")
    for pid in [str(server.process.pid), *children.split()]:
        streams = [os.readlink(f"/proc/{pid}/fd/{number}") for number in range(3)]  # noqa: PTH115

        assert str(log) == streams[2]
        assert not any("socket" in stream for stream in streams)


def test_closed_error_stream(application: Path) -> None:
    """A command without standard error does its work all the same."""
    command = adyton("check", str(application))
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" 2>&-', "sh", *command],
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
    )

    assert 0 == done.returncode
    assert "fine" in done.stdout
