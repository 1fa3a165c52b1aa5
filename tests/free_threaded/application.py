"""Applications that tell whether the interpreter's lock (GIL) is on while they are served."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from wsgiref.types import StartResponse, WSGIEnvironment

    import adyton


def lock() -> str:
    """Return whether the lock is on; before 3.13 every interpreter had it."""
    enabled: bool = getattr(sys, "_is_gil_enabled", lambda: True)()
    return "on" if enabled else "off"


def application(_environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answer as a WSGI application."""
    start_response("200 OK", [("Content-Type", "text/plain; charset=utf-8")])
    return [lock().encode()]


def handler(_request: adyton.Request) -> str:
    """Answer as a handler."""
    return lock()
