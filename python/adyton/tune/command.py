"""The command line of ``adyton tune``."""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from typing import TYPE_CHECKING

from adyton._command import dumped, has_shown, has_written, interrupt_when_ended, progress, seconds, writable
from adyton._core import granted
from adyton._runs import BenchError
from adyton.tune import report
from adyton.tune.model import THREADS_MAX, Limits, most_processes
from adyton.tune.search import InvalidError, Search, Task
from adyton.tune.served import ServeError

if TYPE_CHECKING:
    from collections.abc import Sequence

GOOD, BAD, INTERRUPTED = 0, 1, 130
BYTES = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}
TOTAL_S_MIN = 10.0
MEMORY_PART = 0.8
"""The part of the available memory that the server may use by default."""
SEARCHED = ("--processes", "--min-processes", "--max-processes", "--threads")
"""Settings that the search sets, or that would change the number of processes under load."""
OWN = ("--bind", "-b", "--host", "--port", "-p", "--control")
"""Settings by which the search reaches its servers."""


def main(words: Sequence[str]) -> int:
    """Runs ``adyton tune`` and returns its exit status.

    0: a choice was found and confirmed; 1: no choice was confirmed, or the choice does not fit into the
    memory, or the application could not be served or measured, or the file could not be written; 2: a wrong
    command line; 130: it was interrupted.
    """
    words = list(words)
    end = words.index("--") if "--" in words else len(words)
    grammar = parser()
    options, settings = grammar.parse_args(words[:end]), words[end + 1 :]
    if why := refused(settings):
        grammar.error(why)
    tell = progress()
    interrupt_when_ended()
    try:
        found = Search(task_of(options, settings), tell).run()
    except InvalidError as error:
        tell("")
        sys.stderr.write(f"adyton tune: INVALID: {error}\n")
        return BAD
    except (ServeError, BenchError) as error:
        tell("")
        sys.stderr.write(f"adyton tune: {error}\n")
        return BAD
    except KeyboardInterrupt:
        tell("")
        return INTERRUPTED
    tell("")
    data = report.as_json(found)
    is_good = has_shown(dumped(data) if options.json else report.table(found, columns()), "adyton tune")
    is_good &= found.holds and found.fits
    for path in options.output:
        is_good &= has_written(path, data, report.markdown(found), "adyton tune")
    return GOOD if is_good else BAD


def parser() -> argparse.ArgumentParser:
    """Returns the grammar."""
    grammar = argparse.ArgumentParser(
        prog="adyton tune",
        usage="%(prog)s [OPTIONS] TARGET [-- SETTINGS]",
        description="Find how many processes and threads are best for an application on this machine.",
        epilog="SETTINGS are for adyton serve, such as --env A=1; they apply to all trials.",
    )
    grammar.add_argument("target", help="what adyton serve is to serve, such as mysite.wsgi:application")
    grammar.add_argument(
        "--page", default="/", metavar="PATH", help="the page that is requested (default: /)"
    )
    grammar.add_argument(
        "--goal",
        type=seconds,
        metavar="TIME",
        help="how long 99 of 100 answers may take, such as 100ms (default: ten times as long as one takes "
        "alone, but at least 50ms)",
    )
    grammar.add_argument(
        "--memory",
        type=size,
        metavar="SIZE",
        help="the memory that all processes together may use, such as 2G (default: 80 %% of all)",
    )
    grammar.add_argument(
        "--processes-max",
        type=count,
        metavar="N",
        help="the most processes to try (default: twice the CPUs)",
    )
    grammar.add_argument(
        "--threads-max",
        type=count,
        metavar="N",
        default=THREADS_MAX,
        help=f"the most threads to try; 1 if the application is not thread-safe (default: {THREADS_MAX})",
    )
    grammar.add_argument(
        "--time", type=total, default="3m", metavar="TIME", help="how long the search may take (default: 3m)"
    )
    grammar.add_argument(
        "--check",
        choices=("body", "length", "nothing"),
        default="length",
        help="the part of each body that must be equal to the first answer's (default: length)",
    )
    grammar.add_argument("--json", action="store_true", help="print the result as JSON")
    grammar.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=writable,
        action="append",
        default=[],
        help="also write the result to a file: .md or .json; may be repeated",
    )
    return grammar


def columns() -> int:
    """Returns the width of lines: the terminal's, or 80."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 80


def task_of(options: argparse.Namespace, settings: Sequence[str]) -> Task:
    """Returns the task that the command line asks for."""
    cpus, memory_bytes = granted()
    limits = Limits(
        cpus=cpus,
        memory_bytes=options.memory or int(MEMORY_PART * memory_bytes),
        processes_max=options.processes_max or most_processes(cpus),
        threads_max=options.threads_max,
    )
    page = options.page if options.page.startswith("/") else f"/{options.page}"
    return Task(options.target, page, tuple(settings), options.check, limits, options.goal, options.time)


def refused(settings: Sequence[str]) -> str:
    """Says which setting for ``adyton serve`` cannot be given here, and why; empty if all can be given."""
    for word in settings:
        name = word.partition("=")[0]
        if name in SEARCHED:
            return f"{name} is what is searched for: --processes-max and --threads-max limit it"
        if name in OWN:
            return f"{name} is set by adyton tune itself"
    return ""


def total(text: str) -> float:
    """Reads the time of the whole search."""
    value = seconds(text)
    if value < TOTAL_S_MIN:
        raise argparse.ArgumentTypeError(f"in less than {TOTAL_S_MIN:.0f}s nothing can be found")
    return value


def size(text: str) -> int:
    """Reads a size in bytes: ``512M``, ``1.5G``."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kmg]?)", text.lower())
    value = int(float(found[1]) * BYTES[found[2]]) if found else 0
    if value == 0:
        raise argparse.ArgumentTypeError(f"{text} is no size such as 512M or 1.5G")
    return value


def count(text: str) -> int:
    """Reads a count."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text} is no number from 1 on")
    return int(text)
