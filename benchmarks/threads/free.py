"""The case of free-threaded Python: what two CPUs bring one process that computes."""

from __future__ import annotations

import contextlib
import shlex
import subprocess
from typing import TYPE_CHECKING, cast

import client
import cost
import load
import sides
from generator import Times, calibrate, measure
from rows import Case, Column, Row
from servers import Spec
from steady import asked

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from generator import Page, ThreadsRun
    from rows import Run
    from servers import Server

COMPUTE_MS = 1.0
CONNECTIONS = 16
CPUS = f"{cost.SERVER_CPU},{cost.LOAD_CPU}"
SERVE = "serve benchmarks/apps/threads_wsgi.py --processes 0 --bind 127.0.0.1:{{port}}"
COMMAND = f"{{{{work}}}}/{{program}} -m adyton {SERVE}"
PROGRAMS = ("python", "python-free-threaded")
SPECS = tuple(
    Spec(name, COMMAND.format(program=program), sides.EXPECTED)
    for name, program in zip(("adyton, with a GIL", "adyton, free-threaded"), PROGRAMS, strict=True)
)


def free(run: Run) -> list[Row]:
    """Measures both interpreters in turn, each on all CPUs, with work that takes it 1 ms."""
    run = cast("ThreadsRun", run)
    rows = [Row(spec) for spec in SPECS]
    if not run.python_free_threaded:
        rows[1].fail("no interpreter was given (--python-free-threaded)")
        return rows
    pythons = (run.python, run.python_free_threaded)
    for program, python in zip(PROGRAMS, pythons, strict=True):
        write_wrapper(run.work / program, python)
    pages = {spec: calibrate(python, COMPUTE_MS) for spec, python in zip(SPECS, pythons, strict=True)}
    with contextlib.ExitStack() as stack:
        pairs = [(row, server) for row in rows if (server := load.start(row, run, stack))]
        for number in range(run.rounds):
            for row, server in reversed(pairs) if number % 2 else pairs:
                take(row, server, run, pages[row.spec])
            compare(rows)
    return rows


def write_wrapper(path: Path, python: Path) -> None:
    """Writes a program that starts an interpreter on all CPUs; the servers of other cases have one."""
    path.write_text(f'#!/bin/sh\nexec taskset -c {CPUS} {shlex.quote(str(python))} "$@"\n', "utf-8")
    path.chmod(0o755)


def take(row: Row, server: Server, run: ThreadsRun, page: Page) -> None:
    """Adds one turn to a row."""
    if row.errors:
        return
    is_free = row.spec.name == SPECS[1].name
    python = run.python_free_threaded if is_free else run.python
    try:
        group = asked("compute", page, CONNECTIONS)
        before = rate_alone(python, page, run.secs / 2)
        result = measure(server, run, (group,), Times(run.secs), cpus=CPUS).require()
        after = rate_alone(python, page, run.secs / 2)
    except (OSError, client.WrongAnswerError) as error:
        row.fail(error)
        return
    found = result.groups["compute"]
    alone = (before + after) / 2
    figures = {"rate": found.rate, "p99": found.latency.p99, "cpus": result.cpu_us / 1e6 / result.secs}
    if is_free:
        both = rate_alone(python, page, run.secs, (cost.SERVER_CPU, cost.LOAD_CPU))
        figures["machine"] = both / alone
    figures |= {"steps": float(page.path.rpartition("/")[2]), "alone_ms": 1e3 / alone}
    row.rounds.append(figures | {"gain": found.rate / alone, "work": figures["steps"] * found.rate})


def rate_alone(
    python: Path | None, page: Page, secs: float, cpus: Sequence[int] = (cost.SERVER_CPU,)
) -> float:
    """Returns how often a second processes without a server do what the page does, one on each CPU.

    The machine's speed changes within minutes, and CPUs of a virtual one may be two threads of one core, at
    times: then no server can have two.
    """
    steps = page.path.rpartition("/")[2]
    program = [str(python), str(cost.HERE / "apps" / "threads_work.py"), steps, str(secs)]
    started = [
        subprocess.Popen(["taskset", "-c", str(cpu), *program], stdout=subprocess.PIPE) for cpu in cpus
    ]
    return sum(int(process.communicate()[0]) for process in started) / secs


def compare(rows: list[Row]) -> None:
    """Adds to the newest round of each row what its figures are of those of the first."""
    for row in rows:
        if rows[0].errors or not rows[0].rounds[-1]["rate"]:
            row.fail(f"nothing to compare with: {rows[0].spec.name} failed")
        elif not row.errors:
            newest, base = row.rounds[-1], rows[0].rounds[-1]
            newest["ratio"] = newest["gain"] / base["gain"]
            newest["work_ratio"] = newest["work"] / base["work"]


CASE = Case(
    "free",
    "8. A page that computes 1 ms, on two CPUs, with and without a GIL",
    "One process, 16 connections, defaults; the load takes its little from the same two CPUs. Each "
    "interpreter does as many steps as it did alone in 1 ms at the beginning. Because the machine's speed "
    "changes, what these take it without a server is measured just before and after each turn (alone ms); "
    "the rate beside that of this one process is what is compared. Work is steps per second: without a GIL "
    "the interpreter itself is slower. Two processes: how many times the work of one they do at the same "
    "time; on a virtual machine that is not always two.",
    (
        Column("rate", "requests/s", 0),
        Column("steps", "steps/request", 0),
        Column("alone_ms", "alone ms", 2),
        Column("cpus", "CPUs used", 2),
        Column("p99", "p99 ms", 1),
        Column("gain", "× one process without a server", 2, spread=True),
        Column("machine", "two processes", 2, spread=True),
        Column("ratio", "× requests of 1 ms with a GIL", 2, spread=True),
        Column("work_ratio", "× work with a GIL", 2, spread=True),
    ),
    free,
)
