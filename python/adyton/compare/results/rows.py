"""Rows: the measurements of one peer, by load and by round."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any

from adyton._runs import reasons
from adyton.compare.results.times import Time, failed, percentile_us

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from adyton.compare.peers import Peer
    from adyton.compare.running import Size
    from adyton.compare.scenarios import Load

GENERATOR = "generator"
"""The gate of ``adyton bench`` that fails when ``adyton bench`` itself, and not the server, was the limit."""
FOREIGN, SILENCE, START, RUN = "strangers", "silence", "start", "run"
"""Reasons in addition to the gates of ``adyton bench``: other programs used the CPUs, no request had any
result, no right answer yet, no right answer any more."""
SPOILS = {"steal", "own-limits", "little", "steady", "late", FOREIGN, SILENCE, START}
"""Reasons to discard a measurement and repeat it; for any other reason the peer is at fault."""
FLOOR = "floor"
"""The peer that is no server: the page also shows CPU times as multiples of the floor's."""
AGAIN = " (again)"
"""Suffix to the name of a peer in the second row of the peer that takes part twice."""


@dataclass(frozen=True)
class Shot:
    """One load in one round: a report of ``adyton bench`` for each page, and the resources used."""

    reports: list[dict[str, Any]]
    cpu_s: float
    """CPU time of all processes of the peer; if the peer ``forks``, of all programs on its CPUs."""
    memory_bytes: int | None
    half: list[dict[str, Any]] = field(default_factory=list)
    """Reports at half of the rate."""
    beside: dict[str, Any] | None = None
    """The report of the page that was loaded at the same time."""
    recovered_s: float | None = None
    """Time from the end of the load until the peer had recovered; infinite if that took too long."""
    foreign_cpus: float = 0.0
    """How many of the CPUs for peer and load were busy with other programs."""
    start_s: float = 0.0
    """Time from the start of the peer to its first right answer, in this round."""
    turns_s: list[float] = field(default_factory=list)
    """How long each event under this load took; infinite if it took too long."""
    is_steady: bool = True
    """Whether the peer was as fast as in the load before; true if that was not checked."""

    @property
    def rate(self) -> float:
        """Right answers a second."""
        return float(sum(report["rate"] for report in self.reports))

    @property
    def is_least(self) -> bool:
        """Whether a load was at its own limit, at full or half rate: the peer could have served more."""
        reports = [*self.reports, *self.half]
        return any(GENERATOR in reasons(report) for report in reports)

    @property
    def cpu_us(self) -> float:
        """CPU time for each request that was answered."""
        answers = sum(answered(report) for report in [*self.reports, *filter(None, [self.beside])])
        return 1e6 * self.cpu_s / answers if answers else 0.0

    @property
    def memory_mib(self) -> float | None:
        """Proportional memory (PSS); ``None`` if this user may not look at it."""
        return None if self.memory_bytes is None else self.memory_bytes / 2**20

    @property
    def beside_rate(self) -> float | None:
        """Right answers a second of the page that was loaded at the same time."""
        return None if self.beside is None else float(self.beside["rate"])

    @property
    def held_mib(self) -> float | None:
        """Memory of the processes that listen, and of their descendants, while all connections were open."""
        server = self.reports[0]["server"] if self.reports else None
        return server["pss_bytes"] / 2**20 if server and server["pss_bytes"] else None

    @property
    def slow(self) -> tuple[int, int] | None:
        """Slow clients' requests that failed (cut off, refused, wrong), and all; ``None`` without any."""
        sides = self.beside["slow"] if self.beside else []
        lost = sum(side["counts"]["begun"] - kept(side["counts"]) for side in sides)
        return (lost, sum(side["counts"]["begun"] for side in sides)) if sides else None

    @property
    def turn_s(self) -> float | None:
        """The median time of an event; ``None`` without an event."""
        return median(self.turns_s) if self.turns_s else None

    @property
    def errors(self) -> int:
        """Requests without a right answer, and requests for which no connection was free."""
        return sum(failed(report) for report in [*self.reports, *self.half])

    @property
    def due(self) -> int:
        """All requests that were due; the errors are among them."""
        reports = [*self.reports, *self.half]
        return sum(report["counts"]["sent"] + report["never_sent"] for report in reports)

    @property
    def offered(self) -> float:
        """Requests a second that were due; in a closed loop, requests a second that were sent."""
        due = (report["counts"]["sent"] + report["never_sent"] for report in self.reports)
        return float(sum(each / report["seconds"] for each, report in zip(due, self.reports, strict=True)))

    @property
    def answered_percent(self) -> float:
        """Percentage of the requests due that were answered right; requests under way count against it."""
        due = sum(report["counts"]["sent"] + report["never_sent"] for report in self.reports)
        return float(100 * sum(report["counts"]["right"] for report in self.reports) / due) if due else 0.0

    @property
    def megabytes(self) -> float:
        """Megabytes of bodies a second."""
        return float(sum(report["body_bytes"] / report["seconds"] for report in self.reports) / 1e6)

    @property
    def goodput(self) -> float:
        """Right answers a second that came within ``scenarios.DEADLINE_S`` of when the request was due."""
        return float(sum(report["in_time"] / report["seconds"] for report in self.reports))

    def percentile_ms(self, name: str) -> Time:
        """Returns a percentile of the slowest page, at half load if half load was offered."""
        return Time.slowest(percentile_us(report, name) for report in self.half or self.reports) / 1000


def kept(counts: dict[str, int]) -> int:
    """Returns how many requests of slow clients were answered right, or may yet be."""
    return counts["right"] + counts["under_way"]


def answered(report: dict[str, Any]) -> int:
    """Returns how many requests the server has finished."""
    counts = report["counts"]
    return int(counts["right"] + counts["wrong_status"] + counts["wrong_body"])


@dataclass(frozen=True)
class Discarded:
    """A measurement that does not count."""

    round: int
    why: list[str]
    shot: Shot
    """The measurement; a measurement at half of the rate is discarded separately."""


@dataclass
class Row:
    """One row of the page: a peer of one size."""

    peer: Peer
    size: Size
    again: bool = False
    shots: dict[str, dict[int, Shot]] = field(default_factory=dict)
    """Measurements by the name of the load, and the number of the round."""
    problems: dict[str, list[str]] = field(default_factory=dict)
    """Faults of the server, or of this program, by the load's name. A load with faults has no figures."""
    spoilt: dict[str, dict[int, list[str]]] = field(default_factory=dict)
    """Reasons why a measurement does not count, by the name of the load, and the number of the round."""
    discarded: dict[str, list[Discarded]] = field(default_factory=dict)
    """Measurements that do not count, by the name of the load."""
    absent: dict[str, str] = field(default_factory=dict)
    """Packages that are missing for the pages of a load, with instructions, by the name of the load."""

    @property
    def name(self) -> str:
        """The name in the table."""
        return self.peer.name + f", {self.size}" * self.size.swept + AGAIN * self.again

    @property
    def was_tried(self) -> bool:
        """Whether anything is known of the row."""
        return bool(self.shots or self.problems or self.spoilt or self.absent)

    def takes(self, load: Load) -> bool:
        """Tells whether the peer has the pages of a load."""
        return load.asked <= self.peer.places.keys() and bool(self.peer.reload or not load.event)

    def rates(self, load: Load) -> dict[int, float]:
        """Returns the right answers a second, by round."""
        return self.by_round(load, lambda shot: shot.rate)

    def by_round(self, load: Load, figure: Callable[[Shot], float | None]) -> dict[int, float]:
        """Returns a figure by round, for rounds that have the figure."""
        shots = self.shots.get(load.name, {}).items()
        return {number: value for number, shot in shots if (value := figure(shot)) is not None}

    def lacks(self, load: Load, number: int) -> bool:
        """Tells whether a round has no figures of a load although nothing is wrong with the peer."""
        spoilt = number in self.spoilt.get(load.name, {}) and not self.problems.get(load.name)
        return spoilt and number not in self.shots.get(load.name, {})

    def is_valid(self, load: Load) -> bool:
        """Tells whether more than half of the rounds have figures, and no round has a fault."""
        lacking = sum(self.lacks(load, number) for number in self.spoilt.get(load.name, {}))
        return len(self.shots.get(load.name, {})) > lacking and not self.problems.get(load.name)

    def why_not(self, load: Load) -> list[str]:
        """Returns why there are no figures; empty if there are figures."""
        if self.is_valid(load):
            return []
        if load.name in self.absent:
            return [self.absent[load.name]]
        why = self.problems.get(load.name) or self.why_spoilt(load) or ["it was not measured"]
        return list(dict.fromkeys(why))

    def why_spoilt(self, load: Load) -> list[str]:
        """Returns why measurements did not count."""
        return [each for reasons in self.spoilt.get(load.name, {}).values() for each in reasons]

    def middle(self, load: Load, figure: Callable[[Shot], float]) -> float:
        """Returns the median of a figure over the rounds."""
        return median(figure(shot) for shot in self.shots[load.name].values())

    def is_good(self, load: Load, number: int, why: Mapping[str, str], shot: Shot | None = None) -> bool:
        """Tells whether a measurement counts; if not, notes the reasons in ``why``, by gate."""
        self.problems.setdefault(load.name, []).extend(
            text for gate, text in why.items() if gate not in SPOILS
        )
        spoilt = [text for gate, text in why.items() if gate in SPOILS]
        if spoilt:
            self.spoilt.setdefault(load.name, {}).setdefault(number, []).extend(spoilt)
        if why and shot:
            self.discarded.setdefault(load.name, []).append(Discarded(number, list(why.values()), shot))
        return not why
