"""`adyton compare` starts peers, checks and measures them, and says what is no difference."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from adyton.compare.figures import interval, noise, ratios, verdict
from adyton.compare.peers import Peer, PeerError, Seats, read_peers, replaced, running, words_for
from adyton.compare.report import Page, markdown, table
from adyton.compare.rounds import Pace, Row, compare
from adyton.compare.scenarios import CONCURRENCY

PACE = Pace(rounds=2, duration="200ms", warm_up="100ms")
SEATS = Seats.of_this_machine()
PEERS = {peer.key: peer for peer in read_peers()}
SILENT = Peer("silent", "silent", "python", start="sleep 600", version="sleep --version")
GONE = Peer("gone", "gone", "python", start="{python} -c 'raise SystemExit(\"no luck\")'", version="")


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """Run `adyton compare` to its end."""
    command = (sys.executable, "-m", "adyton", "compare", *words)
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("peer", PEERS.values(), ids=PEERS)
def test_peer_files(peer: Peer) -> None:
    """No word in braces is left when a peer is started, and its name is its own."""
    words = words_for(Path("/work"), 8000, SEATS)
    left = re.compile(r"(?<![%$])\{\w+\}")

    for text in (peer.start, peer.beside, peer.version, *peer.files.values()):
        assert [] == left.findall(replaced(text, words))
    assert "{port}" in peer.start + "".join(peer.files.values())
    assert 1 == [other.name for other in PEERS.values()].count(peer.name)


def test_our_own() -> None:
    """A peer answers, is loaded fully and at half of its rate, and its rounds add up to a page."""
    rows = [Row(PEERS["adyton-wsgi"]), Row(PEERS["adyton-static"]), Row(PEERS["adyton-wsgi"], again=True)]
    told: list[str] = []
    compare(CONCURRENCY, rows, PACE, SEATS, told.append)
    versions = {row.peer.key: "1.0" for row in rows}
    page = Page.of(CONCURRENCY, rows, PACE, SEATS, versions)

    assert 6 == len(told)
    for row in rows:
        # On a busy machine a round may be spoilt, but no answer is wrong.
        assert all(0 == report["counts"]["wrong_body"] for report in (*row.full.values(), *row.half.values()))
        assert row.rounds <= PACE.rounds
        assert row.is_valid or row.why_not
        assert [] == [why for why in row.why_not if "load: " not in why], "it was not measured"
    for line in page.lines:
        assert (line.rate > 0) == (not line.problems)
    assert {row.name for row in rows} == {line.name for line in page.lines}
    assert all(row.name in table(page) and row.name in markdown(page) for row in rows)
    assert "adyton-compare/1" == json.loads(json.dumps(page.as_json()))["schema"]


@pytest.mark.parametrize(("peer", "why"), [(SILENT, "no right answer"), (GONE, "ended at once: no luck")])
def test_does_not_start(peer: Peer, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A peer that does not start has no figures, but a reason."""
    monkeypatch.setattr("adyton.compare.peers.START_S", 0.5)
    with pytest.raises(PeerError, match=why), running(peer, SEATS):
        pass
    row = Row(peer)
    compare(CONCURRENCY, [row], PACE, SEATS, lambda _: None)
    page = Page.of(CONCURRENCY, [row], PACE, SEATS, {peer.key: ""})

    assert why in table(page)
    assert "INVALID" in table(page)


def test_ratios_are_those_of_rounds() -> None:
    """Rounds that only one of two has do not count."""
    assert [2.0, 1.5] == ratios({0: 10.0, 1: 7.0, 2: 9.0}, {0: 5.0, 2: 6.0, 3: 1.0})
    assert noise({0: 100.0, 1: 100.0}, {0: 104.0, 1: 100.0}) == pytest.approx(0.04)
    assert noise({}, {0: 1.0}) is None


def test_what_is_a_difference() -> None:
    """A ratio within the noise of the same thing twice is none."""
    same, other = [0.99, 1.02, 1.0, 0.98, 1.01, 1.0], [1.2, 1.22, 1.19, 1.21, 1.2, 1.23]
    low, high = interval(other)

    assert 1.19 <= low < high <= 1.23
    assert (0.9, 1.1) == interval([1.0, 0.9, 1.1])
    assert ["no difference", "more", "no difference", "less"] == [
        verdict(same, 0.02),
        verdict(other, 0.02),
        verdict(other, 0.25),
        verdict([1 / ratio for ratio in other], 0.02),
    ]


def test_words() -> None:
    """Peers are listed, those that are not there are said to be not there, and there is help."""
    listed = run("--list")
    unknown = run("--peers", "adyton-wsgi,nobody")

    assert set(PEERS) == {line.split()[0] for line in listed.stdout.splitlines()}
    assert (2, "nobody is not a peer; --list shows them") == (unknown.returncode, unknown.stderr.strip()[16:])
    assert "mechanisms" in run("--help").stdout
    assert 2 == run("nonsense").returncode
