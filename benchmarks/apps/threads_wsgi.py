"""The WSGI application of the benchmarks of threads: pages that are fast, wait, compute, take and give."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent))  # mod_wsgi imports this file alone

from threads_work import work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from wsgiref.types import StartResponse, WSGIEnvironment

SLOW_S = 0.010
LARGE_BYTES = 10_000_000
PIECE_BYTES = 1 << 16
CHUNK_BYTES = 1 << 16
"""Of an upload, at once."""

# The block's length is prime, so that no piece is like another one.
LARGE = (bytes(i * i % 251 for i in range(65_521)) * 153)[:LARGE_BYTES]


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answers `/PAGE` and `/PAGE/ARGUMENT`."""
    page, _, argument = environ["PATH_INFO"][1:].partition("/")
    answer = PAGES.get(page)
    if answer is None:
        start_response("404 Not Found", [("Content-Type", "text/plain"), ("Content-Length", "0")])
        return []
    length, body = answer(environ, argument)
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(length))])
    return body


def whole(body: bytes) -> tuple[int, Iterable[bytes]]:
    """Returns an answer of one piece."""
    return len(body), [body]


def hello(_environ: WSGIEnvironment, _argument: str) -> tuple[int, Iterable[bytes]]:
    """The fast page."""
    return whole(b"Hello World!")


def slow(_environ: WSGIEnvironment, _argument: str) -> tuple[int, Iterable[bytes]]:
    """Waits as for a database, without computing."""
    time.sleep(SLOW_S)
    return whole(b"slow")


def compute(_environ: WSGIEnvironment, argument: str) -> tuple[int, Iterable[bytes]]:
    """Computes so many steps in pure Python."""
    return whole(b"%d" % work(int(argument)))


def upload(environ: WSGIEnvironment, _argument: str) -> tuple[int, Iterable[bytes]]:
    """Reads a body and says how many bytes of it were an x."""
    count = 0
    while data := environ["wsgi.input"].read(CHUNK_BYTES):
        count += data.count(b"x")
    return whole(b"%d" % count)


def large(_environ: WSGIEnvironment, _argument: str) -> tuple[int, Iterable[bytes]]:
    """Many bytes in one object, the same for everybody."""
    return whole(LARGE)


def pieces(_environ: WSGIEnvironment, _argument: str) -> tuple[int, Iterable[bytes]]:
    """The same bytes, made piece by piece."""
    return LARGE_BYTES, (LARGE[at : at + PIECE_BYTES] for at in range(0, LARGE_BYTES, PIECE_BYTES))


PAGES: dict[str, Callable[[WSGIEnvironment, str], tuple[int, Iterable[bytes]]]] = {
    "hello": hello,
    "slow": slow,
    "compute": compute,
    "upload": upload,
    "large": large,
    "pieces": pieces,
}
