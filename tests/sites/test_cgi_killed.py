"""When any process of a server is killed, its scripts end, and so do all processes that they have started."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from sites.scripts import HEAD, SHELL, children, descriptors, has_ended, parent, running, script, start, text
from support.client import request
from support.server import until

if TYPE_CHECKING:
    from pathlib import Path

    from support.client import Connection
    from support.server import Server, Servers

TREE = "(trap '' TERM HUP; sleep 600 & sh -c 'sleep 600; sleep 600') & sleep 600 & "
"""A shell command that starts processes, which start further ones; some of them ignore signals."""

RUNS = TREE + "echo $PPID >helper; echo $$ >>begun; "

STAYS = SHELL.format("trap '' TERM; " + RUNS + "wait; sleep 600")
"""A script that does not end by itself, and ignores SIGTERM."""

PRINTED = ["", HEAD + "echo begun; "]

SCRIPTS = 3
"""Number of scripts that run at once."""


def begin(server: Server, project: Path) -> list[Connection]:
    """Ask for some scripts, and wait until they and all processes that they start run."""
    connections = [server.connect(lint_answers=False) for _ in range(SCRIPTS)]
    for connection in connections:
        connection.send(request("/cgi-bin/a.sh"))
    begun = project / "public/cgi-bin/begun"
    assert until(lambda: text(begun).count("\n") == SCRIPTS)
    # A script, two shells, the first of which may have replaced itself by the second, and three sleeps.
    assert until(lambda: len(running(project)) >= 5 * SCRIPTS)
    return connections


def helper_of(project: Path) -> int:
    """Return the number of the process that has started the scripts."""
    return int(text(project / "public/cgi-bin/helper"))


def close(connections: list[Connection]) -> None:
    """Close all connections."""
    for connection in connections:
        connection.socket.close()


def good(server: Server, project: Path) -> None:
    """Check that a script answers."""
    script(project, "b.sh", SHELL.format(HEAD + "echo b"))

    assert b"b\n" == server.fetch("/cgi-bin/b.sh").body


@pytest.mark.parametrize("printed", PRINTED, ids=["nothing", "body"])
def test_the_helper(serve: Servers, project: Path, printed: str) -> None:
    """If the helper that starts scripts is killed, clients get an error, and a new helper is started."""
    script(project, "a.sh", SHELL.format(printed + RUNS + "wait"))
    server = start(serve, project)
    good(server, project)
    before = server.resting_fds()
    connections = begin(server, project)
    helper = helper_of(project)
    assert {helper} == children(server.process.pid)
    os.kill(helper, signal.SIGKILL)
    for connection in connections:
        response = connection.receive()
        assert ((200, False) if printed else (500, True)) == (response.status, response.complete)
    close(connections)

    assert until(lambda: not running(project)), running(project)
    good(server, project)
    assert until(lambda: helper not in children(server.process.pid)), "it is waited for"
    assert 1 == len(children(server.process.pid))
    assert server.settles_at_fds(before)
    if not printed:
        server.wait_for_log(
            r"ADY231 error: .*/a\.sh has ended with the process that starts scripts", count=SCRIPTS
        )


def test_the_helper_while_a_script_ends(serve: Servers, project: Path) -> None:
    """A script whose client has left, and which ignores SIGTERM, ends with the helper, too."""
    told = SHELL.format("trap 'echo $$ >>told' TERM; " + RUNS + "while :; do wait; sleep 600; done")
    script(project, "a.sh", told)
    server = start(serve, project)
    connections = begin(server, project)
    helper = helper_of(project)
    for connection in connections:
        connection.abort()
    assert until(lambda: text(project / "public/cgi-bin/told").count("\n") > 0)
    os.kill(helper, signal.SIGKILL)

    assert until(lambda: not running(project)), running(project)
    good(server, project)


def test_a_worker(serve: Servers, project: Path) -> None:
    """After a worker is killed, its helper ends the scripts and then itself; a new worker answers."""
    script(project, "a.sh", STAYS)
    server = start(serve, project, "--processes=1")
    good(server, project)
    connections = begin(server, project)
    helper = helper_of(project)
    worker = parent(helper)
    assert {worker} == children(server.process.pid)
    before = descriptors(worker)
    os.kill(worker, signal.SIGKILL)

    assert until(lambda: not running(project)), running(project)
    assert until(lambda: has_ended(helper))
    close(connections)
    good(server, project)
    (another,) = children(server.process.pid)
    assert worker != another
    assert until(lambda: descriptors(another) <= before - 4 * SCRIPTS), (
        "a connection, two pipes and a line each"
    )


def test_the_supervisor(serve: Servers, project: Path) -> None:
    """If the supervisor is killed, workers finish the requests that they can, and end with all scripts."""
    script(project, "a.sh", STAYS)
    flags = ["--processes=2", "--graceful-timeout=300ms"]
    server = start(serve, project, *flags)
    connections = begin(server, project)
    workers, helper = children(server.process.pid), helper_of(project)
    server.process.kill()

    assert until(lambda: not running(project)), running(project)
    assert until(lambda: all(has_ended(pid) for pid in [*workers, helper]))
    close(connections)
    server.wait()
    good(start(serve, project, *flags), project)
