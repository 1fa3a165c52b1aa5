"""A hundred thousand hostile connections leave no memory behind."""

from __future__ import annotations

import contextlib
import itertools
import socket
import struct
from typing import TYPE_CHECKING

import pytest

from hostile.attacks import GOOD, garbage, mutants
from support.client import TIMEOUT_S, request

if TYPE_CHECKING:
    from support.server import Server

WARM_UP = 10_000
PART = 30_000
PARTS = 3
GROWTH_BYTES_MAX = 2 << 20
"""Limit of the growth in all parts together: a leak grows in each; the heap of a thread fills up once."""
RESET = struct.pack("ii", 1, 0)


def attack(server: Server, number: int, data: bytes) -> None:
    """Open a connection, send `data`, and leave in one of several ways."""
    with socket.socket() as client, contextlib.suppress(ConnectionResetError, BrokenPipeError):
        # Our own address changes every so often, so that the ports do not run out.
        client.bind((f"127.0.{number // 10_000}.1", 0))
        client.settimeout(TIMEOUT_S)
        client.connect(("127.0.0.1", server.port))
        client.send(data)
        how = number % 4
        if how == 0:
            client.shutdown(socket.SHUT_WR)
            while client.recv(65536):
                pass
        elif how == 1:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        elif how == 2:
            client.shutdown(socket.SHUT_WR)


@pytest.mark.long
def test_memory_stays(server: Server) -> None:
    """Resident memory does not grow in each further 30,000 hostile connections, up to 100,000."""
    pool = [*GOOD.values(), *(data[: len(data) // 2] for data in GOOD.values())]
    pool += [
        *mutants(1, 500),
        *garbage(1, 100),
        b"",
        request("/pour?50"),
        request("/files/large.bin"),
    ]
    cases = itertools.cycle(pool)
    sizes = []
    for number in range(WARM_UP + PARTS * PART):
        if number >= WARM_UP and (number - WARM_UP) % PART == 0:
            sizes.append(server.rss())
        attack(server, number, next(cases))
    sizes.append(server.rss())
    grown = [after - before for before, after in itertools.pairwise(sizes)]

    assert PARTS == len(grown)
    assert GROWTH_BYTES_MAX > PARTS * min(grown), grown
