"""If something goes wrong, `adyton compare` must tell what it was, and still what was measured."""

from __future__ import annotations

import json
import math
import signal
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from adyton._command import Ended, has_written
from adyton.compare import command, rounds
from adyton.compare.command import choose, main
from adyton.compare.kept import Kept
from adyton.compare.peers import PROGRAMS, Peer
from adyton.compare.results.report import Page, text
from adyton.compare.results.rows import Discarded, Row, Shot
from adyton.compare.rounds import Bench, Pace, compare, put
from adyton.compare.running import Server
from adyton.compare.scenarios import CONCURRENCY, SLOW, Scenario
from adyton.tune.command import main as tune

from bench.schema import faults
from compare.reports import PACE, PEERS, SEATS, SHOT, SIZE, report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

LOAD = CONCURRENCY.loads[0]
SERVER = Server({"hello": "http://127.0.0.1:1/"}, frozenset())
NONE = dict.fromkeys(report()["counts"], 0)
SILENT = Shot(
    [report(counts=NONE, rate=0.0, invalid=[{"gate": "answers", "why": "there was no right answer"}])], 0.1, 1
)
WRONG = Shot([report(invalid=[{"gate": "answers", "why": "9 of 90 requests had no right answer"}])], 0.1, 1)


@pytest.fixture(autouse=True)
def _quietly(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leave signals as they are, and forget the programs that a test has given."""
    monkeypatch.setattr(command, "interrupt_when_ended", lambda: None)
    yield
    PROGRAMS.clear()


def page_of(scenario: Scenario, *rows: Row) -> Page:
    """Make the page of these rows."""
    return Page.of(scenario, rows, PACE, SEATS, {row.peer.key: "1.0" for row in rows})


def as_told(value: object) -> Any:
    """Return a value as a reader of the JSON gets it."""
    return json.loads(json.dumps(value))


def interrupted_by(error: KeyboardInterrupt, shots: Sequence[Shot]) -> Callable[..., Pace]:
    """Make a comparison that fills the first row with these shots, and is then interrupted."""

    def compare(_scenario: Scenario, rows: Sequence[Row], *_more: object, **_kept: object) -> Pace:
        if shots:
            rows[0].shots[LOAD.name] = dict(enumerate(shots))
        raise error

    return compare


@pytest.mark.parametrize(("error", "status"), [(KeyboardInterrupt(), 130), (Ended(signal.SIGTERM), 143)])
def test_interrupted(
    error: KeyboardInterrupt,
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """After an interruption, the measurements until then must be told, and the interruption, too."""
    monkeypatch.setattr(command, "compare", interrupted_by(error, [SHOT]))
    file, other = tmp_path / "page.md", tmp_path / "page.json"
    files = ["-o", str(file), "-o", str(other)]

    assert status == main(["--peers", "adyton-static", "--json", *files])
    assert capsys.readouterr().out == other.read_text()
    told = json.loads(other.read_text())
    assert (True, 80.0, []) == (told["interrupted"], told["lines"][0]["rate"], faults(told, "compare"))
    assert "It was interrupted" in file.read_text()
    assert "| 80 |" in file.read_text()
    assert "interrupted" not in text(page_of(CONCURRENCY, Row(PEERS["adyton-static"], SIZE)))

    monkeypatch.setattr(command, "compare", interrupted_by(error, []))
    assert status == main(["--peers", "adyton-static"])
    said = capsys.readouterr()
    assert ("", "adyton compare: interrupted before anything was measured\n") == (said.out, said.err)


READ = Shot(**as_told(asdict(SHOT)))
"""A measurement as it is read again: in JSON, pairs are lists."""


def cut_off_in(number: int, made: list[tuple[str, int]]) -> Callable[..., None]:
    """Make a measurement that notes what it has measured, and is interrupted in round `number`."""

    def measure(_scenario: Scenario, row: Row, round_: int, *_more: object) -> None:
        if round_ == number:
            raise KeyboardInterrupt
        made.append((row.name, round_))
        row.shots.setdefault(LOAD.name, {})[round_] = READ
        row.spoilt.setdefault(LOAD.name, {})[round_] = ["spoilt"]
        row.discarded.setdefault(LOAD.name, []).append(Discarded(round_, ["why"], READ))

    return measure


def test_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A comparison that was cut off must go on after its last whole round, with all that it had."""

    def rows() -> list[Row]:
        return [Row(PEERS[key], SIZE) for key in ("adyton-static", "adyton-wsgi")]

    made: list[tuple[str, int]] = []
    pace, (first, again) = replace(PACE, rounds=4), (rows(), rows())
    kept, other = (Kept("concurrency", asked, tmp_path / "kept") for asked in (1, 2))
    monkeypatch.setattr(rounds, "measure", cut_off_in(2, made))
    with pytest.raises(KeyboardInterrupt):
        compare(CONCURRENCY, first, pace, SEATS, lambda _: None, kept=kept)
    assert {0, 1} == {number for _, number in made}
    assert (0, 0.0) == other.load(rows())
    made.clear()
    monkeypatch.setattr(rounds, "measure", cut_off_in(9, made))
    compare(CONCURRENCY, again, pace, SEATS, lambda _: None, kept=kept)

    assert {2, 3} == {number for _, number in made}
    for row in again:
        assert dict.fromkeys(range(4), READ) == row.shots[LOAD.name]
        assert {number: ["spoilt"] for number in range(4)} == row.spoilt[LOAD.name]
        assert [Discarded(number, ["why"], READ) for number in range(4)] == row.discarded[LOAD.name]
    kept.drop()
    assert not kept.path.parent.exists()


def test_published_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """An interrupted `--publish` must name the file of its rounds; the same command uses and removes it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "told_version", lambda _: "1.0")
    words, made = ["--publish", "--peers", "adyton-static"], []
    monkeypatch.setattr(rounds, "measure", cut_off_in(3, made))

    assert 130 == main(words)
    [file] = (tmp_path / ".adyton-compare").iterdir()
    assert f"{file.relative_to(tmp_path)} has the rounds that have ended; the same" in capsys.readouterr().err
    made.clear()
    monkeypatch.setattr(rounds, "measure", cut_off_in(99, made))
    main(words)
    assert f"goes on with the rounds that {file.relative_to(tmp_path)} has" in capsys.readouterr().err
    assert 3 == made[0][1]
    assert not file.parent.exists()


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """Make a program that exists but cannot be executed."""
    program = tmp_path / "broken"
    program.write_text("#!/nonexistent/python\n")
    program.chmod(0o755)
    return program


def test_cannot_be_executed(
    broken: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """If a program exists but cannot be run, its row and the list must give that as the reason."""
    rows = [
        Row(Peer("start", "start", ("hello",), start=f"{broken} {{port}}", version=str(broken)), SIZE),
        Row(replace(PEERS["adyton-static"], asked={"word": str(broken)}), SIZE),
        Row(replace(PEERS["adyton-static"], asked={"word": "sh -c 'echo no luck; exit 3'"}), SIZE),
    ]
    compare(CONCURRENCY, rows, PACE, SEATS, lambda _text: None)
    monkeypatch.setattr(command, "read_peers", lambda: [replace(rows[0].peer, needs=(str(broken),))])

    why = f"{broken} cannot be run: No such file or directory"
    assert [why] == rows[0].why_not(LOAD) == rows[1].why_not(LOAD)
    assert ["`sh -c 'echo no luck; exit 3'` fails with status 3: no luck"] == rows[2].why_not(LOAD)
    assert 0 == main(["--list"])
    assert why in capsys.readouterr().out


def test_what_the_system_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system error for one peer must be a reason in its row, and must not end the comparison."""

    def refuse(*_what: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("adyton.compare.running.write", refuse)
    row = Row(PEERS["adyton-static"], SIZE)
    compare(CONCURRENCY, [row], PACE, SEATS, lambda _text: None)

    assert "No space left on device" in " ".join(row.why_not(LOAD))


def shooting(monkeypatch: pytest.MonkeyPatch, *shots: Shot, server: Server = SERVER) -> Row:
    """Put a load on a peer whose measurements, after the warm-up, are these."""
    left = iter([SHOT, *shots])
    monkeypatch.setattr(Bench, "once", lambda *_: next(left))
    row = Row(PEERS["adyton-static"], SIZE)
    put(row, 0, [LOAD], Bench(server, replace(PACE, seconds=1.0), SEATS, seed=1))

    assert [] == list(left)
    return row


def test_all_measurements_are_in_the_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """A measurement that does not count must be in the JSON, too, with the reason."""
    row = shooting(monkeypatch, WRONG)
    spoilt = shooting(monkeypatch, SHOT, SILENT, SHOT)
    told = [as_told(page_of(CONCURRENCY, each).as_json()) for each in (row, spoilt)]
    wrong, silent = (each["discarded"][row.name][LOAD.name] for each in told)

    assert [[], []] == [faults(each, "compare") for each in told]
    assert [["full load: 9 of 90 requests had no right answer"]] == [each["why"] for each in wrong]
    assert as_told(WRONG.reports) == wrong[0]["shot"]["reports"]
    assert [(0, as_told(SILENT.reports))] == [(each["round"], each["shot"]["reports"]) for each in silent]
    assert {} == told[0]["rounds"][row.name]


def test_half_load_without_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """If half load gets no answer, it must be offered once more; wrong answers must count at once."""
    once, twice = shooting(monkeypatch, SHOT, SILENT, SHOT), shooting(monkeypatch, SHOT, SILENT, SILENT)
    wrong = shooting(monkeypatch, SHOT, WRONG)

    assert ([], SHOT.reports) == (once.why_not(LOAD), once.shots[LOAD.name][0].half)
    assert ([], []) == (twice.why_not(LOAD), twice.shots[LOAD.name][0].half)
    assert "the first because half load: there was no right answer" in text(page_of(CONCURRENCY, once))
    assert ["half load: 9 of 90 requests had no right answer"] == wrong.why_not(LOAD)


def test_ends_under_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a peer ends under load, this must be its reason, with its status and its last words."""
    fragile = """
import http.server, os, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.headers.get("User-Agent"):
            print("out of luck", flush=True)
            os._exit(7)
        self.send_response(200)
        self.send_header("Content-Length", "12")
        self.end_headers()
        self.wfile.write(b"Hello World!")
    def log_message(self, *_):
        pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
    peer = Peer("fragile", "fragile", ("hello",), "{python} {work}/fragile.py {port}", "")
    row = Row(replace(peer, files={"fragile.py": fragile}), SIZE)
    compare(CONCURRENCY, [row], PACE, SEATS, lambda _text: None)

    assert ["it ended with status 7: out of luck"] == row.why_not(LOAD)

    server = replace(SERVER, how_it_ended=lambda: "it ended by SIGSEGV")
    gone = shooting(monkeypatch, SHOT, server=server)
    assert ["full load: it ended by SIGSEGV"] == gone.why_not(LOAD)


def test_nothing_is_left_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """After two loads at once, the peer must get time to finish work for which nobody waits any more."""
    done: list[str] = []

    def reports_of(runs: Sequence[object], *_more: object) -> list[dict[str, Any]]:
        done.append(f"{len(runs)} loads")
        return [report() for _ in runs]

    def recovery_s(*_what: object) -> float:
        done.append("waited")
        return 6.4

    monkeypatch.setattr("adyton.compare.rounds.reports_of", reports_of)
    monkeypatch.setattr("adyton.compare.rounds.recovery_s", recovery_s)
    bench = Bench(SERVER, PACE, SEATS, seed=1)
    shots = [bench.once(load, 0.0) for load in SLOW.loads[:2]]

    assert ["1 loads", "2 loads", "waited"] == done
    assert [None, None] == [shot.recovered_s for shot in shots]


def test_answers_nothing() -> None:
    """If a scenario is about errors, a peer that answers nothing must have figures that say so."""
    silent = report(
        counts=NONE | {"sent": 64, "in_flight": 64},
        rate=0.0,
        never_sent=336,
        asked={"connections": 64},
        service={"count": 0, "p50_us": 0.0, "p99_us": 0.0},
        invalid=[{"gate": "answers", "why": "there was no right answer"}],
    )
    row = Row(PEERS["adyton-wsgi"], SIZE)
    load = SLOW.loads[1]
    row.shots[load.name] = {0: Shot([silent], 0.1, 1, beside=report())}
    line = next(line for line in page_of(SLOW, row).lines if line.load == load.name)

    assert (math.inf, 0.0, 336, 400) == (line.p99_ms, line.answered_percent, line.errors, line.due)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--program", "nosuch=/bin/true"], "no peer has a program nosuch; there are "),
        (
            ["--peers", "nxweb-static", "--program", "nxweb=/nonexistent"],
            "nxweb-static cannot run: nxweb (/nonexistent) is not installed",
        ),
    ],
)
def test_said_before(
    words: list[str], why: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A mistake in the command line must be reported before anything is measured."""
    monkeypatch.setattr(command, "compare", interrupted_by(KeyboardInterrupt(), []))

    assert 2 == main(["--peers", "adyton-static", *words])
    assert capsys.readouterr().err.startswith(f"adyton compare: {why}")


@pytest.mark.parametrize("path", ["/nonexistent/page.md", "/"])
@pytest.mark.parametrize(("program", "words"), [(main, ["page"]), (tune, ["nosuch:application"])])
def test_written_before(
    program: Callable[[list[str]], int], words: list[str], path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that cannot be written must be reported before anything is measured."""
    with pytest.raises(SystemExit) as ended:
        program([*words, "-o", path])

    assert 2 == ended.value.code
    assert f"argument -o/--output: {path} cannot be written" in capsys.readouterr().err


def test_not_written(capsys: pytest.CaptureFixture[str]) -> None:
    """If the disk is full at the end, a sentence must say so."""
    assert not has_written(Path("/dev/full"), {}, "figures", "adyton compare")
    said = "adyton compare: /dev/full was not written: No space left on device\n"
    assert said == capsys.readouterr().err


def test_named_twice() -> None:
    """A peer that is named twice takes part once."""
    peers = [PEERS["adyton-wsgi"], PEERS["adyton-static"]]

    assert peers == choose(peers, "adyton-wsgi, adyton-static,adyton-wsgi", older=False, quick=False)


def test_programs(capsys: pytest.CaptureFixture[str]) -> None:
    """Any program of a peer may be given, even one that only tells its version or a word."""
    names = ["nxweb", "dpkg-query", "mod_wsgi-express", "/usr/bin/gunicorn"]

    given = [word for name in names for word in ("--program", f"{name}={sys.executable}")]

    assert 0 == main(["--list", *given])
    assert "missing: nxweb" not in capsys.readouterr().out
