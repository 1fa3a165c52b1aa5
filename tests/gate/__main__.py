"""Runs the checks of the project, and sets up what they need: `python3 tests/gate check`, `test` or `soak`.

`soak` takes hours; words after it choose steps by the beginning of their titles: `soak fuzzing "long tests"`.
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
from second_try import second_tries, told
from setup import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pool import Result

LEVELS: dict[str, Callable[[], Iterator[steps.Step]]] = {
    "check": steps.check,
    "test": steps.test,
    "soak": steps.soak,
}


def main(level: str, titles: Sequence[str]) -> int:
    """Run the steps of a level until one fails; tell how long each took.

    If titles are given, only steps of `soak` whose titles begin with one of them run, and their preparation.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end_at_once)
    shutil.rmtree(steps.JUNIT, ignore_errors=True)
    began = time.monotonic()
    rows: list[tuple[str, float, float, bool]] = []
    results: list[Result] = []
    for step in LEVELS[level]():
        if step.recorded and titles and not step.title.startswith(tuple(titles)):
            continue
        step_began = time.monotonic()
        print(f"\n== {step.title} ({step_began - began:.0f} s)", flush=True)
        results = together(step.jobs, step.side_by_side)
        if step.second_try:
            results = second_tries(step.jobs, results)
        passed = all(result.passed for result in results)
        cpu_s = sum(result.cpu_s for result in results)
        rows.append((step.title, time.monotonic() - step_began, cpu_s, passed))
        if step.recorded:
            each_row = ((each.name, each.seconds, each.cpu_s, each.passed) for each in results)
            record(step.title, report.table(each_row))
        if not passed:
            break
    succeeded = all(passed for *_, passed in rows)
    rows.append(("all", time.monotonic() - began, sum(cpu_s for _, _, cpu_s, _ in rows), succeeded))
    print(f"\n== The slowest tests\n{report.slowest(steps.JUNIT)}")
    print(f"\n== Steps\n{report.table(rows)}", flush=True)
    # Failures stand at the very end, because a long output is often cut from its beginning.
    for result in results:
        if not result.passed:
            print(f"\n== {result.name} FAILED\n{report.summary(result.output)}", flush=True)
    if by_chance := told(results):
        print(f"\n== Defects to mend in the next change\n{by_chance}", flush=True)
    return 0 if succeeded else 1


def record(title: str, jobs: str) -> None:
    """Write how a step of `soak` went, with date and commit, into tests/soak.md; the other lines stay."""
    describe = ["git", "describe", "--always", "--dirty"]
    commit = subprocess.run(describe, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    file = ROOT / "tests/soak.md"
    text = file.read_text(encoding="utf-8") if file.exists() else SOAK
    heading, *sections = text.split("\n## ")
    by_title = {section.partition("\n")[0]: section for section in sections}
    by_title[title] = (
        f"{title}\n\n{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, commit {commit}:\n\n```\n{jobs}\n```\n"
    )
    file.write_text("\n## ".join([heading, *by_title.values()]), encoding="utf-8")


SOAK = "# The last runs of `make soak`\n\nEach step when it last ran, and on which commit.\n"


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in LEVELS or (len(sys.argv) > 2 and sys.argv[1] != "soak"):
        sys.exit("usage: python3 tests/gate check|test|soak [TITLE...]")
    sys.exit(main(sys.argv[1], sys.argv[2:]))
