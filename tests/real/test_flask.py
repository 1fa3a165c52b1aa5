"""A Flask site: uploads and downloads, by browser and by socket, and a stream without delay."""

from __future__ import annotations

import hashlib
import time
from typing import TYPE_CHECKING

import pytest

from real.conftest import APPS
from real.test_load import client_form
from support.client import Connection, chunked, request

if TYPE_CHECKING:
    from pathlib import Path

    from real.browser import Browser
    from support.server import Server, Servers

LATE_S = 0.2
"""An item of the stream must arrive within this time after it was made; the pause between items is longer."""
ATTEMPTS = 3
"""A busy machine may delay an item, but hardly one in each of several attempts."""


def test_upload_in_browser(browser: Browser, flask_site: Server, tmp_path: Path) -> None:
    """A file chosen in a form arrives, is listed, and can be downloaded unchanged."""
    file = tmp_path / "letter.txt"
    file.write_text("From Croesus, with gold.\n" * 1000, encoding="utf-8")
    browser.open(f"http://127.0.0.1:{flask_site.port}/")
    browser.fill(file=str(file))
    browser.press("button")
    browser.look("flask-files")

    assert "letter.txt" in browser.text()
    assert [] == browser.problems()

    answer = flask_site.fetch("/files/letter.txt", lint_answers=False)

    assert file.read_bytes() == answer.body


def test_report_in_browser(browser: Browser, flask_site: Server) -> None:
    """The page with rows from SQL is complete, has the intended size, and is escaped."""
    browser.open(f"http://127.0.0.1:{flask_site.port}/report")
    browser.look("flask-report")

    assert 60 == len(browser.all("tbody tr"))
    assert "<Thebes> & Argos" in browser.text()
    assert [] == browser.problems()

    size = len(flask_site.fetch("/report", lint_answers=False).body)

    assert 6_500 <= size <= 7_500


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 65_537, 20_000_000])
def test_upload_and_download(flask_site: Server, size: int) -> None:
    """Files of any size can be downloaded unchanged, whole and in ranges."""
    data = (hashlib.sha256(str(size).encode()).digest() * (size // 32 + 1))[:size]
    fields, body = client_form(f"{size}.bin", data)
    answer = flask_site.fetch("/upload", method="POST", fields=fields, body=body, lint_answers=False)

    assert 303 == answer.status

    target = f"/files/{size}.bin"
    answer = flask_site.fetch(target, lint_answers=False)

    assert data == answer.body

    unchanged = flask_site.fetch(target, fields=[("If-None-Match", answer["etag"])], lint_answers=False)

    assert 304 == unchanged.status

    if size > 1000:
        part = flask_site.fetch(target, fields=[("Range", "bytes=100-899")], lint_answers=False)

        assert (206, data[100:900]) == (part.status, part.body)


@pytest.mark.parametrize("pieces", [1, 3, 500])
def test_chunked_upload(flask_site: Server, pieces: int) -> None:
    """A body without a length reaches Flask's stream, and the stream ends with the body."""
    data = [bytes([number % 256]) * (number * 7 % 4096 + 1) for number in range(pieces)]
    fields = [("Transfer-Encoding", "chunked")]
    head = request("/digest", method="POST", fields=fields)
    with Connection(flask_site.address, lint_answers=False) as line:
        answer = line.ask(head + chunked(*data))

        whole = b"".join(data)
        expected = {"sha256": hashlib.sha256(whole).hexdigest(), "bytes": len(whole)}
        assert expected == answer.json()
        assert 200 == line.get("/").status


@pytest.mark.parametrize("streams", ["off", "on"])
def test_body_above_the_limit(serve: Servers, tmp_path: Path, streams: str) -> None:
    """A body that turns out to be too large gets a 413, even if Flask is reading it then."""
    flags = (f"--stream-body={streams}", "--threads=2", "--body-bytes-max=1k")
    server = serve(APPS / "flask_site" / "app.py", *flags, env={"SITE_DATA": str(tmp_path)})
    fields = [("Transfer-Encoding", "chunked"), ("Expect", "100-continue")]
    with Connection(server.address, lint_answers=False) as line:
        line.send(request("/digest", method="POST", fields=fields))

        assert 100 == line.reader.interim()

        line.send(chunked(b"x" * 1025, last=b""))

        assert 413 == line.receive("POST").status


def test_stream_is_prompt(flask_site: Server) -> None:
    """Each line arrives soon after it was made, not when the stream ends."""
    latest: list[float] = []
    while not latest or (latest[-1] >= LATE_S and len(latest) < ATTEMPTS):
        delays = delays_of_stream(flask_site)

        assert 4 == len(delays)
        latest.append(max(delays))
    assert LATE_S > latest[-1], latest


def delays_of_stream(flask_site: Server) -> list[float]:
    """Return the delay of each line of the stream."""
    with Connection(flask_site.address) as line, line.socket.makefile("rb") as stream:
        line.send(request("/stream", fields=[("Connection", "close")]))
        delays = []
        for text in stream:
            # Only the times are numbers with a decimal point; heads and chunk sizes are not.
            try:
                made = float(text)
            except ValueError:
                continue
            if b"." in text:
                delays.append(time.monotonic() - made)
    return delays
