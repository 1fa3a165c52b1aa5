"""Requests that an application sends on: to a file beneath a folder, or to another route of its site."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING

import pytest

from sites.conftest import write

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Server, Servers

FILE = """
[server]
access-log = "all.log"

[[sites]]
x-sendfile = "sent"
internal-redirects = true

[[sites.routes]]
app = "shop:sends"

[[sites.routes]]
path = "/handler"
handler = "shop:sends_handler"

[[sites.routes]]
path = "/off/"
app = "shop:sends"
x-sendfile = "off"
internal-redirects = false

[[sites.routes]]
path = "/kept/"
files = "public/static"
internal = true
headers = { X-Kept = "yes" }

[[sites.routes]]
path = "/told/"
app = "shop:told"

[[sites.routes]]
path = "/staff/"
app = "shop:told"
internal = true
auth = "basic:staff.htpasswd"

[[sites.routes]]
path = "/denied/"
app = "shop:told"
deny = ["127.0.0.0/8", "::1"]

[[sites.routes]]
path = "/fixed"
respond = 202
body = "fixed"

[[sites]]
hosts = ["other.example"]

[[sites.routes]]
respond = 203
body = "other"
"""

LOOP = """
[[sites]]
internal-redirects = true

[[sites.routes]]
app = "shop:round_again"

[[sites.routes]]
path = "/fixed"
respond = 202
"""

STAFF = ("Authorization", "Basic " + b64encode(b"ann:correct horse").decode())


@pytest.fixture
def folder(project: Path) -> Path:
    """Return a folder with files to be sent, with other files outside of it."""
    sent = project / "sent"
    sent.mkdir()
    (sent / "a.txt").write_text("0123456789", encoding="utf-8")
    (sent / "b c%41.txt").write_text("odd name", encoding="utf-8")
    (sent / ".hidden").write_text("hidden", encoding="utf-8")
    (sent / "big.bin").write_bytes(bytes(range(256)) * 4096)
    (sent / "link.txt").symlink_to(project / "staff.htpasswd")
    (project / "sentinel.txt").write_text("beside", encoding="utf-8")
    return project


@pytest.fixture(params=["--threads=1", "--threads=4", "--hand-over=always", "--stream-body=on"])
def server(serve: Servers, folder: Path, request: pytest.FixtureRequest) -> Server:
    """Serve the file: with one thread, with several, without the event loop, or with streamed bodies."""
    return serve(write(folder, FILE), request.param, cwd=folder)


def test_files(server: Server, folder: Path) -> None:
    """A file is sent as if requested; the answer keeps its fields, except the field with the file's name."""
    with server.connect(lint_answers=False) as connection:
        for how in ("", "iter", "write", "long", "disposed"):
            for value in (f"{folder}/sent/a.txt", "a.txt", "./x/../a.txt"):
                answer = connection.get(f"/?{how}&X-Sendfile={value}")

                assert (200, b"0123456789") == (answer.status, answer.body), (how, value)
                assert ["application/x-sent", "a=b"] == [answer[n] for n in ("Content-Type", "Set-Cookie")]
                assert ("attachment" if how == "disposed" else None) == dict(answer.fields).get(
                    "Content-Disposition"
                )
                assert '"mine"' != answer["ETag"]
                assert "X-Sendfile" not in answer
        target, tag = "/?&X-Sendfile=a.txt", answer["ETag"]
        ranged = connection.get(target, fields=[("Range", "bytes=2-4")])
        several = connection.get(target, fields=[("Range", "bytes=0-0,9-9")])
        same = connection.get(target, fields=[("If-None-Match", tag)])
        beyond = connection.get(target, fields=[("Range", "bytes=99-")])
        head = connection.get(target, method="HEAD")
        posted = connection.get(target, method="POST", body=b"12345")
        big = connection.get("/?&X-Sendfile=big.bin")

        assert (206, b"234", "application/x-sent") == (ranged.status, ranged.body, ranged["Content-Type"])
        assert several["Content-Type"].startswith("multipart/byteranges") or several.status == 200
        assert (304, b"") == (same.status, same.body)
        assert (416, "a=b") == (beyond.status, beyond["Set-Cookie"])
        assert "application/x-sent" != beyond["Content-Type"]
        assert (200, b"", "10") == (head.status, head.body, head["Content-Length"])
        assert b"0123456789" == posted.body
        assert bytes(range(256)) * 4096 == big.body
        assert b"odd name" == connection.get("/?&X-Sendfile=b%20c%2541.txt").body


def test_no_other_files(server: Server, folder: Path) -> None:
    """A file outside of the folder is never sent, in any spelling of its path."""
    for value, status in [
        ("/etc/passwd", 500),
        (f"{folder}/sentinel.txt", 500),
        (f"{folder}/sent", 500),
        (f"{folder}/sent/../sentinel.txt", 404),
        (f"{folder}/sent/../../etc/passwd", 404),
        ("../sentinel.txt", 404),
        ("%2e%2e/sentinel.txt", 404),
        ("%252e%252e/sentinel.txt", 404),
        (f"{folder}/sent//..//sentinel.txt", 404),
        (".hidden", 404),
        ("link.txt", 404),
        ("none.txt", 404),
        ("a.txt%00", 500),
        ("a.txt/", 404),
        ("", 500),
    ]:
        answer = server.fetch(f"/?&X-Sendfile={value}", lint_answers=False)

        assert status == answer.status or (answer.status == 400 and status == 404), (value, answer)
        assert b"beside" not in answer.body
        assert "X-Sendfile" not in answer
    assert "ADY224" in server.log()
    assert "is not beneath" in server.log()


def test_routes(server: Server) -> None:
    """Another route of the site, with its rules, answers as for a GET without a body."""
    with server.connect(lint_answers=False) as connection:
        for target, status, words in [
            ("/?&X-Accel-Redirect=/kept/site.css", 200, "p {}"),
            ("/?iter&X-Accel-Redirect=/kept/site.css", 200, "p {}"),
            ("/?&Location=/told/x?y=1", 200, "GET /told/x y=1 None None None 0"),
            ("/?&X-Accel-Redirect=/%74old/x", 200, "GET /told/x  None None None 0"),
            ("/handler?/told/h", 200, "GET /told/h  None None None 0"),
            ("/handler?/handler?/fixed", 202, "fixed"),
            ("/?&X-Accel-Redirect=/fixed", 202, "fixed"),
            ("/?&X-Accel-Redirect=/kept/none", 404, "no such file"),
            ("/?&X-Accel-Redirect=/denied/", 403, "Clients with this address"),
            ("/?&X-Accel-Redirect=/x/../kept/site.css", 400, "segment"),
            ("/?&X-Accel-Redirect=/staff/", 401, ""),
            ("/?&X-Accel-Redirect=//other.example/", 500, "cannot go"),
            ("/?&X-Accel-Redirect=http://other.example/", 500, "cannot go"),
            ("/?&X-Accel-Redirect=/a%20b", 500, "cannot go"),
            ("/?fails&X-Accel-Redirect=/fixed", 500, "500"),
            ("/kept/site.css", 404, "Nothing is served here"),
            ("/%6bept//site.css", 404, "Nothing is served here"),
            ("/staff/", 404, "Nothing is served here"),
        ]:
            for method in ("GET", "POST"):
                answer = connection.get(target, method=method, body=b"12345" if method == "POST" else b"")

                assert status == answer.status, (method, target, answer)
                assert words in answer.body.decode(), (method, target, answer)
                assert "X-Accel-Redirect" not in answer
        kept = connection.get("/?&X-Accel-Redirect=/kept/site.css")
        head = connection.get("/?&X-Accel-Redirect=/kept/site.css", method="HEAD")
        staff = connection.get("/?&X-Accel-Redirect=/staff/x", fields=[STAFF])
        again = connection.get("/?&X-Accel-Redirect=/staff/x", fields=[STAFF])

        assert ["yes", "application/x-sent", "a=b"] == [
            kept[name] for name in ("X-Kept", "Content-Type", "Set-Cookie")
        ]
        assert (200, b"") == (head.status, head.body)
        assert [b"GET /staff/x  None None ann 0"] * 2 == [staff.body, again.body]
        assert 404 == connection.get("/staff/x", fields=[STAFF]).status
        assert (302, "/told/x") == (
            (found := connection.get("/?found&Location=/told/x")).status,
            found["Location"],
        )
        assert "/elsewhere" == connection.get("/off/?&X-Accel-Redirect=/elsewhere")["X-Accel-Redirect"]


def test_no_end(serve: Servers, folder: Path) -> None:
    """A request that is sent on again and again gets a 500 after ten times."""
    server = serve(write(folder, LOOP), cwd=folder)
    with server.connect(lint_answers=False) as connection:
        answers = [connection.get("/round"), connection.get("/fixed"), connection.get("/round")]

    assert [500, 202, 500] == [answer.status for answer in answers]
    assert "it was sent on 10 times already" in server.log()


def test_is_logged(server: Server, folder: Path) -> None:
    """The access log has only the client's own request, once."""
    for target in ("/?&X-Accel-Redirect=/fixed", "/?iter&X-Accel-Redirect=/told/x", "/?&X-Sendfile=a.txt"):
        server.fetch(target, lint_answers=False)
    server.stop()
    lines = (folder / "all.log").read_text(encoding="utf-8").splitlines()

    # Lines are sorted, because each is written by the thread that has answered.
    assert sorted((line.split()[6], line.split()[8]) for line in lines) == [
        ("/?&X-Accel-Redirect=/fixed", "202"),
        ("/?&X-Sendfile=a.txt", "200"),
        ("/?iter&X-Accel-Redirect=/told/x", "200"),
    ]
