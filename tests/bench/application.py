"""The application that is measured: the path chooses the kind of the answer."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from wsgiref.types import StartResponse, WSGIEnvironment

_numbers = itertools.count(10_000_000_000)


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answer with twelve bytes, unless the path asks for another answer."""
    path = environ["PATH_INFO"]
    body, status = b"Hello World!", "200 OK"
    if path == "/sleep":
        time.sleep(0.02)
    elif path == "/uneven":
        time.sleep((next(_numbers) % 10 + 1) * 0.005)
    elif path == "/number":
        body = b"%d\n" % next(_numbers)
    elif path.startswith("/say/"):
        body = path.removeprefix("/say/").encode()
    elif path == "/fields":
        body = f"X-Two: {environ.get('HTTP_X_TWO')}\nCookie: {environ.get('HTTP_COOKIE')}\n".encode()
    elif path.startswith("/status/"):
        status = f"{path.removeprefix('/status/')} As asked"
    start_response(status, [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]
