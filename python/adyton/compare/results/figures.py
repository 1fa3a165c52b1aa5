"""Medians, ratios, and intervals that say what is a difference and what is noise."""

from __future__ import annotations

import math
import random
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

VALUES_MIN = 6
"""With fewer no interval has the confidence: the median is outside of five values one time in sixteen."""
CONFIDENCE = 0.95
FEW, NO_DIFFERENCE, NOT_KNOWN = "too few rounds", "no difference", "not known"
"""Verdicts without a figure."""
DRAWS = 2_000
"""Samples that are drawn for an interval."""


def ratios(those: Mapping[int, float], to: Mapping[int, float]) -> list[float]:
    """Returns the ratio within each round that counts for both, so that a slow minute meets both."""
    return [
        # Where neither has an end, they are the same.
        1.0 if those[number] == to[number] else those[number] / to[number]
        for number in those
        if to.get(number, 0) > 0
    ]


def interval(values: Sequence[float], seed: int = 1) -> tuple[float, float]:
    """Returns bounds between which the median lies with 95 % confidence.

    They are those of the bootstrap or, where they are wider, the pair of values that has the median between
    them that often whatever the distribution is (sign test): with few values the bootstrap promises too much.
    With fewer than ``VALUES_MIN`` they are the smallest and the largest.
    """
    low, high = sure(values)
    if len(values) < VALUES_MIN:
        return low, high
    drawn = random.Random(seed)  # noqa: S311 - the same for the same values
    medians = sorted(median(drawn.choices(values, k=len(values))) for _ in range(DRAWS))
    return min(low, medians[DRAWS // 40]), max(high, medians[-(DRAWS // 40)])


def sure(values: Sequence[float]) -> tuple[float, float]:
    """Returns the innermost pair of values that has the median between it with the confidence, or all."""
    ordered, count = sorted(values), len(values)
    outside = 0.0
    for place in range((count + 1) // 2):
        # The probability that no more than ``place`` values lie on one side of the median.
        outside += 2 * math.comb(count, place) / 2**count
        if outside > 1 - CONFIDENCE:
            return ordered[max(0, place - 1)], ordered[-max(1, place)]
    return ordered[0], ordered[-1]


def is_known(values: Sequence[float], within: float) -> bool:
    """Tells whether the interval of the median reaches no further than that part of it, on average.

    To go on until it does takes a little of the interval's confidence, which it has whole only in the limit
    (Chow and Robbins, 1965).
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


def verdict_between(lows: Sequence[float], highs: Sequence[float], floor: float) -> str:
    """Says the same of ratios of which only bounds are known: what both bounds say."""
    said = {verdict(lows, floor), verdict(highs, floor)}
    return said.pop() if len(said) == 1 else NOT_KNOWN
