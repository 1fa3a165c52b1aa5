"""Servers with workers."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.server import run, until

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.server import Server, Servers

APPLICATION = Path(__file__).parent / "application.py"


ADMIN = re.compile(r"^  admin    http://([0-9.]+):(\d+)$", re.MULTILINE)


def version(number: int) -> str:
    """Return the application with another version in it."""
    text = APPLICATION.read_text(encoding="utf-8")
    return text.replace('os.environ.get("VERSION", "1")', f'"{number}"')


def admin_of(server: Server) -> tuple[str, int]:
    """Return the address of the admin listener."""
    found = ADMIN.search(server.log())
    assert found, server.log()
    return found[1], int(found[2])


def is_alive(pid: int) -> bool:
    """Tell whether a process runs: a zombie does not."""
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False


def freeze(pid: int) -> None:
    """Stop a process, and wait until all its threads stand still."""
    os.kill(pid, signal.SIGSTOP)
    threads = Path(f"/proc/{pid}/task").iterdir
    assert until(lambda: all(" T " in (thread / "stat").read_text(encoding="utf-8") for thread in threads()))


class Crowd:
    """A server with workers, and its control socket."""

    def __init__(self, server: Server, control: Path) -> None:
        """Take over both."""
        self.server = server
        self.control = control

    def order(self, *words: str) -> str:
        """Give an order; return the printed text."""
        done = run(*words, "--control", str(self.control))
        assert 0 == done.returncode, done.stderr
        return done.stdout

    def refused(self, *words: str) -> str:
        """Give an order that is refused; return the reason."""
        done = run(*words, "--control", str(self.control))
        assert 1 == done.returncode, done.stdout
        return done.stderr

    def status(self) -> Any:
        """Return the server's status."""
        return json.loads(self.order("status", "--json"))

    def pids(self) -> list[int]:
        """Return the processes that serve."""
        return [worker["pid"] for worker in self.status()["workers"] if worker["state"] == "serving"]

    def who(self) -> list[str]:
        """Return process, number, count, generation and version of the worker that answers."""
        return self.server.fetch("/who").body.decode().split()

    def answers(self, page: str, workers: int) -> set[str]:
        """Return the different answers of so many workers.

        Connections that are kept are spread over all workers, unless a worker gets no CPU while they are
        opened.
        """
        found: set[str] = set()

        def ask() -> bool:
            with contextlib.ExitStack() as stack:
                kept = [stack.enter_context(self.server.connect()) for _ in range(10 * workers)]
                found.update(connection.get(page).body.decode() for connection in kept)
            return len(found) >= workers

        assert until(ask), found
        return found

    def has_inside(self, requests: int) -> bool:
        """Tell whether so many requests are inside the application before long."""
        return until(lambda: requests == self.status()["total"]["in_flight"])

    def settles(self, workers: int) -> bool:
        """Tell whether so many workers serve before long, and no others are left."""

        def settled() -> bool:
            states = [worker["state"] for worker in self.status()["workers"]]
            return states == ["serving"] * workers

        return until(settled)


@pytest.fixture
def crowd(serve: Servers, tmp_path: Path) -> Callable[..., Crowd]:
    """Start servers with workers."""

    def start(*flags: str, target: Path = APPLICATION, **how: Any) -> Crowd:
        control = tmp_path / "control.sock"
        server = serve(target, "--control", str(control), *flags, **how)
        return Crowd(server, control)

    return start
