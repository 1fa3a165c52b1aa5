"""Events that happen to a peer under load: workers are replaced and killed, clients are many and slow."""

from __future__ import annotations

import math
import signal
from dataclasses import replace
from typing import TYPE_CHECKING

from adyton.compare import events
from adyton.compare.results.report import FIGURES, Page, text
from adyton.compare.results.rows import Row, Shot
from adyton.compare.rounds import Bench, Run, in_turn, put
from adyton.compare.running import Server, Size, running
from adyton.compare.scenarios import CONNECTIONS, PROCESSES, Load, Scenario
from adyton.compare.served.application import BODY, SHORT, body_of

from compare.reports import PACE, PEERS, SEATS, SIZE, report

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

LOADS = {load.name: load for scenario in (CONNECTIONS, PROCESSES) for load in scenario.loads}
SERVER = Server({"hello": "http://127.0.0.1:1/"}, frozenset())


def line_of(scenario: Scenario, load: str, *shots: Shot) -> dict[str, str]:
    """Return the cells of a load, by the titles of the columns."""
    row = Row(PEERS["adyton-wsgi"], SIZE)
    row.shots[load] = dict(enumerate(shots))
    page = Page.of(scenario, [row], PACE, SEATS, {"adyton-wsgi": "1.0"})
    line = next(each for each in page.lines if each.load == load)
    return {title: FIGURES[title](line) for title in scenario.figures}


def test_workers_are_replaced_and_killed() -> None:
    """A reload must replace all workers, a kill one of them, and both must be over when they return."""
    size = Size(2, 1, 2)
    with running(PEERS["adyton-wsgi"], ["hello"], size, SEATS.server) as server:
        first = events.workers(server)
        assert events.reload(server) < events.TURN_S
        second = events.workers(server)
        assert events.kill(server) < events.TURN_S
        third = events.workers(server)

    assert (2, 0) == (len(first), len(first & second))
    assert (2, 1) == (len(third), len(second & third))
    assert server.start_s > 0


def test_events_of_a_load() -> None:
    """Events must begin with a load, come one after the other, and go on as long as the load lasts."""
    with (
        running(PEERS["adyton-wsgi"], ["hello"], SIZE, SEATS.server) as server,
        events.going_on(events.RELOAD, server) as took_s,
    ):
        while len(took_s) < 2:
            assert "" == server.how_it_ended()

    assert all(0 < each_s < math.inf for each_s in took_s)
    with events.going_on("", SERVER) as took_s:
        pass
    assert [] == took_s


def test_never_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a peer keeps its workers, or has none to kill, the event must be told as never over."""
    monkeypatch.setattr(events, "TURN_S", 0.05)
    with running(PEERS["adyton-wsgi"], ["hello"], SIZE, SEATS.server) as server:
        assert math.inf == events.reload(replace(server, reload=signal.SIGCONT))
    with running(PEERS["adyton-bare"], ["hello"], SIZE, SEATS.server) as bare:
        assert (set(), math.inf) == (events.workers(bare), events.kill(bare))
    shots = [Shot([report()], 0.1, 1, turns_s=[math.inf, math.inf, 1.0])]
    assert ("never", "3") == tuple(
        line_of(PROCESSES, "reloaded", *shots)[title] for title in ("turn s", "events")
    )


def test_replaced_one_behind_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reload must be over only when no old worker is left and there are as many workers as before."""
    seen = [{1, 2}, {1, 2}, {2, 3}, set[int](), {3}, {3, 4}]
    left = iter(seen)
    monkeypatch.setattr(events, "workers", lambda _: next(left))

    assert events.reload(SERVER) < math.inf
    assert [] == list(left)


def test_who_can_be_reloaded() -> None:
    """A peer without a signal for a reload must take part only in the load without events."""
    bare, whole = Row(PEERS["adyton-bare"], SIZE), Row(PEERS["adyton-wsgi"], SIZE)

    assert ["as ever"] == [load.name for load in PROCESSES.loads if bare.takes(load)]
    assert all(whole.takes(load) for load in PROCESSES.loads)
    # A server may end when a worker is killed, so this load comes last.
    assert {"worker killed"} == {in_turn(PROCESSES.loads, str(seed))[-1].name for seed in range(9)}
    for peer in PEERS.values():
        assert not peer.reload or signal.Signals[f"SIG{peer.reload}"]


def test_multiples_are_those_of_the_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Multiples must be multiples of the measuring load's rate, in whatever order loads come."""
    offered: dict[str, float] = {}

    def once(_bench: Bench, load: Load, rate: float) -> Shot:
        offered[load.name] = rate
        return Shot([report(rate=1000.0 if load.name == "64" else 7.0)], 0.1, 1)

    monkeypatch.setattr(Bench, "once", once)
    for seed in range(5):
        loads = in_turn(CONNECTIONS.loads, str(seed))
        put(Row(PEERS["adyton-wsgi"], SIZE), 0, loads, Bench(SERVER, PACE, SEATS, seed=1))
        assert {500.0} == {offered[load.name] for load in loads if load.times}
        assert {0.0} == {offered[load.name] for load in loads if not load.times}


def test_load_until_all_connections_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many connections must have a longer warm-up, and slow clients must be there until the end."""
    asked: list[tuple[str, ...]] = []

    def reports_of(runs: Sequence[Run], *_more: object) -> list[dict[str, object]]:
        asked.extend(run.options for run in runs)
        return [report() for _ in runs]

    monkeypatch.setattr("adyton.compare.rounds.reports_of", reports_of)
    monkeypatch.setattr("adyton.compare.rounds.recovery_s", lambda *_: 0.0)
    bench = Bench(SERVER, PACE, SEATS, seed=1)
    for name in ("64", "10,000, half", "beside uploads"):
        bench.once(LOADS[name], 100.0 * LOADS[name].times)
    warm = [words[words.index("--warm-up") + 1] for words in asked]
    lasting = [words[words.index("-d") + 1] for words in asked]

    assert ["300ms", "2000ms", "1000ms", "1000ms"] == warm
    assert ["200ms", "200ms", "200ms", "2200ms"] == lasting


def test_slow_clients_in_the_table() -> None:
    """The outcomes of slow clients must be told, and the memory while all connections were open."""
    counts = {"begun": 1000, "right": 3, "wrong": 1, "cut_off": 20, "not_connected": 4, "under_way": 972}
    beside = report(slow=[{"kind": "readers", "counts": counts}])
    shots = [Shot([report(server={"pss_bytes": 3 << 20})], 0.1, 1, beside=beside)] * 2
    shown = line_of(CONNECTIONS, "beside readers", *shots)

    assert ("50 of 2,000", "3.0") == (shown["cut off"], shown["MiB held"])
    bare = line_of(CONNECTIONS, "64", Shot([report(server=None)], 0.1, 1))
    assert ("", "") == (bare["cut off"], bare["MiB held"])


def test_uploads_that_are_cut() -> None:
    """The page of uploads must be right only if all of the body has come."""
    assert [BODY, BODY, SHORT] == [
        body_of("/upload", sent, length) for sent, length in ((b"", None), (b"abc", "3"), (b"ab", "3"))
    ]


def test_start_in_the_table() -> None:
    """The time of a start is told in milliseconds, for every load of the peer."""
    shown = line_of(PROCESSES, "as ever", Shot([report()], 0.1, 1, start_s=0.085))

    assert ("85", "", "") == (shown["start ms"], shown["events"], shown["turn s"])
    row = Row(PEERS["adyton-wsgi"], SIZE)
    assert "start ms" in text(Page.of(PROCESSES, [row], PACE, SEATS, {"adyton-wsgi": "1.0"}))
