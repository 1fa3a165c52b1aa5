"""Requests to be cut, broken and mixed up."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from support.client import chunked, request

if TYPE_CHECKING:
    from collections.abc import Iterator

CHUNKED = ("Transfer-Encoding", "chunked")

GOOD = {
    "get": request("/unread"),
    "length": request("/", method="POST", body=b"hello, world"),
    "chunked": request("/", method="POST", fields=[CHUNKED], body=chunked(b"hello", b"world")),
    "unread": request("/unread", method="POST", body=b"x" * 300),
    "expect": request("/", method="POST", fields=[("Expect", "100-continue")], body=b"hello"),
    "file": request("/files/small.txt", fields=[("Range", "bytes=0-2,4-4")]),
    "pipeline": request("/unread") * 3,
}
"""Correct requests of several kinds."""

SPICE = [
    b"\0", b"\r", b"\n", b"\r\n", b"\r\n\r\n", b" ", b"\t", b":", b"%", b"/../", b"\xff", b"HTTP/1.1",
    b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"Host: b\r\n", b"0\r\n\r\n", b"-1",
    b"ffffffffffffffff", b";", b"Expect: 100-continue\r\n", b"Connection: close\r\n", b"GET / ", b"*",
    b"Range: bytes=-\r\n", b"x" * 9000, b"\x16\x03\x01", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
]  # fmt: skip
"""Bytes that mutation inserts."""


def mutants(seed: int, count: int) -> Iterator[bytes]:
    """Yield broken requests, always the same for a seed."""
    chance = random.Random(seed)
    kinds = list(GOOD.values())
    for _ in range(count):
        data = bytearray(chance.choice(kinds))
        for _ in range(chance.randrange(1, 4)):
            place = chance.randrange(len(data) + 1)
            action = chance.randrange(5)
            if action == 0:
                data[place:place] = chance.choice(SPICE)
            elif action == 1:
                del data[place : place + chance.randrange(1, 20)]
            elif action == 2 and place < len(data):
                data[place] = chance.randrange(256)
            elif action == 3:
                del data[place:]
            else:
                data[place:place] = data[: chance.randrange(40)]
        yield bytes(data)


def garbage(seed: int, count: int) -> Iterator[bytes]:
    """Yield bytes without any sense."""
    chance = random.Random(seed)
    for _ in range(count):
        yield chance.randbytes(chance.randrange(1, 3000))
