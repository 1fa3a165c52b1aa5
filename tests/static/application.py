"""Answers requests that are not for static files."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from wsgiref.types import StartResponse, WSGIEnvironment


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answer with the method and the path."""
    start_response("200 OK", [("Content-Type", "text/plain; charset=utf-8")])
    paths = f"{environ['REQUEST_METHOD']} {environ['SCRIPT_NAME']}|{environ['PATH_INFO']}"
    return [b"application: ", paths.encode("latin-1")]
