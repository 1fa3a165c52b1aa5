"""Medians, ratios, and intervals that say what is a difference and what is noise."""

from __future__ import annotations

import math
import random
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

VALUES_MIN = 5
"""With fewer there is nothing to draw from."""
FEW, NO_DIFFERENCE = "too few rounds", "no difference"
"""What is said where there is nothing more to say."""
DRAWS = 2_000
"""Samples that are drawn for an interval."""


def ratios(those: Mapping[int, float], to: Mapping[int, float]) -> list[float]:
    """Returns the ratio within each round that counts for both, so that a slow minute meets both."""
    return [those[number] / to[number] for number in those if to.get(number, 0) > 0]


def interval(values: Sequence[float], seed: int = 1) -> tuple[float, float]:
    """Returns bounds between which the median lies with 95 % confidence (bootstrap).

    With few values these are the smallest and the largest.
    """
    if len(values) < VALUES_MIN:
        return min(values), max(values)
    drawn = random.Random(seed)  # noqa: S311 - the same for the same values
    medians = sorted(median(drawn.choices(values, k=len(values))) for _ in range(DRAWS))
    return medians[DRAWS // 40], medians[-(DRAWS // 40)]


def is_known(values: Sequence[float], within: float) -> bool:
    """Tells whether the interval of the median reaches no further than that part of it, on average.

    To go on until it does leaves the interval its confidence (Chow and Robbins, 1965).
    """
    if len(values) < VALUES_MIN:
        return False
    low, high = interval(values)
    return high - low <= 2 * within * median(values)


def noise(first: Mapping[int, float], second: Mapping[int, float]) -> float | None:
    """Returns how far the interval of the ratio of the same thing to itself reaches: 0.03 is three percent.

    None without a round that both have.
    """
    values = ratios(second, first)
    if not values:
        return None
    low, high = interval(values)
    return max(high, 1 / low if low else math.inf) - 1


def verdict(values: Sequence[float], floor: float) -> str:
    """Says whether a ratio is a difference, where two runs of the same thing differ by ``floor``."""
    if not values:
        return ""
    if len(values) < VALUES_MIN:
        return FEW
    low, high = interval(values)
    if low <= 1 + floor and high >= 1 / (1 + floor):
        return NO_DIFFERENCE
    return "more" if low > 1 else "less"
