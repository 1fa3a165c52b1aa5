"""Applications that answer with their own name, and with facts of the request."""

from __future__ import annotations

import json
import os
from typing import Any
from urllib.parse import unquote

import adyton

VERSION = "1"


def application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    """Answer with the module, its version, the process and the path."""
    body = f"{__name__} {VERSION} {os.getpid()} {environ['PATH_INFO']}"
    headers = [("Content-Type", "text/plain"), ("X-Powered-By", "us"), ("Cache-Control", "no-store")]
    start_response("200 OK", headers)
    length = len(environ["wsgi.input"].read())
    return [f"{body} {length}".encode()]


def handler(request: Any) -> str:
    """Answer with the module and the path."""
    return f"{__name__} handles {request.path}"


def user(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    """Answer with the user, the scheme that proved it, and the credentials, which must be hidden."""
    environ["wsgi.input"].read()
    told = [environ.get(key) for key in ("REMOTE_USER", "AUTH_TYPE", "HTTP_AUTHORIZATION")]
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [" ".join(map(str, told)).encode()]


def hosts(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    """Answer with the module, and the host in the request."""
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [f"{__name__} {environ['HTTP_HOST']}".encode()]


def who(request: Any) -> str:
    """Answer with the user, and whether the handler can see the password."""
    return f"{request.user} {'Authorization' in request.headers}"


def mounted(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    """Answer with the path at which the application is mounted, and the path behind it."""
    start_response("200 OK", [("Content-Type", "text/plain")])
    if "fail" in environ["PATH_INFO"]:
        raise RuntimeError
    return [f"{environ['SCRIPT_NAME']}|{environ['PATH_INFO']}|{environ['REQUEST_URI']}".encode()]


def errors(environ: dict[str, Any], start_response: Any) -> Any:
    """Answer with the status at the end of the path, in the way that the start of the path names."""
    _, way, status = environ["PATH_INFO"].rsplit("/", 2)
    fields = [("Content-Type", "text/plain"), ("Set-Cookie", "a=b"), ("ETag", '"a"'), ("Retry-After", "7")]
    pieces = [b"the application ", b"says " + status.encode()]
    if way == "long":
        fields.append(("Content-Length", str(sum(map(len, pieces)))))
    write = start_response(f"{status} Its Words", fields)
    if way == "write":
        write(b"".join(pieces))
        return []
    if way == "list":
        return pieces
    return iter(pieces)


def errors_handler(request: Any) -> Any:
    """Answer with 503, and a text."""
    return adyton.Response(f"the handler says 503 about {request.path}", status=503)


def sends(environ: dict[str, Any], start_response: Any) -> Any:
    """Send the request on with the field in its query: `FIELD=VALUE`, perhaps after words that say how."""
    environ["wsgi.input"].read()
    how, _, what = environ["QUERY_STRING"].partition("&")
    name, _, value = what.partition("=")
    value = unquote(value, encoding="latin-1")
    fields = [("Content-Type", "application/x-sent"), ("Set-Cookie", "a=b"), ("ETag", '"mine"')]
    status = "302 Found" if how == "found" else "200 OK"
    if how == "long":
        fields.append(("Content-Length", "9"))
    if how == "disposed":
        fields.append(("Content-Disposition", "attachment"))
    write = start_response(status, [*fields, (name, value)])
    if how == "write":
        write(b"unseen")
    if how == "fails":
        raise RuntimeError
    return iter([b"unseen", b"too"]) if how == "iter" else [b"unseen123"]


def sends_handler(request: Any) -> Any:
    """Send the request on to the path of its query."""
    return adyton.Response("unseen", headers={"X-Accel-Redirect": request.query_string})


def round_again(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    """Send each request to itself."""
    start_response("200 OK", [("X-Accel-Redirect", environ["PATH_INFO"])])
    return []


def told(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    """Answer with the request as the application sees it."""
    length = len(environ["wsgi.input"].read())
    start_response("200 OK", [("Content-Type", "text/plain")])
    names = ["REQUEST_METHOD", "PATH_INFO", "QUERY_STRING", "CONTENT_LENGTH", "CONTENT_TYPE", "REMOTE_USER"]
    return [" ".join([*(str(environ.get(name)) for name in names), str(length)]).encode()]


def proxied(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    """Answer with all variables that a proxy may have set."""
    start_response("200 OK", [("Content-Type", "application/json")])
    names = ["REMOTE_ADDR", "REMOTE_PORT", "wsgi.url_scheme", "HTTPS", "SCRIPT_NAME", "PATH_INFO"]
    names += ["HTTP_HOST", "HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO", "HTTP_X_FORWARDED_HOST"]
    names += ["HTTP_X_REAL_IP", "HTTP_X_SCHEME", "HTTP_X_SCRIPT_NAME", "HTTP_X_MINE"]
    return [json.dumps({name: environ.get(name) for name in names}).encode()]


def proxied_handler(request: Any) -> str:
    """Answer with the facts about a client that a handler sees."""
    fields = {name.lower(): value for name, value in request.headers.items()}
    return json.dumps([request.remote, request.remote_port, request.scheme, request.host, fields])
