"""A report whose figures are known, and its output forms: the load of the machine does not matter."""

from __future__ import annotations

import functools
import json
import subprocess
from typing import TYPE_CHECKING, Any

from bench.schema import faults
from gate.setup import CACHE, ROOT, UNOPTIMISED

if TYPE_CHECKING:
    from pathlib import Path

FIELDS = ("mean", "min", "p50", "p75", "p90", "p95", "p99", "p999", "p9999", "max")
SECONDS = [3801, 3950, 4012, 3990, 4003, 3987, 3640, 4100, 3995, 4001, 3998, 4010]
"""Right answers in each second; the last is not whole."""


HISTOGRAM = [[256.0, 304.4, 40_000], [304.4, 362.0, 7000], [1024.0, 1217.7, 487]]
"""Number of answers that took from one time to another."""


@functools.cache
def renderer() -> Path:
    """Build the program that renders a given report; return its path.

    The options and the folder are those of the gate, which has built the program already. With other options,
    all its dependencies would be built once more.
    """
    target = CACHE / "target"
    options = ("--quiet", "--profile", "ci", *UNOPTIMISED)
    command = ("cargo", "build", *options, "--target-dir", target, "--workspace", "--example", "render")
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False, cwd=ROOT)
    assert 0 == done.returncode, done.stderr
    return target / "ci/examples/render"


def rendered(report: dict[str, Any], *words: str) -> str:
    """Return a report in a form, as `adyton bench` writes it."""
    assert [] == faults(report, "bench")
    command, text = [renderer(), *words], json.dumps(report)
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120, check=False)
    assert 0 == done.returncode, done.stderr
    return done.stdout


def latency(count: int, *times_us: float) -> dict[str, float]:
    """Return times of one kind, in the order of the fields."""
    return {"count": count} | {f"{name}_us": time for name, time in zip(FIELDS, times_us, strict=True)}


def curve() -> list[list[float]]:
    """Return percentiles up to 100, each with its time; near 100 the percentiles lie closer together."""
    distances = [100.0 / 2 ** (step / 5) for step in range(85)]
    points = [[round(100 - far, 6), round(300 + 1500 / (far + 0.001), 3)] for far in distances]
    return [*points, [100.0, 1_234_567.0]]


SERVER = {
    "processes": 1,
    "cpu_us_per_request": 54.05,
    "cpu_us_error": 0.21,
    "cpus": 0.22,
    "pss_bytes": 29_150_412,
}
MACHINE = {
    "listen_queues_of": "server",
    "steal_percent": 0.0,
    "foreign_cpus": 0.01,
    "listen_overflows": 0,
    "listen_drops": 0,
}


def fixed(**changes: object) -> dict[str, Any]:
    """Return the report of a valid run with these changes; a dictionary changes only the keys that it has."""
    right, sent = sum(SECONDS), sum(SECONDS) + 8
    report: dict[str, Any] = {
        "schema": "adyton-bench/1",
        "version": "1.2.3",
        "invalid": [],
        "disturbed": [],
        "warnings": [],
        "interrupted": False,
        "run": {
            "date": "2026-11-25T00:30:00Z",
            "machine": "A CPU, 2 CPUs, Linux 6.1",
            "command": "adyton bench 'http://127.0.0.1:8000/uneven?a=<b>'",
        },
        "asked": asked(),
        "seconds": 11.5,
        "rate": 4129.304,
        "counts": dict.fromkeys(("wrong_status", "wrong_body", "connection_error", "timeout"), 0)
        | {"sent": sent, "right": right, "in_flight": 8},
        "in_time": None,
        "statuses": {"200": right},
        "errors": {},
        "first_wrong": None,
        "interim_answers": 0,
        "interim_most": 0,
        "early_answers": 0,
        "odd_heads": {"bare_lf": 0, "two_framings": 0, "long": 0, "longest_bytes": 0},
        "own_limits": {"descriptors": 0, "ports": 0},
        "overdue": None,
        "response": None,
        "service": latency(
            right, 2020.5, 300.1, 1999.25, 2100, 20300, 70451, 188000, 988001, 1_200_000, 1_234_567
        ),
        "first_byte": latency(right, 2000, 290, 1990, 2050, 20200, 70400, 187000, 987000, 1.1e6, 1.2e6),
        "connect": None,
        "connect_before": latency(30_000, 206.5, 200, 206, 206, 207, 207, 207, 207, 207, 210),
        "curve": curve(),
        "histogram": HISTOGRAM,
        "urls": [],
        "head_bytes": 118 * right,
        "body_bytes": 12 * right,
        "body_bytes_per_second": 49_551.652,
        "compared": right,
        "connections_made": 0,
        "fairness": {"min": 5900, "median": 5936, "max": 6001, "jain": 0.998}
        | dict.fromkeys(("mean_p50_us", "mean_p90_us", "mean_max_us"), 2000.5)
        | {"slow_connections": 0, "slow_right": 0},
        "in_flight_mean": 8.0,
        "in_flight_edges": 0.0,
        "oldest_in_flight_ms": 3,
        "oldest_ms": 0,
        "never_sent": 0,
        "longest_lull_ms": 12,
        "series": [
            {"right": each, "wrong": 0, "max_us": 20_000 + each, "sum_us": 15 * each}
            | {"p50_us": 10.0 + second, "p99_us": 1000.0}
            for second, each in enumerate(SECONDS)
        ],
        "hits": None,
        "slow": [],
        "generator": {"busy": 0.31, "waiting": 0.02, "ceiling_rate": 429_202.4},
        "server": SERVER,
        "machine": MACHINE,
    }
    for name, value in changes.items():
        report[name] = report[name] | value if isinstance(value, dict) and report[name] else value
    return report


def asked() -> dict[str, Any]:
    """Return the report's description of the requests and the load."""
    return {
        "url": "http://127.0.0.1:8000/uneven?a=<b>",
        "method": "GET",
        "connections": 8,
        "threads": 1,
        "keep_alive": True,
        "pipeline": 1,
        "load": "closed",
        "rate": None,
        "requests": None,
        "duration_ms": 12_000,
        "seed": None,
        "warm_up_ms": 1000,
        "timeout_ms": 10_000,
        "deadline_ms": None,
        "status": 200,
        "answer_head_bytes": 118,
        "answer_body_bytes": 12,
        "checked": "status and every byte of the body",
        "sample": 1,
    }


TIMES = latency(30_000, *(1000.0 + 100.5 * step for step in range(10)))
OPEN = fixed(
    asked={"load": "poisson", "rate": 4000.0, "seed": 1, "deadline_ms": 1000},
    response=latency(sum(SECONDS), 3.5e5, 310, 1e5, 2e5, 3e5, 4e5, 5e5, 6e5, 3_599_999_999, 3.6e9),
    in_time=47_000,
)
"""An open loop with a deadline, in which one answer took an hour."""
NEW = fixed(asked={"keep_alive": False}, connect=latency(47_487, *(40 + step for step in range(10))))
"""A connection for each request."""
SEVERAL = fixed(
    asked={"url": "http://127.0.0.1:8000/", "method": "POST", "seed": 7},
    urls=[
        {
            "url": f"http://127.0.0.1:8000/{path}",
            "method": method,
            "weight": weight,
            "status": 200,
            "answer_body_bytes": 12,
            "sent": sent,
            "right": sent - 4,
            "wrong": 0,
            "times": TIMES | {"p99_us": 99_000.5 * weight},
        }
        for path, method, weight, sent in (("a?<b>", "GET", 3, 35_615), ("c`d|e", "POST", 1, 11_880))
    ],
)
"""A list of two URLs."""
SLOW = fixed(
    hits={"seen": 50_100, "right": 50_090, "sent": 50_108, "processes": 2},
    slow=[
        {
            "kind": kind,
            "clients": 20,
            "bytes_per_second": 200,
            "counts": {
                "begun": 46,
                "right": 40,
                "wrong": 0,
                "cut_off": 2,
                "not_connected": 1,
                "under_way": 3,
            },
            "right_times": TIMES,
            "cut_off_times": TIMES | {"max_us": 2_000_000.0},
            "oldest_ms": 1_268,
        }
        for kind in ("readers", "senders")
    ],
)
"""Slow clients, and hits that were counted."""
VALID = {"closed": fixed(), "open": OPEN, "a connection for each": NEW, "several": SEVERAL, "slow": SLOW}
