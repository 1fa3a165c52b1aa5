"""The control socket takes orders from its own user; the admin listener tells monitors the server's state."""

from __future__ import annotations

import concurrent.futures
import contextlib
import fcntl
import http.server
import itertools
import json
import math
import os
import pty
import re
import signal
import socket
import socketserver
import stat
import struct
import subprocess
import termios
import threading
import time
from typing import TYPE_CHECKING

import pytest

from processes.conftest import APPLICATION, admin_of, freeze, is_alive
from processes.load import Load
from real.browser import Browser
from support import client
from support.client import request
from support.prometheus import assert_is_prometheus
from support.server import Log, adyton, environment, run, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from processes.conftest import Crowd
    from support.http import Response


def test_status(crowd: Callable[..., Crowd]) -> None:
    """The count of requests is exact: it survives a reload, and the death of a worker."""
    servers = crowd("--processes", "2")
    assert servers.settles(2)
    for _ in range(50):
        servers.who()

    assert until(lambda: 50 == servers.status()["total"]["requests"])

    servers.order("reload")
    os.kill(servers.pids()[0], signal.SIGKILL)
    servers.server.wait_for_log("was killed by SIGKILL")

    assert servers.settles(2)
    assert 50 == servers.status()["total"]["requests"]
    assert {"killed": 1, "told": 2} == servers.status()["deaths"]

    assert all(1 << 20 < worker["pss_bytes"] <= worker["rss_bytes"] for worker in servers.status()["workers"])

    table = servers.order("status")

    assert "serving, generation 2" in table
    assert "workers that have ended: 1 killed, 2 told" in table


def test_threads_from_the_start(crowd: Callable[..., Crowd]) -> None:
    """Workers that have had no request yet show the number of their threads."""
    servers = crowd("--processes", "2", "--threads", "4")
    assert servers.settles(2)

    assert all(4 <= worker["threads"] <= 8 for worker in servers.status()["workers"])


@pytest.mark.parametrize("page", ["deadlock", "hold"])
def test_dump(crowd: Callable[..., Crowd], page: str) -> None:
    """The dump has the stacks of all threads of all workers, even of a worker that keeps the interpreter."""
    servers = crowd("--processes", "2")
    assert servers.settles(2)
    with servers.server.connect() as connection:
        connection.send(request(f"/{page}"))

        def is_whole() -> bool:
            # A worker that gets no CPU for seconds does not answer in time.
            dump = servers.order("dump")
            # Idle threads, and the thread that writes the dump, would bury the request.
            heads = re.findall(r"^(?:== worker \d|Thread |Threads of)", dump, re.MULTILINE)
            expected = ["== worker 1", "== worker 2", "Thread ", "Threads of", "Threads of"]
            return f"in {page}\n" in dump and expected == sorted(heads)

        assert until(is_whole)
    servers.order("stop", "fast")

    assert 0 == servers.server.wait()


def test_dump_of_one_thread(crowd: Callable[..., Crowd]) -> None:
    """A request in the main thread, the only thread of the application, is in the dump."""
    servers = crowd("--processes", "1", "--threads", "1")
    with servers.server.connect() as connection:
        connection.send(request("/deadlock"))

        assert until(lambda: "in deadlock\n" in servers.order("dump"))
        assert re.match(r"== worker 1 .*\nThread MainThread:\n", servers.order("dump"))
    servers.order("stop", "fast")

    assert 0 == servers.server.wait()


def test_dump_of_a_silent_worker(crowd: Callable[..., Crowd]) -> None:
    """A worker that does not answer is named in the dump all the same."""
    servers = crowd("--processes", "1")
    (pid,) = servers.pids()
    freeze(pid)
    try:
        dump = servers.order("dump")
    finally:
        os.kill(pid, signal.SIGCONT)

    assert f"== worker 1 (process {pid})\nit did not answer in time\n" == dump


def test_stop_and_level(crowd: Callable[..., Crowd]) -> None:
    """Orders to stop and to change the log level work; nonsense is refused with a sentence."""
    servers = crowd("--processes", "1")

    assert "logging from debug on" in servers.order("log-level", "debug")
    assert "the command is: adyton log-level LEVEL" in run("log-level", "loud").stderr
    assert "adyton workers more|fewer" in run("workers").stderr
    assert "stopping" in servers.order("stop")
    assert 0 == servers.server.wait()
    assert "does not answer" in servers.refused("status")


def test_level_stays(crowd: Callable[..., Crowd]) -> None:
    """A changed log level also holds for workers that start later, and for the supervisor's next program."""
    servers = crowd("--processes", "1")
    servers.order("log-level", "debug")

    def logs_its_first_request() -> None:
        servers.order("reload")
        since = servers.server.mark()
        with servers.server.connect(lint_answers=False) as connection:
            connection.send(b"GET / HTTP/1.1\r\nNo: host\r\n\r\n")
            assert 400 == connection.receive().status
        servers.server.wait_for_log("ADY108 debug", since=since)

    logs_its_first_request()
    servers.server.signal(signal.SIGUSR2)
    servers.server.wait_for_log("the supervisor is version")
    since = servers.server.mark()
    logs_its_first_request()
    servers.server.wait_for_log(r"debug: worker 1 \(process \d+\) has ended", since=since)


def test_found_by_itself(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """Without a path, an order finds the only server that runs; if two run, the order has to name one."""
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    env = {"RUNTIME_DIRECTORY": str(folder)}
    one = crowd("--control", "auto", "--processes", "1", env=env)

    assert "serving" in run("status", env=env).stdout

    two = crowd("--control", "auto", "--processes", "1", env=env)
    message = run("status", env=env).stderr

    assert "2 servers run; say which one" in message
    for server in (one.server, two.server):
        assert f"--control {folder}/{server.process.pid}.sock" in message
        server.stop()
    assert "no server of this user runs" in run("status", env=env).stderr


def test_left_by_the_killed(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """A server removes the control sockets that killed servers have left, and nothing else."""
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    nobody = 2**22  # No process has this number (proc(5), pid_max).
    left, foreign, alive = (folder / f"{name}.sock" for name in (nobody, "site", nobody + 1))
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(3)]
        for one, path in zip(sockets, (left, foreign, alive), strict=True):
            one.bind(str(path))
        sockets[2].listen()
        server = crowd("--control", "auto", "--processes", "1", env={"RUNTIME_DIRECTORY": str(folder)}).server

        assert {foreign, alive, folder / f"{server.process.pid}.sock"} == set(folder.iterdir())


def test_found_from_a_shell(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """A shell of root, which has XDG_RUNTIME_DIR, finds services that were started without that variable."""
    servers = crowd("--control", "auto", "--processes", "1")
    shell = {"XDG_RUNTIME_DIR": str(tmp_path)} if os.geteuid() == 0 else {}
    told = run("status", env=shell)

    # Other servers of this user may run, too.
    assert re.search(
        rf"process {servers.server.process.pid}:|/{servers.server.process.pid}\.sock",
        told.stdout + told.stderr,
    )


def test_others_may_not(crowd: Callable[..., Crowd]) -> None:
    """Only the owner may use the control socket; another user who can connect is refused with a reason."""
    servers = crowd("--processes", "1")

    assert 0o600 == stat.S_IMODE(servers.control.stat().st_mode)

    if os.geteuid() != 0:
        return  # only root can be somebody else
    servers.control.chmod(0o666)
    for folder in servers.control.parents:
        if str(folder).startswith("/tmp/"):  # noqa: S108
            folder.chmod(folder.stat().st_mode | 0o055)
    answer = as_nobody(servers.control, "POST /stop HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")

    assert answer.startswith("HTTP/1.1 403 "), answer
    assert "user 65534 may not give orders here" in answer
    assert "serving" in servers.order("status")


def as_nobody(control: Path, text: str) -> str:
    """Send a text to a unix socket from a process of another user; return the answer."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setuid(65534)
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(str(control))
                connection.sendall(text.encode())
                while data := connection.recv(65536):
                    os.write(write_end, data)
        finally:
            # Whatever happens, the child ends here: otherwise it would go on with the tests, too.
            os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end) as stream:
        answer = stream.read()
    os.waitpid(child, 0)
    return answer


def test_head(crowd: Callable[..., Crowd]) -> None:
    """Both listeners answer HEAD as they do GET."""
    servers = crowd("--processes", "1", "--admin", "127.0.0.1:0")
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(servers.control))
        connection.sendall(b"HEAD /status HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        head = b"".join(iter(lambda: connection.recv(65536), b""))

    assert head.startswith(b"HTTP/1.1 200 ")
    assert head.endswith(b"\r\n\r\n")
    assert 200 == client.fetch(admin_of(servers.server), "/status", method="HEAD").status


def test_admin(crowd: Callable[..., Crowd]) -> None:
    """The admin listener has probes and metrics, but takes no orders; in a stop, readiness fails first."""
    # The delay is so long that all requests of this test come in time; SIGQUIT ends the delay.
    servers = crowd("--processes", "2", "--admin", "127.0.0.1:0", "--drain-delay", "60s")
    address = admin_of(servers.server)
    assert servers.settles(2)
    for _ in range(10):
        servers.who()

    assert b"live\n" == client.fetch(address, "/livez").body
    assert b"ready\n" == client.fetch(address, "/readyz").body
    assert 404 == client.fetch(address, "/reload").status
    assert 405 == client.fetch(address, "/reload", method="POST", body=b"").status
    assert 405 == client.fetch(address, "/stop", method="POST", body=b"").status

    # Answers that are late, or in pieces, count as well.
    assert 200 == servers.server.fetch("/wait").status

    def metrics_of() -> str:
        return client.fetch(address, "/metrics").body.decode()

    counted = (
        'adyton_requests_total{class="2xx"} 11\n',
        "adyton_request_duration_seconds_count 11\n",
        'adyton_prefix_requests_total{prefix="/"} 11\n',
    )

    # An answer is counted when it has been sent, in one cell after the other.
    assert until(lambda: all(line in metrics for metrics in [metrics_of()] for line in counted))
    metrics = metrics_of()
    assert_is_prometheus(metrics)
    assert "adyton_workers 2\n" in metrics

    servers.server.signal(signal.SIGTERM)

    assert until(lambda: 503 == client.fetch(address, "/readyz").status)
    assert 200 == client.fetch(address, "/livez").status
    assert 200 == servers.server.fetch("/who").status
    servers.server.signal(signal.SIGQUIT)
    assert 0 == servers.server.wait()


def test_metrics(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """The numbers that monitors look at are right: waits, connections, bytes, workers and files."""
    (tmp_path / "file.txt").write_text("a file", encoding="ascii")
    flags = ["--threads", "2", "--static", f"/static={tmp_path}", "--admin", "127.0.0.1:0"]
    gate = tmp_path / "gate"
    servers = crowd("--processes", "1", *flags, env={"GATE": str(gate)})
    servers.server.may_crash = True
    address = admin_of(servers.server)

    def numbers() -> dict[str, float]:
        lines = client.fetch(address, "/metrics").body.decode().splitlines()
        rows = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
        return {name: float(number) for name, number in rows}

    with contextlib.ExitStack() as stack:
        kept = [stack.enter_context(servers.server.connect()) for _ in range(8)]
        for connection in kept:
            connection.send(request("/gate"))
        # Two threads are inside; the other six requests wait at least as long as this pause.
        assert until(lambda: 6 == servers.status()["total"]["queue_length"])
        time.sleep(0.05)
        gate.touch()
        for connection in kept:
            assert 200 == connection.receive().status
        for _ in range(2):
            assert b"a file" == kept[0].get("/static/file.txt").body
        stack.enter_context(servers.server.connect(lint_answers=False)).send(request("/deadlock"))
        states = [f'adyton_connections{{state="{state}"}}' for state in ("idle", "asking")]
        assert until(lambda: [8, 1] == [numbers()[state] for state in states])
        os.kill(servers.pids()[0], signal.SIGKILL)
    servers.server.wait_for_log("was killed by SIGKILL")
    assert servers.settles(1)
    found = numbers()

    assert 1 == found['adyton_worker_deaths_total{cause="killed"}']
    assert 2 == found["adyton_worker_starts_total"]
    assert 9 == found["adyton_connections_accepted_total"]
    assert 8 * len(b"passed") + 2 * len(b"a file") == found["adyton_body_bytes_total"]
    assert (1, 1) == (found["adyton_static_loads_total"], found["adyton_static_hits_total"])
    assert found["adyton_calls_queued_total"] >= 6
    assert found["adyton_queue_wait_seconds_count"] >= 6
    assert found["adyton_queue_wait_seconds_sum"] > 0.2
    for name in ("adyton_interpreter_wait_seconds_count", "adyton_interpreter_wait_seconds_sum"):
        assert found[name] > 0
    for name in ("adyton_received_bytes_total", "adyton_calls_begun_total", "adyton_uptime_seconds"):
        assert found[name] > 0


def test_drains(crowd: Callable[..., Crowd]) -> None:
    """A draining server is not ready, but serves for a while; then it only finishes running requests."""
    # The second thread is for requests that still come.
    flags = ["--threads", "2", "--admin", "127.0.0.1:0", "--drain-delay", "8s"]
    servers = crowd("--processes", "1", *flags)
    admin = admin_of(servers.server)
    (worker,) = servers.pids()
    with servers.server.connect(lint_answers=False) as connection:
        connection.send(request("/deadlock"))
        assert servers.has_inside(1)
        servers.server.signal(signal.SIGTERM)
        assert until(lambda: 503 == client.fetch(admin, "/readyz").status)
        assert 200 == servers.server.fetch("/who").status

        def refused() -> bool:
            try:
                with servers.server.connect():
                    return False
            except ConnectionResetError:
                # The connection came in the moment in which the kernel closed the listener: look again.
                return False
            except ConnectionRefusedError:
                return True

        assert until(refused)
        assert is_alive(worker), "running requests are waited for"
    servers.server.signal(signal.SIGTERM)
    assert 0 == servers.server.wait()


def test_admin_hosts(crowd: Callable[..., Crowd]) -> None:
    """A page that asks by its own site's name learns nothing (DNS rebinding); any client may send probes."""
    names = "one.example,two.example"
    servers = crowd("--processes", "1", "--admin", "127.0.0.1:0", "--admin-hosts", names)
    address = admin_of(servers.server)

    def status(path: str, host: str) -> int:
        with client.Connection(address) as connection:
            connection.send(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            return connection.receive().status

    for host in ["localhost", f"127.0.0.1:{address[1]}", "one.example", "TWO.example:1"]:
        assert 200 == status("/status", host)
    for path in ["/status", "/metrics", "/"]:
        assert 421 == status(path, "evil.example")
    assert 200 == status("/livez", "evil.example")


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_admin_token(crowd: Callable[..., Crowd], host: str) -> None:
    """A request without the token gets the probes, and nothing else."""
    token = "a token of 22 letters.".replace(" ", "-")
    servers = crowd("--processes", "1", "--admin", f"{host}:0", env={"ADYTON_ADMIN_TOKEN": token})
    address = ("127.0.0.1", admin_of(servers.server)[1])

    def ask(path: str, *shown: tuple[str, str]) -> Response:
        return client.fetch(address, path, fields=list(shown))

    for path in ["/status", "/metrics", "/"]:
        assert 401 == ask(path).status
        assert "Bearer" == ask(path)["WWW-Authenticate"]
        assert 401 == ask(path, ("Authorization", f"Bearer {token[:-1]}")).status
        assert 200 == ask(path, ("Authorization", f"Bearer {token}")).status
    assert [200, 200] == [ask("/livez").status, ask("/readyz").status]


def test_admin_without_token(crowd: Callable[..., Crowd]) -> None:
    """Without a token, only probes are answered at an address that other machines can reach."""
    servers = crowd("--processes", "1", "--admin", "0.0.0.0:0")
    address = ("127.0.0.1", admin_of(servers.server)[1])

    assert 200 == client.fetch(address, "/readyz").status
    for path in ["/status", "/metrics", "/"]:
        refused = client.fetch(address, path)

        assert 403 == refused.status
        assert b"--admin-token" in refused.body


def test_silent_clients(crowd: Callable[..., Crowd]) -> None:
    """A client that fills the admin listener with connections keeps nobody else from questions or orders."""
    servers = crowd("--processes", "1", "--admin", "127.0.0.1:0")
    address = admin_of(servers.server)
    with contextlib.ExitStack() as stack:
        for number in range(80):
            silent = stack.enter_context(socket.create_connection(address))
            silent.sendall(b"GET /status HTTP/1.1\r\nHost: " if number % 2 else b"")
        servers.order("status")

        # Monitors can ask the admin listener, too: slow clients give way.
        assert 200 == client.fetch(address, "/livez").status
        servers.order("stop")
        assert 0 == servers.server.wait()


def test_reloads_that_last(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """While clients wait for a reload, other questions are answered, and further reloads are refused."""
    target = tmp_path / "application.py"
    text = APPLICATION.read_text(encoding="utf-8")
    target.write_text(text, encoding="utf-8")
    servers = crowd("--processes", "1", "--admin", "127.0.0.1:0", target=target)
    address = admin_of(servers.server)
    gate = tmp_path / "gate"
    target.write_text(
        f"{text}\nwhile not Path({str(gate)!r}).exists():\n    time.sleep(0.01)\n", encoding="utf-8"
    )
    control = str(servers.control)
    with concurrent.futures.ThreadPoolExecutor(8) as pool, contextlib.ExitStack() as stack:
        stack.callback(gate.touch)
        done = [pool.submit(client.fetch, control, "/reload", method="POST", body=b"") for _ in range(8)]

        def refused() -> list[bytes]:
            return [one.result().body for one in done if one.done() and one.result().status == 429]

        assert until(lambda: 6 == len(refused()))
        assert b"two other requests wait for a reload already" in refused()[0]
        assert b"live\n" == client.fetch(address, "/livez").body
        assert 200 == client.fetch(control, "/status").status
        assert 6 == len([one for one in done if one.done()])
    assert 2 == [one.result().status for one in done].count(200)


def test_stopped_meanwhile(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """A client that waits for an answer when the server stops gets its answer before the server is gone."""
    target = tmp_path / "application.py"
    text = APPLICATION.read_text(encoding="utf-8")
    target.write_text(text, encoding="utf-8")
    servers = crowd("--processes", "1", target=target)
    target.write_text(f"{text}\ntime.sleep(600)\n", encoding="utf-8")
    with client.Connection(str(servers.control)) as connection:
        connection.send(request("/reload", method="POST"))
        servers.server.wait_for_log("reloading: generation 2")
        servers.server.signal(signal.SIGTERM)
        answer = connection.receive("POST")

        assert (409, "the server was stopped") == (answer.status, answer.json())
    assert 0 == servers.server.wait()


def test_even_load_of_old_connections(crowd: Callable[..., Crowd]) -> None:
    """A new worker gets its part of connections that were kept alive before it was started."""
    servers = crowd("--processes", "1")
    with Load(servers.server.port, "/who", keeping=12, opening=0) as load:
        assert until(lambda: len(load.answers) > 100)
        servers.order("workers", "more")

        def fewest() -> int:
            workers = servers.status()["workers"]
            return min(worker["connections"] for worker in workers) if len(workers) == 2 else 0

        # Nine connections are not more than one and a half times the even share of six: the worker that has
        # them keeps them.
        assert until(lambda: fewest() >= 3)
    assert [] == load.failures


def test_uneven_for_a_moment(crowd: Callable[..., Crowd]) -> None:
    """Connections are given away only when they have been unevenly spread for seconds."""
    servers = crowd("--processes", "2")
    assert servers.settles(2)
    since = time.monotonic()
    with contextlib.ExitStack() as stack:
        by_worker: dict[bytes, list[client.Connection]] = {}
        for _ in range(24):
            connection = stack.enter_context(servers.server.connect())
            by_worker.setdefault(connection.get("/who").body.split()[0], []).append(connection)
        *others, kept = sorted(by_worker.values(), key=len)
        for connection in itertools.chain(*others):
            connection.abort()

        assert until(lambda: any(connection.get("/who").closing for connection in kept))
    # Five looks, a second apart, have found the connections uneven; the clock of a look is in whole
    # milliseconds.
    assert time.monotonic() - since > 3.9


def test_even_load(crowd: Callable[..., Crowd]) -> None:
    """Connections go evenly to all workers: by the kernel alone, one worker gets twice as many as another."""
    servers = crowd("--processes", "4")
    assert servers.settles(4)
    ratios: list[float] = []
    # On a machine that does much else, a worker may not get the CPU in the moment in which it should accept.
    while len(ratios) < 5 and min(ratios, default=math.inf) > 1.25:
        with contextlib.ExitStack() as stack:
            for _ in range(64):
                stack.enter_context(servers.server.connect()).get("/who")
            assert until(lambda: 64 == servers.status()["total"]["connections"])
            connections = [worker["connections"] for worker in servers.status()["workers"]]
            ratios.append(max(connections) / min(connections) if min(connections) else math.inf)
        assert until(lambda: 0 == servers.status()["total"]["connections"])
    assert min(ratios) <= 1.25, ratios


def test_top(crowd: Callable[..., Crowd]) -> None:
    """The live view shows rates, shares, workers, and the slowest requests."""
    servers = crowd("--processes", "1")
    command = [*adyton("top"), "--control", str(servers.control)]
    with servers.server.connect() as connection:
        servers.who()
        servers.who()
        connection.send(request("/deadlock"))
        # A request that is counted between two looks of `top` would be shown in two parts.
        assert until(lambda: [2] == [each["requests"] for each in servers.status()["prefixes"]])
        read_end, write_end = os.pipe()
        with subprocess.Popen(command, stdout=write_end, env=environment()) as top:
            os.close(write_end)
            shown = Log(read_end)
            try:
                shown.wait_for(r"requests/s, \d+ in flight; inline \d+ %")
                shown.wait_for(
                    r"worker +process +state +req/s +5xx +in flight +inline .*\n"
                    r" +1 +\d+ +serving +\d+ +0 +\d+ +\d+ %"
                )
                shown.wait_for(r"\d+ ms  worker 1  GET /deadlock")
                shown.wait_for(r"most asked for\nrequests  5xx  mean ms  path\n +2    0 +\d+\.\d +/\n")
            finally:
                top.send_signal(signal.SIGINT)
    servers.order("stop", "fast")

    assert 0 == servers.server.wait()


def test_top_as_json(crowd: Callable[..., Crowd]) -> None:
    """`adyton top --json` prints a JSON object at each look."""
    servers = crowd("--processes", "1")
    command = [*adyton("top"), "--json", "--control", str(servers.control)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment(), text=True) as top:
        assert top.stdout is not None
        looks = [json.loads(top.stdout.readline()) for _ in range(2)]
        top.send_signal(signal.SIGINT)

    assert all([] == look["running"][0]["answer"] for look in looks)
    assert all(["serving"] == [worker["state"] for worker in look["workers"]] for look in looks)


@pytest.mark.parametrize("words", [["status"], ["dump"], ["top"], ["top", "--json"]], ids=" ".join)
def test_reader_that_leaves(crowd: Callable[..., Crowd], words: list[str]) -> None:
    """If the reader of the output leaves, as `head` does, no fault is reported."""
    servers = crowd("--processes", "1")
    read_end, write_end = os.pipe()
    os.close(read_end)
    command = [*adyton(*words), "--control", str(servers.control)]
    done = subprocess.run(command, stdout=write_end, stderr=subprocess.PIPE, env=environment(), check=False)
    os.close(write_end)

    assert b"" == done.stderr
    assert 0 == done.returncode


class ManyWorkers(http.server.BaseHTTPRequestHandler):
    """Answers like a server with thirty workers, at its control socket."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer whatever is asked."""
        worker = {"state": "serving", "requests": 99, "in_flight": 1, "threads": 18, "threads_busy": 1}
        workers = [{**worker, "worker": number, "pid": 10_000 + number} for number in range(1, 31)]
        status = {"version": "1", "state": "serving", "total": worker, "workers": workers}
        task = {"request": "GET /" + 50 * "long/", "for_ms": 7}
        running = [{"worker": 1, "answer": [task] * 30}]
        body = json.dumps(running if self.path == "/running" else status).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def many_workers(control: Path) -> Iterator[None]:
    """Listen at a control socket."""
    with socketserver.UnixStreamServer(str(control), ManyWorkers) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


def test_top_on_a_terminal(tmp_path: Path) -> None:
    """Each look fits onto the terminal, however many workers there are, and also after a resize."""
    control = tmp_path / "control.sock"
    command = [*adyton("top"), "--control", str(control)]
    master, slave = pty.openpty()
    os.set_blocking(master, False)
    shown = bytearray()

    def resize(columns: int) -> None:
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def looks() -> list[str]:
        """Return the looks that were drawn, except the last, which may not be whole yet."""
        with contextlib.suppress(BlockingIOError):
            shown.extend(os.read(master, 1 << 16))
        return shown.decode().replace("\r\n", "\n").split("\x1b[H\x1b[2J")[1:-1]

    resize(80)
    with (
        many_workers(control),
        subprocess.Popen(command, stdout=slave, stderr=slave, env=environment()) as top,
    ):
        try:
            assert until(lambda: len(looks()) >= 1)
            resize(60)
            # The next look may have been drawn before the size changed, and may still be unread.
            drawn = len(looks())
            assert until(lambda: len(looks()) >= drawn + 2)
            wide, narrow = looks()[0], looks()[drawn + 1]
        finally:
            top.send_signal(signal.SIGINT)
    os.close(slave)
    os.close(master)
    for look, columns in ((wide, 80), (narrow, 60)):
        lines = look.splitlines()

        assert re.match(r"\d+ requests/s, 1 in flight;", lines[0])
        assert len(lines) < 24
        assert max(map(len, lines)) <= columns
        assert 2 == len(re.findall(r"^\.\.\. and \d+ more$", look, re.MULTILINE))
        assert re.search(r"^ +1 .* 1/18", look, re.MULTILINE)


NOTHING_HIDDEN = "document.documentElement.scrollWidth <= innerWidth"


def test_page(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """The admin listener's page shows the server's state, loads nothing from elsewhere, and has no errors."""
    servers = crowd("--processes", "2", "--admin", "127.0.0.1:0")
    host, port = admin_of(servers.server)
    assert servers.settles(2)
    browser = Browser(tmp_path / "profile")
    try:
        browser.open(f"http://{host}:{port}/")
        for _ in range(20):
            servers.who()

        cells = (
            "[...document.querySelectorAll('#workers td:nth-child(5)')].map(cell => Number(cell.textContent))"
        )

        def requests_shown() -> int:
            return sum(browser.driver.execute_script(f"return {cells}"))

        assert until(lambda: 20 == requests_shown())
        paths = "return document.querySelector('#paths tbody tr')?.innerText ?? ''"
        shown = re.compile(r"/\s20\s0\s\d+\.\d ms")
        assert until(lambda: shown.match(browser.driver.execute_script(paths)) is not None)
        assert "Adyton" in browser.find("h1").text
        assert "serving" in browser.find("h1").text
        assert until(lambda: bool(browser.find("#line").get_attribute("points")))
        assert until(lambda: bool(servers.who()) and "100 %" in browser.text())
        assert re.fullmatch(r"upper line: [\d.]+ requests/s", browser.find("#most").text)
        assert "5xx/s" in browser.text()
        browser.look("admin")
        browser.driver.set_window_size(400, 1000)
        # On a telephone, a table that is too wide scrolls by itself, without the page.
        assert until(lambda: browser.driver.execute_script(f"return innerWidth < 600 && {NOTHING_HIDDEN}"))
        browser.look("admin-narrow")
        assert [] == browser.problems()
    finally:
        browser.close()
