"""Access logs of sites: if a worker is killed, its supervisor writes the missing lines."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from sites.conftest import write
from support.client import request
from support.server import until

if TYPE_CHECKING:
    from pathlib import Path

    from support.client import Connection
    from support.server import Servers

FILE = """
[server]
processes = 1
threads = 2
access-log = "server.log"
access-log-format = "%U"

[groups.shop]
processes = 1

[groups.blog]
processes = 1
access-log = "group.log"

[[sites]]
hosts = ["own.example"]
access-log = "own.log"

[[sites.routes]]
app = "pid:application"

[[sites]]
hosts = ["shop.example"]
access-log = "shop.log"

[[sites.routes]]
app = "pid:application"
group = "shop"

[[sites]]
hosts = ["blog.example"]

[[sites.routes]]
app = "pid:application"
group = "blog"

[[sites]]
hosts = ["plain.example"]

[[sites.routes]]
app = "pid:application"
"""

APPLICATION = """
import os

def application(environ, start_response):
    '''Answer with the process.'''
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [str(os.getpid()).encode()]
"""

LOGS = {"own": "own.log", "shop": "shop.log", "blog": "group.log", "plain": "server.log"}
"""Log of each site."""

REQUESTS = 20


def ask(connection: Connection, site: str) -> int:
    """Ask a site for all paths; return the process that has answered."""
    answers = set()
    for number in range(REQUESTS):
        asked = request(f"/{site}/{number}", fields=[("Host", f"{site}.example")])
        answers.add(connection.ask(asked).body)
    (pid,) = answers
    return int(pid)


def test_lines_of_killed_workers(serve: Servers, tmp_path: Path) -> None:
    """Each log has its own site's lines, also if the worker is killed before it has written them."""
    (tmp_path / "pid.py").write_text(APPLICATION)
    file = write(tmp_path, FILE)
    server = serve(file.name, cwd=tmp_path, env={"ADYTON_PROCESSES": "", "ADYTON_THREADS": ""})
    pids = set()
    for site in LOGS:
        with server.connect(lint_answers=False) as connection:
            pids.add(ask(connection, site))
    for pid in pids:
        os.kill(pid, signal.SIGKILL)

    def lines(site: str) -> list[str]:
        log = tmp_path / LOGS[site]
        return sorted(set(log.read_text().splitlines())) if log.exists() else []

    for site in LOGS:
        # When the worker is killed, the line of its last answer may not exist yet.
        expected = {f"/{site}/{number}" for number in range(REQUESTS - 1)}
        may_be = expected | {f"/{site}/{REQUESTS - 1}"}
        assert until(lambda site=site, expected=expected: expected <= set(lines(site))), (site, lines(site))
        assert set(lines(site)) <= may_be, site
