"""Rounds: each starts all peers once, in random order, and puts every load of the scenario on each peer."""

from __future__ import annotations

import math
import random
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adyton import _processes
from adyton._runs import BenchError, bench_together, reasons
from adyton.compare import events, pages
from adyton.compare.database import database_of
from adyton.compare.own import OWN
from adyton.compare.peers import PeerError
from adyton.compare.results.figures import VALUES_MIN, is_known
from adyton.compare.results.rows import FLOOR, FOREIGN, GENERATOR, RUN, SILENCE, SPOILS, START, Row, Shot
from adyton.compare.running import Seats, Size, is_right, running, seated
from adyton.compare.scenarios import DEADLINE_S
from adyton.compare.spent import Spent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from adyton.compare.database import Database
    from adyton.compare.kept import Kept
    from adyton.compare.peers import Peer
    from adyton.compare.running import Server
    from adyton.compare.scenarios import Load, Scenario

BENCH = (sys.executable, "-m", "adyton", "bench", "--json")
START_S, BENCH_S = 1.7, 0.8
"""Time of a peer's start, and of a run of ``adyton bench`` without its measurement, on a quiet machine."""
ROUNDS = ((10, 5.0), (7, 2.0), (6, 1.0), (3, 0.2), (2, 0.2), (1, 0.2))
"""Numbers of rounds, with the least seconds of a measurement: the first pair that fits the time is taken."""
HALVED_ROUNDS, HALVED_FEW = 6, 3
"""In how many rounds half of the rate is offered: three if time is short, one with fewer than six rounds."""
LONGEST_S = 10.0
"""Longest measurement: a longer one would say nothing more."""
PUBLISHED_S, PUBLISHED_MIN_S = 3.0, 0.5
"""Length of a measurement that is published, and its minimum if time is short. More rounds tell more."""
LEAD_S, PUBLISHED_LEAD_S = 0.3, 1.0
"""Time of load before each measurement, and the most before a measurement that is published."""
STEADY = 0.05
"""A peer is warm when two measurements in a row differ by less than this part."""
HALVED_MIN = 2
"""Fewest requests due in a measurement at half of the rate; with fewer, half of the rate is not offered."""
KNOWN = frozenset({"foreign-load", GENERATOR})
"""Gates that may fail: a peer's other processes are not foreign here; the page tells a load's own limit."""
FOREIGN_CPUS_MAX = 0.1
"""The number of the CPUs for peer and load that other programs may keep busy."""
RECOVERED_S, RECOVERED_IN_A_ROW, RECOVERY_S = 0.1, 5, 20.0
"""A peer has recovered after five answers in a row within 0.1 s each; the wait is at most 20 s."""


@dataclass(frozen=True)
class Pace:
    """Times and rounds of a comparison."""

    rounds: int
    seconds: float
    """Time of each measurement."""
    warm_up_s: float
    """Time of the first load, before anything is measured."""
    tries: int
    """How often a peer is measured at most until two measurements in a row agree."""
    halves: int
    """In how many rounds half of the rate is offered, too."""
    lead_s: float = LEAD_S
    """Load before each measurement, while connections are made and the first answers come."""
    total_s: float = math.inf
    """Time of the comparison: after ``least`` rounds, no round is begun that would end later."""
    least: int = 1
    """How many rounds are made, however long they take."""
    known_within: float | None = None
    """A peer's rounds end when its rates are known within this part; ``None``: they never end early."""
    seed: int = 1
    """Seed of the order of the peers in each round."""

    @classmethod
    def within(cls, total_s: float, scenario: Scenario, rows: Sequence[Row]) -> Pace:
        """Fits as many rounds as possible into a time, but at least one."""
        for rounds, shortest in ROUNDS:
            halves = rounds if rounds >= HALVED_ROUNDS else 1
            seconds = seconds_of(total_s, rounds, halves, scenario, len(rows))
            least = max(shortest, scenario.seconds_min)
            if seconds >= least:
                break
        seconds = max(least, min(LONGEST_S, round(seconds, 1)))
        return cls(rounds, seconds, warm_up_s=min(seconds, 3.0), tries=2, halves=halves, total_s=total_s)

    @classmethod
    def publish(cls, total_s: float, scenario: Scenario, rows: Sequence[Row]) -> Pace:
        """Returns a pace for figures to be published; with little time, its measurements are shorter."""
        least = max(PUBLISHED_MIN_S, scenario.seconds_min)
        for halves in (10, VALUES_MIN, HALVED_FEW):
            # A third of a measurement is the load before it.
            left = 0.75 * seconds_of(total_s, VALUES_MIN, min(halves, VALUES_MIN), scenario, len(rows))
            if left >= least:
                break
        seconds = max(least, math.floor(10 * min(PUBLISHED_S, left)) / 10)
        return cls(
            10,
            seconds,
            warm_up_s=min(seconds, 2.0),
            tries=4,
            halves=halves,
            lead_s=min(PUBLISHED_LEAD_S, max(LEAD_S, round(seconds / 3, 1))),
            total_s=total_s,
            least=VALUES_MIN,
            known_within=0.03,
        )

    def __str__(self) -> str:
        """Returns the pace as the page shows it."""
        rounds = str(self.rounds)
        if self.known_within is not None and self.rounds > VALUES_MIN:
            rounds = (
                f"up to {rounds}, from {VALUES_MIN} on until rates are known within {self.known_within:.0%}"
            )
        return (
            f"{rounds}, each {self.seconds:g} s after {self.warm_up_s:g} s of warm-up and {self.lead_s:g} s "
            "of the same load, peers and loads in random order"
        )


def seconds_of(total_s: float, rounds: int, halves: int, scenario: Scenario, rows: int) -> float:
    """Returns the length of a measurement if ``rounds``, of which ``halves`` offer half, take ``total_s``."""
    # Each kind of page is warmed up until two measurements agree; every other time, one more is needed.
    runs = len(scenario.loads) + 1.5 * len({load.pages for load in scenario.loads})
    halved = sum(bool(load.half) for load in scenario.loads)
    benches = rows * (rounds * runs + halves * halved)
    starts = rounds * rows * len({load.application for load in scenario.loads})
    return (total_s - starts * START_S - benches * BENCH_S) / benches


def rows_of(peers: Sequence[Peer], scenario: Scenario, seats: Seats, twice: str) -> list[Row]:
    """Returns the rows of the peers that have the pages of a scenario; one peer takes part twice."""
    cpus = len(seats.server)
    takes = [peer for peer in peers if any(load.asked <= peer.places.keys() for load in scenario.loads)]
    rows = [Row(peer, size) for peer in takes for size in sizes_of(peer, scenario, cpus)]
    again = next((row for row in rows if row.peer.key == twice), None)
    return rows + ([Row(again.peer, again.size, again=True)] if again else [])


def sizes_of(peer: Peer, scenario: Scenario, cpus: int) -> list[Size]:
    """Returns the sizes that a peer is tried with: several in a sweep, if the peer can be told its size."""
    if not scenario.sizes:
        return [Size.usual(cpus)]
    text = " ".join([*peer.lines(), *peer.configuration().values()])
    many, threaded = "{processes}" in text or "{workers}" in text, "{threads}" in text
    if not many and not threaded:
        return [Size.usual(cpus)] if peer.key == FLOOR else []
    pairs = [(each * cpus if many else 1, threads if threaded else 1) for each, threads in scenario.sizes]
    return [Size(processes, threads, processes, swept=True) for processes, threads in dict.fromkeys(pairs)]


@dataclass(frozen=True)
class How:
    """How all peers are measured."""

    pace: Pace
    seats: Seats
    database: Database
    """Database that the peers may query."""


def compare(  # noqa: PLR0913 - peers, methods, and a listener
    scenario: Scenario,
    rows: Sequence[Row],
    pace: Pace,
    seats: Seats,
    tell: Callable[[str], None],
    *,
    kept: Kept | None = None,
) -> Pace:
    """Fills the rows, round by round, and returns the pace with the rounds for which there was time.

    ``tell`` is called with the current step. Rounds that were ``kept`` before are not repeated, and each
    round is kept when it ends.
    """
    with database_of(scenario, seats.load) as database:
        if database.why_not:
            for row in rows:
                row.absent |= {load.name: database.why_not for load in scenario.loads if load.needs_database}
        return compare_rounds(scenario, rows, How(pace, seats, database), tell, kept)


def compare_rounds(
    scenario: Scenario, rows: Sequence[Row], how: How, tell: Callable[[str], None], kept: Kept | None
) -> Pace:
    """Compares while the database that the scenario needs is running."""
    pace = how.pace
    done, before_s = kept.load(rows) if kept else (0, 0.0)
    seed = f"{pace.seed} from {done}" if done else pace.seed
    order = random.Random(seed)  # noqa: S311 - repeatable for equal seeds
    began_s = time.monotonic() - before_s
    for number in range(done, pace.rounds):
        spent_s = time.monotonic() - began_s
        if number >= pace.least and spent_s + spent_s / number > pace.total_s:
            return replace(pace, rounds=number)
        turn = rows_left(scenario, rows, pace)
        if not turn:
            return replace(pace, rounds=number)
        order.shuffle(turn)
        for place, row in enumerate(turn):
            tell(f"round {number + 1}/{pace.rounds}, {place + 1}/{len(turn)}: {row.name}")
            measure(scenario, row, number, how)
        for row in turn:
            if not any(row.lacks(load, number) for load in scenario.loads):
                continue
            if time.monotonic() - began_s > pace.total_s:
                break
            tell(f"round {number + 1}/{pace.rounds}, once more: {row.name}")
            measure(scenario, row, number, how)
        if kept:
            kept.save(rows, number + 1, time.monotonic() - began_s)
    return pace


def rows_left(scenario: Scenario, rows: Sequence[Row], pace: Pace) -> list[Row]:
    """Returns the rows of the next round: unfinished rows, and rows that other rows are compared with."""
    done = [is_done(scenario, row, pace) for row in rows]
    if all(done):
        return []
    compared = {scenario.of, FLOOR, *(row.peer.key for row in rows if row.again)}
    return [row for row, is_over in zip(rows, done, strict=True) if not is_over or row.peer.key in compared]


def is_done(scenario: Scenario, row: Row, pace: Pace) -> bool:
    """Tells whether no round can add anything to a row: its rates are known, or something was wrong."""
    if pace.known_within is None:
        return False
    return all(
        row.problems.get(load.name) or is_known(list(row.rates(load).values()), pace.known_within)
        for load in scenario.loads
        if row.takes(load) and load.name not in row.absent
    )


def measure(scenario: Scenario, row: Row, number: int, how: How) -> None:
    """Starts a peer, puts on it every load whose pages it has, ends it, and notes its faults."""
    taken = [load for load in scenario.loads if row.takes(load) and load.name not in row.absent]
    loads = in_turn(taken, f"{how.pace.seed} {number} {row.name}")
    for application in dict.fromkeys(load.application for load in loads):
        those = [load for load in loads if load.application == application]
        measure_some(scenario, row, number, those, how)


def measure_some(scenario: Scenario, row: Row, number: int, loads: Sequence[Load], how: How) -> None:
    """Puts loads on a peer whose pages are all in one application."""
    asked = set().union(*(load.asked for load in loads))
    closing, socket = scenario.closes, how.database.socket
    try:
        with running(row.peer, asked, row.size, how.seats.server, closing=closing, database=socket) as server:
            row.absent |= {
                load.name: why for page, why in server.absent.items() for load in loads if page in load.asked
            }
            for load in loads:
                for page in server.wrong.keys() & load.asked:
                    row.is_good(load, number, {RUN: server.wrong[page]})
            here = [load for load in loads if load.asked <= server.urls.keys()]
            allowed, leaders = KNOWN | scenario.allowed, how.database.leaders
            bench = Bench(server, how.pace, how.seats, number + 1, allowed, leaders)
            put(row, number, here, bench)
    except (PeerError, OSError) as error:
        # A peer that has served before, or that was not tried before, may serve next time: repeat the round.
        has_served = any(load.name in row.shots for load in loads)
        is_new = not any(load.name in row.spoilt for load in loads)
        kind = START if has_served or is_new else RUN
        for load in loads:
            row.is_good(load, number, {kind: str(error)})


def in_turn(loads: Iterable[Load], seed: str) -> list[Load]:
    """Returns loads in random order, with two exceptions.

    Loads at a multiple of the measuring load's rate come after it; last are loads in which a worker is
    killed, because the server may end with the worker.
    """
    order = random.Random(seed)  # noqa: S311 - repeatable for equal seeds
    return sorted(loads, key=lambda load: (load.event == events.KILL, load.times > 0, order.random()))


def put(row: Row, number: int, loads: Sequence[Load], bench: Bench) -> None:
    """Puts the loads on a running peer, one after the other."""
    capacity = 0.0
    warm: set[tuple[str, ...]] = set()
    for load in loads:
        rate = capacity * load.times
        if load.times and rate < 1:
            row.is_good(load, number, {RUN: "its rate is too low for a multiple of it to be offered"})
            continue
        shoot = bench.once if load.pages in warm else bench.settled
        warm.add(load.pages)
        try:
            shot = shoot(load, rate)
        except PeerError as error:
            row.is_good(load, number, {RUN: str(error)})
            continue
        capacity = shot.rate if load.is_measure else capacity
        if not row.is_good(load, number, bench.flaws(shot, "full load"), shot):
            continue
        counted = row.shots.setdefault(load.name, {})
        counted[number] = shot
        if load.half and number < bench.pace.halves and shot.rate / 2 * bench.pace.seconds >= HALVED_MIN:
            counted[number] = replace(shot, half=halved(row, number, load, shot.rate / 2, bench))


def halved(row: Row, number: int, load: Load, rate: float, bench: Bench) -> list[dict[str, Any]]:
    """Offers ``rate``, again if the measurement is spoilt; returns the reports, empty if none counts."""
    for _ in range(2):
        try:
            half = bench.once(replace(load, options=load.half), rate)
        except PeerError as error:
            row.is_good(load, number, {RUN: str(error)})
            break
        why = bench.flaws(half, "half load")
        if row.is_good(load, number, why, half):
            return half.reports
        if not why.keys() <= SPOILS:
            break
    return []


def flaws(shot: Shot, allowed: frozenset[str], when: str) -> dict[str, str]:
    """Returns why a measurement does not count, by the gates that failed; empty if it counts."""
    why = {
        SILENCE if gate == "answers" and is_silent(report) else gate: f"{when}: {text}"
        for report in shot.reports
        for gate, text in reasons(report, allowed).items()
    }
    if any(report["counts"]["wrong_body"] for report in [*shot.reports, *filter(None, [shot.beside])]):
        why["answers"] = f"{when}: answers were wrong"
    if shot.foreign_cpus > FOREIGN_CPUS_MAX:
        why[FOREIGN] = (
            f"{when}: other programs kept {shot.foreign_cpus:.2f} of the CPUs for peer and load busy"
        )
    return why


def is_silent(report: dict[str, Any]) -> bool:
    """Tells whether no request had any result, not even an error: the machine may have stood still."""
    counts = report["counts"]
    return not any(count for what, count in counts.items() if what not in ("sent", "in_flight"))


@dataclass(frozen=True)
class Bench:
    """Puts loads on a running peer."""

    server: Server
    pace: Pace
    seats: Seats
    seed: int
    """Seed of random arrivals: within a round, requests arrive at the same moments for all peers."""
    allowed: frozenset[str] = KNOWN
    """Gates of ``adyton bench`` whose failure makes no figure invalid."""
    database: frozenset[int] = frozenset()
    """See :attr:`Database.leaders`."""

    def settled(self, load: Load, rate: float) -> Shot:
        """Repeats a load until two rates in a row agree, or until the last try."""
        before = replace(self, pace=replace(self.pace, seconds=self.pace.warm_up_s)).once(load, rate).rate
        for _ in range(self.pace.tries):
            shot = self.once(load, rate)
            if abs(shot.rate - before) <= STEADY * shot.rate:
                return shot
            before = shot.rate
        return replace(shot, is_steady=False)

    def flaws(self, shot: Shot, when: str) -> dict[str, str]:
        """Returns why a measurement does not count; if the peer has ended meanwhile, how it ended."""
        ended = self.server.how_it_ended()
        return {RUN: f"{when}: {ended}"} if ended else flaws(shot, self.allowed, when)

    def once(self, load: Load, rate: float) -> Shot:
        """Puts a load on the peer once; with a rate the load is an open loop."""
        server, pace, seats = self.server, self.pace, self.seats
        offered = ("--rate", str(int(max(1, rate)))) if rate else ()
        lead_s = max(pace.lead_s, load.lead_s)
        begun = ("--warm-up", f"{int(1000 * lead_s)}ms", "--seed", str(self.seed))
        lasting = ("-d", f"{int(1000 * pace.seconds)}ms")
        runs = [Run(load.pages, (*load.options, *offered, *lasting, *begun))]
        if load.beside:
            page, *options = load.beside
            # The second load begins about when the first does, and must not end before it.
            longer = ("-d", f"{int(1000 * (pace.seconds + 2 * lead_s))}ms")
            runs.append(Run((page,), (*options, *longer, *begun)))
        leaders = set(server.leaders)
        before = Spent.now(leaders, seats, self.database)
        try:
            with events.going_on(load.event, server) as turns_s:
                reports = reports_of(runs, server, seats)
        except PeerError as error:
            raise PeerError(server.how_it_ended() or str(error)) from error
        ended_s = time.monotonic()
        spent = Spent.now(leaders, seats, self.database).since(before)
        # The lead's CPU time is subtracted in proportion to its length: the peer was as busy in the lead.
        cpu_s = spent.of_peer(seats, forks=server.forks) * pace.seconds / (pace.seconds + lead_s)
        memory_bytes = _processes.memory_bytes(leaders)
        # The peer may still work on requests whose clients have gone: that work must not count for the next
        # load.
        recovered_s = recovery_s(load, server, ended_s) if load.recovers or load.beside else None
        return Shot(
            reports[:1],
            cpu_s,
            memory_bytes,
            beside=reports[1] if load.beside else None,
            recovered_s=recovered_s if load.recovers else None,
            foreign_cpus=spent.foreign_cpus(seats, forks=server.forks),
            start_s=server.start_s,
            turns_s=turns_s,
        )


@dataclass(frozen=True)
class Run:
    """One run of ``adyton bench``: of one page, or of several in turn, so that all are measured together."""

    pages: tuple[str, ...]
    options: tuple[str, ...]

    def right(self, server: Server, file: Path) -> tuple[str, str]:
        """Returns the option that says which answers are right; writes the file that it names.

        With several pages, the first answer of each counts as right: all were right when the peer was
        started.
        """
        if len(self.pages) == 1:
            file.write_bytes(pages.body(self.pages[0]))
            return "--expect-body", str(file)
        file.write_text("".join(f"{server.urls[page]}\n" for page in self.pages), "utf-8")
        return "--urls", str(file)

    def sent(self, file: Path) -> tuple[str, ...]:
        """Returns the options for the bodies of requests, and writes the file that they name; else none."""
        own = OWN.get(self.pages[0])
        if own is None or not own.sent:
            return ()
        file.write_bytes(own.posted)
        fields = (word for name, value in own.fields.items() for word in ("--header", f"{name}:{value}"))
        return "--data", f"@{file}", *fields


def reports_of(runs: Sequence[Run], server: Server, seats: Seats) -> list[dict[str, Any]]:
    """Runs ``adyton bench`` on the CPUs of the load, several at the same time, and returns their reports."""
    with tempfile.TemporaryDirectory(prefix="adyton-compare-") as name, seated(seats.load):
        checked = []
        for number, run in enumerate(runs):
            right = (*run.right(server, Path(name) / str(number)), *run.sent(Path(name) / f"{number}.sent"))
            own = (*right, "--deadline", f"{DEADLINE_S:.0f}s", "-t", str(threads_of(run.options, seats)))
            checked.append((server.urls[run.pages[0]], (*run.options, *own)))
        try:
            return [done.report for done in bench_together(checked)]
        except BenchError as error:
            raise PeerError(str(error)) from error


def threads_of(options: Sequence[str], seats: Seats) -> int:
    """Returns how many threads a load has: one for each of its CPUs, but no more than it has connections."""
    connections = int(options[options.index("-c") + 1])
    return min(len(seats.load), connections)


def recovery_s(load: Load, server: Server, ended_s: float) -> float:
    """Returns the seconds from the end of a load to the first of several prompt answers in a row.

    The load ended at ``ended_s`` of the monotonic clock.
    """
    page = load.pages[0]
    port, path = place_of(server.urls[page])
    began = time.monotonic()
    since, prompt = began, 0
    while prompt < RECOVERED_IN_A_ROW:
        asked = time.monotonic()
        if asked - began > RECOVERY_S or server.how_it_ended():
            return math.inf
        if is_right(port, path, page, timeout_s=RECOVERY_S) and time.monotonic() - asked < RECOVERED_S:
            since, prompt = (since if prompt else asked), prompt + 1
        else:
            prompt = 0
    return since - ended_s


def place_of(url: str) -> tuple[int, str]:
    """Returns the port and the path of a URL."""
    _, _, rest = url.partition("127.0.0.1:")
    port, _, path = rest.partition("/")
    return int(port), f"/{path}"
