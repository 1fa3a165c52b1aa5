"""Threads that compute give way to the event loop; threads that wait do not."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from threads.scenes import receive_all, start, target, under_way

if TYPE_CHECKING:
    from support.server import Servers
    from threads.scenes import Site

NICE, POLICY = 19, 41
"""Fields of `/proc/PID/task/TID/stat` (proc_pid_stat(5)), counted from 1."""
ROUNDS = 12
AT_ONCE = 3
QUEUED_LEAST = 4 * AT_ONCE
"""So many have waited in the queue by then; the first ones were handed over."""


def priorities(site: Site) -> Counter[tuple[int, int]]:
    """Return how many threads of the server have which nice value and scheduling policy."""
    found: Counter[tuple[int, int]] = Counter()
    for stat in Path(f"/proc/{site.server.process.pid}/task").glob("*/stat"):
        fields = stat.read_text(encoding="ascii").rpartition(")")[2].split()
        found[int(fields[NICE - 3]), int(fields[POLICY - 3])] += 1
    return found


def ask(site: Site, by: str) -> None:
    """Ask for a slow page again and again, some at once."""
    slow = [target("/linger", ms=30, by=by)] * AT_ONCE
    for _ in range(ROUNDS):
        with under_way(site.server, *slow) as connections:
            assert {200} == {response.status for response in receive_all(connections)}
    assert QUEUED_LEAST <= site.counters()["queued"]


def test_computing(serve: Servers, tmp_path: Path) -> None:
    """Whoever has computed has a lower priority from then on, and the others have not."""
    site = start(serve, tmp_path, 16, "--slow-nice=7")
    before = os.getpriority(os.PRIO_PROCESS, 0)
    ask(site, "computing")
    found = priorities(site)

    assert {(before, os.SCHED_OTHER), (before + 7, os.SCHED_BATCH)} == set(found)
    assert found[before, os.SCHED_OTHER] > found[before + 7, os.SCHED_BATCH]


def test_waiting(serve: Servers, tmp_path: Path) -> None:
    """Whoever waits keeps the priority of the process."""
    site = start(serve, tmp_path, 16, "--slow-nice=7")
    ask(site, "waiting")

    assert {(os.getpriority(os.PRIO_PROCESS, 0), os.SCHED_OTHER)} == set(priorities(site))


def test_alike(serve: Servers, tmp_path: Path) -> None:
    """With 0 all are alike."""
    site = start(serve, tmp_path, 16, "--slow-nice=0")
    ask(site, "computing")

    assert {(os.getpriority(os.PRIO_PROCESS, 0), os.SCHED_OTHER)} == set(priorities(site))


def test_one_thread(serve: Servers, tmp_path: Path) -> None:
    """The only thread that may enter the application drives the loop, too: it gives way to nobody."""
    site = start(serve, tmp_path, 1)
    for _ in range(ROUNDS):
        assert 200 == site.server.fetch(target("/linger", ms=30, by="computing")).status

    assert {(os.getpriority(os.PRIO_PROCESS, 0), os.SCHED_OTHER)} == set(priorities(site))
