"""The page: a row for each peer, the noise, and explanations of the figures."""

from __future__ import annotations

import math
import textwrap
import time
from dataclasses import asdict, dataclass, field
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING, Any

from adyton.compare import machine
from adyton.compare.results.figures import (
    FEW,
    NO_DIFFERENCE,
    NOT_KNOWN,
    VALUES_MIN,
    interval,
    noise,
    ratios,
    verdict_between,
)
from adyton.compare.results.rows import FLOOR
from adyton.compare.results.times import Time
from adyton.compare.results.ways import sides_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from adyton.compare.results.rows import Discarded, Row, Shot
    from adyton.compare.results.ways import Side, Sides
    from adyton.compare.rounds import Pace
    from adyton.compare.running import Seats
    from adyton.compare.scenarios import Load, Scenario

WIDTH = 110
"""Width of the text below the tables."""
SERVER = "server"
"""Head of the column of names in tables of peers."""


@dataclass(frozen=True)
class Line:
    """One row of the page under one load."""

    name: str
    load: str
    version: str
    command: str
    problems: list[str]
    """Why there are no figures; empty when there are."""
    rounds: int = 0
    """Rounds that count."""
    rate: float = 0.0
    is_least: bool = False
    """Whether the load was at its own limit in some round: then the rate is a lower bound."""
    rate_interval: tuple[float, float] = (0.0, 0.0)
    """Bounds of the rate, with 95 % confidence; with few rounds the rates of the slowest and the fastest."""
    of_thousand: float | None = None
    """The rate, on a scale on which the rate of static files is 1000; ``None`` without static files."""
    classic: int | None = None
    """The peer's figure in the classic table."""
    to_ours: tuple[float, float, float] | None = None
    """The ratio to the peer that takes part twice, with its interval, in the scenario's ``judged`` figure."""
    to_ours_bound: str = ""
    """``>`` or ``<`` if the ratio is only a lower or an upper bound, because one of the times is a bound."""
    verdict: str = ""
    """Verdict on that ratio: more, less, no difference, too few rounds, or not known from bounds alone."""
    cpu_us: float = 0.0
    of_floor: float | None = None
    """The CPU time as a multiple of the floor's."""
    p50_ms: float | None = None
    p50_is_least: bool = False
    """Whether the time is a lower bound: the requests that decide it had no answer yet at the end."""
    p99_ms: float | None = None
    p99_is_least: bool = False
    errors: int = 0
    due: int = 0
    """Requests that were due; the errors are among them."""
    answered_percent: float = 0.0
    memory_mib: float | None = None
    megabytes: float = 0.0
    offered: float = 0.0
    """Requests that were due, per second."""
    goodput: float = 0.0
    beside_rate: float | None = None
    recovered_s: float | None = None
    held_mib: float | None = None
    """Memory while all connections were open."""
    slow_lost: int | None = None
    """Requests of slow clients that were cut off, refused or wrong; ``None`` without such clients."""
    slow_begun: int | None = None
    """Requests of slow clients that were begun."""
    start_ms: float = 0.0
    """Time from the peer's start to its first right answer."""
    events: int = 0
    """Events that happened under the load, in all rounds."""
    turn_s: float | None = None
    """Time that one event took."""
    is_of_cpus: bool = False
    """Whether the CPU time includes all programs on the server's CPUs, because the peer ``forks``."""
    unsteady: int = 0
    """Rounds in which the peer was measured although it was not yet as fast as in the load before."""
    spoilt: list[str] = field(default_factory=list)
    """Why measurements did not count: a reason for each of them."""
    is_absent: bool = False
    """Whether there are no figures because something is not installed."""


@dataclass(frozen=True)
class Configuration:
    """A configuration file of peers; words in braces are replaced when a peer starts."""

    file: str
    text: str
    peers: list[str]


@dataclass(frozen=True)
class Page:
    """The contents of the page."""

    scenario: Scenario
    lines: list[Line]
    noise: Mapping[str, Mapping[str, float | None]]
    """How far two runs of the same peer differ at most, by load and figure; ``None`` with too few rounds.

    Empty when no peer took part twice.
    """
    facts: Mapping[str, str]
    configurations: list[Configuration]
    rounds: Mapping[str, Any]
    discarded: Mapping[str, Any]
    """Measurements that do not count, by row and load."""
    ways: list[Sides] = field(default_factory=list)
    """Ways to run Python beside the classic table."""
    interrupted: bool = False
    """Whether the comparison ended before its time."""

    @classmethod
    def of(  # noqa: PLR0913 - all parts of a page
        cls,
        scenario: Scenario,
        rows: Sequence[Row],
        pace: Pace,
        seats: Seats,
        versions: Mapping[str, str],
        *,
        interrupted: bool = False,
    ) -> Page:
        """Makes the page of rows that are filled."""
        lines, noises = [], {}
        for load in scenario.loads:
            beside = Beside.of(rows, load, scenario)
            if beside.noise is not None:
                noises[load.name] = beside.noises(scenario.figures)
            under = [beside.line(row, versions[row.peer.key]) for row in rows if row.takes(load)]
            lines += sorted(under, key=lambda each: -each.rate)
        facts = {
            "date": time.strftime("%Y-%m-%d", time.gmtime()),
            **machine.facts(),
            "CPUs": f"{len(seats.server)} for servers, {len(seats.load)} for the load",
            "rounds": str(pace),
        }
        rounds = {row.name: {load: by_round(shots) for load, shots in row.shots.items()} for row in rows}
        discarded = {
            row.name: {load: [without_count(each) for each in found] for load, found in row.discarded.items()}
            for row in rows
        }
        ways = sides_of(scenario, rows)
        told = (configurations(rows), rounds, discarded, ways)
        return cls(scenario, lines, noises, facts, *told, interrupted=interrupted)

    def as_json(self) -> dict[str, Any]:
        """Returns the page for programs, with every report of every round."""
        scenario = asdict(self.scenario) | {"allowed": sorted(self.scenario.allowed)}
        return {
            "schema": "adyton-compare/1",
            "scenario": scenario,
            "facts": self.facts,
            "noise": {load: finite(dict(noises)) for load, noises in self.noise.items()},
            "lines": [finite(asdict(each)) for each in self.lines],
            "ways": [asdict(each) for each in self.ways],
            "configurations": [asdict(each) for each in self.configurations],
            "rounds": self.rounds,
            "discarded": self.discarded,
            "interrupted": self.interrupted,
        }


def configurations(rows: Sequence[Row]) -> list[Configuration]:
    """Returns the configuration files of all rows; a file that several peers have is listed once."""
    found: dict[tuple[str, str], list[str]] = {}
    for peer in {row.peer.key: row.peer for row in rows}.values():
        for file in peer.configuration().items():
            found.setdefault(file, []).append(peer.name)
    return [Configuration(file, text, names) for (file, text), names in found.items()]


def by_round(shots: Mapping[int, Shot]) -> dict[int, dict[str, Any]]:
    """Returns shots in a form for JSON, which has no infinity."""
    return {number: finite(asdict(shot)) for number, shot in shots.items()}


def without_count(each: Discarded) -> dict[str, Any]:
    """Returns a measurement that does not count, in a form for JSON."""
    return {"round": each.round, "why": each.why, "shot": finite(asdict(each.shot))}


def finite(table: dict[str, Any]) -> dict[str, Any]:
    """Returns a table in which a text replaces each infinite number."""

    def told(value: Any) -> Any:  # noqa: ANN401 - a table of any values
        if isinstance(value, tuple | list):
            return [told(each) for each in value]
        return "never" if value == math.inf else value

    return {name: told(value) for name, value in table.items()}


@dataclass(frozen=True)
class Beside:
    """The rows with which all other rows under one load are compared."""

    scenario: Scenario
    load: Load
    ours: Row | None
    """The first row of the peer that takes part twice, if both of its rows are valid."""
    again: Row | None
    """The second row of that peer, if both are valid."""
    static: Row | None
    floor: Row | None

    @classmethod
    def of(cls, rows: Sequence[Row], load: Load, scenario: Scenario) -> Beside:
        """Finds these rows."""
        valid = [row for row in rows if row.is_valid(load)]
        again = next((row for row in valid if row.again), None)
        first = next((row for row in valid if again and row.peer is again.peer and not row.again), None)
        ours = first if first and again and first.size == again.size else None
        keyed = {row.peer.key: row for row in reversed(valid)}
        static, floor = keyed.get(scenario.of), keyed.get(FLOOR)
        return cls(scenario, load, ours, again if ours else None, static, floor)

    @cached_property
    def noise(self) -> float | None:
        """How far two runs of the same peer differ in the figure by which rows are compared."""
        return noise(*self.both(MEASURED[self.scenario.judged])) if self.ours else None

    def both(self, figure: Callable[[Shot], float | None]) -> list[dict[int, float]]:
        """Returns a figure of both rows of the peer that takes part twice, by round."""
        return [row.by_round(self.load, figure) for row in (self.ours, self.again) if row]

    def noises(self, figures: Sequence[str]) -> dict[str, float | None]:
        """Returns how far the two runs of the same peer differ, by figure; ``None`` with too few rounds."""
        return {title: self.noise_of(MEASURED[title]) for title in figures if title in MEASURED}

    def noise_of(self, figure: Callable[[Shot], float | None]) -> float | None:
        """Returns the noise of one figure."""
        first, second = self.both(figure)
        return noise(first, second) if len(ratios(second, first)) >= VALUES_MIN else None

    def line(self, row: Row, version: str) -> Line:
        """Returns one row, with its figures if it has any."""
        load = self.load
        bare = (row.name, load.name, version, row.peer.shown(row.size.words), row.why_not(load))
        if not row.is_valid(load):
            return Line(*bare, is_absent=load.name in row.absent)
        shots = list(row.shots[load.name].values())
        of_static = self.ratio(row, self.static, lambda shot: shot.rate)
        to_ours = self.to_ours(row)
        timed = [shot for shot in shots if shot.half or not load.half]
        slow = [shot.slow for shot in shots if shot.slow]
        p50, p99 = (middle_time(timed, name) for name in ("p50_us", "p99_us"))
        return Line(
            *bare,
            rounds=len(shots),
            rate=row.middle(load, lambda shot: shot.rate),
            is_least=any(shot.is_least for shot in shots),
            rate_interval=interval(list(row.rates(load).values())),
            of_thousand=None if of_static is None else 1000 * of_static,
            classic=self.scenario.classics.get(row.peer.key),
            to_ours=to_ours.ratio,
            to_ours_bound=to_ours.bound,
            verdict=to_ours.verdict,
            cpu_us=row.middle(load, lambda shot: shot.cpu_us),
            of_floor=self.ratio(row, self.floor, lambda shot: shot.cpu_us),
            p50_ms=p50.least if p50 else None,
            p50_is_least=p50 is not None and not p50.is_known,
            p99_ms=p99.least if p99 else None,
            p99_is_least=p99 is not None and not p99.is_known,
            errors=sum(shot.errors for shot in shots),
            due=sum(shot.due for shot in shots),
            answered_percent=row.middle(load, lambda shot: shot.answered_percent),
            memory_mib=middle(shots, lambda shot: shot.memory_mib),
            megabytes=row.middle(load, lambda shot: shot.megabytes),
            offered=row.middle(load, lambda shot: shot.offered),
            goodput=row.middle(load, lambda shot: shot.goodput),
            beside_rate=middle(shots, lambda shot: shot.beside_rate),
            recovered_s=middle(shots, lambda shot: shot.recovered_s),
            held_mib=middle(shots, lambda shot: shot.held_mib),
            slow_lost=total(slow, 0),
            slow_begun=total(slow, 1),
            start_ms=1000 * row.middle(load, lambda shot: shot.start_s),
            events=sum(len(shot.turns_s) for shot in shots),
            turn_s=middle(shots, lambda shot: shot.turn_s),
            is_of_cpus=row.peer.forks,
            unsteady=sum(not shot.is_steady for shot in shots),
            spoilt=row.why_spoilt(load),
        )

    def ratio(self, row: Row, to: Row | None, figure: Callable[[Shot], float]) -> float | None:
        """Returns the median ratio to another row, over rounds that both have; ``None`` without any."""
        values = ratios(row.by_round(self.load, figure), to.by_round(self.load, figure)) if to else []
        return median(values) if values else None

    def to_ours(self, row: Row) -> ToOurs:
        """Returns the ratio to our row, with its verdict."""
        if self.ours is None or self.ours is row or self.noise is None:
            return ToOurs()
        judged = self.scenario.judged
        shots = [*row.shots[self.load.name].values(), *self.ours.shots[self.load.name].values()]
        # At the limit of the load, the rate says nothing of the peer.
        if judged == "requests/s" and any(shot.is_least for shot in shots):
            return ToOurs()
        least, most = LEAST.get(judged, MEASURED[judged]), MOST.get(judged, MEASURED[judged])
        lows = ratios(row.by_round(self.load, least), self.ours.by_round(self.load, most))
        highs = ratios(row.by_round(self.load, most), self.ours.by_round(self.load, least))
        return ToOurs.between(lows, highs, self.noise) if lows and highs else ToOurs()


@dataclass(frozen=True)
class ToOurs:
    """A row beside the peer that takes part twice."""

    ratio: tuple[float, float, float] | None = None
    """The median, and its interval."""
    bound: str = ""
    """See :attr:`Line.to_ours_bound`."""
    verdict: str = ""

    @classmethod
    def between(cls, lows: Sequence[float], highs: Sequence[float], noise: float) -> ToOurs:
        """Compares the rows by the bounds of each round's ratio, which are equal if the times are known."""
        low, high = median(lows), median(highs)
        says = verdict_between(lows, highs, noise)
        within = interval(lows)[0], interval(highs)[1]
        if low == high:
            return cls((low, *within), "", says)
        # The true median may be far from a bound, so a small ratio does not mean that there is no difference.
        says = NOT_KNOWN if says == NO_DIFFERENCE else says
        if low > 0:
            return cls((low, *within), ">", says)
        return cls((high, *within), "<", says) if high < math.inf else cls(verdict=NOT_KNOWN)


def middle(shots: Sequence[Shot], figure: Callable[[Shot], float | None]) -> float | None:
    """Returns the median of a figure that some rounds may lack; ``None`` if all lack it."""
    values = [value for shot in shots if (value := figure(shot)) is not None]
    return median(values) if values else None


def total(pairs: Sequence[tuple[int, int]], place: int) -> int | None:
    """Returns the sum of the items at ``place`` in pairs; ``None`` without pairs."""
    return sum(pair[place] for pair in pairs) if pairs else None


def middle_time(shots: Sequence[Shot], name: str) -> Time | None:
    """Returns the median of a percentile in milliseconds: a time, or bounds if it depends on bounds."""
    times = [shot.percentile_ms(name) for shot in shots]
    return Time(median(time.least for time in times), median(time.most for time in times)) if times else None


def to_ours_text(each: Line) -> str:
    """Returns the ratio with its interval, or the verdict if the ratio shows no difference."""
    if each.to_ours is None:
        return each.verdict
    ratio, low, high = (number(value, ".2f") for value in each.to_ours)
    if each.verdict in (NO_DIFFERENCE, NOT_KNOWN):
        return f"{each.verdict} ({low}..{high})"
    ratio = bounded(each.to_ours_bound, ratio)
    if each.verdict == FEW:
        return f"{ratio} ({each.verdict})"
    return f"{ratio} ({low}..{high})"


def number(value: float | None, form: str) -> str:
    """Returns a number as text; empty without a number."""
    return "" if value is None else "never" if value == math.inf else format(value, form)


def bounded(sign: str, shown: str) -> str:
    """Returns a number with the sign of a bound before it, if it is a bound."""
    return f"{sign} {shown}" if sign else shown


def at_least(value: float | None, *, is_least: bool) -> str:
    """Returns a time as text, with ``>`` before it if it is a lower bound."""
    return bounded(">" if is_least else "", number(value, ".2f"))


FIGURES: dict[str, Callable[[Line], str]] = {
    "requests/s": lambda each: bounded(">" if each.is_least else "", f"{each.rate:,.0f}"),
    "between": lambda each: f"{each.rate_interval[0]:,.0f}..{each.rate_interval[1]:,.0f}",
    "rounds": lambda each: str(each.rounds),
    "of 1000": lambda each: number(each.of_thousand, ".0f"),
    "classic": lambda each: number(each.classic, "d"),
    "CPU us": lambda each: f"{each.cpu_us:.1f}",
    "x floor": lambda each: number(each.of_floor, ".2f"),
    "p50 ms": lambda each: at_least(each.p50_ms, is_least=each.p50_is_least),
    "p99 ms": lambda each: at_least(each.p99_ms, is_least=each.p99_is_least),
    "errors": lambda each: f"{each.errors:,} of {each.due:,}" if each.errors else "0",
    "answered %": lambda each: f"{each.answered_percent:.1f}",
    "MiB": lambda each: number(each.memory_mib, ".1f"),
    "MB/s": lambda each: f"{each.megabytes:.1f}",
    "offered/s": lambda each: f"{each.offered:,.0f}",
    "goodput/s": lambda each: f"{each.goodput:,.0f}",
    "beside/s": lambda each: number(each.beside_rate, ",.0f"),
    "recovers s": lambda each: number(each.recovered_s, ".2f"),
    "MiB held": lambda each: number(each.held_mib, ".1f"),
    "cut off": lambda each: f"{each.slow_lost:,} of {each.slow_begun:,}" if each.slow_begun else "",
    "start ms": lambda each: f"{each.start_ms:.0f}",
    "events": lambda each: str(each.events) if each.events else "",
    "turn s": lambda each: number(each.turn_s, ".2f"),
    "beside ours": to_ours_text,
}
"""Text of each column for a line, by the column's title."""


def known(time: Time) -> float | None:
    """Returns a time if it is known exactly; ``None`` if only bounds are known."""
    return time.least if time.is_known else None


MEASURED: dict[str, Callable[[Shot], float | None]] = {
    "requests/s": lambda shot: shot.rate,
    "CPU us": lambda shot: shot.cpu_us,
    "p50 ms": lambda shot: known(shot.percentile_ms("p50_us")),
    "p99 ms": lambda shot: known(shot.percentile_ms("p99_us")),
    "answered %": lambda shot: shot.answered_percent,
    "MiB": lambda shot: shot.memory_mib,
    "MB/s": lambda shot: shot.megabytes,
    "goodput/s": lambda shot: shot.goodput,
    "beside/s": lambda shot: shot.beside_rate,
    "MiB held": lambda shot: shot.held_mib,
    "start ms": lambda shot: 1000 * shot.start_s,
    "turn s": lambda shot: shot.turn_s,
}
"""Figures for which the page says how far two runs of the same peer differ."""
LEAST: dict[str, Callable[[Shot], float | None]] = {
    "p50 ms": lambda shot: shot.percentile_ms("p50_us").least,
    "p99 ms": lambda shot: shot.percentile_ms("p99_us").least,
}
MOST: dict[str, Callable[[Shot], float | None]] = {
    "p50 ms": lambda shot: shot.percentile_ms("p50_us").most,
    "p99 ms": lambda shot: shot.percentile_ms("p99_us").most,
}
"""Upper bounds of the figures that may be known only by bounds; the lower bounds are in ``LEAST``."""


@dataclass(frozen=True)
class Table:
    """Rows of text: the first cell of each is a name."""

    title: str
    head: list[str]
    rows: list[list[str]]
    note: str = ""
    """Text below the table: how far two runs of the same peer differ, or which rows the figures are from."""
    first: str = SERVER
    """Head of the column of names."""


def tables(page: Page) -> list[Table]:
    """Returns one table with a column for each figure; with several loads, one table for each figure."""
    figures, loads = page.scenario.figures, page.scenario.loads
    if len(loads) == 1:
        rows = [[each.name, *cells(each, figures)] for each in page.lines]
        of_peers = Table("", list(figures), rows, noise_text(page.noise.get(loads[0].name, {})))
        return [of_peers, *tables_of_ways(page.ways)]
    by_group: dict[str, list[Load]] = {}
    for load in loads:
        by_group.setdefault(load.group, []).append(load)
    return [table(page, figure, those) for those in by_group.values() for figure in figures]


def table(page: Page, figure: str, loads: Sequence[Load]) -> Table:
    """Returns the table of one figure under some loads."""
    heads = {load.name: load.head for load in loads}
    by_name: dict[str, dict[str, Line]] = {}
    for each in page.lines:
        if each.load in heads:
            by_name.setdefault(each.name, {})[each.load] = each
    rows = [[name, *across(lines, list(heads), figure)] for name, lines in by_name.items()]
    differ = {
        heads[load]: noises[figure]
        for load, noises in page.noise.items()
        if load in heads and figure in noises
    }
    title = f"{loads[0].group}: {figure}" if loads[0].group else figure
    return Table(title, list(heads.values()), rows, noise_text(differ))


WAYS_TITLE = "Ways to run Python"
WAYS: dict[str, Callable[[Side], str]] = {
    "errors": lambda side: f"{side.errors:,} of {side.due:,}" if side.errors else "0",
    "of 1000": lambda side: number(side.of_thousand, ".0f"),
    "per CPU s": lambda side: f"{side.per_cpu_s:,.0f}",
    "per CPU s, of 1000": lambda side: number(side.per_cpu_s_of_thousand, ".0f"),
}
"""Columns of the table of ways; each is there twice, once for each server."""


def tables_of_ways(ways: Sequence[Sides]) -> list[Table]:
    """Returns the table of ways, with the figures of the classic table; no table without ways."""
    if not ways:
        return []
    head = [f"{server}: {title}" for title in WAYS for server in ("Adyton", "Apache")]
    rows = [[each.way, number(each.classic, "d"), *cells_of_sides(each)] for each in ways]
    names = {side.name: None for each in ways for side in (each.ours, each.theirs) if side}
    note = f"These figures are those of the following rows of the table above: {'; '.join(names)}."
    return [Table(WAYS_TITLE, ["classic", *head], rows, note, first="way")]


def cells_of_sides(each: Sides) -> list[str]:
    """Returns the figures of both servers, in turn: INVALID if wrong, empty if a server took no part."""
    found = []
    for place, figure in enumerate(WAYS.values()):
        for side in (each.ours, each.theirs):
            if side and side.problems:
                found.append("" if place else "INVALID")
            else:
                found.append(figure(side) if side else "")
    return found


def noise_text(differ: Mapping[str, float | None]) -> str:
    """Says for each column how far two runs of the same server differ."""
    if not differ:
        return ""
    known = [
        f"{title} {'without end' if value == math.inf else f'{value:.1%}'}"
        for title, value in differ.items()
        if value is not None
    ]
    if not known:
        return f"How far two runs of the same server differ is unknown: fewer than {VALUES_MIN} rounds."
    return f"Two runs of the same server differ by up to: {', '.join(known)}; less is no difference."


def cells(each: Line, figures: Sequence[str]) -> list[str]:
    """Returns the figures of a row as text; a row without figures has INVALID, or absent, as the first."""
    if each.problems:
        return ["absent" if each.is_absent else "INVALID", *[""] * (len(figures) - 1)]
    return [FIGURES[figure](each) for figure in figures]


def across(lines: Mapping[str, Line], loads: Sequence[str], figure: str) -> list[str]:
    """Returns one figure of a row under each load; empty for loads in which the peer took no part."""
    return ["".join(cells(lines[load], [figure])) if load in lines else "" for load in loads]


def text(page: Page) -> str:
    """Returns the page for a terminal."""
    out = [f"{page.scenario.name}: {page.scenario.question}", ""]
    for each in tables(page):
        rows = [[each.title, *each.head], *each.rows]
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        for row in rows:
            first, *others = [
                cell.ljust(width) if column == 0 else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            out.append("  ".join([first, *others]).rstrip())
        out += [*textwrap.wrap(each.note, WIDTH), ""]
    out += [*notes(page), "", textwrap.fill(page.scenario.classic, WIDTH), ""]
    out += [f"{name} {version}: {command}" for name, version, command in commands(page)]
    out.append("")
    return "\n".join(out)


def notes(page: Page) -> list[str]:
    """Returns the text below the tables."""
    out = []
    if page.interrupted:
        out.append("It was interrupted: the figures are from the rounds until then; the last is incomplete.")
    if any(load.half for load in page.scenario.loads):
        out.append("Times are measured at half of the rate, from the moment when a request was due.")
    if page.scenario.judged != "requests/s":
        out.append(f"`beside ours` is the ratio of `{page.scenario.judged}`.")
    if "x floor" in page.scenario.figures and all(each.of_floor is None for each in page.lines):
        out.append(
            "`x floor` is empty: the floor took no part, or has no figures. The floor needs a C compiler."
        )
    out += notes_of_bounds(page.lines)
    unseen = dict.fromkeys(each.name for each in page.lines if each.is_of_cpus)
    if unseen and "CPU us" in page.scenario.figures:
        out.append(
            f"CPU us of {'; '.join(unseen)} is the time for which the CPUs of the server were busy: the time "
            "of processes that have ended is unknown there. It is too little if the load has the same CPUs."
        )
    unsteady = dict.fromkeys(each.name for each in page.lines if each.unsteady)
    if unsteady:
        out.append(f"Measured although two rates in a row differed by over 5 %: {'; '.join(unsteady)}.")
    out += notes_of_absence(page.lines)
    out += [
        f"{label(each)}: {problem}" for each in page.lines if not each.is_absent for problem in each.problems
    ]
    for each in page.lines:
        if each.spoilt:
            counted = f"{len(each.spoilt)} measurement{'s' * (len(each.spoilt) > 1)} did not count"
            out.append(f"{label(each)}: {counted}, the first because {each.spoilt[0]}.")
    return list(dict.fromkeys(out))


def notes_of_absence(lines: Sequence[Line]) -> list[str]:
    """Says which packages are not installed, and which rows lack them; each package is named once."""
    rows: dict[str, dict[str, None]] = {}
    for each in lines:
        if each.is_absent:
            rows.setdefault(each.problems[0], {})[each.name] = None
    return [f"absent of {'; '.join(names)}: {why}." for why, names in rows.items()]


def notes_of_bounds(lines: Sequence[Line]) -> list[str]:
    """Explains the signs before figures."""
    out = []
    if any(each.is_least for each in lines):
        out.append("A rate with > is a lower bound: the load was at its own limit, and the peer was not.")
    if any(each.p50_is_least or each.p99_is_least for each in lines):
        out.append("A time with > is a lower bound: requests that decide it had no answer yet at the end.")
    return out


def commands(page: Page) -> list[tuple[str, str, str]]:
    """Returns the rows with their versions and command lines, each once."""
    return list(dict.fromkeys((each.name, each.version, each.command) for each in page.lines))


def label(each: Line) -> str:
    """The row and the load that a note is about."""
    return f"{each.name}, {each.load}" if each.load else each.name


def markdown(page: Page) -> str:
    """Returns the page as Markdown."""
    versions = {each.name: each.version for each in page.lines}
    out = [f"# {page.scenario.name}", "", page.scenario.question, ""]
    out += [f"- {name}: {fact}" for name, fact in page.facts.items()]
    for each in tables(page):
        out += ["", f"## {each.title}"] if each.title else []
        firsts = (SERVER, "version") if each.first == SERVER else (each.first,)
        out += [
            "",
            f"| {' | '.join((*firsts, *each.head))} |",
            "|" + " --- |" * len(firsts) + " ---: |" * len(each.head),
        ]
        for name, *figures in each.rows:
            names = (name, versions[name]) if each.first == SERVER else (name,)
            out.append(f"| {' | '.join((*names, *figures))} |")
        out += ["", each.note] if each.note else []
    out += ["", *[f"{note}\n" for note in notes(page)], page.scenario.classic, "", "## Command lines", ""]
    out += [f"- {name} {version}: `{command}`" for name, version, command in commands(page)]
    out += ["", "## Configurations"] if page.configurations else []
    for told in page.configurations:
        out += ["", f"`{told.file}` of {'; '.join(told.peers)}:", "", "```", told.text.rstrip("\n"), "```"]
    return "\n".join(out) + "\n"
