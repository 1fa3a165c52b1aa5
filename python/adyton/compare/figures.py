"""Medians, ratios, and intervals that say what is a difference and what is noise."""

from __future__ import annotations

import random
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

VALUES_MIN = 5
"""With fewer there is nothing to draw from."""
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


def noise(first: Mapping[int, float], second: Mapping[int, float]) -> float | None:
    """Returns how far two runs of the same thing differ at most: 0.03 is three percent; none without any."""
    return max((max(ratio, 1 / ratio) - 1 for ratio in ratios(second, first)), default=None)


def verdict(values: Sequence[float], floor: float) -> str:
    """Says whether a ratio is a difference, where two runs of the same thing differ by ``floor``."""
    if not values:
        return ""
    low, high = interval(values)
    if low <= 1 + floor and high >= 1 / (1 + floor):
        return "no difference"
    return "more" if low > 1 else "less"
