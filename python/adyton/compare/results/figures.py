"""Medians, ratios, and intervals that tell a difference from noise."""

from __future__ import annotations

import math
import random
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

VALUES_MIN = 6
"""Fewest values for an interval with 95 % confidence: five values miss the median one time in sixteen."""
CONFIDENCE = 0.95
FEW, NO_DIFFERENCE, NOT_KNOWN = "too few rounds", "no difference", "not known"
"""Verdicts without a figure."""
DRAWS = 2_000
"""Samples that are drawn for an interval."""


def ratios(those: Mapping[int, float], to: Mapping[int, float]) -> list[float]:
    """Returns the ratio within each round that counts for both peers, so that a slow minute affects both."""
    return [
        # If both are infinite, the ratio is 1.
        1.0 if those[number] == to[number] else those[number] / to[number]
        for number in those
        if to.get(number, 0) > 0
    ]


def interval(values: Sequence[float], seed: int = 1) -> tuple[float, float]:
    """Returns bounds between which the median lies with 95 % confidence.

    The wider of two intervals counts for each bound: the interval of the bootstrap, which is too narrow with
    few values, and the two values between which the median lies with this confidence in any distribution
    (sign test). With fewer than ``VALUES_MIN`` values, the bounds are the smallest and the largest value.
    """
    low, high = sure(values)
    if len(values) < VALUES_MIN:
        return low, high
    drawn = random.Random(seed)  # noqa: S311 - repeatable for equal values
    medians = sorted(median(drawn.choices(values, k=len(values))) for _ in range(DRAWS))
    return min(low, medians[DRAWS // 40]), max(high, medians[-(DRAWS // 40)])


def sure(values: Sequence[float]) -> tuple[float, float]:
    """Returns the innermost pair of values around the median with 95 % confidence, or the outermost."""
    ordered, count = sorted(values), len(values)
    outside = 0.0
    for place in range((count + 1) // 2):
        # The probability that at most ``place`` values lie on one of the sides of the median.
        outside += 2 * math.comb(count, place) / 2**count
        if outside > 1 - CONFIDENCE:
            return ordered[max(0, place - 1)], ordered[-max(1, place)]
    return ordered[0], ordered[-1]


def is_known(values: Sequence[float], within: float) -> bool:
    """Tells whether the median's bounds differ from the median, on average, by at most the part ``within``.

    A comparison that goes on until this is true loses a little of the interval's confidence: it is full only
    in the limit (Chow and Robbins, 1965).
    """
    if len(values) < VALUES_MIN:
        return False
    low, high = interval(values)
    return high - low <= 2 * within * median(values)


def noise(first: Mapping[int, float], second: Mapping[int, float]) -> float | None:
    """Returns the noise: how far the interval of the ratio of one peer to itself reaches; 0.03 is 3 percent.

    None without a round in which both rows have a figure.
    """
    values = ratios(second, first)
    if not values:
        return None
    low, high = interval(values)
    return max(high, 1 / low if low else math.inf) - 1


def verdict(values: Sequence[float], floor: float) -> str:
    """Says whether a ratio is a difference, if two runs of one peer differ by up to ``floor``."""
    if not values:
        return ""
    if len(values) < VALUES_MIN:
        return FEW
    low, high = interval(values)
    if low <= 1 + floor and high >= 1 / (1 + floor):
        return NO_DIFFERENCE
    return "more" if low > 1 else "less"


def verdict_between(lows: Sequence[float], highs: Sequence[float], floor: float) -> str:
    """Gives the verdict on ratios of which only bounds are known: the verdict on which both bounds agree."""
    said = {verdict(lows, floor), verdict(highs, floor)}
    return said.pop() if len(said) == 1 else NOT_KNOWN
