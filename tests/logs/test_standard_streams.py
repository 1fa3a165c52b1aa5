"""If an application closes its standard streams, output to them reaches no client."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.server import adyton, until

if TYPE_CHECKING:
    from support.server import Servers

APPLICATION = Path(__file__).with_name("application.py")
WAYS = {
    "one process": ["--processes", "0"],
    "worker": ["--processes", "1", "--control", "off"],
    "forked worker": ["--processes", "1", "--control", "off", "--preload"],
}


@pytest.mark.parametrize("captures", ["on", "off"])
@pytest.mark.parametrize("when", ["import", "request"])
@pytest.mark.parametrize("way", WAYS)
def test_closed(serve: Servers, way: str, when: str, captures: str) -> None:
    """No connection gets the number of a closed stream, and both logs still go where they went before."""
    flags = [*WAYS[way], "--access-log", "-", "--access-log-format", "%m %U %q", "--capture-output", captures]
    env = {"CLOSES_STREAMS": "1"} if when == "import" else {}
    server = serve(APPLICATION, *flags, "--log-level", "debug", env=env)
    pid = int(server.fetch("/pid").body)
    if when == "request":
        assert 200 == server.fetch("/close-streams").status
    connections = [server.connect(lint_answers=False) for _ in range(6)]
    try:
        for turn in range(3):
            # Output that went to a client would come before the client's next answer.
            for page in ("/write-raw", "/print", "/errors", "/fail", f"/id?{turn}"):
                for connection in connections:
                    assert connection.get(page).status == (500 if page == "/fail" else 200)
    finally:
        for connection in connections:
            connection.abort()
    numbers = [Path(f"/proc/{pid}/fd/{number}").readlink() for number in range(3)]

    assert [Path(os.devnull)] * 3 == numbers

    server.wait_for_log("ADY201 error: GET /fail failed:", count=18)
    server.wait_for_log(r"^GET /id \?2$", count=6)
    server.wait_for_log(r"said to wsgi\.errors$", count=18)


@pytest.mark.parametrize("processes", ["0", "1"])
def test_closed_from_the_start(serve: Servers, tmp_path: Path, processes: str) -> None:
    """If a server is started without standard streams, no socket gets their numbers."""
    log = tmp_path / "error.log"
    flags = ["--processes", processes, "--control", "off", "--error-log", str(log), "--bind", "127.0.0.1:0"]
    command = ["sh", "-c", 'exec "$@" 9>&2 <&- >&- 2>&-', "sh"]
    server = serve.start([*command, *adyton("serve"), str(APPLICATION), *flags], log=log)
    pid = int(server.fetch("/pid").body)
    numbers = [Path(f"/proc/{pid}/fd/{number}").readlink() for number in range(3)]

    assert [Path(os.devnull), Path(os.devnull), log] == numbers


def test_redirected(serve: Servers, tmp_path: Path) -> None:
    """If an application replaces standard error by a file, the file stays when the log is opened again."""
    log, own = tmp_path / "error.log", tmp_path / "own"
    server = serve(APPLICATION, "--processes", "0", "--error-log", str(log), log=log)

    assert 200 == server.fetch(f"/redirect?{own}").status

    log.rename(tmp_path / "error.1")
    server.signal(signal.SIGUSR1)
    assert until(log.exists)
    server.fetch("/raw")
    server.fetch("/print")

    assert until(lambda: "stdout: one line\n" in log.read_text("utf-8"))
    assert "written to descriptor 2\n" == own.read_text("ascii")
    assert "written to descriptor 2" not in log.read_text("utf-8")
