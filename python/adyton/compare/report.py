"""The page: a row for each peer, the noise, and what the figures are."""

from __future__ import annotations

import platform
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from adyton.compare.figures import interval, noise, ratios, verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from adyton.compare.peers import Seats
    from adyton.compare.rounds import Pace, Row
    from adyton.compare.scenarios import Scenario


@dataclass(frozen=True)
class Line:
    """One row of the page."""

    name: str
    version: str
    command: str
    problems: list[str]
    """Why there are no figures; empty when there are."""
    rounds: int
    """Rounds that count."""
    rate: float = 0.0
    rate_spread: tuple[float, float] = (0.0, 0.0)
    """The slowest round and the fastest."""
    of_thousand: float = 0.0
    """The rate, where that of static files is 1000; 0 without static files."""
    to_ours: str = ""
    """More, less, or no difference, beside the peer that takes part twice."""
    cpu_us: float = 0.0
    p50_ms: float = 0.0
    """At half load, from when requests were due."""
    p99_ms: float = 0.0
    memory_mib: float = 0.0


@dataclass(frozen=True)
class Page:
    """All that is told."""

    scenario: Scenario
    lines: list[Line]
    noise: float | None
    """How far two runs of the same peer differ at most; none when no peer took part twice."""
    facts: dict[str, str]
    rounds: Mapping[str, Any]

    @classmethod
    def of(
        cls, scenario: Scenario, rows: Sequence[Row], pace: Pace, seats: Seats, versions: Mapping[str, str]
    ) -> Page:
        """Makes the page of rows that are filled."""
        again = next((row for row in rows if row.again and row.is_valid), None)
        first = next((row for row in rows if again and row.peer is again.peer and not row.again), None)
        floor = noise(first.rates, again.rates) if first and again and first.is_valid else None
        static = next((row for row in rows if row.peer.key == scenario.of and row.is_valid), None)
        lines = [line(row, versions[row.peer.key], static, first, floor) for row in rows]
        lines.sort(key=lambda each: -each.rate)
        facts = {
            "date": time.strftime("%Y-%m-%d", time.gmtime()),
            "machine": f"{len(seats.server)} CPUs for servers, {len(seats.load)} for the load",
            "kernel": platform.release(),
            "python": platform.python_version(),
            "rounds": f"{pace.rounds}, each {pace.duration} after {pace.warm_up} of warm-up, in random order",
        }
        rounds = {row.name: {"full": row.full, "half": row.half} for row in rows}
        return cls(scenario, lines, floor, facts, rounds)

    def as_json(self) -> dict[str, Any]:
        """Returns the page for programs, every report of every round in it."""
        return {
            "schema": "adyton-compare/1",
            "scenario": asdict(self.scenario),
            "facts": self.facts,
            "noise": self.noise,
            "lines": [asdict(each) for each in self.lines],
            "rounds": self.rounds,
        }


def line(row: Row, version: str, static: Row | None, ours: Row | None, floor: float | None) -> Line:
    """Returns the row of one peer, with its figures if it has any."""
    bare = Line(row.name, version, row.peer.shown(), row.why_not, row.rounds)
    if not row.is_valid:
        return bare
    to_ours = ""
    if ours is not None and ours is not row and ours.is_valid and floor is not None:
        to_ours = verdict(ratios(row.rates, ours.rates), floor)
    half = bool(row.half)
    return Line(
        bare.name,
        version,
        bare.command,
        [],
        row.rounds,
        rate=row.middle(lambda report: report["rate"]),
        rate_spread=interval(list(row.rates.values())),
        of_thousand=1000
        * row.middle(lambda report: report["rate"])
        / static.middle(lambda report: report["rate"])
        if static
        else 0.0,
        to_ours=to_ours,
        cpu_us=row.middle(lambda report: (report["server"] or {}).get("cpu_us_per_request", 0.0)),
        p50_ms=row.middle(lambda report: report["response"]["p50_us"] / 1000, at_half=True) if half else 0.0,
        p99_ms=row.middle(lambda report: report["response"]["p99_us"] / 1000, at_half=True) if half else 0.0,
        memory_mib=row.middle(lambda report: (report["server"] or {}).get("pss_bytes", 0) / 2**20),
    )


TITLES = ("requests/s", "between", "rounds", "of 1000", "CPU us", "p50 ms", "p99 ms", "MiB", "beside ours")


def cells(each: Line) -> list[str]:
    """Returns the figures of a row as text; INVALID in their place if there are none."""
    if each.problems:
        return ["INVALID", *[""] * (len(TITLES) - 1)]
    low, high = each.rate_spread
    return [
        f"{each.rate:,.0f}",
        f"{low:,.0f}..{high:,.0f}",
        str(each.rounds),
        f"{each.of_thousand:.0f}" if each.of_thousand else "",
        f"{each.cpu_us:.1f}",
        f"{each.p50_ms:.2f}",
        f"{each.p99_ms:.2f}",
        f"{each.memory_mib:.1f}",
        each.to_ours,
    ]


def table(page: Page) -> str:
    """Returns the page for a terminal."""
    rows = [["", *TITLES], *[[each.name, *cells(each)] for each in page.lines]]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    out = [f"{page.scenario.name}: {page.scenario.question}", ""]
    for row in rows:
        first, *others = [
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        out.append("  ".join([first, *others]).rstrip())
    out += ["", *notes(page), ""]
    return "\n".join(out)


def notes(page: Page) -> list[str]:
    """Returns what stands below the table."""
    out = []
    if page.noise is not None:
        out.append(
            f"Two runs of the same server differ by up to {100 * page.noise:.1f} %; less is no difference."
        )
    out.append("Times are those at half of the rate, from when requests were due.")
    out += [f"{each.name}: {problem}" for each in page.lines for problem in each.problems]
    return out


def markdown(page: Page) -> str:
    """Returns the page as Markdown."""
    out = [f"# {page.scenario.name}", "", page.scenario.question, ""]
    out += [f"- {name}: {fact}" for name, fact in page.facts.items()]
    out += ["", f"| server | version | {' | '.join(TITLES)} |", "| --- | --- |" + " ---: |" * len(TITLES)]
    out += [f"| {each.name} | {each.version} | {' | '.join(cells(each))} |" for each in page.lines]
    out += ["", *[f"{note}\n" for note in notes(page)], page.scenario.classic, "", "## Command lines", ""]
    commands = dict.fromkeys((each.name, each.command) for each in page.lines)
    out += [f"- {name}: `{command}`" for name, command in commands]
    return "\n".join(out) + "\n"
