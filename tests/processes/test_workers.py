"""A supervisor starts its workers, replaces workers that end, says why they ended, and stops them."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from processes.application import OBEYED
from processes.conftest import APPLICATION, Crowd, freeze, is_alive
from processes.load import Load
from support import client
from support.client import request
from support.http import NoResponseError
from support.server import adyton, environment, run, until

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.server import Servers


def test_places(crowd: Callable[..., Crowd]) -> None:
    """Each worker knows its number, how many there are, and its generation; the supervisor serves nothing."""
    servers = crowd("--processes", "3")
    assert servers.settles(3)

    places = {tuple(answer.split()) for answer in servers.answers("/who", 3)}

    assert {("1", "3", "1", "1"), ("2", "3", "1", "1"), ("3", "3", "1", "1")} == {
        place[1:] for place in places
    }
    assert {int(place[0]) for place in places} == set(servers.pids())
    assert servers.server.process.pid not in servers.pids()
    assert "3 processes: as --processes says" in servers.server.log()


def test_number_from_the_platform(crowd: Callable[..., Crowd]) -> None:
    """A user who wonders about the number of workers is told which variable sets it."""
    servers = crowd(env={"WEB_CONCURRENCY": "2", "ADYTON_PROCESSES": ""})

    assert servers.settles(2)
    assert "2 processes: as WEB_CONCURRENCY says" in servers.server.log()


def test_alone(serve: Servers) -> None:
    """With 0 processes the process that was started serves requests itself; it has no place among workers."""
    server = serve(APPLICATION, "--processes", "0")

    assert 500 == server.fetch("/who").status
    assert 200 == server.fetch("/wait").status


@pytest.mark.parametrize(("environment", "flags", "count"), [({"WEB_CONCURRENCY": "2"}, [], 2), ({}, [], 0)])
def test_count(
    crowd: Callable[..., Crowd], environment: dict[str, str], flags: list[str], count: int
) -> None:
    """The number of workers comes from `WEB_CONCURRENCY`, else from the machine; the banner says why."""
    servers = crowd(*flags, env={"ADYTON_PROCESSES": "", **environment})
    wanted = servers.status()["processes"]

    if count:
        assert count == wanted
    else:
        assert 1 <= wanted <= len(os.sched_getaffinity(0))
        why = (
            "the machine has|of the machine's|the control group grants|allow no more|this Python has no lock"
        )
        assert re.search(why, servers.server.log()), servers.server.log()
    assert servers.settles(wanted)


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        (
            ["--min-processes", "2", "--max-processes", "3"],
            "2 processes, later 2 to 3: as --min",
        ),
        (["--min-processes", "2"], "2 processes: as --min-processes says; "),
        (["--min-processes", "1", "--max-processes", "3"], "1 process, later 1 to 3: "),
    ],
)
def test_count_within_bounds(serve: Servers, flags: list[str], line: str) -> None:
    """The default number is moved into the given bounds; the banner shows the bounds, and the reason."""
    one = str(min(os.sched_getaffinity(0)))
    alone = ["--bind", "127.0.0.1:0", "--control", "off", "--processes", "auto", *flags]
    server = serve.start(["taskset", "-c", one, *adyton("serve", str(APPLICATION), *alone)])

    assert f"  workers  {line}" in server.log()


def test_count_of_cpus(serve: Servers) -> None:
    """A process that may only use some of the CPUs does not say that the machine has only these."""
    one, online = str(min(os.sched_getaffinity(0))), os.sysconf("SC_NPROCESSORS_ONLN")
    alone = ["--bind", "127.0.0.1:0", "--control", "off", "--processes", "auto"]
    server = serve.start(["taskset", "-c", one, *adyton("serve", str(APPLICATION), *alone)])
    some, all_of_it = f"this process may use 1 of the machine's {online} CPUs", "the machine has 1 CPU"

    assert f"1 process: {some if online > 1 else all_of_it}\n" in server.log()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT])
def test_stop(crowd: Callable[..., Crowd], tmp_path: Path, number: signal.Signals) -> None:
    """The supervisor ends with status 0, and so do its workers; no process is left."""
    gate = tmp_path / "gate"
    servers = crowd("--processes", "2", env={"GATE": str(gate)})
    assert servers.settles(2)
    pids = servers.pids()
    with servers.server.connect() as connection:
        connection.send(request("/gate"))
        assert servers.has_inside(1)
        servers.server.signal(number)

        if number != signal.SIGQUIT:
            servers.server.wait_for_log("stopping when running requests are done")
            gate.touch()
            assert b"passed" == connection.receive().body
    assert 0 == servers.server.wait()
    assert not any(is_alive(pid) for pid in pids)
    assert not servers.control.exists()


@pytest.mark.parametrize("processes", ["0", "2"])
def test_stop_under_load(serve: Servers, processes: str) -> None:
    """In a stop, clients with kept connections get every answer, and are told which is the last."""
    server = serve(APPLICATION, "--processes", processes)
    with Load(server.port, "/wait", keeping=16, opening=0) as load:
        assert until(lambda: len(load.answers) > 16)
        load.let_go()
        server.signal(signal.SIGTERM)

        assert 0 == server.wait()
    assert [] == load.failures


FAST_S = 25.0
"""The longest stop that waits for nothing; a stop that waits for a request that hangs takes at least 30 s."""


def test_quit_is_fast(crowd: Callable[..., Crowd]) -> None:
    """SIGQUIT waits for no request: the end comes at once, and the connection is cut."""
    servers = crowd("--processes", "2")
    with servers.server.connect(lint_answers=False) as connection:
        connection.send(request("/deadlock"))
        assert servers.has_inside(1)
        servers.server.signal(signal.SIGQUIT)

        assert 0 == servers.server.wait(FAST_S)
        assert connection.at_end()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_second_signal_is_fast(crowd: Callable[..., Crowd], number: signal.Signals) -> None:
    """A second signal does not wait for a request that hangs."""
    servers = crowd("--processes", "1")
    with servers.server.connect() as connection:
        connection.send(request("/deadlock"))
        assert servers.has_inside(1)
        servers.server.signal(number)
        # Two signals that come at the same time are one.
        servers.server.wait_for_log("stopping when running requests are done")
        time.sleep(0.3)
        servers.server.signal(number)

        assert 0 == servers.server.wait(FAST_S)
    assert "from outside" not in servers.server.log()


def test_one_signal_twice(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """A signal to a whole process group counts once, also if one process passes it on: no request is cut."""
    gate = tmp_path / "gate"
    servers = crowd("--processes", "1", env={"GATE": str(gate)})
    with servers.server.connect() as connection:
        connection.send(request("/gate"))
        assert servers.has_inside(1)
        # Both signals must be pending when the server looks: two signals of one number would be one.
        freeze(servers.server.process.pid)
        servers.server.signal(signal.SIGTERM)
        servers.server.signal(signal.SIGINT)
        servers.server.signal(signal.SIGCONT)
        servers.server.wait_for_log("stopping when running requests are done")
        gate.touch()

        assert b"passed" == connection.receive().body
        assert 0 == servers.server.wait()


def test_stop_twice(crowd: Callable[..., Crowd]) -> None:
    """A second order to stop does not delay the end, and no worker is started meanwhile."""
    servers = crowd("--processes", "1", "--drain-delay", "1s")
    starts = servers.status()["starts"]
    with servers.server.connect() as connection:
        connection.send(request("/deadlock"))
        assert servers.has_inside(1)
        servers.order("stop")
        assert until(lambda: "draining" in [worker["state"] for worker in servers.status()["workers"]])
        servers.order("stop")
        time.sleep(0.5)

        assert starts == servers.status()["starts"]
        servers.server.signal(signal.SIGQUIT)
        assert 0 == servers.server.wait()
    assert 1 == servers.server.log().count("stopping when running requests are done")
    assert "panicked" not in servers.server.log()


def test_supervisor_is_killed(crowd: Callable[..., Crowd]) -> None:
    """Workers do not outlive a supervisor that was killed."""
    servers = crowd("--processes", "2")
    assert servers.settles(2)
    pids = servers.pids()
    servers.server.process.kill()

    assert until(lambda: not any(is_alive(pid) for pid in pids))

    servers.server.wait()


@pytest.mark.parametrize("broken", [{"BROKEN": "1"}, {}])
def test_not_started(tmp_path: Path, broken: dict[str, str]) -> None:
    """An application that cannot be loaded is tried once, and the reason is printed once."""
    target = tmp_path / "application.py"
    target.write_text("raise RuntimeError('not today')\n", encoding="utf-8")
    done = run(
        *["serve", str(APPLICATION if broken else target), "--processes", "3", "--control", "off"],
        *["--bind", "127.0.0.1:0"],
        env=broken,
    )

    assert 0 != done.returncode
    reason = "SystemExit: this version is broken" if broken else "RuntimeError: not today"

    assert 1 == done.stderr.count(reason), done.stderr
    assert "listening" not in done.stderr


CAUSES = [
    ("/segfault", r"worker 1 \(process \d+\) crashed with SIGSEGV", "Fatal Python error: Segmentation fault"),
    ("/leave", r"worker 1 \(process \d+\) ended by itself with status 7", "os._exit"),
]


@pytest.mark.parametrize(("page", "cause", "more"), CAUSES)
def test_causes(crowd: Callable[..., Crowd], page: str, cause: str, more: str) -> None:
    """A worker that dies is replaced at once, and the log says why it died."""
    servers = crowd("--processes", "1")
    servers.server.may_crash = True
    before = servers.who()[0]
    with servers.server.connect(lint_answers=False) as connection:
        connection.send(request(page))

        assert connection.at_end()
    servers.server.wait_for_log(cause)

    assert before != servers.who()[0]
    assert more in servers.server.log()
    assert servers.settles(1)


@pytest.mark.parametrize("end", ["/segfault", "/leave", "SIGKILL", "fast"])
@pytest.mark.parametrize("form", ["combined", "%m %U"])
def test_lines_of_the_dead(crowd: Callable[..., Crowd], tmp_path: Path, end: str, form: str) -> None:
    """However a worker ends, the access log has a line for each answer, once."""
    log = tmp_path / "access.log"
    servers = crowd("--processes", "1", "--access-log", str(log), "--access-log-format", form)
    servers.server.may_crash = True
    pid = servers.pids()[0]
    with servers.server.connect(lint_answers=False) as connection:
        for _ in range(3):
            assert 200 == connection.get("/who").status
        if end == "SIGKILL":
            os.kill(pid, signal.SIGKILL)
        elif end == "fast":
            servers.order("stop", "fast")
        else:
            connection.send(request(end))

        assert connection.at_end()

    assert until(lambda: not is_alive(pid) and log.read_text("utf-8").count("\n") >= 3)
    assert 3 == log.read_text("utf-8").count("GET /who")
    if end != "fast":
        assert servers.who()[0] != str(pid)


def test_lines_that_nobody_reads(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """A supervisor with lines for a pipe without a reader does not wait; the next reader gets the lines."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    servers = crowd("--processes", "1", "--access-log", str(pipe))
    pid = servers.pids()[0]

    def holds_back() -> bool:
        """Stop the worker; tell whether it then holds a line that is not written yet."""
        assert 200 == servers.server.fetch("/who").status
        freeze(pid)
        if not select.select([reader], [], [], 0)[0]:
            return True
        os.read(reader, 1 << 16)
        os.kill(pid, signal.SIGCONT)
        return False

    assert until(holds_back)
    os.close(reader)
    os.kill(pid, signal.SIGKILL)

    assert servers.settles(1)

    with pipe.open("rb", buffering=0) as stream:
        assert b'"GET /who HTTP/1.1" 200' in stream.read(1 << 16)


@pytest.mark.parametrize("threads", ["1", "4"])
def test_requests_of_the_dead(crowd: Callable[..., Crowd], threads: str) -> None:
    """The log of a crash names the requests that were inside, without anything that may be secret."""
    flags = ["--threads", threads, "--request-id-header", "X-Request-ID"]
    servers = crowd("--processes", "1", *flags)
    servers.server.may_crash = True
    others = int(threads) - 1
    with contextlib.ExitStack() as stack:
        kept = [stack.enter_context(servers.server.connect(lint_answers=False)) for _ in range(others + 1)]
        for connection in kept[1:]:
            connection.send(request("/deadlock", fields=[("X-Request-ID", "waits-1")]))
        assert servers.has_inside(others)
        assert 200 == kept[0].get("/who").status
        kept[0].send(request("/segfault?password=1"))

        assert kept[0].at_end()

    said = servers.server.wait_for_log(r"crashed with SIGSEGV.*$")
    line = next(line for line in said.splitlines() if "crashed with SIGSEGV" in line)

    assert re.search(r"inside the application (was|were) .*GET /segfault \(request [0-9a-f]{16}\)", line)
    assert others == line.count("GET /deadlock (request waits-1)")
    assert "/who" not in line
    assert "password" not in line


def test_killed(crowd: Callable[..., Crowd]) -> None:
    """A worker that is killed under load costs the requests inside it, and no other connection."""
    servers = crowd("--processes", "2")
    assert servers.settles(2)
    with Load(servers.server.port, "/who", keeping=4, opening=2) as load:
        for count in range(1, 4):
            load.run(0.5)
            os.kill(servers.pids()[0], signal.SIGKILL)
            servers.server.wait_for_log(r"was killed by SIGKILL from outside", count=count)
        before = len(load.answers)
        assert until(lambda: len(load.answers) > before + 100)

    # Each of the six clients can have been inside the worker that was killed.
    assert len(load.failures) <= 6 * 3, load.failures
    assert [] == load.turned_away
    assert 3 == servers.status()["deaths"]["killed"]
    assert servers.settles(2)


def test_killed_before_it_accepts(crowd: Callable[..., Crowd]) -> None:
    """A client that waits at the sockets of a worker that is killed is answered by its successor."""
    servers = crowd("--processes", "1")
    (old,) = servers.pids()
    freeze(old)
    with contextlib.ExitStack() as stack:
        waiting = [stack.enter_context(servers.server.connect()) for _ in range(20)]
        for connection in waiting:
            connection.send(request("/who"))
        os.kill(old, signal.SIGKILL)
        answered = {connection.receive().body.split()[0] for connection in waiting}
    (new,) = servers.pids()

    assert {str(new).encode()} == answered
    assert 1 == servers.status()["deaths"]["killed"]


def test_told_by_others(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """A worker that gets SIGTERM from a program finishes its requests; another worker serves meanwhile."""
    gate = tmp_path / "gate"
    servers = crowd("--processes", "1", "--log-level", "debug", env={"GATE": str(gate)})
    (before,) = servers.pids()
    with servers.server.connect() as connection:
        connection.send(request("/gate"))
        assert servers.has_inside(1)
        os.kill(before, signal.SIGTERM)
        servers.server.wait_for_log(
            rf"ADY328 warning: worker 1 \(process {before}\) was told to end by a signal"
        )

        # The worker still takes connections that were made before it was told to end.
        assert until(lambda: str(before) != servers.who()[0])
        gate.touch()
        assert b"passed" == connection.receive().body
    servers.server.wait_for_log(rf"worker 1 \(process {before}\) has ended: a signal told it to")
    assert {"told": 1} == servers.status()["deaths"]
    assert servers.settles(1)


#: The program that starts the tests may ignore signals, which the server would inherit; a new session is a
#: process group, too.
FRESH = ["env", "--default-signal", "setsid"]


def fresh(serve: Servers, tmp_path: Path, *flags: str, env: dict[str, str] | None = None) -> Crowd:
    """Start a server as a terminal would: with no signal ignored, and leading a group of its own."""
    control = tmp_path / "control.sock"
    command = [*FRESH, *adyton("serve"), str(APPLICATION), "--bind", "127.0.0.1:0", *flags]
    command += ["--control", "off" if "0" in flags else str(control)]
    return Crowd(serve.start(command, env=env), control)


@pytest.mark.parametrize("flags", [["0"], ["1"], ["1", "--preload"]])
def test_programs_of_a_worker(serve: Servers, tmp_path: Path, flags: list[str]) -> None:
    """A program that an application starts gets every signal: it does not inherit the server's handling."""
    server = fresh(serve, tmp_path, "--processes", *flags).server

    assert b"" == server.fetch("/masks").body
    ended = server.fetch("/signals").body.decode().split()
    assert [number.name for number in OBEYED] == ended


@pytest.mark.parametrize("flags", [[], ["--preload"]])
def test_signals_pass_a_worker(serve: Servers, tmp_path: Path, flags: list[str]) -> None:
    """A signal that only a supervisor obeys does nothing to a worker, and workers block no signal."""
    servers = fresh(serve, tmp_path, "--processes", "1", *flags)
    before = servers.pids()
    for number in {*OBEYED, signal.SIGTTIN, signal.SIGTTOU} - {signal.SIGTERM}:
        for _ in range(3):
            os.kill(before[0], number)
            assert str(before[0]) == servers.who()[0], number
    status = Path(f"/proc/{before[0]}/status").read_text(encoding="ascii")

    assert "SigBlk:\t0000000000000000\n" in status
    assert before == servers.pids()


def test_signal_of_a_terminal(serve: Servers, tmp_path: Path) -> None:
    """Ctrl-C comes to the whole group: workers leave the stop to the supervisor, and finish requests."""
    gate = tmp_path / "gate"
    servers = fresh(serve, tmp_path, "--processes", "2", "--drain-delay", "60s", env={"GATE": str(gate)})
    assert servers.settles(2)
    pids = servers.pids()
    with servers.server.connect() as connection:
        connection.send(request("/gate"))
        assert servers.has_inside(1)
        os.killpg(servers.server.process.pid, signal.SIGINT)
        gate.touch()

        assert b"passed" == connection.receive().body
        # Until the delay is over, no process has begun to stop.
        assert int(servers.who()[0]) in pids
        assert pids == servers.pids()
    servers.server.wait_for_log("stopping when running requests are done")
    # A second signal that comes within 100 ms counts as the first one, passed on.
    time.sleep(0.2)
    servers.server.signal(signal.SIGTERM)
    assert 0 == servers.server.wait()
    assert "from outside" not in servers.server.log()


BACKOFF_S = [0, 0.1, 0.2, 0.4, 0.8, 1.6]
"""Least delay before a worker that died for the first, second... time in a row is started again."""


FAILS_AT_ITS_END = """
import os
import adyton

@adyton.hooks.on_worker_stop
def stop(worker):
    os._exit(5)

def handler(request):
    return "fine"
"""


def test_told_and_failed(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """A worker that was told to end and then fails does not count as one that left by itself."""
    target = tmp_path / "fails.py"
    target.write_text(FAILS_AT_ITS_END, encoding="utf-8")
    servers = crowd("--processes", "1", target=target)
    servers.order("reload")
    log = servers.server.wait_for_log(
        r"worker 1 \(process \d+\) has ended with status 5, whose reason stands"
    )

    assert "by itself" not in log
    assert {"told": 1} == servers.status()["deaths"]


@pytest.mark.parametrize("name", ["access", "error"])
def test_full_disk(tmp_path: Path, name: str) -> None:
    """If a log cannot be written, its lines are lost, and that is reported elsewhere; no request fails."""
    path = tmp_path / "socket"
    flags = ["serve", str(APPLICATION), "--bind", f"unix:{path}", "--processes", "2"]
    flags += [f"--{name}-log", "/dev/full", "--control", str(tmp_path / "control")]
    with subprocess.Popen(adyton(*flags), env=environment(), stderr=subprocess.PIPE, text=True) as process:
        try:
            assert until(lambda: path.exists() and 200 == fetch_or_nothing(str(path)))
            assert "generation 2 serves" in run("reload", "--control", str(tmp_path / "control")).stdout
            assert 200 == fetch_or_nothing(str(path))
        finally:
            process.send_signal(signal.SIGTERM)
            said = process.communicate(timeout=40)[1]
        assert 0 == process.returncode
    assert name == "error" or "ADY401 error" in said, said


def fetch_or_nothing(path: str) -> int:
    """Return the status of an answer; 0 while nobody listens."""
    with contextlib.suppress(OSError):
        return client.fetch(path, "/who").status
    return 0


def test_crash_loop(crowd: Callable[..., Crowd]) -> None:
    """A worker that dies again and again is started less and less often."""
    servers = crowd("--processes", "1")
    waits = []
    pid = int(servers.who()[0])
    for count in range(1, len(BACKOFF_S) + 1):
        since = time.monotonic()
        os.kill(pid, signal.SIGKILL)
        servers.server.wait_for_log("was killed by SIGKILL", count=count)
        pid = int(servers.who()[0])
        waits.append(time.monotonic() - since)

    assert all(wait >= least for wait, least in zip(waits, BACKOFF_S, strict=True)), waits
    assert "from outside; the next one starts in 0.8 s\n" in servers.server.log()
    assert servers.settles(1)
    assert 7 == servers.status()["starts"]


def test_hung(crowd: Callable[..., Crowd]) -> None:
    """A request that keeps the interpreter gets its worker replaced, and the log says where it hangs."""
    servers = crowd("--processes", "1", "--request-timeout", "1s", "--graceful-timeout", "1s")
    before = servers.who()[0]
    with servers.server.connect() as connection:
        connection.send(request("/hold"))
        log = servers.server.wait_for_log("worker 1 is replaced: a request in it does not end")

        # The log has the place already now, and not only when the worker is killed: the call may return
        # before that.
        assert "in hold" in log
        assert until(lambda: who_if_anybody(servers) not in {before, ""})
    servers.server.wait_for_log("was killed: it had not finished 1 s after it was told to")
    assert servers.settles(1)


def who_if_anybody(servers: Crowd) -> str:
    """Return the process that answers; an empty text if the worker was ended before it answered."""
    try:
        return servers.who()[0]
    except (NoResponseError, ConnectionResetError, BrokenPipeError):
        return ""


def test_too_slow_to_start(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """A new version that is never ready is made to print its stack, and given up."""
    target = tmp_path / "application.py"
    text = APPLICATION.read_text(encoding="utf-8")
    target.write_text(text, encoding="utf-8")
    servers = crowd("--processes", "1", "--startup-timeout", "15s", target=target)
    target.write_text(text + "\ntime.sleep(60)\n", encoding="utf-8")

    assert "does not start" in servers.refused("reload")
    servers.server.wait_for_log("was not ready after 15 s")
    servers.server.wait_for_log(f'File "{re.escape(str(target))}", line {len(text.splitlines()) + 2}')
    assert "1" == servers.who()[3]


LIMITS = [
    (["--max-requests", "20"], "/who", 23, r"it has answered ([2-9]\d|\d{3,}) requests"),
    (["--max-lifetime", "1s"], "/who", 1, r"it has served for [1-9]\d* s"),
    (["--max-rss", "100m"], "/grow", 2, r"it has \d\d\d MiB of memory"),
    (["--cpu-limit", "1s"], "/spin", 5, "it has used 1 s of CPU time"),
]


@pytest.mark.parametrize(("flags", "page", "count", "why"), LIMITS, ids=[flags[0] for flags, *_ in LIMITS])
def test_limits(crowd: Callable[..., Crowd], flags: list[str], page: str, count: int, why: str) -> None:
    """A worker that has reached a limit is replaced without losing a request."""
    servers = crowd("--processes", "1", *flags)
    before = servers.pids()
    with Load(servers.server.port, "/wait") as load:
        for _ in range(count):
            assert 200 == servers.server.fetch(page).status
        servers.server.wait_for_log(f"worker 1 is replaced: {why}")

        assert until(lambda: bool(servers.pids()) and before != servers.pids())
        assert until(lambda: "limit" in servers.status()["deaths"])
    assert [] == load.failures
    assert {"limit"} == set(servers.status()["deaths"])


def test_cause_of_a_stuck_request(crowd: Callable[..., Crowd]) -> None:
    """If a worker is replaced because a request in it never ends, the worker's end counts as `limit`."""
    servers = crowd("--processes", "1", "--request-timeout", "1s", "--graceful-timeout", "1s")
    with servers.server.connect(lint_answers=False) as connection:
        connection.send(request("/deadlock"))
        servers.server.wait_for_log("worker 1 is replaced: a request in it does not end")

        assert until(lambda: {"limit": 1} == servers.status()["deaths"])
    assert servers.settles(1)


def test_memory_limit(crowd: Callable[..., Crowd]) -> None:
    """An allocation above the memory limit fails its own request, and no other."""
    servers = crowd("--processes", "1", "--memory-limit", "3g")

    assert b"MemoryError" == servers.server.fetch("/allocate").body
    assert 200 == servers.server.fetch("/who").status


def test_memory_limit_without_room_for_threads() -> None:
    """A memory limit without room for all stacks is refused, and the message names a limit that would do."""
    flags = ["--processes", "1", "--threads", "100", "--memory-limit", "100m", "--bind", "127.0.0.1:0"]
    done = run("serve", str(APPLICATION), "--control", "off", *flags)

    assert 1 == done.returncode
    said = "memory-limit: 100 MiB is too small for the 102 threads of --threads 100"
    assert f"{said}: each has a stack of" in done.stderr
    assert "(setting --memory-limit)" in done.stderr


def test_nice(crowd: Callable[..., Crowd]) -> None:
    """With `--nice`, workers have a lower priority than the supervisor."""
    servers = crowd("--processes", "1", "--nice", "5")
    own = os.getpriority(os.PRIO_PROCESS, servers.server.process.pid)

    assert own + 5 == os.getpriority(os.PRIO_PROCESS, servers.pids()[0])


def test_scale(crowd: Callable[..., Crowd]) -> None:
    """SIGTTIN adds a worker and SIGTTOU takes one away, but never the last, and no request is lost."""
    servers = crowd("--processes", "1")
    with Load(servers.server.port, "/who") as load:
        servers.server.signal(signal.SIGTTIN)
        assert servers.settles(2)
        assert "3 workers wanted\n" == servers.order("workers", "more")
        assert servers.settles(3)
        servers.server.signal(signal.SIGTTOU)
        assert servers.settles(2)
        assert "1 worker wanted\n" == servers.order("workers", "fewer")
        assert servers.settles(1)
        assert "one is the least" in servers.refused("workers", "fewer")
        load.run(1)

    assert [] == load.failures
    assert servers.settles(1)


def test_late_for_a_worker_less(crowd: Callable[..., Crowd]) -> None:
    """A client that waits at the sockets of a worker that is taken away is answered all the same."""
    servers = crowd("--processes", "1")
    servers.order("workers", "more")
    assert servers.settles(2)
    # The first worker began before the second worker's sockets were opened, and does not listen at them.
    first, second = servers.pids()
    freeze(second)
    with contextlib.ExitStack() as stack:
        waiting = [stack.enter_context(servers.server.connect()) for _ in range(20)]
        for connection in waiting:
            connection.send(request("/who"))
        since = time.monotonic()
        servers.order("workers", "fewer")
        assert until(lambda: ["serving", "draining"] == [one["state"] for one in servers.status()["workers"]])
        # Handshakes of which a packet was lost are over by then.
        assert time.monotonic() - since > 3
        assert servers.status()["processes"] == 1
        os.kill(second, signal.SIGKILL)
        answered = {int(connection.receive().body.split()[0]) for connection in waiting}

        assert 2 == len(answered)
        assert second not in answered
        assert first in answered
    assert servers.settles(1)
    assert [first] == servers.pids()


FORGER = """
import contextlib
import os
import socket

def handler(request):
    said = os.fsencode(request.path.removeprefix("/"))
    said = b'{"hello":{"pid":%s}}' % said if said.isdigit() else b'{"sources":["/%s"]}' % said
    for number in map(int, os.listdir("/proc/self/fd")):
        try:
            with socket.socket(fileno=os.dup(number)) as channel:
                if channel.family == socket.AF_UNIX:
                    channel.send(b"\\n%s\\n" % said)
        except OSError:
            pass
    return "sent"
"""


@pytest.mark.parametrize("flags", [[], ["--preload"]])
def test_forged_hello(crowd: Callable[..., Crowd], tmp_path: Path, flags: list[str]) -> None:
    """A worker's claim to be another process is not believed: root's supervisor would end that process."""
    target = tmp_path / "forger.py"
    target.write_text(FORGER, encoding="utf-8")
    servers = crowd("--processes", "1", *flags, target=target)
    with subprocess.Popen(["sleep", "60"]) as victim:  # noqa: S607
        score = Path(f"/proc/{victim.pid}/oom_score_adj")
        before, pids = score.read_text(encoding="ascii"), servers.pids()
        for other in (victim.pid, servers.server.process.pid):
            assert b"sent" == servers.server.fetch(f"/{other}").body

            assert pids == servers.pids()
        assert before == score.read_text(encoding="ascii")
        servers.server.stop()
        assert victim.poll() is None
        victim.kill()


def test_forged_sources(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """A file that a worker wants to have watched is watched in development only."""
    target, other = tmp_path / "forger.py", tmp_path / "other.py"
    target.write_text(FORGER, encoding="utf-8")
    servers = crowd("--processes", "1", target=target)
    assert b"sent" == servers.server.fetch(str(other)).body
    time.sleep(1.5)
    other.write_text("changed", encoding="utf-8")
    # The watcher looks once a second.
    time.sleep(1.5)

    assert "has changed" not in servers.server.log()


def test_program_has_no_workers(tmp_path: Path) -> None:
    """A program that serves its own application is told that it cannot have workers."""
    program = tmp_path / "program.py"
    program.write_text("import adyton\nadyton.serve(lambda request: 'x', max_requests=5)\n", encoding="utf-8")
    command = [adyton()[0], str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert "max_requests: a program serves in its own process, without a supervisor" in done.stderr


def test_demand(crowd: Callable[..., Crowd]) -> None:
    """While requests wait for a thread, workers are added, up to the number that is allowed."""
    servers = crowd("--processes", "1", "--max-processes", "2", "--threads", "2")
    assert servers.settles(1)
    with Load(servers.server.port, "/wait", keeping=16, opening=0) as load:
        servers.server.wait_for_log("one more worker: 2")

        assert until(lambda: 2 == len(servers.pids()))
        load.run(4)
        assert 2 == servers.status()["processes"]
    assert [] == load.failures


#: The timeouts are so long that only requests that never end exceed them, on a busy machine as well.
PATIENCE = ["--request-timeout", "3s", "--graceful-timeout", "3s"]

FAULTS = [
    ("/segfault", [], "crashed with SIGSEGV"),
    ("/leave", [], "ended by itself with status 7"),
    ("/hold", PATIENCE, "is replaced: a request in it does not end"),
    ("/deadlock", PATIENCE, "is replaced: a request in it does not end"),
    ("/spin", ["--cpu-limit", "1s"], "has used 1 s of CPU time"),
]


@pytest.mark.parametrize(("page", "limits", "cause"), FAULTS, ids=[page for page, *_ in FAULTS])
def test_faults_under_load(crowd: Callable[..., Crowd], page: str, limits: list[str], cause: str) -> None:
    """Whatever a request does to its worker, others are served, and in the end all workers serve."""
    servers = crowd("--processes", "2", *limits)
    servers.server.may_crash = True
    assert servers.settles(2)
    with Load(servers.server.port, "/who", keeping=4, opening=1) as load:
        with servers.server.connect(lint_answers=False) as connection:
            connection.send(request(page) * (4 if page == "/spin" else 1))
            servers.server.wait_for_log(cause)
            load.run(1)
        before = len(load.answers)

        assert until(lambda: len(load.answers) > before + 10)

    # In the worst case all clients were inside, and so were later ones, until the worker had stopped
    # accepting.
    assert len(load.failures) <= 10, load.failures
    assert [] == load.turned_away
    assert servers.settles(2)
