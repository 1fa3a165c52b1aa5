"""Connections move between processes that die, hang and are replaced; no connection or memory is leaked.

`ADYTON_MOVES_SEED` repeats a run as far as processes and threads can be repeated.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from processes.conftest import freeze, is_alive
from sites.grouped import CONTROL, fill, start
from support.asking import asking
from support.client import request
from support.control import reload, status
from support.server import until

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.asking import Asking
    from support.client import Connection
    from support.http import Response
    from support.server import Server, Servers

CLIENTS = 12
PLACES = {"own": "/x", "shop": "/shop/x", "blog": "/blog/x"}
"""A path of each application; the first is served by the server's own workers."""
PROCESSES = {"own": 2, "shop": 2, "blog": 1}
BODY_BYTES = [0, 0, 10, 3_000, 40_000]
LEAVES = 0.02
"""Probability that a client leaves in the middle of its next request."""
RSS_GROWTH_BYTES_MAX = 32 << 20
"""Most growth of a process after its first requests: the C heap and each thread keep some memory."""
STALLS_S = 120.0
"""Timeout that is only reached if there is a fault."""


class Kills:
    """The count of killed workers: only clients with connections in killed workers may lose one."""

    def __init__(self) -> None:
        """Begin with none."""
        self._begun = 0
        self._done = 0

    def mark(self) -> int:
        """Return a mark for `since`."""
        return self._done

    def since(self, mark: int) -> bool:
        """Tell whether a worker may have been killed since the mark was made."""
        return self._begun > mark

    def kill(self, pid: int) -> None:
        """Kill a worker."""
        self._begun += 1
        os.kill(pid, signal.SIGKILL)
        assert until(lambda: not is_alive(pid))
        self._done += 1

    def __len__(self) -> int:
        """Return how many workers were killed."""
        return self._done


class Client:
    """A client that asks all applications at random, over one connection for as long as that lasts."""

    def __init__(self, server: Server, seed: str, kills: Kills) -> None:
        """Begin to ask; the same seed gives the same requests."""
        self.moves = 0
        """How often its connections have moved, judged by the applications that have answered."""
        self.answers = 0
        self.lost = 0
        self.wrong: list[str] = []
        self._server = server
        self._chance = random.Random(seed)
        self._kills = kills
        self._mark = kills.mark()
        """How many workers had been killed when the client had its last answer."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=seed)
        self._thread.start()

    def end(self) -> None:
        """Stop asking, and leave."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set() and not self.wrong:
            self._mark = self._kills.mark()
            try:
                with self._server.connect(lint_answers=False) as connection:
                    self._ask_all(connection)
            except (OSError, AssertionError, EOFError) as error:
                # The client of an idle connection notices only at its next request that a worker was killed.
                if self._kills.since(self._mark):
                    self.lost += 1
                else:
                    self.wrong.append(f"{threading.current_thread().name}: {error!r}")

    def _ask_all(self, connection: Connection) -> None:
        place = "own"
        while not self._stop.is_set():
            wanted = self._chance.choice(list(PLACES))
            body = b"x" * self._chance.choice(BODY_BYTES)
            asked = request(PLACES[wanted], method="POST", body=body)
            if self._chance.random() < LEAVES:
                connection.send(asked[: self._chance.randrange(len(asked)) + 1])
                self._chance.choice([connection.abort, connection.half_close, connection.socket.close])()
                return
            mark = self._kills.mark()
            answer = connection.ask(asked)
            self._check(answer, wanted, len(body))
            # From one group to another, a connection moves by way of the server's own workers.
            self.moves += (place != wanted) * (1 if "own" in {place, wanted} else 2)
            place, self._mark = wanted, mark
            self.answers += 1
            if answer.closing:
                return

    def _check(self, answer: Response, wanted: str, body_bytes: int) -> None:
        told = answer.body.split()
        if not answer.complete:
            raise EOFError(f"the answer of {wanted} was cut")
        if answer.status != 200 or told[1:] != [b"%d" % body_bytes]:
            self.wrong.append(f"{wanted}, {body_bytes} bytes: {answer.status} {answer.body!r}")


class Storm:
    """A server with clients, and the faults of its processes."""

    def __init__(self, server: Server, folder: Path, seed: str) -> None:
        """Start the clients; the same seed gives the same faults and requests."""
        self.server = server
        self.control = folder / CONTROL
        self.kills = Kills()
        self.history: list[str] = []
        self.chance = random.Random(seed)
        self.clients = [Client(server, f"{seed}.{number}", self.kills) for number in range(CLIENTS)]

    @property
    def moves(self) -> int:
        """Return how often connections have moved."""
        return sum(client.moves for client in self.clients)

    def goes_on(self, moves: int) -> None:
        """Wait for this many more moves."""
        wanted = self.moves + moves

        def is_over() -> bool:
            return self.moves >= wanted or any(client.wrong for client in self.clients)

        assert until(is_over, STALLS_S), f"nothing moves: {self.told()}"
        assert not any(client.wrong for client in self.clients), self.told()

    def end(self) -> None:
        """Have all clients leave; check that all their answers were right."""
        for client in self.clients:
            client.end()
        assert not any(client.wrong for client in self.clients), self.told()

    def told(self) -> str:
        """Return what has happened so far."""
        wrong = [wrong for client in self.clients for wrong in client.wrong]
        return "\n".join([*wrong, *self.history, str(status(self.control)), self.server.log()[-4_000:]])

    def workers(self, *places: str) -> list[int]:
        """Return the serving workers of these applications."""
        said = status(self.control)
        all_workers = {"own": said["workers"]} | {
            one["group"]: one.get("status", {"workers": []})["workers"] for one in said["groups"]
        }
        found = [worker for place in places for worker in all_workers[place]]
        return [worker["pid"] for worker in found if worker["state"] == "serving" and is_alive(worker["pid"])]

    def fault(self, what: str, witness: Asking) -> None:
        """Do something to a process."""
        self.history.append(what)
        FAULTS[what](self, witness)


def kill_worker(storm: Storm, _witness: Asking) -> None:
    """Kill a worker of a group."""
    if pids := storm.workers("shop", "blog"):
        storm.kills.kill(storm.chance.choice(pids))


def kill_door(storm: Storm, _witness: Asking) -> None:
    """Kill a worker of the server itself."""
    if pids := storm.workers("own"):
        storm.kills.kill(storm.chance.choice(pids))


def stop_worker(storm: Storm, witness: Asking) -> None:
    """Stop a worker of a group while the witness asks, and then continue the worker."""
    if pids := storm.workers("shop", "blog"):
        pid = storm.chance.choice(pids)
        freeze(pid)
        try:
            assert witness.goes_on(20)
        finally:
            os.kill(pid, signal.SIGCONT)


def reload_group(storm: Storm, _witness: Asking) -> None:
    """Have the workers of a group replaced."""
    name = storm.chance.choice(["shop", "blog"])
    storm.history.append(str(reload(storm.control, name)))


def kill_supervisor(storm: Storm, _witness: Asking) -> None:
    """Kill the supervisor of a group, whose workers finish the requests that they have."""
    name = storm.chance.choice(["shop", "blog"])
    (pid,) = [one["pid"] for one in status(storm.control)["groups"] if one["group"] == name]
    if pid:
        os.kill(pid, signal.SIGKILL)
        assert until(lambda: not is_alive(pid))


FAULTS: dict[str, Callable[[Storm, Asking], None]] = {
    fault.__name__: fault for fault in (kill_worker, kill_door, stop_worker, reload_group, kill_supervisor)
}


def at_rest(control: Path) -> dict[str, list[int]] | None:
    """Return all processes by their role, when every worker serves and none has a connection."""
    said = status(control)
    groups = {one["group"]: one for one in said["groups"]}
    if set(groups) != {"shop", "blog"} or any("status" not in one for one in groups.values()):
        return None
    all_said: dict[str, Any] = {"own": said} | {name: one["status"] for name, one in groups.items()}
    pids = {"own": [said["process"]]} | {name: [one["pid"]] for name, one in groups.items()}
    for place, one in all_said.items():
        for counts in (one["total"], *one["workers"]):
            if counts["connections"] or counts["in_flight"] or counts["queue_length"]:
                return None
        serving = [worker["pid"] for worker in one["workers"] if worker["state"] == "serving"]
        if len(serving) != PROCESSES[place] or len(one["workers"]) != len(serving):
            return None
        pids[f"{place} worker"] = serving
    return pids if all(is_alive(pid) for some in pids.values() for pid in some) else None


def rest(control: Path) -> dict[str, list[int]]:
    """Wait until everything is at rest."""
    found: list[dict[str, list[int]]] = []

    def rests() -> bool:
        found.extend(pids for pids in [at_rest(control)] if pids)
        return bool(found)

    assert until(rests, STALLS_S), status(control)
    return found[0]


def fds(pids: list[int]) -> int:
    """Return the most descriptors that one of these processes has open."""
    return max(sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir()) for pid in pids)


def rss(pids: list[int]) -> int:
    """Return the most memory that one of these processes has."""
    pages = [int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) for pid in pids]
    return max(pages) * os.sysconf("SC_PAGESIZE")


def told_seed() -> str:
    """Return the seed of this run; pytest shows it if the run fails."""
    seed = os.environ.get("ADYTON_MOVES_SEED") or f"{random.SystemRandom().randrange(1 << 32):08x}"
    sys.stdout.write(f"ADYTON_MOVES_SEED={seed}\n")
    return seed


@pytest.mark.parametrize(
    ("moves", "faults"), [(2_000, 8), pytest.param(100_000, 200, marks=pytest.mark.long)]
)
def test_moves(serve: Servers, project: Path, moves: int, faults: int) -> None:
    """Every request is answered, except those inside a killed worker; no descriptor or memory is leaked."""
    seed = told_seed()
    folder = fill(project)
    server = start(serve, folder, "processes = 2\nthreads = 4")
    control = folder / CONTROL
    warm = Storm(server, folder, f"{seed}.warm")
    warm.goes_on(200)
    warm.end()
    # A supervisor also keeps the previous version, which exists only after a first reload.
    for name in ("shop", "blog"):
        assert 0 == reload(control, name)[0]
    begun = rest(control)
    before = {what: (fds(pids), rss(pids)) for what, pids in begun.items()}
    had = {pid: rss([pid]) for pids in begun.values() for pid in pids}

    with asking(server, "/x") as witness:
        storm = Storm(server, folder, seed)
        with contextlib.ExitStack() as stack:
            stack.callback(storm.end)
            some = list(FAULTS)
            storm.chance.shuffle(some)
            some += storm.chance.choices(list(FAULTS), k=faults - len(some))
            for what in some:
                storm.goes_on(moves // (faults + 1))
                storm.fault(what, witness)
            # The last workers must do enough work to show a leak.
            storm.goes_on(max(moves // 10, moves - storm.moves))
    # The witness opens a connection for each request.
    assert len(witness.wrong) <= len(storm.kills) * 4, witness.wrong
    lost = sum(client.lost for client in storm.clients)
    assert lost <= len(storm.kills) * CLIENTS, storm.told()

    after = rest(control)
    for what, pids in after.items():
        assert until(lambda pids=pids, most=before[what][0]: fds(pids) <= most), (what, fds(pids), before)
    grown = {"a worker of its own": rss(after["own worker"]) - before["own worker"][1]}
    # Memory is compared only for processes that were not replaced.
    kept = [(what, pid) for what, pids in after.items() for pid in pids if pid in had]
    grown |= {f"{what} {pid}": rss([pid]) - had[pid] for what, pid in kept}
    assert begun["own"] == after["own"]
    assert {} == {what: more for what, more in grown.items() if more >= RSS_GROWTH_BYTES_MAX}, storm.told()
    assert moves <= storm.moves
