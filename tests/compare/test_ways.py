"""The table of ways: 1000 is the rate of each server's own static files, as in the classic table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from adyton.compare.results.report import WAYS_TITLE, Page, markdown, text
from adyton.compare.results.rows import Row, Shot
from adyton.compare.results.ways import sides_of
from adyton.compare.scenarios import CONCURRENCY, MECHANISMS

from bench.schema import faults
from compare.reports import PACE, PEERS, SEATS, SIZE, report

if TYPE_CHECKING:
    from collections.abc import Mapping

CLASSIC = {
    "CGI": 10,
    "handler": 400,
    "WSGI in processes of its own": 700,
    "script with .htaccess": 850,
    "WSGI embedded": 900,
    "static files": 1000,
}
"""The table that people quote."""


def row_of(key: str, rates: Mapping[int, float], *, cpu_s: float = 0.085) -> Row:
    """Make a row of a peer with these rates, by round; 85 requests were answered in each round."""
    row = Row(PEERS[key], SIZE)
    row.shots[""] = {
        number: Shot([report(rate=rate)], cpu_s=cpu_s, memory_bytes=1) for number, rate in rates.items()
    }
    return row


def page_of(rows: list[Row]) -> Page:
    """Make the page of these rows."""
    return Page.of(MECHANISMS, rows, PACE, SEATS, {row.peer.key: "1.0" for row in rows})


def test_each_has_its_own_static_files() -> None:
    """The rate of a way must be relative to the rate of the same server's static files in the same round."""
    rows = [
        row_of("adyton-static", {0: 100.0, 1: 200.0}),
        row_of("adyton-wsgi", {0: 90.0, 1: 180.0}, cpu_s=0.17),
        row_of("apache-static", {0: 50.0, 1: 50.0}, cpu_s=0.34),
        row_of("mod-wsgi-6-embedded", {0: 25.0, 1: 25.0}, cpu_s=0.68),
    ]
    [embedded, static] = page_of(rows).ways

    assert embedded.ours
    assert embedded.theirs
    assert ("WSGI embedded", 900) == (embedded.way, embedded.classic)
    assert (900.0, 500.0) == (embedded.ours.of_thousand, embedded.theirs.of_thousand)
    assert (500.0, 125.0) == (embedded.ours.per_cpu_s, embedded.theirs.per_cpu_s)
    assert (500.0, 500.0) == (embedded.ours.per_cpu_s_of_thousand, embedded.theirs.per_cpu_s_of_thousand)
    assert static.ours
    assert (1000.0, 1000.0) == (static.ours.of_thousand, static.ours.per_cpu_s_of_thousand)


def test_classic_table() -> None:
    """All rows of the classic table must be there, in its order; the table is of one load."""
    rows = [row_of(way.theirs[0], {0: 10.0}) for way in MECHANISMS.ways]

    assert CLASSIC == {each.way: each.classic for each in page_of(rows).ways}
    assert 1 == len(MECHANISMS.loads)
    assert [] == sides_of(CONCURRENCY, rows)


def test_first_that_has_figures() -> None:
    """The first peer of a way that has figures counts; if none has figures, the first says why."""
    newer, older = row_of("mod-wsgi-6-daemon", {0: 10.0}), row_of("mod-wsgi-daemon", {0: 20.0})
    static = row_of("apache-static", {0: 40.0})

    def told() -> str:
        [daemon, _] = sides_of(MECHANISMS, [older, newer, static])
        assert daemon.theirs
        return daemon.theirs.name

    assert newer.name == told()
    newer.problems[""] = ["answers were wrong"]
    assert older.name == told()
    older.problems[""] = ["answers were wrong"]
    assert newer.name == told()


def test_page_of_ways() -> None:
    """Errors must stand first; without static files nothing is shown as 1000; absent ways are left out."""
    wrong = row_of("apache-cgi", {0: 1.0})
    wrong.problems[""] = ["full load: answers were wrong"]
    page = page_of([row_of("adyton-cgi", {0: 10.0, 1: 10.0}), wrong, row_of("adyton-static", {0: 1000.0})])
    shown, written = text(page), markdown(page)
    [cgi] = [line for line in written.splitlines() if line.startswith("| CGI |")]

    assert "| CGI | 10 | 60 of 240 | INVALID | 10 |  | 1,000 |  | 1000 |  |" == cgi
    assert f"## {WAYS_TITLE}" in written
    assert "| way | classic | Adyton: errors | Apache: errors |" in written
    assert WAYS_TITLE in shown
    assert "handler" not in [line.split("  ")[0] for line in shown.splitlines()]
    assert f"table above: {PEERS['adyton-cgi'].name}; {PEERS['apache-cgi'].name}" in " ".join(shown.split())
    assert [] == faults(json.loads(json.dumps(page.as_json())), "compare")
