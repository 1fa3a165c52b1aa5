"""`adyton compare` must start peers, check and measure them, and tell differences from noise."""

from __future__ import annotations

import json
import math
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from adyton._processes import of_sessions, stat_of
from adyton.compare.command import choose, keys_of_ways
from adyton.compare.pages import BODIES, PLACES, USUAL, application_of
from adyton.compare.peers import Peer, PeerError, replaced
from adyton.compare.results.report import FIGURES, Page, markdown, text
from adyton.compare.results.rows import Row, Shot
from adyton.compare.rounds import Pace, compare, in_turn, rows_left, rows_of, sizes_of
from adyton.compare.running import Size, running, start_words
from adyton.compare.scenarios import CONCURRENCY, FAILURE, MECHANISMS, SCENARIOS, SWEEP, Load, Scenario

from bench.schema import faults
from compare.reports import PACE, PEERS, SEATS, SHOT, SIZE
from support.server import until

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SILENT = Peer("silent", "silent", ("hello",), start="sleep 600", version="sleep --version")
GONE = Peer("gone", "gone", ("hello",), start="{python} -c 'raise SystemExit(\"no luck\")'", version="")


ATTEMPTS = 5
"""Tries: a short measurement gets no answer if the machine stands still; a real fault comes each time."""
BUSY = re.compile(
    "the hypervisor gave|no steady state|in second .* there were|at the end a request had waited"
    r"|for \d+ ms there was no right answer|other programs kept|under way on average|found no connection free"
    "|its rate is too low"
)
"""Why a round may have no figures on a busy machine, whatever the server does."""


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """Run `adyton compare` to its end."""
    command = (sys.executable, "-m", "adyton", "compare", *words)
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize("peer", PEERS.values(), ids=PEERS)
def test_peer_files(peer: Peer) -> None:
    """A peer must start with no word in braces left, have a unique name, and have some scenario's pages."""
    own = dict.fromkeys([*peer.words, *peer.asked], "own")
    words = own | start_words(Path("/work"), 8000, SIZE)
    left = re.compile(r"(?<![%$])\{\w+\}")

    for told in (peer.start, peer.beside, peer.version, *peer.files.values()):
        assert [] == left.findall(replaced(told, words))
    # Apache's port is in a file that all peers with Apache include.
    assert re.search(r"\{port\}|Include \{work\}/", " ".join([peer.start, *peer.files.values()]))
    assert 1 == [other.name for other in PEERS.values()].count(peer.name)
    assert peer.places.keys() & CONCURRENCY.asked


@pytest.mark.parametrize("peer", PEERS.values(), ids=PEERS)
def test_threads(peer: Peer) -> None:
    """All peers whose number of threads can be set must get the same number, our own included."""
    lines = " ".join([*peer.lines(), *peer.files.values()])
    told = re.findall(r"threads[ =]([\w{}]+)", lines)

    assert {"{threads}" if peer.key != "adyton-one-thread" else "1"} >= set(told)
    assert told or "adyton serve {app}" not in lines


def test_likeness() -> None:
    """A peer that is defined as like another must have the other's parts, with words of its own."""
    old, new = PEERS["mod-wsgi-daemon"], PEERS["mod-wsgi-6-daemon"]

    assert old.files == new.files
    assert (old.start, old.serves) == (new.start, new.serves)
    assert "mod_wsgi" in new.asked
    assert old.words["home"] != new.words["home"]
    assert PEERS["mod-wsgi-embedded"].files != old.files


def test_configuration() -> None:
    """The page must have the configuration of each peer, with all included files, and each file once."""
    files = {key: set(PEERS[key].configuration()) for key in PEERS}
    page = page_of(CONCURRENCY, [Row(PEERS[key], SIZE) for key in ("nginx-static", "nginx-uwsgi", "cheroot")])
    by_file = {each.file: each.peers for each in page.configurations if each.file != "server.conf"}

    assert {"nginx.conf", "server.conf"} == files["nginx-static"]
    assert {"apache.conf", "event.conf", "httpd.conf", "app/.htaccess", "app/application.wsgi"} == files[
        "mod-wsgi-htaccess"
    ]
    assert set() == files["adyton-wsgi"] == files["cheroot"]
    assert {"nginx.conf": [PEERS["nginx-static"].name, PEERS["nginx-uwsgi"].name]} == by_file
    assert 2 == sum(each.file == "server.conf" for each in page.configurations)
    assert 1 == markdown(page).count("worker_rlimit_nofile")


def test_vintages() -> None:
    """An older version of a peer must take part only if it is named, or if older ones are asked for."""
    peers = [replace(PEERS[key], needs=(), modules=(), paths=()) for key in ("waitress", "waitress-debian")]
    newer, older = peers

    assert [newer] == choose(peers, None, older=False, quick=False)
    assert peers == choose(peers, None, older=True, quick=False)
    assert [older] == choose(peers, older.key, older=False, quick=False)
    assert {key.replace("-debian", "") for key in PEERS if PEERS[key].older} < {
        key for key in PEERS if not PEERS[key].older
    }


def test_quick() -> None:
    """A quick comparison must have every server in some mode, and the peers that others are compared with."""
    here = [replace(peer, needs=(), modules=(), paths=()) for peer in PEERS.values()]
    taken = choose(here, None, older=False, quick=True)
    assert not isinstance(taken, str)
    keys = {peer.key for peer in taken}

    assert {"adyton-wsgi", "adyton-static", "apache-static", "floor"} < keys
    assert len(keys) < len(here) / 2
    assert [] == [peer.key for peer in taken if peer.older]
    assert {peer.name.split(",")[0] for peer in taken if "uWSGI" in peer.name} == {"uWSGI", "nginx + uWSGI"}
    assert [PEERS["granian-rsgi"].key] == [
        peer.key for peer in here if choose(here, "granian-rsgi", older=False, quick=True) == [peer]
    ]


def test_quick_has_the_ways() -> None:
    """A quick comparison must have every row of the table of ways, with each server's first runnable peer."""
    here = [replace(peer, needs=(), modules=(), paths=()) for peer in PEERS.values()]
    lacking = [replace(peer, needs=("nothing",)) if "wsgi-6" in peer.key else peer for peer in here]
    newest = {"adyton-cgi", "adyton-script", "adyton-group", "apache-cgi", "mod-wsgi-6-htaccess"}

    also = keys_of_ways(MECHANISMS, here)
    taken = choose(here, None, older=False, quick=True, also=also)

    assert not isinstance(taken, str)
    assert newest <= also <= {peer.key for peer in taken}
    assert "mod-wsgi-htaccess" not in also
    assert "mod-wsgi-htaccess" in keys_of_ways(MECHANISMS, lacking)
    assert frozenset() == keys_of_ways(CONCURRENCY, here)


def test_order_of_loads() -> None:
    """Each round must have its own order of loads; a load at a multiple of another's rate comes after it."""
    orders = {tuple(load.name for load in in_turn(FAILURE.loads, str(seed))) for seed in range(20)}

    assert {"as it can"} == {order[0] for order in orders}
    assert len(orders) > 10
    assert all(sorted(order) == sorted(load.name for load in FAILURE.loads) for order in orders)
    assert 5 == len({in_turn(SWEEP.loads, str(seed))[0].name for seed in range(50)})


def test_rounds_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """A measurement that something besides the peer spoilt must be repeated in its round, and reported."""
    row = Row(PEERS["adyton-wsgi"], SIZE)
    load = CONCURRENCY.loads[0]
    reasons = [
        {"steady": "there was a stall"},
        {},
        {"steal": "the hypervisor gave"},
        {"steal": "twice"},
        {},
        {},
    ]
    measured: list[int] = []

    def measure(_scenario: Scenario, row: Row, number: int, *_more: object) -> None:
        measured.append(number)
        if row.is_good(load, number, reasons[len(measured) - 1]):
            row.shots.setdefault(load.name, {})[number] = SHOT

    monkeypatch.setattr("adyton.compare.rounds.measure", measure)
    compare(CONCURRENCY, [row], replace(PACE, rounds=4), SEATS, lambda _text: None)

    assert [0, 0, 1, 1, 2, 3] == measured
    assert [0, 2, 3] == list(row.shots[load.name])
    assert "3 measurements did not count, the first because there was a stall" in text(
        page_of(CONCURRENCY, [row])
    )

    row.shots[load.name].pop(3)
    row.shots[load.name].pop(2)
    assert not row.is_valid(load), "one round of two has figures"
    assert ["there was a stall", "the hypervisor gave", "twice"] == row.why_not(load)


def test_fault_of_the_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A peer that was wrong must not be measured again until it is right, nor one that never starts."""
    row = Row(PEERS["adyton-wsgi"], SIZE)
    load = CONCURRENCY.loads[0]
    row.shots[load.name] = dict.fromkeys(range(6), SHOT)
    assert row.is_valid(load)
    assert not row.is_good(load, 6, {"answers": "half load: answers were wrong"})
    assert not row.is_valid(load)
    assert not row.lacks(load, 6)

    monkeypatch.setattr("adyton.compare.running.START_S", 0.1)
    gone = Row(GONE, SIZE)
    compare(CONCURRENCY, [gone], replace(PACE, rounds=3, known_within=0.03), SEATS, lambda _text: None)

    assert 1 == len(gone.problems[load.name]), "the second time is the last"


REPORTER = """
import http.server, os, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"Hello World!" if not set(os.environ) & {names!r} else b"configured"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def test_variables_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Variables that would configure a peer do not reach it."""
    names = {
        "GUNICORN_CMD_ARGS",
        "UWSGI_HTTP",
        "PYTHONDEVMODE",
        "PERL5OPT",
        "ADYTON_THREADS",
        "WEB_CONCURRENCY",
    }
    for name in names:
        monkeypatch.setenv(name, "1")
    script = tmp_path / "reporter.py"
    script.write_text(REPORTER.replace("{names!r}", repr(names)))
    peer = Peer("reporter", "reporter", ("hello",), start=f"{{python}} {script} {{port}}", version="")
    with running(peer, ["hello"], SIZE, SEATS.server) as server:
        assert {"hello"} == server.urls.keys()


def test_every_page_of_ours() -> None:
    """Adyton's own modes must answer every page that they have right."""
    asked = {page for places in PLACES.values() for page in places if application_of(page) == USUAL}
    ours = ("adyton-wsgi", "adyton-handler", "adyton-static", "adyton-group", "adyton-script", "adyton-cgi")
    for key in ours:
        with running(PEERS[key], asked, SIZE, SEATS.server) as server:
            assert PEERS[key].places.keys() & asked == server.urls.keys()

    assert 7000 < len(BODIES["page"]) < 8000
    assert 350 * 1024 == len(BODIES["file.jpg"])


def test_wrong_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """A peer that gives wrong answers must not take part."""
    monkeypatch.setattr("adyton.compare.running.START_S", 1.0)
    lost = replace(PEERS["adyton-static"], base="/lost")
    with (
        pytest.raises(PeerError, match=r"no right answer to /lost/static/hello\.txt"),
        running(lost, ["hello"], SIZE, SEATS.server),
    ):
        pass


def test_our_own() -> None:
    """A peer must answer, be loaded fully and at half of its rate, and its rounds must make a page."""
    load = CONCURRENCY.loads[0]
    for _ in range(ATTEMPTS):
        rows = rows_of([PEERS["adyton-wsgi"], PEERS["adyton-static"]], CONCURRENCY, SEATS, "adyton-wsgi")
        told: list[str] = []
        compare(CONCURRENCY, rows, replace(PACE, rounds=2), SEATS, told.append)
        if not any(unexplained(row.why_not(load)) for row in rows):
            break
    page = page_of(CONCURRENCY, rows)

    assert 3 == len(rows)
    assert 6 == sum("once more" not in each for each in told)
    for row in rows:
        shots = row.shots.get(load.name, {}).values()
        # On a busy machine a round may be spoilt, but no answer is wrong.
        assert all(0 == report["counts"]["wrong_body"] for shot in shots for report in shot.reports)
        assert all(shot.cpu_us > 0 and shot.memory_mib for shot in shots)
        assert row.is_valid(load) or row.why_not(load)
        assert [] == unexplained(row.why_not(load))
    for line in page.lines:
        assert (line.rate > 0) == (not line.problems)
    assert {row.name for row in rows} == {line.name for line in page.lines}
    assert all(row.name in text(page) and row.name in markdown(page) for row in rows)
    told = json.loads(json.dumps(page.as_json()))
    assert ("adyton-compare/1", []) == (told["schema"], faults(told, "compare"))
    assert [] == [fault for row in rows for each in reports_of(row) for fault in faults(each, "bench")]


def unexplained(reasons: Iterable[str]) -> list[str]:
    """Return the reasons that a busy machine does not explain; signs of load also explain missing answers."""
    every = list(reasons)
    left = [why for why in every if not BUSY.search(why)]
    return [why for why in left if len(left) == len(every) or not why.endswith("there was no right answer")]


def reports_of(row: Row) -> list[dict[str, Any]]:
    """Return the reports of all rounds."""
    shots = [shot for by_round in row.shots.values() for shot in by_round.values()]
    return [report for shot in shots for report in (*shot.reports, *shot.half)]


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_scenarios(scenario: Scenario) -> None:
    """Every load of every scenario must work with a peer that has its pages, and every figure be shown.

    The loads of a group are alike, so only one load of each group is tried.
    """
    scenario = replace(scenario, loads=one_of_each_group(scenario.loads))
    # A measurement that a busy machine spoils is not repeated.
    pace = replace(PACE, total_s=0.0)
    for _ in range(ATTEMPTS):
        rows = rows_of([PEERS["adyton-wsgi"]], scenario, SEATS, "")[:1]
        compare(scenario, rows, pace, SEATS, lambda _: None)
        page = page_of(scenario, rows)
        if not any(unexplained(line.problems) for line in page.lines if not line.is_absent):
            break
    shown = text(page)

    assert [load.name for load in scenario.loads] == [line.load for line in page.lines]
    for line in page.lines:
        assert line.is_absent or [] == unexplained(line.problems)
        assert line.problems or line.rate > 0 or scenario.allowed
    assert [] == faults(json.loads(json.dumps(page.as_json())), "compare")
    assert all(load.group in shown and load.head in shown for load in scenario.loads)
    assert all(figure in shown for figure in scenario.figures)
    assert scenario.judged in scenario.figures
    assert scenario.classic in " ".join(shown.split())
    assert scenario.classic in markdown(page)


def one_of_each_group(loads: Sequence[Load]) -> tuple[Load, ...]:
    """Return one load of each group: the first of the first group, the second of the second, and so on."""
    groups: dict[str, list[Load]] = {}
    for number, load in enumerate(loads):
        groups.setdefault(load.group or str(number), []).append(load)
    return tuple(those[number % len(those)] for number, those in enumerate(groups.values()))


def test_scenarios_have_peers() -> None:
    """Each load has several peers that have its pages, and the figures that it asks for exist."""
    for scenario in SCENARIOS.values():
        assert set(scenario.figures) <= FIGURES.keys()
        assert scenario.classics.keys() <= PEERS.keys()
        assert {key for way in scenario.ways for key in (*way.ours, *way.theirs)} <= PEERS.keys()
        for load in scenario.loads:
            assert not load.half or "poisson" in load.half
            assert 2 <= len([peer for peer in PEERS.values() if load.asked <= peer.places.keys()])


@pytest.mark.parametrize(
    ("peer", "start_s", "why"), [(SILENT, 0.5, "no right answer"), (GONE, 60.0, "ended at once: no luck")]
)
def test_does_not_start(peer: Peer, start_s: float, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A peer that does not start has no figures, but a reason."""
    monkeypatch.setattr("adyton.compare.running.START_S", start_s)
    with pytest.raises(PeerError, match=why), running(peer, ["hello"], SIZE, SEATS.server):
        pass
    row = Row(peer, SIZE)
    compare(FAILURE, [Row(peer, SIZE)], PACE, SEATS, lambda _: None)
    compare(CONCURRENCY, [row], PACE, SEATS, lambda _: None)
    page = page_of(CONCURRENCY, [row])

    assert why in text(page)
    assert "INVALID" in text(page)


def page_of(scenario: Scenario, rows: list[Row]) -> Page:
    """Make the page of these rows."""
    return Page.of(scenario, rows, PACE, SEATS, {row.peer.key: "1.0" for row in rows})


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_end_from_outside(number: signal.Signals) -> None:
    """A signal that ends the comparison must also end the peer that it has started, and give the status."""
    # Whoever starts the tests may ignore SIGHUP.
    command = ["env", "--default-signal", sys.executable, "-m", "adyton", "compare", "--peers", "adyton-wsgi"]
    with subprocess.Popen(command, start_new_session=True, stderr=subprocess.PIPE, text=True) as comparison:
        members = of_sessions({comparison.pid})
        # A peer has a session of its own.
        while all(each.session == comparison.pid for each in members):
            assert comparison.poll() is None
            members = of_sessions({comparison.pid})
        comparison.send_signal(number)
        _, said = comparison.communicate(timeout=60)

        assert 128 + number == comparison.returncode
        assert "adyton compare: interrupted before anything was measured\n" == said

    def are_gone() -> bool:
        return not any((now := stat_of(each.pid)) and now.session == each.session for each in members)

    # Nothing waits for the killed processes, so they may still be listed for a moment.
    assert until(are_gone)


def test_pace() -> None:
    """The more peers there are, the shorter and fewer are the measurements of a quick comparison."""
    row = Row(PEERS["adyton-wsgi"], SIZE)
    few, many, long = (
        Pace.within(total_s, CONCURRENCY, [row] * count) for total_s, count in ((90, 3), (90, 26), (3600, 26))
    )

    assert 3 == few.rounds
    assert many.rounds < few.rounds
    assert many.seconds < few.seconds
    assert 5 <= long.rounds == long.halves
    assert long.seconds > few.seconds
    assert FAILURE.seconds_min <= Pace.within(90, FAILURE, [row] * 26).seconds
    fitted = [Pace.publish(total_s, CONCURRENCY, [row] * 26) for total_s in (math.inf, 1200, 60)]
    assert 10 == fitted[0].rounds
    assert [3.0, 0.5] == [fitted[0].seconds, fitted[2].seconds]
    assert 0.5 < fitted[1].seconds < 3.0
    assert FAILURE.seconds_min == Pace.publish(60, FAILURE, [row] * 26).seconds


def test_no_round_that_does_not_fit() -> None:
    """One round must be made, however long it takes; a second one only if it would end in time."""
    slow = [Row(replace(GONE, start="{python} -c 'import time; time.sleep(0.3)'"), SIZE)]

    hurried, patient = (
        compare(CONCURRENCY, slow, replace(PACE, rounds=2, total_s=total_s), SEATS, lambda _text: None)
        for total_s in (0.1, 60.0)
    )

    assert (1, 2) == (hurried.rounds, patient.rounds)
    few = compare(CONCURRENCY, slow, replace(PACE, rounds=3, total_s=0.1, least=2), SEATS, lambda _text: None)
    assert 2 == few.rounds, "what is published has as many as its figures need"
    assert 6 == Pace.publish(60, CONCURRENCY, slow).least


def test_rounds_until_enough_is_known() -> None:
    """A peer whose rate is known, or that was wrong, must drop out, unless others are compared with it."""
    keys = ("adyton-wsgi", "apache-static", "floor", "bjoern", "cheroot", "waitress")
    rows = {key: Row(PEERS[key], SIZE) for key in keys} | {
        "again": Row(PEERS["adyton-wsgi"], SIZE, again=True)
    }
    spread = {"cheroot": 10.0}
    rows["waitress"].problems[""] = ["answers were wrong"]
    for number in range(6):
        for key, row in rows.items():
            rate = 100.0 + spread.get(key, 0.0) * number
            shot = Shot([{"rate": rate, "invalid": []}], cpu_s=0.1, memory_bytes=1)
            row.shots.setdefault("", {})[number] = shot
    pace = replace(PACE, rounds=10, known_within=0.03)

    def left(pace: Pace) -> set[str]:
        keyed = {id(row): key for key, row in rows.items()}
        return {keyed[id(row)] for row in rows_left(CONCURRENCY, list(rows.values()), pace)}

    assert set(rows) - {"bjoern", "waitress"} == left(pace)
    assert set(rows) == left(PACE), "nobody is left out of a quick comparison"
    rows.pop("cheroot")
    assert set() == left(pace)
    assert 0 == compare(CONCURRENCY, list(rows.values()), pace, SEATS, lambda _text: None).rounds


def test_sizes() -> None:
    """A sweep must try each size that can be set for a peer, and each only once."""
    told = {key: [str(size) for size in sizes_of(PEERS[key], SWEEP, 2)] for key in PEERS}

    assert ["2 x 1", "8 x 1"] == told["gunicorn-sync"]
    assert ["1 x 4", "1 x 1", "1 x 16"] == sorted(told["waitress"], key=lambda size: size[-1] != "4")
    assert ["2 x 1", "2 x 4", "2 x 16", "8 x 1"] == told["adyton-wsgi"] == told["gunicorn-gthread"]
    assert told["waitress"] == told["cheroot"]
    assert ["2 x 1", "8 x 1"] == told["bjoern"] == told["lighttpd-static"] == told["h2o-static"]
    # The sizes of these peers stand in files that they share.
    assert ["2 x 1", "8 x 1"] == told["nginx-static"]
    # A peer that others are compared with takes part once.
    assert [str(Size.usual(2))] == told["floor"]
    assert [Size.usual(2)] == sizes_of(PEERS["bjoern"], MECHANISMS, 2)


def test_words() -> None:
    """`--list` must list all peers and name the missing programs, and there must be help."""
    listed = run("--list")
    given = run("--list", "--program", f"nxweb={sys.executable}")
    unknown = run("--peers", "adyton-wsgi,nobody")
    useless = run("media", "--peers", "floor,bjoern", "--program", "cc=/dev/null")

    assert set(PEERS) == {line.split()[0] for line in listed.stdout.splitlines()}
    assert "missing: nxweb" in listed.stdout
    assert "missing: nxweb" not in given.stdout
    assert (2, "nobody is not a peer; --list shows them") == (unknown.returncode, unknown.stderr.strip()[16:])
    assert 2 == useless.returncode
    assert "floor cannot run: cc (/dev/null) is not installed" == useless.stderr.strip()[16:]
    assert "nxweb is not NAME=PATH" in run("--list", "--program", "nxweb").stderr
    assert "mechanisms" in run("--help").stdout
    assert 2 == run("nonsense").returncode
