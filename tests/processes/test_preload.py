"""Workers that are forked from a process that has imported the application, and the hooks of all workers."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from processes.conftest import APPLICATION
from processes.load import Load
from support.server import run, until

if TYPE_CHECKING:
    from collections.abc import Callable

    from processes.conftest import Crowd
    from support.server import Servers

HOOKS = """
import gc
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

def frozen(request):
    return str(gc.get_freeze_count())
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


def test_heap_is_frozen(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """A worker's garbage collector does not look at imported objects, because that would copy their pages."""
    target = tmp_path / "hooked.py"
    target.write_text(HOOKS, encoding="utf-8")
    frozen = []
    for flags in [], ["--preload"]:
        servers = crowd("--processes", "1", *flags, target=f"{target}:frozen")
        frozen.append(int(servers.server.fetch("/").body))
        servers.server.stop()

    assert frozen[1] > frozen[0] + 1_000, frozen


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


def test_reload_hook_of_replacements(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """Workers that replace others serve the version of the last reload, and run its hooks."""
    target = tmp_path / "hooked.py"
    target.write_text(HOOKS, encoding="utf-8")
    servers = crowd("--processes", "1", target=target)

    def replaced() -> bytes:
        old = servers.pids()
        os.kill(old[0], signal.SIGKILL)
        assert until(lambda: servers.pids() not in ([], old))
        return servers.server.fetch("/").body

    assert b"False; start 1 of 1" == replaced()

    servers.order("reload")

    assert b"False; reload 2, start 1 of 1" == replaced()


STARTS_THREAD = """
import threading

threading.Thread(target=threading.Event().wait, name="the-poller", daemon=True).start()

def handler(request):
    return "fine"
"""


@pytest.mark.parametrize("flags", [["--preload"], []], ids=["preload", "import"])
def test_thread_of_the_import(crowd: Callable[..., Crowd], tmp_path: Path, flags: list[str]) -> None:
    """The log says that a thread of the import does not run in forked workers, and says so only for them."""
    target = tmp_path / "threaded.py"
    target.write_text(STARTS_THREAD, encoding="utf-8")
    server = crowd("--processes", "1", *flags, target=target).server
    said = "warning: adyton: --preload: the-poller will not run in workers: start threads in a hook"

    assert bool(flags) == (said in server.log())


FAILS_TWICE = """
import adyton

@adyton.hooks.on_worker_stop
def first(worker):
    raise LookupError("first")

@adyton.hooks.on_worker_stop
def second(worker):
    raise ValueError("second")

def handler(request):
    return "fine"
"""


def test_hook_that_fails(tmp_path: Path) -> None:
    """A worker whose hook raises does not serve, and shows its traceback."""
    target = tmp_path / "hooked.py"
    target.write_text(
        HOOKS.replace('events.append(f"start', '1 / 0; events.append(f"start'), encoding="utf-8"
    )
    done = run("serve", str(target), "--processes", "2", "--bind", "127.0.0.1:0", "--control", "off")

    assert 3 == done.returncode
    assert 1 == done.stderr.count("ZeroDivisionError: division by zero\n"), done.stderr
    assert "adyton: a hook of on_worker_start has failed, in worker" in done.stderr


@pytest.mark.parametrize("processes", ["0", "1"])
def test_hooks_that_fail_at_the_end(serve: Servers, tmp_path: Path, processes: str) -> None:
    """All hooks of a worker that stops run, and each hook that fails is one entry of the log."""
    target = tmp_path / "hooked.py"
    target.write_text(FAILS_TWICE, encoding="utf-8")
    server = serve(target, "--processes", processes, "--control", "off", "--log-format", "json")
    server.stop()
    entries = [json.loads(line) for line in server.log().splitlines() if "ADY216" in line]
    messages = [entry["message"] for entry in entries]
    begins = "a hook of on_worker_stop failed:\nTraceback (most recent call last):\n"

    assert 2 == len(messages)
    assert all(message.startswith(begins) for message in messages)
    assert "\nLookupError: first\nadyton: a hook" in messages[0]
    assert "\nValueError: second\nadyton: a hook" in messages[1]
    assert not any("adyton/hooks.py" in message for message in messages)


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
    """A version that cannot be imported leaves the old version serving, and able to fork."""
    target = tmp_path / "application.py"
    target.write_text(APPLICATION.read_text(encoding="utf-8"), encoding="utf-8")
    servers = crowd("--processes", "1", "--preload", target=target)
    target.write_text("1 / 0\n", encoding="utf-8")

    assert "does not start" in servers.refused("reload")
    servers.server.wait_for_log("ZeroDivisionError")

    before = servers.pids()
    os.kill(before[0], signal.SIGKILL)

    assert until(lambda: bool(servers.pids()) and servers.pids() != before)
    assert "1" == servers.who()[3]
    servers.server.stop()


HANGS = """
import signal
import time
from pathlib import Path

signal.signal(signal.SIGABRT, signal.SIG_IGN)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
part = Path(__file__).with_suffix(f".{os.getpid()}")
part.write_text(str(os.getpid()))
part.replace(part.with_suffix(".pid"))
time.sleep(600)
"""

PROMPT_S = 25.0
"""The longest stop that waits for nothing; a stop that waits for code that hangs takes at least 30 s."""


def imports(target: Path) -> int:
    """Return the process that hangs in the import, once there is one."""
    noted = target.with_suffix(".pid")
    assert until(noted.exists)
    pid = int(noted.read_text(encoding="ascii"))
    noted.unlink()
    return pid


def is_there(pid: int) -> bool:
    """Tell whether there is such a process."""
    return Path(f"/proc/{pid}").exists()


def test_hung_import(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """An import that never ends is ended when the next version comes, or when the server stops."""
    target = tmp_path / "application.py"
    text = APPLICATION.read_text(encoding="utf-8")
    target.write_text(text, encoding="utf-8")
    servers = crowd("--processes", "1", "--preload", target=target)
    target.write_text(text + HANGS, encoding="utf-8")
    servers.server.signal(signal.SIGHUP)
    first = imports(target)
    servers.server.signal(signal.SIGHUP)
    second = imports(target)

    assert until(lambda: not is_there(first))

    servers.server.signal(signal.SIGTERM)

    assert 0 == servers.server.wait(PROMPT_S)
    assert not is_there(second)


def test_hung_import_is_too_slow(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """An import that ignores the order to print its stack gets no second order: it is killed."""
    target = tmp_path / "application.py"
    text = APPLICATION.read_text(encoding="utf-8")
    target.write_text(text, encoding="utf-8")
    servers = crowd("--processes", "1", "--preload", "--startup-timeout", "15s", target=target)
    target.write_text(text + HANGS, encoding="utf-8")

    assert "does not start" in servers.refused("reload")
    assert not is_there(imports(target))
    servers.server.wait_for_log(r"the prototype \(process \d+\) was killed: it was not ready")
    assert 1 == servers.server.log().count("is not ready; this is where it is")
    assert servers.settles(1)


HANGS_AT_FORK = """
from pathlib import Path

forks = []

def hang():
    forks.append(os.getpid())
    if len(forks) == {fork}:
        # Two processes may come here: each note is whole, or is not there.
        part = Path(__file__).with_suffix("." + str(os.getpid()))
        part.write_text(str(os.getpid()))
        part.replace(part.with_suffix(".pid"))
        time.sleep(600)

os.register_at_fork({when}=hang)
"""

AT_FORK = [("before", 1), ("after_in_child", 1), ("after_in_child", 2), ("after_in_parent", 1)]
"""Hooks that hang: in the prototype, in the process between prototype and worker, in the worker."""


def processes_of(target: Path) -> list[int]:
    """Return the processes that were started with this application."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        # A process may end while this loop looks at it.
        with contextlib.suppress(OSError):
            if str(target).encode() in file.read_bytes():
                found.append(int(file.parent.name))
    return found


@pytest.mark.parametrize(("when", "fork"), AT_FORK)
def test_hung_fork(crowd: Callable[..., Crowd], tmp_path: Path, when: str, fork: int) -> None:
    """A fork that never ends does not keep the server from stopping, and no process is left behind."""
    target = tmp_path / "application.py"
    text = APPLICATION.read_text(encoding="utf-8")
    target.write_text(text, encoding="utf-8")
    servers = crowd("--processes", "1", "--preload", target=target)
    target.write_text(text + HANGS_AT_FORK.format(when=when, fork=fork), encoding="utf-8")
    servers.server.signal(signal.SIGHUP)
    assert imports(target) in processes_of(target)
    assert "1" == servers.who()[3]
    servers.server.signal(signal.SIGTERM)

    assert 0 == servers.server.wait(PROMPT_S)
    assert until(lambda: [] == processes_of(target))
    assert "error:" not in servers.server.log()


HANGS_TWICE = """
from pathlib import Path

forks = []

def note(name):
    part = Path(__file__).with_suffix("." + str(os.getpid()))
    part.write_text(str(os.getpid()))
    part.replace(part.with_suffix(name))

def in_parent():
    if os.getpid() != imported_by:
        note(".pid")
        time.sleep(600)

def in_child():
    forks.append(os.getpid())
    if len(forks) == 2:
        note(".worker")
        time.sleep(600)

os.register_at_fork(after_in_parent=in_parent, after_in_child=in_child)
"""
"""The process between the prototype and the worker hangs, and so does the worker, which is not known yet."""


@pytest.mark.parametrize("way", ["stop", "startup-timeout"])
def test_hung_fork_of_an_unknown_worker(crowd: Callable[..., Crowd], tmp_path: Path, way: str) -> None:
    """A worker ends with the process that has forked it, although the supervisor has heard of neither."""
    target = tmp_path / "application.py"
    text = APPLICATION.read_text(encoding="utf-8") + "imported_by = os.getpid()\n"
    target.write_text(text, encoding="utf-8")
    more = () if way == "stop" else ("--startup-timeout", "15s")
    servers = crowd("--processes", "1", "--preload", *more, target=target)
    target.write_text(text + HANGS_TWICE, encoding="utf-8")
    servers.server.signal(signal.SIGHUP)
    midwife = imports(target)
    assert until(target.with_suffix(".worker").exists)
    worker = int(target.with_suffix(".worker").read_text(encoding="ascii"))
    if way == "startup-timeout":
        servers.server.wait_for_log(r"worker 1 \(.*\) was not ready after 15 s")
    else:
        servers.server.signal(signal.SIGTERM)

        assert 0 == servers.server.wait(PROMPT_S)
    assert until(lambda: not is_there(midwife) and not is_there(worker))


@pytest.mark.long
@pytest.mark.parametrize(("when", "fork"), AT_FORK)
def test_hung_fork_is_too_slow(crowd: Callable[..., Crowd], tmp_path: Path, when: str, fork: int) -> None:
    """A worker that is not forked in time is given up; the log says where it hangs; the old worker stays."""
    target = tmp_path / "application.py"
    text = APPLICATION.read_text(encoding="utf-8")
    target.write_text(text, encoding="utf-8")
    servers = crowd("--processes", "1", "--preload", "--startup-timeout", "15s", target=target)
    target.write_text(text + HANGS_AT_FORK.format(when=when, fork=fork), encoding="utf-8")

    assert "does not start" in servers.refused("reload")
    hung = imports(target)
    assert until(lambda: not is_there(hung))
    servers.server.wait_for_log("in hang\n")
    servers.server.wait_for_log(r"worker 1 \(.*\) was not ready after 15 s")
    assert "4294967295" not in servers.server.log()
    # Supervisor, prototype, worker.
    assert until(lambda: 3 == len(processes_of(target)))
    assert servers.settles(1)
    assert "1" == servers.who()[3]


def test_threads_of_an_import(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """A prototype whose threads do not end is ended when it is no longer needed."""
    target = tmp_path / "application.py"
    text = APPLICATION.read_text(encoding="utf-8")
    text += "imported_by = os.getpid()\nthreading.Thread(target=time.sleep, args=(600,)).start()\n"
    target.write_text(text.replace('f"{os.getpid()} ', 'f"{imported_by} '), encoding="utf-8")
    servers = crowd("--processes", "1", "--preload", target=target)
    prototype = int(servers.who()[0])

    assert is_there(prototype)

    servers.order("reload")

    assert until(lambda: not is_there(prototype))

    prototype = int(servers.who()[0])
    servers.server.stop()

    assert not is_there(prototype)


def test_not_started(tmp_path: Path) -> None:
    """An application that cannot be imported ends the server, and its traceback is printed once."""
    target = tmp_path / "application.py"
    target.write_text("1 / 0\n", encoding="utf-8")
    done = run(*["serve", str(target), "--preload", "--processes", "2", "--bind", "127.0.0.1:0"])

    assert 3 == done.returncode
    assert 1 == done.stderr.count("ZeroDivisionError: division by zero\n"), done.stderr
