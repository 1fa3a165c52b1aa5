"""The search: who goes on, what cannot be told apart, and a whole run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

import pytest
from adyton.tune import search
from adyton.tune.choice import Choice
from adyton.tune.model import THREADS, Limits
from adyton.tune.report import as_json, markdown, table
from adyton.tune.search import Search, Task, Trials, better_half, same, within

APPLICATION = Path(__file__).with_name("application.py")
SECOND_US = 1e6


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """Run `adyton tune` to its end."""
    command = (sys.executable, "-m", "adyton", "tune", *words)
    return subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)


def trial(processes: int, threads: int, *goodputs: float) -> Trials:
    """Return a choice with a rate for each round, from the first on."""
    return Trials(Choice(processes, threads), 0.0, dict(enumerate(goodputs)))


def test_smaller_ones_go_on() -> None:
    """Of choices that one trial cannot tell apart the smaller go on, and worse ones do not."""
    trials = [trial(4, 1, 100), trial(2, 8, 97), trial(2, 4, 98), trial(1, 1, 60), trial(8, 8, 90)]

    assert [Choice(2, 4), Choice(2, 8), Choice(4, 1)] == [each.choice for each in better_half(trials)]


def test_same() -> None:
    """What is within the noise in the rounds that both were in cannot be told from the best."""
    best, near, far = trial(4, 1, 100, 100, 100), trial(2, 1, 99, 97, 101), trial(1, 1, 80)

    assert [best, near] == same([far, best, near], noise=0.03)
    assert [far, best, near] == same([far, best, near], noise=0.25)


def test_within() -> None:
    """The part of the answers in time is read off the curve."""
    report = {"curve": [(50.0, 0.5 * SECOND_US), (90.0, 1.0 * SECOND_US), (100.0, 3.0 * SECOND_US)]}

    assert (0.0, 0.9, 1.0) == tuple(within(report, goal_s) for goal_s in (0.1, 1.0, 3.0))


class Machine:
    """A machine that is as the model says: each choice has its rate, and loads take no time."""

    def __init__(self, rates: dict[Choice, float]) -> None:
        """Begin with nobody served."""
        self.rates = rates
        self.served: list[Choice] = []

    def bench(self, _url: str, options: tuple[str, ...]) -> dict[str, Any]:
        """Return a report as `adyton bench` writes it."""
        load = int(options[1])
        rate = min(self.rates[self.served[-1]], 100.0 * load)
        offered = next((float(word[7:]) for word in options if word.startswith("--rate=")), rate)
        times = {"mean_us": 10_000.0, "p99_us": 20_000.0}
        return {
            "invalid": [],
            "rate": min(rate, offered),
            "asked": {"rate": offered},
            "service": times,
            "response": times,
            "curve": [(100.0, 20_000.0)],
            "server": {"cpu_us_per_request": 10_000.0, "pss_bytes": 1},
            "counts": {"sent": 10, "right": 10, "in_flight": 0},
            "never_sent": 0,
        }


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine on which four processes of one thread serve most, and more threads nothing more."""
    rates = {
        Choice(processes, threads): min(processes, 4) * 100.0
        for processes in (1, 2, 4, 5, 8)
        for threads in THREADS
    }
    made = Machine(rates)

    class Served:
        url = "http://nowhere"

        def __init__(self, _target: str, choice: Choice, _settings: tuple[str, ...]) -> None:
            made.served.append(choice)

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def memory(self) -> tuple[int, int]:
            return 10 << 20, 20 << 20

    monkeypatch.setattr(search, "served", Served)
    monkeypatch.setattr(search, "bench", made.bench)
    return made


def task(**others: object) -> Task:
    """Return a task for a machine of four CPUs."""
    limits = Limits(cpus=4, memory_bytes=2**40, processes_max=8, threads_max=64)
    values: dict[str, Any] = {"target": "x:y", "page": "/", "settings": (), "check": "length", "goal_s": None}
    return Task(**(values | {"limits": limits, "total_s": 20.0} | others))


def test_smallest_of_the_best(machine: Machine) -> None:
    """Of choices that serve the same the smallest wins, is confirmed, and is told in every form."""
    told: list[str] = []
    found = Search(task(), told.append).run()

    assert Choice(4, 1) == found.winner.choice
    assert len(found.equal) > 1
    assert found.holds
    assert machine.served[-1] == found.winner.choice
    assert "cannot be told" in table(found)
    assert "this one" in markdown(found)
    assert {"processes": 4, "threads": 1, "holds": True}.items() <= as_json(found).items()
    assert told


def test_clear_winner(machine: Machine) -> None:
    """A choice that serves clearly more wins, although it is larger."""
    machine.rates[Choice(8, 1)] = 700.0
    found = Search(task(), lambda _: None).run()

    assert Choice(8, 1) == found.winner.choice
    assert [found.winner] == found.equal
    assert "more in time than" in table(found)


def test_not_confirmed(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A winner that does not keep its goal in an open loop is said not to."""
    honest = machine.bench

    def slow(url: str, options: tuple[str, ...]) -> dict[str, Any]:
        report = honest(url, options)
        is_open = any(word.startswith("--rate") for word in options)
        return report | ({"curve": [(90.0, 20_000.0), (100.0, 9e6)]} if is_open else {})

    monkeypatch.setattr(search, "bench", slow)
    found = Search(task(), lambda _: None).run()

    assert not found.holds
    assert "NOT confirmed" in table(found)


def test_whole_run() -> None:
    """A real application that waits gets its threads; the status says whether they were confirmed."""
    words = ("--time", "10s", "--processes-max", "1", "--threads-max", "4", "--json")
    done = run(f"{APPLICATION}:waits", *words)
    found = json.loads(done.stdout)

    assert (1, 4) == (found["processes"], found["threads"])
    assert found["cost"]["service_s"] >= 0.02
    assert found["cost"]["unique_bytes"] > 0
    assert sum(sum(each["goodputs"].values()) for each in found["trials"]) > 0
    assert (0 if found["holds"] else 1) == done.returncode
    assert done.stderr == ""


def test_wrong_words() -> None:
    """What cannot be done is said, with the status that programs know it by."""
    broken = run(f"{APPLICATION}:waits", "--time", "10s", "--", "--env", "BROKEN=1")
    nothing, short = run(), run("x:y", "--time", "1s")

    assert 1 == broken.returncode
    assert "LookupError: the database is not there" in broken.stderr
    assert (2, 2) == (nothing.returncode, short.returncode)
    assert "nothing can be found" in short.stderr
    assert "thread-safe" in run("--help").stdout
