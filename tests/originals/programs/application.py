#!/usr/bin/python3
"""A small WSGI application, run by `wsgiref.handlers.CGIHandler`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING
from wsgiref.handlers import CGIHandler
from wsgiref.util import application_uri, request_uri

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from wsgiref.types import StartResponse, WSGIEnvironment

PLAIN = ("Content-Type", "text/plain; charset=utf-8")

NAMES = (
    *("REQUEST_METHOD", "SCRIPT_NAME", "PATH_INFO", "QUERY_STRING", "CONTENT_TYPE", "CONTENT_LENGTH"),
    *("wsgi.url_scheme", "wsgi.multithread", "wsgi.multiprocess", "wsgi.run_once"),
)


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answer as the rest of the path says."""
    wanted = environ.get("PATH_INFO", "")
    match wanted:
        case "":
            start_response("200 OK", [PLAIN])
            return [b"one piece\n"]
        case "/pieces" | "/breaks":
            start_response("200 OK", [PLAIN])
            return pieces(breaks=wanted == "/breaks")
        case "/writes":
            write = start_response("200 OK", [PLAIN, ("Content-Length", "12")])
            write(b"written ")
            return [b"and\n"]
        case "/echo":
            body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            start_response("200 OK", [("Content-Type", environ.get("CONTENT_TYPE") or "a/b")])
            return [body]
        case "/environ":
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            start_response("200 OK", [PLAIN])
            said = [f"{name}={environ.get(name) or ''}\n" for name in NAMES]
            return ["".join([*said, application_uri(environ), "\n", request_uri(environ), "\n"]).encode()]
        case "/elsewhere":
            start_response(
                "303 See Other", [("Location", request_uri(environ, include_query=False) + "/b"), PLAIN]
            )
            return [b"elsewhere\n"]
        case "/nothing":
            start_response("204 No Content", [("X-Kept", "1")])
            return []
        case "/unchanged":
            start_response("304 Not Modified", [("ETag", '"a"')])
            return []
        case "/fails":
            raise RuntimeError(wanted)
        case "/changes":
            start_response("200 OK", [PLAIN])
            return changes(start_response)
        case _:
            start_response("404 Nothing Of That Name", [PLAIN, ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")])
            return [wanted.encode("latin-1"), b"\n"]


def pieces(*, breaks: bool) -> Iterator[bytes]:
    """Yield a body of no known length, which may end too early."""
    for number in range(100):
        if breaks and number == 50:
            raise RuntimeError(number)
        yield b"%d\n" % number * 100


def changes(start_response: StartResponse) -> Iterator[bytes]:
    """Make the answer an error before the first piece."""
    try:
        raise LookupError
    except LookupError:
        start_response("503 Later", [PLAIN, ("Retry-After", "9")], sys.exc_info())
    yield b"later\n"


CGIHandler().run(application)
