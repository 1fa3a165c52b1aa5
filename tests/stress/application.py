"""The application of the stress test: all paths of `threads.application`, paths that fail, and counts."""

from __future__ import annotations

import gc
import sys
import threading
from typing import TYPE_CHECKING

from threads import application as threads

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from wsgiref.types import StartResponse, WSGIEnvironment

lock = threads.lock
counts = {"calls": 0, "opened": 0, "closed": 0}


class Tracked:
    """An iterable whose beginning and end are counted; it fails as it was told to."""

    def __init__(self, items: Iterable[bytes], fails: str = "") -> None:
        """Iterate over `items`; fail `midway` or in `close`."""
        self._items = iter(items)
        self._fails = fails
        count("opened")

    def __iter__(self) -> Iterator[bytes]:
        """Return the iterator."""
        return self

    def __next__(self) -> bytes:
        """Return the next item."""
        try:
            return next(self._items)
        except StopIteration:
            if self._fails == "midway":
                raise RuntimeError("expected midway") from None
            raise

    def close(self) -> None:
        """Count the end."""
        count("closed")
        if self._fails == "close":
            raise RuntimeError("expected in close")


def count(name: str) -> None:
    """Count one more."""
    with lock:
        counts[name] += 1


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Count the call, and answer."""
    count("calls")
    return threads.application(environ, start_response)


@threads.add("stream")
def stream(environ: WSGIEnvironment, start_response: StartResponse, query: threads.Query) -> Iterable[bytes]:
    """Stream the number of items that the query names, slowly if the query says so."""
    del environ
    size, seed, items = (int(query[name]) for name in ("size", "seed", "items"))

    def parts() -> Iterator[bytes]:
        for number in range(items):
            yield threads.pattern(size, seed + number)
            threads.linger(query)

    start_response("200 OK", [threads.BYTES])
    return Tracked(parts())


@threads.add("fail")
def fail(environ: WSGIEnvironment, start_response: StartResponse, query: threads.Query) -> Iterable[bytes]:
    """Fail in the way that the query says."""
    del environ
    threads.linger(query)
    if query["how"] == "call":
        raise RuntimeError("expected in the call")
    start_response("200 OK", [threads.BYTES])
    if query["how"] == "started":
        raise RuntimeError("expected after start_response")
    return Tracked([b"some"], query["how"])


@threads.add("state")
def state(environ: WSGIEnvironment, start_response: StartResponse, query: threads.Query) -> Iterable[bytes]:
    """Tell the counts, and what the interpreter holds."""
    del environ, query
    threads.notes.clear()
    threads.inside.take()  # threads come and go, and `inside` keeps each name
    gc.collect()
    gc.collect()
    told = {
        **counts,
        "inside": threads.inside.now,
        "threads": threading.active_count(),
        "objects": len(gc.get_objects()),
        "blocks": sys.getallocatedblocks(),
    }
    return threads.say(start_response, told)
