"""The application that hostile clients attack: it reads, streams and counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from wsgiref.types import StartResponse, WSGIEnvironment


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Send this many pieces, leave the body unread, or echo it."""
    start_response("200 OK", [("Content-Type", "application/octet-stream")])
    if environ["PATH_INFO"] == "/pour":
        return (b"x" * 65536 for _ in range(int(environ["QUERY_STRING"])))
    if environ["PATH_INFO"] == "/unread":
        return [b"unread"]
    return [environ["wsgi.input"].read()]
