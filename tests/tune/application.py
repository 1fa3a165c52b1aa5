"""An application that waits, as most do, and that cannot be loaded if BROKEN is set."""

from __future__ import annotations

import itertools
import os
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

if os.environ.get("BROKEN"):
    raise LookupError("the database is not there")


def compute() -> None:
    """Compute for ever, and so keep the interpreter for as long as the interpreter allows."""
    while True:
        sum(range(1000))


FORGOTTEN = threading.Thread(target=compute, name="forgotten", daemon=True)


SERVED = itertools.count(1)
LAST = 60


def dies(environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
    """Answer, and end the process after some requests."""
    if next(SERVED) > LAST:
        os._exit(3)
    return waits(environ, start_response)


def waits(_environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
    """Wait a while, and answer."""
    time.sleep(0.02)
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "12")])
    return [b"Hello World!"]


def beside_a_thread(_environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
    """Answer while another thread computes all the time, as a forgotten thread does."""
    if not FORGOTTEN.is_alive():
        FORGOTTEN.start()
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "12")])
    return [b"Hello World!"]
