"""A WSGI application whose answers come in pieces: the path says how many pieces, and of how many bytes.

The path is `/PIECES/BYTES`. With a query the answer has a Content-Length; else it has none.
"""

from collections.abc import Iterator
from functools import cache
from wsgiref.types import StartResponse, WSGIEnvironment


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterator[bytes]:
    """Answer with a generator."""
    _, count, size = environ["PATH_INFO"].split("/")
    fields = [("Content-Type", "text/plain")]
    if environ["QUERY_STRING"]:
        fields.append(("Content-Length", str(int(count) * int(size))))
    start_response("200 OK", fields)
    return pieces(int(count), piece_of(int(size)))


@cache
def piece_of(size: int) -> bytes:
    """Make a piece, only once, so that its cost does not count as the server's."""
    return b"x" * size


def pieces(count: int, piece: bytes) -> Iterator[bytes]:
    """Yield the piece `count` times."""
    for _ in range(count):
        yield piece
