"""Applications that fail: the client sees a plain page or a cut answer, the log the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.client import request
from wsgi.test_close import closed

if TYPE_CHECKING:
    from support.server import Server


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("/raises", "RuntimeError: raised-before-start"),
        ("/raises-after-start", "RuntimeError: raised-after-start"),
        ("/raises-at-first", "RuntimeError: raised-at-first"),
        ("/file-raises", "OSError: disk-is-broken"),
    ],
)
def test_exception_before_output(plain: Server, target: str, said: str) -> None:
    """An exception is a 500 without internals, and a traceback with the request line in the log."""
    mark = plain.mark()
    with plain.connect() as connection:
        response = connection.get(f"{target}?secret")

        assert 500 == response.status
        assert "X-Lost" not in response
        for secret in ("Traceback", "RuntimeError", "raised", "secret", ".py", "/work", "/usr"):
            assert secret not in response.body.decode()
        if not response.closing:
            assert b"hello, world" == connection.get("/").body
    text = plain.wait_for_log(said, since=mark)
    assert "Traceback (most recent call last)" in text
    assert f"{target}?secret" in text
    assert "applications.py" in text


@pytest.mark.parametrize(
    ("target", "said"),
    [("/exits", "exit-in-request"), ("/interrupts", "interrupt-in-request")],
)
def test_exit_is_no_exit(plain: Server, target: str, said: str) -> None:
    """SystemExit and KeyboardInterrupt in a request are a 500; the process lives on."""
    assert 500 == plain.fetch(target).status
    plain.wait_for_log(said)
    assert b"hello, world" == plain.fetch("/").body


def test_exception_midway_chunked(plain: Server) -> None:
    """A cut answer must lack its last chunk and end the connection, so that the client notices."""
    with plain.connect() as connection:
        connection.send(request("/raises-midway") + request("/"))
        response = connection.receive()

        assert 200 == response.status
        assert b"sent before" == response.body
        assert "chunked" == response.framing
        assert not response.complete
    plain.wait_for_log("RuntimeError: raised-midway")
    assert ["raises-midway"] == closed(plain)


def test_exception_midway_with_length(plain: Server) -> None:
    """If there is a Content-Length, the connection must end before so many bytes are sent."""
    with plain.connect() as connection:
        response = connection.get("/raises-midway?100")

        assert b"sent before" == response.body
        assert not response.complete


def test_exception_midway_on_1_0(plain: Server) -> None:
    """On HTTP/1.0 a cut answer ends with the connection, as a whole one does."""
    with plain.connect() as connection:
        connection.send(request("/raises-midway", version="1.0"))
        response = connection.receive()

        assert b"sent before" == response.body
        assert "close" == response.framing


def test_exception_in_close(plain: Server) -> None:
    """An exception in close is only logged: the answer was complete."""
    with plain.connect() as connection:
        response = connection.get("/raises-in-close")

        assert b"all sent" == response.body
        assert response.complete
        assert b"hello, world" == connection.get("/").body
    plain.wait_for_log("RuntimeError: raised-in-close")
    assert ["raises-in-close"] == closed(plain)


@pytest.mark.parametrize(
    "what", ["none", "int", "str", "strs", "ints", "bytearray", "memoryview", "nones", "object"]
)
def test_wrong_results(plain: Server, what: str) -> None:
    """A result that is no iterable of bytes is a 500, and the log says what it was."""
    mark = plain.mark()

    assert 500 == plain.fetch(f"/returns?{what}").status
    names = {
        "none": "NoneType",
        "int": "int",
        "str": "str",
        "strs": "str",
        "ints": "int",
        "bytearray": "bytearray",
        "memoryview": "memoryview",
        "nones": "NoneType",
        "object": "object",
    }
    plain.wait_for_log(rf"\b{names[what]}\b", since=mark)
    assert b"hello, world" == plain.fetch("/").body


def test_wrong_second_item(plain: Server) -> None:
    """After data it is too late for a 500: the answer is cut."""
    with plain.connect() as connection:
        response = connection.get("/second-item")

        # The first item may not have been sent yet; then there is time for a 500.
        if response.status == 200:
            assert b"bytes" == response.body
            assert not response.complete
        else:
            assert 500 == response.status
    assert ["second-item"] == closed(plain)


def test_wsgi_errors(site: Server) -> None:
    """Text written to wsgi.errors is in the log, in any script."""
    assert 200 == site.fetch("/errors").status
    site.wait_for_log("^.*written \u00e9\u20ac$")
    site.wait_for_log("^.*several pieces$")


def test_validator_is_content(validated: Server) -> None:
    """The validator must find no fault with a right application."""
    assert b"hello, world" == validated.fetch("/").body
    assert "AssertionError" not in validated.log()


def test_wsgi_errors_as_stderr(plain: Server) -> None:
    """The stream has what print, logging and libraries for terminals ask of sys.stderr."""
    mark = plain.mark()

    assert b"[10, False, 'utf-8', 'backslashreplace', True, False]" == plain.fetch("/errors-as-stderr").body
    for line in ("printed there", "logged there", "bytes \u20ac", r"no text: \\xff"):
        plain.wait_for_log(f"^.*{line}$", since=mark)
