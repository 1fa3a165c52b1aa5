"""Clients of a group that are slow, many or greedy, or under way at a restart, do not disturb other clients.

Some tests repeat what users of mod_wsgi's daemon mode have reported, and name the issues, which are in
https://github.com/GrahamDumpleton/mod_wsgi/issues.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import socket
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from processes.conftest import freeze, is_alive
from sites.grouped import CONTROL, OTHERS, file_of, fill, process_of, start
from support.asking import asking
from support.client import Asked, Connection, request
from support.control import group, reload, states, supervisor
from support.server import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.server import Server, Servers

SLOW = 24
"""Clients that send slowly, to a group of two threads."""
READERS = 8
"""Clients that read slowly."""
BODY_BYTES = 100_000
BIG_BYTES = 128 * 65536
"""Length of the page `big`."""
ROOM = 18
"""How many requests the group runs or lets wait in `test_flood`."""


@pytest.fixture
def folder(project: Path) -> Path:
    """Return a project with three applications."""
    return fill(project)


def open_clients(
    server: Server, stack: contextlib.ExitStack, number: int, *, receive_buffer_bytes: int = 0
) -> list[Connection]:
    """Open connections."""

    def client() -> Connection:
        return server.connect(lint_answers=False, receive_buffer_bytes=receive_buffer_bytes)

    return [stack.enter_context(client()) for _ in range(number)]


def readable(clients: list[Connection]) -> int:
    """Return how many of the clients have received data."""
    poll = select.poll()
    for client in clients:
        poll.register(client.socket, select.POLLIN)
    return len(poll.poll(0))


def begin_uploads(clients: list[Connection], path: str) -> None:
    """Send a head that announces a body on each connection, and the beginning of the body."""
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {BODY_BYTES}\r\n\r\n"
    for client in clients:
        client.send(head.encode() + b"x" * 1000)


@pytest.mark.parametrize("how", ["", "stream-body = true"])
def test_slow_uploads(serve: Servers, folder: Path, how: str) -> None:
    """Uploads that pause hold no thread of the group: other requests are answered meanwhile (#592)."""
    server = start(serve, folder, f"processes = 1\nthreads = 2\n{how}")
    with contextlib.ExitStack() as stack, asking(server, *OTHERS, "/shop/x") as asked:
        clients = open_clients(server, stack, SLOW)
        begin_uploads(clients, "/shop/x")
        assert asked.goes_on(200)
        for client in clients:
            client.send(b"x" * (BODY_BYTES - 1000))
        answers = [client.receive(Asked("POST")) for client in clients]

    assert [] == asked.wrong
    assert {(200, str(BODY_BYTES).encode())} == {(one.status, one.body.split()[-1]) for one in answers}


def test_uploads_that_do_not_go_on(serve: Servers, folder: Path) -> None:
    """Uploads that stop get a 408 after a timeout; the group's log names the setting (#592)."""
    server = start(serve, folder, "processes = 1\nthreads = 2", site='body-idle-timeout = "1s"')
    with contextlib.ExitStack() as stack, asking(server, *OTHERS, "/shop/x") as asked:
        clients = open_clients(server, stack, SLOW)
        begin_uploads(clients, "/shop/x")

        assert [408] * SLOW == [client.receive(Asked("POST")).status for client in clients]
    assert [] == asked.wrong
    server.wait_for_log(
        "group shop .*ADY109 warning: .* with 408: .* --body-idle-timeout and --body-rate-min"
    )


def test_slow_readers(serve: Servers, folder: Path) -> None:
    """Clients that do not read hold no thread of the group; if they read later, they get all data (#181)."""
    server = start(serve, folder, "processes = 1\nthreads = 2")
    with contextlib.ExitStack() as stack, asking(server, *OTHERS, "/shop/x") as asked:
        clients = open_clients(server, stack, READERS, receive_buffer_bytes=4096)
        for client in clients:
            client.send(request("/shop/big"))
        assert until(lambda: readable(clients) == READERS)
        assert asked.goes_on(200)
        for client in clients:
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        answers = [client.receive() for client in clients]

    assert [] == asked.wrong
    assert {(200, True, BIG_BYTES)} == {(one.status, one.complete, len(one.body)) for one in answers}


def test_readers_that_do_not_go_on(serve: Servers, folder: Path) -> None:
    """Clients that stop reading are cut off at a timeout; the group's log says so at level debug (#181)."""
    shop = 'processes = 1\nthreads = 2\nlog-level = "debug"'
    server = start(serve, folder, shop, site='write-idle-timeout = "1s"')
    with contextlib.ExitStack() as stack, asking(server, *OTHERS, "/shop/x") as asked:
        clients = open_clients(server, stack, READERS, receive_buffer_bytes=4096)
        for client in clients:
            client.send(request("/shop/big"))
        server.wait_for_log("group shop .*ADY105 debug: a client reads its answer too slowly", count=READERS)
        answers = [client.receive() for client in clients]

    assert [] == asked.wrong
    assert {False} == {answer.complete for answer in answers}


def test_flood(serve: Servers, folder: Path) -> None:
    """If a slow page gets more requests than the group takes, the rest get a 503; others go on (#777)."""
    server = start(serve, folder, 'processes = 1\nthreads = 2\nqueue-limit = 16\nqueue-timeout = "10m"')
    with contextlib.ExitStack() as stack, asking(server, *OTHERS, keeps=True) as asked:
        clients = open_clients(server, stack, 60)
        for client in clients:
            client.send(request("/shop/gate"))
        assert until(lambda: readable(clients) >= 60 - ROOM)
        assert asked.goes_on()
        (folder / "gate").touch()
        statuses = Counter(client.receive().status for client in clients)

    assert [] == asked.wrong
    assert {200, 503} == set(statuses)
    assert statuses[503] >= 60 - ROOM
    server.wait_for_log(
        "group shop .*ADY109 warning: .* with 503: no thread came free in time. .*--queue-limit"
    )


def test_flood_by_one_client(serve: Servers, folder: Path) -> None:
    """One client gets the slowest page as often as its route allows; other clients get it, too (#878)."""
    server = start(serve, folder, "processes = 1\nthreads = 4", route='rate-limit = "1/h"\nrate-burst = 5')
    (folder / "gate").touch()
    with contextlib.ExitStack() as stack, asking(server, *OTHERS, keeps=True) as asked:
        greedy = [stack.enter_context(Connection(server.address, source="127.0.0.2")) for _ in range(40)]
        for client in greedy:
            client.send(request("/shop/gate"))
        statuses = Counter(client.receive().status for client in greedy)

        for number in range(3, 9):
            with Connection(server.address, source=f"127.0.0.{number}") as client:
                assert 200 == client.get("/shop/gate").status
    assert [] == asked.wrong
    assert {200: 5, 429: 35} == statuses
    log = folder / "access.log"
    assert until(lambda: 35 == log.read_text(encoding="utf-8").count("shop 429 /shop/gate\n"))


RESTARTS = {
    "reload": r"ADY352 info: the group shop: process \d+ ended with status 0",
    "SIGTERM": r"the group shop: process \d+ ended with status 0; it is started again",
    "SIGTERM of a worker": r"group shop ADY328 warning: worker 1 \(process \d+\) was told to end by a signal",
}
"""Ways to restart a group, each with its line in the log."""
OLD = 'processes = 1\nthreads = 8\nenv = { MARK = "old" }'
"""The settings of the group before the restart."""


def inside(folder: Path) -> int:
    """Return how many requests are inside the application of the group, by its last report."""
    said = group(folder / CONTROL, "shop")["status"]
    return int(said["total"]["in_flight"]) if said else 0


@pytest.mark.parametrize("how", RESTARTS)
def test_in_flight_at_a_restart(serve: Servers, folder: Path, how: str) -> None:
    """At a restart, the group's old process answers requests it has begun, its new process all others."""
    server = start(serve, folder, OLD)
    old = process_of(server, "/shop/x")
    with contextlib.ExitStack() as stack, asking(server, *OTHERS, "/shop/x") as asked:
        clients = open_clients(server, stack, 6)
        for client in clients:
            client.send(request("/shop/gate"))
        assert until(lambda: inside(folder) >= 6)
        restart(server, folder, how, old)
        (folder / "gate").touch()
        answers = [client.receive() for client in clients]
        assert until(lambda: not is_alive(old))

    assert [] == asked.wrong
    assert {(200, str(old).encode())} == {(answer.status, answer.body.split()[0]) for answer in answers}
    server.wait_for_log(RESTARTS[how])


@pytest.mark.parametrize("how", RESTARTS)
def test_uploads_at_a_restart(serve: Servers, folder: Path, how: str) -> None:
    """Uploads that began before a restart of the group are received to their end, and answered (#542)."""
    server = start(serve, folder, f"{OLD}\nstream-body = true")
    old = process_of(server, "/shop/x")
    with contextlib.ExitStack() as stack, asking(server, *OTHERS, "/shop/x") as asked:
        clients = open_clients(server, stack, 6)
        begin_uploads(clients, "/shop/x")
        assert until(lambda: inside(folder) >= 6)
        restart(server, folder, how, old)
        for client in clients:
            client.send(b"x" * (BODY_BYTES - 1000))
        answers = [client.receive(Asked("POST")) for client in clients]
        assert until(lambda: not is_alive(old))

    assert [] == asked.wrong
    expected = [str(old).encode(), str(BODY_BYTES).encode()]
    assert [(200, expected)] * 6 == [(answer.status, answer.body.split()) for answer in answers]
    server.wait_for_log(RESTARTS[how])


def restart(server: Server, folder: Path, how: str, old: int) -> None:
    """Have the process `old` replaced."""
    if how == "reload":
        file_of(folder, shop=OLD.replace("old", "new"))
        assert 0 == reload(folder / CONTROL)[0]
    else:
        os.kill(supervisor(folder / CONTROL, "shop") if how == "SIGTERM" else old, signal.SIGTERM)
    if how != "SIGTERM":
        # A group's supervisor ends before its successor begins: requests that come meanwhile wait.
        assert until(lambda: old != process_of(server, "/shop/x"))


def test_full_backlog(serve: Servers, folder: Path) -> None:
    """A request that a frozen group cannot take gets a 503 in time; the log names the group (#228)."""
    server = start(
        serve, folder, 'processes = 1\nthreads = 2\nqueue-timeout = "10m"', "--queue-timeout", "1s"
    )
    pid = process_of(server, "/shop/x")
    freeze(pid)
    with contextlib.ExitStack() as stack, asking(server, *OTHERS, keeps=True) as asked:
        stack.callback(os.kill, pid, signal.SIGCONT)
        clients = open_clients(server, stack, 32)
        for client in clients:
            client.send(request("/shop/x", method="POST", body=b"x" * 60_000))
        server.wait_for_log("ADY240 error: the group shop takes no more connections; .* answered 503")
        assert until(lambda: readable(clients) > 0)
        os.kill(pid, signal.SIGCONT)
        statuses = Counter(client.receive(Asked("POST")).status for client in clients)

    assert {200, 503} == set(statuses)
    assert [] == asked.wrong
    assert 200 == server.fetch("/shop/x").status


@pytest.fixture
def descriptors() -> Iterator[int]:
    """Raise this process's limit of open files to the maximum; return the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("number", [2_000, pytest.param(10_000, marks=pytest.mark.long)])
def test_crowd_wakes_a_sleeper(serve: Servers, folder: Path, descriptors: int, number: int) -> None:
    """If many clients come to a sleeping group at once, the group is started once, and answers all."""
    number = min(number, descriptors - 200)
    server = start(serve, folder, "processes = 1\nthreads = 2\nmin-processes = 0\nqueue-limit = 100000")
    assert ("asleep", 0) == (states(folder / CONTROL)["shop"], group(folder / CONTROL, "shop")["starts"])
    with contextlib.ExitStack() as stack:
        clients = open_clients(server, stack, number)
        with asking(server, *OTHERS, keeps=True) as asked:
            for client in clients:
                client.send(request("/shop/x"))
            answers = [client.receive() for client in clients]

        assert {200: number} == Counter(answer.status for answer in answers)
        assert 1 == len({answer.body.split()[0] for answer in answers})
    assert [] == asked.wrong
    assert ("serving", 1) == (states(folder / CONTROL)["shop"], group(folder / CONTROL, "shop")["starts"])
    assert 1 == server.log().count("the group shop serves")
