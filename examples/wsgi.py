"""A pure WSGI application (PEP 3333): `adyton serve examples/wsgi.py`."""

from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIEnvironment


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answer every request with the path that was asked for."""
    body = f"You asked for {environ['PATH_INFO']}\n".encode("latin-1")
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]
