"""A server in a control group of its own: the CPU time and memory of all processes that it ever starts.

Needs root, and the `cpuacct` controller of control groups, version 1.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import platform
import signal
import statistics
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

GROUPS = Path("/sys/fs/cgroup/cpuacct")
START_S = 60.0

HTTPD = """
ServerRoot {folder}
PidFile {folder}/pid-{port}
ErrorLog {folder}/error-{port}.log
Listen 127.0.0.1:{port}
ServerName localhost
LoadModule mpm_{mpm}_module {modules}/mod_mpm_{mpm}.so
LoadModule authz_core_module {modules}/mod_authz_core.so
User www-data
Group www-data
MaxKeepAliveRequests 0
"""
"""Beginning of every configuration of Apache."""
HTTPD_ONE_PROCESS = """
StartServers 1
ServerLimit 1
ThreadsPerChild 64
MaxRequestWorkers 64
"""


@dataclass(frozen=True)
class Server:
    """A server that runs, and the control group that counts its CPU time."""

    port: int
    place: Path
    process: subprocess.Popen[bytes]

    def cpu_us(self) -> float:
        """Return the CPU time that all of its processes have had, microseconds."""
        return int((self.place / "cpuacct.usage").read_text(encoding="ascii")) / 1e3

    def pids(self) -> list[int]:
        """Return its processes."""
        return [int(pid) for pid in (self.place / "cgroup.procs").read_text(encoding="ascii").split()]

    def memory_mib(self) -> float:
        """Return the memory of its processes in MiB; memory that several share counts once (proc(5), Pss)."""
        kib = 0
        for pid in self.pids():
            with contextlib.suppress(OSError):
                rollup = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
                kib += next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
        return kib / 1024


@contextlib.contextmanager
def serving(
    name: str,
    port: int,
    command: list[str | Path],
    cpu: int | None = None,
    said: Path | None = None,
) -> Iterator[Server]:
    """Run a server, perhaps on one CPU, until the end of the `with`; its output goes to a file or nowhere."""
    place = GROUPS / f"adyton-{name.replace(' ', '-')}-{os.getpid()}"
    place.mkdir()
    pinned = ["taskset", "-c", str(cpu)] if cpu is not None else []
    enter = f'echo $$ > {place}/cgroup.procs; exec "$@"'
    with (said or Path(os.devnull)).open("wb") as output:
        process = subprocess.Popen(
            ["/bin/sh", "-c", enter, "sh", *pinned, *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    server = Server(port, place, process)
    try:
        yield server
    finally:
        process.terminate()
        process.wait()
        deadline = time.monotonic() + START_S
        while server.pids() and time.monotonic() < deadline:
            time.sleep(0.05)
        for pid in server.pids():
            os.kill(pid, signal.SIGKILL)
        while server.pids():
            time.sleep(0.05)
        place.rmdir()


class Page:
    """Lines in Markdown, which are printed as they come, and may be kept in a file."""

    def __init__(self, title: str, adyton: str) -> None:
        """Begin with the title, the machine and the version that is measured."""
        self.lines: list[str] = []
        cpus = [
            line.partition(": ")[2]
            for line in Path("/proc/cpuinfo").read_text(encoding="ascii").splitlines()
            if line.startswith("model name")
        ]
        asked = subprocess.run([adyton, "--version"], capture_output=True, text=True, check=True)
        self.say(f"# {title}, {time.strftime('%Y-%m-%d', time.gmtime())}", "")
        self.say(f"- machine: {cpus[0] if cpus else platform.machine()}, {os.cpu_count()} CPUs")
        self.say(f"- kernel: {platform.release()}")
        self.say(f"- adyton: {asked.stdout.strip()}")

    def say(self, *lines: str) -> None:
        """Print lines, and keep them."""
        self.lines += lines
        print(*lines, sep="\n", flush=True)

    def head(self, *titles: str) -> None:
        """Begin a table."""
        self.say("", f"| {' | '.join(titles)} |", f"|{' --- |' * len(titles)}")

    def row(self, *cells: object) -> None:
        """Add a row to a table."""
        self.say(f"| {' | '.join(map(str, cells))} |")

    def must(self, what: str, *, kept: bool) -> None:
        """Add a line with a condition that must hold, and whether it does."""
        self.say(f"- {what}: {'yes' if kept else 'NO'}")

    def write(self, file: Path | None) -> None:
        """Write all lines to a file, if there is one."""
        if file:
            file.write_text("\n".join([*self.lines, ""]), encoding="utf-8")


def parser_of(text: str | None) -> argparse.ArgumentParser:
    """Return the parser of a measurement that writes a page; `text` says what it measures."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--adyton", default="adyton", help="its program")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE.md", help="write the tables to a file, too"
    )
    parser.add_argument("--rounds", type=int, default=5)
    return parser


def spread(values: Sequence[float], form: str) -> str:
    """Return the median of rounds, and the least and the most of them."""
    told = (format(value, form) for value in (statistics.median(values), min(values), max(values)))
    return "{} ({}..{})".format(*told)


def ask(port: int, path: str, body: bytes, count: int = 1) -> None:
    """Send requests over a connection, and check the answers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=START_S)
    for _ in range(count):
        connection.request("GET", path)
        response = connection.getresponse()
        if (response.status, response.read()) != (200, body):
            message = f"{path} at port {port} was answered wrongly, with {response.status}"
            raise RuntimeError(message)
    connection.close()


def await_start(port: int, path: str, body: bytes) -> None:
    """Wait until a server answers."""
    deadline = time.monotonic() + START_S
    while True:
        try:
            return ask(port, path, body)
        except (OSError, http.client.HTTPException, RuntimeError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def httpd(folder: Path, port: int, more: str, **values: str) -> list[str | Path]:
    """Write a configuration of Apache, with the event MPM or `mpm`; return the command that serves it."""
    file = folder / f"httpd-{port}.conf"
    modules = "/usr/lib/apache2/modules"
    known = {"folder": folder, "port": port, "modules": modules, "mpm": "event", **values}
    file.write_text((HTTPD + more).format(**known), encoding="ascii")
    return ["/usr/sbin/apache2", "-DFOREGROUND", "-f", file]


def bench(adyton: str, server: Server, path: str, *options: str) -> tuple[float, int]:
    """Put load on a server; return the CPU time of an answer in microseconds, and the number of failures."""
    url = f"http://127.0.0.1:{server.port}{path}"
    accepted = ["--accept", "foreign-load", "--accept", "steal"]
    command = ["taskset", "-c", "1", adyton, "bench", url, "--json", *accepted, *options]
    before = server.cpu_us()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    used = server.cpu_us() - before
    try:
        report = json.loads(done.stdout)
    except ValueError:
        raise RuntimeError(done.stderr) from None
    counts = report["counts"]
    # The CPU time includes the warm-up, whose answers nobody counts: rate and duration give their number.
    answers = report["rate"] * (report["seconds"] + report["asked"]["warm_up_ms"] / 1000)
    return used / answers, counts["sent"] - counts["right"] - counts["in_flight"]


def beside(rounds: list[tuple[float, int]], base: list[tuple[float, int]]) -> str:
    """Return the end of a row: the median, the ratios of the rounds to the base, and all wrong answers."""
    ratios = [mine / other for (mine, _), (other, _) in zip(rounds, base, strict=True)]
    cost, wrong = statistics.median(cost for cost, _ in rounds), sum(wrong for _, wrong in rounds)
    return f"{cost:.1f} | {statistics.median(ratios):.2f} ({min(ratios):.2f}..{max(ratios):.2f}) | {wrong}"
