#!/usr/bin/env python3
"""Server CPU per request under wrk, and the ratio of several servers to the floor in one run.

    cost.py [--connections 64] [--secs 3] [--rounds 3] [--pipeline N] NAME=URL ...

Here every server already runs, pinned to CPU 0 (`taskset -c 0 ...`); `run.py` beside this file starts its
own and uses the functions of this one. `wrk` drives each server from CPU 1, in turn, ROUNDS times over, and
the floor (floor.c) in every round too, so a ratio holds although the machine is noisy. A server's CPU is
that of every process that listens on its port, and of their children.

Exit status 1 if any server had errors. Needs: wrk, ss, a C compiler, Linux.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

HERE = Path(__file__).resolve().parent
FLOOR = HERE.parent / "python/adyton/compare/served/floor.c"
TICK_US = 1e6 / os.sysconf("SC_CLK_TCK")
SERVER_CPU, LOAD_CPU = 0, 1
SETTLE_S = 0.1
"""After the load ends: what a server has put off (a close, a write of its log) is still its cost."""
FLOOR_PORT = 18020


@dataclass(frozen=True)
class Load:
    """How hard, and in which way, wrk asks."""

    connections: int = 64
    secs: int = 3
    pipeline: int = 1
    close: bool = False
    """A new connection for each request."""


@dataclass(frozen=True)
class Figures:
    """What one server did in one round."""

    requests: int
    requests_per_s: float
    cpu_us: float
    """Server CPU per request, in microseconds."""
    p99_us: float
    errors: str
    """All that wrk complains about; empty if every request was answered with 2xx or 3xx."""


def measure(url: str, roots: set[int], load: Load, work: Path) -> Figures:
    """Drives `url` once; `roots` are the server's processes, whose descendants count too.

    `work` is a folder for wrk's script.
    """
    pids = tree(roots)
    before = cpu_us(pids)
    out = drive(url, load, work)
    time.sleep(SETTLE_S)
    used = cpu_us(pids | tree(roots)) - before
    found = re.search(r"(\d+) requests in", out)
    count = int(found.group(1)) if found else 0
    errors = " ".join(match.strip() for match in re.findall(r"Socket errors.*|Non-2xx.*|unable to.*", out))
    if not count:
        return Figures(0, 0.0, 0.0, 0.0, errors or "no request was answered")
    rate = re.search(r"Requests/sec:\s+([\d.]+)", out)
    p99 = re.search(r"^\s+99%\s+([\d.]+)(us|ms|s)", out, re.MULTILINE)
    units = {"us": 1.0, "ms": 1e3, "s": 1e6}
    return Figures(
        requests=count,
        requests_per_s=float(rate.group(1)) if rate else 0.0,
        cpu_us=used / count,
        p99_us=float(p99.group(1)) * units[p99.group(2)] if p99 else 0.0,
        errors=errors,
    )


def drive(url: str, load: Load, work: Path) -> str:
    """Runs wrk on its own CPU and returns what it printed."""
    command = ["taskset", "-c", str(LOAD_CPU), "wrk", "-t1", f"-c{load.connections}", f"-d{load.secs}s"]
    command += ["--timeout", "5s", "--latency"]
    if load.close:
        command += ["-H", "Connection: close"]
    if load.pipeline > 1:
        script = work / "pipeline.lua"
        script.write_text(PIPELINE.replace("DEPTH", str(load.pipeline)), "ascii")
        command += ["-s", str(script)]
    done = subprocess.run([*command, url], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


PIPELINE = """\
init = function()
  local requests = {}
  for i = 1, DEPTH do requests[i] = wrk.format() end
  all = table.concat(requests)
end
request = function() return all end
"""


def tree(roots: set[int]) -> set[int]:
    """Returns `roots` and all their descendants."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # It ended while we looked.
        children.setdefault(parent, []).append(int(stat.parent.name))
    found: set[int] = set()
    todo = list(roots)
    while todo:
        pid = todo.pop()
        if pid not in found:
            found.add(pid)
            todo += children.get(pid, [])
    return found


def cpu_us(pids: set[int]) -> float:
    """User and system time of `pids`, their dead threads and reaped children included (proc(5))."""
    ticks = 0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(int(field) for field in fields[11:15])
    return ticks * TICK_US


def listeners(port: int) -> set[int]:
    """Returns the processes that listen on `port`."""
    command = ["ss", "-ltnpH", f"sport = :{port}"]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {int(pid) for pid in re.findall(r"pid=(\d+)", out)}


def build_floor(work: Path) -> Path:
    """Compiles the floor into `work` and returns the program."""
    program = work / "floor"
    subprocess.run(["cc", "-O2", "-o", program, FLOOR], check=True)
    return program


def compare(servers: dict[str, str], load: Load, rounds: int) -> dict[str, list[Figures]]:
    """Measures servers that already run, and the floor as the first of them, `rounds` times in turn."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        command = ["taskset", "-c", str(SERVER_CPU), str(build_floor(work)), str(FLOOR_PORT)]
        urls = {"floor": f"http://127.0.0.1:{FLOOR_PORT}/"} | servers
        rows: dict[str, list[Figures]] = {name: [] for name in urls}
        with subprocess.Popen(command) as floor:
            try:
                time.sleep(0.3)  # The floor has nothing to say when it listens.
                for _ in range(rounds):
                    for name, url in urls.items():
                        roots = listeners(urlsplit(url).port or 80)
                        rows[name].append(measure(url, roots, load, work))
            finally:
                floor.kill()
    return rows


def main() -> int:
    """Compares the servers of the command line."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--secs", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pipeline", type=int, default=1)
    parser.add_argument("server", nargs="+", metavar="NAME=URL")
    args = parser.parse_args()
    load = Load(args.connections, args.secs, args.pipeline)
    rows = compare(dict(server.split("=", 1) for server in args.server), load, args.rounds)
    print(
        f"{'server':22} {'req/s':>9} {'CPU us/req':>11} {'x floor':>8} {'min..max':>14} {'p99 us':>8}  errors"
    )
    for name, got in rows.items():
        errors = " ".join(sorted({figures.errors for figures in got if figures.errors}))
        if errors:
            print(f"{name:22} {'INVALID':>9} {'':43}  {errors}")
            continue
        ratios = [mine.cpu_us / floor.cpu_us for mine, floor in zip(got, rows["floor"], strict=True)]
        rate = statistics.median(figures.requests_per_s for figures in got)
        cost = statistics.median(figures.cpu_us for figures in got)
        p99 = statistics.median(figures.p99_us for figures in got)
        spread = f"{min(ratios):.2f}..{max(ratios):.2f}"
        print(f"{name:22} {rate:9.0f} {cost:11.2f} {statistics.median(ratios):8.2f} {spread:>14} {p99:8.0f}")
    return int(any(figures.errors for got in rows.values() for figures in got))


if __name__ == "__main__":
    sys.exit(main())
