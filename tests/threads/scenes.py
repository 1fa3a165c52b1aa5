"""Steps that tests of threads repeat: begin requests, wait until they are inside, let them go."""

from __future__ import annotations

import contextlib
import json
import os
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from support.client import request
from support.server import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from support.client import Connection
    from support.http import Response
    from support.server import Server, Servers

APPLICATION = Path(__file__).with_name("application.py")
DEFAULT_THREADS = 16
PATIENCE_S = 20.0
"""
No step of these tests takes so long, even on a busy machine: a longer step is stuck. The time is shorter than
the default graceful timeout, and shorter than the time after which a hanging request goes on by itself: a
test that waits for either of them fails.
"""
PATIENT = ("--write-idle-timeout=10m", "--write-rate-grace=10m")
"""The server waits long for clients that do not read: how long a test takes depends on the machine."""


@dataclass(frozen=True)
class Flag:
    """A file that the test makes, and for which the application waits."""

    path: Path

    def __str__(self) -> str:
        """Return the path, for a query."""
        return str(self.path)

    def lift(self) -> None:
        """Let the requests that wait for the flag go on."""
        self.path.touch()

    def child(self, name: object) -> Flag:
        """Return another flag beside this one."""
        return Flag(Path(f"{self.path}.{name}"))

    def wait_started(self, names: Iterable[object] = ("",)) -> None:
        """Wait until requests of these ids are inside the application."""
        for name in names:
            assert until(Path(f"{self.path}.{name}.started").exists, PATIENCE_S), f"{name!r} has not started"

    def started(self, names: Iterable[object]) -> int:
        """Return how many of the ids are or were inside the application."""
        return sum(Path(f"{self.path}.{name}.started").exists() for name in names)

    def is_done(self) -> bool:
        """Tell whether the application has said that it is done."""
        return Path(f"{self.path}.done").exists()


@dataclass(frozen=True)
class Site:
    """A server of the application, and its counters."""

    server: Server
    threads: int
    counters_file: Path

    @property
    def threads_most(self) -> int:
        """The number of threads while none waits for its client.

        There are as many threads as the setting says, one for each event loop (there may be a loop for each
        CPU), and one more.
        """
        return self.threads + 1 + (os.cpu_count() or 1)

    def counters(self) -> dict[str, int]:
        """Return the counters as they are now, without asking the server."""
        first = self._counters_file()["turn"]

        def told() -> bool:
            self._ask_counters()
            return bool(self._counters_file()["turn"] >= first + 2)

        # The first file may be old, and the next one may have been begun before this call.
        assert until(told, PATIENCE_S)
        counters = self._counters_file()
        del counters["turn"]
        return counters

    def _ask_counters(self) -> None:
        # The pipe of a server that has ended has no reader, and the pipe of a server that has no time may be
        # full.
        with contextlib.suppress(OSError):
            descriptor = os.open(f"{self.counters_file}.asked", os.O_WRONLY | os.O_NONBLOCK)
            try:
                os.write(descriptor, b"?")
            finally:
                os.close(descriptor)

    def _counters_file(self) -> dict[str, int]:
        # The file is read without a file object, for the reason that `publish_counters` gives.
        descriptor = os.open(self.counters_file, os.O_RDONLY)
        try:
            told: dict[str, int] = json.loads(os.read(descriptor, 4096))
        finally:
            os.close(descriptor)
        return told

    def wait_for(self, condition: Callable[[dict[str, int]], bool], timeout_s: float = PATIENCE_S) -> None:
        """Wait until the counters are as they should be."""
        assert until(lambda: condition(self.counters()), timeout_s), self.counters()

    def wait_queued(self, count: int) -> None:
        """Wait until so many requests are in the queue."""
        self.wait_for(lambda counters: counters["queue_length"] == count)

    def wait_settled(self) -> None:
        """Wait until no request is in the application or in the queue."""
        self.wait_for(lambda counters: counters["threads_busy"] == counters["queue_length"] == 0)

    def notes(self, name: str) -> list[Any]:
        """Return what the application has noted under a name.

        The list is empty if even this request took longer than the server allows, as it may on a busy
        machine.
        """
        answer = self.server.fetch(target("/notes", name=name))
        told: list[Any] = [] if answer.status == 504 else answer.json()
        return told

    def wait_noted(self, name: str, what: object) -> list[Any]:
        """Wait until the application has noted this; return all that it noted."""
        assert until(lambda: what in self.notes(name), PATIENCE_S), self.notes(name)
        return self.notes(name)


def start(
    servers: Servers,
    folder: Path,
    threads: int | None,
    *flags: str,
    file: Path = APPLICATION,
    of: str = "application",
    env: dict[str, str] | None = None,
    bind: str = "127.0.0.1:0",
) -> Site:
    """Serve the application, or another one, with so many threads, and the folder as `/static`.

    With `None`, the server chooses the number of threads.
    """
    (folder / "file.txt").write_bytes(b"static")
    counters = folder / "counters.json"
    # An earlier server in this folder may have left its files.
    for left in (asked := Path(f"{counters}.asked"), counters):
        left.unlink(missing_ok=True)
    os.mkfifo(asked)
    server = servers(
        f"{file}:{of}",
        *([] if threads is None else [f"--threads={threads}"]),
        f"--static=/static={folder}",
        *flags,
        bind=bind,
        env={"COUNTERS": str(counters), "PYTHONPATH": str(APPLICATION.parent)} | (env or {}),
    )
    site = Site(server, threads or DEFAULT_THREADS, counters)
    assert until(counters.exists, PATIENCE_S)
    return site


def target(path: str, **query: object) -> str:
    """Return the target of a request."""
    return f"{path}?{urlencode(query)}"


@contextmanager
def under_way(server: Server, *targets: str, **of_all: Any) -> Iterator[list[Connection]]:
    """Send each request over a connection of its own; the caller receives the answers."""
    with ExitStack() as stack:
        connections = [stack.enter_context(server.connect()) for _ in targets]
        for connection, one in zip(connections, targets, strict=True):
            connection.send(request(one, **of_all))
        yield connections


@contextmanager
def holding(site: Site, flag: Flag, count: int, **query: object) -> Iterator[list[Connection]]:
    """Have so many requests inside the application; they go on when the flag is lifted."""
    with ExitStack() as stack:
        connections = []
        try:
            for number in range(count):
                connections += stack.enter_context(
                    under_way(site.server, target("/hold", flag=flag, id=number, **query))
                )
                flag.wait_started([number])
            yield connections
        finally:
            flag.lift()


def let_go(fifo: Path) -> None:
    """Open the other end of the FIFO for which a call in C waits, even if the call has not begun yet."""

    def opened() -> bool:
        try:
            os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
        except OSError:
            return False
        return True

    assert until(opened, PATIENCE_S)


@contextmanager
def keeping_interpreter(site: Site, flag: Flag) -> Iterator[None]:
    """Have a request inside a call in C that keeps the interpreter; in the end it is answered."""
    fifo = Path(f"{flag}.fifo")
    os.mkfifo(fifo)
    with under_way(site.server, target("/c-call", flag=flag, fifo=fifo)) as (connection,):
        flag.wait_started()
        try:
            yield
        finally:
            let_go(fifo)
        assert b"called" == connection.receive().body


def receive_held(connections: Iterable[Connection]) -> None:
    """Take the answers to requests that were held, all of which must be right."""
    for number, connection in enumerate(connections):
        assert b"held%d" % number == connection.receive().body


def meet(site: Site, name: object) -> None:
    """Have as many requests inside the application at once as there are threads: they wait for each other."""
    targets = [target("/meet", n=site.threads, name=name)] * site.threads
    with under_way(site.server, *targets) as connections:
        assert [b"met"] * site.threads == [response.body for response in receive_all(connections)]


def receive_all(connections: Iterable[Connection]) -> list[Response]:
    """Take one complete answer from each connection."""
    responses = [connection.receive() for connection in connections]
    assert all(response.complete for response in responses), responses
    return responses
