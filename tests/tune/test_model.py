"""Predictions of what a choice serves, and the choices that are tried."""

from __future__ import annotations

import pytest
from adyton.tune.choice import Choice
from adyton.tune.model import Cost, Limits, candidates, memory, predicted_rate, process_rate, wider

MIB = 2**20
COMPUTES = Cost(service_s=0.010, cpu_s=0.010, serial_s=0.010, shared_bytes=20 * MIB, unique_bytes=30 * MIB)
WAITS = Cost(service_s=0.050, cpu_s=0.001, serial_s=0.001, shared_bytes=20 * MIB, unique_bytes=30 * MIB)
LETS_GO = Cost(service_s=0.010, cpu_s=0.010, serial_s=0.001, shared_bytes=0, unique_bytes=MIB)
PLENTY = Limits(cpus=4, memory_bytes=2**40, processes_max=1000, threads_max=64)


def test_one_process() -> None:
    """Threads must help an application that waits, until the interpreter is busy, but none that computes."""
    assert 100 == pytest.approx(process_rate(COMPUTES, 1)) == pytest.approx(process_rate(COMPUTES, 16))
    assert 20 == pytest.approx(process_rate(WAITS, 1))
    assert 20 * 7.9 < process_rate(WAITS, 8) <= 160
    assert 900 < process_rate(WAITS, 64) <= 1000
    assert process_rate(LETS_GO, 8) > 6 * process_rate(LETS_GO, 1)


def test_cpus_bound_everything() -> None:
    """No choice serves more than the CPUs have time for."""
    assert 100 == pytest.approx(predicted_rate(COMPUTES, Choice(1, 1), 4))
    assert 400 == pytest.approx(predicted_rate(COMPUTES, Choice(16, 4), 4))
    assert 400 == pytest.approx(predicted_rate(LETS_GO, Choice(1, 64), 4))


def test_who_computes_wants_processes() -> None:
    """For an application that computes, a process for each CPU must come first, with one thread."""
    tried = candidates(COMPUTES, PLENTY, 8)

    assert Choice(4, 1) == tried[0]
    assert all(choice.processes >= 4 for choice in tried)


def test_who_waits_wants_threads() -> None:
    """The choices that are tried have threads enough for the time that requests wait."""
    tried = candidates(WAITS, PLENTY, 8)

    assert 1 <= len(tried) <= 8
    assert all(choice.processes * choice.threads >= 100 for choice in tried)


def test_limits() -> None:
    """No choice may be tried that needs more memory, processes or threads than allowed."""
    small = Limits(cpus=4, memory_bytes=90 * MIB, processes_max=1000, threads_max=64)
    single = Limits(cpus=4, memory_bytes=2**40, processes_max=2, threads_max=1)

    assert {1, 2} >= {choice.processes for choice in candidates(COMPUTES, small, 8)}
    assert all(memory(COMPUTES, choice) <= 90 * MIB for choice in candidates(COMPUTES, small, 8))
    assert [Choice(2, 1)] == candidates(WAITS, single, 8)


def test_limits_allow_more() -> None:
    """The most that is allowed must be tried, even if it is more than is tried by default."""
    limits = Limits(cpus=2, memory_bytes=2**40, processes_max=24, threads_max=96)

    assert Choice(24, 96) in candidates(Cost(1.0, 1e-4, 1e-4, 0, MIB), limits, 8)


@pytest.mark.parametrize(
    ("choice", "more"),
    [
        (Choice(2, 8), []),
        (Choice(4, 8), ["more processes (--memory)"]),
        (Choice(2, 64), ["more threads (--threads-max)"]),
    ],
)
def test_wider(choice: Choice, more: list[str]) -> None:
    """If a choice is at a limit, this must be known, with the option that allows more."""
    limits = Limits(cpus=4, memory_bytes=160 * MIB, processes_max=8, threads_max=64)

    assert more == wider(COMPUTES, limits, choice)


def test_wider_than_said() -> None:
    """A choice at a set limit must name the option that allows more, except for a single thread."""
    limits = Limits(cpus=4, memory_bytes=2**40, processes_max=2, threads_max=1)

    assert ["more processes (--processes-max)"] == wider(COMPUTES, limits, Choice(2, 1))
    assert [] == wider(COMPUTES, limits, Choice(1, 1))


def test_written() -> None:
    """A choice must be told in the settings of every server."""
    written = Choice(2, 8).written("shop:application")

    assert "adyton serve shop:application --processes 2 --threads 8" == written["Adyton"]
    assert "--worker-class gthread --workers 2 --threads 8" == written["gunicorn"]
    assert "--master --processes 2 --enable-threads --threads 8" == written["uWSGI"]
    assert "WSGIDaemonProcess NAME processes=2 threads=8" == written["mod_wsgi"]
    assert ("1 process x 2 threads", "2 processes x 1 thread") == (str(Choice(1, 2)), str(Choice(2, 1)))
