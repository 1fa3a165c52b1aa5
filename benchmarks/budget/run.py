"""Counts the instructions that a request costs in user space, and compares them with the budget.

`run.py --python PYTHON` compares with budget.toml and fails if a row has grown by more than 2 %; `--write`
makes the counts the new budget. `--build ci` does so for the build that tests use, which costs 30 % more.
Instructions under callgrind repeat to within 2 % whatever else the machine does; times do not repeat. The
server is one process, and requests come over one connection that is kept alive. If the server has a group,
the worker of the group that has this connection is counted.
"""

from __future__ import annotations

import argparse
import itertools
import re
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
APPS = HERE.parent / "apps"
BUDGET = HERE / "budget.toml"

BUILDS = ("release", "ci")
GROWTH_MAX = 0.02
COUNTS_MAX = 3
WARM_REQUESTS = 1_600
REQUESTS = 3_200
"""A multiple of 16, for pipelines."""
START_S = 120.0
ANSWER_S = 10.0
"""Time limit for one answer: under callgrind the server is fifty times slower than usual."""
RECEIVE_BYTES = 1 << 20
PIPELINED = 16
PATHS = 64

BROWSER = (
    ("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"),
    ("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
    ("Accept-Language", "en-GB,en;q=0.5"),
    ("Accept-Encoding", "gzip, deflate, br, zstd"),
    ("Referer", "http://localhost/where/one/came/from"),
    ("DNT", "1"),
    ("Sec-GPC", "1"),
    ("Connection", "keep-alive"),
    ("Cookie", "session=0123456789abcdef0123456789abcdef; theme=dark"),
    ("Upgrade-Insecure-Requests", "1"),
    ("Sec-Fetch-Dest", "document"),
    ("Sec-Fetch-Mode", "navigate"),
    ("Sec-Fetch-Site", "same-origin"),
    ("Sec-Fetch-User", "?1"),
    ("Priority", "u=0, i"),
    ("Pragma", "no-cache"),
    ("Cache-Control", "no-cache"),
    ("X-Requested-With", "XMLHttpRequest"),
    ("TE", "trailers"),
)


SMALL = b"Hello static!"

PAGE = "error-pages = { 404 = 'small.txt' }"
ALLOW = "deny = ['192.0.2.0/24']"
DEEP = "/static/a/b/small.txt"
SCRIPT = "/static/a/b/hello.py"
SCRIPTS = "files = 'static'\nscripts = 'static'\ntry = ['files', 'scripts']"
FIELD = "headers = { X-Deep = '1' }"
PAGES = "scripts = 'static'"
CGI = "path = '/cgi-bin/'\ncgi = 'static'"

ONE_THREAD = ("--threads=1", "--hand-over=never")


@dataclass(frozen=True)
class Case:
    """A row of the table: the server, the request that it gets, and the answer."""

    name: str
    target: str = "hello_wsgi.py"
    path: str = "/"
    status: int = 200
    fields: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    at_once: int = 1
    share: int = 1
    """Divisor of the number of requests: large answers repeat as exactly with fewer requests."""
    settings: tuple[str, ...] = ONE_THREAD
    varies: bool = False
    """Whether each request has another path than the one before, so that nothing kept of that one helps."""
    sites: tuple[int, int] = (0, 0)
    """Number of sites in a file that is served instead, and of routes in each; the last site is asked."""

    in_group: bool = False
    """Whether the application of that file runs in a group, to which the connection moves."""

    folders: tuple[str, ...] | None = None
    """Text of the `.adyton.toml` in each of three folders of a site with a file; empty: no such files."""
    answers: str = "files = 'static'"
    """Keys of the route of these folders; the innermost one has a small file, and the target as a script."""
    beside: str = ""
    """Keys of another route in that file; empty: there is no other route."""

    @property
    def host(self) -> str:
        """The host that is asked for."""
        return f"site{self.sites[0] - 1}.example" if self.sites[0] else "localhost"

    def command(self, folder: Path) -> list[str]:
        """Return the target that is served, with its settings."""
        settings = [word.format(folder=folder) for word in self.settings]
        if self.folders is not None:
            return [str(self.speak(folder)), *settings]
        if not self.sites[0]:
            return [str(APPS / self.target), f"--static=/static={folder}/static", *settings]
        (folder / "site.toml").write_text(self.file())
        return [f"{folder}/site.toml", *settings]

    def file(self) -> str:
        """Return the file of sites."""
        sites, routes = self.sites
        text = f"[server]\nchdir = {str(APPS)!r}\n"
        text += "[groups.apps]\nprocesses = 1\n" if self.in_group else ""
        for site in range(sites):
            text += f"[[sites]]\nhosts = ['site{site}.example']\n"
            text += f"[[sites.routes]]\napp = {self.target!r}\n"
            text += "group = 'apps'\n" if self.in_group else ""
            for route in range(1, routes):
                text += f"[[sites.routes]]\npath = '/part{route}/of/it/'\nrespond = 404\n"
        return text

    def speak(self, folder: Path) -> Path:
        """Write the folders of this case, and the file of sites that serves them; return the file."""
        inner = folder / "static/a/b"
        inner.mkdir(parents=True)
        (inner / "small.txt").write_bytes(SMALL)
        (inner / "hello.py").write_bytes((APPS / self.target).read_bytes())
        for place, text in zip((folder / "static", inner.parent, inner), self.folders or (), strict=False):
            (place / ".adyton.toml").write_text(text)
        may = 'may-set = ["headers", "errors", "allow"]\n' if self.folders else ""
        file = folder / "site.toml"
        beside = f"[[sites.routes]]\n{self.beside}\n" if self.beside else ""
        route = f"[[sites.routes]]\npath = '/static/'\n{self.answers}\n{may}"
        file.write_text(f"[[sites]]\n{beside}{route}")
        return file

    def requests(self) -> list[bytes]:
        """Return the bytes of requests that are sent in turn."""
        ends = [f"{number:02}" for number in range(PATHS)] if self.varies else [""]
        return [self.request(self.path + end) for end in ends]

    def request(self, path: str) -> bytes:
        """Return the bytes of one request."""
        fields = (("Host", self.host), *self.fields)
        if self.body:
            fields += (("Content-Length", str(len(self.body))),)
        lines = [f"{'POST' if self.body else 'GET'} {path} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in fields]
        return "\r\n".join([*lines, "", ""]).encode("ascii") + self.body


THREADS = ("--threads=16", "--hand-over=never")
"""A call that callgrind makes slow would be handed over, which costs another number of instructions."""

QUEUE = ("--threads=16", "--hand-over=auto")
"""A page that waits is known to be slow after a few requests, and goes into the queue from then on."""

STREAM = "stream_wsgi.py"
MEBIBYTE = "/64/16384"
"""Path of a MiB that `stream_wsgi.py` gives in pieces of 16 KiB."""

PAGE_BYTES = 7 * 1024
"""Size of a page as applications make them; `page_wsgi.py` makes one."""

CASES = (
    Case("WSGI hello"),
    Case("WSGI hello, 16 pipelined", at_once=PIPELINED),
    Case("WSGI hello, 20 fields of a browser", fields=BROWSER),
    Case("WSGI hello, paths that vary", varies=True),
    Case("WSGI hello, body of 4 KiB", body=b"x" * 4096),
    Case("WSGI hello, access log", settings=(*ONE_THREAD, "--access-log={folder}/log")),
    Case("WSGI hello, --threads 16", settings=THREADS),
    Case("WSGI hello, file of one site", sites=(1, 1)),
    Case("WSGI hello, in a group", sites=(1, 1), in_group=True),
    Case("WSGI hello, file of 50 sites with 20 routes", sites=(50, 20)),
    Case("WSGI hello, file of 10,000 host names", sites=(10_000, 1)),
    Case("handler hello", "hello_handler.py"),
    Case("handler hello, 16 pipelined", "hello_handler.py", at_once=PIPELINED),
    Case("handler hello, paths that vary", "hello_handler.py", varies=True),
    Case("static 13 B", path="/static/small.txt"),
    Case("static 13 B, 16 pipelined", path="/static/small.txt", at_once=PIPELINED),
    Case("static 404", path="/static/missing.txt", status=404),
    Case("static 13 B, three folders down", path=DEEP, folders=()),
    Case("static 13 B, three folders with a page", path=DEEP, folders=("", "", PAGE)),
    Case("static 13 B, three folders with addresses", path=DEEP, folders=(ALLOW, ALLOW, ALLOW)),
    Case("static 13 B, three folders with a field", path=DEEP, folders=(FIELD, FIELD, FIELD)),
    Case("WSGI script, three folders down", path=SCRIPT, folders=(), answers=SCRIPTS),
    Case("WSGI script, three folders with a page", path=SCRIPT, folders=("", "", PAGE), answers=SCRIPTS),
    Case("WSGI page of a folder", path=SCRIPT, folders=(), answers=PAGES),
    Case("handler page of a folder", "hello_handler.py", path=SCRIPT, folders=(), answers=PAGES),
    Case("static 13 B, beside CGI", path=DEEP, folders=(), beside=CGI),
    Case("static 7 KB", path="/static/page.txt"),
    Case("cached 7 KB", "page_wsgi.py", settings=(*ONE_THREAD, "--cache=1h")),
    Case("WSGI stream, 1 MB in 64 pieces", STREAM, MEBIBYTE, settings=THREADS, share=10),
    Case("WSGI stream, 1 MB with its length", STREAM, MEBIBYTE + "?length", settings=THREADS, share=10),
    Case("WSGI stream, 1 MB with one thread", STREAM, MEBIBYTE, share=10),
    Case("WSGI stream, 1,000 pieces of 100 B", STREAM, "/1000/100", settings=THREADS, share=20),
    Case("WSGI upload, 1 MB in pieces of 64 KiB", "upload_wsgi.py", body=b"x" * (1 << 20), share=20),
    Case("WSGI page through the queue", "waiting_wsgi.py", settings=QUEUE, share=10),
    Case("static 304", path="/static/small.txt", status=304, fields=(("If-None-Match", "*"),)),
)


def main() -> int:
    """Count all rows, or those that are named; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--python", default=sys.executable, help="of an environment with Adyton's release build"
    )
    parser.add_argument(
        "--only", action="append", metavar="WORDS", help="rows whose name has these words in it"
    )
    parser.add_argument("--build", choices=BUILDS, default=BUILDS[0], help="which build PYTHON has")
    parser.add_argument("--write", action="store_true", help="make what was counted the budget")
    arguments = parser.parse_args()
    budgets: dict[str, dict[str, int]] = tomllib.loads(BUDGET.read_text())
    budget = budgets.setdefault(arguments.build, {})
    counted = {}
    print(f"{'instructions per request':40}  {'budget':>7}  {'now':>7}  change")
    for case in CASES:
        if arguments.only and not any(words in case.name for words in arguments.only):
            continue
        may = budget.get(case.name, 0)
        now = counted[case.name] = least(case, arguments.python, may)
        verdict = "  TOO MUCH" if is_grown(now, may) else ""
        print(f"{case.name:40}  {may:7,}  {now:7,}  {now / (may or now) - 1:+6.1%}{verdict}", flush=True)
    if arguments.write:
        budget.update(counted)
        write(budgets)
        return 0
    grown = [name for name, now in counted.items() if is_grown(now, budget.get(name, 0))]
    if grown:
        print(f"cost more than {BUDGET.name} allows: {', '.join(grown)}")
    return 1 if grown else 0


def is_grown(now: int, may: int) -> bool:
    """Tell whether a row costs more than it may."""
    return now > may * (1 + GROWTH_MAX)


def write(budgets: dict[str, dict[str, int]]) -> None:
    """Make these counts the budgets of the builds."""
    text = BUDGET.read_text().partition(f"\n[{BUILDS[0]}]")[0]
    for build in BUILDS:
        counted = budgets.get(build, {})
        rows = [f'"{case.name}" = {counted[case.name]}\n' for case in CASES if case.name in counted]
        text += f"\n[{build}]\n{''.join(rows)}"
    BUDGET.write_text(text)


def least(case: Case, python: str, may: int) -> int:
    """Return the instructions of a case; a case that costs too much is counted again.

    If there are several threads, a busy machine can add to their instructions, but takes none away.
    """
    counted = [count(case, python)]
    while is_grown(min(counted), may) and len(counted) < COUNTS_MAX:
        counted.append(count(case, python))
    return min(counted)


def count(case: Case, python: str) -> int:
    """Return the instructions of one request of a case."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "static").mkdir()
        (folder / "static/small.txt").write_bytes(SMALL)
        (folder / "static/page.txt").write_bytes(b"x" * PAGE_BYTES)
        for pid, connection in serving(case, python, folder):
            control(pid, "--instr=on")
            ask(connection, case, WARM_REQUESTS // case.share)
            control(pid, "--zero")
            ask(connection, case, REQUESTS // case.share)
            control(pid, "--dump")
            control(pid, "--instr=off")
        (counted,) = [found for file in folder.glob("count*") for found in asked_for(file)]
        return counted * case.share // REQUESTS


def asked_for(file: Path) -> list[int]:
    """Return the counts of a dump that was asked for; none for the dump at the end, which counts the stop."""
    text = file.read_text()
    if "\ndesc: Trigger: dump\n" not in text:
        return []
    return [int(number) for number in re.findall(r"^summary: (\d+)", text, re.MULTILINE)]


def serving(case: Case, python: str, folder: Path) -> Iterator[tuple[int, socket.socket]]:
    """Serve a case under callgrind: yields the process and a connection to it."""
    # A start takes half as long when its instructions are not counted.
    command = ["valgrind", "--tool=callgrind", "--quiet", "--instr-atstart=no"]
    command += [f"--callgrind-out-file={folder}/count.%p"]
    processes = 0
    if case.in_group:
        command += ["--trace-children=yes"]
        processes = 1
    command += [python, "-m", "adyton", "serve", f"--processes={processes}", "--port=0"]
    command += case.command(folder)
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as server:
        try:
            connection = socket.create_connection(("127.0.0.1", port_of(server)), ANSWER_S)
            pid = server.pid
            if case.in_group:
                # The connection moves with its first request.
                ask(connection, case, 1)
                pid = owner(connection, server.pid)
            yield pid, connection
        finally:
            server.terminate()
            server.communicate(timeout=START_S)


def owner(connection: socket.socket, pid: int) -> int:
    """Return the process, of `pid` and its descendants, that has the server's end of a connection."""
    here, there = connection.getsockname()[1], connection.getpeername()[1]
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    ends = [f"socket:[{line[9]}]" for line in lines if line[1:3] == [local(there), local(here)]]
    owners: list[int] = []
    deadline_s = time.monotonic() + ANSWER_S
    # The process that has passed the connection on may not have closed it yet.
    while len(owners) != 1 and time.monotonic() < deadline_s:
        owners = [each for each in descendants(pid) if {*ends} & {*descriptors(each)}]
    if len(owners) != 1:
        raise SystemExit(f"one process should have the connection, and these have: {owners}")
    return owners[0]


def local(port: int) -> str:
    """Return a port of this machine's loopback as the kernel's table of connections writes it."""
    return f"0100007F:{port:04X}"


def descendants(pid: int) -> list[int]:
    """Return a process, its children, and theirs."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(each for child in children for each in descendants(int(child)))]


def descriptors(pid: int) -> list[str]:
    """Return the files that a process has open."""
    return [str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir()]


def port_of(server: subprocess.Popen[str]) -> int:
    """Wait for the banner; return the port that it names."""
    said = ""
    for line in server.stderr or ():
        said += line
        if found := re.search(r"listening on http://127\.0\.0\.1:(\d+)", line):
            return int(found[1])
    raise SystemExit(f"the server has not started:\n{said}")


def ask(connection: socket.socket, case: Case, times: int) -> None:
    """Send requests, several at once if the case says so, and check the status of every answer."""
    requests, rest = itertools.cycle(case.requests()), b""
    for _ in range(times // case.at_once):
        connection.sendall(next(requests) * case.at_once)
        for _ in range(case.at_once):
            rest = answer(connection, case, rest)


def answer(connection: socket.socket, case: Case, data: bytes) -> bytes:
    """Read one answer, of which `data` has come; return the bytes behind it."""
    while b"\r\n\r\n" not in data:
        data += received(connection)
    head, _, data = data.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 %d " % case.status):
        raise SystemExit(f"{case.name}: the answer is {head!r}")
    if b"\r\nTransfer-Encoding: chunked" in head:
        return behind_chunks(connection, data)
    length = re.search(rb"(?i)\r\nContent-Length: (\d+)", head)
    size = 0 if case.status == 304 or not length else int(length[1])
    while len(data) < size:
        data += received(connection)
    return data[size:]


def behind_chunks(connection: socket.socket, data: bytes) -> bytes:
    """Read a body in chunks, of which `data` has come; return the bytes behind it."""
    while True:
        while b"\r\n" not in data:
            data += received(connection)
        line, _, data = data.partition(b"\r\n")
        size = int(line, 16) + 2
        while len(data) < size:
            data += received(connection)
        data = data[size:]
        if size == 2:
            return data


def received(connection: socket.socket) -> bytes:
    """Return the bytes that have come; the end of the connection is an error here."""
    data = connection.recv(RECEIVE_BYTES)
    if not data:
        raise SystemExit("the connection has ended within an answer")
    return data


def control(pid: int, what: str) -> None:
    """Tell callgrind to count or not, to begin at zero, or to write what it has counted."""
    subprocess.run(["callgrind_control", what, str(pid)], check=True, capture_output=True)


if __name__ == "__main__":
    sys.exit(main())
