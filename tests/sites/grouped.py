"""A server with two groups and its own application: the first group has faults, the others must go on."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sites.conftest import write
from support.control import states
from support.server import until

if TYPE_CHECKING:
    from support.client import Connection
    from support.server import Server, Servers

FILE = """
[server]
processes = {door}
threads = 16
control = "control.sock"
access-log = "access.log"
access-log-format = '%{{group}}P %s %U'

[groups.shop]
{shop}

[groups.blog]
processes = 1
threads = 2

[[sites]]
{site}

[[sites.routes]]
path = "/"
app = "own:application"

[[sites.routes]]
path = "/shop/"
app = "shop:application"
group = "shop"
{route}

[[sites.routes]]
path = "/blog/"
app = "blog:application"
group = "blog"
"""

OTHERS = ("/blog/x", "/x")
"""Paths that other applications than the group `shop` answer."""

CONTROL = "control.sock"

ENVIRONMENT = {"ADYTON_PROCESSES": "", "ADYTON_THREADS": ""}
"""Empty variables, so that the file of sites sets the numbers of processes and threads."""


def fill(folder: Path, application: str = "faults.py") -> Path:
    """Write an application for the server itself, and one for each group."""
    text = Path(__file__).with_name(application).read_text(encoding="utf-8")
    for name in ("own", "shop", "blog"):
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return folder


def file_of(folder: Path, *, shop: str, door: int = 2, site: str = "", route: str = "") -> Path:
    """Write the file of sites."""
    return write(folder, FILE.format(door=door, shop=shop, site=site, route=route))


def start(serve: Servers, folder: Path, shop: str, *flags: str, fault: str = "", **said: Any) -> Server:
    """Serve with the settings `shop` for that group, and wait until all groups have started or failed to.

    `fault` is a fault for the server's own workers.
    """
    file = file_of(folder, shop=shop, **said)
    server = serve(file.name, *flags, cwd=folder, env=ENVIRONMENT | {"FAULT_OF_DOOR": fault})
    assert until(lambda: {"starting"}.isdisjoint(states(folder / CONTROL).values()))
    return server


def process_of(server: Server, path: str) -> int:
    """Return the number of the process that answers."""
    answer = server.fetch(path)
    assert 200 == answer.status, answer
    return int(answer.body.split()[0])


def said_by(client: Connection) -> int:
    """Wait for the beginning of a streamed answer; return the process that it names."""
    while not (found := re.search(rb"process (\d+)\n", client.reader.buffer)):
        assert client.reader.fill(), bytes(client.reader.buffer)
    return int(found[1])


def status_of(client: Connection) -> int:
    """Return the status of an answer, or 0 if the connection ends without one."""
    try:
        return client.receive().status
    except (OSError, EOFError, AssertionError):
        return 0
