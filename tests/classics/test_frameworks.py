"""Sessions, forms and uploads of Bottle, CherryPy, Pyramid, Flask-Login, Django and Falcon."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from classics.conftest import DEFAULT_PROCESSES, Visitor
from real.conftest import APPS, PASSWORD, fill_django
from support.client import Connection, chunked, request

if TYPE_CHECKING:
    from pathlib import Path

    from classics.conftest import Sites
    from support.server import Servers

VISITS = 20
"""Visits, each on a connection of its own: of 500,000 runs with two workers, only one misses a worker."""
FORM = {"name": "Ἡράκλειτος", "text": "a & b = c; 100 %"}
SAID = "Ἡράκλειτος said a & b = c; 100 %"
UPLOAD_BYTES = 3_000_000
"""Size of an upload that is not kept in memory."""

FRAMEWORKS = pytest.mark.parametrize("name", ["bottle_site", "cherrypy_site", "pyramid_site"])


@FRAMEWORKS
def test_pages(site: Sites, name: str) -> None:
    """A session is the same whichever worker serves it; forms, uploads, redirects and errors work."""
    visitor = site(name)
    counts = [int(visitor.get("/")) for _ in range(VISITS)]

    assert list(range(1, VISITS + 1)) == counts
    assert SAID == visitor.post("/form", FORM)
    assert VISITS + 1 == int(visitor.get("/old"))
    assert 404 == visitor.ask("/missing")[0]
    assert 1 == int(visitor.another().get("/"))

    edge = '--edge\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n'
    body = f"{edge}Content-Type: application/octet-stream\r\n\r\n".encode()
    body += bytes(UPLOAD_BYTES) + b"\r\n--edge--\r\n"
    fields = {"Content-Type": "multipart/form-data; boundary=edge"}

    assert UPLOAD_BYTES == int(visitor.text("/upload", body, fields=fields))


@FRAMEWORKS
def test_chunked_form(site: Sites, name: str) -> None:
    """A form that comes in chunks is read like any other form."""
    server = site(name).server
    fields = [("Transfer-Encoding", "chunked"), ("Content-Type", "application/x-www-form-urlencoded")]
    head = request("/form", method="POST", fields=fields)
    with Connection(server.address, lint_answers=False) as line:
        for parts in ((b"name=a&text=b",), (b"name=a", b"&text", b"=b")):
            answer = line.ask(head + chunked(*parts))

            assert (200, b"a said b") == (answer.status, answer.body)


def test_bottle_answers(site: Sites) -> None:
    """A generator comes item by item, a file in parts, an error as a page; its traceback is in the log."""
    visitor = site("bottle_site")
    (site.data / "digits.txt").write_text("0123456789")

    assert [str(number) for number in range(100)] == visitor.get("/count").split()
    assert (206, "234") == visitor.ask("/files/digits.txt", fields={"Range": "bytes=2-4"})
    assert 500 == visitor.ask("/wrong")[0]

    visitor.server.wait_for_log("ValueError: as it was asked to")


def test_pyramid_file(site: Sites) -> None:
    """A file that Pyramid hands over arrives whole."""
    assert "Send this file." in site("pyramid_site").get("/source")


def test_login(site: Sites) -> None:
    """A login is known to every worker and to no other visitor, and ends with the logout."""
    visitor = site("login_site")

    assert "name and password?" == visitor.get("/private")
    assert "welcome, ada" == visitor.post("/login?next=/private", {"name": "ada", "password": PASSWORD})
    for _ in range(VISITS):
        assert "welcome, ada" == visitor.get("/private")
        assert "name and password?" == visitor.another().get("/private")
    assert "name and password?" == visitor.post("/logout", {})
    assert "name and password?" == visitor.get("/private")


def test_django(serve: Servers, tmp_path: Path) -> None:
    """An admin logs in, adds a book, and every worker shows it."""
    env = fill_django(tmp_path)
    static = ["--static", f"/static={tmp_path / 'static'}"]
    server = serve("shelf.wsgi:application", *static, cwd=APPS / "django_site", env=env | DEFAULT_PROCESSES)
    visitor = Visitor(server)

    def send(target: str, form: dict[str, str]) -> str:
        token = re.search('csrfmiddlewaretoken" value="([^"]+)"', visitor.get(target))
        assert token
        return visitor.post(target, form | {"csrfmiddlewaretoken": token[1]})

    assert "Site administration" in send(
        "/admin/login/?next=/admin/", {"username": "pythia", "password": PASSWORD}
    )
    for _ in range(VISITS):
        assert "pythia" in visitor.get("/admin/books/book/")
        assert 'name="password"' in visitor.another().get("/admin/books/book/")
    assert "body" in visitor.get("/static/admin/css/base.css")


def test_falcon(serve: Servers, tmp_path: Path) -> None:
    """A raw body that one worker has stored, with a length or chunked, comes unchanged from every worker."""
    env = DEFAULT_PROCESSES | {"SITE_DATA": str(tmp_path)}
    server = serve(APPS / "falcon_site" / "app.py", env=env)
    data = bytes(range(256)) * 5000
    head = request("/blob", method="PUT", fields=[("Transfer-Encoding", "chunked")])
    for stored in (data, data[::-1]):
        with Connection(server.address, lint_answers=False) as line:
            if stored is data:
                assert 204 == line.get("/blob", method="PUT", body=stored).status
            else:
                assert 204 == line.ask(head + chunked(stored[:7], stored[7:])).status
        for _ in range(VISITS):
            assert stored == server.fetch("/blob", lint_answers=False).body
    assert list(range(100)) == [int(text) for text in server.fetch("/count", lint_answers=False).body.split()]
