"""The Universal Scalability Law is found in rates that follow it."""

from __future__ import annotations

import math
import random

import pytest
from adyton.tune.scaling import Law, eliminate, fit

LOADS = (1, 2, 4, 8, 16, 32, 64, 128)


@pytest.mark.parametrize(
    "law", [Law(1000, 0.05, 0.0005), Law(200, 0.0, 0.0), Law(50, 0.3, 0.0), Law(900, 0.0, 0.001)]
)
def test_found_again(law: Law) -> None:
    """From exact rates, the coefficients that made them must be found again."""
    found = fit([(load, law.rate(load)) for load in LOADS])

    assert found is not None
    assert found.alone == pytest.approx(law.alone)
    assert found.contention == pytest.approx(law.contention, abs=1e-6)
    assert found.coherency == pytest.approx(law.coherency, abs=1e-8)


def test_noise() -> None:
    """Noise of a few percent moves the peak by less than a third."""
    law, dice = Law(1000, 0.02, 0.0004), random.Random(7)
    found = fit([(load, law.rate(load) * dice.uniform(0.97, 1.03)) for load in LOADS])

    assert found is not None
    assert abs(found.peak / law.peak - 1) < 0.33
    assert all(value >= 0 for value in (found.alone, found.contention, found.coherency))


def test_faster_than_linear() -> None:
    """For rates that no law gives, the nearest law must be found, with no coefficient below zero."""
    found = fit([(load, load**1.2) for load in LOADS])

    assert found is not None
    assert (0, 0) == (found.contention, found.coherency)
    assert math.isinf(found.peak)


def test_too_little() -> None:
    """With three points, or without rates, there is no law."""
    assert fit([(1, 10), (2, 19), (4, 35)]) is None
    assert fit([(load, 0) for load in LOADS]) is None


@pytest.mark.parametrize("loads", [(1, 1, 1, 1), (4, 4, 4, 4), (1, 4, 1, 4, 1, 4), (2, 4, 8, 8, 8)])
def test_same_loads(loads: tuple[int, ...]) -> None:
    """Measurements at fewer than four loads give no law, however many there are."""
    assert fit([(load, 100 + index) for index, load in enumerate(loads)]) is None


@pytest.mark.parametrize("matrix", [[[0, 0]], [[1, 1, 1], [1, 1, 1]], [[4, 6, 1], [6, 9, 2]]])
def test_no_single_solution(matrix: list[list[float]]) -> None:
    """Equations that say the same, or nothing, have no single solution."""
    assert eliminate(matrix) is None
