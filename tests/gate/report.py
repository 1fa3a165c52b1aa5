"""Tables at the end: how long each step took, and which tests were the slowest."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

SLOWEST = 30
SUMMARY_LINES = 30


def table(rows: Iterable[tuple[str, float, float, bool]]) -> str:
    """Return a line for each step: seconds, seconds of CPU time, whether it passed, its title."""
    lines = [
        f"{seconds:7.0f} s {cpu_s:7.0f} s CPU  {'passed' if passed else 'FAILED'}  {title}"
        for title, seconds, cpu_s, passed in rows
    ]
    return "\n".join(lines)


def summary(output: str) -> str:
    """Return the end of an output that says what failed: pytest's summary, or the last lines."""
    lines = output.splitlines()
    begins = [number for number, line in enumerate(lines) if "short test summary info" in line]
    return "\n".join(lines[begins[-1] if begins else 0 :][-SUMMARY_LINES:])


def slowest(folder: Path) -> str:
    """Return the tests that took longest, from the reports in a folder."""
    cases = []
    for report in folder.glob("*.xml"):
        for case in ET.parse(report).iter("testcase"):
            name = f"{case.get('classname')}::{case.get('name')}"
            cases.append((float(case.get("time", "0")), report.stem, name))
    cases.sort(reverse=True)
    return "\n".join(f"{seconds:7.1f} s  {suite}: {name}" for seconds, suite, name in cases[:SLOWEST])
