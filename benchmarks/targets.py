"""What Adyton's figures must be, and what they aim to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import servers

if TYPE_CHECKING:
    from rows import Row
    from servers import Spec


@dataclass(frozen=True)
class Target:
    """A bound for a figure, and the peers that it must not be above."""

    what: str
    case: str
    spec: Spec
    key: str
    unit: str
    must: float | None = None
    aim: float | None = None
    peers: tuple[Spec, ...] = ()
    at_least: bool = False
    """The figure is better the higher it is."""
    decimals: int = 2


@dataclass(frozen=True)
class Verdict:
    """A target beside what was measured, as text."""

    what: str
    must: str
    aim: str
    measured: str
    verdict: str


def judge(target: Target, rows: list[Row]) -> Verdict:
    """Compares the medians; without a figure, the verdict is INVALID."""
    medians = {row.spec: row.median(target.key) for row in rows}
    limits = [] if target.must is None else [target.must]
    bounds = [f"{'≥' if target.at_least else '≤'} {number(limit, target)}" for limit in limits]
    missing = medians.get(target.spec) is None
    for peer in target.peers:
        theirs = medians.get(peer)
        missing |= theirs is None
        limits += [] if theirs is None else [theirs]
        bounds.append(f"≤ {peer.name} ({'INVALID' if theirs is None else number(theirs, target)})")
    must = ", ".join(bounds)
    aim = "" if target.aim is None else number(target.aim, target)
    mine = medians.get(target.spec)
    if mine is None or missing:
        return Verdict(target.what, must, aim, "INVALID" if mine is None else shown(mine, target), "INVALID")
    sign = -1 if target.at_least else 1
    met = all(sign * mine <= sign * limit for limit in limits)
    aimed = met and target.aim is not None and sign * mine <= sign * target.aim
    verdict = "aim reached" if aimed else "met" if met else "MISSED"
    return Verdict(target.what, must, aim, shown(mine, target), verdict)


def shown(value: float, target: Target) -> str:
    """Returns a figure with its unit."""
    return f"{number(value, target)} {target.unit}"


def number(value: float, target: Target) -> str:
    """Returns a figure as precisely as it was measured."""
    return f"{value:,.{target.decimals}f}"


NGINX_BEST = (servers.NGINX_SMALL, servers.NGINX_SMALL_SENDFILE)
CONNECT = "a new connection per request"

TARGETS = (
    Target(
        "WSGI, 12 bytes",
        "small",
        servers.ADYTON_WSGI,
        "ratio",
        "× floor",
        1.25,
        1.15,
        peers=(servers.FASTPYSGI, servers.BJOERN),
    ),
    Target("handler, a str", "small", servers.ADYTON_HANDLER, "ratio", "× floor", 1.20, 1.12),
    Target(
        "static file, 13 bytes",
        "small",
        servers.ADYTON_STATIC,
        "ratio",
        "× floor",
        1.20,
        1.10,
        peers=NGINX_BEST,
    ),
    Target(
        "static file, 350 KB",
        "large",
        servers.ADYTON_LARGE,
        "cpu_us",
        "µs",
        peers=(servers.NGINX_LARGE, servers.NGINX_LARGE_UNCACHED),
    ),
    Target(
        "WSGI, 16 pipelined",
        "pipelined",
        servers.ADYTON_WSGI,
        "requests_per_s",
        "requests/s",
        700_000,
        900_000,
        at_least=True,
        decimals=0,
    ),
    Target(f"static, {CONNECT}", "connect", servers.ADYTON_STATIC, "cpu_us", "µs", peers=NGINX_BEST),
    Target(f"WSGI, {CONNECT}", "connect", servers.ADYTON_WSGI, "cpu_us", "µs", peers=NGINX_BEST),
    Target("access log to a file, adds", "log", servers.ADYTON_LOGGING, "added_us", "µs", 0.6),
    Target("idle connection, WSGI", "idle", servers.ADYTON_WSGI, "each_kib", "KiB", 0.5, 0.25),
    Target("idle connection, static", "idle", servers.ADYTON_STATIC, "each_kib", "KiB", 0.5, 0.25),
    Target("start to first answer", "start", servers.ADYTON_WSGI, "start_ms", "ms", 200, 80, decimals=1),
)
