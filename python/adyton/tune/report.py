"""Shows the result: the table, one sentence that says why, a plot, and the settings for several servers."""

from __future__ import annotations

import math
import textwrap
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from adyton.tune.search import CONFIRMED_AT, COUNTED, TELLABLE, furthest, gates, in_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adyton.tune.scaling import Law
    from adyton.tune.search import Found, Trials

TITLES = ("predicted/s", "in time/s", "rounds", "p99 ms", "MiB", "errors", "")
PLOT_ROWS, PLOT_COLUMNS = 12, 60
MIB = 2**20
COLUMNS_MIN = 40
"""Fewest columns to which the lines of a sentence are broken."""


def cells(found: Found, trial: Trials) -> list[str]:
    """Returns the row of one choice as text."""
    if trial.invalid:
        mark = trial.invalid
    elif trial.memory_bytes > found.task.limits.memory_bytes:
        mark = "does not fit"
    elif trial is found.winner:
        mark = "<- this one"
    elif trial in found.equal:
        mark = "cannot be told apart"
    else:
        mark = ""
    if trial.invalid:
        return [str(trial.choice), f"{trial.predicted:,.0f}", "INVALID", "", "", "", str(trial.errors), mark]
    least = ">= " if trial.at_least else ""
    return [
        str(trial.choice),
        f"{trial.predicted:,.0f}",
        f"{least}{trial.goodput:,.0f}",
        str(len(trial.goodputs)),
        f"{1000 * min(trial.p99s_s):.1f}",
        f"{trial.memory_bytes / MIB:.0f}",
        str(trial.errors),
        mark,
    ]


def costs(found: Found) -> list[str]:
    """Says what one request and one process cost."""
    cost, limits = found.cost, found.task.limits
    serial = f" ({1000 * cost.serial_s:.2f} ms of it one at a time in a process)"
    return [
        (
            f"One request alone: {1000 * cost.service_s:.2f} ms, of that {1000 * cost.cpu_s:.2f} ms of "
            f"CPU time{serial if limits.threads_max > 1 else ''} and "
            f"{1000 * cost.waiting_s:.2f} ms of waiting, "
            f"{1000 * cost.interpreter_wait_s:.2f} ms of it for the interpreter."
        ),
        (
            f"One worker: {cost.unique_bytes / MIB:.1f} MiB of its own, beside "
            f"{cost.shared_bytes / MIB:.1f} MiB for all. "
            f"There are {limits.cpus:g} CPUs, which the load uses, too, "
            f"and {limits.memory_bytes / MIB:,.0f} MiB."
        ),
        (
            f"An answer is in time within {1000 * found.goal_s:.0f} ms; "
            f"{found.clients} connections send requests as fast as they are answered."
        ),
    ]


def reason(found: Found) -> str:
    """Says in one sentence why the winner was chosen."""
    winner, cost = found.winner, found.cost
    bound = "waits" if cost.waiting_s > cost.cpu_s else "computes"
    if len(found.equal) > 1:
        noise = f"{100 * max(found.noise, TELLABLE):.0f} %"
        count = len(found.equal) - 1
        other = "another choice" if count == 1 else f"{count} other choices"
        return (
            f"{winner.choice}: the application mostly {bound}, and {other} within {noise} cannot be told "
            "apart from this choice, which is the smallest."
        )
    return f"{winner.choice}: the application mostly {bound}, and {lead(found)}."


def lead(found: Found) -> str:
    """Says by how much the winner beats the next choice, in the rounds that both were in."""
    limit = found.task.limits.memory_bytes
    others = [trial for trial in found.trials if trial is not found.winner]
    able = [trial for trial in others if not trial.invalid and trial.memory_bytes <= limit]
    if not others:
        return "no other choice within the limits is predicted to serve nearly as much"
    if not able:
        return "every other choice could not be measured, or does not fit into the memory"
    second = furthest(able)[0]
    its, seconds = found.winner.beside(second)
    if not seconds:
        return f"{second.choice}, the next choice, gave no answer in time"
    return (
        f"this choice answers {100 * (its / seconds - 1):.0f} % more in time than {second.choice}, "
        f"while trials of one choice differ by {100 * found.noise:.0f} %"
    )


def shortage(found: Found) -> list[str]:
    """Says that there is not enough memory; empty if there is enough."""
    if found.fits:
        return []
    needed, limit = found.winner.memory_bytes, found.task.limits.memory_bytes
    told = f"{needed / MIB:,.0f} MiB" if needed else "more"
    return [f"It does NOT fit: it needs {told}, and may use {limit / MIB:,.0f} MiB. No choice needs less."]


def confirmation(found: Found) -> str:
    """Says whether the winner kept its goal in the open loop."""
    report = found.confirmed
    offered = f"{100 * CONFIRMED_AT:.0f} % of its rate, {report['asked']['rate']:,.0f} requests/s"
    how = f"{offered} that do not wait for answers"
    if found.unconfirmed:
        return f"NOT confirmed at {how}: INVALID, because {found.unconfirmed}.{lower(found)}"
    verdict = "Confirmed" if found.holds else "NOT confirmed"
    # If answers are wrong or missing, the times do not cover all requests.
    p99 = "" if gates(report) & COUNTED else f", p99 {report['response']['p99_us'] / 1000:.1f} ms"
    return f"{verdict} at {how}: {100 * found.in_time:.1f} % in time{p99}.{lower(found)}"


def lower(found: Found) -> str:
    """Says at which lower rate the winner keeps its goal, as a second sentence; empty if none was tried."""
    if not found.lower:
        return ""
    if (held := found.held) is None:
        rates = ", ".join(f"{report['asked']['rate']:,.0f}" for report in found.lower)
        return f" It does not hold at lower rates either: {rates} requests/s were tried."
    part = 100 * in_time(held, found.goal_s)
    return f" It holds at {held['asked']['rate']:,.0f} requests/s: {part:.1f} % in time."


def law(fitted: Law | None) -> str:
    """Says how the rate grows with the load."""
    if fitted is None:
        return "Too few points for the Universal Scalability Law."
    peak = "none within reach" if math.isinf(fitted.peak) else f"at {fitted.peak:,.0f} requests under way"
    return (
        f"Universal Scalability Law: {fitted.alone:,.0f}/s alone, contention {fitted.contention:.3f}, "
        f"coherency {fitted.coherency:.6f}; peak {peak}."
    )


def table(found: Found, columns: int | None = None) -> str:
    """Returns the report for a terminal of this many columns; without a number, no sentence is wrapped."""

    def wrapped(text: str, indent: str = "") -> list[str]:
        if columns is None:
            return [indent + text]
        width = max(columns, COLUMNS_MIN)
        return textwrap.wrap(
            text, width, initial_indent=indent, subsequent_indent=indent, break_long_words=False
        )

    rows = [["", *TITLES], *[cells(found, trial) for trial in furthest(found.trials)]]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    out = [line for sentence in costs(found) for line in wrapped(sentence)] + [""]
    for first, *others, mark in rows:
        figures = [cell.rjust(width) for cell, width in zip(others, widths[1:-1], strict=True)]
        line = "  ".join([first.ljust(widths[0]), *figures]).rstrip()
        # A mark is a word or two, or the reason why a choice is out.
        if columns is not None and len(line) + 2 + len(mark) > columns:
            out += [line, *wrapped(mark, "    ")]
        else:
            out.append(f"{line}  {mark}".rstrip())
    said = [reason(found), *shortage(found), confirmation(found), law(found.law)]
    out += ["", *(line for sentence in said for line in wrapped(sentence))]
    if drawn := plot(found.points, found.law):
        out += ["", *drawn]
    written = found.winner.choice.written(found.task.target)
    out += ["", *(f"{name:10}{line}" for name, line in written.items())]
    if found.doubts:
        out += ["", "Doubts:", *(line for why in found.doubts for line in wrapped(why, "  "))]
    return "\n".join(out) + "\n"


def plot(points: Sequence[tuple[int, float]], fitted: Law | None) -> list[str]:
    """Draws the rate, measured and fitted, over the number of requests under way, on a logarithmic scale."""
    top = max((rate for _, rate in points), default=0.0) * 1.05
    last = max((load for load, _ in points), default=0)
    if top <= 0 or last < 2:  # noqa: PLR2004 - a plot needs two points
        return []
    grid = [[" "] * (PLOT_COLUMNS + 1) for _ in range(PLOT_ROWS)]

    def put(load: float, rate: float, mark: str) -> None:
        column = round(PLOT_COLUMNS * math.log2(load) / math.log2(last))
        row = PLOT_ROWS - 1 - min(PLOT_ROWS - 1, int(PLOT_ROWS * max(0.0, rate) / top))
        grid[row][column] = mark

    if fitted is not None:
        for column in range(PLOT_COLUMNS + 1):
            load = 2 ** (math.log2(last) * column / PLOT_COLUMNS)
            put(load, fitted.rate(load), ".")
    for load, rate in points:
        put(load, rate, "o")
    out = []
    for index, row in enumerate(grid):
        label = f"{top * (PLOT_ROWS - index) / PLOT_ROWS:>10,.0f}" if index % 4 == 0 else " " * 10
        out.append(f"{label} |{''.join(row)}".rstrip())
    out.append(" " * 11 + "+" + "-" * (PLOT_COLUMNS + 1))
    out.append(f"{'':12}1{'requests under way':^{PLOT_COLUMNS - len(str(last))}}{last}")
    return [*out, f"{'':12}requests/s: o measured, . the law"]


def markdown(found: Found) -> str:
    """Returns the report as Markdown."""
    out = ["# Processes and threads", "", *costs(found), ""]
    out += ["| choice | " + " | ".join(TITLES) + " |", "| --- |" + " ---: |" * (len(TITLES) - 1) + " --- |"]
    out += ["| " + " | ".join(cells(found, trial)) + " |" for trial in furthest(found.trials)]
    said = [reason(found), *shortage(found), confirmation(found), law(found.law)]
    out += [line for sentence in said for line in ("", sentence)]
    if drawn := plot(found.points, found.law):
        out += ["", "```text", *drawn, "```"]
    out += ["", "| server | settings |", "| --- | --- |"]
    written = found.winner.choice.written(found.task.target)
    out += [f"| {name} | `{line}` |" for name, line in written.items()]
    if found.doubts:
        out += ["", "Doubts:", "", *[f"- {why}" for why in found.doubts]]
    return "\n".join(out) + "\n"


def as_json(found: Found) -> dict[str, Any]:
    """Returns the report for programs."""
    winner = found.winner
    return {
        "schema": "adyton-tune/1",
        "target": found.task.target,
        "page": found.task.page,
        "limits": asdict(found.task.limits),
        "cost": asdict(found.cost),
        "goal_s": found.goal_s,
        "clients": found.clients,
        "processes": winner.choice.processes,
        "threads": winner.choice.threads,
        "settings": winner.choice.written(found.task.target),
        "reason": reason(found),
        "equal": [asdict(trial.choice) for trial in found.equal],
        "noise": found.noise,
        "trials": [asdict(trial) | {"goodput": trial.goodput} for trial in furthest(found.trials)],
        "points": found.points,
        "law": None if found.law is None else asdict(found.law),
        "holds": found.holds,
        "fits": found.fits,
        "confirmed": found.confirmed,
        "lower": found.lower,
        "holds_at": None if found.held is None else found.held["asked"]["rate"],
        "doubts": found.doubts,
    }
