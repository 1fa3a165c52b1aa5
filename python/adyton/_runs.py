"""Runs our own commands from Python: loads with their reports; and finds a port and variables for servers."""

from __future__ import annotations

import contextlib
import json
import os
import random
import socket
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from adyton._command import uninterrupted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

ADYTON = (sys.executable, "-m", "adyton")
"""The command of this package, even if another ``adyton`` is first on the path."""

PORTS = range(20_000, 30_000)
"""Ports below the range from which the kernel assigns ports, also for port 0 (``ip_local_port_range``)."""

SUMMARY = "GITHUB_STEP_SUMMARY"
"""Variable that names the file to which a job on GitHub adds the report of each run."""


class BenchError(Exception):
    """Raised when ``adyton bench`` has no report; the text says why."""


@dataclass(frozen=True)
class Done:
    """A run of ``adyton bench`` that has ended."""

    report: dict[str, Any]
    said: str
    """Text on standard error: conditions of ``--fail-if`` that hold."""


def bench(url: str, options: Sequence[str]) -> dict[str, Any]:
    """Runs ``adyton bench`` to its end and returns its report (schema ``adyton-bench/1``).

    Raises :class:`BenchError` when the server does not answer.
    """
    return bench_together([(url, options)])[0].report


def bench_together(runs: Iterable[tuple[str, Sequence[str]]]) -> list[Done]:
    """Runs several ``adyton bench`` at once, each with its URL and its options; see :func:`bench`."""
    pipe = subprocess.PIPE
    # The report of such a run is a part of another report, not a result of the job on GitHub.
    variables = {name: value for name, value in os.environ.items() if name != SUMMARY}
    started: list[subprocess.Popen[str]] = []
    try:
        for url, options in runs:
            command = [*ADYTON, "bench", url, *options, "--json"]
            with uninterrupted():
                started.append(
                    subprocess.Popen(  # noqa: S603 - our own program
                        command, env=variables, stdout=pipe, stderr=pipe, text=True
                    )
                )
        said = [process.communicate() for process in started]
    finally:
        # A run that has ended is not affected.
        for process in started:
            process.kill()
            process.wait()
    for out, error in said:
        if not out:
            raise BenchError(error.strip())
    done = [Done(json.loads(out), error) for out, error in said]
    if any(each.report["interrupted"] for each in done):
        message = "adyton bench was interrupted"
        raise BenchError(message)
    return done


def reasons(report: dict[str, Any], but: Collection[str] = ()) -> dict[str, str]:
    """Returns why a report is invalid: a reason for each failed gate, except the gates in ``but``."""
    return {reason["gate"]: reason["why"] for reason in report["invalid"] if reason["gate"] not in but}


def free_port() -> int:
    """Returns a port of the loopback at which nothing listens, and which the kernel assigns to no client."""
    for port in random.sample(PORTS, len(PORTS)):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    message = f"no port from {PORTS.start} on is free"
    raise OSError(message)


def environment() -> dict[str, str]:
    """Returns the environment for a server, without the variables that configure Adyton or its workers."""
    own = ("ADYTON_", "WEB_CONCURRENCY")
    return {name: value for name, value in os.environ.items() if not name.startswith(own)}
