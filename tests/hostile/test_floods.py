"""Connections take turns: a connection that always sends has no more turns than others; no byte is lost."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.client import chunked, request
from support.server import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from hostile.conftest import Impatient
    from support.client import Connection
    from support.server import Server

ATTACKERS = 20
"""Connections that send bodies of tiny chunks as fast as the server takes them."""
TINY_CHUNKS = chunked(*[b"x"] * 40_000, last=b"")
TURNS_MAX = 3 * ATTACKERS
"""Limit of turns before a request is answered.

If each connection has one turn in a round, the request is answered after a round, or later if this process
does not run. When each connection had a turn for each of its events, there were hundreds.
"""
ASKED = 60

IN_PIECES = {
    # Each input has more requests than are answered in one turn, or more chunks than are decoded in one.
    "requests": (request("/unread") * 600, 600),
    "chunks": (
        request("/", method="POST", fields=[("Transfer-Encoding", "chunked")]) + chunked(*[b"x"] * 1100),
        1,
    ),
}


class Flood:
    """Threads that send a body without an end, in chunks of a byte."""

    def __init__(self, server: Server) -> None:
        """Begin one request on each of `ATTACKERS` connections."""
        self.stack = ExitStack()
        connections = [self.stack.enter_context(server.connect()) for _ in range(ATTACKERS)]
        self.threads = [threading.Thread(target=self.send, args=(connection,)) for connection in connections]

    def __enter__(self) -> None:
        """Start to send."""
        for thread in self.threads:
            thread.start()

    def __exit__(self, *_: object) -> None:
        """Close the connections, which ends the threads."""
        self.ended = True
        self.stack.close()
        for thread in self.threads:
            thread.join()

    ended = False

    def send(self, connection: Connection) -> None:
        """Send until the connection is closed."""
        with suppress(OSError):
            connection.send(request("/", method="POST", fields=[("Transfer-Encoding", "chunked")]))
            while not self.ended:
                connection.send(TINY_CHUNKS)


def turns(server: Server) -> int:
    """Return how often the server has written to a file: once in each turn of a body that is kept there."""
    counts = dict(
        line.split(": ") for line in Path(f"/proc/{server.process.pid}/io").read_text("ascii").splitlines()
    )
    return int(counts["syscw"])


def test_tiny_chunks(impatient: Impatient) -> None:
    """A client beside a flood of tiny chunks is answered after a turn or two of each attacker."""
    server = impatient(
        "--threads=1", "--body-bytes-max=100g", "--body-memory-max=0", "--body-files-bytes-max=100g"
    )
    flood: AbstractContextManager[None] = Flood(server)
    with server.connect() as connection, flood:
        assert until(lambda: turns(server) > 100 * ATTACKERS)
        took = []
        for _ in range(ASKED):
            before = turns(server)
            assert 200 == connection.get("/unread").status
            took.append(turns(server) - before)

    assert sorted(took)[ASKED // 4] < TURNS_MAX, took


@pytest.mark.parametrize("kind", IN_PIECES)
def test_all_in_pieces(impatient: Impatient, kind: str) -> None:
    """Bytes that come between a connection's turns are read: all requests are answered, in any pieces."""
    server = impatient("--threads=1")
    data, count = IN_PIECES[kind]
    repeats = 2400 // count if kind == "requests" else 40

    def ask_all(seed: int) -> int:
        with server.connect() as connection:
            sender = threading.Thread(
                target=send_all, args=(connection, pieces(data * repeats, random.Random(seed)))
            )
            sender.start()
            answered = sum(200 == connection.receive().status for _ in range(count * repeats))
            sender.join()
            return answered

    with ThreadPoolExecutor(ATTACKERS) as pool:
        assert {count * repeats} == set(pool.map(ask_all, range(2 * ATTACKERS)))


def send_all(connection: Connection, each: Iterator[bytes]) -> None:
    """Send one piece after the other."""
    for piece in each:
        connection.send(piece)


def pieces(data: bytes, chance: random.Random) -> Iterator[bytes]:
    """Cut into pieces of any length."""
    at = 0
    while at < len(data):
        end = at + chance.randrange(1, 9000)
        yield data[at:end]
        at = end
