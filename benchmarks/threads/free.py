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
    try:
        group = asked("compute", page, CONNECTIONS)
        result = measure(server, run, (group,), Times(run.secs), cpus=CPUS).require()
    except (OSError, client.WrongAnswerError) as error:
        row.fail(error)
        return
    found = result.groups["compute"]
    steps = float(page.path.rpartition("/")[2])
    figures = {"rate": found.rate, "p99": found.latency.p99, "cpus": result.cpu_us / 1e6 / result.secs}
    if row.spec.name == SPECS[1].name:
        figures["machine"] = cpus_of_machine(run, page)
    row.rounds.append(figures | {"steps": steps, "work": steps * found.rate})


def cpus_of_machine(run: ThreadsRun, page: Page) -> float:
    """Returns how many times the work of one process two do at the same time, each on a CPU of its own.

    CPUs of a virtual machine may be two threads of one core, at times: then no server can have two.
    """
    steps, seconds = page.path.rpartition("/")[2], str(run.secs)
    program = [str(run.python_free_threaded), str(cost.HERE / "apps" / "threads_work.py"), steps, seconds]

    def times(cpus: Sequence[int]) -> int:
        started = [
            subprocess.Popen(["taskset", "-c", str(cpu), *program], stdout=subprocess.PIPE) for cpu in cpus
        ]
        return sum(int(process.communicate()[0]) for process in started)

    return times((cost.SERVER_CPU, cost.LOAD_CPU)) / times((cost.SERVER_CPU,))


def compare(rows: list[Row]) -> None:
    """Adds to the newest round of each row what its figures are of those of the first."""
    for row in rows:
        if rows[0].errors or not rows[0].rounds[-1]["rate"]:
            row.fail(f"nothing to compare with: {rows[0].spec.name} failed")
        elif not row.errors:
            newest, base = row.rounds[-1], rows[0].rounds[-1]
            newest["ratio"] = newest["rate"] / base["rate"]
            newest["work_ratio"] = newest["work"] / base["work"]


CASE = Case(
    "free",
    "8. A page that computes 1 ms, on two CPUs, with and without a GIL",
    "One process, 16 connections, defaults; the load takes its little from the same two CPUs. Each "
    "interpreter does as many steps as it does alone in 1 ms. Work: steps per second; without a GIL the "
    "interpreter itself is slower. CPUs by two processes: how many times the work of one process without a "
    "GIL two of them do at the same time, just after; on a virtual machine that is not always two.",
    (
        Column("rate", "requests/s", 0),
        Column("steps", "steps/request", 0),
        Column("cpus", "CPUs used", 2),
        Column("p99", "p99 ms", 1),
        Column("machine", "CPUs by two processes", 2, spread=True),
        Column("ratio", "× requests with a GIL", 2, spread=True),
        Column("work_ratio", "× work with a GIL", 2, spread=True),
    ),
    free,
)
