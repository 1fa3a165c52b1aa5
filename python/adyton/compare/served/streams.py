"""The application of the scenario `streams`: bodies in pieces, and a file by the server's wrapper."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from wsgiref.types import StartResponse, WSGIEnvironment

FILE = Path(__file__).resolve().parent.parent / "files" / "static" / "stream.bin"
PIECE = b"0123456789abcde\n" * 1024
"""16 KiB."""
PIECES = 64
"""Pieces of a stream, which make 1 MB (1 MiB)."""
SMALL = b"%099d\n"
SMALL_PIECES = 1000
EVENT = b"id: %d\ndata: The string is tuned.\n\n"
EVENTS = 10
EVENT_S = 0.005
"""Time that the application waits before each event."""


def large() -> Iterator[bytes]:
    """Yields a megabyte."""
    for _ in range(PIECES):
        yield PIECE


def small() -> Iterator[bytes]:
    """Yields a thousand pieces of 100 bytes."""
    for number in range(SMALL_PIECES):
        yield SMALL % number


def events() -> Iterator[bytes]:
    """Yields events, and waits before each."""
    for number in range(EVENTS):
        time.sleep(EVENT_S)
        yield EVENT % number


STREAMS: dict[str, tuple[Callable[[], Iterator[bytes]], str, int | None]] = {
    "/length": (large, "application/octet-stream", PIECES * len(PIECE)),
    "/large": (large, "application/octet-stream", None),
    "/small": (small, "text/plain", None),
    "/events": (events, "text/event-stream", None),
}
"""Functions that yield bodies, by path, each with its media type and the length in the head, if any."""


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answers for WSGI."""
    if environ["PATH_INFO"] == "/file":
        return file(environ, start_response)
    stream, kind, length = STREAMS[environ["PATH_INFO"]]
    fields = [("Content-Type", kind)]
    if length is not None:
        fields.append(("Content-Length", str(length)))
    start_response("200 OK", fields)
    return stream()


def file(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answers with a file of a megabyte, by the wrapper of a server that has one."""
    fields = [("Content-Type", "application/octet-stream"), ("Content-Length", str(FILE.stat().st_size))]
    start_response("200 OK", fields)
    opened = FILE.open("rb")
    if "wsgi.file_wrapper" in environ:
        wrapped: Iterable[bytes] = environ["wsgi.file_wrapper"](opened, len(PIECE))
        return wrapped
    return iter(lambda: opened.read(len(PIECE)), b"")
