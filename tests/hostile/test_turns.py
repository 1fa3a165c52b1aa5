"""Clients that have many requests under way take turns with clients that have one.

The tests count requests, not time: how many other requests are answered between the arrival of a request and
its answer.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

import pytest

from support.client import request

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.client import Connection
    from support.server import Server, Servers

CLIENTS = 60
EACH = 50
"""Requests that a client sends at once. Each takes a tenth of a millisecond: three of them make a turn."""
ARRIVES_AT = 10 * CLIENTS

APPLICATION = f"""
import socket, time
served, inside = 0, None

def application(environ, start_response):
    global served, inside
    path = environ["PATH_INFO"]
    start_response("200 OK", [])
    if path == "/hold":
        with open(environ["QUERY_STRING"]) as gate:
            gate.read()
    if path == "/inside":
        return [inside.recv(4096).partition(b"\\r\\n\\r\\n")[2]]
    until = time.perf_counter() + 0.0001
    while time.perf_counter() < until:
        pass
    served += 1
    if served == {ARRIVES_AT}:
        inside = socket.create_connection(("127.0.0.1", int(environ["SERVER_PORT"])))
        inside.sendall(b"GET /served HTTP/1.1\\r\\nHost: a\\r\\nConnection: close\\r\\n\\r\\n")
    return [b"%d" % served]
"""


@pytest.fixture
def server(serve: Servers, tmp_path: Path) -> Server:
    """Serve an application that counts, in one thread."""
    target = tmp_path / "application.py"
    target.write_text(APPLICATION)
    return serve(target, "--threads", "1", "--processes", "0")


@pytest.fixture
def connections(server: Server) -> Iterator[list[Connection]]:
    """Return connections of clients with many requests, and of a client with one; each was answered once."""
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(server.connect()) for _ in range(CLIENTS + 1)]
        for connection in connections:
            assert 200 == connection.get("/").status
        yield connections


def crowd_of(server: Server, gate: Path, connections: list[Connection]) -> None:
    """Let all clients send their requests, the last client a single one, while the server is held."""
    os.mkfifo(gate)
    with server.connect() as holder:
        holder.send(request(f"/hold?{gate}"))
        # The server is held from here on: the FIFO is open as soon as the application has opened it, too.
        with gate.open("w"):
            for connection in connections[:-1]:
                connection.send(request("/") * EACH)
            connections[-1].send(request("/served"))
        assert 200 == holder.receive().status


def test_one_request_beside_many(server: Server, connections: list[Connection], tmp_path: Path) -> None:
    """A request that comes with many of other clients is answered before each has had a whole turn."""
    before = int(connections[-1].get("/served").body)
    crowd_of(server, tmp_path / "gate", connections)
    answered = int(connections[-1].receive().body) - before

    assert answered < CLIENTS * EACH / 10
    for connection in connections[:-1]:
        assert [200] * EACH == [connection.receive().status for _ in range(EACH)]


def test_a_new_client_beside_many(server: Server, connections: list[Connection], tmp_path: Path) -> None:
    """A client that comes while others have many requests is answered before each has had a whole turn."""
    crowd_of(server, tmp_path / "gate", connections)
    for connection in connections[:-1]:
        assert [200] * EACH == [connection.receive().status for _ in range(EACH)]
    with server.connect() as connection:
        answered = int(connection.get("/inside").body) - ARRIVES_AT

    # The client waits at most two milliseconds and a turn, twice if the kernel reports it late. A whole turn
    # of each client, three requests, would be more.
    assert 0 < answered < 2 * CLIENTS
