"""Counts the instructions of pages of frameworks, of uploads and of streams on Adyton and on other servers.

`beside.py [-o FILE.md] [--only WORDS] [--connections N]` prints a table. The pages are those of `adyton
compare`; the servers are those in the environment of the Python that runs this program. valgrind counts the
instructions in user space of one process, with all of its threads. On a shared machine times scatter by more
than servers differ; these counts repeat to within 2 %. They include neither the kernel's part nor waits. N
requests are sent at a time, each over a connection of its own, and the next N when all are answered.
"""

from __future__ import annotations

import argparse
import contextlib
import socket
import subprocess
import sys
import tempfile
import time
from http.client import HTTPConnection, HTTPException
from importlib import metadata, resources
from pathlib import Path
from typing import TYPE_CHECKING

from adyton.compare import own, pages
from run import ANSWER_S, START_S, asked_for, control

if TYPE_CHECKING:
    from collections.abc import Callable

OURS = "Adyton"
BJOERN = 'import bjoern, application; bjoern.run(application.application, "127.0.0.1", {port})'
FASTPYSGI = (
    "import fastpysgi, application; fastpysgi.server.max_content_length = 32 << 20; "
    'fastpysgi.run(application.application, "127.0.0.1", {port}, workers=1)'
)
ADYTON = ("-m", "adyton", "serve", "application.py:application", "--processes=0")
SERVERS: dict[str, Callable[[int], list[str]]] = {
    OURS: lambda port: [*ADYTON, f"--port={port}"],
    "bjoern": lambda port: ["-c", BJOERN.format(port=port)],
    "fastpysgi": lambda port: ["-c", FASTPYSGI.format(port=port)],
}
"""The arguments of Python that start each server in the folder of an application, at a port."""
PORTS = range(21_000, 22_000)
REQUESTS = 320
"""Requests that are counted for each page, after half as many that warm the server up."""
STREAMS = [name for name in own.STREAMS if name != "events"]
"""Streams that do not wait."""
PAGES = (*own.of_frameworks(), "64 KiB pieces", "1 MB pieces", "1 MB lines", *STREAMS)


def main() -> int:
    """Count, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").replace("`", ""), allow_abbrev=False)
    at_a_time = "requests at a time (default: 16)"
    parser.add_argument("--connections", type=int, default=16, metavar="N", help=at_a_time)
    parser.add_argument("--only", default="", metavar="WORDS", help="pages whose name has these words in it")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the table to a file, too")
    given = parser.parse_args()
    try:
        versions = [f"{name} {metadata.version(name)}" for name in SERVERS]
    except metadata.PackageNotFoundError as error:
        parser.error(f"{error.name} is not installed for this Python; `make peers` installs all")
    if given.connections < 1:
        parser.error("--connections: at least 1")
    lines = [
        row("page", *SERVERS, f"{OURS}, x the least of the others"),
        "| --- |" + " ---: |" * (len(SERVERS) + 1),
    ]
    for page in PAGES:
        if given.only in page:
            counts = [count(page, name, given.connections) for name in SERVERS]
            ours, *others = counts
            found = [each for each in others if each]
            ratio = f"{ours / min(found):.2f}" if ours and found else ""
            lines.append(row(page, *(f"{each:,}" if each else "failed" for each in counts), ratio))
            print(lines[-1], file=sys.stderr, flush=True)
    text = "\n".join([*lines, "", ", ".join(versions) + f"; {given.connections} requests at a time."])
    print(text)
    if given.output:
        given.output.write_text(text + "\n", encoding="utf-8")
    return 0


def row(*cells: str) -> str:
    """Return a row of the table."""
    return f"| {' | '.join(cells)} |"


def count(page: str, server: str, connections: int) -> int | None:
    """Return the instructions of one request for a page; nothing, if the server fails to answer rightly."""
    application = pages.application_of(page)
    rounds = max(REQUESTS // connections, 4)
    warm = rounds // 2
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        work = Path(name)
        served = stack.enter_context(resources.as_file(resources.files("adyton.compare") / "served"))
        pages.write_pages(served, work, application)
        port = free_port()
        command = ["valgrind", "--tool=callgrind", "--quiet", "--instr-atstart=no"]
        command += [f"--callgrind-out-file={work}/count.%p", sys.executable, *SERVERS[server](port)]
        log = stack.enter_context((work / "log").open("wb"))
        with subprocess.Popen(command, cwd=work / "app", stdout=log, stderr=log) as process:
            try:
                await_start(port, process)
                clients = [HTTPConnection("127.0.0.1", port, timeout=START_S) for _ in range(connections)]
                control(process.pid, "--instr=on")
                ask(clients, page, warm)
                control(process.pid, "--zero")
                ask(clients, page, rounds)
                control(process.pid, "--dump")
                control(process.pid, "--instr=off")
            except (OSError, ValueError, HTTPException, subprocess.CalledProcessError) as error:
                print(f"{server}, {page}: {error}", file=sys.stderr)
                return None
            finally:
                process.terminate()
                try:
                    process.wait(START_S)
                except subprocess.TimeoutExpired:
                    process.kill()
        found = [each for file in work.glob("count*") for each in asked_for(file)]
        return sum(found) // (rounds * connections) if found else None


def free_port() -> int:
    """Return a port of the loopback at which nobody listens.

    The kernel never gives this port to a client: otherwise a client that tries to connect before the server
    listens could connect to itself.
    """
    for port in PORTS:
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise SystemExit(f"somebody listens at all ports from {PORTS.start} to {PORTS.stop - 1}")


def await_start(port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until a server listens."""
    while process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), ANSWER_S).close()
        except ConnectionRefusedError:
            time.sleep(0.05)
        else:
            return
    raise ValueError(f"it ended with {process.returncode}")


def ask(clients: list[HTTPConnection], page: str, rounds: int) -> None:
    """Send a request over each connection, and read the answers, which must be the right ones."""
    asked, right = own.OWN[page], pages.body(page)
    fields = {"Content-Type": asked.kind} if asked.posted else {}
    for _ in range(rounds):
        for client in clients:
            client.request("POST" if asked.posted else "GET", asked.path, asked.posted or None, fields)
        for client in clients:
            found = client.getresponse().read()
            if found != right:
                raise ValueError(f"the answer is {found[:200]!r}")


if __name__ == "__main__":
    sys.exit(main())
