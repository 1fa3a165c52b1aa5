"""Percentiles over all requests that were due, including requests without an answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PERCENTILES = {"p50_us": 50.0, "p99_us": 99.0}


@dataclass(frozen=True)
class Time:
    """A time, or the bounds within which it is known."""

    least: float
    most: float
    """Equal to ``least`` if the time is known; infinite if only the lower bound is known."""

    @classmethod
    def slowest(cls, times: Iterable[Time]) -> Time:
        """Returns the longest of several times."""
        each = list(times)
        return cls(max(time.least for time in each), max(time.most for time in each))

    @property
    def is_known(self) -> bool:
        """Whether the time is known; an infinite time counts as known, too."""
        return self.least == self.most

    def __truediv__(self, by: float) -> Time:
        """Returns the time in another unit."""
        return Time(self.least / by, self.most / by)


def percentile_us(report: dict[str, Any], name: str) -> Time:
    """Returns a percentile of the times of all requests that were due, whether they were answered or not.

    A failed request counts as infinitely slow, because the times of answered requests say little if many are
    not answered. Requests under way at the end rank between the answered and the failed ones; if they are no
    older than a usual answer, they are left out. If the percentile falls on a request under way, only a lower
    bound is known: the percentile of the answers, or that request's age if it is higher. The ages are taken
    to lie evenly between zero and the age of the oldest.
    """
    times = report["response"] or report["service"]
    right, of_answers_us = times["count"], float(times[name]) if times["count"] else 0.0
    pending, lost = unanswered(report, of_answers_us), failed(report)
    rank = PERCENTILES[name] / 100 * (right + pending + lost)
    if rank > right + pending or not right + pending:
        return Time(math.inf, math.inf)
    if rank > right:
        age_us = 1000 * report["oldest_in_flight_ms"] * (rank - right) / pending
        return Time(max(of_answers_us, age_us), math.inf)
    us = on_curve(report["curve"], 100 * rank / right) if pending or lost else of_answers_us
    return Time(us, us)


def unanswered(report: dict[str, Any], answer_us: float) -> int:
    """Returns how many requests have no answer yet, and are likely to take longer than ``answer_us``.

    A few requests are always under way at the end, because every answer takes some time. They do not count if
    the oldest is younger than ``answer_us`` and no request waits for a connection.
    """
    under_way, never_sent = report["counts"]["in_flight"], report["never_sent"]
    if not never_sent and 1000 * report["oldest_in_flight_ms"] <= answer_us:
        return 0
    return int(under_way + (0 if is_late(report) else never_sent))


def failed(report: dict[str, Any]) -> int:
    """Returns how many requests have no right answer, and will never have one."""
    counts = report["counts"]
    wrong = counts["wrong_status"] + counts["wrong_body"] + counts["connection_error"] + counts["timeout"]
    return int(wrong + (report["never_sent"] if is_late(report) else 0))


def is_late(report: dict[str, Any]) -> bool:
    """Tells whether too many requests were never sent: a few always become due just before the end."""
    return bool(report["never_sent"] > report["asked"]["connections"])


def on_curve(curve: Sequence[Sequence[float]], percent: float) -> float:
    """Returns the time at a percentile of a curve, interpolated between the two nearest points."""
    below, below_us = 0.0, None
    for above, us in curve:
        if above >= percent:
            if below_us is None or above == below:
                return float(us)
            return float(below_us + (us - below_us) * (percent - below) / (above - below))
        below, below_us = above, us
    return math.inf
