"""Logs whose reader has stopped reading, or never began: the server does not wait for it."""

from __future__ import annotations

import os
import re
import select
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pytest

from support import client
from support.server import until

if TYPE_CHECKING:
    from types import TracebackType

    from support.client import Connection
    from support.server import Server, Servers

APPLICATION = Path(__file__).with_name("application.py")
REQUESTS = 2500
"""Number of requests whose lines are more than twice what a pipe and the smallest queue hold together."""
SMALLEST = "--log-queue-bytes-max=64k"
LINE = re.compile(r"^/id \?(\d+)-x{200}\.$", re.MULTILINE)
LOST_LINES = re.compile(r"ADY405 error: (\d+) lines of the access log were lost")
LOST_ENTRIES = re.compile(r"ADY403 error: (\d+) entries of this log could not be written")
ADMIN = re.compile(r"^  admin    http://([0-9.]+):(\d+)$", re.MULTILINE)


class Pipe:
    """A FIFO that is opened for reading, and read, when the test says so."""

    def __init__(self, path: Path) -> None:
        """Make the FIFO, without a reader."""
        os.mkfifo(path)
        self.path = path
        self._descriptor: int | None = None
        self.text = ""

    def __enter__(self) -> Self:
        """Return the pipe."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the pipe."""
        if self._descriptor is not None:
            os.close(self._descriptor)

    def open(self) -> Self:
        """Open the FIFO for reading."""
        self._descriptor = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
        return self

    def read(self) -> str:
        """Read the bytes that have come, and return everything that was read so far."""
        assert self._descriptor is not None
        while select.select([self._descriptor], [], [], 0)[0]:
            taken = os.read(self._descriptor, 1 << 16).decode()
            if not taken:
                break
            self.text += taken
        return self.text


def ask(connection: Connection, page: str, count: int = REQUESTS) -> None:
    """Request a page many times."""
    for number in range(count):
        assert 200 == connection.get(f"{page}?{number}-{'x' * 200}").status


def lost(pattern: re.Pattern[str], text: str) -> int:
    """Return the sum of the losses that a log reports."""
    return sum(int(found) for found in pattern.findall(text))


def is_there(port: int) -> bool:
    """Tell whether a server listens at the port."""
    try:
        client.Connection(("127.0.0.1", port)).abort()
    except OSError:
        return False
    return True


def lines_lost(server: Server, log: str) -> int:
    """Return the number of lost lines in the metrics."""
    found = ADMIN.search(server.log())
    assert found
    metrics = client.fetch((found[1], int(found[2])), "/metrics").body.decode()
    (number,) = re.findall(rf'^adyton_log_lines_lost_total{{log="{log}"}} (\d+)$', metrics, re.MULTILINE)
    return int(number)


@pytest.mark.parametrize("reader", ["stands", "comes"])
@pytest.mark.parametrize("processes", ["0", "1"])
def test_access_log(serve: Servers, tmp_path: Path, processes: str, reader: str) -> None:
    """Every request is answered; lines that do not fit are counted, and all others are whole and in order."""
    with Pipe(tmp_path / "pipe") as pipe:
        if reader == "stands":
            pipe.open()
        flags = ["--access-log", str(pipe.path), "--access-log-format", "%U %q.", SMALLEST]
        flags += ["--processes", processes, "--control", "off"]
        flags += ["--admin", "127.0.0.1:0"] if processes == "1" else []
        server = serve(APPLICATION, *flags)
        with server.connect(lint_answers=False) as connection:
            ask(connection, "/id")
            server.wait_for_log("ADY401 error: the access log .* as fast as it comes")
            if reader == "comes":
                pipe.open()

            assert until(lambda: bool(pipe.read() and LOST_LINES.search(server.log())))

            connection.get("/id?last")

            assert until(lambda: "/id ?last.\n" in pipe.read())

        numbers = [int(number) for number in LINE.findall(pipe.text)]
        missing = lost(LOST_LINES, server.log())

        assert len(pipe.text.splitlines()) - 1 == len(numbers), "every line but the last is whole"
        assert sorted(set(numbers)) == numbers
        assert REQUESTS == len(numbers) + missing
        assert len(numbers) > 100
        assert processes == "0" or missing == lines_lost(server, "access")


@pytest.mark.parametrize("reader", ["stands", "comes"])
@pytest.mark.parametrize("processes", ["0", "1"])
def test_error_log(serve: Servers, tmp_path: Path, port: int, processes: str, reader: str) -> None:
    """Entries that do not fit are counted, and the log has their count at the place where they are missing."""
    with Pipe(tmp_path / "pipe") as pipe:
        if reader == "stands":
            pipe.open()
        flags = ["--error-log", str(pipe.path), SMALLEST, "--processes", processes, "--control", "off"]
        server = serve(APPLICATION, *flags, bind=f"127.0.0.1:{port}", listeners=0)

        assert until(lambda: is_there(port))

        server.addresses = [("127.0.0.1", port)]
        with server.connect(lint_answers=False) as connection:
            ask(connection, "/print")
            if reader == "comes":
                pipe.open()

            assert until(lambda: "are lost" in pipe.read())

            connection.get("/print")
            count = REQUESTS + 1
            whole = r"request [0-9a-f]{16} stdout: one line$"

            def told() -> int:
                text = pipe.read()
                return len(re.findall(whole, text, re.MULTILINE)) + lost(LOST_ENTRIES, text)

            assert until(lambda: count == told()), (count, told())
            assert pipe.text.endswith("one line\n")


def test_stop_does_not_wait(serve: Servers, tmp_path: Path) -> None:
    """A reader that does not read delays no stop; lines that were not written are counted in the error log."""
    with Pipe(tmp_path / "pipe") as pipe:
        pipe.open()
        server = serve(APPLICATION, "--access-log", str(pipe.path), "--access-log-format", "%U %q.")
        with server.connect(lint_answers=False) as connection:
            ask(connection, "/id")
        server.stop()
        numbers = LINE.findall(pipe.read())

        assert len(numbers) > 100
        assert REQUESTS == len(numbers) + lost(LOST_LINES, server.log())


def test_stop_does_not_wait_for_the_error_log(serve: Servers, tmp_path: Path, port: int) -> None:
    """A full error log does not delay a stop, although the loss of its entries cannot be reported anywhere."""
    with Pipe(tmp_path / "pipe") as pipe:
        flags = ["--error-log", str(pipe.path), SMALLEST, "--processes", "1", "--control", "off"]
        server = serve(APPLICATION, *flags, bind=f"127.0.0.1:{port}", listeners=0)

        assert until(lambda: is_there(port))

        server.addresses = [("127.0.0.1", port)]
        with server.connect(lint_answers=False) as connection:
            ask(connection, "/print")
        server.stop()
