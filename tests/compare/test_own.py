"""Scenarios with applications of their own: uploads, frameworks that need not be installed, and streams."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import util
from typing import TYPE_CHECKING

import pytest
from adyton.compare import kept
from adyton.compare.own import DRIVERS, OWN, PACKAGES, how_to_install
from adyton.compare.own import FRAMEWORKS as NAMES
from adyton.compare.peers import Peer
from adyton.compare.results.report import Page, markdown, tables, text
from adyton.compare.results.rows import Row
from adyton.compare.rounds import Run, compare, rows_left, rows_of
from adyton.compare.running import running
from adyton.compare.scenarios import FRAMEWORKS, SCENARIOS, UPLOADS

from bench.schema import faults
from compare.reports import PACE, PEERS, SEATS, SHOT, SIZE

if TYPE_CHECKING:
    from pathlib import Path

    from adyton.compare.scenarios import Scenario

APPLICATIONS = sorted({own.application for own in OWN.values()} - {*DRIVERS.values()})
ALSO = {"pyramid": ["pyramid_jinja2"], "falcon": ["jinja2"]}
"""Packages that the pages of a framework need beside it."""
BARE = Peer(
    "bare",
    "bare",
    ("wsgi",),
    start="{python} -S {work}/serve.py {port}",
    version="",
    files={
        "serve.py": """
import sys
from wsgiref.simple_server import make_server
sys.path.insert(0, "{app}")
import application
make_server("127.0.0.1", int(sys.argv[1]), application.application).serve_forever()
"""
    },
)
"""A server whose Python has no packages."""


def page_of(scenario: Scenario, *rows: Row) -> Page:
    """Make the page of these rows."""
    return Page.of(scenario, rows, PACE, SEATS, {row.peer.key: "1.0" for row in rows})


@pytest.mark.parametrize("application", APPLICATIONS)
def test_pages(application: str) -> None:
    """Adyton must answer every page of each application right, unless a needed package is missing."""
    asked = {page for page, own in OWN.items() if own.application == application}
    module = application.removeprefix("on_")
    needed = (name for name in (module, *ALSO.get(module, ())) if name in PACKAGES)
    missing = next((name for name in needed if not util.find_spec(name)), None)
    with running(PEERS["adyton-wsgi"], asked, SIZE, SEATS.server) as server:
        there, absent = set(server.urls), dict(server.absent)

    assert (set() if missing else asked) == there
    assert (dict.fromkeys(asked, how_to_install(missing)) if missing else {}) == absent


def test_each_application_has_a_scenario() -> None:
    """Some load must ask for each of these pages, and the pages of a load must be of one application."""
    loads = [load for scenario in SCENARIOS.values() for load in scenario.loads]

    assert OWN.keys() <= set().union(*(load.asked for load in loads))
    for load in loads:
        assert {load.application} == {OWN[page].application for page in load.asked if page in OWN} or (
            load.application == "application"
        )
        assert load.name == f"{load.group}, {load.head}" if load.group else load.name == load.head


def test_not_installed() -> None:
    """A row must tell which framework is missing, and how to install it; the row must not be tried again."""
    row = Row(BARE, SIZE)
    told: list[str] = []
    compare(FRAMEWORKS, [row], replace(PACE, rounds=2), SEATS, told.append)
    page = page_of(FRAMEWORKS, row)
    shown = text(page)

    assert {load.name for load in FRAMEWORKS.loads} == set(row.absent)
    assert all(line.is_absent and line.problems for line in page.lines)
    assert "INVALID" not in shown
    assert ["bare", *["absent"] * 4] == tables(page)[0].rows[0]
    for name in NAMES:
        why = f"{name} is not installed: `python -m pip install {name.lower()}"
        assert 1 == shown.count(f"absent of bare: {why}")
    assert "`apt-get install python3-django`" in markdown(page)
    assert [] == faults(json.loads(json.dumps(page.as_json())), "compare")
    assert row.was_tried
    assert [] == rows_left(FRAMEWORKS, [row], replace(PACE, known_within=0.03))
    assert not any("once more" in each for each in told)
    again = Row(BARE, SIZE)
    kept.fill(again, json.loads(json.dumps(kept.told(row))))
    assert row.absent == again.absent


def test_some_are_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """If some pages lack a package, the others must still be measured."""
    lacks = "Pyramid, hello"
    row = Row(PEERS["adyton-wsgi"], SIZE, absent={lacks: how_to_install("pyramid")})
    started: list[set[str]] = []

    def measure_some(_scenario: Scenario, row: Row, number: int, loads: list[object], _how: object) -> None:
        started.append({load.application for load in FRAMEWORKS.loads if load in loads})
        for load in FRAMEWORKS.loads:
            if load in loads:
                row.shots.setdefault(load.name, {})[number] = SHOT

    monkeypatch.setattr("adyton.compare.rounds.measure_some", measure_some)
    compare(FRAMEWORKS, [row], PACE, SEATS, lambda _: None)
    lines = {line.load: line for line in page_of(FRAMEWORKS, row).lines}

    assert sorted(f"on_{name.lower()}" for name in NAMES) == sorted(name for each in started for name in each)
    assert len(started) == len(NAMES), "a server is started for each framework"
    assert (True, []) == (lines[lacks].is_absent, lines["Pyramid, form"].problems)
    assert {80.0, 0.0} == {line.rate for line in lines.values()}


def test_some_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong page must be a problem of its own load only."""
    monkeypatch.setattr("adyton.compare.running.PAGE_S", 0.3)
    refuses = BARE.files["serve.py"].replace(
        "import application",
        """import application
whole = application.application
def refuse(environ, start_response):
    if environ["PATH_INFO"] != "/pieces":
        return whole(environ, start_response)
    start_response("413 Content Too Large", [])
    return []
application.application = refuse""",
    )
    put: list[str] = []
    monkeypatch.setattr(
        "adyton.compare.rounds.put",
        lambda _row, _number, loads, _bench: put.extend(each.name for each in loads),
    )
    row = Row(replace(BARE, files={"serve.py": refuses}), SIZE)
    compare(replace(UPLOADS, loads=UPLOADS.loads[:5]), [row], PACE, SEATS, lambda _: None)
    for way in ("pieces", "chunked"):  # the bare server takes no chunks
        [why] = row.problems.pop(f"64 KiB, {way}")

        assert why.startswith(f"no right answer to /{way} within 0 s: ")
    assert [] == [each for problems in row.problems.values() for each in problems]
    assert ["64 KiB, lines", "64 KiB, unread", "64 KiB, whole"] == sorted(put)


def test_how_to_install() -> None:
    """All packages of the frameworks must be known by their modules; an unknown module is only named."""
    assert {name.lower() for name in NAMES} < PACKAGES.keys()
    assert "python3-pyramid-jinja2" in how_to_install("pyramid_jinja2")
    assert how_to_install("django") == how_to_install("django.conf")
    assert "the Python module ssl is not installed" == how_to_install("ssl")


def test_who_takes_part() -> None:
    """Every peer that serves WSGI must take part, and no other: neither handlers nor ASGI."""
    for scenario in (UPLOADS, FRAMEWORKS):
        keys = {row.peer.key for row in rows_of(list(PEERS.values()), scenario, SEATS, "")}

        assert {"adyton-wsgi", "nginx-uwsgi", "mod-wsgi-daemon", "waitress", "mod-python-wsgi"} < keys
        assert not keys & {"adyton-handler", "mod-python", "uvicorn", "granian-asgi", "floor", "mod-php"}


def test_what_is_sent(tmp_path: Path) -> None:
    """Requests for a page that takes a body must have it, with its type; others must have none."""
    file = tmp_path / "sent"
    sent = Run(("1 MB lines",), ()).sent(file)
    assert ("--data", f"@{file}", "--header", "Content-Type:application/octet-stream") == sent
    assert (1_000_000, 4_000) == (len(file.read_bytes()), file.read_bytes().count(b"\n"))
    assert "Transfer-Encoding:chunked" in Run(("64 KiB chunked",), ()).sent(file)
    assert "Content-Type:application/x-www-form-urlencoded" in Run(("Flask form",), ()).sent(file)
    assert b"name=Lyre+%26+plectrum&strings=7" == file.read_bytes()

    assert () == Run(("Flask hello",), ()).sent(file) == Run(("hello",), ()).sent(file)


def test_tables_of_groups() -> None:
    """Loads of a group must have tables of their own, without the group's name above each column."""
    row = Row(PEERS["adyton-wsgi"], SIZE)
    for load in UPLOADS.loads[:5]:
        row.shots[load.name] = {0: SHOT}
    found = tables(page_of(UPLOADS, row))

    assert ["64 KiB: requests/s", "64 KiB: CPU us"] == [each.title for each in found[:2]]
    assert len(UPLOADS.figures) * 3 == len(found)
    assert all(["whole", "pieces", "lines", "unread", "chunked"] == each.head for each in found)
    assert ["Adyton, WSGI", *["80"] * 5] == found[0].rows[0]
    assert "INVALID" in found[-1].rows[0]
