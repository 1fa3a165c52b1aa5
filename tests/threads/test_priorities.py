"""Threads that compute give way to the event loop; threads that wait do not."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from support.server import until
from threads.scenes import receive_all, start, target, under_way

if TYPE_CHECKING:
    from support.server import Servers
    from threads.scenes import Site

NICE, POLICY = 19, 41
"""Fields of `/proc/PID/task/TID/stat` (proc_pid_stat(5)), counted from 1."""
LONG_MS = 30
"""Duration of a slow page, in CPU time if it computes: 10 ms are enough to give way."""
ROUNDS = 12
AT_ONCE = 3
QUEUED_LEAST = 4 * AT_ONCE
"""At least this many requests of all rounds wait in the queue; the earliest ones are handed over."""


def priorities(site: Site) -> dict[int, tuple[int, int]]:
    """Return the nice value and the scheduling policy of each thread of the server."""
    found: dict[int, tuple[int, int]] = {}
    for stat in Path(f"/proc/{site.server.process.pid}/task").glob("*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            fields = stat.read_text(encoding="ascii").rpartition(")")[2].split()
            found[int(stat.parent.name)] = int(fields[NICE - 3]), int(fields[POLICY - 3])
    return found


def ask(site: Site, by: str) -> None:
    """Ask for a slow page again and again, several times at once."""
    slow = [target("/linger", ms=LONG_MS, by=by)] * AT_ONCE
    for _ in range(ROUNDS):
        with under_way(site.server, *slow) as connections:
            assert {200} == {response.status for response in receive_all(connections)}
    assert QUEUED_LEAST <= site.counters()["queued"]


def test_computing(serve: Servers, tmp_path: Path) -> None:
    """A thread that has computed has a lower priority from then on, and other threads keep theirs."""
    site = start(serve, tmp_path, 16, "--slow-nice=7")
    before = os.getpriority(os.PRIO_PROCESS, 0)
    lower = before + 7, os.SCHED_BATCH
    ask(site, "working")

    # The answer goes out before its thread gives way.
    assert until(lambda: lower in priorities(site).values())
    found = priorities(site)
    assert {(before, os.SCHED_OTHER), lower} == set(found.values())
    given_way = {thread for thread, priority in found.items() if priority == lower}
    assert given_way <= set(site.server.fetch("/inside").json()["ids"])
    assert site.threads >= len(given_way), "some stay fresh"


def test_waiting(serve: Servers, tmp_path: Path) -> None:
    """A thread that waits keeps the priority of the process."""
    site = start(serve, tmp_path, 16, "--slow-nice=7")
    ask(site, "waiting")

    assert {(os.getpriority(os.PRIO_PROCESS, 0), os.SCHED_OTHER)} == set(priorities(site).values())


def test_alike(serve: Servers, tmp_path: Path) -> None:
    """With `--slow-nice=0` all threads keep their priority."""
    site = start(serve, tmp_path, 16, "--slow-nice=0")
    ask(site, "working")

    assert {(os.getpriority(os.PRIO_PROCESS, 0), os.SCHED_OTHER)} == set(priorities(site).values())


def test_one_thread(serve: Servers, tmp_path: Path) -> None:
    """The only thread that may enter the application drives the loop, too, so it keeps its priority."""
    site = start(serve, tmp_path, 1)
    for _ in range(ROUNDS):
        assert 200 == site.server.fetch(target("/linger", ms=LONG_MS, by="working")).status

    assert {(os.getpriority(os.PRIO_PROCESS, 0), os.SCHED_OTHER)} == set(priorities(site).values())


def test_wakes_on_time(serve: Servers, tmp_path: Path) -> None:
    """A page that sleeps is woken on time: its thread has the least timer slack (prctl(2))."""
    for threads in (1, 16):
        site = start(serve, tmp_path, threads)
        inside = site.server.fetch("/inside").json()["ids"]

        assert inside
        assert {"1"} == {Path(f"/proc/{each}/timerslack_ns").read_text("ascii").strip() for each in inside}
