"""The application of the scenario `uploads`: it reads a body at once, in pieces, by lines, or not at all.

A chunked body is read in pieces until its end.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from wsgiref.types import InputStream, StartResponse, WSGIEnvironment

PIECE_BYTES = 65536


def whole(body: InputStream, length: int) -> bytes:
    """Reads all of the body at once."""
    return b"%d bytes\n" % len(body.read(length))


def pieces(body: InputStream, length: int) -> bytes:
    """Reads pieces of the body, and keeps none."""
    left = length
    while left and (piece := body.read(min(left, PIECE_BYTES))):
        left -= len(piece)
    return b"%d bytes\n" % (length - left)


def lines(body: InputStream, length: int) -> bytes:
    """Reads line by line, and keeps none."""
    number = size = 0
    while size < length and (line := body.readline()):
        number += 1
        size += len(line)
    return b"%d lines, %d bytes\n" % (number, size)


def unread(_body: InputStream, _length: int) -> bytes:
    """Reads nothing."""
    return b"nothing\n"


WAYS: dict[str, Callable[[InputStream, int], bytes]] = {
    "/whole": whole,
    "/pieces": pieces,
    "/lines": lines,
    "/unread": unread,
    "/chunked": pieces,
}


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answers for WSGI."""
    # For a chunked body, the server sets CONTENT_LENGTH, or lets the application read to the end of the body.
    unknown = sys.maxsize if environ.get("wsgi.input_terminated") else 0
    length = int(environ.get("CONTENT_LENGTH") or unknown)
    body = WAYS[environ["PATH_INFO"]](environ["wsgi.input"], length)
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]
