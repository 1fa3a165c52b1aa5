"""An application that says which it is, and what it was asked."""

from __future__ import annotations

import os
from typing import Any

VERSION = "1"


def application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    """Answer with the module, its version, the process and the path."""
    body = f"{__name__} {VERSION} {os.getpid()} {environ['PATH_INFO']}"
    headers = [("Content-Type", "text/plain"), ("X-Powered-By", "us"), ("Cache-Control", "no-store")]
    start_response("200 OK", headers)
    length = len(environ["wsgi.input"].read())
    return [f"{body} {length}".encode()]


def handler(request: Any) -> str:
    """Answer with the module and the path."""
    return f"{__name__} handles {request.path}"
