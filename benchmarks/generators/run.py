#!/usr/bin/env python3
"""Measures load generators: `benchmarks/generators/run.py [--rounds N] [--secs N] [--connections N]`.

`adyton bench`, wrk, h2load and oha (those that are installed) load the floor and nginx in turn, each with one
thread on the same CPUs; the server has the other CPUs. Prints Markdown, and writes it with the figures of
every round to `benchmarks/record/generators-DATE`. Ends everything that it has started.

It is no scenario of `adyton compare`, because that compares servers by the figures of `adyton bench`; here
`adyton bench` itself is compared. Servers are started as `adyton compare` starts them.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from adyton.compare.machine import facts
from adyton.compare.peers import read_peers
from adyton.compare.running import Seats, Size, running, seated

if TYPE_CHECKING:
    from collections.abc import Callable

    from adyton.compare.peers import Peer

RECORDS = Path(__file__).resolve().parent.parent / "record"
SERVERS = ("floor", "nginx-static")
"""Peers of `adyton compare`."""
MILLION = 1e6


@dataclass(frozen=True)
class Figures:
    """Figures that one tool prints, and its cost."""

    rate: float
    """Answers a second, as the tool counts them."""
    cpu_us: float
    """CPU time of the tool for each answer."""
    p50_us: float
    p99_us: float | None
    errors: int


@dataclass(frozen=True)
class Tool:
    """A load generator: its command line, and the function that reads its figures."""

    name: str
    command: str
    read: Callable[[str, float], Figures]
    """Makes figures from what the tool prints, and from the CPU seconds of its process."""
    checks: str
    """Parts of an answer that the tool checks."""


def of_bench(text: str, _cpu_s: float) -> Figures:
    """Reads `adyton bench`, by its own CPU time: its process also runs the responder for its ceiling."""
    report = json.loads(text)
    rate, counts = report["rate"], report["counts"]
    cpu_us = MILLION * report["generator"]["busy"] / rate
    times = report["service"]
    errors = counts["sent"] - counts["right"] - counts["in_flight"]
    return Figures(rate, cpu_us, times["p50_us"], times["p99_us"], errors)


def microseconds(text: str) -> float:
    """Reads a time such as `1.23ms`."""
    found = re.fullmatch(r"([\d.]+)(us|ms|s)", text)
    if found is None:
        raise ValueError(text)
    return float(found[1]) * {"us": 1.0, "ms": 1e3, "s": MILLION}[found[2]]


def of_wrk(text: str, cpu_s: float) -> Figures:
    """Reads wrk with `--latency`."""
    answers = int(first(r"(\d+) requests in", text))
    wrong = sum(int(number) for number in re.findall(r"Non-2xx or 3xx responses: (\d+)", text))
    failed = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", text)
    errors = wrong + (sum(map(int, failed.groups())) if failed else 0)
    p50, p99 = (microseconds(first(rf"(?m)^\s+{percent}%\s+(\S+)", text)) for percent in (50, 99))
    return Figures(
        float(first(r"Requests/sec:\s+([\d.]+)", text)), MILLION * cpu_s / answers, p50, p99, errors
    )


def of_h2load(text: str, cpu_s: float) -> Figures:
    """Reads h2load, which prints a mean in the place of the median, and no percentiles."""
    done, failed = int(first(r"(\d+) succeeded", text)), int(first(r"(\d+) failed", text))
    mean = microseconds(re.split(r"\s+", first(r"time for request:\s+(.+)", text))[2])
    return Figures(float(first(r"([\d.]+) req/s", text)), MILLION * cpu_s / done, mean, None, failed)


def of_oha(text: str, cpu_s: float) -> Figures:
    """Reads oha, which prints JSON."""
    report = json.loads(text)
    answers = sum(report["statusCodeDistribution"].values())
    right = report["statusCodeDistribution"].get("200", 0)
    p50, p99 = (MILLION * report["latencyPercentiles"][name] for name in ("p50", "p99"))
    return Figures(report["summary"]["requestsPerSec"], MILLION * cpu_s / answers, p50, p99, answers - right)


def first(pattern: str, text: str) -> str:
    """Returns the text that the group of a pattern matches; raises `ValueError` if it does not."""
    found = re.search(pattern, text)
    if found is None:
        raise ValueError(f"no {pattern} in {text}")
    return found[1]


TOOLS = (
    Tool(
        "adyton bench",
        f"{sys.executable} -m adyton bench {{url}} -c {{connections}} -d {{secs}}s --json",
        of_bench,
        "status, length, every byte of the body",
    ),
    Tool("wrk", "wrk --latency -t 1 -c {connections} -d {secs}s {url}", of_wrk, "status"),
    Tool(
        "h2load",
        "h2load --h1 -t 1 -c {connections} -D {secs} {url}",
        of_h2load,
        "status",
    ),
    Tool(
        "oha",
        "oha --no-tui --output-format json -c {connections} -z {secs}s {url}",
        of_oha,
        "status, counted by hand",
    ),
)


@dataclass
class Row:
    """One tool at one server."""

    tool: Tool
    peer: Peer
    rounds: list[Figures] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def shown(self, of: Callable[[Figures], float | None], digits: int) -> str:
        """Returns the median of a figure, with the least and the most."""
        values = [value for figures in self.rounds if (value := of(figures)) is not None]
        if not values:
            return ""
        low, middle, high = min(values), statistics.median(values), max(values)
        return f"{middle:,.{digits}f} ({low:,.{digits}f}..{high:,.{digits}f})"


def measure(row: Row, url: str, secs: int, connections: int) -> None:
    """Adds a round."""
    command = row.tool.command.format(url=url, secs=secs, connections=connections).split()
    before = os.times()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    after = os.times()
    cpu_s = sum(after[2:4]) - sum(before[2:4])
    try:
        figures = row.tool.read(done.stdout, cpu_s)
    except (ValueError, KeyError) as error:
        row.problems.append(f"{row.tool.name}: {done.stderr.strip() or error}")
        return
    if figures.errors:
        row.problems.append(f"{row.tool.name}: {figures.errors} errors")
    row.rounds.append(figures)


def markdown(rows: list[Row], told: dict[str, str], args: argparse.Namespace) -> str:
    """Returns the page."""
    out = [f"# Load generators, {told['date']}", ""]
    out += [
        f"{args.rounds} rounds of {args.secs} s in random order, {args.connections} connections, one thread.",
        "Medians, with the least and the most. Server and generator have CPUs of their own. CPU time is that",
        "of the generator for each answer; what a core could drive is its inverse.",
        "",
    ]
    out += ["| | |", "| --- | --- |", *[f"| {name} | {fact} |" for name, fact in told.items()], ""]
    for peer in dict.fromkeys(row.peer.name for row in rows):
        out += [f"## {peer}", ""]
        out += ["| tool | requests/s | CPU us | a core could drive | p50 us | p99 us | looks at |"]
        out += ["| --- | ---: | ---: | ---: | ---: | ---: | --- |"]
        for row in rows:
            if row.peer.name == peer:
                out.append(
                    f"| {row.tool.name} | {row.shown(lambda one: one.rate, 0)} "
                    f"| {row.shown(lambda one: one.cpu_us, 2)} "
                    f"| {row.shown(lambda one: MILLION / one.cpu_us, 0)} "
                    f"| {row.shown(lambda one: one.p50_us, 0)} | {row.shown(lambda one: one.p99_us, 0)} "
                    f"| {row.tool.checks} |"
                )
        out.append("")
    out += ["The p50 of h2load is its mean, because it prints no percentiles.", ""]
    out += [f"- {problem}" for row in rows for problem in row.problems]
    return "\n".join(out) + "\n"


def main() -> int:
    """Measures and records."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--secs", type=int, default=4)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    seats, date = Seats.of_this_machine(), datetime.now(UTC)
    told = {"date": date.strftime("%Y-%m-%d %H:%M UTC"), **facts()}
    tools = [tool for tool in TOOLS if shutil.which(tool.command.split()[0])]
    peers = [peer for peer in read_peers() if peer.key in SERVERS and not peer.missing]
    rows = [Row(tool, peer) for peer in peers for tool in tools]
    order = random.Random(1)  # noqa: S311 - the same each time
    for number in range(args.rounds):
        for row in order.sample(rows, len(rows)):
            print(f"round {number + 1}: {row.tool.name}, {row.peer.name}", file=sys.stderr)
            with running(row.peer, ["hello"], Size.usual(1), seats.server) as server, seated(seats.load):
                measure(row, server.urls["hello"], args.secs, args.connections)
    told |= {tool.name: tool.command.replace(sys.executable, "python") for tool in tools}
    page = markdown(rows, told, args)
    print(page)
    out = args.out or RECORDS / f"generators-{date:%Y-%m-%d-%H%M}.md"
    out.write_text(page, "utf-8")
    rounds = [
        {"tool": row.tool.name, "server": row.peer.name, "rounds": [asdict(each) for each in row.rounds]}
        for row in rows
    ]
    out.with_suffix(".json").write_text(json.dumps({"facts": told, "rows": rounds}, indent=1) + "\n", "utf-8")
    return int(any(row.problems for row in rows))


if __name__ == "__main__":
    sys.exit(main())
