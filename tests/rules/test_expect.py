"""Rule 30: `100 Continue` is sent when the server or a streaming application is about to read the body."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from support.client import Asked, chunked, request

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Server, Servers

STREAMED = ("--stream-body=on", "--threads=2")
"""Flags with which the application itself reads the bodies."""
SILENT = 1100
"""Number of silent clients: more than there are threads that could wait for them."""
EXPECT = ("Expect", "100-continue")
SMUGGLED = request("/smuggled")


def head(target: str = "/", *fields: tuple[str, str], length: int = 5, version: str = "1.1") -> bytes:
    """Return the head of a POST that announces a body and expects `100 Continue`."""
    framed = [("Content-Length", str(length))] if length >= 0 else []
    return request(target, method="POST", fields=[EXPECT, *framed, *fields], version=version)


@pytest.fixture(params=["whole", "streamed"])
def either(request: pytest.FixtureRequest, serve: Servers, application: Path) -> Server:
    """Return a server that reads bodies whole, then one that streams them."""
    return serve(application, *(STREAMED if request.param == "streamed" else ()))


@pytest.mark.parametrize("value", ["100-continue", "100-Continue", "100-CONTINUE"])
def test_sent_when_it_is_read(either: Server, value: str) -> None:
    """A client that waits gets `100 Continue` when its body is about to be read."""
    server = either
    with server.connect() as connection:
        data = head().replace(b"100-continue", value.encode())
        connection.send(data)

        assert 100 == connection.reader.interim()

        connection.send(b"hello")
        response = connection.receive(Asked.of(data))

        assert [] == response.interim
        assert "hello" == response.json()["body"]
        assert 200 == connection.get().status


def test_chunked(either: Server) -> None:
    """A client with a body of unknown length gets `100 Continue`, too."""
    with either.connect() as connection:
        connection.send(head("/", ("Transfer-Encoding", "chunked"), length=-1))

        assert 100 == connection.reader.interim()

        connection.send(chunked(b"hel", b"lo"))

        assert "hello" == connection.receive().json()["body"]


def test_application_is_called_with_the_body(server: Server) -> None:
    """Unless bodies are streamed, the server asks for the whole body, and then calls the application."""
    server.fetch("/seen")
    with server.connect() as connection:
        connection.send(head("/unread"))

        assert 100 == connection.reader.interim()
        assert [] == server.fetch("/seen").json()

        connection.send(b"hello")

        assert 200 == connection.receive("POST").status
        assert 200 == connection.get().status


def test_silent_ones_stop_nobody(either: Server) -> None:
    """Silent clients, however many, delay no other client, and are served as soon as they send."""
    either.fetch("/seen")
    with ExitStack() as stack:
        silent = [stack.enter_context(either.connect()) for _ in range(SILENT)]
        for connection in silent:
            connection.send(head())
        for connection in silent:
            assert 100 == connection.reader.interim()
        for _ in range(10):
            assert 200 == either.fetch("/a").status
        for connection in silent[::100]:
            connection.send(b"hello")

            assert "hello" == connection.receive("POST").json()["body"]


def test_not_asked_for_in_vain(server: Server) -> None:
    """A body that the application will not get is not asked for: the final answer is sent at once."""
    with server.connect() as connection:
        connection.send(head().replace(b"POST", b"TRACE"))
        response = connection.receive("TRACE")

        assert (405, []) == (response.status, response.interim)
        assert connection.at_end()


def test_not_sent_when_nobody_reads(serve: Servers, application: Path) -> None:
    """If a streaming application does not read, its answer is sent at once, without `100`."""
    server = serve(application, *STREAMED)
    with server.connect() as connection:
        connection.send(head("/unread"))
        response = connection.receive()

        assert 200 == response.status
        assert [] == response.interim


def test_body_after_a_final_answer(serve: Servers, application: Path) -> None:
    """A client may send the body even after the final answer: the body is not taken for a request."""
    server = serve(application, *STREAMED)
    server.fetch("/seen")
    with server.connect() as connection:
        connection.send(head("/unread", length=len(SMUGGLED)))

        assert [] == connection.receive().interim

        try:
            connection.send(SMUGGLED + request("/tail"))
            again = [] if connection.at_end() else [connection.receive().json()["path"]]
        except (BrokenPipeError, ConnectionResetError):
            again = []

        assert again in ([], ["/tail"])
    assert "GET /smuggled" not in server.fetch("/seen").json()


def test_client_that_does_not_wait(server: Server) -> None:
    """A client that sends its body with the head gets one answer, with or without `100` before it."""
    with server.connect() as connection:
        connection.send(head() + b"hello" + request("/tail"))
        first, second = connection.receive("POST"), connection.receive()

        assert first.interim in ([], [100])
        assert "hello" == first.json()["body"]
        assert [] == second.interim
        assert "/tail" == second.json()["path"]


def test_only_after_earlier_answers(server: Server) -> None:
    """`100` is sent only after the answers to earlier requests of the pipeline."""
    with server.connect() as connection:
        connection.send(request("/a") + head())
        first = connection.receive()

        assert [] == first.interim
        assert "/a" == first.json()["path"]
        assert 100 == connection.reader.interim()

        connection.send(b"hello")

        assert "hello" == connection.receive("POST").json()["body"]


def test_never_after_the_answer_has_begun(server: Server) -> None:
    """An application that reads after it has begun its answer gets the body without a `100`."""
    with server.connect() as connection:
        connection.send(head("/first") + b"hello")
        response = connection.receive("POST")

        assert response.interim in ([], [100])
        assert b"started\n5\n" == response.body


def test_not_for_1_0(server: Server) -> None:
    """A client of HTTP/1.0 is sent no `100`, because HTTP/1.0 has no 1xx."""
    with server.connect() as connection:
        connection.send(head(version="1.0") + b"hello")
        response = connection.receive("POST")

        assert [] == response.interim
        assert "hello" == response.json()["body"]


def test_not_without_a_body(server: Server) -> None:
    """A request without a body gets no `100`."""
    with server.connect() as connection:
        response = connection.ask(head(length=0))

        assert [] == response.interim
        assert "" == response.json()["body"]


@pytest.mark.parametrize("value", ["nothing", "200-ok", "100-continue, more", "100", ""])
def test_other_expectations(server: Server, value: str) -> None:
    """A request with an expectation that cannot be met gets 417, and does not reach the application."""
    server.fetch("/seen")
    with server.connect() as connection:
        response = connection.get("/", method="GET", fields=[("Expect", value)])

        assert 417 == response.status
    assert [] == server.fetch("/seen").json()


@pytest.mark.parametrize("target", ["/", "/unread"])
def test_too_large(serve: Servers, application: Path, target: str) -> None:
    """A body above the limit gets 413 instead of `100` (rule 31)."""
    server = serve(application, "--body-bytes-max", "1k")
    with server.connect() as connection:
        connection.send(head(target, length=1025))
        response = connection.receive("POST")

        assert 413 == response.status
        assert [] == response.interim
        assert connection.at_end()
    assert [] == server.fetch("/seen").json()
