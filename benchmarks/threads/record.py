"""The record of a run: JSON with every round, Markdown for people; and from it the page of the guide."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import bounds
import client
import machine
import report
from rows import Case, Column, Row
from servers import Spec

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from generator import ThreadsRun
    from report import Results

PACKAGES = ("gunicorn", "gunicorn_h1c", "granian", "mod_wsgi", "whitenoise")
KEPT = ("date", "cpu", "memory", "kernel", "system", "load before", "checkout", "python", "adyton")
"""Of the facts that the other benchmarks record."""
COMPARED = ("cost", "sleep", "both", "compute", "clients")
"""The cases with peers, which the guide shows."""
NOTE = "How this is measured, and what is unfair about it: [README](../threads/README.md)."

PAGE_INTRODUCTION = (
    "What a slow page, a busy one and slow clients do to a fast one: Adyton, and the servers that people use "
    "today for that, each on one CPU with 64 threads in one process (Adyton in the first table as it says), "
    "in one run."
)
PAGE_NOTE = (
    "Medians, and the spread in brackets. The record with all figures and command lines, the method, and "
    "what is unfair about it are in `benchmarks/threads/README.md` and `benchmarks/record/`."
)


def facts(run: ThreadsRun) -> dict[str, str]:
    """Returns what stands above a record."""
    known = machine.facts()
    found = {name: known[name] for name in KEPT} | {"adyton._core": known["adyton._core"]}
    found |= {package: machine.version_of(package) for package in PACKAGES}
    found["apache"] = machine.said(["apache2", "-v"], r"Apache/(\S+)")
    for name, python in (("with a GIL", run.python), ("free-threaded", run.python_free_threaded)):
        if python:
            code = "import sys; print(sys.version.replace(chr(10), ' '))"
            found[f"python {name}"] = machine.said([str(python), "-c", code], r"(.+)")
    return found | {"wrk": known["wrk"], "cc": known["cc"]}


def write(path: Path, about: dict[str, str], run: ThreadsRun, results: Results) -> str:
    """Writes `path` and its Markdown neighbour, and returns the Markdown."""
    text = clean(markdown(about, run, results), run)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(clean(to_json(about, run, results), run), "utf-8")
    path.with_suffix(".md").write_text(text, "utf-8")
    return text


def clean(text: str, run: ThreadsRun) -> str:
    """Takes the folders of this machine out of a record."""
    for python in (run.python, run.python_free_threaded):
        text = text.replace(str(python), "PYTHON") if python else text
    return report.clean(text, run)


def to_json(about: dict[str, str], run: ThreadsRun, results: Results) -> str:
    """Returns the whole run, with the columns of its tables."""
    whole = json.loads(report.to_json(about, run, results))
    whole["targets"] = [asdict(verdict) for verdict in bounds.verdicts(results)]
    for case, _ in results:
        whole["cases"][case.name]["columns"] = [asdict(column) for column in case.columns]
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def markdown(about: dict[str, str], run: ThreadsRun, results: Results) -> str:
    """Returns the tables: what must hold first, then each case, then how each server was started."""
    parts = [
        f"# Threads, {about['date']}",
        f"Rounds: {run.rounds}, of {run.secs} s for each figure; medians, and the spread in brackets. {NOTE}",
        report.table(("", ""), ((name, value) for name, value in about.items() if name != "date")),
        "## Targets",
        target_table(asdict(verdict) for verdict in bounds.verdicts(results)),
    ]
    for case, rows in results:
        parts += [f"## {case.title}", case.note, report.case_table(case, rows)]
    parts += ["## Command lines", report.command_list(results)]
    return "\n\n".join(parts) + "\n"


def target_table(verdicts: Iterable[dict[str, str]]) -> str:
    """Returns what must hold beside what was measured."""
    keys = ("what", "must", "measured", "verdict")
    return report.table(keys, ([verdict[key] for key in keys] for verdict in verdicts))


def page(path: Path) -> str:
    """Returns the page of the guide: what a record says of the cases that have peers."""
    whole = json.loads(path.read_text("utf-8"))
    results = [restored(name, whole["cases"][name]) for name in COMPARED if name in whole["cases"]]
    about = whole["machine"]
    versions = ", ".join(f"{name} {about[name]}" for name in ("python", *PACKAGES[:4], "apache"))
    rounds = f"Rounds: {whole['rounds']}, of {whole['secs']} s for each figure."
    parts = [
        "# Threads, beside other servers",
        PAGE_INTRODUCTION,
        f"Measured {about['date']} on {about['cpu']}; {versions}. {rounds} {PAGE_NOTE}",
    ]
    for case, rows in results:
        parts += [f"## {case.title}", case.note, report.case_table(case, rows)]
    return "\n\n".join(parts) + "\n"


def restored(name: str, recorded: dict[str, Any]) -> tuple[Case, list[Row]]:
    """Returns a case and its rows as they were when they were recorded."""
    columns = tuple(Column(**column) for column in recorded["columns"])
    case = Case(name, recorded["title"], recorded["note"], columns, lambda _run: [])
    nothing = client.Expected("", b"")
    rows = [
        Row(Spec(server["name"], server["command"], nothing), server["rounds"], server["errors"])
        for server in recorded["servers"]
    ]
    return case, rows
