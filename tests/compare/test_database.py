"""The scenario `database`: PostgreSQL is made, started and ended for it, or what is missing is told."""

from __future__ import annotations

import os
import subprocess
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from adyton._processes import of_sessions
from adyton.compare import database
from adyton.compare.database import INSTALL, Database, database_of
from adyton.compare.own import DRIVERS, OWN, how_to_install
from adyton.compare.results.report import Page, text
from adyton.compare.results.rows import Row
from adyton.compare.rounds import Bench, compare
from adyton.compare.running import Server, running
from adyton.compare.scenarios import CONCURRENCY, DATABASE

from compare.reports import PACE, PEERS, SEATS, SIZE, report

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adyton.compare.rounds import Run


def psql(server: Path, socket: Path, user: str, name: str, statement: str) -> str:
    """Ask a database, and return what it says: an answer or an error."""
    command = [server.with_name("psql"), "-h", socket, "-U", user, "-d", name, "-At", "-c", statement]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or done.stderr.strip()


def test_database() -> None:
    """The database must let one user only read the articles, not run as root, and leave nothing behind.

    Pages of the database are right with each driver that is installed.
    """
    server = database.postgres()
    with database_of(DATABASE, SEATS.load) as found:
        if server is None:
            assert Database(why_not=INSTALL) == found
            return
        assert "" == found.why_not
        assert found.socket
        [leader] = found.leaders
        assert 0 != Path(f"/proc/{leader}").stat().st_uid
        assert SEATS.load == os.sched_getaffinity(leader)
        assert "42" == psql(server, found.socket, "compare", "compare", "SELECT count(*) FROM articles")
        assert "permission denied" in psql(server, found.socket, "compare", "compare", "DELETE FROM articles")
        assert "no pg_hba.conf entry" in psql(server, found.socket, "postgres", "postgres", "SELECT 1")
        for driver, application in DRIVERS.items():
            module = "psycopg_pool" if driver == "psycopg" else driver
            asked = {page for page, own in OWN.items() if own.application == application}
            with running(PEERS["adyton-wsgi"], asked, SIZE, SEATS.server, database=found.socket) as serving:
                there, absent = set(serving.urls), dict(serving.absent)
            is_there = util.find_spec(module)
            assert (asked if is_there else set()) == there
            assert ({} if is_there else dict.fromkeys(asked, how_to_install(module))) == absent

    assert not found.socket.exists()
    assert [] == of_sessions({leader})


def test_no_database_where_none_is_asked() -> None:
    """A scenario that does not ask for a database must have none."""
    with database_of(CONCURRENCY, SEATS.load) as found:
        assert Database() == found


def test_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without PostgreSQL no server is started, and the page says what to install."""
    monkeypatch.setattr(database, "postgres", lambda: None)
    monkeypatch.setattr("adyton.compare.rounds.running", None)
    row = Row(PEERS["adyton-wsgi"], SIZE)
    compare(DATABASE, [row], PACE, SEATS, lambda _: None)

    assert dict.fromkeys((load.name for load in DATABASE.loads), INSTALL) == row.absent
    shown = text(Page.of(DATABASE, [row], PACE, SEATS, {"adyton-wsgi": "1.0"}))
    assert f"absent of Adyton, WSGI: {INSTALL}." in shown


@pytest.mark.parametrize(
    ("initdb", "postgres", "why"),
    [
        ("echo no luck >&2; exit 1", "exit 0", "PostgreSQL cannot be set up: no luck"),
        (
            "mkdir data",
            "echo 'ERROR:  no such thing' >&2",
            "PostgreSQL cannot be set up: ERROR:  no such thing",
        ),
        (
            "mkdir data",
            '[ "$1" = --single ] || { echo no port; exit 1; }',
            "PostgreSQL does not start: no port",
        ),
    ],
)
def test_does_not_start(
    initdb: str, postgres: str, why: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The message of a database that cannot be made or started is the reason."""
    # Another user must be able to execute the scripts.
    for folder in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        folder.chmod(0o755)
    for name, script in {"initdb": initdb, "postgres": postgres}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setattr(database, "postgres", lambda: tmp_path / "postgres")
    with database_of(DATABASE, SEATS.load) as found:
        assert Database(why_not=why) == found


def test_its_time_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """CPU time of the database must count neither as the peer's nor as that of other programs."""
    counted: list[frozenset[int]] = []

    def cpu_s(leaders: set[int]) -> float:
        counted.append(frozenset(leaders))
        return 0.0

    def reports_of(runs: Sequence[Run], *_more: object) -> list[dict[str, object]]:
        return [report() for _ in runs]

    monkeypatch.setattr("adyton.compare.spent._processes.cpu_s", cpu_s)
    monkeypatch.setattr("adyton.compare.rounds.reports_of", reports_of)
    peer, asked = frozenset({2**22 + 1}), frozenset({2**22 + 2})
    Bench(Server({}, peer), PACE, SEATS, seed=1, database=asked).once(DATABASE.loads[0], 0.0)

    assert sorted([peer, asked] * 2, key=min) == sorted(counted, key=min)


def test_newest(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The newest of several versions is taken, by number."""
    for version in ("9", "15", "16beta"):
        (tmp_path / version / "bin").mkdir(parents=True)
        (tmp_path / version / "bin" / "postgres").touch()
    monkeypatch.setattr(database, "DEBIAN", tmp_path)

    assert tmp_path / "15" / "bin" / "postgres" == database.postgres()
