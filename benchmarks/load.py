"""The cases in which wrk drives the servers in turn: CPU per request, and its ratio to the floor."""

from __future__ import annotations

import contextlib
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import client
import cost
import servers
from rows import Case, Column, Row

if TYPE_CHECKING:
    from collections.abc import Callable

    from rows import Run
    from servers import Server, Spec


PIECE_BYTES = 1 << 20
"""Of the access log, which may have hundreds of megabytes, at once in memory."""


@dataclass(frozen=True)
class LoadCase:
    """The servers of a case, the base of comparison first, and how they are asked."""

    specs: tuple[Spec, ...]
    load: cost.Load

    def __call__(self, run: Run) -> list[Row]:
        """Starts all servers, measures them in turn, round by round, and ends them."""
        rows = [Row(spec) for spec in self.specs]
        load = replace(self.load, secs=run.secs)
        with contextlib.ExitStack() as stack:
            pairs = [(row, server) for row in rows if (server := start(row, run, stack))]
            for number in range(run.rounds):
                # There and back again: when the machine slows down meanwhile, nobody is always the later one.
                for row, server in reversed(pairs) if number % 2 else pairs:
                    measure(row, server, load, run)
                compare(rows)
        return rows


def start(row: Row, run: Run, stack: contextlib.ExitStack) -> Server | None:
    """Starts the server of a row; one that does not start makes its row invalid, and no other."""
    try:
        return stack.enter_context(servers.running(row.spec, run.work))
    except (OSError, client.WrongAnswerError) as error:
        row.fail(error)
    return None


def measure(row: Row, server: Server, load: cost.Load, run: Run) -> None:
    """Adds one round to a row; the server is checked before it and after it, in the way it is asked."""
    if row.errors:
        return
    try:
        client.check(server.port, row.spec.expected, times=load.pipeline, close=load.close)
        figures = cost.measure(server.url, {server.process.pid}, load, run.work)
        client.check(server.port, row.spec.expected, times=load.pipeline, close=load.close)
    except (OSError, client.WrongAnswerError) as error:
        row.fail(error)
        return
    if figures.errors:
        row.fail(figures.errors)
    numbers = asdict(figures)
    del numbers["errors"]
    numbers["capacity_per_s"] = 1e6 / figures.cpu_us if figures.cpu_us else 0.0
    row.rounds.append(numbers)


def compare(rows: list[Row]) -> None:
    """Adds to the newest round of each row its ratio to, and its difference from, the first row."""
    base = rows[0]
    for row in rows:
        if row.errors:
            continue
        if base.errors or not base.rounds[-1]["cpu_us"]:
            row.fail(f"nothing to compare with: {base.spec.name} failed")
            continue
        mine, other = row.rounds[-1]["cpu_us"], base.rounds[-1]["cpu_us"]
        row.rounds[-1] |= {"ratio": mine / other, "added_us": mine - other}


def with_log_checked(case: LoadCase) -> Callable[[Run], list[Row]]:
    """Measures, and then makes sure that the log has a line for each request that was counted."""

    def measure_and_count(run: Run) -> list[Row]:
        rows = case(run)
        log, logging = run.work / "access.log", rows[1]
        if not log.exists():
            logging.fail("there is no access log")
            return rows
        answered = sum(int(figures["requests"]) for figures in logging.rounds)
        with log.open("rb") as file:
            lines = sum(piece.count(b"\n") for piece in iter(lambda: file.read(PIECE_BYTES), b""))
        if lines < answered:
            logging.fail(f"the log has {lines} lines for {answered} requests")
        return rows

    return measure_and_count


RATE = Column("requests_per_s", "requests/s", 0)
COST = Column("cpu_us", "CPU µs/request", 2)
RATIO = Column("ratio", "× floor", 2, spread=True)
P99 = Column("p99_us", "p99 µs", 0)

PEERS = (servers.BJOERN, servers.FASTPYSGI, servers.GRANIAN_WSGI)
ADYTON = (servers.ADYTON_WSGI, servers.ADYTON_HANDLER, servers.ADYTON_STATIC)

CASES = (
    Case(
        "small",
        "Small answers, 64 keep-alive connections",
        "WSGI: 12 bytes and three headers; handler: a `str` of 12 bytes; static: a file of 13 bytes.",
        (RATE, COST, RATIO, P99),
        LoadCase(
            (servers.FLOOR, *ADYTON, servers.NGINX_SMALL, servers.NGINX_SMALL_SENDFILE, *PEERS),
            cost.Load(connections=64),
        ),
    ),
    Case(
        "large",
        "A static file of 350 KB, 16 keep-alive connections",
        "The ratio is to the first row; there is no floor for this one.",
        (RATE, COST, replace(RATIO, heading="× first"), P99),
        LoadCase(
            (servers.NGINX_LARGE, servers.NGINX_LARGE_UNCACHED, servers.ADYTON_LARGE),
            cost.Load(connections=16),
        ),
    ),
    Case(
        "pipelined",
        "16 pipelined requests, 64 connections",
        "Full core: what the server's CPU per request allows; wrk may be slower than that.",
        (RATE, Column("capacity_per_s", "full core/s", 0), replace(COST, decimals=3), RATIO),
        LoadCase(
            (
                servers.FLOOR,
                *ADYTON,
                servers.NGINX_SMALL,
                # Not bjoern: of 16 requests that come in one piece it answers the first only.
                servers.FASTPYSGI_NODELAY,
                servers.GRANIAN_PIPELINE,
            ),
            cost.Load(connections=64, pipeline=16),
        ),
    ),
    Case(
        "connect",
        "A new connection for each request, 64 at a time",
        "Every request has `Connection: close`; the floor accepts, answers once and closes.",
        (RATE, COST, RATIO, P99),
        LoadCase(
            (
                servers.FLOOR_CLOSE,
                servers.ADYTON_STATIC,
                servers.ADYTON_WSGI,
                servers.NGINX_SMALL,
                servers.NGINX_SMALL_SENDFILE,
                *PEERS,
            ),
            cost.Load(connections=64, close=True),
        ),
    ),
    Case(
        "log",
        "Access log to a file, 64 keep-alive connections",
        "The same server with its log off and on, in turn; the log must have a line for each request.",
        (RATE, COST, Column("added_us", "added µs", 2, spread=True)),
        with_log_checked(
            LoadCase((servers.ADYTON_WSGI, servers.ADYTON_LOGGING), cost.Load(connections=64)),
        ),
    ),
)
