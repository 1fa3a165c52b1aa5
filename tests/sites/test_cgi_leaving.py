"""A thousand clients of scripts leave before they have their answers; no process or descriptor is left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sites.scripts import (
    HEAD,
    SHELL,
    children,
    descriptors,
    has_ended,
    running,
    script,
    start,
    text,
)
from support.client import request
from support.server import until

if TYPE_CHECKING:
    from pathlib import Path

    from support.client import Connection
    from support.server import Server, Servers

CLIENTS = 1_000

WAVE = 50
"""Number of clients at once."""

NOTED = "echo $$ >>../../begun; "

SILENT = SHELL.format(NOTED + "sleep 600 & sleep 600")
PRINTING = SHELL.format(HEAD + "echo begun; " + NOTED + "yes & exec yes")

KINDS = 5
"""Kinds of clients: of five, two wait for their answers, two receive them, and one sends its body."""

BODIES = (70_000, 1_000_000)
"""The smaller body is kept in memory, the larger one in a file."""


def begin(server: Server, number: int) -> Connection:
    """Connect a client that asks for a script."""
    connection = server.connect(lint_answers=False)
    kind = number % KINDS
    if kind == KINDS - 1:
        length = BODIES[number // KINDS % len(BODIES)]
        fields = [("Content-Length", str(length))]
        head = request("/cgi-bin/silent.sh", method="POST", fields=fields)
        connection.send(head + b"x" * (length // 2))
    else:
        connection.send(request(f"/cgi-bin/{('silent', 'printing')[kind % 2]}.sh"))
        if kind == 1:
            assert connection.reader.fill(), "it reads something, others nothing"
    return connection


def leave(connection: Connection, number: int) -> None:
    """Let a client go, with a reset or an ordinary end."""
    if number % 2:
        connection.abort()
    else:
        connection.socket.close()


def test_a_thousand(serve: Servers, project: Path) -> None:
    """Clients leave without an answer, with a part of it, or with half of their body sent."""
    begun = project / "begun"
    script(project, "silent.sh", SILENT)
    script(project, "printing.sh", PRINTING)
    script(project, "good.sh", SHELL.format(HEAD + "echo good"))
    server = start(serve, project, route='cgi-timeout = "0"')
    assert b"good\n" == server.fetch("/cgi-bin/good.sh").body
    worker = server.process.pid
    (helper,) = children(worker)
    before = (server.resting_fds(), descriptors(helper))
    started = 0
    for first in range(0, CLIENTS, WAVE):
        numbers = range(first, first + WAVE)
        connections = [begin(server, number) for number in numbers]
        started += WAVE - WAVE // KINDS
        assert until(lambda count=started: text(begun).count("\n") == count)
        for number, connection in zip(numbers, connections, strict=True):
            leave(connection, number)

    pids = [int(line) for line in text(begun).split()]
    assert CLIENTS - CLIENTS // KINDS == len(pids)
    assert until(lambda: all(has_ended(pid) for pid in pids))
    assert until(lambda: not running(project)), running(project)
    assert until(lambda: descriptors(helper) <= before[1])
    assert server.settles_at_fds(before[0])
    assert {helper} == children(worker)
    assert b"good\n" == server.fetch("/cgi-bin/good.sh").body
