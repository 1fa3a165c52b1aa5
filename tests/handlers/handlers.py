"""Plain handlers, one per path."""

from __future__ import annotations

import datetime as dt
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import adyton

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FOLDER = Path(tempfile.mkdtemp(prefix="handlers-"))
SECRET = "s3cret-in-the-message"  # noqa: S105 (it must not be seen, but it is none)


def handler(request: adyton.Request) -> Any:
    """Choose by the first segment of the path."""
    name = request.path.split("/")[1].replace("-", "_") or "root"
    chosen: Callable[[adyton.Request], Any] = globals()[f"answer_{name}"]
    return chosen(request)


def one_argument(request: adyton.Request) -> str:
    """Have a name that does not tell the kind: the one argument does."""
    return f"one argument, {request.method}"


class Callable1:
    """An object that is called with a request."""

    def __call__(self, request: adyton.Request) -> str:
        """Answer."""
        return f"object, {request.method}"

    def method(self, request: adyton.Request) -> str:
        """Answer as a method."""
        return f"method, {request.method}"


an_object = Callable1()
a_method = an_object.method


def optional(request: adyton.Request, more: str = "nothing") -> str:
    """Take one argument or two, so that the settings have to say that this is a handler."""
    return f"{more} more, {request.method}"


def factory() -> Callable[[adyton.Request], str]:
    """Make a handler."""
    return one_argument


def answer_root(request: adyton.Request) -> str:
    """Answer with text."""
    del request
    return "Hello, W\u00f6rld \u20ac"


def answer_request(request: adyton.Request) -> adyton.Response:
    """Tell all attributes of the request."""
    return adyton.Response.json(
        {
            "method": request.method,
            "target": request.target,
            "path": request.path,
            "query_string": request.query_string,
            "query": {name: request.query.getall(name) for name in request.query},
            "headers": {name: request.headers.getall(name) for name in request.headers},
            "cookies": request.cookies,
            "body": request.body.decode("latin-1"),
            "text": request.text,
            "remote": request.remote,
            "remote_port": request.remote_port,
            "scheme": request.scheme,
            "host": request.host,
            "version": request.version,
        }
    )


def answer_types(request: adyton.Request) -> adyton.Response:
    """Tell the types of the attributes."""
    names = [
        "method", "target", "path", "query_string", "cookies", "body", "text", "remote",
        "remote_port", "scheme", "host", "version",
    ]  # fmt: skip
    told = {name: type(getattr(request, name)).__name__ for name in names}
    told["query is a Mapping"] = str(isinstance(request.query, Mapping))
    told["headers is a Mapping"] = str(isinstance(request.headers, Mapping))
    told["class"] = str(isinstance(request, adyton.Request))
    return adyton.Response.json(told)


def answer_mappings(request: adyton.Request) -> adyton.Response:
    """Use the mappings in all ways."""
    headers, query = request.headers, request.query
    return adyton.Response.json(
        {
            "any case": [headers["x-a"], headers["X-A"], headers.get("x-A"), "X-a" in headers],
            "first": headers["X-Two"],
            "all": headers.getall("x-two"),
            "none": [headers.get("X-None"), headers.getall("X-None"), "X-None" in headers],
            "length": len(headers) == len(list(headers)),
            "query": [
                query["a"],
                query.getall("a"),
                query.get("z"),
                query.getall("z"),
                "b" in query,
            ],
            "query length": [len(query), sorted(query), dict(query)["a"]],
            "raises": [_raised(lambda: headers["X-None"]), _raised(lambda: query["z"])],
        }
    )


def _raised(call: Callable[[], object]) -> str:
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return "nothing"


def answer_json(request: adyton.Request) -> adyton.Response:
    """Read JSON and write it."""
    return adyton.Response.json({"read": request.json()}, 202)


def answer_input(request: adyton.Request) -> adyton.Response:
    """Read the body as a file."""
    stream = request.input
    told = [stream.readline(), stream.read(3), *stream.readlines(), stream.read()]
    return adyton.Response.json([part.decode() for part in told])


def answer_bytes(request: adyton.Request) -> bytes:
    """Answer with bytes."""
    del request
    return b"\0bytes\xff"


def answer_generator(request: adyton.Request) -> Iterator[bytes]:
    """Answer with a stream."""
    for number in range(3):
        yield b"%d %b\n" % (number, request.method.encode())


def answer_list(request: adyton.Request) -> list[bytes]:
    """Answer with a list of bytes."""
    del request
    return [b"one ", b"", b"two"]


def answer_large(request: adyton.Request) -> bytes:
    """Answer with many bytes."""
    return b"x" * int(request.query["bytes"])


def answer_returns(request: adyton.Request) -> Any:
    """Return a value that no handler should return."""
    values: dict[str, Any] = {
        "None": None,
        "int": 5,
        "bool": True,
        "float": 1.5,
        "tuple": ("body", 200),
        "dict": {"a": "b"},
        "set": {1, 2},
        "object": object(),
        "bytearray": bytearray(b"x"),
        "type": str,
        "list of str": ["text"],
        "generator of str": (text for text in ["text"]),
    }
    return values[request.query["what"]]


def answer_response(request: adyton.Request) -> adyton.Response:
    """Make an answer with everything."""
    del request
    response = adyton.Response(
        "text \u20ac",
        status=203,
        headers=[("X-A", "1"), ("X-A", "2"), ("Vary", "Accept")],
        content_type="text/plain; charset=utf-8",
    )
    response.headers.append(("X-B", "3"))
    return response


def answer_mapping(request: adyton.Request) -> adyton.Response:
    """Give the headers as a mapping, with a type among them."""
    del request
    return adyton.Response(b"{}", headers={"Content-Type": "application/json", "X-A": "1"})


def answer_stream(request: adyton.Request) -> adyton.Response:
    """Stream the body of a Response."""
    del request
    return adyton.Response((b"%d" % number for number in range(5)), content_type="text/plain")


def answer_changed(request: adyton.Request) -> adyton.Response:
    """Change an answer after it was made."""
    del request
    response = adyton.Response("first")
    response.status = 202
    response.body = b"second"
    return response


def answer_status(request: adyton.Request) -> adyton.Response:
    """Answer with the status of the query."""
    return adyton.Response(b"", status=int(request.query["status"]))


def answer_wrong(request: adyton.Request) -> adyton.Response:
    """Make an answer that cannot be sent."""
    wrong: dict[str, Callable[[], adyton.Response]] = {
        "newline": lambda: adyton.Response("x", headers=[("X-A", "b\r\nX-Evil: yes")]),
        "lf": lambda: adyton.Response("x", headers={"X-A": "b\nX-Evil: yes"}),
        "name": lambda: adyton.Response("x", headers={"X-A: b\r\nX-Evil": "yes"}),
        "nul": lambda: adyton.Response("x", headers={"X-A": "\0"}),
        "euro": lambda: adyton.Response("x", headers={"X-A": "\u20ac"}),
        "int value": lambda: adyton.Response("x", headers={"X-A": 1}),  # type: ignore[arg-type]
        "no pair": lambda: adyton.Response("x", headers=["X-A"]),  # type: ignore[list-item]
        "status 99": lambda: adyton.Response("x", status=99),
        "status 100": lambda: adyton.Response("x", status=100),
        "status 1000": lambda: adyton.Response("x", status=1000),
        "status text": lambda: adyton.Response("x", status="200"),  # type: ignore[arg-type]
        "body": lambda: adyton.Response(5),  # type: ignore[arg-type]
        "type": lambda: adyton.Response("x", content_type="a/b\r\nX-Evil: yes"),
        "json": lambda: adyton.Response.json(object()),
        "nan": lambda: adyton.Response.json(float("nan")),
        "file": lambda: adyton.Response.file(FOLDER / "missing"),
        "folder": lambda: adyton.Response.file(FOLDER),
    }
    return wrong[request.query["what"]]()


def answer_cookies(request: adyton.Request) -> adyton.Response:
    """Set cookies in all ways."""
    del request
    response = adyton.Response("cookies")
    response.set_cookie("plain", "1")
    response.set_cookie(
        "full",
        "2",
        max_age=60,
        expires=dt.datetime(2030, 1, 2, 3, 4, 5, tzinfo=dt.UTC),
        path="/a",
        domain="example.org",
        secure=True,
        httponly=False,
        samesite="Strict",
    )
    response.set_cookie("bare", path=None, httponly=False, samesite=None)
    response.delete_cookie("gone", path="/b", domain="example.org")
    return response


def answer_bad_cookie(request: adyton.Request) -> adyton.Response:
    """Try to set cookies that are invalid."""
    response = adyton.Response("")
    attempts: list[tuple[str, str, dict[str, Any]]] = [
        ("", "1", {}),
        ("a=b", "1", {}),
        ("a;b", "1", {}),
        ("a b", "1", {}),
        ("a\r\nb", "1", {}),
        ("a", "1;2", {}),
        ("a", "1\r\nX-Evil: yes", {}),
        ("a", "\u20ac", {}),
        ("a", "1", {"path": "/;Domain=evil"}),
        ("a", "1", {"path": "/\r\nX-Evil: yes"}),
        ("a", "1", {"domain": "a;b"}),
    ]
    told = [_raised(lambda n=n, v=v, k=k: response.set_cookie(n, v, **k)) for n, v, k in attempts]  # type: ignore[misc]
    return adyton.Response.json({"told": told, "headers": response.headers, "q": request.query_string})


def answer_file(request: adyton.Request) -> adyton.Response:
    """Send a file, which the first request makes."""
    path = FOLDER / request.query.get("name", "page.html")
    if not path.exists():
        path.write_bytes(b"0123456789" * 10_000)
    return adyton.Response.file(
        path,
        content_type=request.query.get("type"),
        download_name=request.query.get("download"),
    )


def answer_fifo(request: adyton.Request) -> adyton.Response:
    """Send a FIFO that nobody writes to."""
    path = FOLDER / f"fifo-{request.path.strip('/')}"
    if not path.exists():
        os.mkfifo(path)
    return adyton.Response.file(path)


def answer_redirect(request: adyton.Request) -> adyton.Response:
    """Redirect the client."""
    if "status" in request.query:
        return adyton.Response.redirect(request.query["to"], int(request.query["status"]))
    return adyton.Response.redirect(request.query["to"])


def answer_abort(request: adyton.Request) -> str:
    """End with an error page."""
    message = request.query.get("message")
    if message is None:
        adyton.abort(int(request.query["status"]))
    adyton.abort(int(request.query["status"]), message)


def answer_abort_class(request: adyton.Request) -> str:
    """Catch an Abort, look at it, and raise it again."""
    try:
        adyton.abort(403, "looked at")
    except adyton.Abort as error:
        assert (error.status, error.message) == (403, "looked at")
        raise
    return request.method


def answer_raises(request: adyton.Request) -> str:
    """Fail."""
    del request
    raise RuntimeError(SECRET)


def answer_raises_midway(request: adyton.Request) -> Iterator[bytes]:
    """Fail in the middle of a stream."""
    del request
    yield b"before"
    raise RuntimeError("stream-has-failed")


def answer_keep(request: adyton.Request) -> str:
    """Keep the request after its answer, and look at the request that was kept before."""
    before = _kept[-1] if _kept else None
    _kept[:] = [request]
    if before is None:
        return "nothing kept"
    return f"{before.method} {before.path} {before.headers.get('X-A')} {before.body.decode()}"


_kept: list[adyton.Request] = []
