"""Times of pages of Flask, of a database, of uploads and of streams, beside slow clients or a slow page.

`pages_beside.py --python PYTHON [--seconds N] [--rounds N]` prints a table. PYTHON has Adyton, the peers,
Flask and psycopg (`make peers`); PostgreSQL is Debian's. Servers have one process with 16 threads on CPU 0,
the load is on CPU 1. Each page is requested in an open loop, from all servers at the same rate: half of the
rate that the slowest server has shown for this page alone. A second load goes on meanwhile: 50 clients that
send uploads a byte at a time, 50 clients that read an answer of 1 MB slowly, or one page that computes. A
round measures all rows; figures are medians of rounds.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adyton.compare import database, served
from measuring import START_S, ask, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

PORTS = {"Adyton": 18611, "granian": 18612, "gunicorn, gthread": 18613}
APPLICATION = """
from flask import Flask

import streams
import uploads
import with_psycopg

flask = Flask(__name__)


@flask.get("/flask")
def hello():
    return "Hello World!"


def computes(_environ, start_response):
    body = b"%d" % sum(number * number % 7 for number in range(600_000))
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]


OWN = {"flask": flask, "computes": computes, "db": with_psycopg.application, "large": streams.application}


def application(environ, start_response):
    first = environ["PATH_INFO"].split("/")[1]
    if first == "db":
        environ["PATH_INFO"] = environ["PATH_INFO"].removeprefix("/db")
    return OWN.get(first, uploads.application)(environ, start_response)
"""
READY = b"Hello World!"
CONNECTIONS = "16"
BODY_BYTES = 65_536
PART_OF_RATE = 0.5
ALL_ANSWERED = 0.97
"""Part of the answers due in a round that must have come: some are always on their way at the round's end."""
ACCEPTED = ("--accept", "foreign-load", "--accept", "steal")


@dataclass(frozen=True)
class Load:
    """Pages that are requested: a name, a path, and the length of the request's body."""

    name: str
    path: str
    body_bytes: int = 0


@dataclass(frozen=True)
class Beside:
    """A second load: a name, a path, and the options of `adyton bench`."""

    name: str
    path: str = ""
    options: tuple[str, ...] = ()
    body_bytes: int = 0


LOADS = (
    Load("Flask hello", "/flask"),
    Load("row of PostgreSQL", "/db/1"),
    Load("upload of 64 KiB", "/pieces", BODY_BYTES),
    Load("stream of 1 MB", "/large"),
)
SLOW = ("-c", "1", "--rate", "1")
BESIDES = (
    Beside("alone"),
    Beside("50 slow uploads", "/pieces", (*SLOW, "--slow-uploads", "50"), BODY_BYTES),
    Beside("50 slow readers", "/large", (*SLOW, "--slow-readers", "50")),
    Beside("a page that computes", "/computes", ("-c", "1")),
)


def commands(python: str, folder: Path) -> Iterator[tuple[str, list[str | Path]]]:
    """Return the command of each server."""
    programs = Path(python).parent
    target = ["application:application"]
    bind = {name: f"127.0.0.1:{port}" for name, port in PORTS.items()}
    adyton = [programs / "adyton", "serve", folder / "application.py", "--bind", bind["Adyton"]]
    yield "Adyton", [*adyton, "--processes=1", "--threads=16"]
    granian = [programs / "granian", "--interface=wsgi", f"--port={PORTS['granian']}", "--workers=1"]
    yield "granian", [*granian, "--blocking-threads=16", "--working-dir", folder, *target]
    gunicorn = [programs / "gunicorn", "--chdir", folder, "-b", bind["gunicorn, gthread"]]
    yield "gunicorn, gthread", [*gunicorn, "-k", "gthread", "--threads=16", *target]


def write(folder: Path, socket: Path) -> None:
    """Write the application, the modules of `adyton compare` that it imports, and the body of an upload."""
    for name in ("streams.py", "uploads.py", "with_psycopg.py"):
        shutil.copy(Path(served.__file__).with_name(name), folder)
    (folder / "application.py").write_text(APPLICATION, encoding="ascii")
    (folder / "socket").write_text(str(socket), encoding="utf-8")
    (folder / "body").write_bytes(bytes(BODY_BYTES))
    folder.chmod(0o755)


@dataclass(frozen=True)
class Shot:
    """A round: the 99th percentile of the right answers, and their part of all answers that were due."""

    p99_ms: float
    answered: float


@dataclass(frozen=True)
class Bench:
    """`adyton bench` on the CPU of the load."""

    adyton: Path
    folder: Path

    def command(self, port: int, load: Load | Beside, *options: str) -> list[str]:
        """Return a command that puts this load on a server."""
        url = f"http://127.0.0.1:{port}{load.path}"
        data = ["--data", f"@{self.folder}/body"] if load.body_bytes else []
        return ["taskset", "-c", "1", str(self.adyton), "bench", url, "--json", *ACCEPTED, *data, *options]

    def report(self, port: int, load: Load, *options: str) -> dict[str, Any]:
        """Put the load on a server; return the report."""
        command = self.command(port, load, "-c", CONNECTIONS, *options)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        try:
            report: dict[str, Any] = json.loads(done.stdout)
        except ValueError:
            raise RuntimeError(done.stderr) from None
        return report

    @contextlib.contextmanager
    def beside(self, port: int, beside: Beside) -> Iterator[None]:
        """Have a second load go on until the end of the `with`."""
        if not beside.path:
            yield
            return
        command = self.command(port, beside, "-d", "1h", *beside.options)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield
        finally:
            process.terminate()
            process.wait()


def measure(bench: Bench, arguments: argparse.Namespace) -> None:
    """Print a row for each load and server: p99 alone, and beside each second load."""
    duration = ("-d", f"{arguments.seconds}s", "--warm-up", "1s")
    for load in LOADS:
        alone = {
            name: bench.report(port, load, "-d", "2s", "--warm-up", "1s")["rate"]
            for name, port in PORTS.items()
        }
        rate = PART_OF_RATE * min(alone.values())
        found: dict[tuple[str, str], list[Shot]] = {}
        wrong = dict.fromkeys(PORTS, 0)
        for _ in range(arguments.rounds):
            for beside in BESIDES:
                for name, port in PORTS.items():
                    with bench.beside(port, beside):
                        report = bench.report(port, load, "--rate", f"{rate:.0f}", *duration)
                    counts = report["counts"]
                    wrong[name] += counts["sent"] - counts["right"] - counts["in_flight"]
                    shot = Shot(
                        p99_ms=report["response"]["p99_us"] / 1000,
                        answered=counts["right"] / (rate * arguments.seconds),
                    )
                    found.setdefault((name, beside.name), []).append(shot)
        for name in PORTS:
            rates = f"{alone[name]:.0f} | {rate:.0f}"
            cells = " | ".join(shown(found[name, beside.name]) for beside in BESIDES)
            print(f"| {load.name} | {name} | {rates} | {cells} | {wrong[name]} |", flush=True)


def shown(shots: list[Shot]) -> str:
    """Return the median, shortest and longest time; and the part of answers that came, if not all did."""
    answered = statistics.median(shot.answered for shot in shots)
    times_ms = [shot.p99_ms for shot in shots if shot.answered]
    if not times_ms:
        return "no answer"
    told = f"{statistics.median(times_ms):.2f} ({min(times_ms):.2f}..{max(times_ms):.2f})"
    return told if answered > ALL_ANSWERED else f"{told}, {answered:.0%} answered"


def await_answer(port: int) -> None:
    """Wait until a server answers."""
    deadline = time.monotonic() + START_S
    while True:
        try:
            return ask(port, "/flask", READY)
        except (OSError, RuntimeError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def main() -> None:
    """Measure all loads beside all second loads."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--python", required=True)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    python = str(Path(arguments.python).absolute())
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        running = stack.enter_context(database.running_database())
        if running.socket is None:
            parser.error(running.why_not)
        write(folder, running.socket)
        for name, command in commands(python, folder):
            stack.enter_context(serving(f"beside-{name.split(',')[0]}", PORTS[name], command, 0))
        for port in PORTS.values():
            await_answer(port)
        print("p99 in ms, median of the rounds (shortest..longest); due: requests a second that are due")
        besides = " | ".join(beside.name for beside in BESIDES)
        print(f"| pages | server | rate alone | due | {besides} | not right |")
        print(f"| --- | --- | --- | --- |{' --- |' * len(BESIDES)} --- |")
        measure(Bench(Path(python).with_name("adyton"), folder), arguments)


if __name__ == "__main__":
    main()
