"""Rates and times agree with those of wrk, a load generator of other people.

The pages wait, so that the server sets the pace on any machine; how fast both are where nothing waits depends
on who else wants the CPU.
"""

from __future__ import annotations

import re
import subprocess
from statistics import median
from typing import TYPE_CHECKING

import pytest

from bench.runs import APPLICATION, bench, wrong

if TYPE_CHECKING:
    from support.server import Servers

CONNECTIONS = 8
ROUNDS = 3
ATTEMPTS = 5
"""On a busy machine a minute may favour one of them; what agrees once is no chance in four figures."""

BOUNDS = {"rate": 1.25, "p50_us": 1.25, "p90_us": 1.25, "p99_us": 1.5}
"""How many times as much the larger of two medians may be. The last hundredth is partly the machine's."""

UNITS_US = {"us": 1.0, "ms": 1e3, "s": 1e6}


def by_wrk(url: str) -> dict[str, float]:
    """Return what wrk measures in a second."""
    command = ("wrk", "-t", "1", "-c", str(CONNECTIONS), "-d", "1s", "--latency", url)
    text = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    [rate] = re.findall(r"Requests/sec: +([\d.]+)", text)
    times = re.findall(r"^ +(50|90|99)% +([\d.]+)(us|ms|s)$", text, re.MULTILINE)

    assert "Non-2xx" not in text
    return {"rate": float(rate)} | {
        f"p{percent}_us": float(number) * UNITS_US[unit] for percent, number, unit in times
    }


def by_us(url: str) -> dict[str, float]:
    """Return what `adyton bench` measures in a second, its gates aside."""
    report = bench(url, "-c", str(CONNECTIONS), "-d", "1s", "--warm-up", "0")

    assert 0 == wrong(report)
    return {"rate": report["rate"]} | {
        name: report["service"][name] for name in ("p50_us", "p90_us", "p99_us")
    }


def disagreements(url: str) -> dict[str, tuple[float, float]]:
    """Measure in turns; return the medians that are too far apart."""
    rounds = [(by_wrk(url), by_us(url)) for _ in range(ROUNDS)]
    found = {}
    for name, bound in BOUNDS.items():
        theirs, ours = (median(measured[name] for measured in side) for side in zip(*rounds, strict=True))
        if max(theirs, ours) > bound * min(theirs, ours):
            found[name] = (theirs, ours)
    return found


@pytest.mark.parametrize("path", ["/sleep", "/uneven"])
def test_agrees_with_wrk(serve: Servers, path: str) -> None:
    """Of an honest server both say the same, whether its times are alike or spread over a factor of ten."""
    url = f"http://127.0.0.1:{serve(APPLICATION).port}{path}"
    found: list[dict[str, tuple[float, float]]] = []
    for _ in range(ATTEMPTS):
        found.append(disagreements(url))
        if not found[-1]:
            return

    pytest.fail(f"{path}: medians of wrk and ours, in {ATTEMPTS} attempts: {found}")
