"""Clients that send random requests, in every way that clients have, and check every answer."""

from __future__ import annotations

import random
import socket
import threading
import time
import traceback
from typing import TYPE_CHECKING

from support.client import Connection, chunked, request
from threads.application import pattern
from threads.scenes import target

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.client import Address

KINDS = ["one", "list", "length", "generator", "late generator", "write", "file"]
FAILURES = ["call", "started", "midway", "close"]
SIZES = [0, 1, 100, 5_000, 20_000, 70_000, 300_000]
STATIC = b"static"
MIB = 1 << 20


class Client:
    """One client: a thread that sends random requests until it is told to stop."""

    def __init__(self, address: Address, seed: str, threads: int) -> None:
        """Ask the server at `address`, which has this many threads; the same seed sends the same requests."""
        self.address = address
        self.threads = threads
        self.seed = seed
        self.chance = random.Random(seed)
        self.done = 0
        self.failures: list[str] = []
        self.failed_on_purpose = 0
        """Number of requests that the application was told to fail; all of them were answered."""
        self._thread = threading.Thread(target=self._run, name=seed, daemon=True)
        self._stop = threading.Event()

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Begin no further request."""
        self._stop.set()

    def join(self, timeout_s: float) -> bool:
        """Wait until the requests that were begun are over; tell whether they are."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def try_each(self) -> None:
        """Go each way once, and fail in each way, so that nothing is done for the first time later."""
        for way, _ in WAYS.values():
            way(self)
        for how in FAILURES:
            fail(self, how)

    def _run(self) -> None:
        names, weights = list(WAYS), [weight for _, weight in WAYS.values()]
        while not self._stop.is_set() and not self.failures:
            (name,) = self.chance.choices(names, weights)
            try:
                WAYS[name][0](self)
            except Exception:  # noqa: BLE001 - any failure is reported
                self.failures.append(f"{name}, turn {self.done} of {self.seed}: {traceback.format_exc()}")
            self.done += 1

    def connect(self, receive_buffer_bytes: int = 0) -> Connection:
        """Open a connection."""
        return Connection(self.address, lint_answers=False, receive_buffer_bytes=receive_buffer_bytes)

    def late(self) -> dict[str, object]:
        """Return how late an answer shall be."""
        ms = self.chance.choice([0, 0, 0, 1, 2, 5, 12])
        return {"ms": ms} if self.chance.random() < 0.8 else {"ms": min(ms, 5), "by": "computing"}

    def page(self) -> tuple[str, bytes]:
        """Return the target of a random page, and its right body."""
        number = self.chance.randrange(1_000_000)
        what = self.chance.random()
        if what < 0.4:
            return target("/hello", id=number), b"hello%d" % number
        if what < 0.6:
            return target("/linger", id=number, **self.late()), b"lingered%d" % number
        if what < 0.7:
            return "/static/file.txt", STATIC
        kind, size = self.chance.choice(KINDS), self.chance.choice(SIZES)
        asked = target("/answer", kind=kind, size=size, seed=number, **self.late())
        return asked, pattern(size, number)


def check_page(client: Client, connection: Connection) -> None:
    """Ask for one page."""
    asked, body = client.page()
    response = connection.get(asked)
    assert response.complete, asked
    assert (200, body) == (response.status, response.body), asked


def pages(client: Client) -> None:
    """Ask for some pages, one after the other, over one connection."""
    with client.connect() as connection:
        for _ in range(client.chance.randint(1, 20)):
            check_page(client, connection)


def heads(client: Client) -> None:
    """Ask for heads only."""
    with client.connect() as connection:
        for _ in range(5):
            asked, _ = client.page()
            response = connection.get(asked, method="HEAD")
            assert (200, b"") == (response.status, response.body), asked
        check_page(client, connection)


def old_version(client: Client) -> None:
    """Ask with HTTP/1.0."""
    asked, body = client.page()
    with client.connect() as connection:
        connection.send(request(asked, version="1.0"))
        response = connection.receive()
        assert (200, True, body) == (response.status, response.complete, response.body), asked
        assert connection.at_end()


def pipelined(client: Client) -> None:
    """Send many requests before the first answer is read, in pieces of any size."""
    asked = [client.page() for _ in range(client.chance.randint(2, 20))]
    data = b"".join(request(one) for one, _ in asked)
    cut = client.chance.randrange(len(data))
    with client.connect() as connection:
        connection.send(data[:cut])
        time.sleep(client.chance.choice([0, 0.001, 0.01]))
        connection.send(data[cut:])
        for one, body in asked:
            response = connection.receive()
            assert (200, True) == (response.status, response.complete), one
            assert body == response.body, one


def stream(client: Client) -> None:
    """Read a stream as fast as it comes."""
    asked, body = stream_target(client)
    with client.connect() as connection:
        response = connection.get(asked)
        assert (200, True) == (response.status, response.complete), asked
        assert body == response.body, asked
        check_page(client, connection)


def stream_target(client: Client) -> tuple[str, bytes]:
    """Return the target of a random stream, and its body."""
    seed, items = client.chance.randrange(1_000_000), client.chance.randint(1, 12)
    size = client.chance.choice([10, 1_000, 70_000])
    body = b"".join(pattern(size, seed + number) for number in range(items))
    return target("/stream", items=items, size=size, seed=seed, **client.late()), body


def variables(client: Client) -> None:
    """Read a stream that needs its context variables, or its own thread."""
    name, items = f"{client.seed}.{client.done}", client.chance.randint(1, 10)
    with client.connect() as connection:
        asked = target("/variables", id=name, items=items, pad=20_000 if items > 7 else 0, **client.late())
        lines = connection.get(asked).body.decode().splitlines()
        found = [line.rstrip(".").split() for line in lines]
        if client.threads == 1:
            # Large streams take turns on the one thread, and share its thread-local variables.
            found = [[variable, name, same] for variable, _, same in found]
        assert [[name, name, "True"]] * items == found, asked
        rows = connection.get(target("/sqlite", items=items, **client.late())).body.decode()
        expected = [f"{number} {way}" for way in ("in", "out") for number in range(items)]
        assert expected == rows.splitlines()


def slow_reader(client: Client) -> None:
    """Read an answer that does not fit any buffer, with pauses."""
    path, items = client.chance.choice(["/pour", "/pour-generator", "/pour-write"]), 60
    with client.connect(receive_buffer_bytes=16_384) as connection:
        connection.send(request(target(path, name="slow", items=items), version="1.0"))
        for _ in range(10):
            assert connection.reader.fill()
            time.sleep(0.005)
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * MIB)
        response = connection.receive()
        assert (200, items * 65536) == (response.status, len(response.body))


def upload(client: Client) -> None:
    """Send a body in pieces, with pauses; it must come back."""
    size, name = client.chance.choice(SIZES), f"{client.seed}.{client.done}"
    body, asked = pattern(size, client.done), target("/upload", how="all", name=name)
    if client.chance.random() < 0.5:
        data = request(asked, method="POST", body=body)
    else:
        cut = client.chance.randint(1, 1 + size)
        pieces = [piece for piece in (body[:cut], body[cut:]) if piece]
        fields = [("Transfer-Encoding", "chunked")]
        data = request(asked, method="POST", fields=fields, body=chunked(*pieces))
    cut = client.chance.randrange(len(data))
    with client.connect() as connection:
        connection.send(data[:cut])
        time.sleep(client.chance.choice([0, 0.001, 0.02]))
        connection.send(data[cut:])
        response = connection.receive("POST")
        assert (200, body) == (response.status, response.body), (asked, size)
        check_page(client, connection)


def failure(client: Client) -> None:
    """Have the application fail in some way."""
    fail(client, client.chance.choice(FAILURES))


def fail(client: Client, how: str) -> None:
    """Have the application fail in this way."""
    with client.connect() as connection:
        response = connection.get(target("/fail", how=how, **client.late()))
    client.failed_on_purpose += 1
    if how in ("call", "started"):
        assert 500 == response.status
    elif how == "midway":
        assert not (response.status == 200 and response.complete)
    else:
        assert (200, b"some", True) == (response.status, response.body, response.complete)


def leaves(client: Client) -> None:
    """Leave in the middle of a request, of an upload, or of an answer."""
    asked, _ = client.chance.choice([client.page, lambda: stream_target(client)])()
    poured = target(client.chance.choice(["/pour", "/pour-generator", "/pour-write"]), name="left", items=60)
    body = request(target("/upload", how="all", name="left"), method="POST", body=b"x" * 100_000)
    data = client.chance.choice([request(asked), request(asked) * 5, request(poured), body, b""])
    cut = client.chance.choice([len(data), len(data), client.chance.randint(0, len(data))])
    with client.connect(receive_buffer_bytes=client.chance.choice([0, 4096])) as connection:
        connection.send(data[:cut])
        if client.chance.random() < 0.5:
            time.sleep(client.chance.random() * 0.02)
        if client.chance.random() < 0.3:
            connection.is_silent(0.01)
        how = client.chance.choice([connection.abort, connection.half_close, connection.socket.close])
        how()


def half_closed(client: Client) -> None:
    """Close the sending side after a request, and still read the answer."""
    asked, body = client.page()
    with client.connect() as connection:
        connection.send(request(asked))
        assert connection.reader.fill()
        connection.half_close()
        assert body == connection.receive().body, asked
        assert connection.at_end()


def malformed(client: Client) -> None:
    """Send a malformed request behind a right one."""
    asked, body = client.page()
    with client.connect() as connection:
        connection.send(request(asked) + b"GET / HTTP/1.1\r\nHost : a\r\n\r\n")
        assert body == connection.receive().body, asked
        assert 400 == connection.receive().status
        assert connection.at_end()


WAYS: dict[str, tuple[Callable[[Client], None], int]] = {
    "pages": (pages, 10),
    "heads": (heads, 2),
    "old version": (old_version, 3),
    "pipelined": (pipelined, 8),
    "stream": (stream, 8),
    "variables": (variables, 4),
    "slow reader": (slow_reader, 2),
    "upload": (upload, 6),
    "failure": (failure, 4),
    "leaves": (leaves, 10),
    "half closed": (half_closed, 2),
    "malformed": (malformed, 2),
}
