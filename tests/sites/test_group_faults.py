"""When a process of a group dies, hangs or cannot start, other requests are answered; the log says why.

Some tests repeat what users of mod_wsgi's daemon mode have reported, and name the issues, which are in
https://github.com/GrahamDumpleton/mod_wsgi/issues.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
from typing import TYPE_CHECKING

import pytest

from processes.conftest import freeze, is_alive
from sites.conftest import write
from sites.grouped import CONTROL, ENVIRONMENT, OTHERS, fill, process_of, said_by, start, status_of
from support.asking import asking
from support.client import request
from support.control import states, status, supervisor, workers
from support.server import until

if TYPE_CHECKING:
    from pathlib import Path

    from support.client import Connection
    from support.server import Server, Servers

CLIENTS = 12


@pytest.fixture
def folder(project: Path) -> Path:
    """Return a project with three applications."""
    return fill(project)


def clients_of(server: Server, stack: contextlib.ExitStack, number: int = CLIENTS) -> list[Connection]:
    """Open connections."""
    return [stack.enter_context(server.connect(lint_answers=False)) for _ in range(number)]


def begin(clients: list[Connection], path: str) -> list[int]:
    """Begin a streamed answer on each connection; return the processes that give them."""
    said = []
    for client in clients:
        client.send(request(path))
        said.append(said_by(client))
    return said


def test_killed_worker(serve: Servers, folder: Path) -> None:
    """When a worker is killed, only the answers that it has begun are lost."""
    server = start(serve, folder, "processes = 2\nthreads = 16")
    assert until(lambda: len(workers(folder / CONTROL, "shop")) == 2)
    with contextlib.ExitStack() as stack, asking(server, *OTHERS, keeps=True) as asked:
        clients = clients_of(server, stack)
        said = begin(clients, "/shop/stream")
        os.kill(said[0], signal.SIGKILL)
        assert until(lambda: not is_alive(said[0]))
        (folder / "gate").touch()
        answers = [client.receive() for client in clients]

    assert [pid != said[0] for pid in said] == [answer.complete for answer in answers]
    assert [] == asked.wrong
    killed = rf"worker \d \(process {said[0]}\) was killed by SIGKILL from outside"
    line = server.wait_for_log(rf"group shop ADY312 error: {killed}.*\n")
    assert line.count("GET /shop/stream") == said.count(said[0])


def test_killed_door(serve: Servers, folder: Path) -> None:
    """When all workers that accept are killed, a group's connections go on, and can move back and forth."""
    server = start(serve, folder, "processes = 1\nthreads = 2")
    with contextlib.ExitStack() as stack:
        clients = clients_of(server, stack)
        assert [200] * CLIENTS == [client.get("/shop/x").status for client in clients]
        for worker in status(folder / CONTROL)["workers"]:
            os.kill(worker["pid"], signal.SIGKILL)
            assert until(lambda pid=worker["pid"]: not is_alive(pid))

        for path in ("/shop/x", *OTHERS, "/shop/x"):
            assert [200] * CLIENTS == [client.get(path).status for client in clients], path
    server.wait_for_log(r"ADY312 error: worker \d \(process \d+\) was killed by SIGKILL", count=2)


def test_killed_supervisor(serve: Servers, folder: Path) -> None:
    """When the supervisor of a group is killed, its workers finish every answer that they have begun."""
    server = start(serve, folder, "processes = 2\nthreads = 16")
    pid = supervisor(folder / CONTROL, "shop")
    with contextlib.ExitStack() as stack, asking(server, *OTHERS, "/shop/x") as asked:
        clients = clients_of(server, stack)
        begin(clients, "/shop/stream")
        os.kill(pid, signal.SIGKILL)
        server.wait_for_log(
            rf"ADY353 error: the group shop: process {pid} was ended by SIGKILL; it is started"
        )
        (folder / "gate").touch()
        answers = [client.receive() for client in clients]

    assert [True] * CLIENTS == [answer.complete for answer in answers]
    assert [] == asked.wrong
    assert until(lambda: states(folder / CONTROL)["shop"] == "serving")
    assert pid != supervisor(folder / CONTROL, "shop")


def test_killed_server(serve: Servers, folder: Path) -> None:
    """When the server's own supervisor is killed, answers under way are finished; then all processes end."""
    server = start(serve, folder, "processes = 2\nthreads = 16")
    pids = {supervisor(folder / CONTROL, name) for name in ("shop", "blog")}
    with contextlib.ExitStack() as stack:
        clients = clients_of(server, stack)
        said = begin(clients[::2], "/shop/stream") + begin(clients[1::2], "/stream")
        server.kill()
        server.wait_for_log("group shop ADY321 warning: the server that has started this group is gone")
        (folder / "gate").touch()
        answers = [client.receive() for client in clients]

    assert [True] * CLIENTS == [answer.complete for answer in answers]
    assert until(lambda: not any(map(is_alive, pids | set(said))))


def test_back_to_a_server_that_stops(serve: Servers, folder: Path) -> None:
    """While the server stops, a request for its own pages on a group's connection is answered, too."""
    server = start(serve, folder, "processes = 1\nthreads = 2", door=1)
    with contextlib.ExitStack() as stack:
        clients = clients_of(server, stack)
        assert [200] * CLIENTS == [client.get("/shop/x").status for client in clients]
        (holds,) = clients_of(server, stack, 1)
        holds.send(request("/stream"))
        said_by(holds)
        server.signal(signal.SIGTERM)
        server.wait_for_log("ADY302 info: stopping")
        statuses = [client.get("/x").status for client in clients]
        (folder / "gate").touch()

        assert holds.receive().complete
    assert 503 == statuses[-1]
    assert set(statuses) <= {200, 503}
    assert 0 == server.wait()


def test_stopped_worker(serve: Servers, folder: Path) -> None:
    """A worker stopped by SIGSTOP is replaced; the new worker answers requests that have come meanwhile."""
    server = start(
        serve, folder, 'processes = 1\nthreads = 2\nheartbeat-timeout = "3s"\ngraceful-timeout = "1s"'
    )
    server.may_crash = True
    pid = process_of(server, "/shop/x")
    with contextlib.ExitStack() as stack, asking(server, *OTHERS, keeps=True) as asked:
        freeze(pid)
        clients = clients_of(server, stack)
        for client in clients:
            client.send(request("/shop/x"))
        answers = [client.receive() for client in clients]

    assert [200] * CLIENTS == [answer.status for answer in answers]
    assert str(pid).encode() not in {answer.body.split()[0] for answer in answers}
    assert [] == asked.wrong
    server.wait_for_log(rf"group shop ADY331 error: worker 1 \(process {pid}\) has given no sign of life")


ENDLESS = [
    # An application that waits for ever (#696, #769).
    ("sleep", 504, r"ADY202 error: .*/shop/sleep"),
    # One of several processes that stops answering for good, in C code (#168).
    ("pause", 504, r"ADY203 error: .*"),
]
"""Pages that never answer, the status that the client gets instead, and the line in the log."""


@pytest.mark.parametrize(("page", "expected", "said"), ENDLESS)
def test_never_answers(serve: Servers, folder: Path, page: str, expected: int, said: str) -> None:
    """A request that the application never answers ends at its timeout, and disturbs no other request."""
    shop = 'processes = 1\nthreads = 4\nrequest-timeout = "1s"\ngraceful-timeout = "1s"'
    server = start(serve, folder, shop)
    server.may_crash = True
    with contextlib.ExitStack() as stack, asking(server, *OTHERS, "/shop/x") as asked:
        clients = clients_of(server, stack, 2)
        for client in clients:
            client.send(request(f"/shop/{page}"))

        assert [expected] * 2 == [status_of(client) for client in clients]
    assert [] == asked.wrong
    server.wait_for_log(f"group shop .*{said}")


def test_crash_in_an_answer(serve: Servers, folder: Path) -> None:
    """If C code crashes in the middle of an answer, the client sees that the answer is incomplete."""
    server = start(serve, folder, "processes = 1\nthreads = 4")
    server.may_crash = True
    with contextlib.ExitStack() as stack, asking(server, *OTHERS, keeps=True) as asked:
        (client,) = clients_of(server, stack, 1)
        client.send(request("/shop/crash?password=1"))
        pid = said_by(client)
        (folder / "gate").touch()
        answer = client.receive()
        assert pid != process_of(server, "/shop/x")

    assert (200, False) == (answer.status, answer.complete)
    assert [] == asked.wrong
    crashed = rf"group shop ADY312 error: worker 1 \(process {pid}\) crashed with SIGSEGV"
    inside = r"the request inside the application was GET /shop/crash \(request [0-9a-f]{16}\)"
    server.wait_for_log(f"{crashed}; .*; {inside}")
    assert "Fatal Python error: Segmentation fault" in server.log()


ENDS = {
    "raise": (r"ended with status 3", "RuntimeError: the database is not there"),
    "exit": (r"ended with status 1", "did not start: it ended with status 7"),
    "kill": (r"ended with status 1", "was killed by SIGKILL from outside"),
    "crash": (r"ended with status 1", "crashed with SIGSEGV"),
}
"""Ways in which an import fails; for each how the group's supervisor ends, and another line in the log."""


@pytest.mark.parametrize("fault", ENDS)
def test_dies_at_its_import(serve: Servers, folder: Path, fault: str) -> None:
    """A group that dies at its import: clients get a 503, the log names it; repaired, it serves (#198)."""
    (folder / "broken").touch()
    server = start(serve, folder, f'processes = 2\nenv = {{ FAULT = "{fault}" }}')
    server.may_crash = True
    how, why = ENDS[fault]
    server.wait_for_log(
        rf"ADY351 error: the group shop does not start: process \d+ {how}; it is started again"
    )
    with asking(server, *OTHERS, keeps=True) as asked:
        for _ in range(5):
            assert 503 == server.fetch("/shop/x").status
        assert "answered 503 meanwhile" in server.log()
        assert re.search(f"group shop .*{why}|^{why}", server.log(), re.MULTILINE), server.log()
        (folder / "broken").unlink()
        server.wait_for_log("ADY350 info: the group shop serves")
        assert 200 == server.fetch("/shop/x").status
    assert [] == asked.wrong


def test_import_that_fails_once(serve: Servers, folder: Path) -> None:
    """An import that fails once is tried again automatically, in a new process (#198)."""
    server = start(serve, folder, 'processes = 1\nenv = { FAULT = "once" }')
    server.wait_for_log("the group shop does not start")
    with asking(server, *OTHERS, keeps=True) as asked:
        server.wait_for_log("the group shop serves")
        assert 200 == server.fetch("/shop/x").status
    assert [] == asked.wrong
    assert 1 == server.log().count("RuntimeError: the database is not there")


def test_import_that_fails_later(serve: Servers, folder: Path) -> None:
    """If a worker dies and its successors cannot start, requests wait until a successor can."""
    server = start(serve, folder, 'processes = 1\nthreads = 2\nenv = { FAULT = "raise" }')
    pid = process_of(server, "/shop/x")
    with contextlib.ExitStack() as stack, asking(server, *OTHERS, keeps=True) as asked:
        (folder / "broken").touch()
        os.kill(pid, signal.SIGKILL)
        server.wait_for_log(r"group shop ADY312 error: worker 1 .* could not load the application", count=2)
        clients = clients_of(server, stack)
        for client in clients:
            client.send(request("/shop/x"))
        (folder / "broken").unlink()
        assert [200] * CLIENTS == [client.receive().status for client in clients]
    assert [] == asked.wrong


DEADLY = [("first", [0] * 4), ("eleventh", ([200] * 10 + [0]) * 3)]
"""Faults of a group, and the statuses of requests sent one after the other; 0 is no answer."""


@pytest.mark.parametrize(("fault", "expected"), DEADLY)
def test_dies_of_requests(serve: Servers, folder: Path, fault: str, expected: list[int]) -> None:
    """When a request kills its process, only this request is lost, each time."""
    server = start(serve, folder, f'processes = 1\nthreads = 2\nenv = {{ FAULT = "{fault}" }}')
    statuses = []
    with asking(server, *OTHERS, keeps=True) as asked:
        for _ in expected:
            with server.connect() as client:
                client.send(request("/shop/x"))
                statuses.append(status_of(client))

    assert expected == statuses
    assert [] == asked.wrong
    left = r"group shop ADY312 error: worker 1 \(process \d+\) ended by itself with status 7"
    server.wait_for_log(
        rf"{left}: .*; the request inside the application was GET /shop/x", count=expected.count(0)
    )
    assert "serving" == states(folder / CONTROL)["shop"]


@pytest.mark.parametrize("by", ["connections", "the application"])
def test_descriptors_used_up(serve: Servers, folder: Path, by: str) -> None:
    """A group without free descriptors takes no more connections; the rest wait, and are answered later."""
    server = start(serve, folder, 'processes = 1\nthreads = 2\nenv = { FAULT = "files" }')
    said = "connections wait to be accepted: there are as many as may be"
    with contextlib.ExitStack() as stack, asking(server, *OTHERS, keeps=True) as asked:
        first, *clients = clients_of(server, stack, 61)
        if by == "connections":
            first.send(request("/shop/gate"))
        else:
            first.send(request("/shop/hoard"))
            assert until((folder / "hoarded").exists)
            said = "connections cannot be accepted: Too many open files"
        for client in clients:
            client.send(request("/shop/gate", fields=[("Connection", "close")]))
        server.wait_for_log(f"group shop worker 1 ADY101 error: {said}")
        assert asked.goes_on()
        (folder / "gate").touch()

        assert [200] * 61 == [client.receive().status for client in (first, *clients)]
    assert [] == asked.wrong
    assert 200 == server.fetch("/shop/x").status


@pytest.mark.parametrize("by", ["connections", "the application"])
def test_descriptors_of_the_door_used_up(serve: Servers, folder: Path, by: str) -> None:
    """When the server's own worker has no free descriptors, groups still answer on their connections."""
    server = start(serve, folder, "processes = 1\nthreads = 2", door=1, fault="files")
    with contextlib.ExitStack() as stack:
        in_shop, in_blog, comes_back = clients_of(server, stack, 3)
        groups = ((in_shop, "/shop/x"), (in_blog, "/blog/x"), (comes_back, "/blog/x"))
        assert [200] * 3 == [client.get(path).status for client, path in groups]
        (first,) = clients_of(server, stack, 1)
        if by == "connections":
            first.send(request("/gate"))
        else:
            first.send(request("/hoard"))
            assert until((folder / "hoarded").exists)
        clients = clients_of(server, stack, 60)
        for client in clients:
            client.send(request("/gate", fields=[("Connection", "close")]))
        server.wait_for_log(r"\] worker 1 ADY101 error: connections cannot be accepted: Too many open files")
        # The server's own worker has no descriptor for the connection that comes back.
        comes_back.send(request("/gate"))
        for _ in range(20):
            assert [200] * 2 == [client.get(path).status for client, path in groups[:2]]
        (folder / "gate").touch()

        assert [200] * 62 == [client.receive().status for client in (comes_back, first, *clients)]
        assert [200] * 2 == [client.get("/x").status for client in (in_shop, in_blog)]
    assert [200] * 3 == [server.fetch(path).status for path in ("/x", "/shop/x", "/blog/x")]


def test_sleeper_that_cannot_start(serve: Servers, folder: Path) -> None:
    """If a sleeping group cannot start, all requests that wake it get a 503, and the log names the group."""
    (folder / "broken").touch()
    server = start(serve, folder, 'processes = 1\nmin-processes = 0\nenv = { FAULT = "raise" }')
    assert "asleep" == states(folder / CONTROL)["shop"]
    with contextlib.ExitStack() as stack, asking(server, *OTHERS, keeps=True) as asked:
        clients = clients_of(server, stack, 300)
        for client in clients:
            client.send(request("/shop/x"))

        assert {503} == {client.receive().status for client in clients}
        server.wait_for_log("ADY351 error: the group shop does not start")
        (folder / "broken").unlink()
        server.wait_for_log("ADY350 info: the group shop serves")
        assert 200 == server.fetch("/shop/x").status
    assert [] == asked.wrong


PLACES = """
[server]
processes = 2
threads = 4
control = "control.sock"

[[sites]]
"""

PLACE = """
[groups.p{processes}t{threads}]
processes = {processes}
threads = {threads}

[[sites.routes]]
path = "/p{processes}t{threads}/"
app = "shop:application"
group = "p{processes}t{threads}"
"""


def test_what_a_worker_is_told(serve: Servers, folder: Path) -> None:
    """In each group a worker knows its place, and `wsgi.multithread` and `wsgi.multiprocess` are right."""
    sizes = [(processes, threads) for processes in (1, 2) for threads in (1, 4)]
    text = PLACES + "".join(
        PLACE.format(processes=processes, threads=threads) for processes, threads in sizes
    )
    server = serve(write(folder, text).name, cwd=folder, env=ENVIRONMENT)
    assert until(lambda: {"serving"} == set(states(folder / CONTROL).values()))
    for processes, threads in sizes:
        name = f"p{processes}t{threads}"
        expected = {
            "of": processes,
            "generation": 1,
            "group": name,
            # True even for one worker: its successor may start while it still answers.
            "multiprocess": True,
            "multithread": threads > 1,
            # A single application thread is the main thread, which signal handlers and some C code need.
            "main": threads == 1,
        }

        assert set(range(1, processes + 1)) == numbers(server, f"/{name}/place", expected)


def numbers(server: Server, path: str, expected: dict[str, object]) -> set[int]:
    """Ask until all workers have answered, each as expected; return their numbers."""
    found: set[int] = set()

    def ask() -> bool:
        # A single client at a time would always get the same worker.
        with contextlib.ExitStack() as stack:
            clients = clients_of(server, stack)
            for client in clients:
                client.send(request(path))
            for client in clients:
                told = client.receive().json()
                found.add(told.pop("number"))
                # With several threads, any thread of a worker may get the request.
                assert expected == told | ({} if expected["main"] else {"main": False})
        return len(found) == expected["of"]

    assert until(ask), found
    return found
