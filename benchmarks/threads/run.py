#!/usr/bin/env python3
"""Measures what slow requests do to fast ones: `python benchmarks/threads/run.py [--only CASE]`.

Servers run on CPU 0, the load and this program on CPU 1. Everything that is started is ended, and every file
but the record removed, also after an error, SIGINT or SIGTERM. Exit status 1 if a row is INVALID.

`--page RECORD.json` measures nothing: it prints the page of the guide that the record makes.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import signal
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import cost
import free
import generator
import overload
import record
import slow_clients
import steady
from generator import ThreadsRun
from run import STOPS, end, positive  # of the folder above, which comes first on the path
from servers import prepare

if TYPE_CHECKING:
    from report import Results
    from rows import Case

ALL = (
    steady.COST,
    steady.SLEEP,
    steady.BOTH,
    steady.COMPUTE,
    slow_clients.CASE,
    overload.CASE,
    steady.MANY_CASE,
)
CASES = {case.name: case for case in (*ALL, free.CASE)}
TOOLS = ("cc", "taskset", "wrk")
FILES = 20_000
"""Open files that the load and a server may have: 10,000 connections and some."""


def main() -> int:
    """Runs the cases asked for, and writes the record."""
    args = arguments()
    if args.page:
        print(record.page(args.page), end="")
        return 0
    if missing := [tool for tool in TOOLS if not shutil.which(tool)]:
        sys.exit(f"not installed: {', '.join(missing)} (benchmarks/peers has lists of packages)")
    if not {cost.SERVER_CPU, cost.LOAD_CPU} <= os.sched_getaffinity(0):
        sys.exit("two CPUs are needed: one for the servers, one for the load")
    os.sched_setaffinity(0, {cost.LOAD_CPU})
    allow_files()
    for number in STOPS:
        signal.signal(number, end)
    results: Results = []
    with tempfile.TemporaryDirectory(prefix="adyton-bench-") as name:
        run = ThreadsRun(
            args.rounds, args.secs, Path(name), args.peers, args.python, args.python_free_threaded
        )
        about = record.facts(run)
        print(f"load before: {about['load before']}", file=sys.stderr)
        prepare(run.work)
        generator.build(run)
        for case in chosen(args):
            print(f"{case.name}: {case.title}", file=sys.stderr)
            results.append((case, case.measure(run)))
        print(record.write(args.out, about, run, results))
    return int(any(row.errors for _, rows in results for row in rows))


def arguments() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    stamp = datetime.now(UTC).strftime("%Y-%m-%d-%H%M")
    parser.add_argument(
        "--rounds", type=positive, default=3, help="times that each side has its turn (default 3)"
    )
    parser.add_argument("--secs", type=positive, default=3, help="seconds of a figure (default 3)")
    parser.add_argument("--only", choices=CASES, action="append", default=[], help="a case; may be repeated")
    parser.add_argument("--no-peers", dest="peers", action="store_false", help="Adyton alone")
    parser.add_argument(
        "--python",
        type=Path,
        default=Path(sys.executable),
        help="an interpreter with a GIL that has Adyton, for what computes (default: this one)",
    )
    parser.add_argument(
        "--python-free-threaded",
        type=Path,
        help="one without a GIL that has Adyton; there is no last case without it",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=cost.HERE / "record" / f"threads-{stamp}.json",
        help="the record; the Markdown is written beside it (default benchmarks/record/threads-DATE.json)",
    )
    parser.add_argument(
        "--page", type=Path, metavar="RECORD", help="print the guide's page and measure nothing"
    )
    args = parser.parse_args()
    if args.out.suffix != ".json":
        parser.error("--out must end in .json")
    for python in filter(None, (args.python, args.python_free_threaded)):
        if not shutil.which(str(python)):
            parser.error(f"{python} is not an interpreter")
    return args


def chosen(args: argparse.Namespace) -> list[Case]:
    """Returns the cases to measure; the last one needs an interpreter that not everybody has."""
    if args.only:
        return [CASES[name] for name in args.only]
    return [*ALL, free.CASE] if args.python_free_threaded else list(ALL)


def allow_files() -> None:
    """Raises the limit of open files, for the load and for the servers."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < FILES:
        sys.exit(f"{FILES} open files are needed, and the hard limit is {hard}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))


if __name__ == "__main__":
    sys.exit(main())
