"""The access log: its formats, and that a client cannot write into it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from support.client import request

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.server import Server, Servers

STAMP = r"\[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d \+0000\]"
AGENT = [("User-Agent", 'te"st'), ("Referer", "http://a/b")]


@pytest.fixture
def logged(serve: Servers, application: Path, tmp_path: Path) -> Callable[..., list[str]]:
    """Serve with an access log in a file; return its lines once the server has stopped."""

    def lines(log_format: str, ask: Callable[[Server], object], *flags: str) -> list[str]:
        file = tmp_path / "access.log"
        server = serve(application, "--access-log", str(file), "--access-log-format", log_format, *flags)
        ask(server)
        server.stop()
        return file.read_text(encoding="utf-8").splitlines()

    return lines


def asks(server: Server) -> None:
    """Make one request of each kind."""
    server.fetch("/path?query", fields=AGENT)
    server.fetch("/post", method="POST", body=b"12345")
    server.fetch("/head", method="HEAD")
    with server.connect() as connection:
        connection.ask(b"GET / HTTP/1.1\r\nBad Name: x\r\n\r\n")


def line_of(lines: list[str], part: str) -> str:
    """Return the line with this part: lines of late answers may stand behind the line of the next request."""
    (line,) = [line for line in lines if part in line]
    return line


def test_common(logged: Callable[..., list[str]]) -> None:
    """The common format has one line per request, refused ones included."""
    lines = logged("common", asks)

    assert 4 == len(lines)
    assert re.fullmatch(
        rf'127\.0\.0\.1 - - {STAMP} "GET /path\?query HTTP/1\.1" 200 5', line_of(lines, "/path")
    )
    assert re.fullmatch(rf'127\.0\.0\.1 - - {STAMP} "POST /post HTTP/1\.1" 200 5', line_of(lines, "POST"))
    assert re.fullmatch(rf'127\.0\.0\.1 - - {STAMP} "HEAD /head HTTP/1\.1" 200 -', line_of(lines, "HEAD"))
    assert re.fullmatch(rf'127\.0\.0\.1 - - {STAMP} ".*" 400 \d+', line_of(lines, '" 400 '))


def test_combined(logged: Callable[..., list[str]]) -> None:
    """The combined format adds `Referer` and `User-Agent`, escaped."""
    lines = logged("combined", asks)

    assert re.fullmatch(
        rf'127\.0\.0\.1 - - {STAMP} "GET /path\?query HTTP/1\.1" 200 5 "http://a/b" "te\\"st"',
        line_of(lines, "/path"),
    )
    assert line_of(lines, "POST").endswith(' "-" "-"')


def test_json(logged: Callable[..., list[str]]) -> None:
    """Each line is a JSON object with the same names."""
    entries: list[dict[str, Any]] = [json.loads(line) for line in logged("json", asks)]
    # The line of a late answer may stand behind the line of the next request.
    paths = ["/path", "/post", "/head"]
    entries.sort(key=lambda entry: paths.index(entry["path"]) if entry["path"] in paths else len(paths))

    assert 1 == len({tuple(entry) for entry in entries})
    assert {
        "client": "127.0.0.1",
        "user": None,
        "host": "localhost",
        "method": "GET",
        "path": "/path",
        "protocol": "HTTP/1.1",
        "status": 200,
        "bytes": 5,
        "referer": "http://a/b",
        "user_agent": 'te"st',
    }.items() <= entries[0].items()
    assert [200, 200, 200, 400] == [entry["status"] for entry in entries]
    assert [5, 5, 0] == [entry["bytes"] for entry in entries[:3]]
    assert entries[0]["duration_us"] >= 0


def test_atoms(logged: Callable[..., list[str]]) -> None:
    """A format may be made of atoms in Apache's notation."""
    atoms = r'%h|%m|%U|%q|%H|%>s|%s|%B|%b|%D|%T|%{Host}i|%{X-None}i|%%|%l|%u\t"%r"'
    line = line_of(logged(atoms, asks), "|/path|")

    assert re.fullmatch(
        r"127\.0\.0\.1\|GET\|/path\|\?query\|HTTP/1\.1\|200\|200\|5\|5\|\d+\|\d+\|localhost\|-\|%\|-\|-"
        '\t"GET /path\\?query HTTP/1.1"',
        line,
    )


def test_client_cannot_forge_lines(logged: Callable[..., list[str]]) -> None:
    """Quotes, control bytes and the like from a client come out escaped."""

    def ask(server: Server) -> None:
        server.fetch("/%22%0a\"'\\", fields=[("User-Agent", 'a" 200 5\t\xe9\xff\\')], lint_answers=False)
        with server.connect() as connection:
            connection.send(b"GET /\x1b[31m\n\nforged HTTP/1.1\r\n\r\n")
            connection.receive()

    lines = logged("combined", ask)

    assert 2 == len(lines)
    assert r'"a\" 200 5\t\xe9\xff\\"' in line_of(lines, r'"GET /%22%0a\"')
    assert all("\x1b" not in line for line in lines)
    assert all(line.isprintable() for line in lines)


def test_json_is_always_json(logged: Callable[..., list[str]]) -> None:
    """Whatever a client sends, a line stays JSON."""

    def ask(server: Server) -> None:
        server.fetch("/\"'\\", fields=[("User-Agent", 'a"\t\xe9\xff\\')], lint_answers=False)

    entry = json.loads(logged("json", ask)[0])

    assert "/\"'\\" == entry["path"]
    assert entry["user_agent"].startswith('a"\t')


def test_streams_and_files(logged: Callable[..., list[str]], tmp_path: Path) -> None:
    """A line must have the number of bytes in the body, for streams, files and a 304."""
    (tmp_path / "file.bin").write_bytes(b"x" * 200_000)

    def ask(server: Server) -> None:
        server.fetch("/pour?3")
        tag = server.fetch("/files/file.bin")["ETag"]
        server.fetch("/files/file.bin", fields=[("If-None-Match", tag)])
        server.fetch("/files/file.bin", fields=[("Range", "bytes=0-9")])
        server.fetch("/files/missing")

    # The line of a stream may stand behind the line of the next request; lines of files are in order.
    stream = "/pour 200 196608"
    lines = logged("%U %s %B", ask, "--static", f"/files={tmp_path}")
    files = [line.removeprefix("/files/") for line in lines if line != stream]

    assert stream in lines
    assert ["file.bin 200 200000", "file.bin 304 0", "file.bin 206 10"] == files[:3]
    assert files[3].startswith("missing 404 ")


def test_each_of_a_pipeline(logged: Callable[..., list[str]]) -> None:
    """Pipelined requests have a line each, in order."""

    def ask(server: Server) -> None:
        with server.connect() as connection:
            connection.send(b"".join(request(f"/{number}") for number in range(200)))
            for _ in range(200):
                connection.receive()

    assert [f"/{number}" for number in range(200)] == logged("%U", ask)


def test_is_appended(logged: Callable[..., list[str]], tmp_path: Path) -> None:
    """A log that exists is continued."""
    (tmp_path / "access.log").write_text("before\n", encoding="utf-8")

    assert ["before", "/"] == logged("%U", lambda server: server.fetch("/"))


def test_on_the_output(serve: Servers, application: Path) -> None:
    """`-` is standard output; lines appear while the server runs."""
    server = serve(application, "--access-log=-", "--access-log-format", "line %U %s")
    server.fetch("/seen")

    server.wait_for_log(r"^line /seen 200$")


def test_off_by_default(serve: Servers, application: Path) -> None:
    """Without the setting nothing is written about requests."""
    server = serve(application)
    server.fetch("/seen")
    server.stop()

    assert "/seen" not in server.log()


def test_file_that_cannot_be_opened(application: Path, tmp_path: Path) -> None:
    """A log that cannot be written is reported at the start."""
    from support.server import run  # noqa: PLC0415 (only here)

    done = run("serve", str(application), "--bind", "127.0.0.1:0", "--access-log", str(tmp_path))

    assert done.returncode in {1, 2}
    assert str(tmp_path) in done.stderr


def test_full_disk(serve: Servers, application: Path) -> None:
    """If a log cannot be written later, requests go on; error and lost lines are reported once."""
    server = serve(application, "--access-log", "/dev/full")
    for _ in range(50):
        assert 200 == server.fetch().status
    server.stop()

    assert 1 == server.log().count("ADY401 error: the access log cannot be written")
    assert 50 == sum(int(lost) for lost in re.findall(r"ADY405 error: (\d+) lines", server.log()))
