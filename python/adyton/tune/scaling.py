"""The Universal Scalability Law: how the rate grows with the number of requests under way."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

POINTS_MIN = 4
"""Fewest loads for a fit: three coefficients fit any three points."""
SINGULAR = 1e-12
"""If elimination leaves less than this part of an equation, the equation depends on the others."""


@dataclass(frozen=True)
class Law:
    """``rate(n) = alone * n / (1 + contention * (n - 1) + coherency * n * (n - 1))`` (Gunther 1993)."""

    alone: float
    """Requests a second with one under way."""
    contention: float
    """The part of the work in which only one request at a time gets on."""
    coherency: float
    """Cost that each request causes for every other request."""

    def rate(self, load: float) -> float:
        """Returns the requests a second with ``load`` of them under way."""
        return self.alone * load / (1 + self.contention * (load - 1) + self.coherency * load * (load - 1))

    @property
    def peak(self) -> float:
        """The load beyond which a higher load lowers the rate; infinite if there is none."""
        if self.coherency <= 0:
            return math.inf
        return math.sqrt(max(0.0, 1 - self.contention) / self.coherency)


def fit(points: Sequence[tuple[float, float]]) -> Law | None:
    """Fits the law to pairs of load and rate, with the least relative errors and no coefficient below zero.

    ``load / rate`` is linear in the three coefficients. Returns None with too few loads, or a rate of zero.
    """
    usable = [(load, rate) for load, rate in points if rate > 0]
    if len({load for load, _ in usable}) < POINTS_MIN:
        return None
    rows = [((1.0, load - 1, load * (load - 1)), load / rate) for load, rate in usable]
    # Each choice of coefficients that are zero is tried: there are four.
    fits = [solve(rows, (0, *others)) for count in range(3) for others in combinations((1, 2), count)]
    sound = [(error, values) for error, values in filter(None, fits) if min(values) >= 0 and values[0] > 0]
    if not sound:
        return None
    _, (first, second, third) = min(sound)
    return Law(1 / first, second / first, third / first)


def solve(
    rows: Sequence[tuple[tuple[float, ...], float]], columns: tuple[int, ...]
) -> tuple[float, tuple[float, ...]] | None:
    """Returns the squared relative error and the coefficients; coefficients outside ``columns`` are zero."""
    scaled = [([values[column] / target for column in columns], 1.0) for values, target in rows]
    size = len(columns)
    matrix = [
        [sum(row[i] * row[j] for row, _ in scaled) for j in range(size)] + [sum(row[i] for row, _ in scaled)]
        for i in range(size)
    ]
    found = eliminate(matrix)
    if found is None:
        return None
    error = sum(
        (sum(value * part for value, part in zip(row, found, strict=True)) - 1) ** 2 for row, _ in scaled
    )
    values = [0.0, 0.0, 0.0]
    for column, value in zip(columns, found, strict=True):
        values[column] = value
    return error, tuple(values)


def eliminate(matrix: list[list[float]]) -> list[float] | None:
    """Solves normal equations by elimination; None when they have no single solution.

    The matrix of normal equations is symmetric and positive semidefinite, so elimination needs no pivoting.
    """
    size = len(matrix)
    before = [matrix[row][row] for row in range(size)]
    for column in range(size):
        if matrix[column][column] <= SINGULAR * before[column]:
            return None
        for row in range(size):
            if row != column:
                factor = matrix[row][column] / matrix[column][column]
                matrix[row] = [
                    value - factor * other for value, other in zip(matrix[row], matrix[column], strict=True)
                ]
    return [matrix[row][size] / matrix[row][row] for row in range(size)]
