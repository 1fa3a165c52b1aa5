#!/usr/bin/env python3
"""Measures what processes cost and what replacing them loses: `benchmarks/processes/run.py [--only CASE]`.

The load is that of `benchmarks/threads`, with every answer checked. Prints Markdown, and writes it with the
figures of every round to `benchmarks/record/processes-DATE`. Everything that is started is ended. Exit
status 1 if anything was lost that must not be.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "threads"))

import generator
from generator import Group, Page, Times, read

import cost
import machine
from servers import free_port, stop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HERE = Path(__file__).resolve().parent
FACTS = ("date", "cpu", "kernel", "load before", "checkout", "python", "adyton._core")
RECORDS = HERE.parent / "record"
HELLO = Page("/", b"Hello World!")
APPS = HERE.parent / "apps"
READY_S = 30.0
SETTLE_S = 1.0
BARE = ("--processes", "0")
"""One process without a supervisor."""


@dataclass
class Row:
    """One line of the record."""

    case: str
    must: str
    found: str
    ok: bool | None = None
    """`None` where the issue asks for a figure and sets no bound."""
    data: dict[str, Any] = field(default_factory=dict)


@dataclass
class Running:
    """A server that runs."""

    process: subprocess.Popen[bytes]
    port: int
    control: Path

    def signal(self, number: signal.Signals) -> None:
        """Sends the supervisor a signal."""
        self.process.send_signal(number)

    def status(self) -> Any:  # noqa: ANN401
        """Asks the control socket how things stand."""
        command = [sys.executable, "-m", "adyton", "status", "--json", "--control", str(self.control)]
        return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)

    def serving(self) -> list[dict[str, Any]]:
        """Returns the workers that serve."""
        return [worker for worker in self.status()["workers"] if worker["state"] == "serving"]


@contextlib.contextmanager
def running(work: Path, app: str, *flags: str, cpu: int | None = None) -> Iterator[Running]:
    """Starts Adyton, waits for an answer of as many workers as there are to be, and ends it."""
    port, control = free_port(), work / f"{time.monotonic_ns()}.sock"
    command = [sys.executable, "-m", "adyton", "serve", str(APPS / app), "--bind", f"127.0.0.1:{port}"]
    # There are no orders for a process that has no supervisor.
    command += flags if flags[:2] == BARE else ["--control", str(control), *flags]
    if "--log-level" not in flags:
        command += ["--log-level", "error"]
    if cpu is not None:
        command = ["taskset", "-c", str(cpu), *command]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        wait_answer(port, process)
        time.sleep(SETTLE_S)
        yield Running(process, port, control)
    finally:
        stop(process)


def wait_answer(port: int, process: subprocess.Popen[bytes]) -> None:
    """Waits for the first answer of a server; raises `OSError` if none comes."""
    deadline = time.monotonic() + READY_S
    while True:
        try:
            return ask(port)
        except (OSError, http.client.HTTPException):
            if process.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def ask(port: int) -> str:
    """Returns what a new connection is answered."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    with contextlib.closing(connection):
        connection.request("GET", "/")
        response = connection.getresponse()
        body = response.read().decode()
        if response.status != http.client.OK:
            raise OSError(f"status {response.status}")
        return body


@dataclass(frozen=True)
class Bench:
    """What the command line says."""

    work: Path
    secs: float
    rounds: int

    def ask(self, server: Running, secs: float, groups: tuple[Group, ...]) -> generator.Result:
        """Asks as fast as it can."""
        run = generator.ThreadsRun(1, secs, self.work, peers=False, python=Path(), python_free_threaded=None)
        command = [str(run.load), f"port={server.port}", f"secs={secs}", "warm=0.5", "grace=5", "tick=1"]
        command += [group.word(run) for group in groups]
        limit = Times(secs).limit
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=limit)
        return read(json.loads(done.stdout))

    def under_load(
        self, server: Running, secs: float, act: Callable[[], None], every: float
    ) -> generator.Result:
        """Asks on connections kept and new, while something happens every so often."""
        groups = (Group("kept", HELLO, 64), Group("new", HELLO, 16, more=(("close", 1),)))
        over = threading.Event()

        def acting() -> None:
            due = time.monotonic() + every
            while not over.wait(max(0.0, due - time.monotonic())):
                act()
                due += every

        actor = threading.Thread(target=acting)
        actor.start()
        try:
            return self.ask(server, secs, groups)
        finally:
            over.set()
            actor.join()


def faults(result: generator.Result) -> dict[str, int]:
    """Returns how much of what was not right."""
    return {what: sum(getattr(found, what) for found in result.groups.values()) for what in generator.FAULTS}


def told(result: generator.Result) -> str:
    """Says what was right and what was not."""
    rate = sum(found.rate for found in result.groups.values())
    p99 = max(found.latency.p99 for found in result.groups.values())
    worst = max(found.latency.max for found in result.groups.values())
    wrong = {what: count for what, count in faults(result).items() if count}
    lost = ", ".join(f"{count} {generator.FAULTS[what]}" for what, count in wrong.items()) or "none lost"
    ok = sum(found.ok for found in result.groups.values())
    return f"{ok:,} right answers ({rate:,.0f}/s), {lost}; p99 {p99:.1f} ms, longest {worst:.0f} ms"


def reload(bench: Bench) -> Row:
    """Reloads every 2 s under full load."""
    count = 0
    with running(bench.work, "hello_handler.py", "--processes", "2") as server:

        def act() -> None:
            nonlocal count
            count += 1
            server.signal(signal.SIGHUP)

        result = bench.under_load(server, bench.secs * 6, act, 2.0)
        renewed = until(
            lambda: {worker["generation"] for worker in server.status()["workers"]} == {count + 1}
        )
        generation = server.status()["generation"]
    ok = not any(faults(result).values()) and renewed and generation == count + 1
    found = f"{count} reloads, generation {generation}: {told(result)}"
    data = {**asdict(result), "reloads": count, "generation": generation, "renewed": renewed}
    return Row("reload", "0 failed requests, every reload done", found, ok, data)


def until(condition: Callable[[], bool]) -> bool:
    """Asks until something is so; tells whether it was in time."""
    deadline = time.monotonic() + READY_S
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def kill(bench: Bench) -> Row:
    """Kills a random worker every second under load."""
    killed: list[int] = []
    inside: list[int] = []
    kills = round(bench.secs * 3)
    with running(bench.work, "hello_handler.py", "--processes", "4") as server:

        def act() -> None:
            pids = [worker["pid"] for worker in server.serving()]
            if pids and len(killed) < kills:
                killed.append(random.choice(pids))  # noqa: S311
                inside.append(accepted(killed[-1], server.port))
                os.kill(killed[-1], signal.SIGKILL)

        # Two seconds more than the kills take: the last one is under load, too.
        result = bench.under_load(server, kills + 2.0, act, 1.0)
        time.sleep(SETTLE_S)
        status = server.status()
    lost = faults(result)
    cut = lost.pop("resets")
    deaths = status["deaths"].get("killed", 0)
    # Each connection that a worker had accepted carries one request at a time; nobody else may lose one.
    ok = not any(lost.values()) and cut <= sum(inside) and deaths == len(killed) == kills
    groups = ", ".join(f"{found.resets} {name}" for name, found in result.groups.items())
    found = f"{len(killed)} killed ({deaths} logged with that cause), which had {sum(inside)} connections; "
    found += f"cut: {groups}; {told(result)}"
    data = {**asdict(result), "killed": len(killed), "deaths": deaths, "inside": inside}
    return Row("kill", "only connections inside the worker are cut", found, ok, data)


ESTABLISHED = "01"
"""The state of a connection, in `/proc/net/tcp`."""


def accepted(pid: int, port: int) -> int:
    """Stops a process, and returns how many connections of a port it has accepted: there will be no more."""
    os.kill(pid, signal.SIGSTOP)
    threads = Path(f"/proc/{pid}/task")
    until(lambda: all(" T " in (thread / "stat").read_text("utf-8") for thread in threads.iterdir()))
    lines = Path("/proc/net/tcp").read_text("ascii").splitlines()[1:]
    fields = (line.split() for line in lines)
    ours = {row[9] for row in fields if row[1].endswith(f":{port:04X}") and row[3] == ESTABLISHED}
    held = (str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir())
    return sum(name.removeprefix("socket:[").removesuffix("]") in ours for name in held)


def succeed(bench: Bench) -> Row:
    """Replaces the supervisor's program every 3 s under load."""
    asked, log = 0, bench.work / "succeed.log"
    flags = ("--processes", "2", "--log-level", "info", "--error-log", str(log))
    with running(bench.work, "hello_handler.py", *flags) as server:

        def act() -> None:
            nonlocal asked
            asked += 1
            server.signal(signal.SIGUSR2)

        result = bench.under_load(server, bench.secs * 2, act, 3.0)
        done = until(lambda: log.read_text("utf-8").count(REPLACED) == asked)
        replaced = log.read_text("utf-8").count(REPLACED)
    ok = done and not any(faults(result).values())
    found = f"asked {asked} times, replaced {replaced} times: {told(result)}"
    data = {**asdict(result), "asked": asked, "replaced": replaced}
    return Row("succeed", "0 failed, replaced each time", found, ok, data)


REPLACED = "ADY324"
"""The code of the message that another program has taken the supervisor's place."""


def balance(bench: Bench) -> Row:
    """Spreads 64 connections over 4 workers."""
    ratios, all_requests = [], []
    for _ in range(bench.rounds):
        with running(bench.work, "hello_handler.py", "--processes", "4") as server:
            before = {worker["pid"]: worker["requests"] for worker in server.serving()}
            bench.ask(server, bench.secs, (Group("kept", HELLO, 64),))
            requests = [worker["requests"] - before[worker["pid"]] for worker in server.serving()]
        ratios.append(max(requests) / min(requests))
        all_requests.append(requests)
    found = f"busiest / idlest {statistics.median(ratios):.2f} ({min(ratios):.2f}..{max(ratios):.2f})"
    return Row("balance", "≤ 1.5", found, statistics.median(ratios) <= 1.5, {"requests": all_requests})


def memory(bench: Bench) -> Row:
    """Compares the memory of 8 Django workers with and without preload."""
    found = {}
    for name, flags in (("import", ()), ("preload", ("--preload",))):
        with running(bench.work, "django_page.py", "--processes", "8", *flags) as server:
            url = f"http://127.0.0.1:{server.port}/"
            deadline = time.monotonic() + 120
            while server.status()["total"]["requests"] < 10_000 and time.monotonic() < deadline:
                subprocess.run(["wrk", "-t1", "-c64", "-d2s", url], check=True, capture_output=True)
            workers = server.serving()
            found[name] = [worker["pss_bytes"] / 2**20 for worker in workers]
    text = "; ".join(
        f"{name} {statistics.mean(pss):.1f} MiB ({min(pss):.1f}..{max(pss):.1f})"
        for name, pss in found.items()
    )
    return Row("memory", "stated", f"PSS of each of 8 workers after 10,000 requests: {text}", None, found)


def price(bench: Bench) -> Row:
    """Compares the CPU time of a request with supervisor, metrics and workers to one process alone."""
    ports = {name: free_port() for name in ("1 worker", "2 workers")}
    sides: dict[str, tuple[str, ...]] = {"bare": BARE}
    for name, port in ports.items():
        sides[name] = ("--processes", name[0], "--admin", f"127.0.0.1:{port}")
    rounds: dict[str, list[float]] = {name: [] for name in sides}
    with contextlib.ExitStack() as stack:
        servers = {
            name: stack.enter_context(running(bench.work, "hello_wsgi.py", *flags, cpu=cost.SERVER_CPU))
            for name, flags in sides.items()
        }
        stack.enter_context(scraping(list(ports.values())))
        load = cost.Load(connections=64, secs=2)
        for number in range(bench.rounds * 5):
            names = list(sides) if number % 2 else list(sides)[::-1]
            for name in names:
                server = servers[name]
                url = f"http://127.0.0.1:{server.port}/"
                figures = cost.measure(url, cost.tree({server.process.pid}), load, bench.work)
                rounds[name].append(figures.cpu_us)
    parts, medians = [f"bare {statistics.median(rounds['bare']):.2f} µs"], []
    for name in ports:
        ratios = [one / other for one, other in zip(rounds[name], rounds["bare"], strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4)
        medians.append(middle)
        parts.append(f"{name} {middle:.3f} of it ({low:.3f}..{high:.3f})")
    return Row("price", "≤ 1.03 with 2 workers", "; ".join(parts), medians[-1] <= 1.03, rounds)


@contextlib.contextmanager
def scraping(ports: list[int]) -> Iterator[None]:
    """Reads the metrics once a second meanwhile."""
    over = threading.Event()

    def scrape() -> None:
        while not over.wait(1.0):
            for port in ports:
                with contextlib.suppress(OSError):
                    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
                    connection.request("GET", "/metrics")
                    connection.getresponse().read()
                    connection.close()

    scraper = threading.Thread(target=scrape)
    scraper.start()
    try:
        yield
    finally:
        over.set()
        scraper.join()


PEERS = {
    "adyton": "{python} -m adyton serve {app} --bind 127.0.0.1:{port} --processes 4 --threads 4",
    "adyton --preload": (
        "{python} -m adyton serve {app} --bind 127.0.0.1:{port} --processes 4 --threads 4 --preload"
    ),
    "gunicorn gthread": (
        "{bin}/gunicorn -b 127.0.0.1:{port} -w 4 --threads 4 --chdir {apps} django_page:application"
    ),
    "granian": (
        "{bin}/granian --interface wsgi --host 127.0.0.1 --port {port} --workers 4 --blocking-threads 4 "
        "--working-dir {apps} django_page:application"
    ),
    "uWSGI": (
        "{bin}/uwsgi --http11-socket 127.0.0.1:{port} --master --processes 4 --threads 4 --lazy-apps "
        "--chdir {apps} --module django_page:application --enable-threads --disable-logging"
    ),
}
HELD_S = 2.0
"""No answer of an old worker for so long: all are gone."""
ASKING = 4
"""Clients that ask at once: so many workers are seen soon."""


@dataclass(frozen=True)
class Seen:
    """One request during a reload."""

    begun: float
    ended: float
    process: str
    """Empty: it failed."""


def turn(bench: Bench) -> Row:
    """Measures from SIGHUP until every worker is a new one, with Django, beside the peers."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in PEERS}
    for _ in range(bench.rounds):
        for name, command in PEERS.items():
            with contextlib.suppress(FileNotFoundError):
                found[name].append(turn_of(command))
    parts = []
    for name, rounds in found.items():
        if rounds:
            ready, longest = ([turned[key] for turned in rounds] for key in ("ready_ms", "longest_ms"))
            lost = sum(turned["failed"] for turned in rounds)
            parts.append(
                f"{name} {statistics.median(ready):,.0f} ms ({min(ready):,.0f}..{max(ready):,.0f}), "
                f"longest answer {statistics.median(longest):,.0f} ms, {lost:.0f} failed"
            )
    return Row("turn", "stated", "; ".join(parts), None, {"rounds": found})


def turn_of(command: str) -> dict[str, float]:
    """Starts a server, and reloads it while it is asked on new connections."""
    port = free_port()
    places = {"python": sys.executable, "bin": Path(sys.executable).parent, "apps": APPS, "port": port}
    words = command.format(app=APPS / "django_page.py", **places).split()
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_answer(port, process)
        time.sleep(3)
        old = {ask(port) for _ in range(60)}
        seen: list[Seen] = []
        over = threading.Event()

        def asking() -> None:
            while not over.wait(0.002):
                begun = time.monotonic()
                try:
                    pid = ask(port)
                except (OSError, http.client.HTTPException):
                    pid = ""
                seen.append(Seen(begun, time.monotonic(), pid))

        clients = [threading.Thread(target=asking) for _ in range(ASKING)]
        for client in clients:
            client.start()
        start = time.monotonic()
        process.send_signal(signal.SIGHUP)
        while time.monotonic() - start < READY_S:
            time.sleep(0.1)
            last = max((one.ended for one in seen if one.process in old), default=start)
            new = {one.process for one in seen if one.process} - old
            if len(new) >= len(old) and time.monotonic() - last > HELD_S:
                break
        over.set()
        for client in clients:
            client.join()
    finally:
        stop(process)
    firsts = [min(one.ended for one in seen if one.process == pid) for pid in new]
    return {
        "ready_ms": (max([last, *firsts]) - start) * 1e3,
        "longest_ms": max(one.ended - one.begun for one in seen) * 1e3,
        "failed": sum(not one.process for one in seen),
    }


CASES = {case.__name__: case for case in (reload, kill, succeed, balance, memory, price, turn)}


def main() -> int:
    """Runs the cases asked for, and writes the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=CASES, action="append")
    parser.add_argument("--secs", type=float, default=10.0, help="a sixth of the longest case")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    about = {
        name: machine.facts()[name] for name in ("date", "cpu", "kernel", "load before", "checkout", "python")
    }
    rows = []
    with tempfile.TemporaryDirectory(prefix="adyton-bench-") as name:
        bench = Bench(Path(name), args.secs, args.rounds)
        subprocess.run(
            ["cc", "-O2", "-o", bench.work / "load", HERE.parent / "threads" / "load.c", "-lm"], check=True
        )
        try:
            for case in args.only or CASES:
                print(case, file=sys.stderr)
                rows.append(CASES[case](bench))
                print(f"  {rows[-1].found}", file=sys.stderr)
        finally:
            # What was found is recorded, also when a case fails.
            print(record(about, rows))
    return int(any(row.ok is False for row in rows))


def record(about: dict[str, str], rows: list[Row]) -> str:
    """Writes the record, and returns the part of it that is for people."""
    path = RECORDS / f"processes-{datetime.now(UTC):%Y-%m-%d-%H%M}"
    path.with_suffix(".json").write_text(
        json.dumps({"about": about, "rows": [asdict(row) for row in rows]}, indent=1), "utf-8"
    )
    text = markdown(about, rows)
    path.with_suffix(".md").write_text(text, "utf-8")
    return text


def markdown(about: dict[str, str], rows: list[Row]) -> str:
    """Returns the record for people."""
    marks = {True: "met", False: "**missed**", None: "–"}
    lines = [f"# Processes, {about['date']}", "", *(f"- {key}: {value}" for key, value in about.items()), ""]
    lines += ["| case | must | found | |", "| --- | --- | --- | --- |"]
    lines += [f"| {row.case} | {row.must} | {row.found} | {marks[row.ok]} |" for row in rows]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.exit(main())
