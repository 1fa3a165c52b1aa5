"""The harness itself: it must not let wrong answers pass."""

from __future__ import annotations

import os

import pytest

from support import lint
from support.client import Asked, chunked, request
from support.http import MalformedError, NoResponseError, Reader
from support.server import Log

DATE = b"Date: Fri, 20 Nov 2026 12:00:00 GMT\r\n"


def reader(data: bytes, size: int = 1) -> Reader:
    """Return a reader of `data`, which comes in pieces of `size` bytes."""
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    return Reader(lambda: pieces.pop(0) if pieces else b"")


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.0 200 OK\r\n" + DATE + b"Content-Length: 0\r\n\r\n",
        b"HTTP/1.1 20 OK\r\n" + DATE + b"Content-Length: 0\r\n\r\n",
        b"HTTP/1.1 200\r\n" + DATE + b"Content-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\n" + DATE + b"Content-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nDate: today\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + DATE + DATE + b"Content-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + DATE + b"Content-Length: 0\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + DATE + b"Content-Length: +0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + DATE + b"Content-Length : 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + DATE + b"X-A:  two\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + DATE + b"X-A: b \r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + DATE + b"X-A: b\r\n c\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + DATE + b"X-A: \x01\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\n" + DATE + b"Content-Length: 0\r\n\r\n",
        b"HTTP/1.1 304 Not Modified\r\n" + DATE + b"Transfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + DATE + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + DATE + b"Transfer-Encoding: gzip\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + DATE + b"\r\nuntil close",
        b"HTTP/1.1 200 OK\r\n" + DATE + b"Transfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + DATE + b"Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + DATE,
    ],
)
@pytest.mark.parametrize("size", [1, 10_000])
def test_malformed(data: bytes, size: int) -> None:
    """A response that is not exactly right is an error, in whatever pieces it comes."""
    with pytest.raises(MalformedError):
        reader(data, size).response()


@pytest.mark.parametrize("size", [1, 3, 10_000])
def test_well_formed(size: int) -> None:
    """Responses one after the other, with bodies of all framings, must be read whole."""
    head = b"HTTP/1.1 200 OK\r\n" + DATE
    data = b"HTTP/1.1 100 Continue\r\n\r\n" + head + b"Content-Length: 5\r\n\r\nhello"
    data += head + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(b"he", b"llo")
    data += b"HTTP/1.1 304 Not Modified\r\n" + DATE + b"Content-Length: 5\r\n\r\n"
    data += head + b"X-Empty: \r\nConnection: close\r\n\r\nto the end"
    stream = reader(data, size)
    answers = [stream.response() for _ in range(4)]

    assert [b"hello", b"hello", b"", b"to the end"] == [answer.body for answer in answers]
    assert ["length", "chunked", "none", "close"] == [answer.framing for answer in answers]
    assert [100] == answers[0].interim
    assert [b"he", b"llo"] == answers[1].pieces
    with pytest.raises(NoResponseError):
        stream.response()


@pytest.mark.parametrize(
    "body",
    [
        b"Content-Length: 9\r\n\r\nhello",
        b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n9\r\nhello",
        b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
    ],
)
def test_cut(body: bytes) -> None:
    """A body that ends early is not complete."""
    response = reader(b"HTTP/1.1 200 OK\r\n" + DATE + body).response()

    assert b"hello" == response.body
    assert not response.complete


def test_lint_finds_fault() -> None:
    """Faults that httplint finds must be reported."""
    head = (
        b"HTTP/1.1 %b\r\n"
        + DATE
        + b"Content-Type: text/plain; charset=utf-8\r\n%bContent-Length: 2\r\n\r\nok"
    )
    asked = Asked("GET", "/", [("Host", "localhost")])
    good = reader(head % (b"200 OK", b"")).response()
    bad = reader(head % (b"302 Found", b"")).response()
    date = reader(head % (b"200 OK", b"Last-Modified: yesterday\r\n")).response()

    assert [] == lint.bad_notes(good, asked)
    assert [] != lint.bad_notes(bad, asked)
    assert [] != lint.bad_notes(date, asked)


def test_request() -> None:
    """Requests must be built with exactly these bytes."""
    assert b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" == request()
    assert b"POST /a HTTP/1.1\r\nHost: b\r\nContent-Length: 2\r\n\r\nok" == request(
        "/a", method="POST", fields=[("Host", "b")], body=b"ok"
    )


def test_log_is_up_to_date() -> None:
    """A look at the log must show each line written before, even if the log's reader has had no CPU since."""
    read_end, write_end = os.pipe()
    log = Log(read_end)
    for number in range(200):
        line = f"line {number}\n"
        os.write(write_end, line.encode())
        assert log.text().endswith(line)
    os.close(write_end)

    assert log.join(10).endswith("line 199\n")


def test_log_of_whole_characters() -> None:
    """A character that comes in two pieces is one character."""
    read_end, write_end = os.pipe()
    log = Log(read_end)
    os.write(write_end, b"half \xc3")
    log.wait_for("half")
    os.write(write_end, b"\xa9 and \xff whole\n")
    os.close(write_end)

    assert "half \u00e9 and \\xff whole\n" == log.join(10)
