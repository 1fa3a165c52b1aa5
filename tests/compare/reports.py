"""Made-up reports of `adyton bench`, and a very quick pace, for all tests of `adyton compare`."""

from __future__ import annotations

from typing import Any

from adyton.compare.peers import read_peers
from adyton.compare.results.rows import Shot
from adyton.compare.rounds import Pace
from adyton.compare.running import Seats, Size


def report(**more: Any) -> dict[str, Any]:
    """Make the parts of a report of `adyton bench` that `adyton compare` reads."""
    counts = {
        "sent": 100,
        "right": 80,
        "wrong_status": 5,
        "wrong_body": 0,
        "connection_error": 3,
        "timeout": 2,
        "in_flight": 10,
    }
    service = {"count": 80, "p50_us": 2_000.0, "p99_us": 9_000.0}
    return {
        "invalid": [],
        "rate": 80.0,
        "seconds": 1.0,
        "counts": counts,
        "never_sent": 20,
        "oldest_in_flight_ms": 5,
        "asked": {"connections": 10},
        "body_bytes": 4_000_000,
        "in_time": 72,
        "service": service,
        "response": None,
        "server": None,
        "slow": [],
        "curve": [(50.0, 2_000.0), (70.0, 3_000.0), (90.0, 7_000.0), (99.0, 9_000.0), (100.0, 9_500.0)],
    } | more


PACE = Pace(rounds=1, seconds=0.2, warm_up_s=0.1, tries=1, halves=1)
SEATS = Seats.of_this_machine()
SIZE = Size.usual(1)
PEERS = {peer.key: peer for peer in read_peers()}
SHOT = Shot([report()], cpu_s=0.1, memory_bytes=1)
