"""A WSGI application that waits for 5 ms, so that its requests go through the queue."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from wsgiref.types import StartResponse, WSGIEnvironment


def application(_environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Wait, and answer."""
    time.sleep(0.005)
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "12")])
    return [b"Hello World!"]
