"""Serves the application with one choice, for the time of a trial."""

from __future__ import annotations

import contextlib
import json
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adyton._command import uninterrupted
from adyton._processes import Memory, stop
from adyton._runs import ADYTON, environment, free_port
from adyton.tune.choice import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from adyton.tune.choice import Choice

START_S = 60.0
"""Longest time until all workers serve; a large application takes seconds."""
LOOK_S = 0.05
SAID_LINES = 20
ORDINARY_ENDS = {"told", "limit", "not_started"}
"""Causes of a worker's end for which the load is not to blame: an order, a limit, or a failed start."""


class ServeError(Exception):
    """Raised when the application is not served, or no longer served."""

    def __init__(self, why: str, log: Path) -> None:
        """Takes the last lines of the server's log, without lines of the level info."""
        lines = log.read_text("utf-8", "replace").splitlines()
        self.why = why
        self.said = [line for line in lines if " info: " not in line][-SAID_LINES:]
        super().__init__("\n".join([why, *self.said]))


@dataclass(frozen=True)
class Waits:
    """Time that requests have waited for the interpreter, counted until some moment."""

    requests: int
    waited_s: float
    """Sum over all requests; a request may wait several times, and requests in one batch wait only once."""

    def for_each_since(self, before: Waits) -> float:
        """Returns how long a request has waited on average since ``before``, in seconds."""
        return (self.waited_s - before.waited_s) / max(1, self.requests - before.requests)


@dataclass(frozen=True)
class Served:
    """A server at work."""

    url: str
    control: Path
    log: Path

    def status(self) -> dict[str, Any]:
        """Returns what ``adyton status --json`` says; empty before there is a server."""
        command = [*ADYTON, "status", "--control", str(self.control), "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own program
        status: dict[str, Any] = json.loads(done.stdout) if done.returncode == 0 else {}
        return status

    def alive(self) -> dict[str, Any]:
        """Returns the server's status.

        Raises :class:`ServeError` when the server has ended or a worker has died: then its figures are
        invalid.
        """
        status = self.status()
        if not status:
            raise ServeError("the server has ended", self.log)
        deaths = sum(count for cause, count in status["deaths"].items() if cause not in ORDINARY_ENDS)
        if deaths:
            raise ServeError(f"{plural(deaths, 'worker', 's')} died under the load", self.log)
        return status

    def interpreter_waits(self) -> Waits:
        """Returns how many requests there were so far, and how long they have waited for the interpreter."""
        total = self.alive()["total"]
        return Waits(total["requests"], total["interpreter_wait_us"] / 1e6)

    def memory(self) -> tuple[int, int]:
        """Returns the bytes that do not grow with the number of workers, and the bytes of one worker."""
        status = self.alive()
        workers = [Memory.of(worker["pid"]) for worker in status["workers"]]
        if not workers:
            raise ServeError("no worker serves", self.log)
        unique = max(worker.private for worker in workers)
        total = Memory.of(status["process"]).proportional + sum(worker.proportional for worker in workers)
        return max(0, total - unique * len(workers)), unique


@contextlib.contextmanager
def served(target: str, choice: Choice, settings: Sequence[str]) -> Iterator[Served]:
    """Serves ``target`` on a port of the loopback; ``settings`` are the user's for ``adyton serve``.

    Raises :class:`ServeError`, with the last lines of the server's log, when the server does not serve.
    """
    with tempfile.TemporaryDirectory(prefix="adyton-tune-") as name:
        port, control, log = free_port(), Path(name) / "control.sock", Path(name) / "log"
        server = Served(f"http://127.0.0.1:{port}", control, log)
        own = (f"--bind=127.0.0.1:{port}", f"--control={control}", *choice.flags)
        process = None
        try:
            with log.open("wb") as said, uninterrupted():
                process = subprocess.Popen(  # noqa: S603 - our own program
                    [*ADYTON, "serve", target, *settings, *own],
                    env=environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=said,
                    start_new_session=True,
                )
            wait_for(server, process, choice.processes)
            yield server
        finally:
            if process:
                stop(process)


def wait_for(server: Served, process: subprocess.Popen[bytes], processes: int) -> None:
    """Waits until all workers serve."""
    deadline = time.monotonic() + START_S
    while [worker["state"] for worker in server.status().get("workers", ())] != ["serving"] * processes:
        if process.poll() is not None or time.monotonic() > deadline:
            why = "the server ended" if process.poll() is not None else f"not all serve after {START_S:.0f} s"
            raise ServeError(why, server.log)
        time.sleep(LOOK_S)
