"""Every form of a report must say the same, and scripts must be able to rely on it."""

from __future__ import annotations

import contextlib
import csv
import fcntl
import html
import itertools
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from typing import TYPE_CHECKING, Any

import pytest

from bench.pages import found, grouped
from bench.runs import APPLICATION, QUICK, SURE, TIMES, bench, liar, run
from bench.schema import faults

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from support.server import Servers


@pytest.fixture(scope="module")
def measured(serve_session: Servers) -> tuple[str, dict[str, Any]]:
    """Return a URL that takes its time, and the report of a run."""
    url = f"http://127.0.0.1:{serve_session(APPLICATION).port}/sleep"
    return url, bench(url, *QUICK)


def test_schema(measured: tuple[str, dict[str, Any]]) -> None:
    """A report that does not match its schema must be noticed."""
    _, report = measured
    seconds = {**report["series"][0], "right": -1}

    assert ["$: rate is missing"] == faults({k: v for k, v in report.items() if k != "rate"}, "bench")
    assert ["$: more is one too many"] == faults(report | {"more": 1}, "bench")
    assert ["$.seconds: '1' is no number"] == faults(report | {"seconds": "1"}, "bench")
    assert ["$.compared: True is no integer"] == faults(report | {"compared": True}, "bench")
    assert ["$.schema: 'other' is another word"] == faults(report | {"schema": "other"}, "bench")
    assert ["$.series[0].right: -1 is too small"] == faults(report | {"series": [seconds]}, "bench")
    assert ["$.curve[0]: 1 items"] == faults(report | {"curve": [[1.0]]}, "bench")


def test_conditions(serve: Servers, tmp_path: Path) -> None:
    """If a condition holds, the command must fail, so that a script ends."""
    server = serve(APPLICATION)
    url = f"http://127.0.0.1:{server.port}/"
    bounds = ("--fail-if", "p50>1us", "--fail-if", "p95>1us", "--fail-if", "errors>0")
    file = tmp_path / "report.md"
    failed = run(url, *SURE, *bounds, "-o", str(file))
    why = [line.removeprefix("adyton bench: ") for line in failed.stderr.splitlines()]
    # If a busy machine has made the run invalid, no figure is told.
    told = ["" if "INVALID" in failed.stdout else rf": {name} was \d+\.\d{{3}} ms" for name in ("p50", "p95")]

    assert (1, 2) == (failed.returncode, len(why))
    assert re.fullmatch(f"failed, because p50>1us{told[0]}", why[0])
    assert re.fullmatch(f"failed, because p95>1us{told[1]}", why[1])
    assert [f"**{each}**" for each in why] == [line.strip() for line in file.read_text().splitlines()[-2:]]


def test_table(serve: Servers) -> None:
    """The table must have the figures, or INVALID and the reasons instead."""
    with liar("bad-gateway") as url:
        done = run(url, *SURE)
    lines = done.stdout.splitlines()

    assert 1 == done.returncode
    assert "requests/s  INVALID" in lines
    assert "p99" not in done.stdout
    assert any("had no right answer" in line for line in lines)
    server = serve(APPLICATION)
    report = run(f"http://127.0.0.1:{server.port}/sleep", *QUICK).stdout

    assert "sent " in report
    assert ("p99" in report) == ("INVALID" not in report)


def test_forms(serve: Servers, tmp_path: Path) -> None:
    """Every form must have the figures of the JSON."""
    server = serve(APPLICATION)
    files = {form: tmp_path / f"report.{form}" for form in ("json", "md", "csv", "html", "hlog")}
    words = [word for file in files.values() for word in ("-o", str(file))]
    # There are enough answers for p99, and at 20 ms each they take long enough for a rate.
    done = run(f"http://127.0.0.1:{server.port}/sleep?a=<b>", *SURE, *words)
    assert "" == done.stderr
    report = json.loads(files["json"].read_text())
    [row] = csv.DictReader(files["csv"].read_text().splitlines())

    assert report["asked"]["url"] == row["url"] == f"http://127.0.0.1:{server.port}/sleep?a=<b>"
    assert str(report["counts"]["right"]) == row["right"]
    log = files["hlog"].read_text().splitlines()
    assert "#[MaxValueDivisor: 1000000.000]" in log
    assert abs(float(log[-1].split(",")[2]) - report["service"]["max_us"] / 1000) < 0.01
    megabytes = f"{report['body_bytes_per_second'] / 1e6:.3f}"
    assert pytest.approx(report["body_bytes"] / report["seconds"]) == report["body_bytes_per_second"]
    if report["invalid"]:
        assert "**INVALID**" in files["md"].read_text()
        names = ("requests_per_second", "p99_us", "body_bytes_per_second", "first_byte_p99_us")
        assert {""} == {row[name] for name in names}
        assert "MB/s" not in done.stdout + files["md"].read_text()
    else:
        headline = f"**{grouped(report['rate'])} requests/s**, {megabytes} MB/s of bodies"
        assert headline in files["md"].read_text().splitlines()
        assert f"MB/s        {megabytes} of bodies" in done.stdout.splitlines()
        assert f"{report['rate']:.3f}" == row["requests_per_second"]
        assert f"{report['first_byte']['p99_us']:.3f}" == row["first_byte_p99_us"]
        assert f"| ms | {' | '.join(TIMES)} |" in files["md"].read_text().splitlines()
        assert {"ms", *TIMES} <= {line.partition(" ")[0] for line in done.stdout.splitlines()}
        assert f"{report['body_bytes_per_second']:.3f}" == row["body_bytes_per_second"]


def test_nothing_but_counts_beside_invalid(tmp_path: Path) -> None:
    """Beside INVALID, every format for people must have counts and reasons, and no figure."""
    files = {form: tmp_path / f"report.{form}" for form in ("json", "md", "csv", "html", "hlog")}
    words = [word for file in files.values() for word in ("-o", str(file))]
    with liar("bad-gateway") as url:
        table = run(url, *SURE, "--slow-readers", "1", "--slow-rate", "1m", "--deadline", "1s", *words).stdout
    said = {form: file.read_text() for form, file in files.items()}
    report = json.loads(said["json"])
    why = [reason["why"] for reason in report["invalid"]]
    [row] = csv.DictReader(said["csv"].splitlines())

    assert report["server"]["pss_bytes"] > 0
    table = re.sub(r"\n {12}", " ", table)
    assert all(each in table for each in why)
    assert all(f"- {each}" in said["md"].splitlines() for each in why)
    assert all(f"<li>{html.escape(each, quote=False)}</li>" in said["html"] for each in why)
    assert all(f"#[INVALID: {each}]" in said["hlog"].splitlines() for each in why)
    page = said["html"].partition("<script")[0].partition("INVALID")[2]
    for text in (table.partition("INVALID")[2], said["md"].partition("INVALID")[2], page):
        # A version of HTTP is no figure.
        words = [*why, "HTTP/1.1"]
        without = re.sub("|".join(map(re.escape, words)), "", html.unescape(text))

        assert f"sent {report['counts']['sent']} = " in without
        assert not re.search(r"CPU|busy|Jain|PSS|within \d|\(after |<svg|\d ?%|\d\.\d+ |\d ms\)", without), (
            without
        )
    assert "" == row["server_cpu_us_per_request"] == row["server_pss_bytes"] == row["p99_us"]


@pytest.mark.parametrize(
    ("kind", "name", "text"),
    [
        ("bad-gateway", "statuses", "200: {right}, 502: {wrong_status}"),
        ("cut-short", "error", "answer cut short: {connection_error}"),
    ],
)
def test_errors_by_cause(tmp_path: Path, kind: str, name: str, text: str) -> None:
    """Every form for people must say what went wrong, and how often."""
    files = {form: tmp_path / f"report.{form}" for form in ("json", "md", "html")}
    words = [word for file in files.values() for word in ("-o", str(file))]
    with liar(kind) as url:
        table = run(url, *SURE, *words).stdout
    told = text.format_map(json.loads(files["json"].read_text())["counts"])

    assert f"{name:12}{told}" in table.splitlines()
    assert f"- {name}: {told}" in files["md"].read_text().splitlines()
    assert f"<dt>{name}</dt><dd>{told}</dd>" in files["html"].read_text()


def test_baseline(measured: tuple[str, dict[str, Any]], tmp_path: Path) -> None:
    """A kept report must be compared with the run; an invalid or missing one must be refused."""
    url, report = measured
    missing = run(url, "--baseline", "none")
    kept = keep(tmp_path, report, rate=report["rate"] * 4)
    compared = run(url, *QUICK, "--baseline", "main", cwd=tmp_path)
    as_json = run(url, *QUICK, "--baseline", "main", "--json", cwd=tmp_path)
    kept.write_text(json.dumps(report | {"invalid": [{"gate": "answers", "why": ""}]}))
    invalid = run(url, *QUICK, "--baseline", "main", cwd=tmp_path)

    assert "--save keeps one" in missing.stderr
    assert "that run was invalid" in invalid.stderr
    assert [2, 2] == [missing.returncode, invalid.returncode]
    if compared.returncode == 0:
        figures = found(r"requests/s +(\S+ +\S+ +\S+)", compared.stdout).replace(",", "").split()
        before, now, ratio = map(float, figures)
        assert pytest.approx(before, abs=0.51) == report["rate"] * 4
        times = report["service"]
        assert f"{times['p99_us'] / 1000:,.3f}" == found(r"p99 ms +(\S+)", compared.stdout)
        assert pytest.approx(ratio, abs=0.001) == now / before
        assert "too few seconds" in compared.stdout
        assert "the other ratios are of one run each, and may be noise" in compared.stdout.splitlines()
    assert ("too few seconds" in as_json.stderr) == (json.loads(as_json.stdout)["invalid"] == [])


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--rate", "100"), "The loop: closed then, 100 requests/s (constant) now"),
        (("-c", "9"), "Connections: 8 then, 9 now"),
        (("-k=off",), "Connections: kept alive then, one for each request now"),
        (("--pipeline", "2"), "Requests at once: 1 then, 2 now"),
        (("-X", "HEAD"), "The method: GET then, HEAD now"),
        (
            ("--slow-readers", "2", "--slow-rate", "100"),
            "Slow clients: none then, 2 readers at 100 bytes/s now",
        ),
    ],
)
def test_baseline_of_another_load(
    measured: tuple[str, dict[str, Any]], tmp_path: Path, words: tuple[str, ...], why: str
) -> None:
    """A report of another load must be refused in every format, before anything is measured."""
    url, report = measured
    keep(tmp_path, report)
    done = run(url, *QUICK, *words, "--baseline", "main", cwd=tmp_path)
    as_json = run(url, *QUICK, *words, "--baseline", "main", "--json", cwd=tmp_path)
    elsewhere = run(f"{url}?other", *QUICK, "--baseline", "main", cwd=tmp_path)

    for each in (done, as_json, elsewhere):
        assert (2, "") == (each.returncode, each.stdout)
    refused = "it cannot be compared, for it is of another load."
    assert f"{refused} {why}" in done.stderr
    assert f"{refused} {why}" in as_json.stderr
    assert f"{refused} The URL: {url} then, {url}?other now" in elsewhere.stderr


def keep(folder: Path, report: dict[str, Any], **others: object) -> Path:
    """Keep a report as --save does; return its file."""
    kept = folder / ".adyton-bench" / "main.json"
    kept.parent.mkdir()
    kept.write_text(json.dumps(report | {"invalid": []} | others))
    return kept


def test_save(serve: Servers, tmp_path: Path) -> None:
    """The report that one run saves must be the baseline of the next; an invalid report must not be kept."""
    url = f"http://127.0.0.1:{serve(APPLICATION).port}/sleep"
    saved = run(url, *QUICK, "--save", "main", cwd=tmp_path)
    # A busy machine makes runs invalid.
    for _ in range(5):
        if saved.returncode == 0:
            break
        assert not (tmp_path / ".adyton-bench").exists()
        assert "adyton bench: --save main: the run is invalid, and is not kept\n" == saved.stderr
        saved = run(url, *QUICK, "--save", "main", cwd=tmp_path)
    compared = run(url, *QUICK, "--baseline", "main", cwd=tmp_path)

    if saved.returncode == 0:
        report = json.loads((tmp_path / ".adyton-bench" / "main.json").read_text())
        assert [] == faults(report, "bench")
        assert f"{report['rate']:,.1f}" in saved.stdout
        assert ("too few seconds" in compared.stdout) == (compared.returncode == 0)


def test_save_of_an_invalid_run(tmp_path: Path) -> None:
    """A user who asked for a report to be kept is told that it is not."""
    with liar("bad-gateway") as url:
        done = run(url, *SURE, "--save", "main", cwd=tmp_path)

    assert "adyton bench: --save main: the run is invalid, and is not kept\n" == done.stderr
    assert not (tmp_path / ".adyton-bench").exists()


def test_summary_of_a_job(serve: Servers, tmp_path: Path) -> None:
    """In a GitHub job, the Markdown of each run must be added to the summary of the job."""
    url = f"http://127.0.0.1:{serve(APPLICATION).port}/sleep"
    summary, file = tmp_path / "summary.md", tmp_path / "report.md"
    summary.write_text("# What was before\n")
    for _ in range(2):
        run(url, *QUICK, "-o", str(file), variables={"GITHUB_STEP_SUMMARY": str(summary)})
    added = summary.read_text().split("### GET ")

    assert "# What was before\n" == added[0]
    assert 3 == len(added)
    assert file.read_text() == f"### GET {added[2]}"


LIVE = r"\x1b\[K\d of 4 s +[\d,]+ requests/s  .*[▁▂▃▄▅▆▇█].* [\d,]+ right"


@pytest.mark.parametrize(
    ("variables", "is_live", "is_bold"),
    [
        ({}, True, True),
        ({"NO_COLOR": ""}, True, True),
        ({"NO_COLOR": "1"}, True, False),
        ({"TERM": "dumb"}, False, False),
    ],
)
def test_terminal(serve: Servers, variables: dict[str, str], *, is_live: bool, is_bold: bool) -> None:
    """On a terminal, a live line must show the rate and the times, and the report must have bold text.

    NO_COLOR, if it is not empty, takes bold and red away (no-color.org); TERM=dumb leaves only plain text.
    """
    url = f"http://127.0.0.1:{serve(APPLICATION).port}/sleep"
    shown, status = on_terminal(url, "-c", "8", "-d", "4s", "--warm-up", "3s", variables=variables)

    assert 0 <= status <= 1
    assert is_bold == ("\x1b[1" in shown)
    assert is_live == bool(re.search(r"\r\x1b\[Kwarm-up, \d s left", shown))
    # The answers of the first moment give no rate.
    assert is_live == bool(re.search(r"\x1b\[K\d of 4 s\r", shown))
    assert is_live == bool(re.search(LIVE, shown)) == ("\x1b[K" in shown)


def test_terminal_with_a_number_of_requests(serve: Servers) -> None:
    """If a number of requests is given, the progress must be told in requests."""
    url = f"http://127.0.0.1:{serve(APPLICATION).port}/sleep"
    shown, _ = on_terminal(url, "-c", "8", "-n", "1200", "--warm-up", "0")
    done = [int(number.replace(",", "")) for number in re.findall(r"\x1b\[K +([\d,]+) of 1,200", shown)]

    assert sorted(done) == done
    assert 0 < done[-1] <= 1200


def test_terminal_that_is_narrow(serve: Servers) -> None:
    """The live line must stay one line, however wide the terminal is or becomes."""
    url = f"http://127.0.0.1:{serve(APPLICATION).port}/sleep"
    shown, _ = on_terminal(url, "-c", "8", "-d", "4s", "--warm-up", "0", columns=[40, 25])
    lines = re.findall(r"\x1b\[K(\d of [^\r]*)", shown)

    assert {40, 25} & {len(line) for line in lines} == {40, 25}
    assert [line for line in lines if len(line) > 40] == []
    assert 25 == len(lines[-1])


def test_terminal_in_an_open_loop(serve: Servers) -> None:
    """The times of the live line must count from when requests were due, as in the report."""
    url = f"http://127.0.0.1:{serve(APPLICATION).port}/sleep"
    shown, _ = on_terminal(url, "-c", "1", "-d", "5s", "--warm-up", "0", "--rate", "400")
    longest = [line[1] for line in re.finditer(r"requests/s .*[▁▂▃▄▅▆▇█] (\d+ m?s)", shown)]

    # Each request takes some 20 ms. Fifty are answered in a second, and eight times as many are due.
    assert re.fullmatch(r"\d s|\d{3} ms", longest[-1]), longest


@pytest.mark.parametrize(
    ("words", "began", "of"),
    [
        (("-n", "100000000"), r"\d right", r"\d s, {settled} of 100000000 requests"),
        (("-d", "10m"), r"\d right", r"\d of 600.0 s"),
        (("-d", "10m", "--warm-up", "10m"), "warm-up", r"0.0 of 600.0 s"),
    ],
)
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_interruption(
    tmp_path: Path, words: tuple[str, ...], began: str, of: str, end: signal.Signals
) -> None:
    """Each format must tell when the user ended the run; such a run is no baseline and no success."""
    files = {form: tmp_path / f"report.{form}" for form in ("json", "md", "csv", "html", "hlog")}
    outputs = [word for file in files.values() for word in ("-o", str(file))]
    with liar("honest") as url:
        words = (url, "-c", "8", "--warm-up", "0", *words, "--save", "main", "--fail-if", "p50<0us", *outputs)
        shown, status = on_terminal(*words, cwd=tmp_path, until=(began, end))
    report = json.loads(files["json"].read_text())
    settled = report["counts"]["sent"] - report["counts"]["in_flight"]
    said = rf"interrupted after [\d.]*{of.format(settled=settled)}: the report is of these only"
    [row] = csv.DictReader(files["csv"].read_text().splitlines())

    assert 128 + end == status
    assert [] == faults(report, "bench")
    assert (True, "true") == (report["interrupted"], row["interrupted"])
    for text in (shown, *(files[form].read_text() for form in ("md", "html", "hlog"))):
        assert re.search(said, " ".join(text.split())), text
    assert "adyton bench: --save main: the run was interrupted, and is not kept" in shown
    assert not (tmp_path / ".adyton-bench").exists()
    assert "that run was interrupted" in refused_as_baseline(tmp_path, report, url)


def refused_as_baseline(folder: Path, report: dict[str, Any], url: str) -> str:
    """Keep a report by hand; return what a run says if it is to be compared with this report."""
    keep(folder, report)
    return run(url, "--baseline", "main", cwd=folder).stderr


def test_interruption_of_a_search(tmp_path: Path) -> None:
    """A search that the user ends finds nothing, and says so."""
    with liar("honest") as url:
        words = (url, "-c", "8", "-d", "10m", "--find-rate", "p99<1s")
        shown, status = on_terminal(*words, cwd=tmp_path, until=("held", signal.SIGINT))

    assert "interrupted: nothing is found" in shown
    assert 128 + signal.SIGINT == status


def on_terminal(
    *words: str,
    variables: dict[str, str] | None = None,
    columns: Sequence[int] = (),
    cwd: Path | None = None,
    until: tuple[str, signal.Signals] | None = None,
) -> tuple[str, int]:
    """Run `adyton bench` on a terminal; return what it shows, and its exit status.

    Of several numbers of columns, the terminal gets the next one each time it has shown a rate. With a
    pattern and a signal, the command gets the signal when it shows text that matches the pattern.
    """
    ours, theirs = pty.openpty()
    widths = iter(columns)
    resize(ours, widths)
    command = (sys.executable, "-m", "adyton", "bench", *words)
    without = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    env = without | {"TERM": "xterm"} | (variables or {})
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env, cwd=cwd) as process:
        os.close(theirs)
        shown = b""
        # Linux returns EIO when the last process that has the terminal open is gone.
        with contextlib.suppress(OSError):
            while data := os.read(ours, 4096):
                shown += data
                if b"requests/s" in data:
                    resize(ours, widths)
                if until and re.search(until[0], shown.decode(errors="replace")):
                    process.send_signal(until[1])
                    until = None
        os.close(ours)
    return shown.decode(), process.returncode


def resize(terminal: int, widths: Iterator[int]) -> None:
    """Give a terminal the next width, if there is one."""
    for columns in itertools.islice(widths, 1):
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
