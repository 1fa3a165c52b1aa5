"""Rates and times agree with those of wrk, h2load and oha, load generators of other people.

The server waits before each answer, so that it sets the pace on any machine. Without the waits, the speed of
the generators would depend on who else wants the CPU. oha, which Debian does not package, is compared if it
is installed.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from statistics import median
from typing import TYPE_CHECKING

import pytest

from bench.runs import bench, liar, wrong

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CONNECTIONS = "8"
SECONDS = 2
ROUNDS, ROUNDS_MAX = 5, 15
"""Rounds of each generator, at first and at most: a busy machine disturbs few rounds, and the median counts.

If the generators do not agree after the first rounds, there are more, up to the maximum.
"""

BOUNDS = {"rate": 1.08, "p50_us": 1.08, "p90_us": 1.08, "p99_us": 1.2}
"""Factors by which our median may exceed the largest of the others, or the smallest of them may exceed ours.

The slowest hundredth depends partly on the machine.
"""

UNITS_US = {"us": 1.0, "ms": 1e3, "s": 1e6}
PERCENTS = (50, 90, 99)


def by_wrk(url: str, _file: Path) -> dict[str, float]:
    """Return what wrk measures."""
    command = ("wrk", "-t", "1", "-c", CONNECTIONS, "-d", f"{SECONDS}s", "--latency", url)
    text = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    [rate] = re.findall(r"Requests/sec: +([\d.]+)", text)
    times = re.findall(r"^ +(50|90|99)% +([\d.]+)(us|ms|s)$", text, re.MULTILINE)

    assert "Non-2xx" not in text
    return {"rate": float(rate)} | {
        f"p{percent}_us": float(number) * UNITS_US[unit] for percent, number, unit in times
    }


def by_h2load(url: str, file: Path) -> dict[str, float]:
    """Return what h2load measures: it writes a line for each request."""
    file.unlink(missing_ok=True)
    limits = ("-t", "1", "-c", CONNECTIONS, "-D", str(SECONDS))
    command = ("h2load", "--h1", *limits, "--log-file", str(file), url)
    text = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    [rate] = re.findall(r"finished in .*, ([\d.]+) req/s", text)
    rows = [line.split("\t") for line in file.read_text().splitlines()]
    times_us = sorted(int(time_us) for _, status, time_us in rows if status == "200")

    assert len(rows) == len(times_us)
    return {"rate": float(rate)} | {
        f"p{percent}_us": float(times_us[len(times_us) * percent // 100]) for percent in PERCENTS
    }


def by_oha(url: str, _file: Path) -> dict[str, float]:
    """Return what oha measures."""
    command = ("oha", "--no-tui", "--output-format", "json", "-c", CONNECTIONS, "-z", f"{SECONDS}s", url)
    text = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    report = json.loads(text)

    assert {"200"} == report["statusCodeDistribution"].keys()
    return {"rate": report["summary"]["requestsPerSec"]} | {
        f"p{percent}_us": 1e6 * report["latencyPercentiles"][f"p{percent}"] for percent in PERCENTS
    }


OTHERS: dict[str, Callable[[str, Path], dict[str, float]]] = {
    "wrk": by_wrk,
    "h2load": by_h2load,
    **({"oha": by_oha} if shutil.which("oha") else {}),
}


def by_us(url: str, _file: Path) -> dict[str, float]:
    """Return what `adyton bench` measures, even if its gates fail."""
    report = bench(url, "-c", CONNECTIONS, "-d", f"{SECONDS}s", "--warm-up", "0")

    assert 0 == wrong(report)
    return {"rate": report["rate"]} | {
        f"p{percent}_us": report["service"][f"p{percent}_us"] for percent in PERCENTS
    }


@pytest.mark.long
@pytest.mark.parametrize("kind", ["fixed", "uneven"])
def test_agrees_with_others(kind: str, tmp_path: Path) -> None:
    """Our figures must agree with those of other generators, for equal times and for times spread five-fold.

    If the others differ, as they do on a busy machine, our figure must be between theirs.
    """
    tools = {**OTHERS, "ours": by_us}
    rounds: list[dict[str, dict[str, float]]] = []
    with liar(kind) as url:
        while len(rounds) < ROUNDS or (differences(rounds) and len(rounds) < ROUNDS_MAX):
            rounds.append({name: tool(url, tmp_path / "log") for name, tool in tools.items()})

    assert {} == differences(rounds)


def differences(rounds: list[dict[str, dict[str, float]]]) -> dict[str, dict[str, float]]:
    """Return the medians of each figure in which our median is above all others, or below all others."""
    found = {}
    for figure, bound in BOUNDS.items():
        medians = {name: median(each[name][figure] for each in rounds) for name in rounds[0]}
        ours, others = medians["ours"], [medians[name] for name in OTHERS]
        if ours > bound * max(others) or min(others) > bound * ours:
            found[figure] = medians
    return found
