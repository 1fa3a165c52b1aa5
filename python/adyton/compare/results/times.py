"""Percentiles of all requests that were due, some of which have no answer yet, or never will."""

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
    """Equal to ``least`` where the time is known; infinite where it is only known to be no less."""

    @classmethod
    def slowest(cls, times: Iterable[Time]) -> Time:
        """Returns the longest of some."""
        each = list(times)
        return cls(max(time.least for time in each), max(time.most for time in each))

    @property
    def is_known(self) -> bool:
        """Whether the time is known; a time without end is known, too."""
        return self.least == self.most

    def __truediv__(self, by: float) -> Time:
        """Returns the time in another unit."""
        return Time(self.least / by, self.most / by)


def percentile_us(report: dict[str, Any], name: str) -> Time:
    """Returns the time within which such a part of the requests that were due had right answers.

    What failed took without end: the times of those that are answered say little where many are not.
    What is under way at the end comes before that, and behind all that is answered, unless it is so young
    that it may yet become an answer like the others. If the percentile is among these, it is at least that
    of the answers, and the age that one of them has, if their ages lie evenly up to that of the oldest.
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
    """Returns how many requests are still without an answer, and likely to take longer than such an answer.

    All answers take some time, so that a few are under way at any end: while the oldest is younger than the
    answer, and no request waits for a connection, they say nothing.
    """
    under_way, never_sent = report["counts"]["in_flight"], report["never_sent"]
    if not never_sent and 1000 * report["oldest_in_flight_ms"] <= answer_us:
        return 0
    return int(under_way + (0 if is_late(report) else never_sent))


def failed(report: dict[str, Any]) -> int:
    """Returns how many requests have no right answer, and will have none."""
    counts = report["counts"]
    wrong = counts["wrong_status"] + counts["wrong_body"] + counts["connection_error"] + counts["timeout"]
    return int(wrong + (report["never_sent"] if is_late(report) else 0))


def is_late(report: dict[str, Any]) -> bool:
    """Tells whether more requests were never sent than may be due by chance just before the end."""
    return bool(report["never_sent"] > report["asked"]["connections"])


def on_curve(curve: Sequence[Sequence[float]], percent: float) -> float:
    """Returns the time at a percentile of a curve, on the line between the two points around it."""
    below, below_us = 0.0, None
    for above, us in curve:
        if above >= percent:
            if below_us is None or above == below:
                return float(us)
            return float(below_us + (us - below_us) * (percent - below) / (above - below))
        below, below_us = above, us
    return math.inf
