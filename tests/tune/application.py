"""An application that waits for others, as most do, and one that cannot be loaded."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

if os.environ.get("BROKEN"):
    raise LookupError("the database is not there")


def waits(_environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
    """Wait a while, and answer."""
    time.sleep(0.02)
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "12")])
    return [b"Hello World!"]
