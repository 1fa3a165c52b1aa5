"""Reload: the new version serves before the old version stops, and no client notices."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from processes.conftest import APPLICATION, admin_of, freeze, version
from processes.load import Load
from support.server import open_files, until

TALKS = Path(__file__).parents[1] / "logs" / "application.py"

if TYPE_CHECKING:
    from collections.abc import Callable

    from processes.conftest import Crowd

TEXT = APPLICATION.read_text(encoding="utf-8")


@pytest.mark.parametrize("pace", ["all", "one"])
def test_under_load(crowd: Callable[..., Crowd], pace: str) -> None:
    """No request fails while all workers are replaced, again and again, on connections old and new."""
    servers = crowd("--processes", "2", "--reload-pace", pace)
    assert servers.settles(2)
    with Load(servers.server.port, "/who") as load:

        def serves(generation: str) -> bool:
            load.run(0.5)
            return until(lambda: [generation] == [answer.split()[3] for answer in load.answers[-1:]])

        for generation in "123":
            assert serves(generation)
            servers.order("reload")
        assert serves("4")

    assert [] == load.failures
    assert {"1", "2", "3", "4"} == {answer.split()[3] for answer in load.answers}
    assert "4" == servers.who()[3]
    assert servers.settles(2)


WAITS = """
while adyton.worker().number > 1 and Path(__file__).with_name("hold").exists():
    time.sleep(0.005)
"""


@pytest.mark.parametrize(("pace", "most"), [("all", 2), ("one", 1)])
def test_pace(crowd: Callable[..., Crowd], tmp_path: Path, pace: str, most: int) -> None:
    """When the first new worker serves, both other workers start at once, or one after the other."""
    target, hold = tmp_path / "application.py", tmp_path / "hold"
    target.write_text(TEXT + WAITS, encoding="utf-8")
    servers = crowd("--processes", "3", "--reload-pace", pace, target=target)
    assert servers.settles(3)
    hold.touch()
    since = servers.server.mark()
    servers.server.signal(signal.SIGHUP)
    servers.server.wait_for_log(r"worker 1 \(process \d+\) serves", since=since)

    def starting() -> int:
        return [worker["state"] for worker in servers.status()["workers"]].count("starting")

    assert until(lambda: most == starting())
    # If more workers were started, they would begin at once.
    time.sleep(0.5)
    assert most == starting()

    hold.unlink()
    servers.server.wait_for_log("generation 2 serves in all 3 workers")


def test_new_version(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """After SIGHUP the new file is served; when `adyton reload` returns, both workers serve it."""
    target = tmp_path / "application.py"
    target.write_text(version(1), encoding="utf-8")
    servers = crowd("--processes", "2", target=target)
    target.write_text(version(2), encoding="utf-8")
    servers.server.signal(signal.SIGHUP)
    servers.server.wait_for_log("generation 2 serves in all 2 workers")

    assert {"2"} == {servers.who()[4] for _ in range(20)}

    target.write_text(version(3), encoding="utf-8")

    assert "generation 3 serves in 2 workers" in servers.order("reload")
    assert {"3"} == {servers.who()[4] for _ in range(20)}


def test_broken_version(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """A version that does not start leaves the old version serving, and shows its own traceback."""
    target = tmp_path / "application.py"
    target.write_text(version(1), encoding="utf-8")
    servers = crowd("--processes", "2", target=target)
    assert servers.settles(2)
    with Load(servers.server.port, "/who") as load:
        target.write_text("def handler(request:\n", encoding="utf-8")

        assert "the new version does not start; the old one serves on" in servers.refused("reload")
        servers.server.wait_for_log("SyntaxError")

        target.write_text(version(2), encoding="utf-8")
        servers.order("reload")

    assert [] == load.failures
    assert "2" == servers.who()[4]
    assert servers.settles(2)


ONLY_ONE = """
try:
    os.close(os.open(__file__ + ".lock", os.O_CREAT | os.O_EXCL))
except FileExistsError:
    sys.exit("somebody else has the lock")
"""


def test_version_for_one_worker(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """If a version starts in one worker only, the reload reports that, and ends once the other can start."""
    target = tmp_path / "application.py"
    target.write_text(version(1), encoding="utf-8")
    servers = crowd("--processes", "2", target=target)
    assert servers.settles(2)
    target.write_text(version(2) + ONLY_ONE, encoding="utf-8")

    refusal = "the new version serves in 1 of 2 workers and does not start in the others"
    refusal += ", where the old one serves on"
    assert refusal in servers.refused("reload")
    servers.server.wait_for_log(f"ADY329 error: {refusal}")
    assert "two versions" in servers.order("status")
    assert {"1", "2"} == {answer.split()[4] for answer in servers.answers("/who", 2)}

    tmp_path.joinpath("application.py.lock").unlink()

    servers.server.wait_for_log("generation 2 serves in all 2 workers")
    assert {"2"} == {answer.split()[4] for answer in servers.answers("/who", 2)}
    # Replaced workers may not have ended yet.
    assert until(lambda: "serving, generation 2" in servers.order("status"))


def test_slow_requests_finish(crowd: Callable[..., Crowd]) -> None:
    """Requests that run when a reload begins are answered by the worker that they are in."""
    servers = crowd("--processes", "1")
    before = servers.pids()
    with Load(servers.server.port, "/wait", keeping=8, opening=8) as load:
        assert until(lambda: len(load.answers) >= 16)
        servers.order("reload")
        load.run(0.5)

    assert [] == load.failures
    assert until(lambda: bool(servers.pids()) and before != servers.pids())


def test_idle_connection_may_ask_once_more(crowd: Callable[..., Crowd]) -> None:
    """A connection that idles while its worker is replaced gets one more answer, and is then closed."""
    servers = crowd("--processes", "1")
    with servers.server.connect() as connection:
        first = connection.get("/who")
        # A signal gives the order, because a program would take its time, and the connection idles for five
        # seconds at most.
        servers.server.signal(signal.SIGHUP)
        servers.server.wait_for_log("generation 2 serves in all 1 workers")
        time.sleep(0.5)
        second = connection.get("/who")

        assert first.body.split()[0] == second.body.split()[0]
        assert second.closing
        assert connection.at_end()
        assert not connection.was_reset


def test_own_program(crowd: Callable[..., Crowd]) -> None:
    """SIGUSR2 replaces the supervisor's program by the program on the disk now; no client notices."""
    servers = crowd("--processes", "2", "--admin", "127.0.0.1:0")
    assert servers.settles(2)
    before = servers.pids()
    started = process_start(servers.server.process.pid)
    with Load(servers.server.port, "/who") as load:
        for count in range(1, 3):
            load.run(0.5)
            servers.server.signal(signal.SIGUSR2)
            servers.server.wait_for_log("the supervisor is version", count=count)
        servers.order("workers", "more")
        assert servers.settles(3)
        servers.order("reload")
        servers.order("workers", "fewer")
        load.run(0.5)

    assert [] == load.failures
    assert started == process_start(servers.server.process.pid)
    assert servers.settles(2)
    assert until(lambda: servers.status()["total"]["requests"] >= len(load.answers))
    assert not set(before) & set(servers.pids())


def test_own_program_answers(crowd: Callable[..., Crowd]) -> None:
    """Monitors get their answers, too, while the supervisor's program is replaced."""
    servers = crowd("--processes", "1", "--admin", "127.0.0.1:0")
    assert servers.settles(1)
    with Load(admin_of(servers.server)[1], "/livez", keeping=0, opening=8) as load:
        for count in range(1, 6):
            servers.server.signal(signal.SIGUSR2)
            servers.server.wait_for_log("the supervisor is version", count=count)

    assert [] == load.failures
    assert load.answers


def process_start(pid: int) -> str:
    """Return the time at which a process began, in ticks since the machine was started; `exec` keeps it."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]


def test_reload_with_a_worker_less(crowd: Callable[..., Crowd]) -> None:
    """A reload does not wait for a worker that was given up but still takes connections for seconds."""
    servers = crowd("--processes", "1")

    def took_ms() -> int:
        servers.order("workers", "more")
        assert servers.settles(2)
        servers.order("workers", "fewer")
        return int(json.loads(servers.order("reload", "--json"))["took_ms"])

    with Load(servers.server.port, "/who") as load:
        # On a busy machine a start takes long, too, but not always.
        assert until(lambda: took_ms() < 2_500)
        load.run(1)
    assert [] == load.failures


def test_own_program_keeps_bounds(crowd: Callable[..., Crowd]) -> None:
    """When the program is replaced, all workers stay, whatever their number, and so do the bounds."""
    servers = crowd("--processes", "2", "--min-processes", "2")
    assert servers.settles(2)
    servers.server.signal(signal.SIGTTOU)
    servers.server.signal(signal.SIGUSR2)
    servers.server.wait_for_log("the supervisor is version")

    assert servers.settles(1)

    servers.server.signal(signal.SIGTTIN)

    assert servers.settles(2)


def test_own_program_keeps_deaths(crowd: Callable[..., Crowd]) -> None:
    """The reasons why workers have ended are still known after the program was replaced."""
    servers = crowd("--processes", "1", "--max-requests", "5")
    for _ in range(6):
        servers.who()
    assert until(lambda: {"limit": 1} == servers.status()["deaths"])
    servers.server.signal(signal.SIGUSR2)
    servers.server.wait_for_log("the supervisor is version")

    assert {"limit": 1} == servers.status()["deaths"]


def test_own_program_may_grow_again(crowd: Callable[..., Crowd]) -> None:
    """A number of workers that was low when the program was replaced may grow again afterwards."""
    servers = crowd("--processes", "2", "--min-processes", "1", "--threads", "2")
    servers.server.signal(signal.SIGTTOU)
    assert servers.settles(1)
    servers.server.signal(signal.SIGUSR2)
    servers.server.wait_for_log("the supervisor is version")
    with Load(servers.server.port, "/wait", keeping=16, opening=0):
        servers.server.wait_for_log("one more worker: 2")

        assert until(lambda: 2 == len(servers.pids()))


def test_own_program_refuses(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """A failure of the new program is found out before the change: the old program serves on."""
    folder, log = tmp_path / "site", tmp_path / "error.log"
    folder.mkdir()
    target = folder / "application.py"
    target.write_text(TEXT, encoding="utf-8")
    servers = crowd("--processes", "1", "--error-log", str(log), target=target, log=log)
    folder.rename(tmp_path / "elsewhere")
    servers.server.signal(signal.SIGUSR2)
    servers.server.wait_for_log(
        "cannot take over, and this one goes on: it ends with status 2; the reason stands above"
    )

    servers.server.wait_for_log(re.escape(f"there is no {target} in the current folder"))
    assert servers.settles(1)


#: Python runs this code first: the process that tries the program out waits while a file exists.
HESITATE = """
import os, sys, time
from pathlib import Path

if "succeed" in sys.orig_argv and "trial" in sys.orig_argv:
    Path("{0}.seen").touch()
    while os.path.exists("{0}"):
        time.sleep(0.01)
"""


def hesitating(folder: Path) -> tuple[Path, dict[str, str]]:
    """Return a file that holds up a trial while the file exists, and the environment for that."""
    hold = folder / "hold"
    hold.touch()
    (folder / "sitecustomize.py").write_text(HESITATE.format(hold), encoding="utf-8")
    return hold, {"PYTHONPATH": str(folder)}


@pytest.mark.parametrize("event", ["reload", "crash"])
def test_own_program_waits(crowd: Callable[..., Crowd], tmp_path: Path, event: str) -> None:
    """A reload or replacement that begins during a program's trial ends before the program takes over."""
    hold, environment = hesitating(tmp_path)
    slow = tmp_path / "slow.py"
    slow.write_text(TEXT + "\ntime.sleep(1)\n", encoding="utf-8")
    servers = crowd("--processes", "1", target=slow, env=environment)
    servers.server.signal(signal.SIGUSR2)
    assert until(hold.with_suffix(".seen").exists)
    if event == "reload":
        servers.server.signal(signal.SIGHUP)
        servers.server.wait_for_log("reloading: generation 2")
    else:
        os.kill(servers.pids()[0], signal.SIGKILL)
        servers.server.wait_for_log("was killed by SIGKILL from outside")
    hold.unlink()
    log = servers.server.wait_for_log("the supervisor is version")

    done = "generation 2 serves in all 1 workers" if event == "reload" else r"worker 1 .* serves, after"
    assert re.search(done, log)
    assert servers.settles(1)
    assert 1 == len({answer.split()[0] for answer in servers.answers("/who", 1)})


@pytest.mark.long
def test_own_program_hangs(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """A new program that is never ready is given up, and the next program is tried."""
    hold, environment = hesitating(tmp_path)
    servers = crowd("--processes", "1", env=environment)
    servers.server.signal(signal.SIGUSR2)
    servers.server.wait_for_log("this one goes on: it is not ready after 30 s", timeout_s=60)
    hold.unlink()
    servers.server.signal(signal.SIGUSR2)
    servers.server.wait_for_log("the supervisor is version")

    assert servers.settles(1)


def test_signals_of_the_application(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """An application that takes over signals breaks neither reload nor stop."""
    target = tmp_path / "application.py"
    handlers = (
        "\nimport signal\nfor name in ('SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGQUIT'):\n"
    )
    handlers += "    signal.signal(getattr(signal, name), signal.SIG_IGN)\n"
    target.write_text(TEXT + handlers, encoding="utf-8")
    servers = crowd("--processes", "2", target=target)
    servers.order("reload")

    assert "2" == servers.who()[3]
    servers.server.signal(signal.SIGTERM)
    # Workers that did not hear SIGTERM would be killed, and end only after 30 s.
    assert 0 == servers.server.wait(25)


def test_logs_are_opened_again(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """After SIGUSR1, all workers write to a new file under the old name, for programs that rename logs."""
    log, renamed = tmp_path / "access.log", tmp_path / "access.log.1"
    servers = crowd("--processes", "2", "--access-log", str(log), "--access-log-format", "%U")
    assert servers.settles(2)
    servers.who()
    assert until(lambda: "/who\n" == log.read_text(encoding="ascii"))
    log.rename(renamed)
    servers.server.signal(signal.SIGUSR1)
    assert until(lambda: all(has_opened_again(pid, log, renamed) for pid in servers.pids()))
    for _ in range(10):
        servers.server.fetch("/wait")

    assert until(lambda: 10 * "/wait\n" == log.read_text(encoding="ascii"))
    assert "/who\n" == renamed.read_text(encoding="ascii")


def has_opened_again(pid: int, file: Path, renamed: Path) -> bool:
    """Tell whether a process has the present `file` open, and no longer the renamed one."""
    names = open_files(pid)
    return file in names and renamed not in names


def test_new_connections_find_the_new_worker(crowd: Callable[..., Crowd]) -> None:
    """While the old worker still has an idle connection, new connections are answered by the new worker."""
    servers = crowd("--processes", "1")

    def are_answered_meanwhile() -> bool:
        with servers.server.connect() as kept:
            old = kept.get("/who").body
            servers.order("reload")
            assert old not in {servers.server.fetch("/who").body for _ in range(20)}
            has_ended, _, _ = select.select([kept.socket], [], [], 0)
            return not has_ended

    # On a machine that does much else, the old worker may be gone before this test has looked.
    assert any(are_answered_meanwhile() for _ in range(3))


def test_over_when_the_old_one_takes_no_more(crowd: Callable[..., Crowd]) -> None:
    """A reload is over when no new connection meets the old version, not when the new one begins to serve."""
    servers = crowd("--processes", "1")
    (old,) = servers.pids()
    freeze(old)
    try:
        servers.server.signal(signal.SIGHUP)
        servers.server.wait_for_log(r"worker 1 \(process \d+\) serves")
        time.sleep(0.5)
        meanwhile = servers.server.log()
    finally:
        os.kill(old, signal.SIGCONT)
    servers.server.wait_for_log("generation 2 serves in all 1 workers")

    assert "generation 2 serves" not in meanwhile
    assert str(old) not in {servers.who()[0] for _ in range(20)}


def test_opened_again_in_a_prototype(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """After SIGUSR1 no process has the renamed file open, not even the prototype of the workers."""
    log, old = tmp_path / "error.log", tmp_path / "old.log"
    servers = crowd("--processes", "1", "--preload", "--error-log", str(log), log=log)
    supervisor = servers.server.process.pid
    children = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text(encoding="ascii").split()
    assert 2 == len(children)
    assert all(log in open_files(int(pid)) for pid in children)
    log.rename(old)
    servers.server.signal(signal.SIGUSR1)

    assert until(lambda: all(has_opened_again(int(pid), log, old) for pid in children))


def test_opened_again(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """After SIGUSR1 supervisor and workers write to the new file under the old name."""
    log, old = tmp_path / "error.log", tmp_path / "old.log"
    servers = crowd("--processes", "2", "--error-log", str(log), target=TALKS, log=log)
    log.rename(old)
    servers.server.signal(signal.SIGUSR1)

    def arrives() -> bool:
        servers.server.fetch("/print")
        return (
            log.exists()
            and re.search(r"worker \d request \w+ stdout: one line", log.read_text("utf-8")) is not None
        )

    assert until(arrives)
    servers.server.signal(signal.SIGHUP)
    assert until(lambda: "ADY303 info: reloading" in log.read_text("utf-8"))
    assert "reloading" not in old.read_text("utf-8")
