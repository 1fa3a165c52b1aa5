"""Ways to run Python, beside the classic table; the rate of each server's own static files counts as 1000."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING

from adyton.compare.results.figures import ratios

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from adyton.compare.results.rows import Row, Shot
    from adyton.compare.scenarios import Load, Scenario, Way

MICROSECONDS = 1e6
THOUSAND = 1000
"""The rate of a server's static files, to which its other rates are scaled."""


@dataclass(frozen=True)
class Side:
    """One server's figures for a way."""

    name: str
    """Name of the row."""
    problems: list[str] = field(default_factory=list)
    """Why there are no figures; empty when there are."""
    errors: int = 0
    due: int = 0
    """Requests that were due; the errors are among them."""
    of_thousand: float | None = None
    """The rate, scaled so that the server's own static files have 1000; ``None`` without static files."""
    per_cpu_s: float = 0.0
    """Right answers for each second of CPU time that all processes of the server used."""
    per_cpu_s_of_thousand: float | None = None
    """``per_cpu_s``, scaled so that the server's own static files have 1000."""

    @classmethod
    def of(cls, row: Row, static: Row | None, load: Load) -> Side:
        """Makes the side from a row, and from the row of the same server's static files."""
        if not row.is_valid(load):
            return cls(row.name, row.why_not(load))
        shots = list(row.shots[load.name].values())
        return cls(
            row.name,
            errors=sum(shot.errors for shot in shots),
            due=sum(shot.due for shot in shots),
            of_thousand=of_thousand(row, static, load, lambda shot: shot.rate),
            per_cpu_s=row.middle(load, per_cpu_s),
            per_cpu_s_of_thousand=of_thousand(row, static, load, per_cpu_s),
        )


@dataclass(frozen=True)
class Sides:
    """A way, with the figures of two servers and of the classic table."""

    way: str
    ours: Side | None
    """The figures of Adyton; ``None`` if none of its peers for this way took part."""
    theirs: Side | None
    classic: int | None


def per_cpu_s(shot: Shot) -> float:
    """Returns how many right answers the server gives for a second of its CPU time."""
    return MICROSECONDS / shot.cpu_us if shot.cpu_us else 0.0


def of_thousand(row: Row, static: Row | None, load: Load, figure: Callable[[Shot], float]) -> float | None:
    """Returns a figure, scaled so that static files have 1000: the median of the ratios within each round."""
    if static is None or not static.is_valid(load):
        return None
    values = ratios(row.by_round(load, figure), static.by_round(load, figure))
    return THOUSAND * median(values) if values else None


def sides_of(scenario: Scenario, rows: Sequence[Row]) -> list[Sides]:
    """Returns the ways in which some peer took part, scaled to the static files of each server."""
    if not scenario.ways:
        return []
    [load] = scenario.loads
    keyed = {row.peer.key: row for row in reversed(rows) if row.takes(load)}

    def row_of(keys: Iterable[str]) -> Row | None:
        there = [keyed[key] for key in keys if key in keyed]
        return next((row for row in there if row.is_valid(load)), there[0] if there else None)

    static = scenario.ways[-1]
    ours, theirs = row_of(static.ours), row_of(static.theirs)

    def sides(way: Way) -> Sides:
        one, other = row_of(way.ours), row_of(way.theirs)
        return Sides(
            way.name,
            Side.of(one, ours, load) if one else None,
            Side.of(other, theirs, load) if other else None,
            next((scenario.classics[key] for key in way.theirs if key in scenario.classics), None),
        )

    return [each for each in map(sides, scenario.ways) if each.ours or each.theirs]
