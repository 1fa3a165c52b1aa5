"""Runs failed tests once more, alone: a test that passes then failed by chance, and the gate names it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pool import run

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pool import Job, Result

TESTS_FAILED = 1
"""pytest's exit code when tests failed; any other code means that pytest could not run all tests."""
TESTS_MAX = 10
"""Limit of failed tests in all jobs together: more do not fail by chance, and get no second try."""


def second_tries(jobs: Sequence[Job], results: Sequence[Result]) -> list[Result]:
    """Return the results of jobs that have all ended, with the second tries of the tests that failed.

    Jobs run one after the other here. A job without a list of its tests has no second try, nor has a job
    whose pytest did not finish.
    """
    failed = {
        result.name: failed_tests(job.failures)
        for job, result in zip(jobs, results, strict=True)
        if job.failures and result.status == TESTS_FAILED
    }
    if sum(map(len, failed.values())) > TESTS_MAX:
        return list(results)
    return [
        second_try(job, result, failed[result.name]) if failed.get(result.name) else result
        for job, result in zip(jobs, results, strict=True)
    ]


def second_try(job: Job, result: Result, tests: Sequence[str]) -> Result:
    """Run the failed tests of a job, or the whole folder if a teardown failed."""
    assert job.failures
    job.failures.unlink()
    *options, folder = job.command
    named = [folder] if FOLDER in tests else [str(Path(folder).parent / test) for test in tests]
    again = run(replace(job, name=f"{job.name}, second try", command=[*options, *named]))
    if again.status == 0:
        return replace(result, status=0, second_try=tuple(tests))
    return replace(result, output=again.output)


def failed_tests(failures: Path) -> list[str]:
    """Return the names of the tests in a list that `tests/conftest.py` has written, each once.

    A failed teardown may belong to a server that many tests shared, so the whole folder is named for it.
    """
    if not failures.exists():
        return []
    lines = failures.read_text(encoding="utf-8").splitlines()
    entries = [json.loads(line) for line in lines]
    return list(dict.fromkeys(FOLDER if when == "teardown" else test for when, test in entries))


def told(results: Iterable[Result]) -> str:
    """Return a line for each test that passed at the second try."""
    return "\n".join(
        f"{result.name}: {test}: passed at the second try" for result in results for test in result.second_try
    )


FOLDER = "(the whole folder, because a teardown failed)"
