"""Logs on a disk that hangs: no request waits for the disk, and no line is lost when the disk works again."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.server import until

if TYPE_CHECKING:
    from support.server import Server, Servers

APPLICATION = Path(__file__).with_name("application.py")
SOURCE = Path(__file__).with_name("hang.c")
REQUESTS = 200


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the library that makes a disk hang."""
    path = tmp_path_factory.mktemp("hang") / "hang.so"
    subprocess.run(
        [str(shutil.which("cc")), "-shared", "-fPIC", "-o", str(path), str(SOURCE), "-ldl"], check=True
    )
    return path


class Disk:
    """A folder for logs whose disk hangs when the test tells it to."""

    def __init__(self, folder: Path, library: Path) -> None:
        """Make the folder."""
        folder.mkdir()
        self._marker = folder.parent / "hangs"
        self.error, self.access = folder / "error.log", folder / "access.log"
        self.env = {"LD_PRELOAD": str(library), "HANGS": f"{folder}/", "HANGS_WHILE": str(self._marker)}

    def hang(self) -> None:
        """Make the disk hang from now on."""
        self._marker.touch()

    def is_hanging(self, log: Path) -> bool:
        """Tell whether a write to this log is waiting."""
        return self._marker.with_name(f"hangs-{log.name}").exists()

    def go_on(self) -> None:
        """Let the waiting writes finish."""
        self._marker.unlink()

    def serve(self, serve: Servers, processes: str) -> Server:
        """Start a server that logs to this folder."""
        flags = ["--error-log", str(self.error), "--access-log", str(self.access)]
        flags += ["--access-log-format", "%U %q.", "--processes", processes, "--control", "off"]
        return serve(APPLICATION, *flags, env=self.env, log=self.error)


@pytest.fixture
def disk(tmp_path: Path, library: Path) -> Disk:
    """Return a disk of the test's own."""
    return Disk(tmp_path / "disk", library)


def ask(server: Server, first: int) -> None:
    """Request a page that prints a line, with numbers from `first` on."""
    with server.connect(lint_answers=False) as connection:
        for number in range(first, first + REQUESTS):
            assert 200 == connection.get(f"/print?{number}").status


def numbers(*paths: Path) -> list[int]:
    """Return the numbers of the requests in access logs."""
    text = "".join(path.read_text("utf-8") for path in paths if path.exists())
    return sorted(int(number) for number in re.findall(r"^/print \?(\d+)\.$", text, re.MULTILINE))


def said(*paths: Path) -> int:
    """Return how many lines of the page are in error logs."""
    return sum(path.read_text("utf-8").count("stdout: one line\n") for path in paths if path.exists())


@pytest.mark.parametrize("processes", ["0", "1"])
def test_nothing_waits(serve: Servers, disk: Disk, processes: str) -> None:
    """Requests are answered, logs can be rotated, and children end; afterwards every line is there once."""
    server = disk.serve(serve, processes)
    ask(server, 0)

    assert until(lambda: numbers(disk.access) == [*range(REQUESTS)] and REQUESTS == said(disk.error))

    disk.hang()
    ask(server, REQUESTS)

    assert until(lambda: disk.is_hanging(disk.access) and disk.is_hanging(disk.error))

    old = [path.rename(path.with_suffix(".1")) for path in (disk.access, disk.error)]
    server.signal(signal.SIGUSR1)
    ask(server, 2 * REQUESTS)
    with server.connect(lint_answers=False) as connection:
        assert 200 == connection.get("/fork").status

    assert numbers(old[0]) == [*range(REQUESTS)]

    disk.go_on()

    assert until(lambda: numbers(disk.access, old[0]) == [*range(3 * REQUESTS)])
    assert until(lambda: 3 * REQUESTS == said(disk.error, old[1]))
    server.stop()

    text = disk.error.read_text("utf-8") + old[1].read_text("utf-8")

    assert 1 == text.count("said by a child\n")
    assert "lost" not in text


@pytest.mark.parametrize("processes", ["0", "1"])
def test_stop(serve: Servers, disk: Disk, processes: str) -> None:
    """A server can stop although writes to its logs hang."""
    server = disk.serve(serve, processes)
    disk.hang()
    ask(server, 0)

    assert until(lambda: disk.is_hanging(disk.access) and disk.is_hanging(disk.error))

    server.stop()

    assert [] == numbers(disk.access)


def test_killed(serve: Servers, disk: Disk) -> None:
    """Lines and entries that a killed worker has not written are written by its supervisor."""
    server = disk.serve(serve, "1")
    with server.connect(lint_answers=False) as connection:
        pid = int(connection.get("/pid").body)
    disk.hang()
    ask(server, 0)

    assert until(lambda: disk.is_hanging(disk.access) and disk.is_hanging(disk.error))

    os.kill(pid, signal.SIGKILL)
    disk.go_on()

    assert until(lambda: numbers(disk.access) == [*range(REQUESTS)])
    assert until(lambda: said(disk.error) >= REQUESTS)
