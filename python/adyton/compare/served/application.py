"""Pages for WSGI, ASGI, a plain handler and mod_python alike: quick ones, slow ones, and files."""

from __future__ import annotations

import sqlite3
import threading
import time
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from wsgiref.types import StartResponse, WSGIEnvironment

    from adyton import Response

HERE = Path(__file__).resolve().parent
FILES = HERE.parent / "files" / "static"
BODY = b"Hello World!"
QUERY = "SELECT number, name, price, text FROM articles ORDER BY number"
WAITS_S = {"/wait": 0.1, "/pause": 0.01}
"""Times for which pages wait, as if for another server or a database."""
SHORT = b"Not all of the body has come.\n"
"""Answer to an upload that is cut short."""
COMPUTE_TURNS = 60_000
"""Turns of the loop in the page that computes: some milliseconds."""
COMPUTED = sum(number * number % 7 for number in range(COMPUTE_TURNS))
PART_BYTES = 65536
"""A file is sent in parts of this size if the server has no wrapper for files."""

own = threading.local()


def connection() -> sqlite3.Connection:
    """Returns the thread's connection to the database, which stays open from one request to the next."""
    if not hasattr(own, "connection"):
        own.connection = sqlite3.connect(f"file:{HERE / 'articles.db'}?mode=ro", uri=True)
    kept: sqlite3.Connection = own.connection
    return kept


def rendered(articles: Iterable[tuple[int, str, int, str]]) -> bytes:
    """Returns the page of these articles; page.php makes the same page."""
    rows = "".join(
        f"<tr><td>{number}</td><td>{escape(name)}</td><td>{price}</td><td>{escape(text)}</td></tr>\n"
        for number, name, price, text in articles
    )
    return f"<!DOCTYPE html>\n<title>Articles</title>\n<table>\n{rows}</table>\n".encode()


def computed() -> bytes:
    """Returns a text that takes some milliseconds to compute."""
    return b"%d\n" % sum(number * number % 7 for number in range(COMPUTE_TURNS))


def wait(path: str) -> None:
    """Waits if the page at this path waits."""
    if path in WAITS_S:
        time.sleep(WAITS_S[path])


def body_of(path: str, sent: bytes = b"", length: str | None = None) -> bytes:
    """Returns the body of a page that is no file; ``sent`` is the part of the upload that has come."""
    if path == "/upload" and len(sent) != int(length or 0):
        return SHORT
    if path == "/page":
        return rendered(connection().execute(QUERY))
    if path == "/compute":
        return computed()
    return BODY


def file_of(path: str) -> Path | None:
    """Returns the file that Python sends at this path; None if the page is not a file."""
    return FILES / path.rpartition("/")[2] if path.startswith("/files/") else None


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answers for WSGI."""
    path = environ["PATH_INFO"]
    file = file_of(path)
    if file:
        start_response(
            "200 OK", [("Content-Type", "image/jpeg"), ("Content-Length", str(file.stat().st_size))]
        )
        opened = file.open("rb")
        if "wsgi.file_wrapper" in environ:
            wrapped: Iterable[bytes] = environ["wsgi.file_wrapper"](opened, PART_BYTES)
            return wrapped
        return iter(lambda: opened.read(PART_BYTES), b"")
    wait(path)
    length = environ.get("CONTENT_LENGTH") or "0"
    body = body_of(path, environ["wsgi.input"].read(int(length)), length)
    start_response("200 OK", [("Content-Type", "text/html"), ("Content-Length", str(len(body)))])
    return [body]


def page(request: Any) -> bytes | Response:  # noqa: ANN401 - other servers run without Adyton
    """Answers for a plain handler of Adyton's."""
    file = file_of(request.path)
    if file:
        from adyton import Response  # noqa: PLC0415 - other servers run without Adyton

        return Response.file(file)
    wait(request.path)
    return body_of(request.path, request.body, request.headers.get("content-length"))


def handler(request: Any) -> int:  # noqa: ANN401 - mod_python has no types
    """Answers for mod_python."""
    file = file_of(request.uri)
    if file:
        request.content_type = "image/jpeg"
        request.set_content_length(file.stat().st_size)
        request.sendfile(str(file))
        return 0
    wait(request.uri)
    body = body_of(request.uri, request.read(), request.headers_in.get("Content-Length"))
    request.content_type = "text/html"
    request.set_content_length(len(body))
    request.write(body)
    return 0


async def waited(path: str) -> None:
    """Waits if the page at this path waits; other requests have the thread meanwhile."""
    if path in WAITS_S:
        import asyncio  # noqa: PLC0415 - only servers with an event loop need it

        await asyncio.sleep(WAITS_S[path])


async def received(receive: Callable[[], Awaitable[dict[str, Any]]]) -> bytes:
    """Returns the body of a request."""
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    return body


async def asgi(
    scope: dict[str, Any],
    receive: Callable[[], Awaitable[dict[str, Any]]],
    send: Callable[[Any], Awaitable[None]],
) -> None:
    """Answers for ASGI."""
    path = scope["path"]
    file = file_of(path)
    await waited(path)
    length = dict(scope["headers"]).get(b"content-length", b"0").decode()
    sent = await received(receive) if path == "/upload" else b""
    body = b"" if file else body_of(path, sent, length)
    kind, size = (b"image/jpeg", file.stat().st_size) if file else (b"text/html", len(body))
    headers = [(b"content-type", kind), (b"content-length", b"%d" % size)]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    if file:
        with file.open("rb") as opened:
            while part := opened.read(PART_BYTES):
                await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": body})


async def rsgi(scope: Any, protocol: Any) -> None:  # noqa: ANN401 - granian may not be installed
    """Answers for RSGI."""
    file = file_of(scope.path)
    if file:
        headers = [("content-type", "image/jpeg"), ("content-length", str(file.stat().st_size))]
        protocol.response_file(200, headers, str(file))
        return
    await waited(scope.path)
    sent = await protocol() if scope.path == "/upload" else b""
    body = body_of(scope.path, sent, scope.headers.get("content-length"))
    protocol.response_bytes(200, [("content-type", "text/html")], body)
