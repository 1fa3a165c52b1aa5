"""Workers that are forked from a process that has imported the application, and the hooks of all workers."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

from processes.conftest import APPLICATION
from processes.load import Load
from support.server import run, until

if TYPE_CHECKING:
    from collections.abc import Callable

    from processes.conftest import Crowd
    from support.server import Servers

HOOKS = """
import os
import adyton

imported_by = os.getpid()
events = []

@adyton.hooks.on_fork
def forked(worker):
    events.append(f"fork {worker.number}")

@adyton.hooks.on_reload
def reloaded(worker):
    events.append(f"reload {worker.generation}")

@adyton.hooks.on_worker_start
def started(worker):
    events.append(f"start {worker.number} of {worker.of}")

@adyton.hooks.on_worker_stop
def stopped(worker):
    print(f"stopped {worker.number}", flush=True)

def handler(request):
    return f"{imported_by != os.getpid()}; " + ", ".join(events)
"""


def test_imported_once(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """The application is imported once for all workers, which are the supervisor's own children."""
    target = tmp_path / "hooked.py"
    target.write_text(HOOKS, encoding="utf-8")
    servers = crowd("--processes", "2", "--preload", target=target)
    assert servers.settles(2)

    answers = servers.answers("/", 2)

    assert {"True; fork 1, start 1 of 2", "True; fork 2, start 2 of 2"} == answers
    for pid in servers.pids():
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2]
        assert str(servers.server.process.pid) == fields.split()[1]

    servers.order("reload")
    answers = servers.answers("/", 2)

    assert {"True; fork 1, reload 2, start 1 of 2", "True; fork 2, reload 2, start 2 of 2"} == answers
    servers.server.stop()
    assert servers.server.log().count("stopped 1") == 2


def test_hooks_without_preload(crowd: Callable[..., Crowd], serve: Servers, tmp_path: Path) -> None:
    """Workers that import by themselves run their hooks, and so does a server without workers."""
    target = tmp_path / "hooked.py"
    target.write_text(HOOKS, encoding="utf-8")
    servers = crowd("--processes", "1", target=target)

    assert b"False; start 1 of 1" == servers.server.fetch("/").body

    alone = serve(target, "--processes", "0")

    assert b"False; start 1 of 1" == alone.fetch("/").body
    alone.stop()
    assert "stopped 1" in alone.log()


def test_hook_that_fails(tmp_path: Path) -> None:
    """A worker whose hook raises does not serve, and shows its traceback."""
    target = tmp_path / "hooked.py"
    target.write_text(
        HOOKS.replace('events.append(f"start', '1 / 0; events.append(f"start'), encoding="utf-8"
    )
    done = run("serve", str(target), "--processes", "2", "--bind", "127.0.0.1:0", "--control", "off")

    assert 3 == done.returncode
    assert 1 == done.stderr.count("ZeroDivisionError: division by zero\n"), done.stderr


def test_killed_and_reloaded(crowd: Callable[..., Crowd]) -> None:
    """Forked workers are replaced like others: after a crash, and by a reload."""
    servers = crowd("--processes", "2", "--preload")
    assert servers.settles(2)
    with Load(servers.server.port, "/who", keeping=2, opening=1) as load:
        load.run(0.5)
        servers.order("reload")
        load.run(0.5)

        assert [] == load.failures

        os.kill(servers.pids()[0], signal.SIGKILL)
        servers.server.wait_for_log("was killed by SIGKILL from outside")
        load.run(0.5)
    assert len(load.failures) <= 3
    assert servers.settles(2)
    servers.server.signal(signal.SIGUSR2)
    servers.server.wait_for_log("the supervisor is version")

    assert servers.settles(2)
    servers.order("reload")
    assert "3" == servers.who()[3]


def test_broken_version(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """A version that cannot be imported leaves the old one serving, and able to fork."""
    target = tmp_path / "application.py"
    target.write_text(APPLICATION.read_text(encoding="utf-8"), encoding="utf-8")
    servers = crowd("--processes", "1", "--preload", target=target)
    target.write_text("1 / 0\n", encoding="utf-8")

    assert "does not start" in servers.refused("reload")
    assert "ZeroDivisionError" in servers.server.log()

    before = servers.pids()
    os.kill(before[0], signal.SIGKILL)

    assert until(lambda: bool(servers.pids()) and servers.pids() != before)
    assert "1" == servers.who()[3]
    servers.server.stop()


def test_not_started(tmp_path: Path) -> None:
    """An application that cannot be imported ends the server, with its traceback, once."""
    target = tmp_path / "application.py"
    target.write_text("1 / 0\n", encoding="utf-8")
    done = run(*["serve", str(target), "--preload", "--processes", "2", "--bind", "127.0.0.1:0"])

    assert 3 == done.returncode
    assert 1 == done.stderr.count("ZeroDivisionError: division by zero\n"), done.stderr
