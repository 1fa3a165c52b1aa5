"""Runs of our own commands from Python: loads and their reports, and what a server that is started needs."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from adyton._command import uninterrupted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ADYTON = (sys.executable, "-m", "adyton")
"""Our command line, whatever is on the path."""


class BenchError(Exception):
    """``adyton bench`` has no report: it says why."""


def bench(url: str, options: Sequence[str]) -> dict[str, Any]:
    """Runs ``adyton bench`` to its end and returns its report (schema ``adyton-bench/1``).

    Raises :class:`BenchError` when the server does not answer.
    """
    return bench_together([(url, options)])[0]


def bench_together(runs: Iterable[tuple[str, Sequence[str]]]) -> list[dict[str, Any]]:
    """Runs several at the same time, each with its URL and its options; as :func:`bench`."""
    pipe = subprocess.PIPE
    started: list[subprocess.Popen[str]] = []
    try:
        for url, options in runs:
            command = [*ADYTON, "bench", url, *options, "--json"]
            with uninterrupted():
                started.append(
                    subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)  # noqa: S603 - our own program
                )
        said = [process.communicate() for process in started]
    finally:
        # Of all that have ended nothing is left to do.
        for process in started:
            process.kill()
            process.wait()
    for out, error in said:
        if not out:
            raise BenchError(error.strip())
    return [json.loads(out) for out, _ in said]


def free_port() -> int:
    """Returns a port of the loopback that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def environment() -> dict[str, str]:
    """Returns the variables for a server: nothing that the user has set for one of his own."""
    own = ("ADYTON_", "WEB_CONCURRENCY")
    return {name: value for name, value in os.environ.items() if not name.startswith(own)}
