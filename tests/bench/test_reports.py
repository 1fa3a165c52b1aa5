"""Every form of a report says the same, and scripts can go by it."""

from __future__ import annotations

import contextlib
import csv
import html
import json
import os
import pty
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from bench.runs import APPLICATION, QUICK, SURE, bench, liar, run
from bench.schema import faults

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Servers

ATTEMPTS = 3
"""A run on a busy machine may be invalid; for what is asked of a valid one."""
TIMES = {
    "mean": "mean_us",
    "p50": "p50_us",
    "p90": "p90_us",
    "p95": "p95_us",
    "p99": "p99_us",
    "p99.9": "p999_us",
    "p99.99": "p9999_us",
    "max": "max_us",
}
"""The columns of times, and their fields."""


def test_schema(serve: Servers) -> None:
    """A report that is another than its schema says is noticed."""
    report = bench(f"http://127.0.0.1:{serve(APPLICATION).port}/", *QUICK)
    seconds = {**report["series"][0], "right": -1}

    assert ["$: rate is missing"] == faults({k: v for k, v in report.items() if k != "rate"}, "bench")
    assert ["$: more is one too many"] == faults(report | {"more": 1}, "bench")
    assert ["$.seconds: '1' is no number"] == faults(report | {"seconds": "1"}, "bench")
    assert ["$.compared: True is no integer"] == faults(report | {"compared": True}, "bench")
    assert ["$.schema: 'other' is another word"] == faults(report | {"schema": "other"}, "bench")
    assert ["$.series[0].right: -1 is too small"] == faults(report | {"series": [seconds]}, "bench")
    assert ["$.curve[0]: 1 items"] == faults(report | {"curve": [[1.0]]}, "bench")


def test_conditions(serve: Servers) -> None:
    """A condition that holds is the end of a script."""
    server = serve(APPLICATION)
    url = f"http://127.0.0.1:{server.port}/"
    bounds = ("--fail-if", "p50>1us", "--fail-if", "p95>1us", "--fail-if", "errors>0")
    failed = run(url, *SURE, *bounds)
    why = [f"adyton bench: failed, because {name}>1us" for name in ("p50", "p95")]

    assert (1, why) == (failed.returncode, failed.stderr.splitlines())


def test_table(serve: Servers) -> None:
    """The table has INVALID in the place of the figures, and why; else the figures."""
    with liar("bad-gateway") as url:
        done = run(url, *SURE)
    lines = done.stdout.splitlines()

    assert 1 == done.returncode
    assert "requests/s  INVALID" in lines
    assert "p99" not in done.stdout
    assert any("had no right answer" in line for line in lines)
    server = serve(APPLICATION)
    report = run(f"http://127.0.0.1:{server.port}/", *QUICK).stdout

    assert "sent " in report
    assert ("p99" in report) == ("INVALID" not in report)


def test_forms(serve: Servers, tmp_path: Path) -> None:
    """Every form says what the JSON says."""
    server = serve(APPLICATION)
    files = {form: tmp_path / f"report.{form}" for form in ("json", "md", "csv", "html", "hlog")}
    words = [word for file in files.values() for word in ("-o", str(file))]
    done = run(f"http://127.0.0.1:{server.port}/?a=<b>", *SURE, *words)
    assert "" == done.stderr
    report = json.loads(files["json"].read_text())
    [row] = csv.DictReader(files["csv"].read_text().splitlines())

    assert report["asked"]["url"] == row["url"] == f"http://127.0.0.1:{server.port}/?a=<b>"
    assert str(report["counts"]["right"]) == row["right"]
    log = files["hlog"].read_text().splitlines()
    assert "#[MaxValueDivisor: 1000000.000]" in log
    assert abs(float(log[-1].split(",")[2]) - report["service"]["max_us"] / 1000) < 0.01
    megabytes = f"{report['body_bytes_per_second'] / 1e6:.3f}"
    assert pytest.approx(report["body_bytes"] / report["seconds"]) == report["body_bytes_per_second"]
    if report["invalid"]:
        assert "**INVALID**" in files["md"].read_text()
        assert {""} == {row[name] for name in ("rate", "p99", "body_bytes_per_second", "first_byte_p99")}
        assert "MB/s" not in done.stdout + files["md"].read_text()
    else:
        headline = f"**{report['rate']:,.0f} requests/s**, {megabytes} MB/s of bodies"
        assert headline in files["md"].read_text().splitlines()
        assert f"MB/s        {megabytes} of bodies" in done.stdout.splitlines()
        assert f"{report['rate']:.3f}" == row["rate"]
        assert {name: f"{report['service'][field]:.3f}" for name, field in TIMES.items()} == {
            name: row[name] for name in TIMES
        }
        assert f"{report['first_byte']['p99_us']:.3f}" == row["first_byte_p99"]
        assert (f"{report['connect']['max_us']:.3f}" if report["connect"] else "") == row["connect_max"]
        assert f"| ms | {' | '.join(TIMES)} |" in files["md"].read_text().splitlines()
        assert ["ms", *TIMES] in [line.split() for line in done.stdout.splitlines()]
        assert f"{report['body_bytes_per_second']:.3f}" == row["body_bytes_per_second"]


def test_nothing_but_counts_beside_invalid(tmp_path: Path) -> None:
    """Where INVALID stands, there are counts and reasons besides in every form for people, and no figure."""
    files = {form: tmp_path / f"report.{form}" for form in ("json", "md", "csv", "html", "hlog")}
    words = [word for file in files.values() for word in ("-o", str(file))]
    with liar("bad-gateway") as url:
        table = run(url, *SURE, "--slow-readers", "1", "--slow-rate", "1m", "--deadline", "1s", *words).stdout
    said = {form: file.read_text() for form, file in files.items()}
    report = json.loads(said["json"])
    why = [reason["why"] for reason in report["invalid"]]
    [row] = csv.DictReader(said["csv"].splitlines())

    assert report["server"]["pss_bytes"] > 0
    assert all(f"{'':12}{each}" in table.splitlines() for each in why)
    assert all(f"- {each}" in said["md"].splitlines() for each in why)
    assert all(f"<li>{html.escape(each, quote=False)}</li>" in said["html"] for each in why)
    assert all(f"#[INVALID: {each}]" in said["hlog"].splitlines() for each in why)
    page = said["html"].partition("<script")[0].partition("INVALID")[2]
    for text in (table.partition("INVALID")[2], said["md"].partition("INVALID")[2], page):
        without = text if not why else re.sub("|".join(map(re.escape, why)), "", html.unescape(text))

        assert f"sent {report['counts']['sent']} = " in without
        assert not re.search(r"CPU|busy|Jain|PSS|within \d|\(after |<svg|\d ?%|\d\.\d+ |\d ms\)", without), (
            without
        )
    assert "" == row["server_cpu_us_per_request"] == row["server_pss_bytes"] == row["rate"] == row["p99"]


@pytest.mark.parametrize(
    ("kind", "name", "text"),
    [
        ("bad-gateway", "statuses", "200: {right}, 502: {wrong_status}"),
        ("cut-short", "error", "answer cut short: {connection_error}"),
    ],
)
def test_errors_by_cause(tmp_path: Path, kind: str, name: str, text: str) -> None:
    """Every form for people says what went wrong, how often."""
    files = {form: tmp_path / f"report.{form}" for form in ("json", "md", "html")}
    words = [word for file in files.values() for word in ("-o", str(file))]
    with liar(kind) as url:
        table = run(url, *SURE, *words).stdout
    told = text.format_map(json.loads(files["json"].read_text())["counts"])

    assert f"{name:12}{told}" in table.splitlines()
    assert f"- {name}: {told}" in files["md"].read_text().splitlines()
    assert f"<dt>{name}</dt><dd>{told}</dd>" in files["html"].read_text()


def in_browser(file: Path) -> str:
    """Return a page as headless Chromium has it once it is loaded."""
    command = ("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", file.as_uri())
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def carried(dom: str) -> dict[str, Any]:
    """Return the report that a page carries."""
    text = found(r'<script type="application/json" id="report">(.*?)</script>', dom)
    report: dict[str, Any] = json.loads(html.unescape(text))
    return report


def rows(dom: str, table: str) -> list[list[str]]:
    """Return the cells of a table of a page; none if it is not there."""
    inner = re.search(rf'<table id="{table}">(.*?)</table>', dom, re.DOTALL)
    each = re.findall(r"<tr>(.*?)</tr>", inner.group(1), re.DOTALL) if inner else []
    return [[html.unescape(cell) for cell in re.findall(r"<t[hd]>(.*?)</t[hd]>", row)] for row in each]


def ms(time_us: float) -> str:
    """Return a time as pages have it."""
    return f"{time_us / 1000:.{3 if time_us < 100_000 else 0}f}"


def times_of(report: dict[str, Any]) -> list[list[str]]:
    """Return the table of times that a page of this report should have."""
    if report["invalid"]:
        return []
    shown = {
        "response": report["response"],
        "service": report["service"],
        "first byte": report["first_byte"],
        "connect": report["connect"],
        "connect before": None if report["connect"] else report["connect_before"],
    }
    figures = [
        [name, *(ms(times[field]) for field in TIMES.values())] for name, times in shown.items() if times
    ]
    return [["ms", *TIMES], *figures]


def identity_of(report: dict[str, Any]) -> str:
    """Return the sentence in which the counts add up."""
    outcomes = " + ".join(
        f"{name.replace('_', ' ')} {count}" for name, count in report["counts"].items() if name != "sent"
    )
    return f"sent {report['counts']['sent']} = {outcomes}"


def sides_of(report: dict[str, Any]) -> dict[str, str]:
    """Return what should stand below the counts of any valid report, by its name."""
    server, generator, fair = report["server"], report["generator"], report["fairness"]
    return {
        "server": f"{server['cpu_us_per_request']:.2f} us of CPU a request, {server['cpus']:.2f} CPUs, "
        f"{server['pss_bytes'] / 2**20:.1f} MiB (PSS) in 1 process",
        "generator": f"{100 * generator['busy']:.0f} % busy, "
        f"waited for a CPU for {100 * generator['waiting']:.0f} % of the time; "
        f"its ceiling is {generator['ceiling_rate']:,.0f} requests/s",
        "fairness": f"{fair['min']} to {fair['max']} answers a connection, median {fair['median']} "
        f"(Jain's index {fair['jain']:.3f})",
    }


@pytest.mark.parametrize(
    "words",
    [
        pytest.param((), id="closed"),
        pytest.param(("-k=off",), id="a connection for each"),
        pytest.param(("--rate", "100", "--deadline", "1s"), id="open"),
        pytest.param(("--urls",), id="several"),
    ],
)
def test_page(serve: Servers, tmp_path: Path, words: tuple[str, ...]) -> None:
    """The page in a browser has all figures of the report that it carries, and no place left to fill."""
    url, file = f"http://127.0.0.1:{serve(APPLICATION).port}/uneven?a=<b>", tmp_path / "report.html"
    if "--urls" in words:
        (tmp_path / "urls").write_text("2 /sleep\n1 /uneven?a=<b>\n")
        words = ("--urls", str(tmp_path / "urls"))
    for _ in range(ATTEMPTS):
        run(url, "-c", "8", "-d", "3s", "--warm-up", "500ms", *words, "-o", str(file))
        # On a busy machine there are no figures to compare.
        if not (report := carried(file.read_text()))["invalid"]:
            break
    dom = in_browser(file)
    headline = found(r'<p class="rate[^"]*">(.*?)</p>', dom)
    sides = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", dom))

    assert carried(dom) == report
    assert "{{" not in dom
    assert "?a=<b>" not in dom.partition("<script")[0]
    assert identity_of(report) == found(r'<p id="identity">(.*?)</p>', dom)
    assert times_of(report) == rows(dom, "times")
    assert [[str(url[name]) for name in ("weight", "sent", "right", "wrong")] for url in report["urls"]] == [
        row[:4] for row in rows(dom, "urls")[1:]
    ]
    assert (0 if report["invalid"] else 2) == dom.count("<polyline")
    if report["invalid"]:
        why = re.findall(r"<li>(.*?)</li>", found(r'<ul class="bad">(.*?)</ul>', dom))
        assert [reason["why"] for reason in report["invalid"]] == [html.unescape(each) for each in why]
        assert '<b id="rate">INVALID</b>' == headline
        return
    rate, megabytes = (
        f"{report['rate']:,.{0 if report['rate'] >= 1000 else 1}f}",
        report["body_bytes_per_second"] / 1e6,
    )
    assert f"{rate} requests/s, {megabytes:.3f} MB/s of bodies" == re.sub("<.*?>", "", headline)
    assert sides_of(report).items() <= sides.items()
    assert [[ms(url["times"]["p50_us"]), ms(url["times"]["p99_us"])] for url in report["urls"]] == [
        row[4:6] for row in rows(dom, "urls")[1:]
    ]
    if report["in_time"] is not None:
        right = report["counts"]["right"]
        assert f"{report['in_time']} of {right} right answers within 1000 ms" == sides["in time"]
    # The highest point of each plot is written at it.
    seconds = report["series"][: int(report["seconds"])]
    curve = [time_us for percent, time_us in report["curve"] if percent < 99.9905]
    most = max(second["right"] for second in seconds), max(curve) / 1000
    assert [f"{each:.2f}" for each in most] == re.findall(r'<text x="2" y="10">(.*?)</text>', dom)


def test_page_of_an_invalid_run(tmp_path: Path) -> None:
    """In the place of figures the page has INVALID and each reason, and what went wrong by cause."""
    file = tmp_path / "report.html"
    with liar("cut-short") as url:
        run(url, *SURE, "-o", str(file))
    dom = in_browser(file)
    report = carried(dom)
    sides = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", dom)
    why = re.findall(r"<li>(.*?)</li>", found(r'<ul class="bad">(.*?)</ul>', dom))

    assert '<b id="rate">INVALID</b>' == found(r'<p class="rate bad">(.*?)</p>', dom)
    assert [reason["why"] for reason in report["invalid"]] == [html.unescape(each) for each in why] != []
    assert identity_of(report) == found(r'<p id="identity">(.*?)</p>', dom)
    assert [("error", f"{cause}: {count}") for cause, count in report["errors"].items()] == sides[:-1] != []
    assert ("oldest", f"the oldest was {report['oldest_ms']} ms old") == sides[-1]
    assert ([], 0) == (rows(dom, "times"), dom.count("<polyline"))


def found(pattern: str, text: str) -> str:
    """Return what the pattern's group has found."""
    match = re.search(pattern, text, re.DOTALL)
    assert match is not None, pattern
    return match.group(1)


def test_baseline(serve: Servers, tmp_path: Path) -> None:
    """A report that was kept is compared with; one that is invalid, or is not there, is not."""
    server = serve(APPLICATION)
    url = f"http://127.0.0.1:{server.port}/"
    missing = run(url, "--baseline", "none")
    kept = keep(tmp_path, report := bench(url, *QUICK), rate=report["rate"] * 4)
    compared = run(url, *QUICK, "--baseline", "main", cwd=tmp_path)
    as_json = run(url, *QUICK, "--baseline", "main", "--json", cwd=tmp_path)
    kept.write_text(json.dumps(report | {"invalid": [{"gate": "answers", "why": ""}]}))
    invalid = run(url, *QUICK, "--baseline", "main", cwd=tmp_path)

    assert "--save keeps one" in missing.stderr
    assert "that run was invalid" in invalid.stderr
    assert [2, 2] == [missing.returncode, invalid.returncode]
    if compared.returncode == 0:
        before, now, ratio = map(float, found(r"requests/s +(\S+ +\S+ +\S+)", compared.stdout).split())
        assert pytest.approx(before, abs=0.1) == report["rate"] * 4
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
def test_baseline_of_another_load(serve: Servers, tmp_path: Path, words: tuple[str, ...], why: str) -> None:
    """What was asked for in another way is not compared with, in no form, and nothing is measured."""
    url = f"http://127.0.0.1:{serve(APPLICATION).port}/"
    keep(tmp_path, bench(url, *QUICK))
    done = run(url, *QUICK, *words, "--baseline", "main", cwd=tmp_path)
    as_json = run(url, *QUICK, *words, "--baseline", "main", "--json", cwd=tmp_path)
    elsewhere = run(f"{url}?other", *QUICK, "--baseline", "main", cwd=tmp_path)

    for each in (done, as_json, elsewhere):
        assert "it cannot be compared, for it is of another load. " in each.stderr
        assert (2, "") == (each.returncode, each.stdout)
    assert why in done.stderr
    assert why in as_json.stderr
    assert f"The URL: {url} then, {url}?other now" in elsewhere.stderr


def keep(folder: Path, report: dict[str, Any], **others: object) -> Path:
    """Keep a report as --save does; return its file."""
    kept = folder / ".adyton-bench" / "main.json"
    kept.parent.mkdir()
    kept.write_text(json.dumps(report | {"invalid": []} | others))
    return kept


def test_save(serve: Servers, tmp_path: Path) -> None:
    """What one run saves is the baseline of the next; an invalid one is not kept."""
    url = f"http://127.0.0.1:{serve(APPLICATION).port}/sleep"
    saved = run(url, *QUICK, "--save", "main", cwd=tmp_path)
    # A busy machine makes runs invalid.
    for _ in range(5):
        if saved.returncode == 0:
            break
        assert not (tmp_path / ".adyton-bench").exists()
        saved = run(url, *QUICK, "--save", "main", cwd=tmp_path)
    compared = run(url, *QUICK, "--baseline", "main", cwd=tmp_path)

    if saved.returncode == 0:
        report = json.loads((tmp_path / ".adyton-bench" / "main.json").read_text())
        assert [] == faults(report, "bench")
        assert f"{report['rate']:,.1f}" in saved.stdout
        assert ("too few seconds" in compared.stdout) == (compared.returncode == 0)


def test_summary_of_a_job(serve: Servers, tmp_path: Path) -> None:
    """In a job of GitHub's the Markdown of each run is added to the summary of the job."""
    url = f"http://127.0.0.1:{serve(APPLICATION).port}/"
    summary, file = tmp_path / "summary.md", tmp_path / "report.md"
    summary.write_text("# What was before\n")
    for _ in range(2):
        run(url, *QUICK, "-o", str(file), variables={"GITHUB_STEP_SUMMARY": str(summary)})
    added = summary.read_text().split("### GET ")

    assert "# What was before\n" == added[0]
    assert 3 == len(added)
    assert file.read_text() == f"### GET {added[2]}"


@pytest.mark.parametrize(
    ("variables", "is_colored"), [({}, True), ({"NO_COLOR": ""}, True), ({"NO_COLOR": "1"}, False)]
)
def test_terminal(serve: Servers, variables: dict[str, str], is_colored: bool) -> None:  # noqa: FBT001 - a row of a table
    """On a terminal the run shows itself, with the rate and the times, and the report is bold.

    Not with NO_COLOR, if that is not empty (no-color.org).
    """
    url = f"http://127.0.0.1:{serve(APPLICATION).port}/sleep"
    shown, status = on_terminal(url, "-c", "8", "-d", "4s", "--warm-up", "3s", variables=variables)

    assert 0 <= status <= 1
    assert is_colored == ("\x1b[1" in shown)
    assert is_colored == bool(re.search(r"\r\x1b\[Kwarm-up, \d s left", shown))
    assert is_colored == bool(re.search(r"\x1b\[K +\d s +\d+ requests/s .*[▁▂▃▄▅▆▇█].* \d+ right", shown))


def test_terminal_in_an_open_loop(serve: Servers) -> None:
    """The times that are shown meanwhile are those of the report: from when requests were due."""
    url = f"http://127.0.0.1:{serve(APPLICATION).port}/sleep"
    shown, _ = on_terminal(url, "-c", "1", "-d", "5s", "--warm-up", "0", "--rate", "400")
    longest = [line[1] for line in re.finditer(r"requests/s .*[▁▂▃▄▅▆▇█] (\d+ m?s)", shown)]

    # Each takes some 20 ms. Fifty are answered in a second, and eight times as many are due.
    assert re.fullmatch(r"\d s|\d{3} ms", longest[-1]), longest


def on_terminal(*words: str, variables: dict[str, str] | None = None) -> tuple[str, int]:
    """Run `adyton bench` on a terminal; return what it shows, and its exit status."""
    ours, theirs = pty.openpty()
    command = (sys.executable, "-m", "adyton", "bench", *words)
    without = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    env = without | {"TERM": "xterm"} | (variables or {})
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env) as process:
        os.close(theirs)
        shown = b""
        # Linux says EIO when the last one who has the terminal is gone.
        with contextlib.suppress(OSError):
            while data := os.read(ours, 4096):
                shown += data
        os.close(ours)
    return shown.decode(), process.returncode
