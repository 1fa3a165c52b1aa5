"""Figures from rounds: ratios, noise, goodput, errors, and CPU time of the processes of a server."""

from __future__ import annotations

import json
import math
import os
import random
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from adyton import _processes
from adyton._processes import Busy, busy
from adyton.compare.peers import read_peers
from adyton.compare.results.figures import interval, is_known, noise, ratios, verdict
from adyton.compare.results.report import FIGURES, Page, finite, markdown, number, text
from adyton.compare.results.rows import Row, Shot
from adyton.compare.results.times import Time, percentile_us
from adyton.compare.rounds import Pace, threads_of
from adyton.compare.running import Seats, Size, seated, siblings_of
from adyton.compare.scenarios import CONCURRENCY, MECHANISMS, SCENARIOS, SLOW, Scenario
from adyton.compare.spent import Spent

from bench.schema import faults
from compare.reports import report

if TYPE_CHECKING:
    from collections.abc import Iterator

PEER = read_peers()[0]
PUBLISHED = Pace.publish(math.inf, CONCURRENCY, [Row(PEER, Size.usual(1))])
NEVER = Time(math.inf, math.inf)
FAMILY = """
import os, subprocess, sys, time
burn = "import time; end = time.process_time() + 0.2\\nwhile time.process_time() < end: pass"
subprocess.run([sys.executable, "-c", burn], check=True)
wait = "print('ready', flush=True); import time; time.sleep(60)"
subprocess.Popen([sys.executable, "-c", wait], start_new_session=True)
time.sleep(60)
"""


def test_ratios_are_those_of_rounds() -> None:
    """Rounds that only one of two peers has must not count."""
    assert [2.0, 1.5] == ratios({0: 10.0, 1: 7.0, 2: 9.0}, {0: 5.0, 2: 6.0, 3: 1.0})
    assert noise({0: 100.0, 1: 100.0}, {0: 104.0, 1: 100.0}) == pytest.approx(0.04)
    assert noise({}, {0: 1.0}) is None


@pytest.mark.parametrize("count", [6, 7, 10, 14])
def test_confidence(count: int) -> None:
    """The interval must contain the true median as often as its confidence says, even of few values."""
    chance = random.Random(count)
    samples = [[math.exp(chance.gauss(0, 0.3)) for _ in range(count)] for _ in range(300)]
    hits = sum(low <= 1 <= high for low, high in map(interval, samples))

    # Three standard deviations below 95 %: the seed makes it the same each time.
    assert hits / len(samples) > 0.95 - 3 * math.sqrt(0.95 * 0.05 / len(samples))
    assert all(low > min(sample) for sample in samples[:20] for low, _ in [interval(sample)]) == (count > 8)


def test_what_is_a_difference() -> None:
    """A ratio within the noise between two equal peers must count as no difference."""
    same, other = [0.99, 1.02, 1.0, 0.98, 1.01, 1.0], [1.2, 1.22, 1.19, 1.21, 1.2, 1.23]
    low, high = interval(other)

    assert 1.19 <= low < high <= 1.23
    assert (0.9, 1.1) == interval([1.0, 0.9, 1.1])
    assert ["no difference", "more", "no difference", "less"] == [
        verdict(same, 0.02),
        verdict(other, 0.02),
        verdict(other, 0.25),
        verdict([1 / ratio for ratio in other], 0.02),
    ]
    assert ["too few rounds", ""] == [verdict(other[:4], 0.02), verdict([], 0.02)]


def test_what_is_known() -> None:
    """Six rounds that agree must be enough to know a rate; fewer rounds, or rounds that differ, must not."""
    agree, differ = [100.0, 102.0, 99.0, 101.0, 100.0, 100.0], [100.0, 120.0, 80.0, 110.0, 95.0, 100.0]

    assert [True, False, False] == [is_known(rates, 0.03) for rates in (agree, agree[:5], differ)]
    assert is_known(differ, 0.25)
    assert is_known([0.0] * 6, 0.03)


def test_noise_is_that_of_the_median() -> None:
    """One odd round must weigh less among many rounds than among few; the second peer may be the slower."""
    again = dict.fromkeys(range(9), 100.0) | {4: 150.0}

    assert 0.5 == noise(dict.fromkeys(range(4, 6), 100.0), again)
    assert 0.0 == noise(dict.fromkeys(range(9), 100.0), again)
    assert 0.25 == pytest.approx(noise({0: 100.0}, {0: 80.0}))
    assert math.inf == noise({0: 100.0}, {0: 0.0})


def test_shot() -> None:
    """Pages that are loaded at the same time must add up; late, wrong and unsent requests are errors."""
    shot = Shot([report(), report()], cpu_s=0.17, memory_bytes=2**21)

    assert 160.0 == shot.rate
    assert 60 == shot.errors
    assert 144.0 == pytest.approx(shot.goodput)
    assert 8.0 == pytest.approx(shot.megabytes)
    assert 100 * 160 / 240 == pytest.approx(shot.answered_percent)
    assert 1000.0 == pytest.approx(shot.cpu_us)
    # Of 120 requests that were due, 60 are 75 % of the 80 that were answered; 30 will never be answered.
    assert (Time(4.0, 4.0), NEVER) == (shot.percentile_ms("p50_us"), shot.percentile_ms("p99_us"))
    assert (240, 240.0) == (shot.due, shot.offered)
    assert 10 == Shot([report(never_sent=10)], 0.0, None).errors, "those were due at the very end"
    assert 2.0 == shot.memory_mib


def test_at_least() -> None:
    """If the load was at its own limit, the rate must be told as a lower bound, and not be compared."""
    peer = next(peer for peer in read_peers() if peer.key == "adyton-wsgi")
    limited = report(invalid=[{"gate": "generator", "why": "the generator was 95 % busy"}])
    rows = [Row(peer, Size.usual(1), again=again) for again in (False, True)]
    for row, each in zip(rows, (report(), limited), strict=True):
        row.shots[""] = {0: Shot([each], cpu_s=0.1, memory_bytes=1)}
    page = Page.of(CONCURRENCY, rows, PUBLISHED, Seats.of_this_machine(), {peer.key: "1.0"})
    first, again = sorted(page.lines, key=lambda line: line.name)

    assert (False, True) == (first.is_least, again.is_least)
    assert again.to_ours is None
    assert "> 80" in text(page)
    assert "the load was at its own limit" in text(page)


def test_beside_others_within_a_round() -> None:
    """A ratio to another peer must be the median of the rounds that both have; too few tell nothing."""
    ours, static, floor = (
        next(peer for peer in read_peers() if peer.key == key)
        for key in ("adyton-wsgi", "apache-static", "floor")
    )
    rates = {
        "ours": (ours, {0: 10.0, 1: 40.0, 2: 90.0}),
        "again": (ours, {0: 10.0, 1: 40.0, 2: 90.0}),
        "static": (static, {0: 20.0, 1: 100.0, 2: 150.0, 3: 1.0}),
        "floor": (floor, {0: 20.0, 1: 400.0, 3: 1.0}),
    }
    rows = [Row(peer, Size.usual(1), again=name == "again") for name, (peer, _) in rates.items()]
    for row, (_, by_round) in zip(rows, rates.values(), strict=True):
        row.shots[""] = {
            number: Shot([report(rate=rate)], cpu_s=rate, memory_bytes=1) for number, rate in by_round.items()
        }
    versions = {row.peer.key: "1.0" for row in rows}
    page = Page.of(CONCURRENCY, rows, PUBLISHED, Seats.of_this_machine(), versions)
    lines = {line.name: line for line in page.lines}

    assert 500.0 == lines[ours.name].of_thousand
    assert 0.3 == pytest.approx(lines[ours.name].of_floor)
    assert 1000.0 == lines[static.name].of_thousand
    assert "2.00 (too few rounds)" in text(page)


def test_half_load_at_its_limit() -> None:
    """A load that is at its own limit at half of the rate must be noticed, too."""
    limited = report(invalid=[{"gate": "generator", "why": "the generator was 95 % busy"}])
    shots = [Shot([report()], cpu_s=0.0, memory_bytes=None, half=[half]) for half in (report(), limited)]

    assert [False, True] == [shot.is_least for shot in shots]


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_threads_of_the_load(scenario: Scenario) -> None:
    """The load must use all of its CPUs, unless it has fewer connections."""
    few, many = (Seats(frozenset({0}), frozenset(range(cpus))) for cpus in (1, 8))
    for options in (words for load in scenario.loads for words in (load.options, load.half or load.options)):
        assert 1 == threads_of(options, few)
        assert min(8, int(options[options.index("-c") + 1])) == threads_of(options, many)


def test_times_are_those_at_half_load() -> None:
    """If half of the load was offered, times count from when its requests were due."""
    counts = {
        "sent": 999,
        "right": 999,
        "wrong_status": 0,
        "wrong_body": 0,
        "connection_error": 0,
        "timeout": 0,
        "in_flight": 0,
    }
    times = {"count": 999, "p50_us": 4_000.0, "p99_us": 8_000.0}
    half = report(response=times, counts=counts, never_sent=0)
    shot = Shot([report()], cpu_s=0.0, memory_bytes=None, half=[half])

    assert (Time(4.0, 4.0), Time(8.0, 8.0)) == (shot.percentile_ms("p50_us"), shot.percentile_ms("p99_us"))
    service = {"count": 999, "p50_us": 2_000.0, "p99_us": 9_000.0}
    lost = report(service=service, counts=counts | {"timeout": 1}, never_sent=0)
    # One more in a thousand has no answer.
    slower = tuple(Shot([lost], 0.0, None).percentile_ms(name).least for name in ("p50_us", "p99_us"))
    assert pytest.approx((2.0025, 9.0495), abs=1e-3) == slower
    assert shot.memory_mib is None
    assert 30 == shot.errors


def test_no_answer_has_no_time() -> None:
    """A missing answer must have an infinite time, and not 0; in JSON the time is `never`."""
    none = {"count": 0, "p50_us": 0.0, "p99_us": 0.0}
    shot = Shot([report(), report(service=none)], cpu_s=0.0, memory_bytes=None)

    assert NEVER == shot.percentile_ms("p50_us")
    assert "never" == number(math.inf, ".2f")
    assert {"p50_ms": "never", "rate": 1.0} == finite({"p50_ms": math.inf, "rate": 1.0})


def counted(right: int, under_way: int = 0, lost: int = 0) -> dict[str, int]:
    """Make the counts of a report."""
    wrong = {"wrong_status": 0, "wrong_body": 0, "connection_error": 0, "timeout": lost}
    return {"sent": right + under_way + lost, "right": right, "in_flight": under_way, **wrong}


STEADY = {"count": 10_000, "p50_us": 2_000.0, "p99_us": 9_000.0}
QUEUED = {"count": 339, "p50_us": 388_000.0, "p99_us": 503_000.0}


@pytest.mark.parametrize(
    ("response", "under_way", "oldest_ms", "never_sent", "lost", "p50", "p99"),
    [
        pytest.param(STEADY, 8, 9, 0, 0, (2.0, 2.0), (9.0, 9.0), id="as at any end"),
        pytest.param(STEADY, 8, 20, 0, 0, (2.0, 2.0), (9.04, 9.04), id="a few hang"),
        pytest.param(STEADY, 900, 400, 0, 0, (2.2, 2.2), (352.0, math.inf), id="many hang"),
        pytest.param(STEADY, 900, 400, 0, 110, (2.3, 2.3), (397.5, math.inf), id="many hang, some failed"),
        pytest.param(STEADY, 900, 400, 0, 112, (2.3, 2.3), (math.inf, math.inf), id="more failed"),
        pytest.param(STEADY, 8, 9, 65, 0, (2.0, 2.0), (9.3, 9.3), id="never sent"),
        pytest.param(QUEUED, 64, 272, 23, 0, (2.64, 2.64), (503.0, math.inf), id="does not keep up"),
        pytest.param(STEADY | {"count": 0}, 64, 900, 0, 0, (450.0, math.inf), (891.0, math.inf), id="hangs"),
        pytest.param(STEADY | {"count": 0}, 64, 900, 200, 0, (math.inf,) * 2, (math.inf,) * 2, id="silent"),
    ],
)
def test_what_has_no_answer_yet(
    response: dict[str, Any],
    under_way: int,
    oldest_ms: int,
    never_sent: int,
    lost: int,
    p50: tuple[float, float],
    p99: tuple[float, float],
) -> None:
    """A request under way at the end must take at least its age; a failed request never has an answer."""
    each = report(
        response=response,
        counts=counted(response["count"], under_way, lost),
        never_sent=never_sent,
        asked={"connections": 64},
        oldest_in_flight_ms=oldest_ms,
    )
    told = [percentile_us(each, name) / 1000 for name in ("p50_us", "p99_us")]

    assert [pytest.approx(p50, rel=0.03), pytest.approx(p99, rel=0.01)] == [
        (time.least, time.most) for time in told
    ]


@pytest.fixture
def family() -> Iterator[int]:
    """Start a process that has waited for one child, and has a second one in another session."""
    with subprocess.Popen(
        [sys.executable, "-c", FAMILY], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as leader:
        assert leader.stdout
        assert "ready\n" == leader.stdout.readline()
        yield leader.pid
        for stat in _processes.of_sessions({leader.pid}):
            os.kill(stat.pid, signal.SIGKILL)


UNSEEN = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print("ready", flush=True)
input()
for _ in range(2):
    if os.fork() == 0:
        end = time.process_time() + 0.3
        while time.process_time() < end:
            pass
        os._exit(0)
    try:
        os.wait()
    except ChildProcessError:
        pass
print("done", flush=True)
time.sleep(60)
"""


def test_processes_that_end_unseen() -> None:
    """CPU time of children that nobody waits for must be found in the time of the CPUs; no process has it."""
    cpu = max(os.sched_getaffinity(0))
    seats = Seats(frozenset({cpu}), frozenset(os.sched_getaffinity(0) - {cpu}))
    with (
        seated(seats.server),
        subprocess.Popen(
            [sys.executable, "-c", UNSEEN],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as leader,
    ):
        assert leader.stdin
        assert leader.stdout
        assert "ready\n" == leader.stdout.readline()
        before = Spent.now({leader.pid}, seats)
        leader.stdin.write("\n")
        leader.stdin.flush()
        assert "done\n" == leader.stdout.readline()
        spent = Spent.now({leader.pid}, seats).since(before)
        leader.kill()

    assert spent.of_peer(seats, forks=False) < 0.3
    assert spent.of_peer(seats, forks=True) > 0.5


def test_foreign_load() -> None:
    """CPUs that were busy with neither peer nor load must be told, if they can be known."""
    apart, together = Seats(frozenset({0}), frozenset({1})), Seats(frozenset({0}), frozenset({0}))
    spent = Spent(2.0, peer_s=0.5, load_s=0.6, server=Busy(1.1, 0.4), other=Busy(0.7, 0.9))

    assert 0.3 == pytest.approx(spent.foreign_cpus(apart, forks=False))
    assert 0.05 == pytest.approx(spent.foreign_cpus(apart, forks=True))
    assert 0.0 == pytest.approx(spent.foreign_cpus(together, forks=False))
    assert (1.5, 0.5) == (spent.of_peer(apart, forks=True), spent.of_peer(together, forks=True))


def test_busy_cpus() -> None:
    """A CPU's time must grow while the CPU works, and all CPUs together must have at least as much time."""
    cpu = max(os.sched_getaffinity(0))
    before = busy({cpu})
    with seated(frozenset({cpu})):
        end = time.process_time() + 0.3
        while time.process_time() < end:
            pass

    assert (busy({cpu}) - before).programs_s > 0.2

    one = busy({cpu})

    assert busy(range(os.cpu_count() or 1)).programs_s >= one.programs_s
    assert Busy(0.0, 0.0) == busy(())


@pytest.mark.parametrize(
    ("cores", "server"),
    [
        ([{0, 4}, {1, 5}, {2, 6}, {3, 7}], {0, 4, 1, 5}),
        ([{0, 1}, {2, 3}], {0, 1}),
        ([{0}, {1}, {2}], {0}),
        ([{0, 1}], {0}),
        ([{0}], {0}),
    ],
)
def test_seats(cores: list[set[int]], server: set[int]) -> None:
    """Hyper-threads of a core must not be separated, however they are numbered, unless there is one core."""
    every = frozenset().union(*cores)
    seats = Seats.halves(every, lambda cpu: next(frozenset(core) for core in cores if cpu in core))

    assert server == seats.server
    assert (every - server or every) == seats.load
    assert seats.are_apart == (len(every) > 1)
    assert all(cpu in siblings_of(cpu) for cpu in os.sched_getaffinity(0))


def test_processes_of_a_server(family: int) -> None:
    """All processes of a server must count, with children that have ended; shared memory counts once."""
    memory = _processes.memory_bytes({family})

    assert 2 == len(_processes.of_sessions({family}))
    assert _processes.cpu_s({family}) > 0.2
    assert memory is not None
    assert memory > 2**20
    assert [] == _processes.of_sessions({2**22 + 1})


def test_noise_of_each_figure() -> None:
    """The page must tell the noise of each figure, or, with few rounds, that it is unknown."""
    peer = next(peer for peer in read_peers() if peer.key == "adyton-wsgi")
    rows = [Row(peer, Size.usual(1), again=again) for again in (False, True)]
    for row, cpu_s in zip(rows, (0.1, 0.15), strict=True):
        row.shots[""] = {number: Shot([report()], cpu_s=cpu_s, memory_bytes=1) for number in range(6)}
    seats, versions = Seats.of_this_machine(), {peer.key: "1.0"}
    page = Page.of(CONCURRENCY, rows, PUBLISHED, seats, versions)
    for row in rows:
        row.shots[""].pop(0)
    few = Page.of(CONCURRENCY, rows, PUBLISHED, seats, versions)

    assert {"requests/s": 0.0, "CPU us": pytest.approx(0.5)}.items() <= page.noise[""].items()
    assert "CPU us 50.0%" in text(page)
    assert {None} == set(few.noise[""].values())
    for shown in (text(few), markdown(few)):
        assert "is unknown: fewer than 6 rounds." in shown
        assert "30 of 600" not in shown
        assert "150 of 600" in shown


def test_commands_are_whole() -> None:
    """Versions and command lines must be on the page, with the sizes filled in."""
    rows = [Row(peer, Size(3, 7, 5)) for peer in read_peers()]
    page = Page.of(
        CONCURRENCY, rows, PUBLISHED, Seats.of_this_machine(), {row.peer.key: "4.2" for row in rows}
    )

    for shown in (text(page), markdown(page)):
        assert "Adyton, WSGI 4.2: " in shown
        assert "--processes 3 --threads 7" in shown
        assert "--worker-class sync --worker-tmp-dir /dev/shm --workers 5 " in shown
    assert [] == [line.command for line in page.lines if "{processes}" in line.command]
    assert [] == re.findall(r"\{(?:processes|threads|workers|apache_threads)\}", text(page))


def test_compared_by_what_is_asked() -> None:
    """If the rate is given, peers must be compared with ours by their times, even if these are infinite."""
    ours, other = (
        next(peer for peer in read_peers() if peer.key == key) for key in ("adyton-wsgi", "bjoern")
    )
    load = SLOW.loads[0]
    times = {"ours": 2_000.0, "again": 2_000.0, "other": 5_000.0, "never": None}
    rows = [
        Row(ours, Size.usual(1)),
        Row(ours, Size.usual(1), again=True),
        Row(other, Size.usual(1)),
        Row(replace(other, key="never", name="never"), Size.usual(1)),
    ]
    for row, p99_us in zip(rows, times.values(), strict=True):
        service = {"count": 80 if p99_us else 0, "p50_us": 1.0, "p99_us": p99_us}
        shot = Shot([report(service=service, counts=counted(80), never_sent=0)], cpu_s=0.1, memory_bytes=1)
        row.shots[load.name] = dict.fromkeys(range(6), shot)
    page = Page.of(
        SLOW,
        rows,
        PUBLISHED,
        Seats.of_this_machine(),
        dict.fromkeys(("adyton-wsgi", "bjoern", "never"), "1"),
    )
    beside = {line.name: (line.verdict, line.to_ours) for line in page.lines if line.load == load.name}

    assert ("no difference", (1.0, 1.0, 1.0)) == beside["Adyton, WSGI (again)"]
    assert ("more", (2.5, 2.5, 2.5)) == beside["bjoern"]
    assert ("more", (math.inf,) * 3) == beside["never"]
    assert "`beside ours` is the ratio of `p99 ms`" in text(page)
    assert "never (never..never)" in text(page)
    assert [["never"] * 3] == [
        line["to_ours"]
        for line in page.as_json()["lines"]
        if (line["name"], line["load"]) == ("never", "alone")
    ]


def test_compared_with_bounds() -> None:
    """A ratio to a time with only a lower bound must have no upper bound; two such times tell nothing."""
    ours, other = (
        next(peer for peer in read_peers() if peer.key == key) for key in ("adyton-wsgi", "bjoern")
    )
    load = SLOW.loads[0]
    known, least = (
        Shot(
            [
                report(
                    service={"count": 80, "p50_us": 1_000.0, "p99_us": 5_000.0},
                    counts=counted(80, under_way=under_way),
                    never_sent=0,
                    oldest_in_flight_ms=10 * under_way,
                )
            ],
            cpu_s=0.1,
            memory_bytes=1,
        )
        for under_way in (0, 10)
    )

    def beside(shots: list[Shot], of_ours: list[Shot]) -> tuple[str, str]:
        rows = [Row(ours, Size.usual(1)), Row(ours, Size.usual(1), again=True), Row(other, Size.usual(1))]
        for row, each in zip(rows, (of_ours, of_ours, shots), strict=True):
            row.shots[load.name] = dict(enumerate(each))
        versions = {ours.key: "1", other.key: "1"}
        page = Page.of(SLOW, rows, PUBLISHED, Seats.of_this_machine(), versions)
        assert [] == faults(json.loads(json.dumps(page.as_json())), "compare")
        line = next(line for line in page.lines if (line.name, line.load) == (other.name, load.name))
        return FIGURES["p99 ms"](line), FIGURES["beside ours"](line)

    assert ("5.00", "no difference (1.00..1.00)") == beside([known] * 6, [known] * 6)
    assert ("> 91.00", "> 18.20 (18.20..never)") == beside([least] * 6, [known] * 6)
    # One round does not move the median, but the interval contains the round.
    assert ("5.00", "no difference (1.00..never)") == beside([known] * 5 + [least], [known] * 6)
    assert ("5.00", "no difference (0.00..1.00)") == beside([known] * 6, [known] * 5 + [least])
    assert ("> 48.00", "not known (0.00..never)") == beside([known, least] * 3, [least, known] * 3)
    assert ("5.00", "") == beside([known] * 6, [least] * 6), "how far two runs of it differ is not known"


def test_facts() -> None:
    """A page must tell the machine and the build of its figures, and the classic figures beside them."""
    row = Row(next(peer for peer in read_peers() if peer.key == "mod-python"), Size.usual(1))
    row.shots[""] = {0: Shot([report()], cpu_s=0.1, memory_bytes=1)}
    page = Page.of(MECHANISMS, [row], PUBLISHED, Seats.of_this_machine(), {"mod-python": "3.5"})

    assert re.search(r"- machine: .+, \d+ CPUs, \d+\.\d GiB", markdown(page))
    assert re.search(r"- adyton: \S+, core [0-9a-f]{12}\n", markdown(page))
    assert (400, None) == (page.lines[0].classic, page.lines[0].of_thousand)
    assert "classic" in text(page)
