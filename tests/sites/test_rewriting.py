"""Paths that are rewritten before a route is chosen: protected paths stay protected."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING

import pytest

from sites.conftest import write
from support.server import run

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Server, Servers

FILE = """
[server]
access-log = "all.log"

[[sites]]
rewrite = [
  "/old/ -> /new/",
  "/new/never/ -> /twice/",
  "/one -> /told/one?from=rule",
  "*.php -> /told/php",
  "^/user/([0-9]+)$ -> /told/profile?id={1}",
  "^/(?P<lang>de|en)/(.*)$ -> /told/{2}?lang={lang}",
  "^/raw/(.*)$ -> /{1}",
  "^/dots(.*)$ -> /..{1}",
  "/inside/ -> /internal/",
  "/style/ -> /files/",
]

[[sites.routes]]
app = "shop:told"

[[sites.routes]]
path = "/new/secret/"
deny = ["127.0.0.0/8", "::1"]
app = "shop:told"

[[sites.routes]]
path = "/new/staff/"
auth = "basic:staff.htpasswd"
app = "shop:told"

[[sites.routes]]
path = "/new/put"
methods = "PUT"
app = "shop:told"

[[sites.routes]]
path = "/internal/"
internal = true
app = "shop:told"

[[sites.routes]]
path = "/files/"
files = "public/static"

[[sites]]
hosts = ["plain.example"]

[[sites.routes]]
app = "shop:told"
"""

STAFF = ("Authorization", "Basic " + b64encode(b"ann:correct horse").decode())

ANSWERS = [
    ("/old/x/y?a=b", 200, "/new/x/y a=b"),
    ("/old", 200, "/new "),
    ("/older", 200, "/older "),
    ("/%6fld//x%20y", 200, "/new/x y "),
    # Rules are applied in one pass: no rule sees a path that another rule has made.
    ("/old/never/x", 200, "/new/never/x "),
    ("/one?x=1", 200, "/told/one from=rule&x=1"),
    ("/deep/x.php", 200, "/told/php "),
    ("/user/17", 200, "/told/profile id=17"),
    ("/user/17x", 200, "/user/17x "),
    ("/de/a%26b/c?q", 200, "/told/a&b/c lang=de&q"),
    ("/style/site.css", 200, "p {}"),
    ("/style/none.css", 404, "no such file"),
    # The rule for the new path guards it in all spellings of the old path.
    ("/old/secret/x", 403, ""),
    ("/old/%73ecret/x", 403, ""),
    ("/old//secret//x", 403, ""),
    ("/%6Fld%2Fsecret/x", 403, ""),
    ("/raw/new/secret/x", 403, ""),
    ("/raw//new//secret/x", 403, ""),
    ("/raw/new%2Fsecret/x", 403, ""),
    ("/raw/old/secret/x", 200, "/old/secret/x "),
    ("/raw/%6eew/%73ecret", 403, ""),
    # A path is decoded only once.
    ("/raw/new/%2573ecret/x", 200, "/new/%73ecret/x "),
    ("/raw/%252e%252e/new/secret/x", 200, "/%2e%2e/new/secret/x "),
    ("/raw/x?/new/secret/", 200, "/x /new/secret/"),
    ("/raw/x%3F/new/secret/", 200, "/x?/new/secret/ "),
    ("/raw/x%23/y", 200, "/x#/y "),
    # A rule cannot make a path with dot segments.
    ("/dots/new/secret/x", 400, "segment"),
    ("/dots//new/secret/x", 400, "segment"),
    ("/dots%2Fnew/secret/x", 400, "segment"),
    ("/dots", 400, "segment"),
    ("/dotsx", 200, "/..x "),
    ("/dots/%2e/x", 400, "segment"),
    ("/old/../new/secret/x", 400, "segment"),
    ("/old/staff/", 401, ""),
    ("/inside/x", 404, "Nothing is served"),
    ("/old/put", 200, "/new/put "),
]
"""The target, the status, and the path and query that the application sees."""


@pytest.fixture(params=["--threads=1", "--hand-over=always", "--stream-body=on"])
def server(serve: Servers, project: Path, request: pytest.FixtureRequest) -> Server:
    """Serve the file: with one thread, without the event loop, or with bodies streamed to the application."""
    return serve(write(project, FILE), request.param, cwd=project)


def test_answers(server: Server) -> None:
    """Routes and their settings see the new path, over one connection and over many."""
    with server.connect(lint_answers=False) as connection:
        for kept in (True, False):
            for target, status, words in ANSWERS:
                answer = (
                    connection.get(target)
                    if kept and status != 400
                    else server.fetch(target, lint_answers=False)
                )

                assert (status == answer.status, words in answer.body.decode()) == (True, True), (
                    target,
                    answer,
                )
        staff = connection.get("/old/staff/x", fields=[STAFF])
        put = connection.get("/old/put", method="PUT", body=b"12345")
        plain = connection.get("/old/x", fields=[("Host", "plain.example")])

    assert staff.body.startswith(b"GET /new/staff/x "), staff
    assert b"ann" in staff.body
    assert put.body.startswith(b"PUT /new/put ")
    assert plain.body.startswith(b"GET /old/x ")


@pytest.mark.parametrize("way", ["length", "chunked", "continue"])
def test_bodies_stay(server: Server, way: str) -> None:
    """A rewritten request keeps its body, however sent, and the next request is read after the body."""
    fields = {
        "length": "Content-Length: 5\r\n\r\n12345",
        "chunked": "Transfer-Encoding: chunked\r\n\r\n2\r\n12\r\n3\r\n345\r\n0\r\n\r\n",
        "continue": "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n12345",
    }[way]
    head = "POST /old/x HTTP/1.1\r\nHost: a.example\r\nContent-Type: a/b\r\n"
    with server.connect(lint_answers=False) as connection:
        for _ in range(2):
            connection.send((head + fields + "GET /one HTTP/1.1\r\nHost: a.example\r\n\r\n").encode())
            first, second = connection.receive("POST"), connection.receive()

            assert first.body.split()[:2] == [b"POST", b"/new/x"], first
            assert first.body.endswith(b" 5")
            assert second.body.startswith(b"GET /told/one from=rule ")


def test_is_told(server: Server, project: Path) -> None:
    """The access log has the requested path; `adyton route` shows both paths."""
    for target in ("/old/x", "/old/secret/", "/style/site.css"):
        server.fetch(target, lint_answers=False)
    server.stop()
    lines = (project / "all.log").read_text(encoding="utf-8").splitlines()

    # A later request may be logged first, because another thread may answer it.
    logged = {(line.split()[6], line.split()[8]) for line in lines}
    assert {("/old/x", "200"), ("/old/secret/", "403"), ("/style/site.css", "200")} == logged

    said = run("route", "site.toml", "/old/%73ecret/x", cwd=project).stdout.splitlines()

    assert [
        "path   /old/secret/x",
        "path   /new/secret/x, by a rule of the site",
        "answer 403 /new/secret/ (line 22): not for this client",
    ] == said[1:]
