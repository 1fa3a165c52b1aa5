"""Peers while they run: started on their CPUs, asked until every page is right, and ended."""

from __future__ import annotations

import contextlib
import http.client
import math
import os
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from adyton._command import uninterrupted
from adyton._processes import cpu_s, stop
from adyton._runs import environment, free_port
from adyton.compare import pages
from adyton.compare.own import OWN, how_to_install
from adyton.compare.peers import (
    HERE,
    SCRIPTS,
    SYSTEM,
    PeerError,
    command_of,
    replaced,
    shared_files,
    told_if_lost,
    words_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from adyton.compare.peers import Peer

START_S = 20.0
"""Longest time from the start to a right answer."""
PAGE_S = 10.0
"""Longest time to a right answer for another page, after one page is right."""
APACHE_THREADS = 150
"""Threads of each process of Apache's event MPM."""
THREADS = 16
"""Threads of each process, if a peer can be told a number and no sweep sets one: Adyton's default."""
LOOK_S = 0.002
"""Time between two checks whether the peer answers; the time of a start is no more exact than this."""
ABSENT = http.HTTPStatus.NOT_IMPLEMENTED
"""The status with which an application says that a package is not installed: see ``served/loader.py``."""
CALM_S = 0.2
"""Time between two checks whether the peer is still busy with its start."""
CALM_CPU_S = 0.02
"""CPU time that a peer may use between two of these checks and still count as calm."""
CONFIGURE = (
    *("APACHE_", "GRANIAN_", "GUNICORN_", "H2O_", "NGINX", "UVICORN_", "UWSGI_"),
    *("PERL", "PHP", "PYTHON", "VIRTUAL_ENV"),
)
"""Prefixes of environment variables that would configure a peer: only its own file may do that."""
TOPOLOGY = Path("/sys/devices/system/cpu")
"""Folder in which Linux says which CPUs are hyper-threads of one core."""


@dataclass(frozen=True)
class Seats:
    """Which CPUs the server has, and which the load."""

    server: frozenset[int]
    load: frozenset[int]

    @classmethod
    def of_this_machine(cls) -> Seats:
        """Gives half of the CPUs to each; if there is only one CPU, both share it."""
        return cls.halves(os.sched_getaffinity(0), siblings_of)

    @classmethod
    def halves(cls, cpus: Iterable[int], siblings: Callable[[int], frozenset[int]]) -> Seats:
        """Halves the cores: hyper-threads of one core stay together, unless there is only one core."""
        cpus = frozenset(cpus)
        cores = sorted({siblings(cpu) & cpus | {cpu} for cpu in cpus}, key=min)
        if len(cores) == 1:
            cores = [frozenset({cpu}) for cpu in sorted(cpus)]
        half = max(1, len(cores) // 2)
        return cls(frozenset().union(*cores[:half]), frozenset().union(*(cores[half:] or cores)))

    @property
    def are_apart(self) -> bool:
        """Whether the server has CPUs of its own."""
        return self.server.isdisjoint(self.load)


def siblings_of(cpu: int) -> frozenset[int]:
    """Returns all hyper-threads of the core of ``cpu``, itself included; only itself if unknown."""
    try:
        text = (TOPOLOGY / f"cpu{cpu}/topology/thread_siblings_list").read_text("ascii")
    except OSError:
        return frozenset({cpu})
    ranges = [part.partition("-") for part in text.strip().split(",")]
    return frozenset(each for first, _, last in ranges for each in range(int(first), int(last or first) + 1))


@dataclass(frozen=True)
class Size:
    """How many processes and threads a peer is told to have, if it can be told."""

    processes: int
    threads: int
    workers: int
    """Number of processes for servers whose processes serve one request at a time, as gunicorn advises."""
    swept: bool = False

    @classmethod
    def usual(cls, cpus: int) -> Size:
        """Returns the size that most documentation advises: a process for each CPU, each with 16 threads."""
        return cls(cpus, THREADS, 2 * cpus + 1)

    @property
    def words(self) -> dict[str, object]:
        """Returns the values of the words in braces that stand for the size."""
        return {
            "processes": self.processes,
            "threads": self.threads,
            "workers": self.workers,
            "apache_threads": APACHE_THREADS * self.processes,
        }

    def __str__(self) -> str:
        """Returns the size as ``processes x threads``."""
        return f"{self.processes} x {self.threads}"


@dataclass(frozen=True)
class Server:
    """A peer that runs."""

    urls: Mapping[str, str]
    """URLs by the names of the pages."""
    leaders: frozenset[int]
    """Leaders of the sessions that its processes are in."""
    forks: bool = False
    """See :attr:`Peer.forks`."""
    reload: int = 0
    """The number of the signal :attr:`Peer.reload`; 0 if there is none."""
    start_s: float = 0.0
    """Time from the peer's start to its first right answer."""
    absent: Mapping[str, str] = field(default_factory=dict)
    """Advice on pages that the peer lacks because a package is not installed, by the names of the pages."""
    wrong: Mapping[str, str] = field(default_factory=dict)
    """Reasons why the answers for other pages are not right, by the names of the pages."""
    how_it_ended: Callable[[], str] = str
    """Says how a program of the peer has ended, and what it said last; empty while all programs run."""


@contextlib.contextmanager
def seated(cpus: frozenset[int]) -> Iterator[None]:
    """Runs this process, and programs that it starts in the block, on these CPUs."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextlib.contextmanager
def running(  # noqa: PLR0913 - a peer, its place, and its pages
    peer: Peer,
    asked: Iterable[str],
    size: Size,
    cpus: frozenset[int],
    *,
    closing: bool = False,
    database: Path | None = None,
) -> Iterator[Server]:
    """Starts a peer, tries the pages of ``asked`` that the peer has, gives the peer, and ends it.

    One application must have all of these pages. With ``closing``, each request comes over its own
    connection, which the floor has to be told. ``database`` is the folder of the socket of a database for the
    peer.

    Raises :class:`PeerError`, with the peer's last output, if the peer does not answer in time.
    """
    with tempfile.TemporaryDirectory(prefix="adyton-compare-") as name:
        work = Path(name)
        work.chmod(0o755)
        port = free_port()
        words = dict(words_of(peer)) | start_words(work, port, size, closing=closing)
        places = {page: path for page, path in peer.places.items() if page in asked}
        [application] = {pages.application_of(page) for page in places}
        write(peer, work, words, application)
        if database:
            (work / "app" / "socket").write_text(str(database), "utf-8")
        processes: list[subprocess.Popen[bytes]] = []
        began_s = time.monotonic()
        try:
            with seated(cpus), (work / "said").open("wb") as said:
                for line in peer.lines():
                    command = [*as_user(peer, work), *command_of(line, words)]
                    with uninterrupted(), told_if_lost(command):
                        processes.append(started(command, work, said.fileno()))
            first_s, absent, wrong = wait_until_right(places, port, processes, work)
            leaders = frozenset(process.pid for process in processes)
            wait_until_calm(set(leaders))
            there = {page: path for page, path in places.items() if page not in absent | wrong}
            yield Server(
                {page: f"http://127.0.0.1:{port}{path}" for page, path in there.items()},
                leaders,
                peer.forks,
                signal.Signals[f"SIG{peer.reload}"] if peer.reload else 0,
                first_s - began_s,
                absent,
                wrong,
                lambda: how_ended(processes, work),
            )
        finally:
            for process in reversed(processes):
                stop(process)


def start_words(work: Path, port: int, size: Size, *, closing: bool = False) -> dict[str, object]:
    """Returns the values of the words in braces that every peer has."""
    return {
        **SYSTEM,
        "port": port,
        "work": work,
        "files": work / "files",
        "app": work / "app",
        "closing": "close" if closing else "",
        **size.words,
    }


def write(peer: Peer, work: Path, words: Mapping[str, object], application: str) -> None:
    """Writes the pages, the configurations that peers share, and the peer's own files."""
    pages.write_pages(HERE / "served", work, application)
    for name, text in (shared_files() | dict(peer.files)).items():
        (work / name).write_text(replaced(text.lstrip("\n"), words), "utf-8")


def as_user(peer: Peer, work: Path) -> list[str]:
    """Returns the words that make a command run as the peer's user, if we are root and it has one."""
    if not peer.user or os.geteuid():
        return []
    shutil.chown(work, peer.user)
    reads = ["--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search"]
    return ["setpriv", "--reuid", peer.user, "--regid", peer.user, "--clear-groups", *reads]


def started(command: list[str], work: Path, said: int) -> subprocess.Popen[bytes]:
    """Starts a program in a session of its own, without the user's settings and virtual environment.

    The Python inside a server of Debian would otherwise take our virtual environment for its home.
    """
    variables = {name: value for name, value in environment().items() if not name.startswith(CONFIGURE)}
    folders = variables.get("PATH", os.defpath).split(os.pathsep)
    variables["PATH"] = os.pathsep.join(folder for folder in folders if Path(folder) != SCRIPTS)
    return subprocess.Popen(  # noqa: S603 - from our own files
        command, cwd=work, env=variables, stdout=said, stderr=said, start_new_session=True
    )


def wait_until_right(
    places: Mapping[str, str], port: int, processes: list[subprocess.Popen[bytes]], work: Path
) -> tuple[float, dict[str, str], dict[str, str]]:
    """Waits until the answers for all pages are right; raises :class:`PeerError` if none is in time.

    Returns the monotonic time of the first right answer; advice on packages that pages lack; and reasons why
    other pages are not right. Advice and reasons are by the names of the pages.
    """
    patience_s, first_s = START_S, math.inf
    absent: dict[str, str] = {}
    wrong: dict[str, str] = {}
    for page, path in places.items():
        deadline = time.monotonic() + patience_s
        while (answer := answer_of(port, path, page)) != (http.HTTPStatus.OK, pages.body(page)):
            if answer and answer[0] == ABSENT:
                absent[page] = how_to_install(answer[1].decode("utf-8", "replace"))
                break
            ended = any(process.poll() is not None for process in processes)
            if ended or time.monotonic() > deadline:
                why = "ended at once" if ended else f"no right answer to {path} within {patience_s:.0f} s"
                wrong[page] = f"{why}: {last_words(work)}"
                if ended or first_s == math.inf:
                    raise PeerError(wrong[page])
                break
            time.sleep(LOOK_S)
        else:
            first_s = min(first_s, time.monotonic())
        patience_s = START_S if first_s == math.inf else PAGE_S
    return first_s, absent, wrong


def wait_until_calm(leaders: set[int]) -> None:
    """Waits until all processes of a peer have started: the peer answers as soon as the first has."""
    deadline, used_s = time.monotonic() + START_S, cpu_s(leaders)
    while time.monotonic() < deadline:
        time.sleep(CALM_S)
        before_s, used_s = used_s, cpu_s(leaders)
        if used_s - before_s <= CALM_CPU_S:
            return


def how_ended(processes: list[subprocess.Popen[bytes]], work: Path) -> str:
    """Says how the first program that has ended did so; empty while all of the programs run."""
    code = next((code for process in processes if (code := process.poll()) is not None), None)
    if code is None:
        return ""
    how = f"by {signal.Signals(-code).name}" if code < 0 else f"with status {code}"
    return f"it ended {how}: {last_words(work)}"


def last_words(work: Path) -> str:
    """Returns the last lines of a peer's output or logs."""
    logs = [work / "said", *work.glob("*.log")]
    said = "\n".join(log.read_text("utf-8", "replace") for log in logs).strip().splitlines()
    return " / ".join(said[-3:]) or "it says nothing"


def is_right(port: int, path: str, page: str, timeout_s: float) -> bool:
    """Tells whether the server gives the right answer, over a new connection."""
    return answer_of(port, path, page, timeout_s) == (http.HTTPStatus.OK, pages.body(page))


def answer_of(port: int, path: str, page: str, timeout_s: float = PAGE_S) -> tuple[int, bytes] | None:
    """Requests a page over a new connection; returns status and body, or None without an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_s)
    own = OWN.get(page)
    try:
        # A server that does not read the body may answer and close before all of the body is sent.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            if own and own.sent:
                connection.request("POST", path, own.posted, own.fields, encode_chunked=own.is_chunked)
            else:
                connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
