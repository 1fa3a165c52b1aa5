"""Logs whose reader has stopped to read: the server does not wait for it."""

from __future__ import annotations

import os
import re
import select
from pathlib import Path
from typing import TYPE_CHECKING, Self

from support.server import LISTENING, parse_address, until

if TYPE_CHECKING:
    from types import TracebackType

    from support.client import Connection
    from support.server import Servers

APPLICATION = Path(__file__).with_name("application.py")
REQUESTS = 1500
"""Their lines are several times what a pipe holds."""


class Pipe:
    """A FIFO with a reader who reads when he is told to."""

    def __init__(self, path: Path) -> None:
        """Open it, so that a writer need not wait for that."""
        os.mkfifo(path)
        self.path = path
        self._descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self.text = ""

    def __enter__(self) -> Self:
        """Give itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        os.close(self._descriptor)

    def read(self) -> str:
        """Read what is there, and return all that was read so far."""
        while select.select([self._descriptor], [], [], 0)[0]:
            self.text += os.read(self._descriptor, 1 << 16).decode()
        return self.text


def ask(connection: Connection, page: str) -> None:
    """Ask for a page often."""
    for number in range(REQUESTS):
        assert 200 == connection.get(f"{page}?{number}-{'x' * 200}").status


def test_access_log(serve: Servers, tmp_path: Path) -> None:
    """Every request is answered; lines that do not fit are lost, which is told, and others whole."""
    with Pipe(tmp_path / "pipe") as pipe:
        flags = ("--access-log", str(pipe.path), "--access-log-format", "%U %q.")
        server = serve(APPLICATION, *flags)
        with server.connect(lint_answers=False) as connection:
            ask(connection, "/id")
            server.wait_for_log("ADY401 error: the access log .* its reader does not keep up")
            pipe.read()
            connection.get("/id?last")

            assert until(lambda: "/id ?last.\n" in pipe.read())

    lines = pipe.text.splitlines()
    numbers = [int(found[1]) for line in lines if (found := re.fullmatch(r"/id \?(\d+)-x{200}\.", line))]

    assert len(lines) - 1 == len(numbers), "every line but the last one is a whole one of the many"
    assert sorted(set(numbers)) == numbers
    assert 100 < len(numbers) < REQUESTS


def test_error_log(serve: Servers, tmp_path: Path) -> None:
    """Entries that do not fit are counted, and the count comes first when somebody reads again."""
    with Pipe(tmp_path / "pipe") as pipe:
        server = serve(APPLICATION, "--error-log", str(pipe.path), listeners=0)

        assert until(lambda: LISTENING.search(pipe.read()) is not None)

        server.addresses = [parse_address(LISTENING.findall(pipe.text)[0])]
        with server.connect(lint_answers=False) as connection:
            ask(connection, "/print")
            pipe.read()
            connection.get("/print")

            assert until(lambda: "are lost" in pipe.read())

    entries = pipe.text.split("stdout: one line\n")
    lost = re.search(r"(\d+) entries of this log", pipe.text)

    assert lost is not None
    assert REQUESTS + 1 == len(entries) - 1 + int(lost[1])
