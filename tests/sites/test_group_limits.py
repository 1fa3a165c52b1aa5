"""Limits and surroundings of a group: its processes have them, and processes of other groups do not."""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from processes.conftest import is_alive
from sites.grouped import CONTROL, OTHERS, fill, process_of, start
from support.asking import asking
from support.client import request
from support.control import states, workers
from support.server import until

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Server, Servers

ONE = "processes = 1\nthreads = 4\n"


@pytest.fixture
def folder(project: Path) -> Path:
    """Return a project with three applications."""
    return fill(project, "limited.py")


def surroundings(server: Server, path: str) -> dict[str, Any]:
    """Return the surroundings of the process that answers."""
    told: dict[str, Any] = json.loads(server.fetch(f"{path}surroundings").body.partition(b" ")[2])
    return told


SURROUNDINGS = [
    ("nice = 5", {"nice": min(os.getpriority(os.PRIO_PROCESS, 0) + 5, 19)}),
    ('umask = "037"', {"umask": "0037"}),
    ('memory-limit = "3g"', {"memory-limit": 3 << 30}),
    ("preload = true", {"preload": True}),
]
"""Settings of a group, and the differences of its processes from all others."""


@pytest.mark.parametrize(("said", "expected"), SURROUNDINGS, ids=[said for said, _ in SURROUNDINGS])
def test_surroundings(serve: Servers, folder: Path, said: str, expected: dict[str, Any]) -> None:
    """The group's application has the surroundings that the file sets; other applications keep theirs."""
    server = start(serve, folder, ONE + said)
    shop, *others = [surroundings(server, path) for path in ("/shop/", "/blog/", "/")]

    assert others[0] == others[1]
    assert expected == {name: value for name, value in shop.items() if value != others[0][name]}


def test_memory_limit(serve: Servers, folder: Path) -> None:
    """An allocation above the group's memory limit fails its request, but the process goes on."""
    server = start(serve, folder, ONE + 'memory-limit = "3g"')
    before = process_of(server, "/shop/x")

    assert f"{before} MemoryError" == server.fetch("/shop/allocate").body.decode()
    assert before == process_of(server, "/shop/x")


LIMITS = [
    ("max-requests = 5", "x", 8, r"it has answered ([6-9]|\d\d+) requests"),
    ('max-lifetime = "1s"', "x", 1, r"it has served for [1-9]\d* s"),
    ('max-rss = "100m"', "grow", 2, r"it has \d\d\d MiB of memory"),
    ('cpu-limit = "1s"', "spin", 5, r"it has used [1-9]\d* s of CPU time"),
]
"""Limits of a group, each with a page that reaches it, the number of requests, and a line in the log."""


@pytest.mark.parametrize(("said", "page", "times", "why"), LIMITS, ids=[said for said, *_ in LIMITS])
def test_limits(serve: Servers, folder: Path, said: str, page: str, times: int, why: str) -> None:
    """Only a process that has reached a limit is replaced, and no request is lost."""
    server = start(serve, folder, ONE + said)
    before, other = process_of(server, "/shop/x"), process_of(server, "/blog/x")
    with asking(server, *OTHERS, "/shop/x", keeps=True) as asked:
        for _ in range(times):
            assert 200 == server.fetch(f"/shop/{page}").status
        server.wait_for_log(f"group shop ADY307 info: worker 1 is replaced: {why}")
        assert until(lambda: before != process_of(server, "/shop/x"))
        assert until(lambda: not is_alive(before))

    assert [] == asked.wrong
    assert other == process_of(server, "/blog/x")
    assert "group blog ADY307" not in server.log()


def test_max_processes(serve: Servers, folder: Path) -> None:
    """A group whose requests wait for a thread gets one more process, up to its maximum."""
    said = 'processes = 1\nmax-processes = 2\nthreads = 2\nqueue-timeout = "10m"'
    server = start(serve, folder, said)
    with contextlib.ExitStack() as stack, asking(server, *OTHERS, keeps=True) as asked:
        clients = [stack.enter_context(server.connect()) for _ in range(16)]
        for client in clients:
            client.send(request("/shop/gate"))
        server.wait_for_log("group shop ADY309 info: one more worker: 2")
        assert until(lambda: 2 == len(workers(folder / CONTROL, "shop")))
        (folder / "gate").touch()

        assert [200] * 16 == [client.receive().status for client in clients]
    assert [] == asked.wrong
    assert 1 == server.log().count("one more worker")
    assert 1 == len(workers(folder / CONTROL, "blog"))


def test_startup_timeout(serve: Servers, folder: Path) -> None:
    """A group that is not ready in time is ended and tried again, and no other group is affected."""
    (folder / "shop.stuck").touch()
    server = start(serve, folder, ONE + 'startup-timeout = "5s"')
    server.may_crash = True  # A worker that is given up says where it hangs.
    server.wait_for_log(r"group shop ADY\d+ \w+: worker 1 .*was not ready after 5 s")
    server.wait_for_log("ADY351 error: the group shop does not start")
    with asking(server, *OTHERS, keeps=True) as asked:
        assert 503 == server.fetch("/shop/x").status
        (folder / "shop.stuck").unlink()
        assert until(lambda: "serving" == states(folder / CONTROL)["shop"])
        assert 200 == server.fetch("/shop/x").status
    assert [] == asked.wrong
