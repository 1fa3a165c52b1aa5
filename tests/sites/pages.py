"""An application whose answers differ in all facts that decide whether an answer is compressed."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LINES = "".join(f"<li>line {number} of {number * number}</li>\n" for number in range(250)).encode()
"""HTML of some 7 KB."""

ASKED_FOR_MORE = threading.Event()

HTML = ("Content-Type", "text/html; charset=utf-8")
TAGGED = ("ETag", '"one"')

FIELDS: dict[str, list[tuple[str, str]]] = {
    "/page": [HTML, TAGGED],
    "/cookie": [HTML, ("Set-Cookie", "a=b")],
    "/coded": [HTML, ("Content-Encoding", "deflate")],
    "/fixed": [HTML, ("Cache-Control", "no-transform")],
    "/part": [HTML, ("Content-Range", "bytes 0-9/10")],
    "/picture": [("Content-Type", "image/png")],
    "/untyped": [],
    "/varies": [HTML, ("Vary", "Cookie")],
}


def stream(*, waits: bool) -> Iterator[bytes]:
    """Yield pieces; the second only after another request has asked for it."""
    yield b"first\n"
    if waits:
        ASKED_FOR_MORE.wait(30)
    yield LINES
    yield b""
    yield b"last\n"


def large() -> Iterator[bytes]:
    """Yield some 20 MB that compress well."""
    for _ in range(2800):
        yield LINES


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Answer by the path."""
    path = environ["PATH_INFO"]
    status = "206 Partial Content" if path == "/part" else "200 OK"
    if path in FIELDS:
        is_known = '"one"' in environ.get("HTTP_IF_NONE_MATCH", "")
        start_response("304 Not Modified" if is_known else status, [TAGGED] if is_known else FIELDS[path])
        return [] if is_known else [LINES]
    if path == "/more":
        ASKED_FOR_MORE.set()
    promised = {"/promise": len(LINES) + 11, "/broken": len(LINES) + 12, "/small": 5, "/more": 5}.get(path)
    fields = [HTML] if promised is None else [HTML, ("Content-Length", str(promised))]
    if path == "/file":
        start_response("200 OK", fields)
        return environ["wsgi.file_wrapper"](Path(__file__).open("rb"))  # type: ignore[no-any-return]
    write = start_response("200 OK", fields)
    if path == "/write":
        write(b"first\n")
        ASKED_FOR_MORE.wait(30)
        return [LINES]
    if path == "/pieces":
        return [LINES[at : at + 100] for at in range(0, len(LINES), 100)]
    if promised == 5:
        return [b"small"]
    return large() if path == "/large" else stream(waits=path == "/stream")


def handler(request: Any) -> str:
    """Answer with the lines of the other application."""
    return LINES.decode() if request.path else ""
