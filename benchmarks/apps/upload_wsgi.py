"""A WSGI application that reads a body in pieces of 64 KiB, and says how many bytes came."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from wsgiref.types import StartResponse, WSGIEnvironment

PIECE_BYTES = 65_536


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answer with the number of bytes."""
    read, size = environ["wsgi.input"].read, 0
    while piece := read(PIECE_BYTES):
        size += len(piece)
    body = b"%d\n" % size
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]
