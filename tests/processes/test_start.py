"""Failures while workers start: the old version serves on, and the next version is not held up."""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from processes.conftest import APPLICATION, is_alive, version
from support.server import adyton, until

if TYPE_CHECKING:
    from collections.abc import Callable

    from processes.conftest import Crowd
    from support.server import Servers

TEXT = APPLICATION.read_text(encoding="utf-8")

REFUSED = "the new version does not start; the old one serves on"

#: A process that imports this notes its number, and hangs.
HANGS = """
import os, time
from pathlib import Path
Path(__file__ + ".seen").write_text(str(os.getpid()))
time.sleep(3600)
"""

NO_THREADS = """
def refuse(self):
    raise RuntimeError("can't start new thread")

threading.Thread.start = refuse
"""


#: Ignores SIGCHLD, and becomes another program.
IGNORES_CHILDREN = """
import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])
"""


def versions(servers: Crowd) -> set[str]:
    """Return the versions that both workers serve."""
    return {answer.split()[4] for answer in servers.answers("/who", 2)}


def test_folder_is_gone(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """A reload in a folder that has been removed is refused, and the log names the folder."""
    folder = tmp_path / "release"
    folder.mkdir()
    servers = crowd("--processes", "2", cwd=folder)
    assert servers.settles(2)
    folder.rmdir()

    assert REFUSED in servers.refused("reload")
    servers.server.wait_for_log(rf"worker \d cannot be started: the folder {re.escape(str(folder))} is gone")
    assert "serving, generation 1" in servers.order("status")
    assert {"1"} == versions(servers)

    folder.mkdir()

    assert "generation 2 serves in 2 workers" in servers.order("reload")


def test_folder_behind_a_link(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """If the current folder is a link, as in many deployments, a reload follows it to its new target."""
    for number in (1, 2):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "site_of.py").write_text(version(number), encoding="utf-8")
    link = tmp_path / "current"
    link.symlink_to("1")
    servers = crowd("--processes", "2", target=Path("site_of.py"), cwd=link, env={"PWD": str(link)})
    assert servers.settles(2)
    assert {"1"} == versions(servers)
    link.unlink()
    link.symlink_to("2")
    servers.order("reload")

    assert {"2"} == versions(servers)


def test_next_version_does_not_wait(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """A version that hangs when it is imported is given up when the next version comes."""
    target = tmp_path / "application.py"
    target.write_text(version(1), encoding="utf-8")
    servers = crowd("--processes", "2", "--startup-timeout", "1h", target=target)
    assert servers.settles(2)
    target.write_text(HANGS, encoding="utf-8")
    servers.server.signal(signal.SIGHUP)
    assert until(Path(f"{target}.seen").exists)
    target.write_text(version(3), encoding="utf-8")

    assert "generation 3 serves in 2 workers" in servers.order("reload")
    assert {"3"} == versions(servers)


def test_late_version_is_not_tried_again(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """If a version is given up because it takes too long to start, no further worker of it is started."""
    target = tmp_path / "application.py"
    target.write_text(version(1), encoding="utf-8")
    servers = crowd("--processes", "2", "--startup-timeout", "15s", target=target)
    servers.server.may_crash = True  # A worker that is given up says where it hangs.
    assert servers.settles(2)
    # The import hangs only once.
    once = f"if not os.path.exists(__file__ + '.seen'):\n{'    '.join(HANGS.splitlines(keepends=True))}"
    target.write_text(f"{version(2)}\n{once}", encoding="utf-8")
    since = servers.server.mark()

    assert REFUSED in servers.refused("reload")
    assert servers.settles(2)
    assert until(lambda: 2 == len(servers.status()["workers"]))
    assert "serves, after" not in servers.server.log()[since:]
    assert {"1"} == versions(servers)


def test_worker_without_threads(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """A worker that cannot start its threads does not take the place of a worker that has them."""
    target = tmp_path / "application.py"
    target.write_text(version(1), encoding="utf-8")
    servers = crowd("--processes", "2", "--threads", "2", target=target)
    assert servers.settles(2)
    target.write_text(version(2) + NO_THREADS, encoding="utf-8")

    assert REFUSED in servers.refused("reload")
    servers.server.wait_for_log("RuntimeError: can't start new thread")
    assert {"1"} == versions(servers)


def test_alone_when_it_starts(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """If the supervisor is killed while a worker imports the application, the worker ends, too."""
    target = tmp_path / "application.py"
    target.write_text(version(1), encoding="utf-8")
    servers = crowd("--processes", "1", target=target)
    target.write_text(HANGS, encoding="utf-8")
    servers.server.signal(signal.SIGHUP)
    seen = Path(f"{target}.seen")
    assert until(lambda: seen.exists() and seen.read_text(encoding="utf-8") != "")
    servers.server.process.kill()
    servers.server.process.wait()

    assert until(lambda: not is_alive(int(seen.read_text(encoding="utf-8"))))


def test_children_ignored_before(serve: Servers) -> None:
    """The end of workers is noticed even if the program that has started the server ignores SIGCHLD."""
    command = [
        *adyton("serve"),
        str(APPLICATION),
        "--processes",
        "1",
        "--bind",
        "127.0.0.1:0",
        "--control",
        "off",
    ]
    server = serve.start([sys.executable, "-c", IGNORES_CHILDREN, *command])
    before = int(server.fetch("/who").body.split()[0])
    os.kill(before, signal.SIGKILL)
    server.wait_for_log(rf"worker 1 \(process {before}\) was killed by SIGKILL")

    assert before != int(server.fetch("/who").body.split()[0])


@pytest.mark.parametrize("flags", [(), ("--preload",)], ids=["import", "preload"])
def test_children_ignored_by_the_application(
    crowd: Callable[..., Crowd], tmp_path: Path, flags: tuple[str, ...]
) -> None:
    """If the import of the application ignores SIGCHLD, its workers are started and replaced all the same."""
    target = tmp_path / "application.py"
    target.write_text(f"{TEXT}\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n", encoding="utf-8")
    servers = crowd("--processes", "2", *flags, target=target)
    assert servers.settles(2)
    before = servers.pids()[0]
    os.kill(before, signal.SIGKILL)
    servers.server.wait_for_log(rf"\(process {before}\) was killed by SIGKILL")

    assert servers.settles(2)
    assert "ChildProcessError" not in servers.server.log()
    assert "the prototype" not in servers.server.log()
