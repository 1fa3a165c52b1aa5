"""Memory of idle keep-alive connections: each is used once, and then kept open."""

from __future__ import annotations

import contextlib
import re
import resource
import time
from pathlib import Path
from typing import TYPE_CHECKING

import client
import cost
import servers
from rows import Case, Column, Row

if TYPE_CHECKING:
    from rows import Run
    from servers import Server

CONNECTIONS = 8000
BURST = 100
"""So many requests are under way at once; more would measure the server's queue."""
FILES_MAX = CONNECTIONS + 500
"""Descriptors that the client and each server need."""
SETTLE_S = 0.5
"""Between the last answer and the measurement: a server may give memory back."""

SPECS = (
    servers.ADYTON_WSGI,
    servers.ADYTON_STATIC,
    servers.NGINX_SMALL,
    servers.BJOERN,
    servers.GRANIAN_IDLE,
    servers.FASTPYSGI,
)


def measure(run: Run) -> list[Row]:
    """Measures each server in each round, newly started: memory that was freed would be used again."""
    rows = [Row(spec) for spec in SPECS]
    for _ in range(run.rounds):
        for row in rows:
            try:
                allow_files()
                with servers.running(row.spec, run.work) as server:
                    row.rounds.append(memory(server))
            except (OSError, client.WrongAnswerError) as error:
                row.fail(error)
    return rows


def memory(server: Server) -> dict[str, float]:
    """Opens the connections and returns what they cost, in KiB."""
    empty = resident_kib(server.process.pid)
    with contextlib.ExitStack() as stack:
        held = []
        for _ in range(CONNECTIONS // BURST):
            burst = [stack.enter_context(client.connect(server.port)) for _ in range(BURST)]
            for connection in burst:
                connection.sendall(client.request(server.spec.expected.path))
            for connection in burst:
                client.read_answer(connection, server.spec.expected)
            held += burst
        time.sleep(SETTLE_S)
        full = resident_kib(server.process.pid)
        if closed := sum(client.is_closed(connection) for connection in held):
            raise client.WrongAnswerError(f"{closed} of {CONNECTIONS} connections were closed")
    return {"empty_kib": empty, "full_kib": full, "each_kib": (full - empty) / CONNECTIONS}


def resident_kib(root: int) -> float:
    """Returns the memory of a process and its descendants: what they share is counted once (Pss, proc(5))."""
    total = 0
    for pid in cost.tree({root}):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            text = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii")
            found = re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE)
            total += int(found.group(1)) if found else 0
    return float(total)


def allow_files() -> None:
    """Raises the limit of open files, for this process and for the servers that it starts."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < FILES_MAX:
        raise OSError(f"{FILES_MAX} open files are needed, and the hard limit is {hard}")
    if soft != resource.RLIM_INFINITY and soft < FILES_MAX:
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES_MAX, hard))


CASE = Case(
    "idle",
    f"{CONNECTIONS:,} idle keep-alive connections, each used once",
    "Resident memory of all processes of the server (Pss), above what it is with no connection.",
    (
        Column("each_kib", "KiB each", 2, spread=True),
        Column("empty_kib", "empty KiB", 0),
        Column("full_kib", "full KiB", 0),
    ),
    measure,
)
