"""Rules 38 to 42: properties of every answer that the server itself makes."""

from __future__ import annotations

import re
import time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

import pytest

from support.client import Feed, exchange, request

if TYPE_CHECKING:
    from pathlib import Path

    from support.http import Response
    from support.server import Server, Servers

HOST = b"\r\nHost: localhost\r\n"

ERRORS = [
    pytest.param(400, b"GET /<script>alert(1)</script> HTTP/1.1\r\n\r\n", id="400"),
    pytest.param(400, b"GET / HTTP/1.1" + HOST + b"<script>: x\r\n\r\n", id="400 name"),
    pytest.param(400, b"GET / HTTP/1.1\r\nHost: <script>\r\n\r\n", id="400 host"),
    pytest.param(414, b"GET /<script>" + b"x" * 9000, id="414"),
    pytest.param(417, b"GET / HTTP/1.1" + HOST + b"Expect: <script>\r\n\r\n", id="417"),
    pytest.param(431, b"GET / HTTP/1.1" + HOST + b"X: <script>" + b"x" * 9000, id="431"),
    pytest.param(505, b"GET /<script> HTTP/3.0" + HOST + b"\r\n", id="505"),
]


def answer(server: Server, data: bytes) -> Response:
    """Return the answer to bytes that are not a valid request."""
    tail = request(fields=[("Connection", "close")])
    return exchange(server.address, data, Feed.WHOLE, tail=tail).responses[0]


@pytest.mark.parametrize(("status", "data"), ERRORS)
def test_error_page(server: Server, status: int, data: bytes) -> None:
    """Error pages are small HTML pages that name the status and repeat nothing of the request."""
    response = answer(server, data)

    assert status == response.status
    assert re.fullmatch(r"text/html; ?charset=utf-8", response["Content-Type"], re.IGNORECASE)
    assert 0 < len(response.body) < 4096
    assert str(status) in response.body.decode()
    assert "<script" not in response.body.decode()
    assert "Date" in response
    assert "adyton/" not in response.body.decode().lower()


@pytest.mark.parametrize(
    "data",
    [
        b"HEAD / HTTP/1.1" + HOST + b"Expect: more\r\n\r\n",
        b"HEAD / HTTP/1.1" + HOST + b"Content-Length: x\r\n\r\n",
        b"HEAD / HTTP/1.1\r\n\r\n",
    ],
    ids=["417", "400", "no host"],
)
def test_error_for_head_has_no_body(server: Server, data: bytes) -> None:
    """The error that answers a HEAD request has no body either (rule 39)."""
    with server.connect() as connection:
        response = connection.ask(data)

        assert response.status in {400, 417}
        if response.closing:
            assert connection.at_end()
        else:
            assert connection.is_silent(0.05)


def test_date_is_now(server: Server) -> None:
    """Date is the present second, even after a time without requests."""
    with server.connect() as connection:
        # For a connection that was just accepted, Date may be the time at which the event loop woke up for it.
        assert 200 == connection.get().status
        for _ in range(2):
            # Sleep longer than the second that a server may have remembered, and into the middle of a second, because
            # the server knows the end of a second only to a millisecond.
            time.sleep(2.5 - time.time() % 1)
            before = int(time.time())
            date = parsedate_to_datetime(connection.get()["Date"]).timestamp()

            assert before <= date <= time.time()


def test_server_field_says_little(server: Server) -> None:
    """By default the Server field has the server's name without a version."""
    assert "adyton" == server.fetch()["Server"]


@pytest.mark.parametrize(("setting", "expected"), [("off", []), ("a web server", ["a web server"])])
def test_server_field_is_a_setting(
    serve: Servers, application: Path, setting: str, expected: list[str]
) -> None:
    """The Server field can have another name, or be left out, in all answers."""
    server = serve(application, "--server-header", setting)

    assert expected == server.fetch().values("Server")
    assert expected == answer(server, b"GET / HTTP/1.1\r\n\r\n").values("Server")


@pytest.mark.parametrize("method", ["TRACE", "CONNECT"])
def test_method_that_is_off(server: Server, method: str) -> None:
    """TRACE is refused without an echo, and CONNECT is refused without a tunnel (rule 37)."""
    target = "localhost:80" if method == "CONNECT" else "/"
    data = request(target, method=method, fields=[("Host", "localhost:80"), ("X-Secret", "s3cret")])
    response = answer(server, data)

    assert response.status in {405, 501}
    assert b"s3cret" not in response.body


def test_refused_requests_are_logged(serve: Servers, application: Path) -> None:
    """If the level allows it, a refused request is logged, without raw bytes."""
    server = serve(application, "--log-level", "debug")
    answer(server, b"GET /\x1b[31m HTTP/1.1\r\nHost: a\r\n\r\n")

    assert "\x1b[31m" not in server.wait_for_log(r"refused with 400.*\n")
