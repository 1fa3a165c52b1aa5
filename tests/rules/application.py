"""Reports every request that reaches the application: the rules also say which requests must not reach it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from wsgiref.types import StartResponse, WSGIEnvironment

seen: list[str] = []
"""Methods and raw targets of all requests since the last request for `/seen`."""


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answer with a description of the request, or do what the path asks for."""
    path = environ["PATH_INFO"]
    if path == "/seen":
        said = json.dumps(seen)
        seen.clear()
        return _answer(start_response, said)
    seen.append(f"{environ['REQUEST_METHOD']} {environ['REQUEST_URI']}")
    if path == "/unread":
        return _answer(start_response, json.dumps({"path": path}))
    if path == "/first":
        # The answer begins before any of the body is read.
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
