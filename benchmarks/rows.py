"""What a case is and what comes out of it: the same shape for load, memory and start."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from servers import Spec


@dataclass(frozen=True)
class Run:
    """What the command line says, and the folder for everything that must be gone afterwards."""

    rounds: int
    secs: int
    work: Path


@dataclass
class Row:
    """One server in one case: its figures round by round, or why there are none."""

    spec: Spec
    rounds: list[dict[str, float]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def median(self, key: str) -> float | None:
        """Returns the median of a figure; None if anything went wrong: an invalid row has no figures."""
        values = self.values(key)
        return statistics.median(values) if values else None

    def values(self, key: str) -> list[float]:
        """Returns a figure of each round; nothing if anything went wrong, or if nobody measured it."""
        return [] if self.errors else [figures[key] for figures in self.rounds if key in figures]

    def fail(self, reason: object) -> None:
        """Makes the row invalid; the same reason in every round is said once."""
        text = str(reason) or type(reason).__name__
        if text not in self.errors:
            self.errors.append(text)


@dataclass(frozen=True)
class Column:
    """A figure of a row as a table shows it."""

    key: str
    heading: str
    decimals: int
    spread: bool = False
    """Show the smallest and the largest of the rounds too."""


@dataclass(frozen=True)
class Case:
    """Something to measure: several servers, side by side."""

    name: str
    title: str
    note: str
    columns: tuple[Column, ...]
    measure: Callable[[Run], list[Row]]
