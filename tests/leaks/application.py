"""Applications of several kinds that report how many objects the interpreter holds."""

from __future__ import annotations

import gc
import json
import sys
from typing import TYPE_CHECKING

import adyton

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from wsgiref.types import StartResponse, WSGIEnvironment

PLAIN = [("Content-Type", "text/plain"), ("X-A", "b"), ("Cache-Control", "no-store")]


class Failing:
    """An iterable that fails after its first item."""

    def __iter__(self) -> Iterator[bytes]:
        """Yield once, then raise."""
        yield b"first"
        raise RuntimeError("expected")


def counts() -> bytes:
    """Return the numbers of objects and of blocks of memory, as JSON."""
    gc.collect()
    gc.collect()
    return json.dumps({"objects": len(gc.get_objects()), "blocks": sys.getallocatedblocks()}).encode()


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answer in the way that the path says."""
    path = environ["PATH_INFO"]
    if path == "/raise":
        raise RuntimeError("expected")
    if path == "/none":
        return None  # type: ignore[return-value]
    write = start_response("200 OK", PLAIN)
    if path == "/counts":
        return [counts()]
    if path == "/list":
        return [b"one", b"two", b"three"]
    if path == "/generator":
        return (item for item in (b"one", b"two"))
    if path == "/read":
        return [environ["wsgi.input"].read()]
    if path == "/lines":
        return list(environ["wsgi.input"])
    if path == "/write":
        write(b"written")
        return []
    if path == "/file":
        return environ["wsgi.file_wrapper"](open(__file__, "rb"))  # type: ignore[no-any-return] # noqa: PTH123
    if path == "/failing":
        return Failing()
    return [b"Hello World!"]


def handler(request: adyton.Request) -> object:
    """Answer in the way that the path says."""
    path = request.path
    if path == "/counts":
        return counts()
    if path == "/all":
        told = [request.method, request.target, request.query_string, request.text, request.host]
        told += [str(request.remote_port), request.remote, request.scheme, request.version]
        told += [*request.headers, *request.query, *request.cookies]
        return adyton.Response.json(told)
    if path == "/cookie":
        response = adyton.Response("cookie", headers={"X-A": "b"})
        response.set_cookie("a", "1")
        return response
    if path == "/abort":
        adyton.abort(404, "nothing here")
    if path == "/wrong":
        return 5
    if path == "/raise":
        raise RuntimeError("expected")
    if path == "/stream":
        return iter([b"one", b"two"])
    if path == "/file":
        return adyton.Response.file(__file__)
    return "Hello World!"
