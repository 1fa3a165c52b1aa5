"""A clean stop: running requests finish, idle connections end, nobody waits for ever."""

from __future__ import annotations

import signal
import socket
import sysconfig
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.client import request
from support.server import until

if TYPE_CHECKING:
    from support.server import Servers

PROMPT_S = 20.0
"""Limit of a stop that waits for nothing; a stop that waits for a client or the application may take 30 s."""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_idle(serve: Servers, application: Path, number: signal.Signals) -> None:
    """With idle connections the end is prompt, clean, and has exit status 0."""
    server = serve(application, "--first-byte-timeout", "30s")
    with server.connect() as used, server.connect() as unused:
        used.get()
        start = time.monotonic()
        server.signal(number)

        assert used.at_end()
        assert unused.at_end()
        assert not used.was_reset
        assert 0 == server.wait()
        assert PROMPT_S > time.monotonic() - start


def test_running_request_finishes(serve: Servers, application: Path, tmp_path: Path) -> None:
    """A request in the application gets its answer, with `Connection: close`."""
    flag = tmp_path / "flag"
    server = serve(application)
    with server.connect() as connection:
        connection.send(request(f"/wait?{flag}"))
        assert until(Path(f"{flag}.started").exists)
        server.signal(signal.SIGTERM)
        assert until(lambda: cannot_connect(server.port))
        flag.touch()
        response = connection.receive()

        assert b"waited" == response.body
        assert response.closing
        assert connection.at_end()
    assert 0 == server.wait()


def test_running_stream_finishes(serve: Servers, application: Path, tmp_path: Path) -> None:
    """A stream that has begun comes to its end."""
    flag = tmp_path / "flag"
    server = serve(application)
    with server.connect() as connection:
        connection.send(request(f"/wait-midway?{flag}"))
        assert until(Path(f"{flag}.started").exists)
        server.signal(signal.SIGTERM)
        flag.touch()
        response = connection.receive()

        assert b"first second" == response.body
        assert response.complete
    assert 0 == server.wait()


def test_download_finishes(serve: Servers, application: Path) -> None:
    """A download that a client is still reading is sent to its end."""
    # The timeout is long enough for a client that reads small pieces, on a busy machine as well.
    server = serve(application, "--graceful-timeout", "120s")
    with server.connect(receive_buffer_bytes=8192) as connection:
        connection.send(request("/pour?300"))
        while not connection.reader.buffer:
            assert connection.reader.fill()
        server.signal(signal.SIGTERM)
        response = connection.receive()

        assert b"x" * 65536 * 300 == response.body
        assert response.complete
    assert 0 == server.wait()


def test_upload_finishes(serve: Servers, application: Path) -> None:
    """A request whose body is on its way is answered."""
    server = serve(application)
    with server.connect() as connection:
        connection.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello")
        assert b"hello" == server.fetch().body
        server.signal(signal.SIGTERM)
        assert until(lambda: cannot_connect(server.port))
        connection.send(b"hello")
        response = connection.receive()

        assert b"hello" == response.body
        assert response.closing
    assert 0 == server.wait()


def test_no_new_connections(serve: Servers, application: Path) -> None:
    """While the last requests finish, no new connection is taken."""
    server = serve(application)
    with server.connect() as connection:
        connection.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello")
        assert b"hello" == server.fetch().body
        server.signal(signal.SIGTERM)
        assert until(lambda: cannot_connect(server.port))

        connection.send(b"hello")

        assert b"hello" == connection.receive().body
    assert 0 == server.wait()


def test_graceful_timeout(serve: Servers, application: Path) -> None:
    """A request that does not finish within the graceful timeout is cut."""
    server = serve(application, "--graceful-timeout", "500ms")
    with server.connect() as connection:
        connection.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello")
        assert b"hello" == server.fetch().body
        start = time.monotonic()
        server.signal(signal.SIGTERM)

        assert 0 == server.wait()
        assert 0.4 < time.monotonic() - start < PROMPT_S


@pytest.mark.parametrize("numbers", [(signal.SIGTERM, signal.SIGTERM), (signal.SIGINT, signal.SIGINT)])
def test_second_signal(
    serve: Servers, application: Path, numbers: tuple[signal.Signals, signal.Signals]
) -> None:
    """A second signal ends the server at once, whoever is still connected."""
    server = serve(application)
    with server.connect() as connection:
        connection.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello")
        assert b"hello" == server.fetch().body
        server.signal(numbers[0])
        assert until(lambda: cannot_connect(server.port))
        start = time.monotonic()
        server.signal(numbers[1])
        server.wait()

        assert PROMPT_S > time.monotonic() - start


def cannot_connect(port: int) -> bool:
    """Tell whether the port is closed."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def test_second_signal_in_the_application(serve: Servers, application: Path, tmp_path: Path) -> None:
    """A second signal ends the server even if a call of the application does not return."""
    flag = tmp_path / "flag"
    server = serve(application)
    with server.connect() as connection:
        connection.send(request(f"/wait?{flag}"))
        assert until(Path(f"{flag}.started").exists)
        server.signal(signal.SIGTERM)
        assert until(lambda: cannot_connect(server.port))  # two signals at the same moment are one
        start = time.monotonic()
        server.signal(signal.SIGTERM)
        server.wait()

        assert PROMPT_S > time.monotonic() - start


def test_atexit_runs(serve: Servers, tmp_path: Path) -> None:
    """The interpreter ends as usual: functions that the application registered are run."""
    done = tmp_path / "done"
    program = tmp_path / "program.py"
    program.write_text(
        f"import atexit, pathlib\natexit.register(pathlib.Path({str(done)!r}).touch)\n"
        "def handler(request):\n    return 'ok'\n",
        encoding="utf-8",
    )
    server = serve(program)
    server.stop()

    assert done.exists()


HANDLERS = """
import asyncio, contextlib, signal

def take():
    for name in ("SIGTERM", "SIGINT", "SIGUSR1"):
        signal.signal(getattr(signal, name), signal.SIG_IGN)

take()

def handler(request):
    with contextlib.suppress(ValueError):  # only on the main thread
        take()
        signal.signal(signal.SIGUSR2, signal.SIG_IGN)
        assert signal.getsignal(signal.SIGUSR2) is signal.SIG_IGN
    asyncio.run(asyncio.sleep(0))
    return "ok"
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("threads", ["1", "4"])
def test_signals_of_the_application(
    serve: Servers, tmp_path: Path, threads: str, number: signal.Signals
) -> None:
    """Signals reach a bare server even if the application takes them over, at import or in a request."""
    program, log = tmp_path / "program.py", tmp_path / "access.log"
    program.write_text(HANDLERS, encoding="utf-8")
    server = serve(program, "--processes", "0", "--threads", threads, "--access-log", str(log))
    assert b"ok" == server.fetch().body
    log.unlink()
    server.signal(signal.SIGUSR1)
    assert until(log.exists)
    server.signal(number)

    assert 0 == server.wait()


@pytest.mark.parametrize("threads", ["1"] if sysconfig.get_config_var("Py_GIL_DISABLED") else ["1", "4"])
def test_the_interpreter_is_held(serve: Servers, application: Path, tmp_path: Path, threads: str) -> None:
    """SIGTERM ends a bare server whose application keeps the interpreter for ever; the log names the code."""
    flag, log = tmp_path / "flag", tmp_path / "access.log"
    server = serve(
        application,
        *("--processes", "0", "--threads", threads, "--graceful-timeout", "200ms", "--access-log", str(log)),
    )
    server.fetch("/first")
    with server.connect() as connection:
        connection.send(request(f"/hold?{flag}"))
        assert until(Path(f"{flag}.started").exists)
        server.signal(signal.SIGTERM)

        assert 0 == server.wait()
    assert "kept the interpreter to itself" in server.log()
    assert "in hold" in server.log()
    assert "/first" in log.read_text(encoding="utf-8")
