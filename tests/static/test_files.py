"""A folder is served: contents, types, methods and folders."""

from __future__ import annotations

import re
from email.utils import formatdate
from typing import TYPE_CHECKING

import pytest

from static.conftest import DIGITS, LONG_AGO, MEDIUM
from support.client import request

if TYPE_CHECKING:
    from support.server import Server


@pytest.mark.parametrize(
    ("target", "body"),
    [
        ("/note.txt", DIGITS),
        ("/empty.txt", b""),
        ("/medium.bin", MEDIUM),
        ("/sub/inner.txt", b"inner"),
        ("/with%20space.txt", b"space"),
        ("/caf%C3%A9.txt", b"cafe"),
        ("/caf%c3%a9.txt", b"cafe"),
        ("/a%2541b.txt", b"percent"),
        ("/a%26%3Cb%3E.txt", b"markup"),
        ("/a&%3Cb%3E.txt", b"markup"),
        ("/semi;colon.txt", b"semicolon"),
        ("/semi%3Bcolon.txt", b"semicolon"),
        ("/%6eote.txt", DIGITS),
        ("/note.txt?query", DIGITS),
        ("/note.txt?a=/../b", DIGITS),
        ("/sp%20ace/in.txt", b"in"),
        ("/.well-known/security.txt", b"Contact: us"),
        ("/", b"<!doctype html><title>home</title>"),
        ("/sub/", b"<!doctype html><title>sub</title>"),
        ("/index.html", b"<!doctype html><title>home</title>"),
    ],
)
def test_content(site: Server, target: str, body: bytes) -> None:
    """The file is sent whole, at first and from any cache, on 1.1 and 1.0."""
    with site.connect() as connection:
        for _ in range(3):
            response = connection.get(target)

            assert 200 == response.status
            assert body == response.body
            assert str(len(body)) == response["Content-Length"]
    with site.connect() as connection:
        old = connection.ask(request(target, version="1.0"))

        assert body == old.body
        assert str(len(body)) == old["Content-Length"]
        assert connection.at_end()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("index.html", "text/html; charset=utf-8"),
        ("note.txt", "text/plain; charset=utf-8"),
        ("style.css", "text/css; charset=utf-8"),
        ("script.js", "text/javascript; charset=utf-8"),
        ("module.mjs", "text/javascript; charset=utf-8"),
        ("data.json", "application/json"),
        ("icon.svg", "image/svg+xml"),
        ("pixel.png", "image/png"),
        ("photo.jpg", "image/jpeg"),
        ("font.woff2", "font/woff2"),
        ("film.mp4", "video/mp4"),
        ("code.wasm", "application/wasm"),
        ("paper.pdf", "application/pdf"),
        ("unknown.zzz", "application/octet-stream"),
        ("noextension", "application/octet-stream"),
    ],
)
def test_type(site: Server, name: str, kind: str) -> None:
    """The type follows from the name, and text has its charset; without a known type, browsers must not guess one."""
    found = site.fetch(f"/{name}")["Content-Type"].lower()

    assert found in {kind, f"{kind}; charset=utf-8"}


def test_fields(site: Server) -> None:
    """The answer for a file has validators, and says that ranges are possible."""
    response = site.fetch("/note.txt")

    assert formatdate(LONG_AGO, usegmt=True) == response["Last-Modified"]
    assert re.fullmatch(r'(W/)?"[!#-~]+"', response["ETag"])
    assert "bytes" == response["Accept-Ranges"]
    assert "adyton" == response["Server"]
    assert "Cache-Control" not in response
    assert "Content-Encoding" not in response


def test_etags_differ(site: Server) -> None:
    """Different files have different tags."""
    names = ["note.txt", "empty.txt", "style.css", "medium.bin", "index.html"]

    assert len(names) == len({site.fetch(f"/{name}")["ETag"] for name in names})


@pytest.mark.parametrize("target", ["/note.txt", "/medium.bin", "/", "/missing", "/sub", "/.env"])
def test_head(site: Server, target: str) -> None:
    """HEAD gets everything that GET gets, except the body."""
    with site.connect() as connection:
        got, head = connection.get(target), connection.get(target, method="HEAD")

        assert got.status == head.status
        assert b"" == head.body
        assert [f for f in got.fields if f[0] != "Date"] == [f for f in head.fields if f[0] != "Date"]
        assert DIGITS == connection.get("/note.txt").body


@pytest.mark.parametrize("target", ["/note.txt", "/medium.bin", "/", "/sub/"])
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "PROPFIND", "get"])
def test_method_not_allowed(site: Server, target: str, method: str) -> None:
    """Other methods get 405 with Allow (rule 48), whatever else they send."""
    with site.connect() as connection:
        data = request(target, method=method, body=b"hello")
        connection.send(data + request("/note.txt"))
        response = connection.receive()

        assert response.status in ({405, 501} if method in {"PROPFIND", "get"} else {405})
        if response.status == 405:
            assert {"GET", "HEAD"} <= {part.strip() for part in response["Allow"].split(",")}
        if not response.closing:
            assert DIGITS == connection.receive().body


@pytest.mark.parametrize("target", ["/note.txt", "/", "*"])
def test_options(site: Server, target: str) -> None:
    """OPTIONS lists the allowed methods (rule 48)."""
    with site.connect() as connection:
        response = connection.get(target, method="OPTIONS")

        assert response.status in {200, 204}
        assert b"" == response.body
        if target != "*":
            assert {"GET", "HEAD", "OPTIONS"} == {part.strip() for part in response["Allow"].split(",")}
        assert DIGITS == connection.get("/note.txt").body


@pytest.mark.parametrize(
    ("target", "location"),
    [
        ("/sub", "/sub/"),
        ("/sub?a=b&c", "/sub/?a=b&c"),
        ("/./sub", "/sub/"),
        ("/sp%20ace/f%C3%A9", "/sp%20ace/f%C3%A9/"),
    ],
)
def test_folder_without_slash(site: Server, target: str, location: str) -> None:
    """A folder without its slash is redirected to the path with the slash, and the query is kept (rule 48)."""
    response = site.fetch(target)

    assert response.status in {301, 308}
    assert location == response["Location"]


@pytest.mark.parametrize(
    "target",
    ["//sub", "///sub", "//example.org/..", "//example.org/%2e%2e", "/\\example.org", "/%5Cexample.org",
     "//example.org/../sub", "/%2F/sub", "/%2Fexample.org/..", "/sub/..//example.org/.."],
)  # fmt: skip
def test_no_open_redirect(site: Server, target: str) -> None:
    """No redirect leads to another host (rule 48)."""
    with site.connect() as connection:
        response = connection.get(target)

    for location in response.values("Location"):
        assert not re.match(r"[/\\]{2}|[a-z]+:", location, re.IGNORECASE)
        assert location.startswith("/")


@pytest.mark.parametrize("target", ["/plain", "/listed"])
def test_folder_without_index(site: Server, target: str) -> None:
    """A folder without index and without listing is not found, with or without its slash."""
    assert 404 == site.fetch(f"{target}/").status
    assert site.fetch(target).status in {301, 308, 404}


@pytest.mark.parametrize("target", ["/missing", "/missing.txt", "/sub/missing", "/note.txt/", "/note.txt/a"])
def test_missing(site: Server, target: str) -> None:
    """A missing file is answered 404 with a page; a file is not found as a folder."""
    with site.connect() as connection:
        response = connection.get(target)

        assert 404 == response.status
        assert "text/html; charset=utf-8" == response["Content-Type"].lower()
        assert b"404" in response.body
        assert DIGITS == connection.get("/note.txt").body


def test_missing_page_escapes(site: Server) -> None:
    """The page for a missing file repeats nothing that a browser would run."""
    with site.connect() as connection:
        body = connection.get("/%3Cscript%3Ealert(1)%3C/script%3E?<script>").body

    assert b"<script" not in body.lower()


def test_pipelined(site: Server) -> None:
    """Answers for files of all sizes come in the order of their requests."""
    names = ["/note.txt", "/medium.bin", "/missing", "/empty.txt", "/medium.bin", "/sub", "/"]
    with site.connect() as connection:
        connection.send(b"".join(request(name) for name in names) * 3)
        for _ in range(3):
            assert [200, 200, 404, 200, 200] == [connection.receive().status for _ in range(5)]
            assert connection.receive().status in {301, 308}
            assert b"home" in connection.receive().body


def test_body_of_a_get(site: Server) -> None:
    """A GET for a file may have a body, which is not taken for the next request."""
    with site.connect() as connection:
        connection.send(request("/note.txt", body=request("/sub")) + request("/empty.txt"))
        first = connection.receive()

        assert DIGITS == first.body
        if first.closing:
            assert connection.at_end()
        else:
            assert (200, b"") == ((second := connection.receive()).status, second.body)
