"""No request of any kind makes the server touch, or lose, memory that it should not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memory import memcheck
from support.client import chunked, request
from support.http import NoResponseError

if TYPE_CHECKING:
    from support.http import Response
    from support.server import Server, Servers

pytestmark = pytest.mark.long

ROUNDS = 12
"""Rounds of requests: memory lost once per round stands out from memory lost once per process."""

FOLDER = Path(__file__).parent
FORM = [("Accept", "a, b"), ("Cookie", "a=b; c=\xe9"), ("X_Odd", "x"), ("Accept", "c")]
RANGE = [("Range", "bytes=10-19,30-39")]
BODY = b"line\n" * 20
"""A body that stays in memory; `LARGE_BODY` goes to a file, see `--body-memory-max`."""
LARGE_BODY = b"line\n" * 60_000


def start(serve: Servers, folder: Path, target: str) -> Server:
    """Serve an application and a folder under memcheck, with all that can be switched on."""
    (folder / "static").mkdir()
    (folder / "static/small.txt").write_bytes(b"small" * 20)
    for name in ("static/large.bin", "large.bin"):
        (folder / name).write_bytes(b"large" * 60_000)
    flags = [
        "--static=/static=static",
        "--static-listing",
        "--body-memory-max=64k",
        f"--access-log={folder / 'access.log'}",
        "--access-log-format=json",
    ]
    command = memcheck.command(folder / "memcheck.xml", FOLDER / target, *flags)
    return serve.start(command, env=memcheck.MALLOC, cwd=folder)


def stop_and_judge(server: Server, folder: Path) -> None:
    """Stop the server; memcheck must have found no fault of ours."""
    server.stop()
    faults = memcheck.faults(folder / "memcheck.xml", ROUNDS)

    assert not faults, "\n\n".join(faults)


def ask(server: Server, target: str, **how: object) -> Response:
    """Send one request over a connection of its own; other tests check the answer."""
    return server.fetch(target, lint_answers=False, **how)  # type: ignore[arg-type]


def disturb(server: Server, target: str) -> None:
    """Be a client that breaks off, asks nonsense, or asks for everything at once."""
    upload = request("/upload", method="POST", body=LARGE_BODY)
    for data in (b"GET / HT", b"GET / HTTP/1.1\nHost: a\n\n", b"\x16\x03\x01", upload[:100_000]):
        with server.connect(lint_answers=False) as connection:
            connection.send(data)
            connection.abort()
    with server.connect(lint_answers=False, receive_buffer_bytes=4096) as connection:
        connection.send(request(target))
        connection.reader.fill()
        connection.abort()
    with server.connect(lint_answers=False) as connection:
        connection.send(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
        assert 400 == connection.receive().status
    with server.connect(lint_answers=False) as connection:
        connection.send(upload[:1000])
        connection.half_close()
        with pytest.raises(NoResponseError):
            connection.receive("POST")


def ask_for_files(server: Server) -> None:
    """Request files of the folder: from memory, from the disk, in parts, and missing ones."""
    statuses = [
        ask(server, "/static/small.txt").status,
        ask(server, "/static/small.txt", fields=RANGE).status,
        ask(server, "/static/small.txt", method="HEAD").status,
        ask(server, "/static/large.bin").status,
        ask(server, "/static/large.bin", fields=RANGE).status,
        ask(server, "/static/").status,
        ask(server, "/static/missing").status,
        ask(server, "/static/%00").status,
    ]

    assert [200, 206, 200, 200, 206, 200, 404, 400] == statuses


def test_wsgi(serve: Servers, tmp_path: Path) -> None:
    """A WSGI application answers, fails and uses ended requests, without a fault in memory."""
    server = start(serve, tmp_path, "wsgi_application.py")
    for _ in range(ROUNDS):
        for way in ("list", "large", "generator", "write", "file", "blocks", "unread", "kept"):
            answer = ask(server, f"/{way}", fields=FORM)
            assert (200, True) == (answer.status, answer.complete), way
        for body in (b"", BODY, LARGE_BODY):
            assert str(len(body)).encode() == ask(server, "/upload", method="POST", body=body).body
            assert 200 == ask(server, "/unread", method="POST", body=body).status
        for way in ("failure", "nonsense", "no-such-way"):
            assert 500 == ask(server, f"/{way}").status
        with server.connect(lint_answers=False) as connection:
            assert not connection.get("/late-failure").complete
        with server.connect(lint_answers=False) as connection:
            data = chunked(BODY, LARGE_BODY[:70_000])
            fields = [("Transfer-Encoding", "chunked"), ("Expect", "100-continue")]
            head = request("/upload", method="POST", fields=fields)
            connection.send((head + data) * 2 + request("/list") * 8)
            statuses = [connection.receive("POST").status for _ in range(2)]
            statuses += [connection.receive().status for _ in range(8)]
        assert [200] * 10 == statuses
        ask_for_files(server)
        disturb(server, "/large")
    stop_and_judge(server, tmp_path)


def test_handlers(serve: Servers, tmp_path: Path) -> None:
    """A handler answers in all ways and looks into ended requests, without a fault in memory."""
    server = start(serve, tmp_path, "handlers.py")
    for _ in range(ROUNDS):
        for way in ("str", "bytes", "stream", "cookies", "file", "input", "keep"):
            for body in (None, BODY, LARGE_BODY):
                method = "GET" if body is None else "POST"
                target = f"/{way}?a=1&a=%C3%A9&b"
                answer = ask(server, target, method=method, fields=FORM, body=body)
                status = 201 if way == "cookies" else 200
                assert (status, True) == (answer.status, answer.complete), way
        ends = {"/kept": 200, "/redirect": 302, "/abort": 418, "/nothing": 500, "/failure": 500}
        assert ends == {target: ask(server, target).status for target in ends}
        assert 206 == ask(server, "/file", fields=RANGE).status
        assert {"a": [1]} == ask(server, "/json", method="POST", body=b'{"a": [1]}').json()
        ask_for_files(server)
        disturb(server, "/bytes")
    stop_and_judge(server, tmp_path)


def test_faults_are_found(tmp_path: Path) -> None:
    """The reader of reports must tell our faults from the faults of other code."""
    ours = "<frame><obj>/lib/adyton/_core.so</obj></frame>"
    python = f"<frame><obj>/lib/libpython.so</obj><fn>{memcheck.INTERPRETER}</fn></frame>"
    lost = "<kind>Leak_DefinitelyLost</kind><xwhat><leakedblocks>{}</leakedblocks></xwhat>"
    uninitialised = "<kind>UninitCondition</kind><what>uninitialised</what>"
    cases = [
        (lost.format(12), ours, True),
        (lost.format(11), ours, False),
        (lost.format(12), python + ours, False),
        (uninitialised, ours, True),
        (uninitialised, python + ours, False),
        ("<kind>InvalidRead</kind><what>invalid</what>", python, True),
    ]
    for kind, frames, is_fault in cases:
        report = tmp_path / "memcheck.xml"
        report.write_text(f"<v><error>{kind}<stack>{frames}</stack></error></v>", encoding="ascii")

        assert is_fault == bool(memcheck.faults(report, 12)), (kind, frames)
