"""Clients that ask again and again while something else happens."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

from support.client import Connection
from support.server import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.client import Address
    from support.server import Server


class Asking:
    """Clients that ask again and again, each with one request at a time, on connections of their own."""

    def __init__(self, address: Address, paths: list[str], host: str = "localhost", *, keeps: bool) -> None:
        """Begin to ask for these paths in turn, at this address and host."""
        self.answered = 0
        self.wrong: list[str] = []
        self._address = address
        self._fields = [("Host", host)]
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=(paths, keeps)) for _ in range(4)]
        for thread in self._threads:
            thread.start()

    def _ask(self, paths: list[str], keeps: bool) -> None:  # noqa: FBT001
        while not self._stop.is_set():
            with contextlib.ExitStack() as stack:
                connection = None
                for path in paths:
                    try:
                        if connection is None or not keeps:
                            connection = stack.enter_context(Connection(self._address, lint_answers=False))
                        answer = connection.get(path, fields=self._fields)
                    except (OSError, AssertionError, EOFError) as error:
                        self.wrong.append(f"{path}: {error!r}")
                        connection = None
                        continue
                    self.answered += 1
                    if answer.status != 200 or not answer.complete:
                        self.wrong.append(f"{path}: {answer.status}")
                    if answer.closing:
                        connection = None

    def goes_on(self, answers: int = 50) -> bool:
        """Wait for this many more answers."""
        wanted = self.answered + answers
        return until(lambda: self.answered >= wanted)

    def end(self) -> list[str]:
        """Stop asking; return what went wrong."""
        self._stop.set()
        for thread in self._threads:
            thread.join()
        return self.wrong


@contextlib.contextmanager
def asking(
    server: Server, *paths: str, host: str = "localhost", keeps: bool = False, at: int = 0
) -> Iterator[Asking]:
    """Ask while the block runs; `at` is the number of the listener."""
    running = Asking(server.addresses[at], list(paths), host, keeps=keeps)
    try:
        assert running.goes_on()
        yield running
        assert running.goes_on()
    finally:
        running.end()
