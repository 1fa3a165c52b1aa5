"""Pages that note each of their loads, or wait while they are loaded; clients that ask without a pause."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import Counter
from typing import TYPE_CHECKING

from sites.folder import page
from support.server import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.server import Server

NOTES = """
import os

with open({notes!r}, "a") as notes:
    notes.write(f"{{os.getpid()}} {words}\\n")
{more}

def handler(request):
    return "{words}"
"""
"""Code of a page that notes its load, and the process that loads it."""

WAITS = """
with open({pipe!r}, "rb") as pipe:
    pipe.read()
"""
"""Code of a page that waits, when it is loaded, until the test has opened and closed a pipe."""


def noting(project: Path, name: str, words: str, more: str = "") -> None:
    """Write a page that notes its loads and answers with these words."""
    page(project, name, NOTES.format(notes=str(project / "notes"), words=words, more=more))


def waiting(project: Path, name: str, words: str, more: str = "") -> Path:
    """Write a page that notes its load and then waits; return the pipe that it waits for."""
    pipe = fifo(project, words)
    noting(project, name, words, WAITS.format(pipe=str(pipe)) + more)
    return pipe


def fifo(project: Path, name: str) -> Path:
    """Make a pipe."""
    pipe = project / f"{name}.pipe"
    os.mkfifo(pipe)
    return pipe


def loads(project: Path) -> Counter[tuple[str, str]]:
    """Return how often each process has loaded each version; a version is known by its words."""
    notes = project / "notes"
    lines = notes.read_text(encoding="utf-8").splitlines() if notes.exists() else []
    pairs = (line.partition(" ") for line in lines)
    return Counter((process, words) for process, _, words in pairs)


class Asked(threading.Thread):
    """One request on a thread of its own."""

    def __init__(self, server: Server, target: str) -> None:
        """Send the request."""
        super().__init__()
        self._server, self._target = server, target
        self.answer: tuple[int, bytes] | None = None
        self.start()

    def run(self) -> None:
        """Keep the answer."""
        response = self._server.fetch(self._target)
        self.answer = (response.status, response.body)

    def answered(self) -> tuple[int, bytes] | None:
        """Wait for the answer, and return it."""
        self.join()
        return self.answer


class Crowd:
    """Clients that ask for one page again and again, each over its own connection."""

    def __init__(self, server: Server, target: str, count: int) -> None:
        """Begin to ask."""
        self.server, self.target = server, target
        self.seen: list[list[tuple[int, bytes]]] = [[] for _ in range(count)]
        self._stop = threading.Event()
        self._failures: list[BaseException] = []
        self._threads = [threading.Thread(target=self._ask, args=(seen,)) for seen in self.seen]
        for thread in self._threads:
            thread.start()

    def end(self) -> list[BaseException]:
        """Stop the clients; return the failures that any of them has seen."""
        self._stop.set()
        for thread in self._threads:
            thread.join()
        return self._failures

    def _ask(self, seen: list[tuple[int, bytes]]) -> None:
        try:
            with self.server.connect() as connection:
                while not self._stop.is_set():
                    response = connection.get(self.target)
                    assert response.complete
                    seen.append((response.status, response.body))
        except BaseException as failure:  # noqa: BLE001 - the test's thread reports it
            self._failures.append(failure)

    def all_see(self, answer: tuple[int, bytes]) -> bool:
        """Wait until the last answer of each client is this one, or a client has failed."""
        return self.sees(answer.__eq__)

    def sees(self, is_wanted: Callable[[tuple[int, bytes]], bool]) -> bool:
        """Wait until the last answer of each client is wanted, or a client has failed."""
        return until(lambda: bool(self._failures) or all(seen and is_wanted(seen[-1]) for seen in self.seen))


@contextlib.contextmanager
def crowd_of(server: Server, target: str, count: int) -> Iterator[Crowd]:
    """Have `count` clients ask until the `with` ends; then raise the failure of a client, if there is one."""
    crowd = Crowd(server, target, count)
    try:
        yield crowd
    finally:
        failures = crowd.end()
    assert [] == failures
