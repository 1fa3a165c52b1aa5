"""Reports of `adyton bench` for those who make pages of them."""

from __future__ import annotations

from typing import Any


def report(**more: Any) -> dict[str, Any]:
    """Make the parts of a report of `adyton bench` that are looked at."""
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
        "curve": [(50.0, 2_000.0), (70.0, 3_000.0), (90.0, 7_000.0), (99.0, 9_000.0), (100.0, 9_500.0)],
    } | more
