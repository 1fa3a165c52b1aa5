"""The case of slow clients: a thousand that upload a byte a second, a thousand that read 10 KB a second."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

import cost
import sides
from generator import Group, Page, Times, measure
from rows import Case, Column
from steady import alone, asked, worst_p99
from turns import Turns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from generator import Found, Result, ThreadsRun
    from servers import Server

CLIENTS = 1000
"""Of each kind."""
UPLOAD_BYTES = 600
"""More than ten minutes at a byte a second: none ends before the end."""
READ_BYTES_PER_S = 10_000
LARGE_BYTES = 10_000_000
RAMP_S = 5
"""In which the slow clients come, one after the other."""
SETTLE_S = 3
"""At first the kernel and the server fill their buffers for all readers, which is not how it goes on."""
STEADY = slice(RAMP_S + SETTLE_S, None)
GRACE_S = 15.0
"""A server whose threads were all held up reads a thousand uploads when the readers have gone."""
SAMPLE_S = 0.25
PAGE_MIB = os.sysconf("SC_PAGE_SIZE") / 2**20

UPLOAD = Page("/upload", b"%d" % UPLOAD_BYTES)
# As in apps/threads_wsgi.py.
LARGE = (bytes(i * i % 251 for i in range(65_521)) * 153)[:LARGE_BYTES]
PATHS = {"one object": "/large", "64 KiB pieces": "/pieces"}
"""How the long answers are made, by what stands behind a side's name."""


def slow_clients(server: Server, run: ThreadsRun) -> dict[str, float]:
    """Measures hello alone, with all the slow clients there, and alone again when they have gone.

    The machine is not equally fast at all times: what is in between is compared with the mean of both.
    """
    path = next(path for words, path in PATHS.items() if server.spec.name.endswith(words))
    hello = asked("hello", sides.HELLO, 16)
    groups = (
        Group("uploads", UPLOAD, CLIENTS, "upload", (("bytes", UPLOAD_BYTES), ("ramp", RAMP_S))),
        Group("readers", Page(path, LARGE), CLIENTS, "read", (("bytes", READ_BYTES_PER_S), ("ramp", RAMP_S))),
        hello,
    )
    before = alone(server, run, hello)
    processes = cost.tree({server.process.pid})
    empty = resident_mib(processes)
    with watched(processes) as samples:
        times = Times(RAMP_S + SETTLE_S + run.secs, grace=GRACE_S)
        result = measure(server, run, groups, times)
    for found in result.groups.values():
        found.require(but=("unanswered",))
    after = alone(server, run, hello)
    return figures((before, after), result) | {"empty_mib": empty, "added_mib": max(samples) - empty}


def figures(quiet: tuple[Found, Found], result: Result) -> dict[str, float]:
    """Compares hello with itself, and says how the slow clients fared."""
    hello, uploads, readers = (result.groups[name] for name in ("hello", "uploads", "readers"))
    seconds = hello.series[STEADY]
    rate, rate_alone = mean(tick.ok for tick in seconds), mean(found.rate for found in quiet)
    return {
        "alone": rate_alone,
        "alone_p99": mean(found.latency.p99 for found in quiet),
        "rate": rate,
        "kept": 100 * rate / rate_alone,
        "p99": worst_p99(hello, seconds),
        "longest": hello.latency.max,
        "unanswered": hello.unanswered,
        "uploaded": 100 * uploads.ok / CLIENTS,
        "served": 100 * readers.readers_served / CLIENTS,
        "load_cpu": result.own_cpu_us / 1e4 / result.secs,
        "read_kb": readers.body_bytes / CLIENTS / (result.secs - RAMP_S / 2) / 1e3,
    }


def resident_mib(processes: set[int]) -> float:
    """Returns the memory of some processes, in a way that is cheap to ask for (proc(5), statm).

    What they share is counted for each of them, so only differences mean something.
    """
    pages = 0
    for pid in processes:
        with contextlib.suppress(OSError):
            pages += int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1])
    return pages * PAGE_MIB


@contextlib.contextmanager
def watched(processes: set[int]) -> Iterator[list[float]]:
    """Gives a list that is filled with the memory of a server as long as the block runs."""
    samples = [resident_mib(processes)]
    over = threading.Event()

    def sample() -> None:
        while not over.wait(SAMPLE_S):
            samples.append(resident_mib(processes))

    watcher = threading.Thread(target=sample)
    watcher.start()
    try:
        yield samples
    finally:
        over.set()
        watcher.join()


ADYTON = tuple(sides.adyton(f"adyton, {words}", sides.THREADS, "--body-rate-min 0") for words in PATHS)
PEERS = tuple(
    peer for words in PATHS for peer in sides.peers(suffix=f", {words}", workers=sides.WORKERS_MANY)
)

CASE = Case(
    "clients",
    "5. A thousand slow uploads, a thousand slow readers, and hello",
    "1,000 connections send a byte a second, 1,000 read 10 KB/s of 10 MB, 16 ask for hello: with the slow "
    f"ones, which come within {RAMP_S} s, from {SETTLE_S} s later on, and alone before and after. Longest: "
    "from the first of them on. Memory: of all processes, above what it was with hello alone, at the most.",
    (
        Column("alone", "hello alone/s", 0),
        Column("kept", "hello keeps %", 1, spread=True),
        Column("alone_p99", "p99 alone ms", 2),
        Column("p99", "p99 ms", 2),
        Column("longest", "longest ms", 0),
        Column("unanswered", "hello unanswered", 0),
        Column("uploaded", "uploads done %", 0),
        Column("served", "readers served %", 0),
        Column("read_kb", "KB/s each", 1),
        Column("load_cpu", "load's CPU %", 0),
        Column("added_mib", "memory added MiB", 0, spread=True),
    ),
    Turns((*ADYTON, *PEERS), slow_clients, anew=True),
)
