"""A WSGI application whose answer is a page of 7 KiB, to be compared with static files of that length."""

from wsgiref.types import StartResponse, WSGIEnvironment

PAGE = b"x" * 7 * 1024


def application(_environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
    """Answers every request alike, without fields for caches."""
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(PAGE)))])
    return [PAGE]
