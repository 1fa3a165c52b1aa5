"""The command line of ``adyton compare``."""

from __future__ import annotations

import argparse
import math
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from adyton._command import (
    dumped,
    has_shown,
    has_written,
    interrupt_when_ended,
    progress,
    seconds,
    status_of,
    writable,
)
from adyton.compare.kept import Kept
from adyton.compare.machine import facts
from adyton.compare.peers import PROGRAMS, Peer, PeerError, programs_of, read_peers, version_of
from adyton.compare.results.report import Page, markdown, text
from adyton.compare.rounds import Pace, compare, rows_of
from adyton.compare.running import Seats
from adyton.compare.scenarios import SCENARIOS

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from adyton.compare.results.rows import Row
    from adyton.compare.scenarios import Scenario

TWICE = "adyton-wsgi"
"""This peer takes part twice: the difference between its two rows is the noise of the page."""

QUICK_S = 90.0
"""Time that a comparison may take unless it is told otherwise."""

GOOD, BAD, USAGE = 0, 1, 2


def main(words: Sequence[str]) -> int:
    """Runs ``adyton compare`` and returns its exit status.

    0: every row has figures; 1: some row has none, or the file could not be written; 2: a wrong command
    line; 130: Ctrl-C interrupted it; 128 plus the number of the signal: another signal ended it.
    """
    interrupt_when_ended()
    try:
        return run(words)
    except KeyboardInterrupt as error:
        return status_of(error)
    except BrokenPipeError:
        # The reader has closed, as `| head` does: Python must not write the buffered rest at its exit.
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - open until our end
        return GOOD


def run(words: Sequence[str]) -> int:
    """Does what the command line asks for."""
    options = parser().parse_args(words)
    PROGRAMS.update(options.program)
    peers = read_peers()
    wrong = what_is_wrong(options, peers)
    if wrong:
        return refuse(wrong)
    if options.list:
        return list_peers(peers)
    scenario, seats = SCENARIOS[options.scenario], Seats.of_this_machine()
    is_quick = not options.publish and options.time is None
    also = keys_of_ways(scenario, peers)
    chosen = choose(peers, options.peers, older=options.publish, quick=is_quick, also=also)
    if isinstance(chosen, str):
        return refuse(chosen)
    rows = rows_of(chosen, scenario, seats, TWICE)
    if not rows:
        return refuse(f"none of these peers has what {scenario.name} asks for")
    if options.publish:
        pace = Pace.publish(options.time or math.inf, scenario, rows)
    else:
        pace = Pace.within(options.time or QUICK_S, scenario, rows)
    tell = progress()
    pace, status = compare_all(scenario, rows, (pace, seats), tell, publish=options.publish)
    tell("")
    if status:
        rows = [row for row in rows if row.was_tried]
    if not rows:
        sys.stderr.write("adyton compare: interrupted before anything was measured\n")
        return status
    versions = {row.peer.key: told_version(row.peer) for row in rows}
    page = Page.of(scenario, rows, pace, seats, versions, interrupted=bool(status))
    lacks = not has_shown(dumped(page.as_json()) if options.json else text(page), "adyton compare")
    lacks |= any(line.problems for line in page.lines)
    for path in options.output:
        lacks |= not has_written(path, page.as_json(), markdown(page), "adyton compare")
    return status or (BAD if lacks else GOOD)


def compare_all(
    scenario: Scenario,
    rows: list[Row],
    how: tuple[Pace, Seats],
    tell: Callable[[str], None],
    *,
    publish: bool,
) -> tuple[Pace, int]:
    """Compares; returns the pace of the comparison, and the exit status if it was interrupted.

    With ``--publish``, a comparison that was interrupted before is continued.
    """
    pace, seats = how
    kept = None
    if publish:
        commands = sorted((row.name, row.peer.lines(), told_version(row.peer)) for row in rows)
        kept = Kept(scenario.name, [facts(), asdict(pace), commands, str(seats)])
        if kept.path.exists():
            sys.stderr.write(f"adyton compare: goes on with the rounds that {kept.path} has\n")
    try:
        pace = compare(scenario, rows, pace, seats, tell, kept=kept)
    except KeyboardInterrupt as error:
        if kept and kept.path.exists():
            why = f"{kept.path} has the rounds that have ended; the same command goes on"
            sys.stderr.write(f"adyton compare: {why}\n")
        return pace, status_of(error)
    if kept:
        kept.drop()
    return pace, GOOD


def what_is_wrong(options: argparse.Namespace, peers: list[Peer]) -> str:
    """Returns a mistake of the command line that would else be noticed late or never; empty without one."""
    known = programs_of(peers)
    unknown = [name for name, _ in options.program if name not in known]
    if unknown:
        return f"no peer has a program {unknown[0]}; there are {', '.join(sorted(known))}"
    return ""


def refuse(why: str) -> int:
    """Says why nothing is measured."""
    sys.stderr.write(f"adyton compare: {why}\n")
    return USAGE


def parser() -> argparse.ArgumentParser:
    """Returns the grammar."""
    grammar = argparse.ArgumentParser(
        prog="adyton compare",
        description="Start every peer that is installed, load it, check every answer, and compare.",
        epilog="Scenarios: " + "; ".join(f"{each.name}: {each.question}" for each in SCENARIOS.values()),
    )
    grammar.add_argument("scenario", nargs="?", default="concurrency", choices=list(SCENARIOS))
    grammar.add_argument(
        "--peers",
        metavar="NAME,...",
        help="compare only these peers, by the names that --list shows (default: the peers that --list marks "
        "with *; with --time all except older vintages; with --publish all)",
    )
    grammar.add_argument(
        "--publish",
        action="store_true",
        help="compare older vintages, too, and repeat rounds, ten at most, until rates are known within 3 %%",
    )
    grammar.add_argument(
        "--time",
        type=seconds,
        metavar="TIME",
        help="about how long the comparison may take (default: 90s; with --publish as long as it needs)",
    )
    grammar.add_argument(
        "--program",
        metavar="NAME=PATH",
        type=named,
        action="append",
        default=[],
        help="the path of a program that a peer needs",
    )
    grammar.add_argument(
        "--list", action="store_true", help="show all peers, and what is missing for those that cannot run"
    )
    grammar.add_argument(
        "--json", action="store_true", help="print the result as JSON, with every report of every round"
    )
    grammar.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=writable,
        action="append",
        default=[],
        help="also write the page to a file: .md or .json; may be repeated",
    )
    return grammar


def named(word: str) -> tuple[str, str]:
    """Splits a name and a path."""
    name, _, path = word.partition("=")
    if not path:
        raise argparse.ArgumentTypeError(f"{word} is not NAME=PATH")
    return name, path


def keys_of_ways(scenario: Scenario, peers: list[Peer]) -> frozenset[str]:
    """Returns keys of peers for the table of ways: for each way and server the first peer that can run."""
    here = {peer.key for peer in peers if not peer.missing} if scenario.ways else frozenset()
    sides = [side for way in scenario.ways for side in (way.ours, way.theirs)]
    return frozenset(key for side in sides for key in [key for key in side if key in here][:1])


def choose(
    peers: list[Peer],
    names: str | None,
    *,
    older: bool,
    quick: bool,
    also: Container[str] = frozenset(),
) -> list[Peer] | str:
    """Returns the peers that take part, or what is wrong with the names.

    Without names all installed peers take part, with two exceptions: peers of an older vintage only with
    ``older``, and in a ``quick`` comparison only peers that are marked so, or whose keys are in ``also``.
    """
    if names is None:
        quicker = [peer for peer in peers if not quick or peer.quick or peer.key in also]
        asked = [peer for peer in quicker if older or not peer.older]
        return [peer for peer in asked if not peer.missing] or "none of the peers is installed"
    chosen = []
    for name in dict.fromkeys(each.strip() for each in names.split(",")):
        peer = next((peer for peer in peers if peer.key == name), None)
        if peer is None:
            return f"{name} is not a peer; --list shows them"
        if peer.missing:
            return f"{name} cannot run: {peer.missing} is not installed"
        chosen.append(peer)
    return chosen


def list_peers(peers: list[Peer]) -> int:
    """Shows all peers."""
    keys, names = max(len(peer.key) for peer in peers), max(len(peer.name) for peer in peers)
    lines = []
    for peer in peers:
        state = f"missing: {peer.missing}" if peer.missing else told_version(peer)
        mark = "*" if peer.quick else " "
        lines.append(f"{peer.key:{keys}} {mark} {peer.name:{names}}  {' '.join(peer.serves):14}{state}\n")
    return GOOD if has_shown("".join(lines), "adyton compare") else BAD


def told_version(peer: Peer) -> str:
    """Returns the version of a peer, or why the peer does not tell its version."""
    try:
        return version_of(peer)
    except PeerError as error:
        return f"unknown ({error})"
