"""Reloads of a file of sites: workers have the version that was checked; a reload applies all or nothing."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from sites.conftest import write
from support.control import reload
from support.server import until

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Server, Servers

FILE = """
[server]
processes = 2
preload = {preload}
control = "control.sock"

[[sites]]
[[sites.routes]]
respond = 200
body = "{words}"
[[sites.routes]]
path = "/app/"
app = "shop:application"
"""


FILE_SAYS = {"ADYTON_PROCESSES": ""}
"""An empty variable, so that the file of sites sets the number of workers."""


def words(server: Server) -> set[bytes]:
    """Return the answers of the workers, over several connections."""
    return {server.fetch("/").body for _ in range(8)}


@pytest.mark.parametrize("preload", ["false", "true"])
def test_reload(serve: Servers, project: Path, preload: str) -> None:
    """A changed file of sites counts after a reload; a wrong file changes nothing, even for new workers."""
    file = write(project, FILE.format(preload=preload, words="first"))
    server = serve(file.name, cwd=project, env=FILE_SAYS)
    assert {b"first"} == words(server)

    write(project, FILE.format(preload=preload, words="second"))
    assert {b"first"} == words(server)
    status, _ = reload(project / "control.sock")
    assert (0, {b"second"}) == (status, words(server))

    write(project, FILE.format(preload=preload, words="third").replace("respond = 200", "respond = 20"))
    status, said = reload(project / "control.sock")
    mistake = "site.toml:9:11: respond = 20: out of range, which is from 200 to 599"
    assert status == 1
    assert mistake in said
    assert "ADY333" in server.log()
    assert {b"second"} == words(server)

    before = {int(server.fetch("/app/").body.split()[2]) for _ in range(16)}
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    server.may_crash = True

    def others() -> set[int]:
        return {int(server.fetch("/app/").body.split()[2]) for _ in range(8)} - before

    assert until(lambda: len(others()) == 2)
    assert {b"second"} == words(server)

    write(project, FILE.format(preload=preload, words="fourth"))
    assert 0 == reload(project / "control.sock")[0]
    assert {b"fourth"} == words(server)


def test_settings_that_wait(serve: Servers, project: Path) -> None:
    """A reload says which settings it does not change."""
    text = FILE.format(preload="false", words="first")
    file = write(project, text)
    server = serve(file.name, cwd=project, env=FILE_SAYS)
    write(project, text.replace("processes = 2", "processes = 3\nmax-rss = '1g'"))

    for times in (1, 2):
        assert 0 == reload(project / "control.sock")[0]
        assert times == server.log().count("ADY334 warning: processes, max-rss: reload does not change this")


def test_alone(serve: Servers, project: Path) -> None:
    """A file can be served without a supervisor."""
    text = FILE.format(preload="false", words="alone").replace("processes = 2", "processes = 0")
    server = serve(write(project, text.replace('control = "control.sock"\n', "")), cwd=project.parent)

    assert {b"alone"} == words(server)
    assert server.fetch("/app/x").body.startswith(b"shop 1")
