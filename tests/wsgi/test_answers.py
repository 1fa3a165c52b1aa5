"""The response made of an application's answer: framing, fields, status, HEAD."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.client import request
from wsgi.test_close import closed

if TYPE_CHECKING:
    from support.http import Response
    from support.server import Server

DATA = bytes(range(256)) * 4096


def get_1_0(server: Server, target: str) -> Response:
    """Return the answer to HTTP/1.0."""
    with server.connect() as connection:
        return connection.ask(request(target, version="1.0"))


def test_one_item_has_a_length(site: Server) -> None:
    """A list of one item needs no chunks."""
    response = site.fetch("/")

    assert (200, "OK") == (response.status, response.reason)
    assert b"hello, world" == response.body
    assert "text/plain; charset=utf-8" == response["Content-Type"]


def test_one_item_has_a_length_of_its_own(plain: Server) -> None:
    """The length is sent when the application has not set it."""
    assert "12" == plain.fetch("/")["Content-Length"]


@pytest.mark.parametrize(
    ("target", "body"),
    [
        ("/list", b"one two three"),
        ("/tuple", b"one two"),
        ("/generator", b"one two"),
        ("/empty", b""),
        ("/empty-first", b"late"),
        ("/many?1000", b"".join(b"%d\n" % number for number in range(1000))),
        ("/write", b"written twice returned"),
        ("/length", b"hello, world"),
    ],
)
def test_iterables(site: Server, target: str, body: bytes) -> None:
    """Lists, tuples, generators and `write` send the same bytes, on 1.1 and on 1.0."""
    with site.connect() as connection:
        for _ in range(2):
            response = connection.get(target)

            assert 200 == response.status
            assert body == response.body
            assert response.complete
    old = get_1_0(site, target)

    assert body == old.body
    assert "chunked" != old.framing
    assert old.complete


def test_unknown_length_is_chunked(plain: Server) -> None:
    """A generator has no length: chunks on 1.1, the end of the connection on 1.0."""
    assert "chunked" == plain.fetch("/generator").framing
    assert "close" == get_1_0(plain, "/generator").framing


def test_empty_items_are_no_chunks(plain: Server) -> None:
    """An empty item must not become the last chunk."""
    assert all(plain.fetch("/list").pieces)
    assert all(plain.fetch("/generator").pieces)


@pytest.mark.parametrize("mebibytes", [1, 20])
def test_large_item(site: Server, mebibytes: int) -> None:
    """A large item comes whole, also beside other requests on the connection."""
    with site.connect() as connection:
        connection.send(request(f"/large?{mebibytes}") + request("/"))

        assert DATA * mebibytes == connection.receive().body
        assert b"hello, world" == connection.receive().body


def test_large_stream(site: Server) -> None:
    """Many large items come whole."""
    assert DATA * 20 == site.fetch("/pour?20").body


@pytest.mark.parametrize(
    "target",
    [
        "/",
        "/list",
        "/generator",
        "/empty",
        "/write",
        "/length",
        "/file?0",
        "/memory?0",
        "/fields",
        "/not",
    ],
)
def test_head(site: Server, target: str) -> None:
    """HEAD must have the status and fields of GET, except fields that depend on the body."""
    with site.connect(lint_answers=target != "/fields") as connection:
        got = connection.get(target)
        head = connection.get(target, method="HEAD")
        after = connection.get("/")

    skipped = {"date", "transfer-encoding"}
    if "Content-Length" not in head:
        skipped.add("content-length")

    assert got.status == head.status
    assert b"" == head.body
    assert [field for field in got.fields if field[0].lower() not in skipped] == [
        field for field in head.fields if field[0].lower() not in skipped
    ]
    assert b"hello, world" == after.body


def test_head_keeps_the_length(site: Server) -> None:
    """A length that the application has set is right for HEAD, too."""
    assert "12" == site.fetch("/length", method="HEAD")["Content-Length"]


@pytest.mark.parametrize("status", ["204+No+Content", "304+Not+Modified"])
def test_no_body_allowed(site: Server, status: str) -> None:
    """204 and 304 have no body and no framing; the connection goes on."""
    with site.connect() as connection:
        response = connection.get(f"/bodyless?{status}")

        assert int(status[:3]) == response.status
        assert "yes" == response["X-Kept"]
        assert '"a"' == response["ETag"]
        assert b"hello, world" == connection.get("/").body


@pytest.mark.parametrize("status", [204, 304])
def test_body_where_none_is_allowed(plain: Server, status: int) -> None:
    """A body with 204 or 304 is dropped, and its length with 204."""
    with plain.connect(lint_answers=False) as connection:
        response = connection.get(f"/body-with-204?{status}")

        assert status == response.status
        assert (["5"] if status == 304 else []) == response.values("Content-Length")
        assert b"hello, world" == connection.get("/").body
    assert ["body-with-204"] == closed(plain)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("200%20OK", (200, "OK")),
        ("201%20Created", (201, "Created")),
        ("404%20Nothing%20here", (404, "Nothing here")),
        ("418%20I'm%20a%20teapot", (418, "I'm a teapot")),
        ("500%20My%20Fault", (500, "My Fault")),
        ("599%20Odd", (599, "Odd")),
    ],
)
def test_status(site: Server, status: str, expected: tuple[int, str]) -> None:
    """Status and reason are the application's, known or not."""
    with site.connect(lint_answers=False) as connection:
        response = connection.get(f"/status?{status}")

    assert expected == (response.status, response.reason)
    assert b"body" == response.body


def test_status_without_reason(plain: Server) -> None:
    """A status without a reason phrase must be accepted."""
    response = plain.fetch("/status?202")

    assert 202 == response.status
    assert response.reason in {"", "Accepted"}


def test_fields(site: Server) -> None:
    """Fields keep their order, repeat as given, and are latin-1."""
    response = site.fetch("/fields", lint_answers=False)

    assert ["a=1", "b=2"] == response.values("Set-Cookie")
    assert ["1", "2"] == response.values("X-Order")
    assert ["caf\xe9 \xff"] == response.values("X-Latin")
    assert [""] == response.values("X-Empty")
    assert ["Accept", "Cookie"] == response.values("Vary")
    names = [name.lower() for name, _ in response.fields]
    assert names.index("set-cookie") < names.index("x-order") < names.index("x-latin")


def test_white_space_in_values(plain: Server) -> None:
    """White space inside a value must stay; around a value it is removed (RFC 9110 5.5)."""
    response = plain.fetch("/spaces")

    assert "a\tb" == response["X-Tab"]
    assert "a b" == response["X-Around"]


def test_own_date_and_server(site: Server) -> None:
    """Date and Server of the application are kept, once."""
    response = site.fetch("/own")

    assert "Thu, 01 Jan 2026 00:00:00 GMT" == response["Date"]
    assert "mine" == response["Server"]


def test_hop_by_hop_is_dropped(plain: Server) -> None:
    """Fields about the connection, which belongs to the server, must be dropped, and logged."""
    mark = plain.mark()
    with plain.connect() as connection:
        response = connection.get("/hop-by-hop")

        assert b"hop" == response.body
        assert "yes" == response["X-Kept"]
        for name in ("Keep-Alive", "Upgrade", "Trailer", "TE", "Proxy-Connection"):
            assert name not in response
        assert "X-Evil" not in response.values("Connection")
        assert b"hello, world" == connection.get("/").body
    plain.wait_for_log("Connection", since=mark)


@pytest.mark.parametrize("status", ["100", "101", "103", "199"])
def test_informational_is_no_answer(plain: Server, status: str) -> None:
    """An application cannot send 1xx: it is a 500 and a line in the log."""
    mark = plain.mark()

    assert 500 == plain.fetch(f"/informational?{status}").status
    plain.wait_for_log(status, since=mark)


def test_length_too_small(plain: Server) -> None:
    """A body longer than its Content-Length must be cut there, so that the connection stays usable."""
    for how in ("one", "several"):
        with plain.connect() as connection:
            connection.send(request(f"/too-much?{how}") + request("/"))
            response = connection.receive()

            assert b"hello" == response.body
            if not response.closing:
                assert b"hello, world" == connection.receive().body
    assert ["too-much", "too-much"] == closed(plain, 2)


def test_length_too_large(plain: Server) -> None:
    """A body shorter than its Content-Length must end the connection, so that the client notices."""
    with plain.connect() as connection:
        connection.send(request("/too-little") + request("/"))
        response = connection.receive()

        assert b"hello" == response.body
        assert not response.complete
    assert ["too-little"] == closed(plain)
    plain.wait_for_log("(?i)content-length")


def test_start_in_generator(plain: Server) -> None:
    """An empty item may come before start_response."""
    assert b"started late" == plain.fetch("/headers-set-in-generator").body


def test_web_socket(plain: Server) -> None:
    """A WebSocket is refused with a reason; any other `Upgrade` is ignored (RFC 9110, 7.8)."""
    upgrade = [("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13")]
    key = ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
    with plain.connect() as connection:
        refused = connection.get("/", fields=[*upgrade, key])

        assert 501 == refused.status
        assert b"WebSockets are not served" in refused.body
        for fields in (upgrade, [key]):
            assert b"hello, world" == connection.get("/", fields=fields).body
