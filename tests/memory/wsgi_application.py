"""A WSGI application with one path per way to answer; it also keeps objects that it should not keep."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from wsgiref.types import StartResponse, WSGIEnvironment

PLAIN = [("Content-Type", "text/plain")]
LARGE = bytes(range(256)) * 8192
"""2 MiB: more than a socket takes at once, so that the object itself is sent, and no copy."""
kept: list[Any] = []
"""Objects of earlier requests."""


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answer in the way that the path names."""
    way = globals()["answer_" + environ["PATH_INFO"].strip("/").replace("-", "_")]
    return way(environ, start_response)


def answer_list(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answer with two items and the whole environ."""
    start_response("200 OK", [*PLAIN, ("Set-Cookie", "a=b"), ("X-Latin", "\xe9")])
    return [repr(sorted(environ)).encode(), b"."]


def answer_large(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answer with bytes to which nothing else refers, so that they are freed once they have been sent."""
    del environ
    start_response("200 OK", PLAIN)
    return [LARGE + b"."]


def answer_generator(environ: WSGIEnvironment, start_response: StartResponse) -> Iterator[bytes]:
    """Answer with small and large items, none of which lives longer than its turn."""
    del environ
    start_response("200 OK", PLAIN)
    for size in (1, 100_000, 0, 3, 50_000):
        yield b"x" * size


def answer_write(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answer through the callable, and keep it."""
    del environ
    write = start_response("200 OK", PLAIN)
    kept.append(write)
    for size in (1, 100_000, 2):
        write(b"w" * size)
    return [b"the end"]


def answer_file(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answer with a file that the kernel sends."""
    start_response("200 OK", PLAIN)
    file = Path("large.bin").open("rb")  # noqa: SIM115 - the server closes it
    wrapped: Iterable[bytes] = environ["wsgi.file_wrapper"](file)
    return wrapped


def answer_blocks(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answer with a file object that has no descriptor."""
    start_response("200 OK", PLAIN)
    wrapped: Iterable[bytes] = environ["wsgi.file_wrapper"](io.BytesIO(LARGE[:100_000]))
    return wrapped


def answer_upload(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Read the body in all ways, and tell its length."""
    body = environ["wsgi.input"]
    pieces = [body.read(10), body.readline(), *body.readlines(100), next(body, b""), *body]
    pieces += [body.read(), body.read(5)]
    start_response("200 OK", PLAIN)
    return [str(sum(map(len, pieces))).encode()]


def answer_unread(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Leave the body unread, and keep it."""
    kept.append(environ["wsgi.input"].read)
    kept.append(start_response)
    start_response("200 OK", PLAIN)
    return []


def answer_kept(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Use the kept objects of earlier requests, and forget them."""
    del environ
    told = []
    for thing in kept:
        for arguments in ((), (b"late",), ("200 OK", [])):
            try:
                told.append(repr(thing(*arguments)))
            except Exception as error:  # noqa: BLE001 - each refusal is an answer here
                told.append(str(error))
    kept.clear()
    start_response("200 OK", PLAIN)
    return ["\n".join(told).encode()]


def answer_failure(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Fail before the response has started."""
    del start_response
    raise ValueError(environ["PATH_INFO"])


def answer_late_failure(environ: WSGIEnvironment, start_response: StartResponse) -> Iterator[bytes]:
    """Fail in the middle."""
    start_response("200 OK", PLAIN)
    yield b"x" * 100_000
    raise ValueError(environ["PATH_INFO"])


def answer_nonsense(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answer with values that cannot be sent."""
    del environ
    start_response("200 OK", [("X-Bad", "a\r\nb")])
    return ["text"]  # type: ignore[list-item]
