"""Runs commands side by side, each with its output in one piece."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING

from setup import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

SIDE_BY_SIDE = (os.cpu_count() or 1) + 2
"""Two more than there are CPUs, because tests wait a lot."""

PRINTING = threading.Lock()

RUNNING: set[int] = set()
"""The process groups of the jobs that run."""


@dataclass(frozen=True)
class Job:
    """A command, and what it is called in tables."""

    name: str
    command: Sequence[str]
    variables: dict[str, str] = field(default_factory=dict)
    hanging_after_s: float = 1500.0
    """Reached only by what hangs."""


@dataclass(frozen=True)
class Result:
    """How a job ended."""

    name: str
    seconds: float
    passed: bool
    last_line: str


def together(jobs: Sequence[Job], side_by_side: int = SIDE_BY_SIDE) -> list[Result]:
    """Run jobs, the first ones first; return all results, of those that failed, too."""
    with ThreadPoolExecutor(side_by_side) as threads:
        return list(threads.map(run, jobs))


def run(job: Job) -> Result:
    """Run one job and tell how it ended: all its output if it failed, else the last line."""
    began = time.monotonic()
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        passed = is_success(job, output)
        output.seek(0)
        text = output.read().strip()
    last_line = text.rpartition("\n")[2]
    seconds = time.monotonic() - began
    with PRINTING:
        print(f"\n-- {job.name}: {'passed' if passed else 'FAILED'} in {seconds:.0f} s", flush=True)
        print(last_line if passed else f"{' '.join(map(str, job.command))}\n{text}", flush=True)
    return Result(job.name, seconds, passed, last_line)


def is_success(job: Job, output: IO[str]) -> bool:
    """Run a job with its output in a file; one that hangs is ended with all that it has started."""
    process = subprocess.Popen(
        job.command,
        cwd=ROOT,
        env={**os.environ, **job.variables},
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    RUNNING.add(process.pid)
    try:
        return process.wait(job.hanging_after_s) == 0
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        output.seek(0, os.SEEK_END)
        output.write(f"\nended by the gate: it ran for {job.hanging_after_s:.0f} s\n")
        return False
    finally:
        RUNNING.discard(process.pid)


def end_at_once(number: int, _frame: object) -> None:
    """End all jobs, and this program: whoever stops the gate wants no server of it to stay."""
    for group in tuple(RUNNING):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGTERM)
    os._exit(128 + number)
