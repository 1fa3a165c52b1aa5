"""The search: which choices go on, which cannot be told apart, and a whole run."""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Self

import pytest
from adyton._command import uninterrupted
from adyton._processes import Stat, of_sessions, stat_of
from adyton.tune import main, search
from adyton.tune.choice import Choice
from adyton.tune.command import size
from adyton.tune.model import Cost, Limits, doubled
from adyton.tune.report import as_json, markdown, reason, table
from adyton.tune.search import Found, InvalidError, Search, Task, Trials, better_half, same, whole_ms
from adyton.tune.served import Served, ServeError, Waits

from bench.schema import faults
from support.server import until

if TYPE_CHECKING:
    from collections.abc import Callable

APPLICATION = Path(__file__).with_name("application.py")
TRIES = 8
"""How often a test measures if a busy machine may spoil the measurement."""


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """Run `adyton tune` to its end."""
    command = (sys.executable, "-m", "adyton", "tune", *words)
    return subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)


def trial(processes: int, threads: int, *goodputs: float) -> Trials:
    """Return a choice with a rate for each round, from the first on."""
    return Trials(Choice(processes, threads), 0.0, dict(enumerate(goodputs)))


def test_smaller_ones_go_on() -> None:
    """Of choices that one trial cannot tell apart, the smaller ones must go on; worse ones must not."""
    trials = [trial(4, 1, 100), trial(2, 8, 97), trial(2, 4, 98), trial(1, 1, 60), trial(8, 8, 90)]

    assert [Choice(2, 4), Choice(2, 8), Choice(4, 1)] == [each.choice for each in better_half(trials)]


def test_same() -> None:
    """A choice within the noise of the best, over rounds that both have, must count as equal."""
    best, near, far = trial(4, 1, 100, 100, 100), trial(2, 1, 99, 97, 101), trial(1, 1, 80)

    assert [best, near] == same([far, best, near], noise=0.03)
    assert [far, best, near] == same([far, best, near], noise=0.25)


def test_whole_ms() -> None:
    """The goal must be rounded up to whole milliseconds."""
    assert (0.05, 0.051, 0.001) == tuple(whole_ms(seconds) for seconds in (0.05, 0.0502, 0.0001))


class Machine:
    """A simulated machine: each choice has its rate, and loads take only simulated time."""

    def __init__(self, rates: dict[Choice, float]) -> None:
        """Begin without a server."""
        self.rates = rates
        self.memory_bytes: dict[Choice, int] = {}
        self.late: dict[Choice, float] = {}
        """The part of the answers that comes too late."""
        self.served: list[Choice] = []
        self.loads: list[tuple[int, int]] = []
        """Loads: the number of the server, from 1, and the number of requests at once."""
        self.deadly: set[Choice] = set()
        """Choices whose workers die under a load."""
        self.now_s = 0.0
        self.start_s, self.run_s = 0.0, 0.0
        """Time that a start takes, and time that a load takes beside its own length."""

    def bench(self, _url: str, options: tuple[str, ...]) -> dict[str, Any]:
        """Return a report as `adyton bench` writes it."""
        load = int(options[1])
        self.loads.append((len(self.served), load))
        times_ms = [int(options[options.index(name) + 1][:-2]) for name in ("-d", "--warm-up")]
        self.now_s += self.run_s + sum(times_ms) / 1000
        rate = min(self.rates[self.served[-1]], 100.0 * load)
        offered = next((float(word[7:]) for word in options if word.startswith("--rate=")), rate)
        times = {"mean_us": 10_000.0, "p99_us": 20_000.0}
        return {
            "invalid": [],
            "rate": min(rate, offered),
            "asked": {"rate": offered},
            "service": times,
            "response": times,
            "seconds": 1.0,
            "in_time": min(rate, offered) * (1 - self.late.get(self.served[-1], 0.0)),
            "oldest_in_flight_ms": 0,
            "server": {
                "cpu_us_per_request": 10_000.0,
                "pss_bytes": self.memory_bytes.get(self.served[-1], 1),
            },
            "counts": {"sent": min(rate, offered), "right": min(rate, offered), "in_flight": 0},
            "never_sent": 0,
        }

    def alone(self) -> list[int]:
        """Return the loads of the first server."""
        return [load for number, load in self.loads if number == 1]

    def status(self) -> dict[str, Any]:
        """Return what `adyton status` says of the machine now."""
        dead = self.served[-1] in self.deadly
        return {"deaths": {"left": 2 * dead, "told": 1, "not_started": 1}, "workers": [{"pid": 1}]}


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Machine:
    """A machine on which four processes of one thread serve most, and more threads add nothing."""
    rates = {
        Choice(processes, threads): min(processes, 4) * 100.0
        for processes in (1, 2, 4, 5, 8)
        for threads in doubled(64)
    }
    made = Machine(rates)

    class Fake(Served):
        def __init__(self, _target: str, choice: Choice, _settings: tuple[str, ...]) -> None:
            super().__init__("http://nowhere", tmp_path, tmp_path / "log")
            made.served.append(choice)
            made.now_s += made.start_s

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def status(self) -> dict[str, Any]:
            return made.status()

        def interpreter_waits(self) -> Waits:
            return Waits(0, 0.0)

        def memory(self) -> tuple[int, int]:
            return 10 << 20, 20 << 20

    monkeypatch.setattr(search, "served", Fake)
    monkeypatch.setattr(search, "bench", made.bench)
    monkeypatch.setattr(search, "time", SimpleNamespace(monotonic=lambda: made.now_s))
    (tmp_path / "log").write_text("adyton: listening\nerror: worker 1 ended by itself with status 3\n")
    return made


def task(**others: object) -> Task:
    """Return a task for a machine of four CPUs."""
    limits = Limits(cpus=4, memory_bytes=2**40, processes_max=8, threads_max=64)
    values: dict[str, Any] = {"target": "x:y", "page": "/", "settings": (), "check": "length", "goal_s": None}
    return Task(**(values | {"limits": limits, "total_s": 60.0} | others))


def test_smallest_of_the_best(machine: Machine) -> None:
    """Of choices that serve equally much, the smallest must win, be confirmed, and be in every form."""
    told: list[str] = []
    found = Search(task(), told.append).run()

    assert Choice(4, 1) == found.winner.choice
    assert len(found.equal) > 1
    assert found.holds
    assert machine.served[-1] == found.winner.choice
    assert "cannot be told" in table(found)
    assert "this one" in markdown(found)
    assert "\n\n\n" not in markdown(found) + table(found)
    assert "\n\n```text\n" in markdown(found)
    assert {"processes": 4, "threads": 1, "holds": True}.items() <= as_json(found).items()
    assert told


def test_clear_winner(machine: Machine) -> None:
    """A choice that serves clearly more wins, although it is larger."""
    machine.rates[Choice(8, 1)] = 700.0
    found = Search(task(), lambda _: None).run()

    assert Choice(8, 1) == found.winner.choice
    assert [found.winner] == found.equal
    assert "more in time than" in table(found)


def test_late_answers_do_not_count(machine: Machine) -> None:
    """The choice that serves most does not win if most of its answers come too late."""
    machine.rates[Choice(8, 1)], machine.late[Choice(8, 1)] = 700.0, 0.7
    found = Search(task(), lambda _: None).run()
    late = next(trial for trial in found.trials if trial.choice == Choice(8, 1))

    assert Choice(4, 1) == found.winner.choice
    assert late not in found.equal
    assert 210.0 == pytest.approx(late.goodput)


def test_second_fits(machine: Machine) -> None:
    """The winner must be compared with the best other choice that fits, not with one that does not."""
    machine.rates |= {Choice(8, 1): 700.0, Choice(5, 1): 600.0}
    machine.memory_bytes[Choice(8, 1)] = 2**40 + 1
    found = Search(task(), lambda _: None).run()

    assert Choice(5, 1) == found.winner.choice
    assert "than 8 processes" not in table(found)


def test_needs_too_much_memory(machine: Machine) -> None:
    """A choice that turns out to need too much memory must not win, however much it serves."""
    machine.rates[Choice(8, 1)] = 700.0
    machine.memory_bytes[Choice(8, 1)] = 2**40 + 1
    found = Search(task(), lambda _: None).run()

    assert Choice(4, 1) == found.winner.choice
    assert found.fits
    assert "does not fit" in table(found)


def test_nothing_fits(machine: Machine) -> None:
    """If even a single process needs too much memory, this must be told."""
    limits = Limits(cpus=4, memory_bytes=2**20, processes_max=8, threads_max=1)
    machine.memory_bytes[Choice(1, 1)] = 2**24
    found = Search(task(limits=limits), lambda _: None).run()

    assert (Choice(1, 1), False) == (found.winner.choice, found.fits)
    assert "It does NOT fit: it needs 16 MiB, and may use 1 MiB" in table(found)
    assert "It does NOT fit" in markdown(found)
    assert as_json(found)["fits"] is False


def test_not_confirmed(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the winner misses its goal in an open loop, this must be told."""
    honest = machine.bench

    def slow(url: str, options: tuple[str, ...]) -> dict[str, Any]:
        report = honest(url, options)
        is_open = any(word.startswith("--rate") for word in options)
        return report | ({"in_time": 0.9 * report["in_time"]} if is_open else {})

    monkeypatch.setattr(search, "bench", slow)
    found = Search(task(), lambda _: None).run()

    assert not found.holds
    assert "NOT confirmed" in table(found)


def test_lower_rates_are_tried(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the winner is not confirmed, lower rates must be tried until one holds; the result must say so."""
    honest = machine.bench

    def slow_above(url: str, options: tuple[str, ...]) -> dict[str, Any]:
        report = honest(url, options)
        rate = next((float(word[7:]) for word in options if word.startswith("--rate=")), 0.0)
        return report | ({"in_time": 0.9 * report["in_time"]} if rate > 200 else {})

    monkeypatch.setattr(search, "bench", slow_above)
    found = Search(task(), lambda _: None).run()

    assert not found.holds
    assert [224, 156] == [report["asked"]["rate"] for report in found.lower]
    assert "90.0 % in time, p99 20.0 ms. It holds at 156 requests/s: 100.0 % in time." in table(found)
    monkeypatch.setattr(search, "bench", honest)
    assert [] == Search(task(), lambda _: None).run().lower


def test_lines_end_between_words(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """No sentence is wider than the terminal, and no word of it is lost."""
    spoil(machine, monkeypatch, "foreign-load", when=lambda _: True)
    machine.deadly = {Choice(5, 1)}
    found = Search(task(), lambda _: None).run()
    narrow, wide = table(found, 80), table(found)

    assert narrow.split() == wide.split()
    assert max(map(len, wide.splitlines())) > 100
    figures = {line for line in wide.splitlines() if not line.endswith(".")}
    assert all(len(line) <= 80 for line in narrow.splitlines() if line not in figures)


@pytest.mark.parametrize(
    ("more", "holds"),
    [
        ({"connection_error": 10}, False),
        ({"timeout": 10}, False),
        ({"wrong_status": 10}, False),
        ({"never_sent": 10}, False),
        ({"in_flight": 10, "oldest_in_flight_ms": 5_000}, False),
        ({"in_flight": 10}, True),
        ({"connection_error": 1}, True),
        ({"never_sent": 1}, True),
    ],
)
def test_every_request_counts(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, more: dict[str, int], *, holds: bool
) -> None:
    """A request without a right answer is not in time, whatever the reason, unless it has just begun."""
    honest = machine.bench

    def bench(url: str, options: tuple[str, ...]) -> dict[str, Any]:
        report = honest(url, options)
        if any(word.startswith("--rate") for word in options):
            beside = {"never_sent", "oldest_in_flight_ms"}
            others = {name: count for name, count in more.items() if name not in beside}
            report["counts"] |= others
            report["counts"]["sent"] += sum(others.values())
            report |= {name: count for name, count in more.items() if name in beside}
        return report

    monkeypatch.setattr(search, "bench", bench)

    assert holds == Search(task(), lambda _: None).run().holds


def spoil(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, gate: str, *, when: Callable[[tuple[str, ...]], bool]
) -> None:
    """Make the reports of some loads invalid, as a gate of that name does."""
    honest = machine.bench

    def bench(url: str, options: tuple[str, ...]) -> dict[str, Any]:
        reasons = [{"gate": gate, "why": f"{gate} was seen"}] if when(options) else []
        return honest(url, options) | {"invalid": reasons}

    monkeypatch.setattr(search, "bench", bench)


@pytest.mark.parametrize("gate", ["steady", "steal", "answers", "little", "listen-queue", "count"])
def test_invalid_runs_are_no_figures(machine: Machine, monkeypatch: pytest.MonkeyPatch, gate: str) -> None:
    """A choice whose runs are always invalid must drop out, with the reason, however much it serves."""
    machine.rates[Choice(8, 1)] = 700.0
    runs = []

    def of_the_best(options: tuple[str, ...]) -> bool:
        is_best = machine.served[-1] == Choice(8, 1)
        runs.extend([options] if is_best else [])
        return is_best

    spoil(machine, monkeypatch, gate, when=of_the_best)
    found = Search(task(), lambda _: None).run()
    [out] = [trial for trial in found.trials if trial.invalid]
    [row] = [line for line in table(found).splitlines() if line.startswith("8 processes x 1 thread ")]

    assert (Choice(8, 1), {}) == (out.choice, out.goodputs)
    assert Choice(4, 1) == found.winner.choice
    assert search.TRIES == len(runs)
    assert re.search(rf" INVALID +0\.0 +{gate} was seen$", row)
    assert "| INVALID |" in markdown(found)
    assert [f"{gate} was seen"] == [each["invalid"] for each in as_json(found)["trials"] if each["invalid"]]
    assert Choice(8, 1) not in {trial.choice for trial in found.equal}


def test_invalid_runs_are_repeated(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that the machine has spoilt for a moment must be repeated."""
    machine.rates[Choice(8, 1)] = 700.0
    runs = []

    def every_other(options: tuple[str, ...]) -> bool:
        runs.append(options)
        return len(runs) % 2 == 1

    spoil(machine, monkeypatch, "steal", when=every_other)
    found = Search(task(), lambda _: None).run()

    assert Choice(8, 1) == found.winner.choice
    assert found.holds
    assert "INVALID" not in table(found)
    assert runs[::2] == runs[1::2]


@pytest.mark.parametrize("gate", ["generator", "own-limits"])
def test_load_at_its_limit(machine: Machine, monkeypatch: pytest.MonkeyPatch, gate: str) -> None:
    """If the load was at its limit, the rate is a lower bound, so the choice may equal the best."""
    machine.rates |= {Choice(8, 1): 700.0, Choice(5, 1): 600.0}
    spoil(machine, monkeypatch, gate, when=lambda _: machine.served[-1] == Choice(5, 1))
    found = Search(task(), lambda _: None).run()

    assert Choice(5, 1) == found.winner.choice
    assert {Choice(5, 1), Choice(8, 1)} == {trial.choice for trial in found.equal}
    assert ">= 600" in table(found)
    assert ([], None) == (found.points, found.law)


def test_others_beside_are_a_doubt(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Foreign load in each run, such as a database, must be told as a doubt, but not stop the search."""
    spoil(machine, monkeypatch, "foreign-load", when=lambda _: True)
    found = Search(task(), lambda _: None).run()

    assert found.holds
    assert "Doubts" in table(found)
    assert ["foreign-load was seen"] == found.doubts


def test_nothing_measured(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """If no run can be used, nothing is found, and the reason is told."""
    monkeypatch.setattr("adyton.tune.command.interrupt_when_ended", lambda: None)
    spoil(machine, monkeypatch, "steady", when=lambda _: True)
    status, told = main(["x:y"]), capsys.readouterr()
    spoil(machine, monkeypatch, "late", when=lambda options: int(options[1]) > search.CROWD)

    assert (1, "") == (status, told.out)
    assert "INVALID: the cost of one request could not be measured: steady was seen" in told.err
    with pytest.raises(InvalidError, match=r"no choice that was left could be measured: .*: late was seen"):
        Search(task(), lambda _: None).run()


def test_every_file_is_written(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Each of several files is written, in its own format."""
    assert machine
    monkeypatch.setattr("adyton.tune.command.interrupt_when_ended", lambda: None)
    monkeypatch.setattr("adyton.tune.command.granted", lambda: (4, 2**40))
    page, data = tmp_path / "found.md", tmp_path / "found.json"
    main(["x:y", "--json", "-o", str(page), "-o", str(data)])

    assert page.read_text().startswith("# Processes and threads\n")
    assert capsys.readouterr().out == data.read_text()


def test_confirmation_is_invalid(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """An invalid open loop must confirm nothing, unless only wrong answers, which count anyway, spoil it."""

    def is_open(options: tuple[str, ...]) -> bool:
        return any(word.startswith("--rate") for word in options)

    spoil(machine, monkeypatch, "steal", when=is_open)
    spoilt = Search(task(), lambda _: None).run()
    spoil(machine, monkeypatch, "answers", when=is_open)
    counted = Search(task(), lambda _: None).run()

    assert not spoilt.holds
    assert "INVALID, because steal was seen." in table(spoilt)
    assert counted.holds
    assert "% in time." in table(counted)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_never_more_threads(machine: Machine, threads: int) -> None:
    """No server may have more threads than allowed, from the first request on."""
    limits = Limits(cpus=4, memory_bytes=2**40, processes_max=8, threads_max=threads)
    machine.rates = {Choice(count, each): 100.0 for count in (1, 2, 4, 5, 8) for each in (1, 2, 3, 4)}
    found = Search(task(limits=limits), lambda _: None).run()

    assert threads >= max(choice.threads for choice in machine.served)
    assert Choice(1, threads) == machine.served[0]
    assert ([1, threads] if threads > 1 else [1]) == machine.alone()
    assert (threads > 1) == ("one at a time" in table(found))


def test_choice_whose_workers_die(machine: Machine) -> None:
    """If the workers of a choice die, it must drop out, with the reason and their last words."""
    machine.rates[Choice(8, 1)], machine.deadly = 700.0, {Choice(8, 1)}
    found = Search(task(), lambda _: None).run()
    [out] = [trial for trial in found.trials if trial.invalid]

    assert Choice(8, 1) == out.choice
    assert Choice(4, 1) == found.winner.choice
    assert "2 workers died under the load: error: worker 1 ended by itself with status 3\n" in table(found)


def test_server_that_has_ended(tmp_path: Path) -> None:
    """If the server has ended, the message must have its last words, without the server's usual messages."""
    log = tmp_path / "log"
    log.write_text("ADY305 info: worker 1 serves\nout of luck\n")
    gone = Served("http://nowhere", tmp_path / "control.sock", log)

    for ask in (gone.alive, gone.interpreter_waits, gone.memory):
        with pytest.raises(ServeError, match=r"^the server has ended\nout of luck$"):
            ask()


def test_application_that_dies() -> None:
    """If the application ends its process, a sentence must say so, with its last words and status 1."""
    done = run(f"{APPLICATION}:dies", "--time", "20s")

    assert (1, "") == (done.returncode, done.stdout)
    assert re.match(r"adyton tune: (1 worker|\d+ workers) died under the load\n", done.stderr)
    assert "ended by itself with status 3" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("slump", [9_900.0, 9_000.0, 1.0])
def test_reason_is_of_the_table(slump: float) -> None:
    """The sentence must have the figures of the table and of the decision, however low one round was."""
    first, second = trial(4, 64, 12_000, 12_500, 12_200, slump), trial(3, 64, 9_300, 9_385, 9_400, 9_250)
    for each in (first, second):
        each.p99s_s.append(0.05)
    equal = same([first, second], noise=0.18)
    cost = Cost(0.02, 0.001, 0.001, 10 << 20, 8 << 20)
    found = Found(
        task(), cost, 0.2, 100, [first, second], first, equal, 0.18, [], None, {}, [], [], fits=True
    )

    assert [first] == equal
    assert "answers 30 % more in time than 3 processes x 64 threads" in reason(found)
    assert (12_100, 9_342.5) == (first.goodput, second.goodput)


@pytest.mark.parametrize("total_s", [30.0, 60.0, 180.0])
@pytest.mark.parametrize("is_spoilt", [False, True])
def test_keeps_to_its_time(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, total_s: float, *, is_spoilt: bool
) -> None:
    """The search must end in time, with all starts and loads, except for a repeated last run."""
    machine.start_s, machine.run_s = 0.5, 0.7
    runs = []

    def seldom(options: tuple[str, ...]) -> bool:
        runs.append(options)
        return len(runs) % 6 == 0

    if is_spoilt:
        spoil(machine, monkeypatch, "steal", when=seldom)
    every = Search(task(total_s=3_600.0), lambda _: None).run().trials
    machine.now_s = 0.0
    found = Search(task(total_s=total_s), lambda _: None).run()

    assert 0.9 * total_s <= machine.now_s <= (1.15 if is_spoilt else 1.02) * total_s
    assert found.law is not None
    assert (len(found.trials) < len(every)) == any("--time" in why for why in found.doubts)


def test_edge_is_told(machine: Machine) -> None:
    """If the winner has as many processes as allowed, a doubt must say which option allows more."""
    machine.rates[Choice(8, 1)] = 700.0
    found = Search(task(), lambda _: None).run()

    assert [
        "8 processes x 1 thread has reached the limit: more processes (--processes-max) may serve more"
    ] == found.doubts


def test_whole_run() -> None:
    """A real application that waits gets its threads; the status says whether they were confirmed."""
    words = ("--time", "10s", "--processes-max", "1", "--threads-max", "4", "--json")
    for _ in range(TRIES):
        done = run(f"{APPLICATION}:waits", *words)
        # Other machines, or other programs, had too much of the CPU just then.
        if not done.stdout and ": INVALID: " in done.stderr:
            assert done.returncode == 1
            continue
        found = json.loads(done.stdout)
        # On a busy machine, choices may differ by less than the rounds of one choice do.
        if found["threads"] == 4:
            break

    assert done.stdout, done.stderr
    assert [] == faults(found, "tune") + faults(found["confirmed"], "bench")
    assert (1, 4) == (found["processes"], found["threads"])
    assert found["cost"]["service_s"] >= 0.02
    assert found["cost"]["unique_bytes"] > 0
    assert sum(sum(each["goodputs"].values()) for each in found["trials"]) > 0
    assert (0 if found["holds"] else 1) == done.returncode
    assert done.stderr == ""


HAS_LOCK = not sysconfig.get_config_var("Py_GIL_DISABLED")
"""Whether a thread of the application can keep the interpreter from its requests."""


@pytest.mark.parametrize(("application", "waits"), [("waits", False), ("beside_a_thread", HAS_LOCK)])
def test_wait_for_the_interpreter(application: str, waits: bool) -> None:  # noqa: FBT001 - a row of a table
    """The time that a thread of the application takes from requests is seen; without it, hardly any is."""
    costs: list[Cost] = []

    def is_right() -> bool:
        try:
            cost = Search(task(target=f"{APPLICATION}:{application}"), lambda _: None).ask_alone()
        except InvalidError:  # other machines, or other programs, had too much of the CPU just then
            return False
        costs.append(cost)
        return waits == (cost.interpreter_wait_s > cost.service_s / 10)

    # The machine decides how often the thread gets a CPU, and how long the load waits for one; both are part
    # of the service time. With the thread, most of that is a wait for the interpreter; without it, none is.
    # There are a few tries, because a single long wait moves the mean.
    assert any(is_right() for _ in range(TRIES)), costs
    assert all(cost.interpreter_wait_s <= cost.service_s for cost in costs)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_end_from_outside(number: signal.Signals) -> None:
    """A signal that ends the search must also end the server and the load that it has started."""
    # Whoever starts the tests may ignore SIGHUP.
    command = ["env", "--default-signal", sys.executable, "-m", "adyton", "tune", f"{APPLICATION}:waits"]
    with subprocess.Popen(command, start_new_session=True) as tuning:
        members = of_sessions({tuning.pid})
        # The server has a session of its own, and the load has that of the search.
        while len({each.session for each in members}) < 2 or not any(
            "bench" in said_of(each) for each in members
        ):
            assert tuning.poll() is None
            members = of_sessions({tuning.pid})
        tuning.send_signal(number)

        assert 130 == tuning.wait(60)

    def are_gone() -> bool:
        return not [each for each in members if (now := stat_of(each.pid)) and now.session == each.session]

    # The load ends by itself after the signal.
    assert until(are_gone)


def test_nothing_is_started_unknown() -> None:
    """An interruption during a start must come only when the started program is known, and can be ended."""
    started = []
    # A program that a shell starts in the background ignores interruptions.
    signal.signal(signal.SIGINT, signal.default_int_handler)

    @uninterrupted()
    def start() -> None:
        signal.raise_signal(signal.SIGINT)
        started.append("server")

    with pytest.raises(KeyboardInterrupt):
        start()

    assert ["server"] == started
    assert signal.default_int_handler == signal.getsignal(signal.SIGINT)


def said_of(process: Stat) -> list[str]:
    """Return the command line of a process, if it is still there."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process.pid}/cmdline").read_text().split("\0")
    return []


@pytest.mark.parametrize(
    ("text", "size_bytes"), [("1.5G", 3 << 29), ("512M", 512 << 20), ("0.5k", 512), ("7", 7)]
)
def test_size(text: str, size_bytes: int) -> None:
    """Sizes are written as in the settings of the server."""
    assert size_bytes == size(text)


@pytest.mark.parametrize("text", ["0", "0.1", "1.G", "-1", "1.5T", ""])
def test_no_size(text: str) -> None:
    """A text that is no size must be refused."""
    with pytest.raises(argparse.ArgumentTypeError, match="is no size"):
        size(text)


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ("--processes=4", "--processes is what is searched for"),
        ("--threads", "--threads-max"),
        ("--max-processes", "is what is searched for"),
        ("--bind=127.0.0.1:80", "--bind is set by adyton tune itself"),
        ("-p", "-p is set by"),
    ],
)
def test_settings_of_its_own(setting: str, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A setting that the search overrides is refused before anything is served."""
    with pytest.raises(SystemExit, match="2"):
        main(["x:y", "--", "--env", "A=1", setting, "4"])

    assert why in capsys.readouterr().err


def test_wrong_words() -> None:
    """A task that cannot be done must be refused, with a message and the right exit status."""
    broken = run(f"{APPLICATION}:waits", "--time", "10s", "--", "--env", "BROKEN=1")
    nothing, short = run(), run("x:y", "--time", "1s")

    assert 1 == broken.returncode
    assert "LookupError: the database is not there" in broken.stderr
    assert (2, 2) == (nothing.returncode, short.returncode)
    assert "nothing can be found" in short.stderr
    assert "thread-safe" in run("--help").stdout
