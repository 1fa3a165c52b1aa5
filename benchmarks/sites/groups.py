"""Cost of groups: applications in separate processes, beside one in the processes that accept connections.

`groups.py --adyton ADYTON [--seconds N] [--rounds N] [PART...]` prints tables. It needs root, Flask beside
ADYTON, and Debian's apache2, apache2-utils (`ab`) and libapache2-mod-wsgi-py3. Servers run on CPU 0, load on
CPU 1, in turns: each round measures every server, and ratios are to the embedded application in the same
round. The CPU time is that of all processes of a server. Groups have their own virtual environment, and
run as the user of Apache, who must be able to run ADYTON's Python.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import itertools
import json
import os
import statistics
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from measuring import HTTPD_ONE_PROCESS, Server, ask, await_start, bench, beside, httpd, serving

if TYPE_CHECKING:
    from collections.abc import Callable

BODY = b"Hello, world!\n"
MANY = 20
PORTS = {"embedded": 18481, "group": 18482, "mod_wsgi, embedded": 18483, "mod_wsgi, daemon": 18484}

APPLICATION = f"""
def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "{len(BODY)}")])
    return [{BODY!r}]
"""
FLASK = f"""
from flask import Flask

application = Flask(__name__)


@application.route("/")
def hello():
    return {BODY.decode()!r}
"""
SERVER = """
[server]
bind = ["127.0.0.1:{port}"]
control = "{control}"
processes = 1
threads = 1
"""
GROUP = """
[groups.g{number}]
user = "www-data"
processes = {processes}
threads = {threads}
python = "{python}"
{more}
"""
SITE = "\n[[sites]]\n"
UP = f"""
[[sites.routes]]
path = "/up"
respond = 200
body = {json.dumps(BODY.decode())}
"""
ROUTE = """
[[sites.routes]]
path = "{path}"
app = "{application}"
mount = true
"""

HTTPD = """
LoadModule wsgi_module {modules}/mod_wsgi.so
{room}
WSGISocketPrefix {folder}/wsgi-{port}
{daemon}
WSGIScriptAlias / {folder}/hello.py
<Directory {folder}>
    Require all granted
</Directory>
"""
HTTPD_OF_MANY = """
StartServers 1
ServerLimit 1
ThreadLimit 150
ThreadsPerChild 150
MaxRequestWorkers 150
AsyncRequestWorkerFactor 16
"""
"""Settings with room for 500 connections that are kept alive."""
DAEMON = """
WSGIDaemonProcess hello processes={processes} threads={threads} listen-backlog=2048
WSGIProcessGroup hello
WSGIApplicationGroup %{{GLOBAL}}
"""
CONNECTIONS = [10, 100, 200, 500]


class Shape(NamedTuple):
    """The processes of an application, and the threads of each."""

    processes: int
    threads: int


ALONE = Shape(1, 1)
SHAPES = [Shape(2, 10), Shape(2, 100), Shape(20, 10)]
"""Shapes in the tables of mod_wsgi's daemon mode."""


class Place:
    """A folder with applications and files of sites, and the program that serves them."""

    def __init__(self, folder: Path, adyton: str) -> None:
        """Write the applications, and make the environment of the groups."""
        self.folder, self.adyton = folder, adyton
        folder.chmod(0o755)
        (folder / "hello.py").write_text(APPLICATION, encoding="ascii")
        (folder / "site.py").write_text(FLASK, encoding="ascii")
        python = Path(adyton).parent / "python"
        subprocess.run([python, "-m", "venv", "--without-pip", folder / "venv"], check=True)
        show = "import site; print(site.getsitepackages()[0])"
        asked = subprocess.run([python, "-c", show], capture_output=True, text=True, check=True)
        # Flask is installed where the server is.
        (packages,) = (folder / "venv/lib").glob("python*/site-packages")
        (packages / "of-server.pth").write_text(asked.stdout, encoding="utf-8")

    def site(self, name: str, text: str) -> Path:
        """Write a file of sites."""
        file = self.folder / f"{name}.toml"
        file.write_text(text, encoding="utf-8")
        return file

    def of_groups(
        self,
        port: int,
        count: int,
        application: str = "hello.py",
        more: str = "",
        shape: Shape = ALONE,
    ) -> str:
        """Return a file with so many groups, each at its own path; without groups, they are embedded."""
        control = self.folder / f"control-{port}"
        text = SERVER.format(port=port, control=control)
        python = self.folder / "venv/bin/python"
        own = {"processes": shape.processes, "threads": shape.threads, "python": python, "more": more}
        text += "".join(GROUP.format(number=each, **own) for each in range(count))
        text += SITE + UP
        for each in range(max(count, MANY)):
            text += ROUTE.format(path=f"/{each}/", application=application)
            if count:
                text += f'group = "g{each}"\n' if each < count else 'group = "g0"\n'
        return text

    def serve(self, name: str, port: int, text: str) -> contextlib.AbstractContextManager[Server]:
        """Serve a file."""
        file = self.site(name.replace(" ", "-"), text)
        return serving(name, port, [self.adyton, "serve", file], 0)

    def apache(
        self, port: int, daemon: str, room: str = HTTPD_ONE_PROCESS
    ) -> contextlib.AbstractContextManager[Server]:
        """Serve the application by mod_wsgi."""
        command = httpd(self.folder, port, HTTPD, daemon=daemon, room=room)
        return serving(f"apache-{port}", port, command, 0)


def compare(place: Place, arguments: argparse.Namespace) -> None:
    """Print what a request costs embedded, in a group, and with mod_wsgi."""
    daemon = DAEMON.format(processes=1, threads=64)
    makers = {
        "embedded": lambda: place.serve("embedded", PORTS["embedded"], place.of_groups(PORTS["embedded"], 0)),
        "group": lambda: place.serve("group", PORTS["group"], place.of_groups(PORTS["group"], 1)),
        "mod_wsgi, embedded": lambda: place.apache(PORTS["mod_wsgi, embedded"], ""),
        "mod_wsgi, daemon": lambda: place.apache(PORTS["mod_wsgi, daemon"], daemon),
    }
    cases = {"64 connections, kept": ["-c", "64"], "64 connections, new for each": ["-c", "64", "-k=off"]}
    print("| case | server | us CPU per request | x embedded (min..max) | not right |")
    print("| --- | --- | --- | --- | --- |")
    with contextlib.ExitStack() as stack:
        servers = {name: stack.enter_context(make()) for name, make in makers.items()}
        for server in servers.values():
            await_start(server.port, "/0/", BODY)
        for case, options in cases.items():
            found: dict[str, list[tuple[float, int]]] = {name: [] for name in servers}
            for _ in range(arguments.rounds):
                for name, server in servers.items():
                    took = ["-d", f"{arguments.seconds}s", "--warm-up", "1s"]
                    found[name].append(bench(place.adyton, server, "/0/", *options, *took))
            for name, rounds in found.items():
                print(f"| {case} | {name} | {beside(rounds, found['embedded'])} |", flush=True)


def by_ab(place: Place, arguments: argparse.Namespace) -> None:
    """Print what `ab` measures of a group, and of mod_wsgi's daemon mode, with many processes and threads."""
    print("\n| processes x threads | connections | kept | server | requests/CPU s | x daemon | failed |")
    print("| --- | ---: | --- | --- | ---: | ---: | ---: |")
    for shape in SHAPES:
        group, daemon = PORTS["group"], PORTS["mod_wsgi, daemon"]
        text = place.of_groups(group, 1, shape=shape)
        wsgi = DAEMON.format(**shape._asdict())
        with (
            place.serve("ab-group", group, text) as ours,
            place.apache(daemon, wsgi, HTTPD_OF_MANY) as theirs,
        ):
            servers = {"group": ours, "mod_wsgi, daemon": theirs}
            for server in servers.values():
                await_start(server.port, "/0/", BODY)
            for count, kept in itertools.product(CONNECTIONS, (False, True)):
                found: dict[str, list[tuple[float, int]]] = {name: [] for name in servers}
                for _ in range(arguments.rounds):
                    for name, server in servers.items():
                        found[name].append(ab(server, count, 5000, kept=kept))
                rates = {
                    name: statistics.median(rate for rate, _ in rounds) for name, rounds in found.items()
                }
                for name, rounds in found.items():
                    cell = [f"{shape.processes} x {shape.threads}", f"{count}", "yes" if kept else "no", name]
                    cell += [f"{rates[name]:,.0f}", f"{rates[name] / rates['mod_wsgi, daemon']:.1f}"]
                    cell += [f"{sum(failed for _, failed in rounds)}"]
                    print(f"| {' | '.join(cell)} |", flush=True)


def ab(server: Server, connections: int, count: int, *, kept: bool) -> tuple[float, int]:
    """Have `ab` load a server; return how many requests a second of CPU time answers, and how many failed."""
    command = ["taskset", "-c", "1", "ab", "-q", "-n", str(count), "-c", str(connections)]
    url = f"http://127.0.0.1:{server.port}/0/"
    before = server.cpu_us()
    done = subprocess.run(
        [*command, *(["-k"] if kept else []), url], capture_output=True, text=True, check=True
    )
    used = server.cpu_us() - before
    told = dict(line.split(":", 1) for line in done.stdout.splitlines() if ":" in line)
    right = (
        int(told["Complete requests"]) - int(told["Failed requests"]) - int(told.get("Non-2xx responses", 0))
    )
    return right / used * 1e6, count - right


def is_right(connection: http.client.HTTPConnection, number: int) -> bool:
    """Ask the application whose turn it is at this number, and tell whether its answer is right."""
    try:
        connection.request("GET", f"/{number % MANY}/")
        response = connection.getresponse()
        return (response.status, response.read()) == (200, BODY)
    except (OSError, http.client.HTTPException):
        connection.close()
        return False


def in_turn(server: Server, count: int) -> tuple[float, int]:
    """Ask all applications in turn over one connection; return as `bench` does."""
    os.sched_setaffinity(0, {1})
    before, wrong = server.cpu_us(), 0
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    for number in range(count):
        wrong += not is_right(connection, number)
    connection.close()
    os.sched_setaffinity(0, {0, 1})
    return (server.cpu_us() - before) / count, wrong


def turns(place: Place, arguments: argparse.Namespace) -> None:
    """Print the cost of connections whose every request is for another group than the request before."""
    texts = {"embedded": place.of_groups(18485, 0), f"{MANY} groups": place.of_groups(18486, MANY)}
    with contextlib.ExitStack() as stack:
        servers = {
            name: stack.enter_context(place.serve(f"turns-{name}", port, text))
            for port, (name, text) in enumerate(texts.items(), 18485)
        }
        for server in servers.values():
            for each in range(MANY):
                await_start(server.port, f"/{each}/", BODY)
        found: dict[str, list[tuple[float, int]]] = {name: [] for name in servers}
        for _ in range(arguments.rounds):
            for name, server in servers.items():
                found[name].append(in_turn(server, 5000))
        for name, rounds in found.items():
            told = beside(rounds, found["embedded"])
            print(f"| 1 connection, {MANY} applications in turn | {name} | {told} |", flush=True)


def sleepers(place: Place, arguments: argparse.Namespace) -> None:
    """Print the memory of sleeping groups, and how long the first answer of a group with Flask takes."""
    sleeping = place.of_groups(18487, MANY, "site.py", "min-processes = 0")
    bare, asleep, memory = [], [], []
    for _ in range(arguments.rounds):
        since = time.monotonic()
        command: list[str | Path] = [
            place.adyton,
            "serve",
            place.folder / "site.py",
            "--bind",
            "127.0.0.1:18488",
        ]
        with serving("bare", 18488, command, 0):
            until_answered(18488, "/")
            bare.append(time.monotonic() - since)
        with place.serve("sleepers", 18487, sleeping) as server:
            await_start(18487, "/up", BODY)
            memory.append(server.memory_mib())
            since = time.monotonic()
            ask(18487, "/3/", BODY)
            asleep.append(time.monotonic() - since)
    print(f"\n{MANY} groups without a process, and the door: {statistics.median(memory):.1f} MiB (Pss)")
    ratio = statistics.median(asleep) / statistics.median(bare)
    print(
        f"first answer of Flask: {statistics.median(asleep) * 1e3:.0f} ms from sleep,"
        f" {statistics.median(bare) * 1e3:.0f} ms from nothing: x {ratio:.2f}"
    )


def until_answered(port: int, path: str) -> None:
    """Send a request every 2 ms until an answer comes."""
    while True:
        try:
            return ask(port, path, BODY)
        except (OSError, http.client.HTTPException):
            time.sleep(0.002)


def pids_of_groups(place: Place, control: Path) -> dict[str, set[int]]:
    """Return the workers of each group."""
    asked = subprocess.run(
        [place.adyton, "status", "--json", "--control", control], capture_output=True, text=True, check=True
    )
    workers: dict[str, set[int]] = {}
    for group in json.loads(asked.stdout)["groups"]:
        told = group["status"] or {}
        workers[group["group"]] = {worker["pid"] for worker in told.get("workers", [])}
    return workers


def reload(place: Place, arguments: argparse.Namespace) -> None:
    """Print how many requests a reload of one of 20 groups loses, and how many groups keep processes."""
    port = 18489
    text = place.of_groups(port, MANY)
    with place.serve("reload", port, text):
        for each in range(MANY):
            await_start(port, f"/{each}/", BODY)
        control = place.folder / f"control-{port}"
        before = pids_of_groups(place, control)
        ended = threading.Event()
        counts: list[tuple[int, int]] = []
        threads = [threading.Thread(target=load, args=(port, ended, counts)) for _ in range(4)]
        for thread in threads:
            thread.start()
        time.sleep(arguments.seconds)
        mark = "[groups.g7]\n"
        place.site("reload", text.replace(mark, f'{mark}env = {{ CHANGED = "yes" }}\n'))
        subprocess.run([place.adyton, "reload", "--control", control], check=True, stdout=subprocess.DEVNULL)
        time.sleep(arguments.seconds)
        ended.set()
        for thread in threads:
            thread.join()
        after = pids_of_groups(place, control)
    kept = sum(before[name] == after[name] for name in before)
    asked, wrong = (sum(column) for column in zip(*counts, strict=True))
    print(f"\nreload of {MANY} groups, one changed: {asked} requests, {wrong} lost;", end=" ")
    print(f"{kept} groups kept their processes")


def load(port: int, ended: threading.Event, counts: list[tuple[int, int]]) -> None:
    """Send requests to all applications in turn, until told to end; add up all requests, and failures."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    asked = wrong = 0
    while not ended.is_set():
        asked += 1
        wrong += not is_right(connection, asked)
    connection.close()
    counts.append((asked, wrong))


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--adyton", required=True, help="its program, in the environment that has Flask")
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all by default")
    arguments = parser.parse_args()
    if strange := [part for part in arguments.parts if part not in PARTS]:
        parser.error(f"there is no part {strange[0]}; parts are {', '.join(PARTS)}")
    with tempfile.TemporaryDirectory() as name:
        place = Place(Path(name), str(Path(arguments.adyton).absolute()))
        for part in arguments.parts or PARTS:
            PARTS[part](place, arguments)


PARTS: dict[str, Callable[[Place, argparse.Namespace], None]] = {
    "compare": compare,
    "ab": by_ab,
    "turns": turns,
    "sleepers": sleepers,
    "reload": reload,
}


if __name__ == "__main__":
    main()
