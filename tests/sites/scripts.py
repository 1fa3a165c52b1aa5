"""Scripts that the tests of CGI run, and the file of sites that names them."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from sites.conftest import write
from support.client import request
from support.server import until

if TYPE_CHECKING:
    from support.client import Connection
    from support.http import Response
    from support.server import Server, Servers

FILE = """
[server]
{server}

[[sites]]
root = "public"
[[sites.routes]]
app = "shop:application"

[[sites.routes]]
path = "/cgi-bin/"
cgi = "cgi-bin"
{route}
"""

SHELL = """#!/bin/sh
{}
"""

SAY_ALL = SHELL.format(r"""printf 'Content-Type: text/plain\r\n\r\n'; env; echo "cwd=$PWD args=$#"; cat""")
"""A script that prints its environment, its folder, the number of its arguments, and its body."""

HEAD = "echo 'Content-Type: a/b'; echo; "

GROUP = "sleep 600 & echo $! >child; echo $$ >pid; "
"""Commands that start another process, and note the numbers of both processes."""

WAITS = "cat wait >/dev/null; "
"""A command that waits until the test writes to a pipe."""


def script(project: Path, name: str, text: str, mode: int = 0o755) -> Path:
    """Put a script among the others."""
    file = project / "public/cgi-bin" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    file.chmod(mode)
    return file


def start(
    serve: Servers, project: Path, *flags: str, server: str = "", route: str = "", more: str = ""
) -> Server:
    """Serve the scripts of a project."""
    (project / "public/cgi-bin").mkdir(parents=True, exist_ok=True)
    file = write(project, FILE.format(server=server, route=route) + more)
    return serve(file.name, *flags, cwd=project)


def variables(response: Response) -> dict[str, str]:
    """Return the environment that `SAY_ALL` has printed."""
    lines = response.body.decode().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)


def pids(project: Path) -> list[int]:
    """Wait until a script has noted the numbers of its processes; return them."""
    files = [project / "public/cgi-bin" / name for name in ("child", "pid")]
    assert until(lambda: all(text(file).endswith("\n") for file in files))
    return [int(text(file)) for file in files]


def text(file: Path) -> str:
    """Return the text of a file; empty if the file does not exist yet."""
    return file.read_text(encoding="utf-8") if file.exists() else ""


def has_ended(pid: int) -> bool:
    """Tell whether a process is gone, or is a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
        return stat.rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def end(project: Path) -> None:
    """Check that a script has ended, and every process that it has started."""
    assert all(until(lambda pid=pid: has_ended(pid)) for pid in pids(project))


def fifo(project: Path) -> Path:
    """Make the pipe from which scripts wait to read."""
    path = project / "public/cgi-bin/wait"
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    return path


def ask(server: Server, project: Path) -> Connection:
    """Ask a script, and wait until it runs."""
    connection = server.connect()
    connection.send(request("/cgi-bin/a.sh"))
    pids(project)
    return connection


def running(project: Path) -> set[int]:
    """Return the processes that work in the scripts' folder: scripts, and processes that they started."""
    folder = (project / "public/cgi-bin").resolve()
    found = set()
    for process in processes():
        # The process may have ended meanwhile, or belong to another user.
        with contextlib.suppress(OSError):
            if Path(f"/proc/{process}/cwd").readlink() == folder:
                found.add(process)
    return found


def children(pid: int) -> set[int]:
    """Return the children of a process, zombies included."""
    return {process for process in processes() if parent(process) == pid}


def parent(pid: int) -> int:
    """Return the number of the parent of a process; 0 if the process is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(stat.rpartition(")")[2].split()[1])


def processes() -> list[int]:
    """Return all processes of this machine."""
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]


def descriptors(pid: int) -> int:
    """Return how many descriptors a process has open."""
    return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
