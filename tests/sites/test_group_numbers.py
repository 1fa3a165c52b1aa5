"""Groups in the metrics, and in the sums of `adyton status`."""

from __future__ import annotations

import os
import re
import signal
from typing import TYPE_CHECKING

from processes.conftest import admin_of, freeze
from sites.grouped import CONTROL, fill, start, status_of
from support import client
from support.client import request
from support.control import group, states, workers
from support.prometheus import assert_is_prometheus
from support.server import run, until

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Server, Servers

ADMIN = ("--admin", "127.0.0.1:0")


def metrics_of(server: Server) -> dict[str, int]:
    """Return the metrics by their names and labels."""
    text = client.fetch(admin_of(server), "/metrics").body.decode()
    assert_is_prometheus(text)
    return {series: int(number) for series, number in re.findall(r"^(adyton_\S+) (\d+)$", text, re.MULTILINE)}


def test_counted(serve: Servers, project: Path) -> None:
    """The metrics have each group's answers, processes, memory, and connections moved, waiting and lost."""
    folder = fill(project)
    server = start(serve, folder, "processes = 1\nthreads = 2", *ADMIN, door=1)
    assert until(lambda: states(folder / CONTROL) == {"shop": "serving", "blog": "serving"})

    def number(name: str, name_of_group: str = "shop") -> int:
        return metrics_of(server)[f'adyton_group_{name}{{group="{name_of_group}"}}']

    with server.connect() as there_and_back:
        for path in ("/shop/x", "/shop/y", "/x", "/shop/z", "/blog/x"):
            assert 200 == there_and_back.get(path).status
    assert until(lambda: number("requests_total") == 3)
    assert until(lambda: number("requests_total", "blog") == 1)
    assert (2, 2) == (number("connections_arrived_total"), number("connections_left_total"))
    assert (1, 1, 1) == (number("serving"), number("starts_total"), number("workers"))
    assert (0, 0) == (number("errors_total"), number("worker_deaths_total"))
    assert 2 <= number("threads")
    resident = [worker["rss_bytes"] for worker in group(folder / CONTROL, "shop")["status"]["workers"]]
    assert 0.5 < number("resident_bytes") / sum(resident) < 2

    # One connection waits in the kernel for a stopped worker.
    (worker,) = workers(folder / CONTROL, "shop")
    freeze(worker)
    with server.connect() as waiting:
        waiting.send(request("/shop/x"))
        assert until(lambda: number("waiting_bytes") > 0)
        assert 0 == number("waiting_bytes", "blog")
        assert ", and connections wait for it" in told(folder)
        os.kill(worker, signal.SIGCONT)
        assert 200 == waiting.receive().status
    assert until(lambda: number("waiting_bytes") == 0)

    # Requests inside a worker that dies are lost.
    with server.connect(lint_answers=False) as lost:
        lost.send(request("/shop/gate"))
        assert until(lambda: group(folder / CONTROL, "shop")["status"]["total"]["in_flight"] == 1)
        os.kill(worker, signal.SIGKILL)
        assert 0 == status_of(lost)
    assert until(lambda: number("connections_lost_total") == 1)
    assert 1 == number("worker_deaths_total")
    assert 0 == number("connections_lost_total", "blog")
    assert "connections lost with workers that died: 1\n" in told(folder)
    # One request was for the server itself, four were for groups before, and one has waited.
    assert "\n6 requests, 0 of them 5xx" in told(folder)


def test_refused(serve: Servers, project: Path) -> None:
    """Requests for a group that does not start are counted as refused for this cause."""
    folder = fill(project)
    (folder / "broken").touch()
    server = start(serve, folder, 'processes = 1\nmin-processes = 0\nenv = { FAULT = "raise" }', *ADMIN)
    assert 503 == server.fetch("/shop/x").status
    counted = metrics_of(server)

    assert 1 == counted['adyton_requests_refused_total{cause="no_group"}']
    assert 0 == counted['adyton_requests_refused_total{cause="overload"}']
    assert 0 == counted['adyton_group_serving{group="shop"}']


def told(folder: Path) -> str:
    """Return what `adyton status` says."""
    return run("status", "--control", CONTROL, cwd=folder).stdout
