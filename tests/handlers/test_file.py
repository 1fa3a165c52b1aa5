"""`Response.file` must answer conditional requests and ranges as HTTP demands."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from support.client import request

if TYPE_CHECKING:
    from support.server import Server

DIGITS = b"0123456789" * 10_000


def test_plain(site: Server) -> None:
    """The file comes whole, with type, length and validators."""
    with site.connect() as connection:
        for _ in range(2):
            response = connection.get("/file")

            assert 200 == response.status
            assert DIGITS == response.body
            assert "text/html; charset=utf-8" == response["Content-Type"].lower()
            assert str(len(DIGITS)) == response["Content-Length"]
            assert response["ETag"]
            assert response["Last-Modified"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.png", "image/png"),
        ("a.css", "text/css; charset=utf-8"),
        ("a", "application/octet-stream"),
    ],
)
def test_type_by_name(site: Server, name: str, kind: str) -> None:
    """The type is found by the name."""
    assert kind == site.fetch(f"/file?name={name}")["Content-Type"].lower()


def test_own_type(site: Server) -> None:
    """A content type that is given must be sent."""
    assert ["text/x-own"] == site.fetch("/file?type=text/x-own").values("Content-Type")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("report.pdf", 'attachment; filename="report.pdf"'),
        ("caf\u00e9.pdf", "attachment; filename=\"caf_.pdf\"; filename*=UTF-8''caf%C3%A9.pdf"),
    ],
)
def test_download_name(site: Server, name: str, expected: str) -> None:
    """A download name must make the file an attachment, also with letters beyond ASCII."""
    assert expected == site.fetch(f"/file?download={quote(name)}")["Content-Disposition"]


def test_download_name_cannot_break_out(site: Server) -> None:
    """Quotes and line ends in the name must not end the value or the field."""
    name = quote('a"; b="c\r\nX-Evil: yes\\')
    response = site.fetch(f"/file?download={name}")

    assert "X-Evil" not in response
    assert 2 == response["Content-Disposition"].split("filename*")[0].count('"')


def test_conditional(site: Server) -> None:
    """A client that has the file gets 304 with the validators."""
    with site.connect() as connection:
        first = connection.get("/file")
        by_tag = connection.get("/file", fields=[("If-None-Match", first["ETag"])])
        by_date = connection.get("/file", fields=[("If-Modified-Since", first["Last-Modified"])])
        other = connection.get("/file", fields=[("If-None-Match", '"other"')])
        failed = connection.get("/file", fields=[("If-Match", '"other"')])

        assert [304, 304, 200, 412] == [r.status for r in (by_tag, by_date, other, failed)]
        assert first["ETag"] == by_tag["ETag"]


@pytest.mark.parametrize(
    ("field", "body", "content_range"),
    [
        ("bytes=0-4", DIGITS[:5], "bytes 0-4/100000"),
        ("bytes=99990-", DIGITS[99990:], "bytes 99990-99999/100000"),
        ("bytes=-3", DIGITS[-3:], "bytes 99997-99999/100000"),
    ],
)
def test_range(site: Server, field: str, body: bytes, content_range: str) -> None:
    """A request for a range must get that range."""
    response = site.fetch("/file", fields=[("Range", field)])

    assert 206 == response.status
    assert body == response.body
    assert content_range == response["Content-Range"]


def test_unsatisfiable_range(site: Server) -> None:
    """A range beyond the end is 416."""
    response = site.fetch("/file", fields=[("Range", "bytes=100000-")])

    assert 416 == response.status
    assert "bytes */100000" == response["Content-Range"]


def test_pipelined(site: Server) -> None:
    """Answers with files must keep their place among other pipelined answers."""
    with site.connect() as connection:
        connection.send((request("/file") + request("/")) * 3)
        for _ in range(3):
            assert DIGITS == connection.receive().body
            assert "Hello, W\u00f6rld \u20ac".encode() == connection.receive().body


def test_descriptors_are_given_back(site: Server) -> None:
    """After its answer, each sent file must be closed."""
    site.fetch("/file")
    before = site.resting_fds()
    with site.connect() as connection:
        for _ in range(50):
            connection.get("/file")

    assert site.settles_at_fds(before)


def test_only_regular_files(site: Server) -> None:
    """A FIFO that nobody writes to must be refused, and nothing may wait for a writer."""
    response = site.fetch("/fifo")

    assert 500 == response.status
    site.wait_for_log("fifo-fifo is no regular file")
