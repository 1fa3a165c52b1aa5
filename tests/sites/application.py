"""An application that says which it is, and what it was asked."""

from __future__ import annotations

import json
import os
from typing import Any

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
    """Answer with who has asked, how that was proved, and the proof, which is not to be seen."""
    environ["wsgi.input"].read()
    told = [environ.get(key) for key in ("REMOTE_USER", "AUTH_TYPE", "HTTP_AUTHORIZATION")]
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [" ".join(map(str, told)).encode()]


def who(request: Any) -> str:
    """Answer with who has asked, and whether the password can be seen."""
    return f"{request.user} {'Authorization' in request.headers}"


def mounted(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    """Answer with where the application stands, and what is asked of it."""
    start_response("200 OK", [("Content-Type", "text/plain")])
    if "fail" in environ["PATH_INFO"]:
        raise RuntimeError
    return [f"{environ['SCRIPT_NAME']}|{environ['PATH_INFO']}|{environ['REQUEST_URI']}".encode()]


def proxied(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    """Answer with all that a proxy may have told."""
    start_response("200 OK", [("Content-Type", "application/json")])
    names = ["REMOTE_ADDR", "REMOTE_PORT", "wsgi.url_scheme", "HTTPS", "SCRIPT_NAME", "PATH_INFO"]
    names += ["HTTP_HOST", "HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO", "HTTP_X_FORWARDED_HOST"]
    names += ["HTTP_X_REAL_IP", "HTTP_X_SCHEME", "HTTP_X_SCRIPT_NAME", "HTTP_X_MINE"]
    return [json.dumps({name: environ.get(name) for name in names}).encode()]


def proxied_handler(request: Any) -> str:
    """Answer with what a handler sees of it."""
    fields = {name.lower(): value for name, value in request.headers.items()}
    return json.dumps([request.remote, request.remote_port, request.scheme, request.host, fields])
