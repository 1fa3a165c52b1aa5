"""Drives load.c: says what to ask for, and refuses figures that come with wrong answers."""

from __future__ import annotations

import hashlib
import json
import subprocess
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import client
import cost
from rows import Run

if TYPE_CHECKING:
    from servers import Server

SOURCE = Path(__file__).with_name("load.c")
SETUP_S = 20.0
"""As in load.c: for all connections to be open."""
WARM_S = 0.5
GRACE_S = 5.0
"""For answers that are still under way when the window ends; later ones count as never answered."""
SLACK_S = 15.0
"""Beyond all that: then the load itself hangs, and is ended."""
FAULTS = {
    "wrong": "wrong answers",
    "resets": "closed without an answer",
    "unconnected": "connections refused",
    "exhausted": "without a free connection",
    "timeouts": "not answered in time",
    "unanswered": "never answered",
    "refused": "503",
}


@dataclass(frozen=True)
class ThreadsRun(Run):
    """What the command line says, for all cases."""

    peers: bool
    python: Path
    """An interpreter with a GIL that has Adyton."""
    python_free_threaded: Path | None

    @property
    def load(self) -> Path:
        """The program that asks."""
        return self.work / "load"


@dataclass(frozen=True)
class Page:
    """A path, and every byte of what it must answer."""

    path: str
    body: bytes

    def file(self, run: ThreadsRun) -> Path:
        """Returns the file with the body, made when it is first needed."""
        path = run.work / f"body-{hashlib.sha256(self.body).hexdigest()[:16]}"
        if not path.exists():
            path.write_bytes(self.body)
        return path


@dataclass(frozen=True)
class Group:
    """Connections that ask alike; load.c tells what the kinds and the keys of `more` are."""

    name: str
    page: Page
    connections: int
    kind: str = "closed"
    more: tuple[tuple[str, object], ...] = ()

    def word(self, run: ThreadsRun) -> str:
        """Returns the group as a word of the load's command line."""
        keys = {
            "kind": self.kind,
            "path": self.page.path,
            "body": self.page.file(run),
            "connections": self.connections,
        }
        return f"{self.name}:" + ",".join(f"{key}={value}" for key, value in (keys | dict(self.more)).items())


@dataclass(frozen=True)
class Tick:
    """What a group did in one tick of the window; latencies are those of right answers."""

    sent: int
    ok: int
    refused: int
    bad: int
    p50_ms: float
    p99_ms: float
    max_ms: float


@dataclass(frozen=True)
class Latency:
    """How long answers took, in milliseconds."""

    count: int
    mean: float
    p50: float
    p90: float
    p99: float
    p999: float
    max: float


@dataclass(frozen=True)
class Found:
    """What became of the requests of a group; `FAULTS` says what some of the names mean."""

    name: str
    rate: float
    """Right answers per second."""
    sent: int
    ok: int
    refused: int
    with_retry_after: int
    timeouts: int
    unanswered: int
    wrong: int
    resets: int
    unconnected: int
    exhausted: int
    fewest: int
    """Right answers on the connection that had the fewest."""
    most: int
    body_bytes: int
    readers_served: int
    late_max_ms: float
    """How late the load was itself."""
    example: str
    """What was wrong first."""
    latency: Latency
    refusal: Latency
    series: tuple[Tick, ...]

    def require(self, *, but: tuple[str, ...] = ()) -> None:
        """Raises `client.WrongAnswerError` if anything was not right, other than what `but` names."""
        found = [
            f"{getattr(self, key)} {what}"
            for key, what in FAULTS.items()
            if getattr(self, key) and key not in but
        ]
        if found:
            example = f" ({self.example})" if self.example else ""
            raise client.WrongAnswerError(f"{self.name}: {', '.join(found)}{example}")


@dataclass(frozen=True)
class Result:
    """What a run of the load found: the server's CPU time in the window, and each group."""

    secs: float
    cpu_us: float
    own_cpu_us: float
    groups: dict[str, Found]

    def require(self) -> Result:
        """Returns itself if every answer was right; otherwise raises `client.WrongAnswerError`."""
        for found in self.groups.values():
            found.require()
        return self


@dataclass(frozen=True)
class Times:
    """How long each step of a run takes, in seconds."""

    secs: float
    warm: float = WARM_S
    grace: float = GRACE_S
    tick: float = 1.0
    awake: bool = False
    """Look for answers all the time: what an idle CPU of a virtual machine takes to wake is in no figure."""

    @property
    def limit(self) -> float:
        """When a run has certainly failed."""
        return SETUP_S + self.warm + self.secs + self.grace + SLACK_S


def build(run: ThreadsRun) -> None:
    """Compiles the load into the folder of the run."""
    subprocess.run(["cc", "-O2", "-o", run.load, SOURCE, "-lm"], check=True)


def measure(
    server: Server,
    run: ThreadsRun,
    groups: tuple[Group, ...],
    times: Times,
    *,
    cpus: str = str(cost.LOAD_CPU),
) -> Result:
    """Asks a server once; what was wrong is in the result, for the caller to judge."""
    processes = ",".join(map(str, sorted(cost.tree({server.process.pid}))))
    command = ["taskset", "-c", cpus, str(run.load), f"port={server.port}", f"cpu={processes}"]
    command += [f"secs={times.secs}", f"warm={times.warm}", f"grace={times.grace}", f"tick={times.tick}"]
    command += [f"awake={times.awake:d}"]
    command += [group.word(run) for group in groups]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=times.limit)
    except subprocess.TimeoutExpired as error:
        raise client.WrongAnswerError("the load did not end") from error
    if done.returncode:
        raise client.WrongAnswerError(done.stderr.strip() or f"the load ended with status {done.returncode}")
    return read(json.loads(done.stdout))


def read(text: dict[str, Any]) -> Result:
    """Takes the JSON of load.c apart."""
    groups = {group["name"]: found(group) for group in text["groups"]}
    return Result(text["secs"], text["cpu_us"], text["own_cpu_us"], groups)


def found(group: dict[str, Any]) -> Found:
    """Takes the JSON of one group apart."""
    plain = {field.name: group[field.name] for field in fields(Found)}
    plain |= {name: Latency(**group[name]) for name in ("latency", "refusal")}
    return Found(**plain | {"series": tuple(Tick(*tick) for tick in group["series"])})


@cache
def calibrate(python: Path, milliseconds: float) -> Page:
    """Returns the page on which this interpreter computes for so long: the same one in the whole run."""
    program = cost.HERE / "apps" / "threads_work.py"
    done = subprocess.run([python, program, str(milliseconds)], capture_output=True, text=True, check=True)
    steps, value = done.stdout.split()
    return Page(f"/compute/{steps}", value.encode("ascii"))
