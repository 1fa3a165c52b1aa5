"""The record of a run: JSON with every round, and Markdown for people."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import servers
from targets import TARGETS, judge

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from rows import Case, Column, Row, Run
    from targets import Verdict

Results = list[tuple["Case", list["Row"]]]


def write(path: Path, facts: dict[str, str], run: Run, results: Results) -> str:
    """Writes `path` and its Markdown neighbour, and returns the Markdown."""
    text = clean(markdown(facts, run, results), run)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(clean(to_json(facts, run, results), run), "utf-8")
    path.with_suffix(".md").write_text(text, "utf-8")
    return text


def clean(text: str, run: Run) -> str:
    """Takes the folders of this machine out of a record: an error's text may name them."""
    for folder, word in (
        (run.work, "WORK"),
        (servers.ROOT, "."),
        (sys.prefix, "PREFIX"),
        (sys.base_prefix, "PREFIX"),
    ):
        text = text.replace(str(folder), word)
    return text


def to_json(facts: dict[str, str], run: Run, results: Results) -> str:
    """Returns the whole run: facts, command lines, and the figures of each round."""
    cases = {
        case.name: {
            "title": case.title,
            "note": case.note,
            "servers": [
                {
                    "name": row.spec.name,
                    "command": row.spec.shown,
                    "valid": not row.errors,
                    "errors": row.errors,
                    "rounds": row.rounds,
                }
                for row in rows
            ],
        }
        for case, rows in results
    }
    targets = [asdict(verdict) for verdict in verdicts(results)]
    whole = {"machine": facts, "rounds": run.rounds, "secs": run.secs, "targets": targets, "cases": cases}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def markdown(facts: dict[str, str], run: Run, results: Results) -> str:
    """Returns the tables: what must hold first, then each case, then how each server was started."""
    parts = [
        f"# Benchmarks, {facts['date']}",
        f"Rounds: {run.rounds}, of {run.secs} s for each server; medians. {NOTE}",
    ]
    parts += [table(("", ""), ((name, value) for name, value in facts.items() if name != "date"))]
    parts += ["## Targets", target_table(results)]
    for case, rows in results:
        parts += [f"## {case.title}", case.note, case_table(case, rows)]
    parts += ["## Command lines", command_list(results)]
    return "\n\n".join(parts) + "\n"


def target_table(results: Results) -> str:
    """Returns what must hold beside what was measured."""
    head = ("what", "must", "aim", "measured", "verdict")
    return table(head, ((v.what, v.must, v.aim, v.measured, v.verdict) for v in verdicts(results)))


def verdicts(results: Results) -> list[Verdict]:
    """Judges the cases that were run."""
    measured = {case.name: rows for case, rows in results}
    return [judge(target, measured[target.case]) for target in TARGETS if target.case in measured]


def case_table(case: Case, rows: list[Row]) -> str:
    """Returns a case's figures; an invalid row has none, but its reasons."""
    head = ["server", *(column.heading for column in case.columns)]
    failed = any(row.errors for row in rows)
    lines = []
    for row in rows:
        cells = [row.spec.name, *(cell(row, column) for column in case.columns)]
        lines.append([*cells, "; ".join(row.errors)] if failed else cells)
    return table([*head, "errors"] if failed else head, lines)


def cell(row: Row, column: Column) -> str:
    """Returns the median of a figure, with its spread if asked for."""
    middle = row.median(column.key)
    if middle is None:
        return "INVALID" if row.errors else ""
    text = f"{middle:,.{column.decimals}f}"
    if not column.spread or len(values := row.values(column.key)) == 1:
        return text
    return f"{text} ({min(values):,.{column.decimals}f}..{max(values):,.{column.decimals}f})"


def command_list(results: Results) -> str:
    """Returns every command line once, in the order of the tables."""
    seen = {(row.spec.name, row.spec.shown): None for _, rows in results for row in rows}
    return "\n".join(f"- {name}: `{command}`" for name, command in seen)


def table(head: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    """Returns a Markdown table: the first column to the left, the others to the right if they are figures."""
    rows = [list(head), *(list(line) for line in lines)]
    rows.insert(1, ["---"] * len(rows[0]))
    return "\n".join(
        f"| {' | '.join(text.replace('|', '/').replace(chr(10), ' ') for text in row)} |" for row in rows
    )


NOTE = "How this is measured, and what is unfair about it: [README](../README.md)."
