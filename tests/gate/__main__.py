"""Runs the checks of the project, and sets up what they need: `python3 tests/gate check`, `test` or `soak`.

PYTHONS (3.11 3.12 3.13 3.13t) are the versions of Python; FUZZ_SECONDS is the time for each fuzz target;
ADYTON_STRESS_SECONDS and ADYTON_FETCHES make the long tests of `soak` shorter or longer.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import report
import steps
from pool import end_at_once, together
from setup import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LEVELS: dict[str, Callable[[], Iterator[steps.Step]]] = {
    "check": steps.check,
    "test": steps.test,
    "soak": steps.soak,
}


def main(level: str) -> int:
    """Run the steps of a level until one fails; tell how long each took."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end_at_once)
    shutil.rmtree(steps.JUNIT, ignore_errors=True)
    began = time.monotonic()
    rows: list[tuple[str, float, bool]] = []
    jobs: list[tuple[str, float, bool]] = []
    for step in LEVELS[level]():
        step_began = time.monotonic()
        print(f"\n== {step.title} ({step_began - began:.0f} s)", flush=True)
        results = together(step.jobs, step.side_by_side)
        jobs += [(result.name, result.seconds, result.passed) for result in results]
        passed = all(result.passed for result in results)
        rows.append((step.title, time.monotonic() - step_began, passed))
        if not passed:
            break
    succeeded = all(passed for _, _, passed in rows)
    rows.append(("all", time.monotonic() - began, succeeded))
    print(f"\n== The slowest tests\n{report.slowest(steps.JUNIT)}")
    print(f"\n== Steps\n{report.table(rows)}", flush=True)
    if level == "soak":
        record(report.table(rows), report.table(jobs))
    return 0 if succeeded else 1


def record(step_table: str, job_table: str) -> None:
    """Write the last run of `soak`, with date and commit, into tests/soak.md."""
    describe = ["git", "describe", "--always", "--dirty"]
    commit = subprocess.run(describe, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    (ROOT / "tests/soak.md").write_text(
        "# The last run of `make soak`\n\n"
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, commit {commit}, Python {', '.join(steps.PYTHONS)}.\n\n"
        f"## Steps\n\n```\n{step_table}\n```\n\n## Jobs\n\n```\n{job_table}\n```\n"
    )


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in LEVELS:
        sys.exit(f"usage: python3 tests/gate {'|'.join(LEVELS)}")
    sys.exit(main(sys.argv[1]))
