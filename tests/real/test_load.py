"""Every page of the real applications stays the same when it is fetched many times over 64 connections.

`ADYTON_FETCHES` says how often each page is fetched: the pages of Django's admin take 30 ms each.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest

from real.conftest import PASSWORD
from real.load import CONNECTIONS, Page, cookies, fetch_many
from support import client

if TYPE_CHECKING:
    from support.server import Server

FETCHES = int(os.environ.get("ADYTON_FETCHES", "10000"))
FETCHES_QUICK = 3 * CONNECTIONS
FORM = [("Content-Type", "application/x-www-form-urlencoded")]


@pytest.fixture(
    params=[
        pytest.param(FETCHES_QUICK, id="quick"),
        pytest.param(FETCHES, id="whole", marks=pytest.mark.long),
    ]
)
def count(request: pytest.FixtureRequest) -> int:
    """Return how often a page is fetched."""
    count: int = request.param
    return count


def without_tokens(body: bytes) -> bytes:
    """Blank out Django's CSRF tokens, which are masked anew in every page."""
    return re.sub(rb'(csrfmiddlewaretoken" value=")[0-9A-Za-z]{64}"', rb'\1"', body)


DJANGO_PAGES = [
    Page("/"),
    Page("/books/1/"),
    Page("/books/4/"),
    Page("/books/999/", 404),
    Page("/private/", 302),
    Page("/accounts/login/", mask=without_tokens),
    Page("/admin/login/", mask=without_tokens),
    Page("/static/books/books.css"),
    Page("/static/admin/css/base.css"),
    Page("/static/admin/img/icon-addlink.svg"),
    Page("/static/missing.css", 404),
    Page("/media/covers/pattern.svg"),
]


@pytest.mark.parametrize("page", DJANGO_PAGES, ids=lambda page: page.target)
def test_django(django_site: Server, page: Page, count: int) -> None:
    """Public pages of the Django site stay the same."""
    fetch_many(django_site.address, page, count)


@pytest.fixture(scope="module")
def session(django_site: Server) -> str:
    """Log in to the Django site; return the cookies that prove it."""
    form = django_site.fetch("/accounts/login/", lint_answers=False)
    token = re.search(rb'csrfmiddlewaretoken" value="([^"]+)"', form.body)
    assert token
    fields = {"username": "pythia", "password": PASSWORD, "csrfmiddlewaretoken": token[1].decode()}
    answer = django_site.fetch(
        "/accounts/login/",
        method="POST",
        fields=[*FORM, ("Cookie", cookies(form))],
        body=urlencode(fields).encode(),
        lint_answers=False,
    )

    assert 302 == answer.status

    return cookies(answer)


@pytest.mark.parametrize(
    "target",
    [
        "/private/",
        "/admin/",
        "/admin/books/book/",
        "/admin/books/book/add/",
        "/admin/books/book/2/change/",
        "/admin/books/book/2/delete/",
        "/admin/auth/user/",
    ],
)
def test_django_admin(django_site: Server, session: str, target: str, count: int) -> None:
    """Pages for admins stay the same, and are the admin's on each of many connections."""
    page = Page(target, fields=(("Cookie", session),), mask=without_tokens)
    first = fetch_many(django_site.address, page, count)

    assert b"pythia" in first.body


@pytest.mark.parametrize(
    "page", [Page("/"), Page("/report"), Page("/missing", 404)], ids=lambda page: page.target
)
def test_flask(flask_site: Server, page: Page, count: int) -> None:
    """Pages of the Flask site stay the same."""
    fetch_many(flask_site.address, page, count)


def test_flask_download(flask_site: Server, count: int) -> None:
    """A file that the Flask site sends stays the same, byte for byte."""
    data = bytes(range(256)) * 129
    form, body = client_form("many.bin", data)
    answer = flask_site.fetch("/upload", method="POST", fields=form, body=body, lint_answers=False)

    assert 303 == answer.status

    first = fetch_many(flask_site.address, Page("/files/many.bin"), count)

    assert data == first.body


def client_form(name: str, data: bytes) -> tuple[list[tuple[str, str]], bytes]:
    """Return the fields and the body of a form with one file."""
    part = f'Content-Disposition: form-data; name="file"; filename="{name}"'
    head = f"--edge\r\n{part}\r\nContent-Type: application/octet-stream\r\n\r\n"
    body = head.encode() + data + b"\r\n--edge--\r\n"
    return [("Content-Type", "multipart/form-data; boundary=edge")], body


@pytest.mark.parametrize(
    "page",
    [Page("/sayings"), Page("/sayings/1"), Page("/sayings/0", 404), Page("/count")],
    ids=lambda page: page.target,
)
def test_falcon(falcon_site: Server, page: Page, count: int) -> None:
    """Answers of the Falcon service stay the same, a stream of 100 items included."""
    fetch_many(falcon_site.address, page, count)


@pytest.mark.parametrize(
    "page",
    [
        Page("/handler"),
        Page("/hello?name=Ada"),
        Page("/guestbook"),
        Page("/gallery"),
        Page("/missing", 404),
        Page("/favicon.ico", 301),
        Page("/static/site.css"),
        Page("/static/gallery/vapour.png"),
    ],
    ids=lambda page: page.target,
)
def test_example_site(example_site: Server, page: Page, count: int) -> None:
    """Pages of the example site stay the same."""
    fetch_many(example_site.address, page, count)


def test_example_front_page(example_site: Server, count: int) -> None:
    """Only the client's port differs on the front page, and it is the port of the connection."""

    def without_port(body: bytes) -> bytes:
        return re.sub(rb"127\.0\.0\.1, port [0-9]{4,5}<", b"<", body)

    fetch_many(example_site.address, Page("/", mask=without_port), count)
    with client.Connection(example_site.address, lint_answers=False) as line:
        port = line.socket.getsockname()[1]

        assert f"127.0.0.1, port {port}<".encode() in line.get("/").body
