"""What every peer serves: twelve bytes, from WSGI, a plain handler, mod_python and CGI."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

BODY = b"Hello World!"


def application(_environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
    """Answers every request alike."""
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(BODY)))])
    return [BODY]


def page(_request: object) -> bytes:
    """The same for Adyton's plain handlers."""
    return BODY


def handler(request: Any) -> int:  # noqa: ANN401 - mod_python's, which has no types
    """The same for mod_python."""
    request.content_type = "text/plain"
    request.set_content_length(len(BODY))
    request.write(BODY.decode())
    return 0


if __name__ == "__main__":
    sys.stdout.write(f"Content-Type: text/plain\r\nContent-Length: {len(BODY)}\r\n\r\n{BODY.decode()}")
