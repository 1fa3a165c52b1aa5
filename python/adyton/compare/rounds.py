"""Rounds: each starts every peer once, in an order of its own, and loads it."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from adyton.compare.application import BODY
from adyton.compare.peers import PeerError, Seats, running, seated

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from adyton.compare.peers import Peer
    from adyton.compare.scenarios import Scenario

AGAIN = " (again)"
"""Behind the name of the peer that takes part twice."""


@dataclass
class Row:
    """What one peer has shown, a report of ``adyton bench`` for each round."""

    peer: Peer
    again: bool = False
    full: dict[int, dict[str, Any]] = field(default_factory=dict)
    """By the number of the round: closed loop, as fast as it can."""
    half: dict[int, dict[str, Any]] = field(default_factory=dict)
    """Open loop, at half of that rate."""
    problems: list[str] = field(default_factory=list)
    """What the server did wrong, or this program: then there are no figures."""
    spoilt: list[str] = field(default_factory=list)
    """Rounds that others on the machine have spoilt: these do not count."""

    @property
    def name(self) -> str:
        """The name in the table."""
        return self.peer.name + AGAIN * self.again

    @property
    def rounds(self) -> int:
        """How many rounds count."""
        return len(self.full)

    @property
    def rates(self) -> dict[int, float]:
        """Right answers a second, by round."""
        return {number: report["rate"] for number, report in self.full.items()}

    @property
    def is_valid(self) -> bool:
        """Whether there are figures, and nothing was wrong with any of them."""
        return bool(self.full) and not self.problems

    @property
    def why_not(self) -> list[str]:
        """Why there are no figures; empty when there are."""
        return list(dict.fromkeys(self.problems or ([] if self.full else self.spoilt)))

    def middle(self, figure: Callable[[dict[str, Any]], float], *, at_half: bool = False) -> float:
        """Returns the median of a figure over the rounds."""
        return median(figure(report) for report in (self.half if at_half else self.full).values())


@dataclass(frozen=True)
class Pace:
    """How long all of it takes."""

    rounds: int
    duration: str
    warm_up: str
    seed: int = 1
    """What the order of the peers in each round is made of."""


QUICK = Pace(rounds=3, duration="500ms", warm_up="300ms")
PUBLISH = Pace(rounds=10, duration="10s", warm_up="3s")

HALVED_MIN = 2
"""A rate below this has no half that could be offered."""


def compare(
    scenario: Scenario, rows: Sequence[Row], pace: Pace, seats: Seats, tell: Callable[[str], None]
) -> None:
    """Fills the rows, round by round; ``tell`` is told what is done at the moment."""
    order = random.Random(pace.seed)  # noqa: S311 - the same for the same seed
    for number in range(pace.rounds):
        turn = list(rows)
        order.shuffle(turn)
        for place, row in enumerate(turn):
            tell(f"round {number + 1}/{pace.rounds}, {place + 1}/{len(turn)}: {row.name}")
            try:
                measure(scenario, row, number, pace, seats)
            except PeerError as error:
                row.problems.append(str(error))


def measure(scenario: Scenario, row: Row, number: int, pace: Pace, seats: Seats) -> None:
    """Starts a peer, loads it fully and at half of its rate, and ends it."""
    common = (*scenario.load, "-d", pace.duration, "--warm-up", pace.warm_up)
    with running(row.peer, seats) as url:
        full = bench(url, common, seats)
        if keep(row, full, "full load"):
            row.full[number] = full
        if full["rate"] >= HALVED_MIN:
            half = bench(url, (*common, "--rate", str(int(full["rate"] / 2))), seats)
            if keep(row, half, "half load"):
                row.half[number] = half


def keep(row: Row, report: dict[str, Any], load: str) -> bool:
    """Tells whether a report is one of the figures; notes it among the problems or what was spoilt if not."""
    why = {
        reason["gate"]: f"{load}: {reason['why']}"
        for reason in report["invalid"]
        if reason["gate"] not in KNOWN
    }
    if set(why) == SPOILS:
        row.spoilt += why.values()
    else:
        row.problems += [text for gate, text in why.items() if gate not in SPOILS]
    return not why


KNOWN = {"foreign-load"}
"""What works behind the server that listens, such as the uWSGI behind nginx, is no stranger here."""

SPOILS = {"steal"}
"""Of a round in which the machine was given to others nothing can be said."""


def bench(url: str, options: Sequence[str], seats: Seats) -> dict[str, Any]:
    """Runs ``adyton bench`` on the CPUs of the load, and returns its report."""
    with tempfile.TemporaryDirectory(prefix="adyton-compare-") as name, seated(seats.load):
        expected = Path(name) / "expected"
        expected.write_bytes(BODY)
        command = [
            sys.executable,
            "-m",
            "adyton",
            "bench",
            url,
            *options,
            "--expect-body",
            str(expected),
            "--json",
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own program
    if not done.stdout:
        raise PeerError(done.stderr.strip())
    report: dict[str, Any] = json.loads(done.stdout)
    return report
