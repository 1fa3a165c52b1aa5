"""The control socket and its client under attack: bad questions are refused, bad answers are not believed."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest

from processes.conftest import Crowd
from support import client
from support.client import request
from support.server import run, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.server import Servers


@pytest.fixture(scope="session")
def crowd(serve_session: Servers, tmp_path_factory: pytest.TempPathFactory) -> Crowd:
    """Serve with two workers and a control socket that all tests share."""
    folder = tmp_path_factory.mktemp("control")
    target = folder / "app.py"
    target.write_text("import os\ndef handler(request):\n    return str(os.getpid())\n", encoding="ascii")
    server = serve_session(f"{target}:handler", "--processes=2", f"--control={folder / 'control.sock'}")
    servers = Crowd(server, folder / "control.sock")
    assert servers.settles(2)
    return servers


def line(method: str, target: str) -> bytes:
    """Return a request without a body."""
    return request(target, method=method, fields=[("Content-Length", "0")] if method == "POST" else [])


QUESTIONS: list[tuple[bytes, int | None]] = [
    *((line("GET", target), 404) for target in (
        "/", "/reload", "/stop", "/more", "/fewer", "/log-level?debug", "/STATUS", "/status/", "/status/x",
        "//status", "/%73tatus", "/../status", "/status%00", "/x" * 1000, "/dump?x=/../..", "/metrics/",
        "/.env", "/running/1",
    ) if target not in {"/", "/dump?x=/../.."}),
    *((line("POST", target), 404) for target in (
        "/", "/status", "/dump", "/running", "/metrics", "/livez", "/Reload", "/reload/", "/stop/now",
        "/kill", "/workers",
    )),
    *((line("POST", f"/log-level?{level}"), 400) for level in (
        "", "loud", "DEBUG", "debug%20", "%64ebug", "debug&info", "0", "warning,info", "\\n", "x" * 4000,
        "%ff", "{}",
    )),
    *((line(method, "/reload"), 404) for method in (
        "PUT", "DELETE", "PATCH", "OPTIONS", "post", "RELOAD", "PROPFIND",
    )),
    (b"\0", 400), (b"\x16\x03\x01\x02\x00", 400), (b"reload\n", 400), (b"POST /reload\r\n\r\n", 400),
    (b"POST /reload HTTP/1.1\r\n\r\n", 400), (b"POST /reload HTTP/2.0\r\nHost: a\r\n\r\n", 505),
    (b"POST /reload HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello", 413),
    (b"POST /reload HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n", 413),
    (b"POST /reload HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", 413),
    (b"POST /reload HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    (b"GET /status HTTP/1.1\r\nHost: a\r\nX: " + b"y" * 70_000 + b"\r\n\r\n", 431),
    (b"GET /" + b"s" * 70_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 414),
    (b"TRACE /status HTTP/1.1\r\nHost: a\r\n\r\n", 405),
    (b"CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n", 501), (b"", None), (b"GET /sta", None),
    (b"GET /status HTTP/1.1\r\nHost: a\r\n", None), (b"\r\n", None),
    (b"POST /reload HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n", None),
]  # fmt: skip
"""Bytes that are sent, before a FIN, and the status of the answer; None: there is no answer."""


def status_of(crowd: Crowd, data: bytes) -> int | None:
    """Send bytes on a connection of their own; return the status of the answer."""
    with client.Connection(str(crowd.control), lint_answers=False) as connection:
        with contextlib.suppress(BrokenPipeError):
            connection.send(data)
            connection.half_close()
        try:
            return connection.receive(client.Asked.of(data)).status
        except AssertionError:
            return None


@pytest.mark.parametrize(("data", "status"), QUESTIONS, ids=lambda value: repr(value)[:50])
def test_question(crowd: Crowd, data: bytes, status: int | None) -> None:
    """A bad question is refused, changes nothing, and the next question is answered."""
    before = client.fetch(str(crowd.control), "/status").json()

    assert status == status_of(crowd, data)

    after = client.fetch(str(crowd.control), "/status").json()
    for name in ("generation", "log_level", "processes"):
        assert before.get(name) == after.get(name)
    assert [worker["pid"] for worker in before["workers"]] == [worker["pid"] for worker in after["workers"]]


@pytest.mark.parametrize(
    "said", [b"", b"G", b"GET /status HTTP/1.1\r\n", line("GET", "/status"), line("GET", "/dump") * 9]
)
def test_silent_crowd(crowd: Crowd, said: bytes) -> None:
    """Fifty clients that connect, send something or nothing, and stay, leave room for one more client."""
    with contextlib.ExitStack() as stack:
        for _ in range(50):
            stack.enter_context(client.Connection(str(crowd.control))).send(said)

        assert crowd.settles(2)
        assert 200 == crowd.server.fetch("/").status


class Liar:
    """A server at a unix socket that gives every client the same answer."""

    def __init__(self, path: Path, answer: bytes) -> None:
        """Listen."""
        self.answer = answer
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self) -> None:
        """Answer until the end."""
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                with connection, contextlib.suppress(OSError):
                    connection.recv(65536)
                    connection.sendall(self.answer)

    def close(self) -> None:
        """End; only `shutdown` wakes `accept`."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def http(body: bytes, status: str = "200 OK", missing: int = 0) -> bytes:
    """Return an answer whose Content-Length is `missing` bytes more than its body."""
    return b"HTTP/1.1 %b\r\nContent-Length: %d\r\n\r\n%b" % (status.encode(), len(body) + missing, body)


LIES = {
    "nothing": b"",
    "garbage": b"\0\xff" * 50,
    "another protocol": b"SSH-2.0-OpenSSH_9.6\r\n",
    "half a head": b"HTTP/1.1 200 OK\r\nContent-",
    "a head alone": b"HTTP/1.1 200 OK\r\n\r\n",
    "no body": http(b"", missing=10),
    "half a body": http(b'{"workers": [{"wor', missing=1000),
    "all but the last byte": http(
        b'{"workers":[],"generation":2,"processes":1,"log_level":"info"}', missing=1
    ),
    "no length": b'HTTP/1.1 200 OK\r\n\r\n{"workers":[],"generation":2,"processes":1,"log_level":"info"}',
    "no number for a status": http(b"{}", "2OO OK"),
    "text": http(b"ready\n"),
    "null": http(b"null"),
    "a number": http(b"17"),
    "an empty object": http(b"{}"),
    "wrong types": http(b'{"workers":17,"generation":"x","processes":[],"log_level":5}'),
    "endless depth": http(b"[" * 100_000),
    "no UTF-8": http(b'"\xff\xfe"'),
    "a page": http(b"<html>"),
    "an error": http(b'"no"', "500 Oops"),
    "an error that colours": http(b'"\\u001b[31mred\\r\\n\\u0007"', "500 Oops"),
    "an error of a list": http(b"[1]", "404 Not Found"),
}
ORDERS = [
    ("status",),
    ("reload",),
    ("workers", "more"),
    ("stop",),
]


@pytest.fixture(params=LIES)
def liar(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Run a server with one of the lies."""
    liar = Liar(tmp_path / "liar.sock", LIES[request.param])
    yield tmp_path / "liar.sock"
    liar.close()


def test_lie(liar: Path) -> None:
    """Every order says in one sentence that it was not carried out, and exits with status 1."""
    for order in ORDERS:
        done = run(*order, "--control", str(liar))

        assert 1 == done.returncode, (order, done.stdout)
        assert "" == done.stdout
        assert 1 == done.stderr.count("\n")
        assert done.stderr.startswith("adyton: ")
        assert done.stderr.removesuffix("\n").isprintable()


@pytest.mark.parametrize("what", ["missing", "a file", "a folder", "stale", "a device"])
def test_no_socket(tmp_path: Path, what: str) -> None:
    """For a path at which nobody listens, the error is one sentence."""
    path = tmp_path / "control.sock"
    if what == "a file":
        path.write_text("", encoding="ascii")
    elif what == "a folder":
        path.mkdir()
    elif what == "stale":
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
    elif what == "a device":
        path.symlink_to("/dev/null")
    done = run("status", "--control", str(path))

    assert 1 == done.returncode
    assert 1 == done.stderr.count("\n")
    assert str(path) in done.stderr


def test_last(crowd: Crowd) -> None:
    """After all attacks of this file, the server is as it was before."""
    told: dict[str, Any] = json.loads(crowd.order("status", "--json"))

    assert 2 == len(told["workers"])
    assert until(lambda: 200 == crowd.server.fetch("/").status)
