"""The plain handler of the benchmarks: the same 12 bytes, without WSGI in between."""

from adyton import Request


def handler(_request: Request) -> str:
    """Answers every request alike; a `str` is sent as HTML."""
    return "Hello World!"
