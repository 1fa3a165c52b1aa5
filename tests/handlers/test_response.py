"""Values that a handler may return, and the responses made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from support.client import request

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Server, Servers

HTML = "text/html; charset=utf-8"
BINARY = "application/octet-stream"
DIGITS = b"0123456789" * 10_000


@pytest.mark.parametrize(
    ("target", "kind", "body"),
    [
        ("/", HTML, "Hello, W\u00f6rld \u20ac".encode()),
        ("/bytes", BINARY, b"\0bytes\xff"),
        ("/generator", BINARY, b"0 GET\n1 GET\n2 GET\n"),
        ("/list", BINARY, b"one two"),
        ("/stream", "text/plain", b"01234"),
    ],
)
def test_bodies(site: Server, target: str, kind: str, body: bytes) -> None:
    """Text, bytes and streams are sent, each with its type; the connection goes on."""
    with site.connect() as connection:
        for _ in range(2):
            response = connection.get(target)

            assert 200 == response.status
            assert kind.lower() == response["Content-Type"].lower()
            assert body == response.body
    with site.connect() as connection:
        assert body == connection.ask(request(target, version="1.0")).body


@pytest.mark.parametrize("target", ["/", "/bytes", "/generator", "/response", "/file"])
def test_head(site: Server, target: str) -> None:
    """HEAD is GET without the body."""
    with site.connect() as connection:
        got, head = connection.get(target), connection.get(target, method="HEAD")

        assert got.status == head.status
        assert b"" == head.body
        if "Content-Length" in got:
            assert got["Content-Length"] == head["Content-Length"]
        assert 200 == connection.get("/").status


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 65_537, 5_000_000])
def test_sizes(site: Server, size: int) -> None:
    """Bytes of any size come whole, with their length."""
    with site.connect() as connection:
        connection.send(request(f"/large?bytes={size}") + request("/"))
        response = connection.receive()

        assert size == len(response.body)
        assert str(size) == response["Content-Length"]
        assert 200 == connection.receive().status


def test_response(site: Server) -> None:
    """Status, headers, type and text are sent as they were given, in order."""
    response = site.fetch("/response")

    assert 203 == response.status
    assert "text \u20ac".encode() == response.body
    assert "text/plain; charset=utf-8" == response["Content-Type"]
    assert ["1", "2"] == response.values("X-A")
    assert ["3"] == response.values("X-B")
    assert ["Accept"] == response.values("Vary")


def test_mapping_of_headers(site: Server) -> None:
    """A Content-Type among the headers must be used, and must not be sent twice."""
    response = site.fetch("/mapping")

    assert ["application/json"] == response.values("Content-Type")
    assert ["1"] == response.values("X-A")


def test_changed_response(site: Server) -> None:
    """An answer can be changed until it is returned."""
    response = site.fetch("/changed")

    assert (202, b"second") == (response.status, response.body)


@pytest.mark.parametrize("status", [200, 201, 204, 205, 304, 404, 410, 451, 503])
def test_status(site: Server, status: int) -> None:
    """Any final status can be sent; 204 and 304 have no body."""
    with site.connect(lint_answers=False) as connection:
        assert status == connection.get(f"/status?status={status}").status
        assert 200 == connection.get("/").status


@pytest.mark.parametrize(
    "what",
    ["None", "int", "bool", "float", "tuple", "dict", "set", "object", "bytearray", "type"],
)
def test_wrong_results(site: Server, what: str) -> None:
    """A returned value of a wrong type must give a 500; the log names it and the allowed types."""
    mark = site.mark()
    with site.connect() as connection:
        response = connection.get(f"/returns?what={what}")

        assert 500 == response.status
        assert b"TypeError" not in response.body
    names = {"None": "(None|NoneType)", "set": "(set|int)"}
    line = site.wait_for_log(rf"(?i)\b{names.get(what, what)}\b", since=mark)
    if what != "set":
        assert "Response" in line


@pytest.mark.parametrize("what", ["list of str", "generator of str"])
def test_wrong_items(site: Server, what: str) -> None:
    """A stream of other items than bytes must give a 500, too."""
    mark = site.mark()

    assert 500 == site.fetch(f"/returns?what={quote(what)}").status
    site.wait_for_log(r"\bstr\b", since=mark)


@pytest.mark.parametrize(
    "what",
    [
        "newline", "lf", "name", "nul", "euro", "int value", "no pair", "status 99", "status 100",
        "status 1000", "status text", "body", "type", "json", "nan", "file", "folder",
    ],
)  # fmt: skip
def test_wrong_responses(site: Server, what: str) -> None:
    """A response that cannot be sent must give a 500 and a line in the log; no part of it is sent."""
    mark = site.mark()
    with site.connect() as connection:
        response = connection.get(f"/wrong?what={quote(what)}")

        assert 500 == response.status
        assert "X-Evil" not in str(response.fields)
        if not response.closing:
            assert 200 == connection.get("/").status
    site.wait_for_log(r"/wrong\?what=", since=mark)


def test_cookies(site: Server) -> None:
    """Cookies are set with safe defaults and all attributes."""
    cookies = site.fetch("/cookies").values("Set-Cookie")
    parts = [{part.strip().lower() for part in cookie.split(";")} for cookie in cookies]

    assert {"plain=1", "path=/", "samesite=lax", "httponly"} == parts[0]
    assert {
        "full=2",
        "max-age=60",
        "expires=wed, 02 jan 2030 03:04:05 gmt",
        "path=/a",
        "domain=example.org",
        "secure",
        "samesite=strict",
    } == parts[1]
    assert {"bare="} == parts[2]
    assert {"gone=", "path=/b", "domain=example.org", "max-age=0"} <= parts[3]


def test_bad_cookies(site: Server) -> None:
    """Characters that would break out of a cookie must be refused, and no cookie be set."""
    told = site.fetch("/bad-cookie").json()

    assert {"ValueError"} == set(told["told"])
    assert [] == told["headers"]


@pytest.mark.parametrize("status", [None, 301, 302, 303, 307, 308])
def test_redirect(site: Server, status: int | None) -> None:
    """A redirect has a Location and the status asked for, 302 by default."""
    response = site.fetch("/redirect?to=/a" + (f"&status={status}" if status else ""))

    assert (status or 302) == response.status
    assert "/a" == response["Location"]


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("https://example.org/a?b=c#d", "https://example.org/a?b=c#d"),
        ("/caf\u00e9", "/caf%C3%A9"),
        ("/a b", "/a%20b"),
        ("/%41", "/%41"),
        ("/a\r\nX-Evil: yes", "/a%0D%0AX-Evil:%20yes"),
    ],
)
def test_redirect_escapes(site: Server, place: str, expected: str) -> None:
    """The target of a redirect must be escaped: bytes from a client must not break out of the field."""
    with site.connect() as connection:
        response = connection.get(f"/redirect?to={quote(place, safe='')}")

        assert expected == response["Location"]
        assert "X-Evil" not in response


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 409, 418, 429, 500, 503])
def test_abort(site: Server, status: int) -> None:
    """`abort` must give an error page with this status, and nothing in the log."""
    mark = site.mark()
    with site.connect(lint_answers=status not in {401, 405}) as connection:
        response = connection.get(f"/abort?status={status}")

        assert status == response.status
        assert str(status) in response.body.decode()
        assert HTML == response["Content-Type"].lower()
        assert 200 == connection.get("/").status
    assert "Traceback" not in site.log()[mark:]


def test_abort_message(site: Server) -> None:
    """The message is shown, escaped."""
    message = "<script>alert('\u20ac')</script>&"
    response = site.fetch(f"/abort?status=404&message={quote(message)}")

    assert 404 == response.status
    assert "<script" not in response.body.decode()
    assert "\u20ac" in response.body.decode()
    assert "&lt;script&gt;" in response.body.decode()


def test_abort_is_an_exception(site: Server) -> None:
    """`adyton.Abort` can be caught and looked at."""
    response = site.fetch("/abort-class")

    assert 403 == response.status
    assert b"looked at" in response.body


@pytest.mark.parametrize("status", [0, 99, 200, 302, 399, 600, 1000])
def test_abort_with_a_wrong_status(site: Server, status: int) -> None:
    """`abort` is for errors: any other status is an error of the handler."""
    assert 500 == site.fetch(f"/abort?status={status}").status


def test_exception(site: Server) -> None:
    """An exception is a plain 500; its traceback is in the log, with the request line."""
    mark = site.mark()
    response = site.fetch("/raises?secret")

    assert 500 == response.status
    for secret in ("s3cret", "RuntimeError", "Traceback", "handlers.py"):
        assert secret not in response.body.decode()
    text = site.wait_for_log("RuntimeError: s3cret-in-the-message", since=mark)
    assert "/raises?secret" in text
    assert "answer_raises" in text
    assert 200 == site.fetch("/").status


def test_exception_midway(site: Server) -> None:
    """A stream that fails is cut: the last chunk is missing."""
    mark = site.mark()
    with site.connect() as connection:
        response = connection.get("/raises-midway")

        assert b"before" == response.body
        assert not response.complete
    site.wait_for_log("RuntimeError: stream-has-failed", since=mark)


@pytest.mark.parametrize(
    ("attribute", "body"),
    [
        ("one_argument", b"one argument, GET"),
        ("an_object", b"object, GET"),
        ("a_method", b"method, GET"),
    ],
)
def test_found_by_its_argument(serve: Servers, handlers: Path, attribute: str, body: bytes) -> None:
    """A callable that takes exactly one argument is a handler."""
    assert body == serve(f"{handlers}:{attribute}").fetch().body


def test_named_a_handler(serve: Servers, handlers: Path) -> None:
    """With `--interface handler`, any callable must be called as a handler."""
    server = serve(f"{handlers}:optional", "--interface", "handler")

    assert b"nothing more, GET" == server.fetch().body


def test_factory(serve: Servers, handlers: Path) -> None:
    """`--factory` serves what the target returns."""
    assert b"one argument, GET" == serve(f"{handlers}:factory", "--factory").fetch().body
