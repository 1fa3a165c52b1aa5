"""Rules 33 to 35: how long a connection stays open, and in which order its requests are answered."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from support.client import request

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Server, Servers

CLOSE = [("Connection", "close")]


def test_stays_on_1_1(server: Server) -> None:
    """A connection of HTTP/1.1 takes one request after the other; no answer has a Connection field."""
    with server.connect() as connection:
        for number in range(20):
            response = connection.get(f"/{number}")

            assert 200 == response.status
            assert f"/{number}" == response.json()["path"]
            assert "Connection" not in response


@pytest.mark.parametrize(
    "value", ["close", "Close", "CLOSE", "close, x", "x, close", "keep-alive, close", " close\t,"]
)
def test_close_is_honoured(server: Server, value: str) -> None:
    """`close` from the client ends the connection, in any case and in any list."""
    with server.connect() as connection:
        response = connection.get(fields=[("Connection", value)])

        assert 200 == response.status
        assert response.closing
        assert connection.at_end()


def test_close_in_a_second_field(server: Server) -> None:
    """Connection is a list: `close` in its second field counts, too."""
    with server.connect() as connection:
        response = connection.get(fields=[("Connection", "keep-alive"), ("Connection", "close")])

        assert response.closing
        assert connection.at_end()


@pytest.mark.parametrize("value", ["closed", "not-close", '"close"'])
def test_what_looks_like_close(server: Server, value: str) -> None:
    """Only the whole word `close` ends the connection."""
    with server.connect() as connection:
        assert 200 == connection.get(fields=[("Connection", value)]).status
        assert 200 == connection.get().status


def test_1_0_closes(server: Server) -> None:
    """A connection of HTTP/1.0 ends after one answer, which is not chunked."""
    with server.connect() as connection:
        response = connection.ask(request(version="1.0"))

        assert 200 == response.status
        assert "chunked" != response.framing
        assert connection.at_end()


def test_1_0_with_keep_alive(server: Server) -> None:
    """A connection of HTTP/1.0 stays open if the client asks for it, and the answer says so."""
    with server.connect() as connection:
        for _ in range(3):
            response = connection.ask(request(version="1.0", fields=[("Connection", "Keep-Alive")]))

            assert 200 == response.status
            assert "keep-alive" == response["Connection"].lower()


def test_1_0_without_length_ends_with_the_connection(server: Server) -> None:
    """On HTTP/1.0, a body of unknown length ends with the connection, even if keep-alive was asked for."""
    with server.connect() as connection:
        data = request("/first", version="1.0", fields=[("Connection", "keep-alive")])
        response = connection.ask(data)

        assert b"started\n0\n" == response.body
        assert "close" == response.framing
        assert connection.at_end()


def test_requests_per_connection(serve: Servers, application: Path) -> None:
    """After the set number of requests the connection ends, and the last answer announces it."""
    server = serve(application, "--keep-alive-requests-max", "3")
    with server.connect() as connection:
        closing = [connection.get().closing for _ in range(3)]

        assert [False, False, True] == closing
        assert connection.at_end()


def test_idle_connection_ends(serve: Servers, application: Path) -> None:
    """An idle connection is closed without an answer when its time is over."""
    server = serve(application, "--keep-alive-timeout", "300ms")
    with server.connect() as connection:
        assert 200 == connection.get().status
        assert connection.at_end()
        assert not connection.was_reset


@pytest.mark.parametrize("count", [2, 16, 300])
def test_pipelined_in_order(server: Server, count: int) -> None:
    """Requests that are sent at once are answered in their order, each with its own body."""
    with server.connect() as connection:
        connection.send(
            b"".join(request(f"/{number}", method="POST", body=b"x" * number) for number in range(count))
        )
        told = [connection.receive("POST").json() for _ in range(count)]

        assert [f"/{number}" for number in range(count)] == [entry["path"] for entry in told]
        assert list(range(count)) == [len(entry["body"]) for entry in told]
        assert connection.is_silent(0.05)


def test_pipelined_kinds(server: Server) -> None:
    """Answers of all kinds keep their order: with and without body, chunked, HEAD."""
    requests = [
        request("/a"),
        request("/b", method="HEAD"),
        request("/first", method="POST", body=b"four"),
        request("/c", method="POST", fields=[("Transfer-Encoding", "chunked")], body=b"0\r\n\r\n"),
        request("/unread"),
        request("/d", fields=CLOSE),
    ]
    with server.connect() as connection:
        connection.send(b"".join(requests))
        answers = [connection.receive("HEAD" if b"HEAD" in data else "GET") for data in requests]

        assert [200] * 6 == [answer.status for answer in answers]
        assert b"" == answers[1].body
        assert b"started\n4\n" == answers[2].body
        assert ["/a", "/c", "/unread", "/d"] == [
            json.loads(answers[index].body)["path"] for index in (0, 3, 4, 5)
        ]
        assert connection.at_end()


def test_nothing_after_close(server: Server) -> None:
    """Requests after a request with `close` are neither answered nor passed to the application."""
    server.fetch("/seen")
    with server.connect() as connection:
        connection.send(request("/a") + request("/b", fields=CLOSE) + request("/c"))

        assert ["/a", "/b"] == [connection.receive().json()["path"] for _ in range(2)]
        assert connection.at_end()
    assert ["GET /a", "GET /b"] == server.fetch("/seen").json()


def test_split_between_requests(server: Server) -> None:
    """Pipelined requests may be split anywhere."""
    data = request("/a", method="POST", body=b"hello") + request("/b")
    for cut in range(1, len(data)):
        with server.connect() as connection:
            connection.send(data[:cut])
            connection.send(data[cut:])

            assert "hello" == connection.receive().json()["body"]
            assert "/b" == connection.receive().json()["path"]


def test_client_that_never_reads(server: Server) -> None:
    """A client that sends requests without reading fills only its own buffers; other clients are answered."""
    data = request("/" + "x" * 1000) * 64
    with server.connect(receive_buffer_bytes=4096) as greedy:
        greedy.socket.setblocking(False)  # noqa: FBT003 (a socket has no other way)
        sent = 0
        while sent < 64 << 20:
            try:
                sent += greedy.socket.send(data)
            except BlockingIOError:
                break

        assert 200 == server.fetch("/other").status
        assert sent < 64 << 20


@pytest.mark.parametrize("version", ["1.1", "1.0"])
@pytest.mark.parametrize("protocol", ["websocket", "h2c", "TLS/1.2", "unknown"])
def test_upgrade_is_ignored(server: Server, protocol: str, version: str) -> None:
    """A request to upgrade to another protocol gets the plain answer."""
    fields = [("Connection", "Upgrade, HTTP2-Settings"), ("Upgrade", protocol)]
    fields += [("HTTP2-Settings", "AAMAAABkAARAAAAAAAIAAAAA")]
    with server.connect() as connection:
        response = connection.ask(request("/a", version=version, fields=fields))

        assert 200 == response.status
        assert [] == response.interim
        assert "/a" == response.json()["path"]


def test_half_closed_client_is_answered(server: Server) -> None:
    """A client that has ended its side of the connection after its requests still gets all answers."""
    with server.connect() as connection:
        connection.send(request("/a") + request("/b"))
        connection.half_close()

        assert ["/a", "/b"] == [connection.receive().json()["path"] for _ in range(2)]
        assert connection.at_end()
