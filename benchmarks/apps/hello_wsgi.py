"""The WSGI application of the benchmarks: 12 bytes and three headers, like PEP 3333's own example."""

from wsgiref.types import StartResponse, WSGIEnvironment


def application(_environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
    """Answers every request alike; the list of headers is new each time because a server may change it."""
    headers = [("Content-Type", "text/plain"), ("Content-Length", "12"), ("Cache-Control", "no-cache")]
    start_response("200 OK", headers)
    return [b"Hello World!"]
