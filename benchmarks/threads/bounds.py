"""What Adyton's figures must be in these cases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import free
import overload
import sides
import slow_clients
import steady
from targets import Target, judge

if TYPE_CHECKING:
    from report import Results
    from servers import Spec
    from targets import Verdict

MEMORY_MIB = 256 + (64 + 2 * 32) * slow_clients.CLIENTS / 1024
"""As --output-bytes-max says, 64 KiB for each answer beyond that, and 32 KiB for each connection."""


def bounds(case: str, spec: Spec, *lines: tuple[str, str, str, str]) -> tuple[Target, ...]:
    """Returns targets from lines: what it is, the figure, its bound as precise as it shows, and its unit."""
    targets = []
    for what, key, bound, unit in lines:
        sign, number = bound.split()
        decimals = len(number.partition(".")[2])
        at_least = sign == "≥"
        targets.append(
            Target(what, case, spec, key, unit, float(number), at_least=at_least, decimals=decimals)
        )
    return tuple(targets)


def with_slow_clients(spec: Spec) -> tuple[Target, ...]:
    """Returns what must hold for each way to make a long answer."""
    way = spec.name.removeprefix("adyton, ")
    return bounds(
        "clients",
        spec,
        (f"slow clients, {way}: hello keeps", "kept", "≥ 95.0", "%"),
        (f"{way}: uploads done", "uploaded", "≥ 100.0", "%"),
        (f"{way}: readers served", "served", "≥ 100.0", "%"),
        (f"{way}: memory added", "added_mib", f"≤ {MEMORY_MIB:.0f}", "MiB"),
    )


def at_level(spec: Spec) -> tuple[Target, ...]:
    """Returns what must hold for each level of overload."""
    level = spec.name.removeprefix("adyton, ")
    return bounds(
        "overload",
        spec,
        (f"{level}: served within 1 s", "share", "≥ 90.0", "% of capacity"),
        (f"{level}: resets and timeouts, all rounds", "lost_in_all", "≤ 0", ""),
        (f"{level}: 503 without Retry-After", "without_retry", "≤ 0", ""),
        (f"{level}: normal again after, slowest round", "normal_in_all_s", "≤ 1.0", "s"),
    )


BOUNDS = (
    *bounds("cost", steady.SIXTEEN_THREADS, ("hello, 16 threads against 1", "ratio", "≤ 1.030", "× CPU")),
    *bounds(
        "sleep",
        sides.ADYTON,
        ("waits 10 ms, 64 connections", "share_64", "≥ 95.0", "% of ideal"),
        ("waits 10 ms, 512 connections", "share_512", "≥ 95.0", "% of ideal"),
        ("512 connections: p99", "fair_512", "≤ 1.50", "× fair share"),
    ),
    *bounds(
        "both",
        sides.ADYTON,
        ("slow and hello at once: slow keeps", "slow_kept", "≥ 90.0", "%"),
        ("at once: hello keeps", "hello_kept", "≥ 80.0", "%"),
        ("at once: p99 of hello", "hello_p99", "≤ 3.0", "ms"),
        ("changing mix: slow keeps", "slow_mix_kept", "≥ 90.0", "%"),
        ("changing mix: hello keeps", "hello_mix_kept", "≥ 80.0", "%"),
        ("changing mix: p99 of hello", "hello_mix_p99", "≤ 3.0", "ms"),
    ),
    *bounds(
        "compute",
        steady.ADYTON_STATIC,
        ("computing 50 ms: static keeps", "static_kept", "≥ 70.0", "%"),
        ("computing 50 ms: p99 of static", "static_p99", "≤ 10.0", "ms"),
    ),
    *(target for spec in slow_clients.ADYTON for target in with_slow_clients(spec)),
    *(target for spec in overload.SPECS for target in at_level(spec)),
    *bounds("many", steady.ADYTON_MANY, ("10,000 connections in turn", "ratio", "≤ 1.60", "× CPU at 64")),
    *bounds(
        "free", free.SPECS[1], ("free-threaded, 2 CPUs", "ratio", "≥ 1.80", "× requests of 1 ms with a GIL")
    ),
)


def verdicts(results: Results) -> list[Verdict]:
    """Judges the cases that were run."""
    measured = {case.name: rows for case, rows in results}
    return [judge(bound, measured[bound.case]) for bound in BOUNDS if bound.case in measured]
