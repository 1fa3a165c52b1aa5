"""The load generator finds out what servers do wrong, and its counts add up."""

from __future__ import annotations

import csv
import hashlib
import html
import json
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.server import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.server import Servers

LIARS = Path(__file__).with_name("liars.py")
APPLICATION = Path(__file__).with_name("application.py")
NOISE = {"steal", "foreign-load", "generator", "steady", "little"}
"""Gates that a busy machine closes, whatever the server does."""
QUICK = ("-c", "8", "-d", "1s", "--warm-up", "200ms")


@contextmanager
def liar(kind: str) -> Iterator[str]:
    """Start a server that lies in one way; give its URL."""
    with subprocess.Popen(
        [sys.executable, str(LIARS), kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/"
        finally:
            process.stdin.close()


def run(*words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run `adyton bench` to its end."""
    command = (sys.executable, "-m", "adyton", "bench", *words)
    return subprocess.run(command, capture_output=True, text=True, timeout=90, check=False, cwd=cwd)


def bench(*words: str) -> dict[str, Any]:
    """Return the report, whose counts add up."""
    done = run(*words, "--json")
    assert "" == done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    counts = report["counts"]
    assert counts["sent"] == sum(number for name, number in counts.items() if name != "sent")
    assert done.returncode == (1 if report["invalid"] else 0)
    assert sum(second["right"] for second in report["series"]) == counts["right"]
    assert sum(second["wrong"] for second in report["series"]) == wrong(report)
    return report


def wrong(report: dict[str, Any]) -> int:
    """Return how many requests had no right answer."""
    names = ("wrong_status", "wrong_body", "connection_error", "timeout")
    return sum(report["counts"][name] for name in names)


def gates(report: dict[str, Any]) -> set[str]:
    """Return which gates have failed."""
    return {reason["gate"] for reason in report["invalid"]}


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("-t", "2"),
        ("--pipeline", "4"),
        ("-k=off",),
        ("--rate", "500"),
        ("--rate", "500", "--arrivals", "poisson"),
        ("-n", "300"),
        ("-X", "HEAD", "--check", "nothing"),
        ("--data", "a=b", "-H", "Content-Type: text/plain"),
        ("--expect-sha256", hashlib.sha256(b"Hello World!").hexdigest()),
    ],
)
def test_honest(serve: Servers, words: tuple[str, ...]) -> None:
    """Everything that an honest server answers is right, in every mode."""
    server = serve(APPLICATION)
    report = bench(f"http://127.0.0.1:{server.port}/", *QUICK, *words)

    # On a machine that stands still for a moment at the end, what was due then is late.
    assert set() == gates(report) - NOISE - ({"late"} if "--rate" in words else set())
    assert 0 == wrong(report)
    assert report["counts"]["right"] >= 200
    assert {"200": report["counts"]["right"]} == report["statuses"]
    if "-n" in words:
        assert (300, 0) == (report["counts"]["sent"], report["counts"]["in_flight"])
    if "--rate" in words:
        assert 300 <= report["counts"]["sent"] <= 600
        assert report["response"]["count"] == report["counts"]["right"]
    if "-k=off" in words:
        assert report["connect"]["count"] >= report["counts"]["right"]


def test_figures_of_an_honest_server(serve: Servers) -> None:
    """Sizes, times and the server's processes are those that can be had elsewhere, too."""
    server = serve(APPLICATION)
    report = bench(f"http://127.0.0.1:{server.port}/sleep", *QUICK)
    right = report["counts"]["right"]

    assert 12 * right == report["body_bytes"]
    assert 20_000 <= report["service"]["min_us"] <= report["service"]["p50_us"] <= report["service"]["p99_us"]
    assert report["first_byte"]["p50_us"] <= report["service"]["p50_us"]
    assert 1 == report["server"]["processes"]
    assert server.rss() * 0.3 < report["server"]["pss_bytes"] < server.rss() * 1.1
    assert report["fairness"]["min"] > 0


def test_unix_socket(serve: Servers, tmp_path: Path) -> None:
    """A unix socket is as good as a port."""
    path = tmp_path / "socket"
    serve(APPLICATION, bind=f"unix:{path}")
    report = bench(f"unix:{path}:/", *QUICK)

    assert set() == gates(report) - NOISE
    assert 1 == report["server"]["processes"]


@pytest.mark.parametrize(
    ("kind", "count", "error"),
    [
        ("bad-gateway", "wrong_status", None),
        ("wrong-object", "wrong_body", None),
        ("wrong-length", "wrong_body", None),
        ("cut-short", "connection_error", "answer cut short"),
        ("empty", "connection_error", "connection closed without an answer"),
        ("malformed", "connection_error", "malformed answer: Content-Length is not one number"),
        ("twice", "connection_error", "more came than was asked for"),
        ("never", "timeout", "timed out"),
    ],
)
def test_every_tenth(kind: str, count: str, error: str | None) -> None:
    """What is wrong with every tenth answer is counted as that, and the figures are not to be used."""
    with liar(kind) as url:
        report = bench(url, *QUICK, "--timeout", "200ms" if kind == "never" else "20s")

    assert "answers" in gates(report)
    assert wrong(report) == report["counts"][count] > 0
    assert report["counts"]["right"] > 0
    if error is not None:
        assert {error: report["counts"][count]} == report["errors"]
    if kind == "bad-gateway":
        assert report["counts"]["wrong_status"] == report["statuses"]["502"]
        assert 0.05 < report["counts"]["wrong_status"] / report["counts"]["sent"] < 0.15


def test_stall() -> None:
    """A second without answers is no steady state; an open loop has it in its times, a closed one not."""
    with liar("stalls") as url:
        closed = bench(url, "-c", "4", "-d", "6s", "--warm-up", "100ms")
    with liar("stalls") as url:
        opened = bench(url, "-c", "4", "-d", "6s", "--warm-up", "100ms", "--rate", "200")

    assert "steady" in gates(closed)
    assert closed["service"]["max_us"] > 900_000
    assert closed["service"]["max_us"] > 5 * closed["service"]["p90_us"]
    assert opened["response"]["p90_us"] > 2 * opened["service"]["p90_us"]


def test_gets_slower() -> None:
    """A server that gets slower has no steady state."""
    with liar("gets-slower") as url:
        report = bench(url, "-c", "4", "-d", "6s", "--warm-up", "100ms")

    assert "steady" in gates(report)


def test_small_queue() -> None:
    """Connections that the kernel drops because nobody accepts them are told."""
    with liar("small-queue") as url:
        report = bench(url, "-c", "64", "-d", "2s", "--warm-up", "0", "-k=off")

    assert "listen-queue" in gates(report)
    assert report["machine"]["listen_overflows"] > 0


def test_does_not_keep_up(serve: Servers) -> None:
    """Requests that nobody takes are not forgotten."""
    server = serve(APPLICATION)
    report = bench(f"http://127.0.0.1:{server.port}/sleep", *QUICK, "--rate", "2000")

    assert "late" in gates(report)
    assert report["never_sent"] > 500


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["/status/404"], "answers 404; if that is right, say --expect-status 404"),
        (
            ["/", "--expect-sha256", "0" * 64],
            "has another SHA-256: 7f83b1657ff1fc53b92dc18148a1d65dfc2d4b1fa3d67728",
        ),
        (["/", "--expect-body", str(LIARS)], "is not the expected one"),
        (["/number"], "differ from one another: say --check length"),
    ],
)
def test_wrong_from_the_start(serve: Servers, words: list[str], sentence: str) -> None:
    """Nothing is measured when the very first answer is not right."""
    server = serve(APPLICATION)
    done = run(f"http://127.0.0.1:{server.port}{words[0]}", *words[1:])

    assert sentence in done.stderr
    assert (1, "") == (done.returncode, done.stdout)


def test_nobody_there() -> None:
    """A server that is not there is said to be not there."""
    with liar("honest") as url:
        pass
    done = run(url)

    assert "Connection refused" in done.stderr
    assert 1 == done.returncode


def test_what_may_vary(serve: Servers) -> None:
    """A page that shows a number is right if its length is."""
    server = serve(APPLICATION)
    report = bench(f"http://127.0.0.1:{server.port}/number", *QUICK, "--check", "length")

    assert 0 == wrong(report)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--connections", "0"], "--connections 0: out of range, which is from 1 to 65536"),
        (["-c", "1", "-t", "2"], "each thread needs a connection"),
        (["--conections", "1"], "--conections is not an option of adyton bench; did you mean --connections?"),
        (["--pipeline", "2", "-k=off"], "only connections that are kept alive"),
        (["--pipeline", "2", "--rate", "5"], "an open loop sends one request at a time"),
        (["--fail-if", "p98>1ms"], "p98 is not a figure"),
        (["--expect-status", "20"], "a status is a number from 200 to 999"),
        (["http://127.0.0.1:2/"], "one argument too many"),
        (["--data", "@/nowhere"], "--data /nowhere: No such file or directory"),
    ],
)
def test_wrong_words(words: list[str], sentence: str) -> None:
    """What cannot be done is said, before anything is tried."""
    done = run("http://127.0.0.1:1/", *words)

    assert sentence in done.stderr
    assert (2, "") == (done.returncode, done.stdout)


def test_conditions(serve: Servers) -> None:
    """A condition that holds is the end of a script."""
    server = serve(APPLICATION)
    url = f"http://127.0.0.1:{server.port}/"
    failed = run(url, *QUICK, "--fail-if", "p50>1us", "--fail-if", "errors>0")

    assert 1 == failed.returncode
    assert ["adyton bench: failed, because p50>1us"] == failed.stderr.splitlines()


def test_table(serve: Servers) -> None:
    """The table has INVALID in the place of the figures, and why; else the figures."""
    with liar("bad-gateway") as url:
        done = run(url, *QUICK)
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
    files = {form: tmp_path / f"report.{form}" for form in ("json", "md", "csv", "html")}
    words = [word for file in files.values() for word in ("-o", str(file))]
    done = run(f"http://127.0.0.1:{server.port}/?a=<b>", *QUICK, *words)
    assert "" == done.stderr
    report = json.loads(files["json"].read_text())
    [row] = csv.DictReader(files["csv"].read_text().splitlines())

    assert report["asked"]["url"] == row["url"] == f"http://127.0.0.1:{server.port}/?a=<b>"
    assert str(report["counts"]["right"]) == row["right"]
    if report["invalid"]:
        assert "**INVALID**" in files["md"].read_text()
        assert ("", "") == (row["rate"], row["p99"])
    else:
        assert f"**{report['rate']:,.0f} requests/s**" in files["md"].read_text()
        assert f"{report['rate']:.3f}" == row["rate"]


def test_page(serve: Servers, tmp_path: Path) -> None:
    """The page in a browser has the figures of the report that it carries, and no place left to fill."""
    server = serve(APPLICATION)
    file = tmp_path / "report.html"
    run(
        f"http://127.0.0.1:{server.port}/?a=<b>", "-c", "8", "-d", "3s", "--warm-up", "200ms", "-o", str(file)
    )
    command = ("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", file.as_uri())
    dom = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    report = json.loads(
        html.unescape(found(r'<script type="application/json" id="report">(.*?)</script>', dom))
    )

    assert "{{" not in dom
    assert "/?a=<b>" not in dom.replace(json.dumps(report["asked"]["url"]), "")
    assert f"right {report['counts']['right']} +" in found(r'<p id="identity">(.*?)</p>', dom)
    assert 2 == dom.count("<polyline")
    if report["invalid"]:
        assert "INVALID" == found(r'<b id="rate">(.*?)</b>', dom)
        assert report["invalid"][0]["why"] in html.unescape(dom)
    else:
        assert f"{report['rate']:,.0f}" == found(r'<b id="rate">(.*?)</b>', dom)
        assert f"<td>{report['service']['p99_us'] / 1000:.3f}</td>" in dom


def found(pattern: str, text: str) -> str:
    """Return what the pattern's group has found."""
    match = re.search(pattern, text, re.DOTALL)
    assert match is not None, pattern
    return match.group(1)


def test_find_rate(serve: Servers) -> None:
    """Of eight connections that are answered every 20 ms, no more than 400 requests a second can come."""
    server = serve(APPLICATION)
    url = f"http://127.0.0.1:{server.port}/sleep"
    done = run(url, *QUICK, "--find-rate", "p90<100ms", "--json")
    found_rate = json.loads(done.stdout)

    assert 0 < len(found_rate["steps"]) <= 16
    assert found_rate["steps"][-1]["held"] or found_rate["rate"] is None
    assert found_rate["rate"] is None or 50 < found_rate["rate"] < 420
    assert done.returncode == (0 if found_rate["rate"] and not found_rate["invalid"] else 1)


def test_baseline(serve: Servers, tmp_path: Path) -> None:
    """A report that was kept is compared with; one that is invalid, or is not there, is not."""
    server = serve(APPLICATION)
    url = f"http://127.0.0.1:{server.port}/"
    missing = run(url, "--baseline", "none")
    kept = tmp_path / ".adyton-bench" / "main.json"
    kept.parent.mkdir()
    report = bench(url, *QUICK)
    kept.write_text(json.dumps(report | {"invalid": [], "rate": report["rate"] * 4}))
    compared = run(url, *QUICK, "--baseline", "main", cwd=tmp_path)
    kept.write_text(json.dumps(report | {"invalid": [{"gate": "answers", "why": ""}]}))
    invalid = run(url, *QUICK, "--baseline", "main", cwd=tmp_path)

    assert "--save keeps one" in missing.stderr
    assert "that run was invalid" in invalid.stderr
    assert [2, 2] == [missing.returncode, invalid.returncode]
    if compared.returncode == 0:
        assert 0.02 < float(found(r"requests/s +\S+ +\S+ +(\S+)", compared.stdout)) < 1
        assert "too few seconds" in compared.stdout


def test_debug(serve: Servers) -> None:
    """One exchange is shown as it is."""
    server = serve(APPLICATION)
    done = run(f"http://127.0.0.1:{server.port}/a", "--debug", "-H", "X-Y: z", "--data", "body")
    lines = done.stdout.splitlines()

    assert ["> POST /a HTTP/1.1", f"> Host: 127.0.0.1:{server.port}"] == lines[:2]
    assert {"> X-Y: z", "> Content-Length: 4", "> body", "< HTTP/1.1 200 OK", "< Hello World!"} <= set(lines)


def test_interrupted() -> None:
    """Ctrl-C ends the measurement, and what there is is reported."""
    with liar("honest") as url:
        command = (sys.executable, "-m", "adyton", "bench", url, "-d", "10m", "--warm-up", "0", "--json")
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            tasks = Path(f"/proc/{process.pid}/task")
            assert until(lambda: len(list(tasks.iterdir())) > 1, 30)
            time.sleep(2)
            process.send_signal(signal.SIGINT)
            report = json.loads(process.stdout.read())

    assert report["seconds"] < 60
    assert report["counts"]["right"] > 0
