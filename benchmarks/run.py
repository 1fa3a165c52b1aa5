#!/usr/bin/env python3
"""Measures Adyton beside its peers and records it: `python benchmarks/run.py [--only CASE]`.

Servers run on CPU 0, wrk and this program on CPU 1. Everything that is started is ended, and every file
but the record removed, also after an error, SIGINT or SIGTERM. Exit status 1 if a row is INVALID.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import cost
import idle
import load
import machine
import report
import start
from rows import Run
from servers import prepare

if TYPE_CHECKING:
    from types import FrameType

CASES = {case.name: case for case in (*load.CASES, idle.CASE, start.CASE)}
STOPS = (signal.SIGINT, signal.SIGTERM)
TOOLS = ("cc", "nginx", "taskset", "wrk")


def main() -> int:
    """Runs the cases asked for, and writes the record."""
    args = arguments()
    if missing := [tool for tool in TOOLS if not shutil.which(tool)]:
        sys.exit(f"not installed: {', '.join(missing)} (benchmarks/peers/debian.txt has the packages)")
    if not {cost.SERVER_CPU, cost.LOAD_CPU} <= os.sched_getaffinity(0):
        sys.exit("two CPUs are needed: one for the servers, one for the load")
    os.sched_setaffinity(0, {cost.LOAD_CPU})
    for number in STOPS:
        signal.signal(number, end)
    facts = machine.facts()
    print(f"load before: {facts['load before']}", file=sys.stderr)
    results: report.Results = []
    with tempfile.TemporaryDirectory(prefix="adyton-bench-") as name:
        run = Run(args.rounds, args.secs, Path(name))
        prepare(run.work)
        for case in [CASES[only] for only in args.only] or CASES.values():
            print(f"{case.name}: {case.title}", file=sys.stderr)
            results.append((case, case.measure(run)))
        print(report.write(args.out, facts, run, results))
    return int(any(row.errors for _, rows in results for row in rows))


def arguments() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    stamp = datetime.now(UTC).strftime("%Y-%m-%d-%H%M")
    parser.add_argument(
        "--rounds", type=positive, default=3, help="times that each server has its turn (default 3)"
    )
    parser.add_argument("--secs", type=positive, default=3, help="seconds of a turn (default 3)")
    parser.add_argument("--only", choices=CASES, action="append", default=[], help="a case; may be repeated")
    parser.add_argument(
        "--out",
        type=Path,
        default=cost.HERE / "record" / f"{stamp}.json",
        help="the record; the Markdown is written beside it (default benchmarks/record/DATE.json)",
    )
    args = parser.parse_args()
    if args.out.suffix != ".json":
        parser.error("--out must end in .json")
    return args


def positive(text: str) -> int:
    """Reads a count that makes sense."""
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


def end(number: int, _frame: FrameType | None) -> NoReturn:
    """Leaves through every `finally`; a second signal must not stop the stopping."""
    for other in STOPS:
        signal.signal(other, signal.SIG_IGN)
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
