"""The case of overload: as many requests as a server can answer, twice and four times as many, then few."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import client
import servers
import sides
from generator import Group, Times, measure
from rows import Case, Column, Row
from steady import alone, asked

if TYPE_CHECKING:
    from generator import Found, ThreadsRun, Tick
    from rows import Run
    from servers import Server

THREADS = 16
CLOSED = 2 * THREADS
"""Connections that measure the capacity: every thread has its next request at once."""
LEVELS = (1, 2, 4)
"""Times the capacity."""
DEADLINE_S = 1.0
OVERLOAD_S = 20
AFTER_S = 3
AFTER_LEVEL = 0.5
"""Of the capacity: little enough that nothing has to wait."""
TICK_S = 0.1
NORMAL_MS = 50.0
"""Five times what the page takes: so long an answer takes at the most when all is normal."""
POOL = 15_000
"""Connections at the most: more than arrive within two deadlines."""

SPECS = tuple(
    sides.adyton(f"adyton, {level} × capacity", THREADS, "--queue-timeout 500ms") for level in LEVELS
)


def overload(run: Run) -> list[Row]:
    """Measures the capacity, then each level; every round has a new server."""
    rows = [Row(spec) for spec in SPECS]
    for _ in range(run.rounds):
        try:
            with servers.running(SPECS[0], run.work) as server:
                levels(server, cast("ThreadsRun", run), rows)
        except (OSError, client.WrongAnswerError) as error:
            for row in rows:
                row.fail(error)
    for row in rows:
        if row.rounds:
            add_worst(row)
    return rows


def levels(server: Server, run: ThreadsRun, rows: list[Row]) -> None:
    """Measures one round of all levels."""
    capacity = alone(server, run, asked("page", sides.SLOW, CLOSED)).rate
    for row, level in zip(rows, LEVELS, strict=True):
        client.check(server.port, row.spec.expected)
        try:
            row.rounds.append(one_level(server, run, capacity, level))
        except client.WrongAnswerError as error:
            row.fail(error)


def one_level(server: Server, run: ThreadsRun, capacity: float, level: float) -> dict[str, float]:
    """Lets requests arrive for a while, and then fewer; returns what became of them."""
    secs = min(OVERLOAD_S, 7 * run.secs)
    rates = f"{secs}*{level * capacity:.1f}+{AFTER_S}*{AFTER_LEVEL * capacity:.1f}"
    keys = (("rates", rates), ("deadline", DEADLINE_S))
    group = Group("arrivals", sides.SLOW, POOL, "open", keys)
    found = measure(server, run, (group,), Times(secs + AFTER_S, tick=TICK_S)).groups["arrivals"]
    found.require(but=("refused", "resets", "timeouts"))
    split = round(secs / TICK_S)
    return (
        during(found, found.series[:split], capacity)
        | {"capacity": capacity, "normal_s": normal_after_s(found.series[split:])}
        | {"resets": found.resets, "timeouts": found.timeouts}
        | {"without_retry": found.refused - found.with_retry_after, "late_ms": found.late_max_ms}
    )


def during(found: Found, ticks: tuple[Tick, ...], capacity: float) -> dict[str, float]:
    """Returns the figures of the overload itself."""
    secs = len(ticks) * TICK_S
    per_s = round(1 / TICK_S)
    seconds = [sum(tick.ok for tick in ticks[at : at + per_s]) for at in range(0, len(ticks), per_s)]
    served = sum(seconds) / secs
    return {
        "offered": sum(tick.sent for tick in ticks) / secs,
        "served": served,
        "share": 100 * served / capacity,
        "worst_share": 100 * min(seconds) / capacity,
        "refused": sum(tick.refused for tick in ticks) / secs,
        "p50": found.latency.p50,
        "p99": found.latency.p99,
        "refusal_p99": found.refusal.p99,
    }


def normal_after_s(ticks: tuple[Tick, ...]) -> float:
    """Returns how long after the overload a request was last refused, lost, or answered slowly."""
    strange = [at for at, tick in enumerate(ticks) if tick.refused or tick.bad or tick.max_ms > NORMAL_MS]
    return (strange[-1] + 1) * TICK_S if strange else 0.0


def add_worst(row: Row) -> None:
    """Adds what must hold in every round: the sum of what must not be, and the longest way back."""
    total = {key: sum(row.rounds[at][key] for at in range(len(row.rounds))) for key in ("resets", "timeouts")}
    slowest = max(figures["normal_s"] for figures in row.rounds)
    for figures in row.rounds:
        figures |= {"lost_in_all": total["resets"] + total["timeouts"], "normal_in_all_s": slowest}


CASE = Case(
    "overload",
    "6. More requests than can be answered",
    f"A page that waits 10 ms on 16 threads, --queue-timeout 500ms. The capacity is what {CLOSED} "
    "connections get in a closed loop. Then requests arrive at random at 1, 2 and 4 times that rate for "
    f"{OVERLOAD_S} s (less in a quick run), and at half of it for {AFTER_S} s; a client gives up after 1 s. "
    f"Served: right answers within that second. Normal again: when the last answer of the {AFTER_S} s came "
    f"that was refused, lost, or took more than {NORMAL_MS:.0f} ms.",
    (
        Column("capacity", "capacity/s", 0),
        Column("offered", "offered/s", 0),
        Column("served", "served/s", 0),
        Column("share", "% of capacity", 1, spread=True),
        Column("worst_share", "worst second %", 1),
        Column("refused", "503/s", 0),
        Column("resets", "resets", 0, spread=True),
        Column("timeouts", "timeouts", 0, spread=True),
        Column("p50", "p50 ms", 0),
        Column("p99", "p99 ms", 0),
        Column("refusal_p99", "503: p99 ms", 0),
        Column("normal_s", "normal after s", 1, spread=True),
        Column("late_ms", "load late ms", 0),
    ),
    overload,
)
