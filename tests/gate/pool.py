"""Runs commands side by side, each with its output in one piece."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import tempfile
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING

from setup import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SIDE_BY_SIDE = (os.cpu_count() or 1) + 2
"""Number of jobs at a time: two more than there are CPUs, because tests wait a lot."""

NEVER_RUN = 127
"""The status of a job whose `needs` failed."""

PRINTING = threading.Lock()

RUNNING: set[int] = set()
"""The process groups of the jobs that run."""


@dataclass(frozen=True)
class Job:
    """A command, and its name in tables."""

    name: str
    command: Sequence[str]
    variables: dict[str, str] = field(default_factory=dict)
    hanging_after_s: float = 1500.0
    """Time after which a job is taken to hang: no other job runs so long."""
    needs: str = ""
    """The name of a job that stands before it in the same list, and has to pass first."""
    failures: Path | None = None
    """The file in which the command lists failed tests; the command's last word is their folder."""


@dataclass(frozen=True)
class Result:
    """How a job ended."""

    name: str
    seconds: float
    cpu_s: float
    """CPU time of the job, with all its processes whose ends were waited for."""
    status: int
    """Its exit code, or the signal that ended it as a negative number."""
    output: str
    second_try: tuple[str, ...] = ()
    """Tests that failed, and passed when they ran once more (`second_try.py`)."""

    @property
    def passed(self) -> bool:
        """Whether all went well, at the second try at the latest."""
        return self.status == 0


def together(jobs: Sequence[Job], side_by_side: int = SIDE_BY_SIDE) -> list[Result]:
    """Run jobs, beginning with the first; return all results, those of failed jobs among them."""
    begun: dict[str, Future[Result]] = {}

    def run_behind(job: Job) -> Result:
        if job.needs and not begun[job.needs].result().passed:
            return Result(job.name, 0.0, 0.0, NEVER_RUN, f"{job.needs} failed")
        return run(job)

    with ThreadPoolExecutor(side_by_side) as threads:
        for job in jobs:
            begun[job.name] = threads.submit(run_behind, job)
    return [future.result() for future in begun.values()]


def run(job: Job) -> Result:
    """Run one job and tell how it ended: all its output if it failed, else the last line."""
    began = time.monotonic()
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        status, cpu_s = outcome(job, output)
        output.seek(0)
        text = output.read().strip()
    seconds = time.monotonic() - began
    passed = status == 0
    how = f"{'passed' if passed else 'FAILED'} in {seconds:.0f} s, with {cpu_s:.0f} s of CPU time"
    with PRINTING:
        print(f"\n-- {job.name}: {how}", flush=True)
        command = " ".join(map(str, job.command))
        print(text.rpartition("\n")[2] if passed else f"{command}\n{text}", flush=True)
    return Result(job.name, seconds, cpu_s, status, text)


def outcome(job: Job, output: IO[str]) -> tuple[int, float]:
    """Run a job with its output in a file; return its exit code, and its CPU time in seconds.

    A job that hangs is ended with all processes that it has started.
    """
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
    handle = os.pidfd_open(process.pid)
    try:
        has_ended, _, _ = select.select([handle], [], [], job.hanging_after_s)
        if not has_ended:
            os.killpg(process.pid, signal.SIGKILL)
            output.seek(0, os.SEEK_END)
            output.write(f"\nended by the gate: it ran for {job.hanging_after_s:.0f} s\n")
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return process.returncode, used.ru_utime + used.ru_stime
    finally:
        os.close(handle)
        RUNNING.discard(process.pid)


def end_at_once(number: int, _frame: object) -> None:
    """End all jobs, and this program: when the gate is stopped, none of its servers may stay."""
    for group in tuple(RUNNING):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGTERM)
    os._exit(128 + number)
