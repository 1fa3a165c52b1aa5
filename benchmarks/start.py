"""Time from exec to the first answer, asked for without a pause."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import client
import servers
from rows import Case, Column, Row

if TYPE_CHECKING:
    from rows import Run
    from servers import Server, Spec

RUNS = 20
"""Whatever the number of rounds: a start is short, and its time scatters."""

PYTHON = servers.Spec("python -c pass, until it ends", "python -c pass", servers.HELLO)
SPECS = (servers.ADYTON_WSGI, servers.ADYTON_HANDLER, servers.BJOERN, servers.FASTPYSGI, servers.GRANIAN_WSGI)


def measure(run: Run) -> list[Row]:
    """Starts every server in turn, one time more than counts: the first fills the page cache."""
    rows = [Row(PYTHON), *(Row(spec) for spec in SPECS)]
    for number in range(RUNS + 1):
        for row in rows:
            try:
                taken_ms = ending_ms(row.spec, run) if row.spec is PYTHON else first_answer_ms(row.spec, run)
            except (OSError, client.WrongAnswerError, subprocess.TimeoutExpired) as error:
                row.fail(error)
                continue
            if number:
                row.rounds.append({"start_ms": taken_ms})
    return rows


def ending_ms(spec: Spec, run: Run) -> float:
    """Returns how long a program takes that ends by itself: what the interpreter alone costs."""
    begin = time.perf_counter()
    server = servers.start(spec, run.work)
    status = server.process.wait(servers.READY_S)
    taken_ms = (time.perf_counter() - begin) * 1e3
    if status:
        raise client.WrongAnswerError(f"{sys.executable} ended with status {status}")
    return taken_ms


def first_answer_ms(spec: Spec, run: Run) -> float:
    """Starts a server, asks until it answers rightly, ends it, and returns the time to the whole answer."""
    begin = time.perf_counter()
    server = servers.start(spec, run.work)
    try:
        poll(server, begin + servers.READY_S)
        return (time.perf_counter() - begin) * 1e3
    finally:
        server.stop()


def poll(server: Server, deadline: float) -> None:
    """Connects as often as it can until somebody listens, then waits for the answer."""
    while True:
        with contextlib.suppress(ConnectionRefusedError), client.connect(server.port) as connection:
            connection.sendall(client.request(server.spec.expected.path))
            client.read_answer(connection, server.spec.expected)
            return
        if server.process.poll() is not None:
            raise client.WrongAnswerError(f"ended with status {server.process.returncode}")
        if time.perf_counter() > deadline:
            raise client.WrongAnswerError(f"nobody listens after {servers.READY_S:.0f} s")


CASE = Case(
    "start",
    "Start to first answer",
    f"From exec to the last byte of the first right answer, {RUNS} starts; Python alone for comparison.",
    (Column("start_ms", "ms", 1, spread=True),),
    measure,
)
