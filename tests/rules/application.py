"""Tells what reached the application: the rules are about what must not, too."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from wsgiref.types import StartResponse, WSGIEnvironment

seen: list[str] = []
"""Methods and raw targets of all requests since `/seen` was last asked."""


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answer with what was asked, or do what the path says."""
    path = environ["PATH_INFO"]
    if path == "/seen":
        said = json.dumps(seen)
        seen.clear()
        return _answer(start_response, said)
    seen.append(f"{environ['REQUEST_METHOD']} {environ['REQUEST_URI']}")
    if path == "/unread":
        return _answer(start_response, json.dumps({"path": path}))
    if path == "/first":
        # The answer is on its way before anything was read.
        return _read_after(environ, start_response)
    body = environ["wsgi.input"].read()
    return _answer(start_response, json.dumps(_told(environ, body)))


def _told(environ: WSGIEnvironment, body: bytes) -> dict[str, object]:
    return {
        "method": environ["REQUEST_METHOD"],
        "path": environ["PATH_INFO"],
        "query": environ["QUERY_STRING"],
        "target": environ["REQUEST_URI"],
        "protocol": environ["SERVER_PROTOCOL"],
        "host": environ.get("HTTP_HOST"),
        "length": environ.get("CONTENT_LENGTH"),
        "fields": {name: value for name, value in environ.items() if name.startswith("HTTP_")},
        "body": body.decode("latin-1"),
    }


def _answer(start_response: StartResponse, said: str) -> Iterable[bytes]:
    body = said.encode()
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
    return [body]


def _read_after(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    start_response("200 OK", [("Content-Type", "text/plain; charset=utf-8")])
    yield b"started\n"
    yield b"%d\n" % len(environ["wsgi.input"].read())
