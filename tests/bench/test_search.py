"""`adyton bench --find-rate` finds the rate of right answers, wherever it has to search."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

import pytest

from bench.runs import liar, run
from bench.schema import faults

QUICK = ("-c", "8", "-d", "200ms", "--warm-up", "200ms", "--find-rate", "p99<10s")
ATTEMPTS = 5
"""Attempts of a test: after the machine has stood still for a moment, requests come all at once."""


def search(kind: str) -> tuple[dict[str, Any], int]:
    """Search at a server that lies; return the result, which must match its schema, and the status."""
    with liar(kind) as url:
        done = run(url, *QUICK, "--json")
    assert "" == done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert [] == faults(found, "bench-find")
    return found, done.returncode


def test_page_of_regret() -> None:
    """The answer before the search must be the right one; the overloaded server's page must be wrong."""
    found, status = search("sorry")

    assert (None, 1) == (found["rate"], status)
    assert found["closed_loop"]["rate"] > found["closed_loop"]["answered"] > 0
    assert len(found["steps"]) > 5
    assert all("answers" in step["gates"] for step in found["steps"])


def test_nothing_right_at_full_load() -> None:
    """If the closed loop gets few right answers, the search must go down from the rate of all answers."""
    for _ in range(ATTEMPTS):
        found, _ = search("bans")
        # If a closed loop sleeps for a moment, the server stops refusing it, and it gets too many right
        # answers.
        if 50 < (found["rate"] or 0) < 600 and found["rate"] > 10 * found["closed_loop_rate"]:
            break

    assert 50 < found["rate"] < 600
    assert found["closed_loop"]["rate"] > 2 * found["rate"] > 20 * found["closed_loop_rate"]
    assert found["closed_loop"]["answered"] == found["closed_loop_rate"]
    assert "answers" in found["closed_loop"]["gates"]
    assert "closed" == found["closed_loop"]["load"]


def test_some_are_always_wrong() -> None:
    """A wrong answer in the middle of the search must fail that rate, but not the search."""
    found, _ = search("bad-gateway")
    # Among few requests there may be no tenth one.
    many = [step for step in found["steps"] if step["rate"] > 300]

    assert len(found["steps"]) > len(many) > 1
    assert all("answers" in step["gates"] for step in many)


def test_line_of_the_closed_loop() -> None:
    """The result of the closed loop must stand above the rates that were tried."""
    with liar("bad-gateway") as url:
        lines = run(url, *QUICK).stdout.splitlines()

    assert re.fullmatch(r" +requests/s +answered +p50 ms +p99 ms +held", lines[0])
    assert re.fullmatch(r" closed loop +INVALID +-", lines[1])
    assert re.fullmatch(r" +answers: \d+ of \d+ requests had no right answer", lines[2])


def test_held_although_disturbed() -> None:
    """A rate that held while another program used a CPU must be shown as held `even so`."""
    burn = (sys.executable, "-c", "while True: pass")
    with liar("honest") as url, subprocess.Popen(burn) as burner:
        lines = run(url, *QUICK).stdout.splitlines()
        burner.kill()
    held = [line.split("INVALID")[1].strip() for line in lines if re.match(r" +\d+ +INVALID ", line)]

    assert "even so" in held
    assert {"even so", "no"} >= set(held)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--pipeline", "4"), "an open loop sends one request at a time on a connection"),
        (("--rate", "100"), "--rate is one rate, and --find-rate tries many: leave one of them out"),
    ],
)
def test_what_is_refused(words: tuple[str, ...], sentence: str) -> None:
    """Options that no search can have must be refused before anything is done."""
    with liar("honest") as url:
        done = run(url, *QUICK, *words)

    assert (2, "", f"adyton bench: {sentence}\n") == (done.returncode, done.stdout, done.stderr)


def test_arrivals() -> None:
    """A search must use the arrivals that are asked for."""
    with liar("honest") as url:
        words = ("-c", "8", "-d", "100ms", "--warm-up", "0", "--find-rate", "p99<10s", "--json")
        found = json.loads(run(url, *words, "--arrivals", "poisson").stdout)

    assert {"poisson"} == {step["load"] for step in found["steps"]}
