"""The peers: read from their files, started on the CPUs that they may use, and ended."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass, field
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adyton.compare.application import BODY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

HERE = Path(__file__).parent
SCRIPTS = Path(sys.executable).parent
"""Programs of Python packages stand beside the Python that they belong to."""

START_S = 20.0
"""From start to first answer at the most."""
STOP_S = 10.0
"""From SIGTERM to the end; then SIGKILL."""


class PeerError(Exception):
    """A peer does not start, or does not answer."""


@dataclass(frozen=True)
class Peer:
    """One file of ``peers/``."""

    key: str
    """The name of its file, by which it is chosen."""
    name: str
    serves: str
    """``python`` or ``static``."""
    start: str
    """The command line; words in braces are replaced."""
    version: str
    """A command line that prints the version."""
    beside: str = ""
    """A second program that has to run, such as the uWSGI behind nginx."""
    path: str = "/"
    needs: tuple[str, ...] = ()
    """Programs that must be there."""
    modules: tuple[str, ...] = ()
    """Python modules that must be there."""
    paths: tuple[str, ...] = ()
    """Files that must be there."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Files that are written for it, by their names in its folder."""

    @property
    def missing(self) -> str:
        """What it needs and is not installed; empty when it can run."""
        programs = [name for name in self.needs if program(name) is None]
        modules = [name for name in self.modules if util.find_spec(name) is None]
        return ", ".join(programs + modules + [path for path in self.paths if not Path(path).exists()])

    def shown(self) -> str:
        """The command line as it is told: nothing of this machine in it."""
        lines = [line for line in (self.beside, self.start) if line]
        return " & ".join(lines).replace("{python}", "python").replace("{app}/", "").replace("{app}", ".")


def read_peers() -> list[Peer]:
    """Reads all files of ``peers/``, in the order of their names."""
    return [read(file) for file in sorted((HERE / "peers").glob("*.toml"))]


def read(file: Path) -> Peer:
    """Reads one file."""
    table: dict[str, Any] = tomllib.loads(file.read_text("utf-8"))
    for name in ("needs", "modules", "paths"):
        table[name] = tuple(table.get(name, ()))
    return Peer(key=file.stem, **table)


def program(name: str) -> str | None:
    """Where a program is: beside this Python, or on the path."""
    return shutil.which(name, path=str(SCRIPTS)) or shutil.which(name)


def version_of(peer: Peer) -> str:
    """Returns the version that a peer tells of itself."""
    command = command_of(peer.version, {"python": sys.executable})
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - from our own files
    found = re.search(r"\d+\.\d+[\w.+~-]*", done.stdout + done.stderr)
    return found.group(0) if found else "unknown"


def command_of(line: str, words: Mapping[str, object]) -> list[str]:
    """Splits a command line, with words in braces replaced, and finds its program."""
    command = [replaced(part, words) for part in shlex.split(line)]
    return [program(command[0]) or command[0], *command[1:]]


def replaced(text: str, words: Mapping[str, object]) -> str:
    """Replaces ``{port}`` and its like; other braces stay as they are."""
    pattern = r"\{(" + "|".join(words) + r")\}"
    return re.sub(pattern, lambda found: str(words[found.group(1)]), text)


@dataclass(frozen=True)
class Seats:
    """Which CPUs the server has, and which the load."""

    server: frozenset[int]
    load: frozenset[int]

    @classmethod
    def of_this_machine(cls) -> Seats:
        """Half of the CPUs for each; with one CPU both share it."""
        cpus = sorted(os.sched_getaffinity(0))
        half = max(1, len(cpus) // 2)
        return cls(frozenset(cpus[:half]), frozenset(cpus[half:] or cpus))


@contextlib.contextmanager
def seated(cpus: frozenset[int]) -> Iterator[None]:
    """Runs this process, and what it starts meanwhile, on these CPUs."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextlib.contextmanager
def running(peer: Peer, seats: Seats) -> Iterator[str]:
    """Starts a peer and gives the URL at which it answers rightly; ends it afterwards.

    Raises :class:`PeerError` when it does not answer in time, with what it says.
    """
    # Nothing that the user has set for a server of his own.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ADYTON_")}
    with tempfile.TemporaryDirectory(prefix="adyton-compare-") as name:
        work = Path(name)
        work.chmod(0o755)
        port = free_port()
        words = words_for(work, port, seats)
        write_files(peer, work, words)
        processes: list[subprocess.Popen[bytes]] = []
        try:
            with seated(seats.server), (work / "said").open("wb") as said:
                for line in filter(None, (peer.beside, peer.start)):
                    process = subprocess.Popen(  # noqa: S603 - from our own files
                        command_of(line, words),
                        cwd=work,
                        env=environment,
                        stdout=said,
                        stderr=said,
                        start_new_session=True,
                    )
                    processes.append(process)
            wait_for_answer(peer, port, processes, work)
            yield f"http://127.0.0.1:{port}{peer.path}"
        finally:
            for process in reversed(processes):
                stop(process)


def words_for(work: Path, port: int, seats: Seats) -> dict[str, object]:
    """What stands for the words in braces."""
    count = len(seats.server)
    return {
        "port": port,
        "work": work,
        "files": work / "files",
        "app": work / "app",
        "python": sys.executable,
        "prefix": sys.prefix,
        "processes": count,
        "twice_and_one": 2 * count + 1,
        "threads": 4,
    }


def write_files(peer: Peer, work: Path, words: Mapping[str, object]) -> None:
    """Writes what the peer needs, the application and the file that is served."""
    for folder in ("files", "app"):
        (work / folder).mkdir()
    (work / "files" / "hello.txt").write_bytes(BODY)
    # A copy, because servers with users of their own must be able to read it.
    shutil.copyfile(HERE / "application.py", work / "app" / "application.py")
    for name, text in peer.files.items():
        file = work / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(replaced(text.lstrip("\n"), words), "utf-8")
        file.chmod(0o755)


def free_port() -> int:
    """Returns a port that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def wait_for_answer(peer: Peer, port: int, processes: list[subprocess.Popen[bytes]], work: Path) -> None:
    """Waits for the first right answer."""
    deadline = time.monotonic() + START_S
    while not answers(port, peer.path):
        ended = any(process.poll() is not None for process in processes)
        if ended or time.monotonic() > deadline:
            logs = [work / "said", *work.glob("*.log")]
            said = "\n".join(log.read_text("utf-8", "replace") for log in logs).strip().splitlines()
            why = "ended at once" if ended else f"no right answer within {START_S:.0f} s"
            raise PeerError(f"{why}: {' / '.join(said[-3:]) or 'it says nothing'}")
        time.sleep(0.05)


def answers(port: int, path: str) -> bool:
    """Tells whether the server answers as every peer has to."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return (answer.status, answer.read()) == (http.HTTPStatus.OK, BODY)
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ends a program, and what it has started in its session."""
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
