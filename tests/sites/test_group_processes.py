"""Which processes of a server with groups import an application, and how work spreads over them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sites.grouped import CONTROL, fill, start
from support.client import request
from support.control import group, reload, status, supervisor, workers
from support.server import until

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from support.server import Servers


@pytest.fixture
def folder(project: Path) -> Path:
    """Return a project with three applications."""
    return fill(project, "limited.py")


def imported(folder: Path, name: str) -> set[int]:
    """Return the processes that have imported an application."""
    return set(map(int, (folder / f"{name}.imported").read_text(encoding="ascii").split()))


def serving(folder: Path, name: str, number: int, *, but: Collection[int] = ()) -> set[int]:
    """Return the workers of a group that are not in `but`, as soon as `number` of them serve."""
    found: set[int] = set()

    def all_serve() -> bool:
        found.clear()
        found.update(workers(folder / CONTROL, name))
        return len(found) == number and found.isdisjoint(but)

    assert until(all_serve), found
    return found


@pytest.mark.parametrize("how", ["", "preload = true"], ids=["import", "preload"])
def test_who_imports(serve: Servers, folder: Path, how: str) -> None:
    """Only a group's workers, or the process from which they are forked, import its application."""
    server = start(serve, folder, f"processes = 2\nthreads = 2\n{how}")
    assert until(lambda: ["serving"] * 2 == [one["state"] for one in status(folder / CONTROL)["workers"]])
    door = {worker["pid"] for worker in status(folder / CONTROL)["workers"]}
    of_shop, of_blog = serving(folder, "shop", 2), serving(folder, "blog", 1)
    for path in ("/shop/x", "/blog/x", "/x"):
        assert 200 == server.fetch(path).status
    assert 0 == reload(folder / CONTROL, "shop")[0]
    of_shop |= serving(folder, "shop", 2, but=of_shop)
    supervisors = {server.process.pid, *(supervisor(folder / CONTROL, name) for name in ("shop", "blog"))}
    own, shop, blog = (imported(folder, name) for name in ("own", "shop", "blog"))

    assert door == own
    assert of_blog == blog
    assert set() == shop & (door | supervisors | blog)
    if how:
        # Each of the two versions has one process that imports.
        assert (2, set()) == (len(shop), shop & of_shop)
    else:
        assert of_shop == shop


@pytest.mark.parametrize("prefix", ["/shop", ""], ids=["group", "server"])
def test_work_spreads(serve: Servers, folder: Path, prefix: str) -> None:
    """A process whose threads are all busy in the application leaves new connections to another process."""
    server = start(serve, folder, "processes = 2\nthreads = 1", "--threads", "1")
    name = prefix.removeprefix("/")
    if name:
        serving(folder, name, 2)
    assert until(lambda: ["serving"] * 2 == [one["state"] for one in status(folder / CONTROL)["workers"]])

    def in_flight() -> int:
        found = group(folder / CONTROL, name)["status"] if name else status(folder / CONTROL)
        number: int = found["total"]["in_flight"]
        return number

    with server.connect() as waiting:
        waiting.send(request(f"{prefix}/gate"))
        assert until(lambda: in_flight() == 1)
        pids = set()
        for _ in range(20):
            with server.connect() as client:
                answer = client.get(f"{prefix}/x")
                assert 200 == answer.status
                pids.add(answer.body.split()[0])
        (folder / "gate").touch()
        held = waiting.receive()
    assert 200 == held.status
    assert 1 == len(pids)
    assert held.body.split()[0] not in pids
