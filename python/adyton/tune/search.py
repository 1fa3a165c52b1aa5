"""The search: measures one request, tries the promising choices in rounds, and confirms the winner."""

from __future__ import annotations

import contextlib
import math
import random
import time
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any

from adyton._runs import BenchError, bench, reasons
from adyton.tune.choice import Choice
from adyton.tune.model import Cost, candidates, memory, predicted_rate, wider
from adyton.tune.scaling import POINTS_MIN, Law, fit
from adyton.tune.served import ServeError, served

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from adyton.tune.model import Limits
    from adyton.tune.served import Served

CANDIDATES = 8
"""Number of choices in the first round, or fewer if time is short; each round halves it down to two."""
FINALISTS = 2
FINALS = 3
"""Trials of each of the last two choices, in turn."""
TELLABLE = 0.05
"""Two single trials that differ by less than this part cannot be told apart."""
CLIENTS = (8, 1024)
"""The fewest and the most connections of a trial."""
GOAL_OF = 10.0
"""The default goal, as a multiple of the time that a request takes alone."""
GOAL_S_MIN = 0.05
CONFIRMED_AT = 0.8
"""The part of the winner's rate at which it is confirmed."""
LOWER, LOWER_MAX = 0.7, 4
"""Factor by which a rate is lowered that was not confirmed, and the most lower rates to try."""
FIRST_PART = 0.5
"""The part of the confirmation's time that is for the first rate."""
IN_TIME = 0.99
"""Part of the answers that must be within the goal in the confirmation."""
CROWD = 4
"""Requests at once, on as many threads of one process: shows how much they slow each other down."""
ALONE_PART = 0.1
"""Part of the whole time for single requests, and again for several at once; starts take extra time."""
TRIALS_UNTIL, SCALING_UNTIL = 0.74, 0.87
"""Parts of the whole time at which trials and scaling must be over; the confirmation has the rest."""
SHORTEST_S = 0.5
"""The shortest trial, and the shortest confirmation."""
WARM_UP_S_MIN, MEASURED_S_MIN = 0.1, 0.2
"""Times of the shortest load."""
MILLION = 1e6
TRIES = 2
"""How often a run is tried until one is valid; if none is, the last reason counts against the choice."""
KNOWN = {"foreign-load"}
"""Gate that may fail: a program that works for the application, as a database does, is not foreign."""
AT_LEAST = {"generator", "own-limits"}
"""Gates that fail when the load was at its own limit: then the rate is a lower bound."""
COUNTED = {"answers", "late"}
"""Gates that the confirmation ignores, because it counts wrong and missing answers itself."""


class InvalidError(Exception):
    """Raised when no measurement could be used; its text says why."""


@dataclass(frozen=True)
class Task:
    """An application to tune, the load on it, and the limits."""

    target: str
    page: str
    settings: tuple[str, ...]
    check: str
    """Part of each body that must be equal to the first answer's: ``--check`` of ``adyton bench``."""
    limits: Limits
    goal_s: float | None
    total_s: float


@dataclass
class Trials:
    """The trials of one choice, and their figures."""

    choice: Choice
    predicted: float
    goodputs: dict[int, float] = field(default_factory=dict)
    """Right answers a second within the goal, by the number of the round."""
    p99s_s: list[float] = field(default_factory=list)
    memory_bytes: int = 0
    """Most memory in any trial; 0 if it could not be read."""
    errors: int = 0
    at_least: bool = False
    """Whether in some round the load was at its own limit."""
    invalid: str = ""
    """Why a round has no figure, so that the choice is out; empty while the choice is in."""

    @property
    def goodput(self) -> float:
        """The median goodput of the rounds."""
        return median(self.goodputs.values()) if self.goodputs else 0.0

    @property
    def last(self) -> float:
        """Goodput of the last round."""
        return self.goodputs[max(self.goodputs)]

    def beside(self, other: Trials) -> tuple[float, float]:
        """Returns the median goodputs of both choices in rounds that both were in; zeros without any."""
        common = self.goodputs.keys() & other.goodputs.keys()
        if not common:
            return 0.0, 0.0
        return median(self.goodputs[each] for each in common), median(other.goodputs[each] for each in common)


@dataclass
class Found:
    """Everything that the search found."""

    task: Task
    cost: Cost
    goal_s: float
    clients: int
    trials: list[Trials]
    winner: Trials
    equal: list[Trials]
    """Choices whose goodput cannot be told from the best; the winner is the smallest of them."""
    noise: float
    """How far trials of the same choice differ: 0.03 is three percent."""
    points: list[tuple[int, float]]
    """Numbers of requests under way, and the winner's rate at each."""
    law: Law | None
    confirmed: dict[str, Any]
    """The report of the open loop at four fifths of the winner's rate."""
    lower: list[dict[str, Any]]
    """Reports of lower rates, tried until the goal was kept at one; empty if no lower rate was needed."""
    doubts: list[str]
    fits: bool
    """Whether the winner needs no more memory than the limit."""

    @property
    def unconfirmed(self) -> str:
        """Why the report of the open loop cannot be used; empty if it can."""
        return unusable(self.confirmed, COUNTED)

    @property
    def holds(self) -> bool:
        """Whether the winner keeps its goal in the open loop, in which requests do not wait for answers."""
        return keeps(self.confirmed, self.goal_s)

    @property
    def held(self) -> dict[str, Any] | None:
        """The report of the highest rate at which the winner keeps its goal; ``None`` if there is none."""
        return next((each for each in [self.confirmed, *self.lower] if keeps(each, self.goal_s)), None)

    @property
    def in_time(self) -> float:
        """The part of the requests due that got a right answer within the goal."""
        return in_time(self.confirmed, self.goal_s)


class Search:
    """One search under way."""

    def __init__(self, task: Task, tell: Callable[[str], None]) -> None:
        """Prepares a search; ``tell`` is called with the current step."""
        self.task = task
        self.tell = tell
        self.began_s = time.monotonic()
        self.start_s = 0.0
        """Time that the last start and end of a server took."""
        self.run_s = 0.0
        """Time that the last load took in addition to the time that it was told to take."""
        self.doubts: dict[str, str] = {}
        self.order = random.Random(1)  # noqa: S311 - one order for equal tasks

    def run(self) -> Found:
        """Does the whole search."""
        cost = self.ask_alone()
        goal_s = whole_ms(self.task.goal_s or max(GOAL_OF * cost.service_s, GOAL_S_MIN))
        limits = self.task.limits
        tried = candidates(cost, limits, CANDIDATES)
        trials = [
            Trials(choice, predicted_rate(cost, choice, limits.cpus))
            for choice in tried[: self.affordable(len(tried))]
        ]
        if len(trials) < len(tried):
            self.doubts["time"] = (
                f"there was time for only {len(trials)} of the {len(tried)} most promising choices (--time)"
            )
        clients = enough_clients(cost, trials[0].predicted, goal_s)
        noise = self.halve(trials, goal_s, clients)
        equal = same(fitting(valid(trials), limits.memory_bytes), noise)
        winner = min(equal, key=lambda trial: trial.choice)
        needed_bytes = winner.memory_bytes or memory(cost, winner.choice)
        points, (confirmed, *lower) = self.confirm(winner, goal_s, clients)
        if more := wider(cost, limits, winner.choice):
            self.doubts["limits"] = (
                f"{winner.choice} has reached the limit: {' or '.join(more)} may serve more"
            )
        return Found(
            self.task,
            cost,
            goal_s,
            clients,
            trials,
            winner,
            equal,
            noise,
            points,
            fit(points),
            confirmed,
            lower,
            list(self.doubts.values()),
            fits=needed_bytes <= limits.memory_bytes,
        )

    def ask_alone(self) -> Cost:
        """Measures the cost of one request alone, and of several at once if several threads are allowed."""
        part_s, at_once = ALONE_PART / 2 * self.task.total_s, min(CROWD, self.task.limits.threads_max)
        with self.serving(Choice(1, at_once)) as server:
            self.tell("one request at a time")
            before = server.interpreter_waits()
            alone = crowd = self.load(server, part_s, "-c", "1")
            waited_s = server.interpreter_waits().for_each_since(before)
            if at_once > 1:
                self.tell(f"{at_once} requests at once in one process")
                crowd = self.load(server, part_s, "-c", str(at_once))
            shared_bytes, unique_bytes = server.memory()
        if why := unusable(alone) or unusable(crowd):
            raise InvalidError(f"the cost of one request could not be measured: {why}")
        service_s = alone["service"]["mean_us"] / MILLION
        cpu_s = min(service_s, (alone["server"] or {}).get("cpu_us_per_request", 0.0) / MILLION)
        serial_s = min(cpu_s, 1 / crowd["rate"]) if crowd["rate"] else cpu_s
        # The server also counts requests that the load leaves out: the warm-up, and the first answer for
        # --check.
        return Cost(service_s, cpu_s, serial_s, shared_bytes, unique_bytes, min(service_s, waited_s))

    def halve(self, trials: Sequence[Trials], goal_s: float, clients: int) -> float:
        """Tries all choices, then the better half for twice as long, until two are left for the final trials.

        Returns how far trials of one choice differ.
        """
        left = list(trials)
        number = 0
        while len(left) > FINALISTS:
            self.try_all(left, number, self.trial_s(len(left)), goal_s, clients)
            left = better_half(fitting(valid(left), self.task.limits.memory_bytes))
            number += 1
        for final in range(FINALS):
            self.try_all(left, number + final, self.trial_s(len(left), FINALS - final), goal_s, clients)
            left = valid(left)
        return max(spread(trial, number) for trial in left)

    def affordable(self, count: int) -> int:
        """Returns how many choices there is time for, if every trial takes at least ``SHORTEST_S``."""
        most = range(count, FINALISTS, -1)
        return next((number for number in most if self.trial_s(number) > SHORTEST_S), FINALISTS)

    def trial_s(self, count: int, finals: int = FINALS) -> float:
        """Returns how long each trial of the next round may take when ``count`` choices are left.

        Trials take twice as long in each later round, and all rounds must fit into the time left for trials.
        """
        trials, units, length = 0, 0.0, 1.0
        while count > FINALISTS:
            trials, units = trials + count, units + count * length
            length, count = 2 * length, max(FINALISTS, (count + 1) // 2)
        trials, units = trials + finals * count, units + finals * count * length
        starts_s = trials * (self.start_s + self.run_s)
        return max(SHORTEST_S, (self.until_s(TRIALS_UNTIL) - starts_s) / units)

    def until_s(self, part: float) -> float:
        """Returns the seconds until ``part`` of the whole time is over."""
        return self.began_s + part * self.task.total_s - time.monotonic()

    def try_all(
        self, trials: Sequence[Trials], number: int, trial_s: float, goal_s: float, clients: int
    ) -> None:
        """Tries each choice once, in random order; a choice that stops serving in its trial is out."""
        for trial in self.order.sample(trials, len(trials)):
            self.tell(f"round {number + 1}: {trial.choice}")
            try:
                with self.serving(trial.choice) as server:
                    report = self.load(server, trial_s, "-c", str(clients), deadline(goal_s))
            except ServeError as error:
                trial.invalid = ": ".join([error.why, *error.said[-1:]])
            else:
                note(trial, number, report)

    def confirm(
        self, winner: Trials, goal_s: float, clients: int
    ) -> tuple[list[tuple[int, float]], list[dict[str, Any]]]:
        """Measures how the winner's rate grows with the load; then offers the winner four fifths of its rate.

        While the winner does not keep its goal, lower rates are offered.
        """
        with self.serving(winner.choice) as server:
            points = []
            loads = self.loads(clients)
            for done, load in enumerate(loads):
                self.tell(f"{winner.choice}: {load} requests under way")
                part_s = self.until_s(SCALING_UNTIL) / (len(loads) - done) - self.run_s
                report = self.load(server, part_s, "-c", str(load))
                # The law describes the server: a rate that the load itself has limited says nothing about it.
                if not unusable(report) and AT_LEAST.isdisjoint(gates(report)):
                    points.append((load, report["rate"]))
            offered: list[dict[str, Any]] = []
            rate = max(1, int(CONFIRMED_AT * winner.goodput))
            while not offered or self.asks_less(offered, rate, goal_s):
                self.tell(f"{winner.choice}: {rate} requests/s, whether it answers or not")
                options = ("-c", str(2 * clients), f"--rate={rate}", "--arrivals=poisson", deadline(goal_s))
                part = 1 / (LOWER_MAX + 1 - len(offered)) if offered else FIRST_PART
                part_s = max(SHORTEST_S, part * self.until_s(1.0) - self.run_s)
                offered.append(self.load(server, part_s, *options, counted=COUNTED))
                rate = int(LOWER * rate)
        return points, offered

    def asks_less(self, offered: Sequence[dict[str, Any]], rate: int, goal_s: float) -> bool:
        """Tells whether to offer ``rate``, too: the goal was not kept at the last rate, and there is time."""
        has_time = self.until_s(1.0) - self.run_s >= SHORTEST_S
        return rate >= 1 and len(offered) <= LOWER_MAX and has_time and not keeps(offered[-1], goal_s)

    def loads(self, most: int) -> list[int]:
        """Returns the loads for the law: all doublings, or an even selection if there is no time for all."""
        every = list(doublings(most))
        shortest_s = WARM_UP_S_MIN + MEASURED_S_MIN + self.run_s
        count = max(POINTS_MIN, int(self.until_s(SCALING_UNTIL) / shortest_s))
        if count >= len(every):
            return every
        return [every[round(index * (len(every) - 1) / (count - 1))] for index in range(count)]

    @contextlib.contextmanager
    def serving(self, choice: Choice) -> Iterator[Served]:
        """Serves the application with a choice; notes the time that start and end take."""
        began_s = time.monotonic()
        with served(self.task.target, choice, self.task.settings) as server:
            start_s = time.monotonic() - began_s
            yield server
            ends_s = time.monotonic()
        self.start_s = start_s + time.monotonic() - ends_s

    def load(
        self, server: Served, seconds: float, *options: str, counted: Collection[str] = ()
    ) -> dict[str, Any]:
        """Runs a load, a fifth of it to warm up, again if it is invalid; notes the gates that failed.

        Raises :class:`ServeError` when the server or a worker of it has died.
        """
        warm_up_s, measured_s = max(WARM_UP_S_MIN, 0.2 * seconds), max(MEASURED_S_MIN, 0.8 * seconds)
        times = ("-d", milliseconds(measured_s), "--warm-up", milliseconds(warm_up_s))
        for _ in range(TRIES):
            began_s = time.monotonic()
            try:
                report = bench(server.url + self.task.page, (*options, *times, "--check", self.task.check))
            except BenchError:
                server.alive()
                raise
            self.run_s = max(0.0, time.monotonic() - began_s - measured_s - warm_up_s)
            server.alive()
            if not unusable(report, counted):
                break
        for gate, why in reasons(report).items():
            self.doubts.setdefault(gate, why)
        return report


def note(trial: Trials, number: int, report: dict[str, Any]) -> None:
    """Notes the figures of a choice in a round."""
    counts = report["counts"]
    trial.errors += counts["sent"] - counts["right"] - counts["in_flight"]
    trial.invalid = unusable(report)
    if trial.invalid:
        return
    trial.at_least |= not AT_LEAST.isdisjoint(gates(report))
    trial.goodputs[number] = report["in_time"] / report["seconds"]
    trial.p99s_s.append(report["service"]["p99_us"] / MILLION)
    trial.memory_bytes = max(trial.memory_bytes, (report["server"] or {}).get("pss_bytes", 0))


def gates(report: dict[str, Any]) -> set[str]:
    """Returns the gates that have failed."""
    return set(reasons(report))


def unusable(report: dict[str, Any], counted: Collection[str] = ()) -> str:
    """Says why a report cannot be used; empty if its rate is known, or is at least a lower bound."""
    return "; ".join(reasons(report, {*KNOWN, *AT_LEAST, *counted}).values())


def keeps(report: dict[str, Any], goal_s: float) -> bool:
    """Tells whether the goal was kept in an open loop, and its report can be used."""
    return not unusable(report, COUNTED) and in_time(report, goal_s) >= IN_TIME


def in_time(report: dict[str, Any], goal_s: float) -> float:
    """Returns the part of the requests due that got a right answer within the goal.

    Requests without an answer count as not in time, except those under way at the end that can still be in
    time.
    """
    counts, never_sent = report["counts"], report["never_sent"]
    is_young = report["oldest_in_flight_ms"] <= 1000 * goal_s
    due = counts["sent"] + never_sent - (counts["in_flight"] if is_young else 0)
    return float(report["in_time"] / due) if due else 0.0


def valid(trials: Sequence[Trials]) -> list[Trials]:
    """Returns the choices that have a figure for each round that they were in; raises if there is none."""
    left = [trial for trial in trials if not trial.invalid]
    if not left:
        why = "; ".join(f"{trial.choice}: {trial.invalid}" for trial in trials)
        raise InvalidError(f"no choice that was left could be measured: {why}")
    return left


def whole_ms(seconds: float) -> float:
    """Rounds a time up to whole milliseconds, the unit of times for ``adyton bench``."""
    return math.ceil(round(1000 * seconds, 3)) / 1000


def deadline(goal_s: float) -> str:
    """Returns the option of ``adyton bench`` that counts answers in time."""
    return f"--deadline={milliseconds(goal_s)}"


def milliseconds(seconds: float) -> str:
    """Writes a time for ``adyton bench``."""
    return f"{round(1000 * seconds)}ms"


def enough_clients(cost: Cost, rate: float, goal_s: float) -> int:
    """Returns how many connections keep the best choice busy if each is answered in a quarter of the goal."""
    fewest, most = CLIENTS
    busy = max(1.5 * rate * cost.service_s, rate * goal_s / 4)
    return round(min(max(busy, fewest), most))


def doublings(most: int) -> Iterator[int]:
    """Yields 1, 2, 4 and so on, and the most."""
    load = 1
    while load < most:
        yield load
        load *= 2
    yield most


def fitting(trials: Sequence[Trials], memory_bytes: int) -> list[Trials]:
    """Returns the trials that needed at most ``memory_bytes`` of memory, else the trial that needed least."""
    fit = [trial for trial in trials if trial.memory_bytes <= memory_bytes]
    return fit or [min(trials, key=lambda trial: trial.memory_bytes)]


def better_half(trials: Sequence[Trials]) -> list[Trials]:
    """Returns the better half by the last round; of choices that one trial cannot tell apart, the smaller.

    A choice whose rate is only known as a lower bound ranks with the best.
    """
    best = max(trial.last for trial in trials)

    def rank(trial: Trials) -> tuple[float, Choice]:
        is_as_good = trial.at_least or trial.last >= (1 - TELLABLE) * best
        return (-best if is_as_good else -trial.last), trial.choice

    return sorted(trials, key=rank)[: (len(trials) + 1) // 2]


def spread(trial: Trials, first: int) -> float:
    """Returns how far the rounds from ``first`` on differ from their median at most."""
    values = [goodput for number, goodput in trial.goodputs.items() if number >= first]
    middle = median(values)
    return max(abs(value - middle) for value in values) / middle if middle else 0.0


def same(trials: Iterable[Trials], noise: float) -> list[Trials]:
    """Returns the trials that cannot be told from the best, each compared in the rounds that both were in."""
    trials = list(trials)
    best = furthest(trials)[0]
    bound = 1 - max(noise, TELLABLE)

    def is_as_good(trial: Trials) -> bool:
        its, best_ones = trial.beside(best)
        return trial.at_least or its >= bound * best_ones

    return [trial for trial in trials if is_as_good(trial)]


def furthest(trials: Iterable[Trials]) -> list[Trials]:
    """Returns the choices sorted by the round that they reached, then by goodput; without a figure, last."""
    return sorted(trials, key=lambda trial: (bool(trial.invalid), -len(trial.goodputs), -trial.goodput))
