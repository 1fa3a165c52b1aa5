"""`start_response` and `write`: what they take, what they refuse, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from wsgi.applications import _wrong_calls

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Server, Servers

WRONG = sorted(_wrong_calls(None))
AT_SEND = {name for name in WRONG if name.startswith("length-")}
"""Mistakes that may also be found when the head is written: then the answer is a 500."""


@pytest.mark.parametrize("name", WRONG)
def test_wrong_call(plain: Server, name: str) -> None:
    """A wrong argument must raise an exception in the application, or give a 500; it is never sent."""
    with plain.connect() as connection:
        response = connection.get(f"/start?{name}")

        assert "X-Evil" not in response
        assert "X-Evil" not in str(response.fields)
        if response.status == 200:
            assert b"refused" == response.body
        else:
            assert 500 == response.status
        if not response.closing:
            assert b"hello, world" == connection.get("/").body
    noted = plain.fetch("/noted").json()
    if name not in AT_SEND:
        assert 1 == len(noted)
        assert noted[0].split(": ")[1] in {
            "TypeError",
            "ValueError",
            "UnicodeEncodeError",
            "AssertionError",
        }


KINDS = [
    ("status-int", "TypeError"),
    ("status-short", "ValueError"),
    ("status-not-latin", "UnicodeEncodeError"),
    ("fields-none", "TypeError"),
    ("field-list", "TypeError"),
    ("field-one", "ValueError"),
    ("field-three", "ValueError"),
    ("name-int", "TypeError"),
    ("name-empty", "ValueError"),
    ("value-int", "TypeError"),
    ("value-newline", "ValueError"),
    ("exc-info-list", "TypeError"),
    ("exc-info-short", "ValueError"),
]


@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_kind_of_exception(plain: Server, name: str, kind: str) -> None:
    """A value of the wrong type is a TypeError, a wrong value of the right type a ValueError."""
    plain.fetch(f"/start?{name}")

    assert [f"{name}: {kind}"] == plain.fetch("/noted").json()


@pytest.mark.parametrize(
    ("query", "status", "first"), [("", 200, "yes"), ("generator", 200, "yes"), ("replaced", 202, "no")]
)
def test_second_call_before_output(plain: Server, query: str, status: int, first: str) -> None:
    """A second call without exc_info must fail, even after a call with it; the earlier arguments apply."""
    response = plain.fetch(f"/start-twice?{query}")

    assert (status, first, b"once") == (response.status, response["X-First"], response.body)
    assert "X-Second" not in response
    (told,) = plain.fetch("/noted").json()
    assert told.startswith("RuntimeError: start_response was called again without exc_info")


def test_write_in_another_thread(plain: Server) -> None:
    """Only the thread that the server has called may use `write`; another thread gets an exception."""
    assert b"one two three" == plain.fetch("/write-in-thread").body
    told = plain.fetch("/noted").json()

    assert 2 == len(told)
    assert all(
        text.startswith("RuntimeError: write() was called") and "on another thread" in text for text in told
    )


def test_exc_info_before_output(site: Server) -> None:
    """With exc_info and nothing sent, the new status and fields replace the old ones."""
    response = site.fetch("/replaces")

    assert 503 == response.status
    assert "X-First" not in response
    assert "yes" == response["X-Second"]
    assert b"replaced" == response.body


def test_second_call_after_output(plain: Server) -> None:
    """A second call after output, without exc_info, is an error in the application."""
    with plain.connect() as connection:
        response = connection.get("/start-after-data")

        assert 200 == response.status
        assert b"data" == response.body
        assert not response.complete
    assert 1 == len(plain.fetch("/noted").json())


def test_exc_info_after_output(plain: Server) -> None:
    """After output, exc_info is raised again: the client sees a cut answer."""
    with plain.connect() as connection:
        response = connection.get("/reraises")

        assert b"data" == response.body
        assert not response.complete
    assert ["LookupError: to-be-raised-again"] == plain.fetch("/noted").json()
    plain.wait_for_log("LookupError: to-be-raised-again")


@pytest.mark.parametrize("target", ["/never-starts", "/never-starts-empty"])
def test_output_without_start(plain: Server, target: str) -> None:
    """Data without start_response is a 500, and the log says why."""
    mark = plain.mark()

    assert 500 == plain.fetch(target).status
    plain.wait_for_log("start_response", since=mark)


def test_after_the_request(plain: Server) -> None:
    """Objects that an application keeps of a request are useless afterwards, and harmless."""
    assert b"kept" == plain.fetch("/start-after-request").body

    told = plain.fetch("/start-after-request?use").json()

    assert ["RuntimeError", "RuntimeError"] == told[:2]
    assert told[2] in {"RuntimeError", "ValueError"}
    assert b"hello, world" == plain.fetch("/").body


CONSTANTS = """
import itertools

COUNT = 100
PAIRS = [(f"X-{number}", f"value {number}") for number in range(COUNT)]
DATE = ("Date", "Sun, 06 Nov 1994 08:49:37 GMT")
ODD = [DATE, ("Server", "mine"), ("Content-Length", "2"), ("X-Long", "x" * 1000)]

class Text(str):
    pass

SUBCLASSES = [(Text("X-Text"), Text("a"))]
BAD = [("X-Bad", "a\\nb")]
OTHER_LENGTH = [("Content-Length", "3")]

def application(environ, start_response):
    name = environ["PATH_INFO"][1:]
    if name == "bad" or name == "lengths":
        try:
            start_response("200 OK", [*ODD, *(BAD if name == "bad" else OTHER_LENGTH)])
        except ValueError:
            start_response("200 OK", [("Content-Length", "2"), ("X-Error", "yes")])
    elif name == "odd":
        start_response("200 OK", [*ODD, *SUBCLASSES])
    else:
        # These are kept by nobody: other pairs may have their places in memory next time.
        new = [(f"X-New-{number}", f"{name} {number}") for number in range(COUNT)]
        start_response("200 OK", list(itertools.chain.from_iterable(zip(PAIRS, new))))
    return [b"ok"]
"""


def test_constants(serve: Servers, tmp_path: Path) -> None:
    """Pairs that are the same objects in every answer arrive unchanged, and so do new pairs between them."""
    target = tmp_path / "constants.py"
    target.write_text(CONSTANTS, encoding="utf-8")
    server = serve(target, "--threads=1")
    with server.connect(lint_answers=False) as connection:
        for number in range(30):
            fields = connection.get(f"/{number}")
            for each in range(100):
                assert f"value {each}" == fields[f"X-{each}"]
                assert f"{number} {each}" == fields[f"X-New-{each}"]
            odd = connection.get("/odd")

            assert ("Sun, 06 Nov 1994 08:49:37 GMT", "mine") == (odd["Date"], odd["Server"])
            assert ("2", "a") == (odd["Content-Length"], odd["X-Text"])
            assert 1 == len(odd.values("date")) == len(odd.values("server"))
            assert "yes" == connection.get("/bad")["X-Error"] == connection.get("/lengths")["X-Error"]
