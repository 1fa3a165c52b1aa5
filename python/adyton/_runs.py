"""Runs of our own commands from Python: a load and its report, and a port for a server."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

ADYTON = (sys.executable, "-m", "adyton")
"""Our command line, whatever is on the path."""


class BenchError(Exception):
    """``adyton bench`` has no report: it says why."""


def bench(url: str, options: Sequence[str]) -> dict[str, Any]:
    """Runs ``adyton bench`` to its end and returns its report (schema ``adyton-bench/1``).

    Raises :class:`BenchError` when the server does not answer.
    """
    command = [*ADYTON, "bench", url, *options, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own program
    if not done.stdout:
        raise BenchError(done.stderr.strip())
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def free_port() -> int:
    """Returns a port of the loopback that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
