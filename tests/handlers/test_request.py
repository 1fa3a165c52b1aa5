"""The request that a handler gets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from support.client import chunked, request

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Server, Servers


def told(site: Server, target: str = "/request", **asked: Any) -> dict[str, Any]:
    """Return what the handler saw."""
    seen: dict[str, Any] = site.fetch(target, **asked).json()
    return seen


def test_attributes(site: Server) -> None:
    """A simple request has all its attributes."""
    with site.connect() as connection:
        seen = connection.get("/request/a%20b?c=d").json()
        client = connection.socket.getsockname()

    assert {
        "method": "GET",
        "target": "/request/a%20b?c=d",
        "path": "/request/a b",
        "query_string": "c=d",
        "query": {"c": ["d"]},
        "headers": {"host": ["localhost"]},
        "cookies": {},
        "body": "",
        "text": "",
        "remote": "127.0.0.1",
        "remote_port": client[1],
        "scheme": "http",
        "host": "localhost",
        "version": "HTTP/1.1",
    } == seen | {"headers": {name.lower(): values for name, values in seen["headers"].items()}}


def test_types(site: Server) -> None:
    """Attributes have the types that are promised."""
    text = [
        "method",
        "target",
        "path",
        "query_string",
        "text",
        "remote",
        "scheme",
        "host",
        "version",
    ]

    assert dict.fromkeys(text, "str") | {
        "body": "bytes",
        "cookies": "dict",
        "remote_port": "int",
        "query is a Mapping": "True",
        "headers is a Mapping": "True",
        "class": "True",
    } == told(site, "/types")


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        ("/request/caf%C3%A9", "/request/caf\u00e9"),
        ("/request/%E2%82%AC", "/request/\u20ac"),
        ("/request/%FF", "/request/\ufffd"),
        ("/request/%2541", "/request/%41"),
        ("/request/a+b", "/request/a+b"),
        ("/request//a", "/request//a"),
    ],
)
def test_path(site: Server, raw: str, path: str) -> None:
    """The path must be decoded once, as UTF-8, with replacement; the target must not be decoded."""
    seen = told(site, raw)

    assert path == seen["path"]
    assert raw == seen["target"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", {}),
        ("a=1", {"a": ["1"]}),
        ("a=1&a=2&b=3", {"a": ["1", "2"], "b": ["3"]}),
        ("a", {"a": [""]}),
        ("a=", {"a": [""]}),
        ("a=b=c", {"a": ["b=c"]}),
        ("a=1%202+3", {"a": ["1 2 3"]}),
        ("%C3%A9=%E2%82%AC", {"\u00e9": ["\u20ac"]}),
        ("a=%FF", {"a": ["\ufffd"]}),
        ("a=1;b=2", {"a": ["1;b=2"]}),
        ("&&a=1&&", {"a": ["1"]}),
        ("a=%26%3D", {"a": ["&="]}),
        ("a=%zz", {"a": ["%zz"]}),
    ],
)
def test_query(site: Server, query: str, expected: dict[str, list[str]]) -> None:
    """The query is read as browsers write it."""
    seen = told(site, f"/request?{query}")

    assert expected == seen["query"]
    assert query == seen["query_string"]


def test_mappings(site: Server) -> None:
    """Headers and query are mappings with first values, `getall` for all of them."""
    fields = [("X-A", "1"), ("X-Two", "first"), ("x-two", "second")]

    assert {
        "any case": ["1", "1", "1", True],
        "first": "first",
        "all": ["first", "second"],
        "none": [None, [], False],
        "length": True,
        "query": ["1", ["1", "2"], None, [], True],
        "query length": [2, ["a", "b"], "1"],
        "raises": ["KeyError", "KeyError"],
    } == told(site, "/mappings?a=1&b=3&a=2", fields=fields)


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("a=1", {"a": "1"}),
        ("a=1; b=2", {"a": "1", "b": "2"}),
        ("a=1;b=2", {"a": "1", "b": "2"}),
        ('a="1"', {"a": "1"}),
        ("a=b=c", {"a": "b=c"}),
        ("a=", {"a": ""}),
        ("a=1; a=2", {"a": "1"}),
        ("nonsense; a=1", {"a": "1"}),
    ],
)
def test_cookies(site: Server, field: str, expected: dict[str, str]) -> None:
    """Cookies are read as RFC 6265 says, and nonsense between them is skipped."""
    assert expected == told(site, fields=[("Cookie", field)])["cookies"]


def test_cookies_of_two_fields(site: Server) -> None:
    """Two Cookie fields must be read as one."""
    assert {"a": "1", "b": "2"} == told(site, fields=[("Cookie", "a=1"), ("Cookie", "b=2")])["cookies"]


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ("text/plain; charset=utf-8", "\u20ac".encode(), "\u20ac"),
        ("text/plain", "\u20ac".encode(), "\u20ac"),
        ("text/plain; charset=latin-1", b"\xe9", "\u00e9"),
        ('text/plain; charset="utf-16-le"', b"a\0", "a"),
        ("text/plain; charset=nonsense", b"a\xff", "a\ufffd"),
        ("text/plain; charset=utf-8", b"a\xff", "a\ufffd"),
    ],
)
def test_text(site: Server, kind: str, body: bytes, text: str) -> None:
    """The body as text is in the charset of its type, UTF-8 by default, never an error."""
    seen = told(site, method="POST", fields=[("Content-Type", kind)], body=body)

    assert text == seen["text"]
    assert body.decode("latin-1") == seen["body"]


@pytest.mark.parametrize(
    "charset", ["idna", "rot13", "base64", "zlib", "unicode_escape", "punycode", "x" * 5000, ""]
)
def test_odd_charsets(site: Server, charset: str) -> None:
    """The name of a charset that a client sends must not break a handler."""
    fields = [("Content-Type", f"text/plain; charset={charset}")]

    assert 200 == site.fetch("/request", method="POST", fields=fields, body=b"\\x41..").status


@pytest.mark.parametrize("framing", ["length", "chunked"])
@pytest.mark.parametrize("size", [0, 1, 1000, 300_000])
def test_body(site: Server, size: int, framing: str) -> None:
    """The body comes whole, in both framings and beyond the limit of memory."""
    body = b"abcdefghij" * (size // 10) + b"k" * (size % 10)
    fields = []
    sent = body
    if framing == "chunked":
        fields = [("Transfer-Encoding", "chunked")]
        sent = chunked(body) if body else chunked()

    assert body.decode() == told(site, method="POST", fields=fields, body=sent)["body"]


def test_chunked_body_has_a_length(site: Server) -> None:
    """A whole body that came in chunks must have a Content-Length, and no Transfer-Encoding."""
    fields = [("X-A", "1"), ("Transfer-Encoding", "chunked")]
    headers = told(site, method="POST", fields=fields, body=chunked(b"hel", b"lo"))["headers"]
    names = {name.lower(): values for name, values in headers.items()}

    assert (["5"], ["1"]) == (names["content-length"], names["x-a"])
    assert "transfer-encoding" not in names


def test_json(site: Server) -> None:
    """`json()` reads the body, whatever its type says."""
    value = {"a": [1, None, "\u20ac"], "b": {"c": 1.5}}
    response = site.fetch("/json", method="POST", body=json.dumps(value).encode())

    assert 202 == response.status
    assert {"read": value} == response.json()
    assert "application/json" == response["Content-Type"]


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"nonsense"])
def test_bad_json(site: Server, body: bytes) -> None:
    """A body that is no JSON is the client's fault, or an exception in the handler; never a success."""
    with site.connect() as connection:
        assert connection.get("/json", method="POST", body=body).status in {400, 500}


@pytest.mark.parametrize("body", [b"[" * 200_000, b'{"a":' * 200_000])
def test_deep_json(site: Server, body: bytes) -> None:
    """JSON that is nested too deeply must count as the client's fault."""
    assert 400 == site.fetch("/json", method="POST", body=body).status


def test_input(site: Server) -> None:
    """The body can be read as a file, too."""
    response = site.fetch("/input", method="POST", body=b"one\ntwo three\nfour")

    assert ["one\n", "two", " three\n", "four", ""] == response.json()


def test_versions_and_host(site: Server) -> None:
    """A request of HTTP/1.0 without a Host field must still have a `host` to build links from."""
    with site.connect() as connection:
        seen = connection.ask(request("/request", version="1.0").replace(b"Host: localhost\r\n", b"")).json()

    assert "HTTP/1.0" == seen["version"]
    assert isinstance(seen["host"], str)


def test_latin_1_headers(site: Server) -> None:
    """Bytes above ASCII in a field come as latin-1, as in WSGI."""
    seen = told(site, fields=[("X-A", "caf\xe9")])

    assert ["caf\xe9"] == {name.lower(): value for name, value in seen["headers"].items()}["x-a"]


def test_kept_request(serve: Servers, handlers: Path) -> None:
    """A request that a handler keeps must still tell its own data, or raise an exception."""
    site = serve(handlers)
    with site.connect() as connection:
        first = connection.get("/keep/a", method="POST", fields=[("X-A", "1")], body=b"first")
        second = connection.get("/keep/b", fields=[("X-A", "2")])
        third = connection.get(f"/keep/{quote('c' * 3000)}")

        assert b"nothing kept" == first.body
        for response in (second, third):
            assert response.status in {200, 500}
        if second.status == 200:
            assert b"POST /keep/a 1 first" == second.body
        if third.status == 200:
            assert b"GET /keep/b 2 " == third.body
