"""The load generator must find the faults of servers, and its counts must add up."""

from __future__ import annotations

import contextlib
import hashlib
import html
import http.client
import itertools
import json
import os
import re
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from adyton.compare.running import seated

from bench.runs import (
    APPLICATION,
    LIARS,
    NOISE,
    QUICK,
    SURE,
    bench,
    few_ports,
    full_queue,
    gates,
    liar,
    overflows,
    reasons,
    run,
    warnings,
    wrong,
)
from bench.schema import faults
from support.server import until

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Servers


CPUS = os.sched_getaffinity(0)
ATTEMPTS = 5
"""Attempts of a test, because a machine that stands still for a moment spoils rates and times."""


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("-d", "3s"),
        ("-d", "3s", "--rate", "500"),
        ("-d", "3s", "--rate", "500", "--arrivals", "poisson"),
        ("-t", "2"),
        ("--pipeline", "4"),
        ("-k=off",),
        ("--no-keepalive",),
        ("-X", "HEAD", "--check", "nothing"),
        ("--data", "a=b", "-H", "Content-Type: text/plain"),
        ("--expect-sha256", hashlib.sha256(b"Hello World!").hexdigest()),
    ],
)
def test_honest(serve: Servers, words: tuple[str, ...]) -> None:
    """Every answer of an honest server must count as right, in every mode."""
    server = serve(APPLICATION)
    number = () if "-d" in words else ("-n", "300")
    report = bench(f"http://127.0.0.1:{server.port}/", "-c", "8", "--warm-up", "200ms", *number, *words)

    # If the machine stands still for a moment at the end, requests that are due then are late.
    assert set() == gates(report) - NOISE - ({"late"} if "--rate" in words else set())
    assert 0 == wrong(report)
    assert report["counts"]["right"] >= 200
    assert {"200": report["counts"]["right"]} == report["statuses"]
    assert report["asked"]["keep_alive"] == ({"-k=off", "--no-keepalive"}.isdisjoint(words))
    if number:
        assert (300, 0) == (report["counts"]["sent"], report["counts"]["in_flight"])
    if "--rate" in words:
        # Requests that are due while the machine stands still are sent later, unless they are due at the end.
        assert 400 <= report["counts"]["sent"] <= 1800
        assert report["response"]["count"] == report["counts"]["right"]
    if not report["asked"]["keep_alive"]:
        # The connections of requests that were under way at the start were made before.
        assert report["connect"]["count"] >= report["counts"]["right"] - report["asked"]["connections"]


def test_figures_of_an_honest_server(serve: Servers) -> None:
    """Sizes, times and the server's processes must agree with other sources."""
    server = serve(APPLICATION)
    # There is no warm-up, in which one connection might wait until the others have had all requests.
    report = bench(f"http://127.0.0.1:{server.port}/sleep", "-c", "8", "-n", "300", "--warm-up", "0")
    right = report["counts"]["right"]

    assert 12 * right == report["body_bytes"]
    assert 20_000 <= report["service"]["min_us"] <= report["service"]["p50_us"] <= report["service"]["p99_us"]
    assert report["first_byte"]["p50_us"] <= report["service"]["p50_us"]
    assert 1 == report["server"]["processes"]
    assert server.rss() * 0.3 < report["server"]["pss_bytes"] < server.rss() * 1.1
    assert report["fairness"]["min"] > 0


@pytest.mark.parametrize("words", [(), ("--rate", "200")])
def test_slow_server(words: tuple[str, ...]) -> None:
    """A request begun in the warm-up must count if its answer comes later; else slow servers lose rate."""
    expected = 200 if words else 64 / 0.3
    for _ in range(ATTEMPTS):
        with liar("slow") as url:
            report = bench(url, "-c", "64", "-d", "1s", "--warm-up", "1s", *words)
        times = report["response"] or report["service"]
        share = report["rate"] / expected
        in_flight = report["rate"] * times["mean_us"] / 1e6 / (expected * 0.3)
        if 0.85 < share < 1.15 and 0.9 < in_flight < 1.1 and "little" not in gates(report):
            break
    counts = report["counts"]

    assert 0.85 < share < 1.15
    assert counts["right"] < counts["sent"] <= counts["right"] + 64
    assert 0.9 < in_flight < 1.1
    assert "little" not in gates(report)


def test_open_loop_without_keep_alive() -> None:
    """Each request must have a connection of its own, and no connection may be made without a request."""
    with liar("honest") as url:
        report = bench(url, "-c", "64", "-d", "1s", "--warm-up", "0", "--rate", "50", "-k=off")

    assert report["counts"]["right"] <= report["connect"]["count"] <= report["counts"]["sent"] <= 51


def test_connect_is_apart(serve: Servers) -> None:
    """The time to connect must be part of each request's whole time, not of the time to the first byte."""
    url = f"http://127.0.0.1:{serve(APPLICATION).port}/"
    report = bench(url, "-c", "1", "-n", "300", "--warm-up", "0", "-k=off")
    kept = bench(url, *SURE)
    means, medians = (
        {name: report[name][figure] for name in ("connect", "first_byte", "service")}
        for figure in ("mean_us", "p50_us")
    )

    assert 300 == report["connect"]["count"] == report["first_byte"]["count"]
    # The histograms are right within a thousandth.
    assert means["connect"] + means["first_byte"] <= 1.002 * means["service"], means
    assert medians["connect"] > 0.01 * medians["service"], medians
    # Connections that are kept alive are made in the warm-up, which a busy machine may sleep through.
    made = [kept[name]["count"] for name in ("connect", "connect_before") if kept[name]]
    assert 8 == sum(made)


def test_slow_server_by_number() -> None:
    """If a number of requests is given, exactly so many must be begun within the measurement."""
    with liar("slow") as url:
        report = bench(url, "-c", "64", "-n", "256", "--warm-up", "500ms")

    assert (256, 256) == (report["counts"]["sent"], report["counts"]["right"])
    assert "little" not in gates(report)


def test_unix_socket(serve: Servers, tmp_path: Path) -> None:
    """A server at a unix socket must be measured like one at a port."""
    path = tmp_path / "socket"
    serve(APPLICATION, bind=f"unix:{path}")
    report = bench(f"unix:{path}:/", *SURE)

    assert set() == gates(report) - NOISE
    assert 1 == report["server"]["processes"]


@pytest.mark.parametrize(
    ("kind", "count", "error"),
    [
        ("bad-gateway", "wrong_status", None),
        ("wrong-object", "wrong_body", "wrong bytes"),
        ("wrong-length", "wrong_body", "wrong length"),
        ("cut-until-close", "wrong_body", "wrong length"),
        ("cut-short", "connection_error", "answer cut short"),
        ("empty", "connection_error", "connection closed without"),
        ("other-status", "wrong_status", None),
        ("malformed", "connection_error", "malformed answer: Content-Length is not one number"),
        (
            "endless-head",
            "connection_error",
            "malformed answer: The head of the answer is longer than 300 KiB",
        ),
        ("twice", "connection_error", "more came than was asked for"),
        ("never", "timeout", "timed out: nothing came"),
        ("no-more-head", "timeout", "timed out: a part of the head only"),
        ("no-body", "timeout", "timed out: the head only, nothing of the body"),
        (
            "no-more-body",
            "timeout",
            "timed out: a part of the body only, 7 of the 12 bytes of the body at the first",
        ),
        ("interim-only", "timeout", "timed out: interim answers only"),
    ],
)
def test_every_tenth(kind: str, count: str, error: str | None) -> None:
    """The fault of every tenth answer must be counted under its name, and make the run invalid."""
    with liar(kind) as url:
        # The timeout is as short as possible, but longer than any right answer takes, and the answers are
        # few.
        few = ("-c", "8", "-n", "60", "--timeout", "3s")
        report = bench(url, *(few if count == "timeout" else (*SURE, "--timeout", "20s")))

    assert "answers" in gates(report)
    assert wrong(report) == report["counts"][count] > 0
    assert report["counts"]["right"] > 0
    if kind == "empty":
        # A connection that has had answers is told apart from one that has had none.
        assert wrong(report) == sum(report["errors"].values())
        assert all(re.match("(kept )?connection closed without ", each) for each in report["errors"])
    elif error is not None:
        assert {error: report["counts"][count]} == report["errors"]
    if count != "timeout" and report["counts"]["connection_error"] == 0:
        assert report["first_wrong"]["request"] == f"GET {url}"
    if kind == "bad-gateway":
        assert report["counts"]["wrong_status"] == report["statuses"]["502"]
        assert 0.05 < report["counts"]["wrong_status"] / report["counts"]["sent"] < 0.15


@pytest.mark.parametrize(
    ("kind", "why", "line"),
    [
        ("bad-gateway", "status 502", "HTTP/1.1 502 Bad Gateway"),
        (
            "wrong-object",
            'status 200, byte 8 is the first that differs: "lrd!" in the place of "rld!"',
            "HTTP/1.1 200 OK",
        ),
        (
            "wrong-length",
            "status 200, its body has 11 bytes, the right one 12",
            "Content-Length: 11",
        ),
        ("malformed", "malformed: Content-Length is not one number.", "Content-Length: twelve"),
    ],
)
def test_first_wrong_answer(tmp_path: Path, kind: str, why: str, line: str) -> None:
    """Every form for people must show the first wrong answer, with its head and where its body differs."""
    files = {form: tmp_path / f"report.{form}" for form in ("json", "md", "html")}
    words = [word for file in files.values() for word in ("-o", str(file))]
    with liar(kind) as url:
        table = run(url, *SURE, *words).stdout
    wrong = json.loads(files["json"].read_text())["first_wrong"]
    page = html.unescape(files["html"].read_text().partition("<script")[0])

    assert {"request": f"GET {url}", "why": why} == {name: wrong[name] for name in ("request", "why")}
    assert line in wrong["head"].splitlines()
    assert f"first wrong GET {url}: {why}" in re.sub(r"\s+", " ", table)
    assert f"<   {line}" in table.splitlines()
    assert f"- first wrong: GET {url}: {why}" in files["md"].read_text().splitlines()
    assert line in files["md"].read_text().splitlines()
    assert f"<dd>GET {url}: {why}<pre>" in page


def test_kept_connection_is_closed() -> None:
    """If a server closes connections without notice after a number of answers, the report must say so."""
    with liar("closes-kept") as url:
        report = bench(url, *SURE)

    assert ["kept connection closed without notice, after 9 answers"] == list(report["errors"])
    assert report["counts"]["connection_error"] > 0


def test_interim_answers() -> None:
    """Interim answers must be counted and reported; the answers behind them must count as right."""
    with liar("interim") as url:
        report = bench(url, *SURE)

    assert (30_000, 100, 0) == (report["interim_answers"], report["interim_most"], wrong(report))
    assert warnings(report)["interim"] == (
        "30000 interim answers (1xx) came before the final ones, at most 100 before one answer"
    )


@pytest.mark.parametrize(
    ("kind", "counted", "told"),
    [
        ("bare-lf", "bare_lf", "30 answers have heads with lines that end in LF without CR"),
        ("two-framings", "two_framings", "30 answers have both Content-Length and Transfer-Encoding"),
        ("long-head", "long", "30 answers have heads of more than 64 KiB, the longest 100039 bytes"),
    ],
)
def test_odd_heads(kind: str, counted: str, told: str) -> None:
    """A fault in a head that clients overlook must be reported; the answer must count as right."""
    with liar(kind) as url:
        report = bench(url, "-c", "2", "-n", "300", "--warm-up", "0")

    assert (30, 0) == (report["odd_heads"][counted], wrong(report))
    assert warnings(report)[kind].startswith(told)
    assert 1 == sum(report["odd_heads"][name] > 0 for name in ("bare_lf", "two_framings", "long"))


def test_early_answers(tmp_path: Path) -> None:
    """An answer that begins before its request was sent must be reported, even if it is right."""
    # The body is larger than the kernel's buffers, so it cannot have been sent when the answer comes.
    (tmp_path / "body").write_bytes(bytes(8 << 20))
    words = ("-c", "2", "-n", "20", "--warm-up", "0", "-k=off", "--data", f"@{tmp_path / 'body'}")
    with liar("early") as url:
        report = bench(url, *words, "--timeout", "20s")

    # On a busy machine the server may answer some connections only after their whole request was sent.
    assert 0 < report["early_answers"] <= 20
    assert 0 == wrong(report)
    assert "answers began before their request was sent" in warnings(report)["early"]


def test_large_bodies(serve: Servers, tmp_path: Path) -> None:
    """A body that the kernel does not take at once must still be sent whole, also in the first request."""
    server = serve(APPLICATION)
    (tmp_path / "body").write_bytes(bytes(20 << 20))
    words = ("-c", "2", "-n", "6", "--warm-up", "0", "--data", f"@{tmp_path / 'body'}", "--timeout", "60s")
    report = bench(f"http://127.0.0.1:{server.port}/", *words)

    assert (6, 0) == (report["counts"]["right"], wrong(report))


def test_heads_that_tell_something() -> None:
    """A content coding that was not asked for, and a cache, must be reported."""
    with liar("cached") as url:
        report = bench(url, *QUICK)
        asked_for = bench(url, *QUICK, "-H", "Accept-Encoding: gzip")

    assert "answers have Content-Encoding: gzip, which was not asked for" in warnings(report)["coding"]
    assert "answers have Age: 7: a cache is in between" in warnings(report)["cache"]
    assert {"cache"} == set(warnings(asked_for)) - {"fairness"}


def test_starved_connection() -> None:
    """A single connection that waits must be reported, although percentiles over requests hide it."""
    accept = ("--accept", "foreign-load", "--accept", "steal")
    for _ in range(ATTEMPTS):
        with liar("starves") as url:
            report = bench(url, "-c", "8", "-d", "4s", "--warm-up", "0", *accept)
        if report["service"]["p99_us"] < 200_000:
            break
    fairness = report["fairness"]

    assert 1 == fairness["slow_connections"]
    assert 3 <= fairness["slow_right"] == fairness["min"] <= 9
    assert fairness["mean_p50_us"] < 200_000
    assert fairness["mean_max_us"] >= 500_000
    # Figures that must not be used give no warning.
    assert ("fairness" in warnings(report)) == (not report["invalid"])


def test_stall() -> None:
    """A second without answers is no steady state; the times of an open loop must show it, too."""
    with liar("stalls") as url:
        closed = bench(url, "-c", "4", "-d", "6s", "--warm-up", "100ms")
    with liar("stalls") as url:
        opened = bench(url, "-c", "4", "-d", "6s", "--warm-up", "100ms", "--rate", "200")

    assert "steady" in gates(closed)
    assert closed["service"]["max_us"] > 900_000
    assert closed["service"]["max_us"] > 5 * closed["service"]["p90_us"]
    assert opened["response"]["p90_us"] > 2 * opened["service"]["p90_us"]


@pytest.mark.parametrize("words", [(), ("--rate", "200")])
@pytest.mark.parametrize("from_s", ["0.7", "1.0", "1.3"])
def test_stall_in_any_phase(from_s: str, words: tuple[str, ...]) -> None:
    """A second without answers must be reported wherever it lies, even across two seconds of the run."""
    with liar("stalls", from_s) as url:
        report = bench(url, "-c", "4", "-d", "3s", "--warm-up", "100ms", *words)

    assert any(why.startswith("for ") and "there was no right answer" in why for why in reasons(report))
    assert 900 < report["longest_lull_ms"] < 1000 * report["seconds"]


@pytest.mark.parametrize("words", [(), ("--rate", "100")])
def test_hangs(words: tuple[str, ...]) -> None:
    """A stall that lasts until the end must be noticed, although no event comes after it."""
    with liar("hangs") as url:
        report = bench(url, "-c", "4", "-d", "8s", "--warm-up", "100ms", "--timeout", "30s", *words)

    assert "steady" in gates(report)
    assert 8 == len(report["series"])
    assert report["oldest_in_flight_ms"] > 3_000


@pytest.mark.parametrize("words", [(), ("--rate", "100"), ("--rate", "100", "--arrivals", "poisson")])
def test_gets_slower(words: tuple[str, ...]) -> None:
    """A server that gets slower has no steady state, even if it answers at the rate of the requests."""
    for _ in range(ATTEMPTS):
        with liar("gets-slower") as url:
            report = bench(url, "-c", "8", "-d", "6s", "--warm-up", "100ms", *words)
        # A machine that stands still in the first seconds makes these slow, too.
        if "steady" in gates(report):
            break

    assert "steady" in gates(report)


def test_arrivals_without_a_rate() -> None:
    """`--arrivals` without `--rate` must be refused: a closed loop has no arrivals."""
    done = run("http://127.0.0.1:1/", "--arrivals", "poisson")

    assert (2, "") == (done.returncode, done.stdout)
    assert "--arrivals" in done.stderr
    assert "--rate" in done.stderr


def test_step() -> None:
    """A server that becomes slower at some time has no steady state either."""
    with liar("steps", "3.7") as url:
        report = bench(url, "-c", "64", "-d", "6s", "--warm-up", "100ms", "--rate", "100")

    assert any(why.startswith("no steady state: answers took ") for why in reasons(report))


def test_stall_that_many_meet() -> None:
    """A stall must be reported even if so many requests meet it that its length is a usual response time."""
    with liar("stalls", "1") as url:
        report = bench(url, "-c", "64", "-d", "3s", "--warm-up", "100ms", "--rate", "60")

    assert report["service"]["p90_us"] > 500_000
    assert any(why.startswith("for ") and "there was no right answer" in why for why in reasons(report))


def test_no_answers_at_the_end() -> None:
    """Requests unanswered at the end must be reported if they are enough to change percentiles."""
    with liar("hangs", "2") as url:
        report = bench(url, "-c", "512", "-d", "3s", "--warm-up", "0", "--rate", "200")

    assert 0 == wrong(report)
    assert report["overdue"]["requests"] > 0.01 * report["counts"]["sent"]
    assert 100 < report["overdue"]["oldest_ms"] < 3000
    assert any(why.startswith("at the end ") and "longer than p99" in why for why in reasons(report))


def test_less_than_is_due() -> None:
    """A server that answers fewer requests than are due must be reported, even if all found a connection."""
    # There are more connections than due requests, even if none is answered for a while.
    words = ("-c", "2000", "-d", "4s", "--warm-up", "100ms", "--rate", "400", "--timeout", "1m")
    for _ in range(ATTEMPTS):
        with liar("queued") as url:
            report = bench(url, *words)

        assert 0 == report["never_sent"]
        assert "late" in gates(report)
        # The gate tells only one reason; if the server sleeps at the end, it tells another.
        if named := any(why.startswith("400 requests/s were due, and ") for why in reasons(report)):
            break

    assert named


@pytest.mark.parametrize(("number", "rate"), [(40, 400), (1, 40)])
def test_nothing_is_due_behind_the_last(number: int, rate: int) -> None:
    """In a run of a number of requests, none may be due after the last, however long its answer takes."""
    words = ("-c", str(number), "-n", str(number), "--warm-up", "0", "--rate", str(rate))
    for _ in range(ATTEMPTS):
        with liar("slow") as url:
            report = bench(url, *words)
        # All requests are due within a tenth of a second, in which the generator must not stand still.
        if "late" not in gates(report):
            break

    assert (number, 0) == (report["counts"]["sent"], report["never_sent"])
    assert "late" not in gates(report)


def test_generator_that_waits_for_its_cpu() -> None:
    """A generator that waits for its CPU must count as busy, unless the server may use the same CPU."""
    server, load = (frozenset({end(CPUS)}) for end in (min, max))
    burn = (sys.executable, "-c", "while True: pass")
    with contextlib.ExitStack() as stack:
        with seated(server):
            apart = stack.enter_context(liar("honest"))
        shared = stack.enter_context(liar("honest"))
        with seated(load):
            for _ in range(8):
                burner = stack.enter_context(subprocess.Popen(burn))
                stack.callback(burner.kill)
            for _ in range(ATTEMPTS):
                starved, sharing = (bench(url, *QUICK)["generator"] for url in (apart, shared))
                if min(starved["waiting"], sharing["waiting"]) > 0.3 > sharing["busy"]:
                    break

    if server != load:
        assert starved["busy"] > starved["waiting"] > 0.3
    assert sharing["waiting"] > 0.3 > sharing["busy"]


def test_ceiling_of_more_threads_than_cpus() -> None:
    """Eight threads on one CPU can do no more than one, whatever a calibration on a busy machine says."""
    with liar("honest") as url, seated(frozenset({max(CPUS)})):
        one, eight = (bench(url, *QUICK, "-t", threads)["generator"]["ceiling_rate"] for threads in "18")

    assert 0 < eight < 3 * one


FEW = 20
"""Number of descriptors or local ports; the tests ask for more connections."""


def test_own_descriptors() -> None:
    """Connections that fail for lack of a descriptor must count as this program's limit, not as errors."""
    with liar("honest") as url:
        few = ("prlimit", f"--nofile={FEW}:{FEW}")
        report = bench(url, "-c", "64", "-d", "1s", "--warm-up", "200ms", within=few)

    assert_own_limit(report, "descriptors")


def test_own_ports() -> None:
    """Lack of local ports for connections must be reported as a limit of this program, too."""
    with few_ports(50_000, 50_000 + FEW) as few, liar("honest", within=few) as url:
        report = bench(url, "-c", "64", "-d", "1s", "--warm-up", "200ms", within=few)

    assert_own_limit(report, "ports")


def test_what_cannot_be_read_is_unknown() -> None:
    """If the machine's counts cannot be read for lack of a descriptor, they must be unknown, not zero."""
    with liar("honest") as url:
        for few in range(FEW, FEW + 8):
            words = (url, "-c", "64", "-d", "500ms", "--warm-up", "200ms")
            done = run(*words, "--json", within=("prlimit", f"--nofile={few}:{few}"))
            if not done.stdout:
                continue
            machine = json.loads(done.stdout)["machine"]
            foreign = machine["foreign_cpus"]
            if foreign is None and machine["steal_percent"] is None:
                break
            assert foreign is None or foreign <= 2 * (os.cpu_count() or 1)
        else:
            raise AssertionError(machine)
        table = run(*words, within=("prlimit", f"--nofile={few}:{few}")).stdout

    assert "foreign-load" not in gates(json.loads(done.stdout))
    assert re.search(r"^unknown +[^.]*what other programs\s+took", table, re.MULTILINE)


def assert_own_limit(report: dict[str, Any], name: str) -> None:
    """Assert that the load ran out of something, and that the server has done nothing wrong."""
    assert "own-limits" in gates(report)
    assert "answers" not in gates(report)
    assert any(why.startswith("this program ran out of ") and name in why for why in reasons(report))
    assert report["own_limits"][name] > 0
    assert {"descriptors": 0, "ports": 0, name: report["own_limits"][name]} == report["own_limits"]
    assert ({}, 0) == (report["errors"], wrong(report))
    assert 0 < report["counts"]["right"]


def test_small_queue() -> None:
    """Connections that the kernel drops because the server does not accept them must be reported."""
    with liar("small-queue") as url:
        report = bench(url, "-c", "64", "-d", "2s", "--warm-up", "0", "-k=off")

    assert "listen-queue" in gates(report)
    assert any(why.startswith("the server's listen queue was full") for why in reasons(report))
    assert report["machine"]["listen_overflows"] > 0


def test_small_queue_in_the_warm_up() -> None:
    """Drops in the warm-up, in which the measurement's connections are made, must be reported, too."""
    with liar("small-queue") as url:
        # The kernel tries again after whole seconds; the measurement begins between two of them.
        report = bench(url, "-c", "32", "-d", "300ms", "--warm-up", "5s")

    assert report["connections_made"] == 0
    assert "listen-queue" in gates(report)


def test_full_queue_of_another() -> None:
    """Connections that are dropped because another program accepts none must not count as the server's."""
    before = overflows()
    with liar("honest") as url, full_queue():
        report = bench(url, *QUICK)

    assert before < overflows()
    assert "listen-queue" not in gates(report)
    assert "server" == report["machine"]["listen_queues_of"]
    assert 0 == report["machine"]["listen_drops"]


@pytest.mark.parametrize(("words", "kind"), [((), "service"), (("--rate", "100"), "response")])
def test_deadline(serve: Servers, words: tuple[str, ...], kind: str) -> None:
    """Answers in time must be counted exactly, wherever in the curve the deadline lies."""
    url = f"http://127.0.0.1:{serve(APPLICATION).port}/uneven"
    none, some, all_of_them = (
        bench(url, "-c", "8", "-n", "100", "--warm-up", "200ms", *words, "--deadline", deadline)
        for deadline in ("1ms", "28ms", "1m")
    )

    assert 0 == none["in_time"]
    assert all_of_them["counts"]["right"] == all_of_them["in_time"]
    assert 28 == some["asked"]["deadline_ms"]
    assert some[kind]["count"] == some["counts"]["right"] > some["in_time"]
    assert bench(url, *QUICK)["in_time"] is None
    part = 100 * some["in_time"] / some["counts"]["right"]
    assert next(time_us for percent, time_us in some["curve"] if percent > part) > 0.99 * 28_000


def test_does_not_keep_up(serve: Servers) -> None:
    """Requests that are due and find no free connection must be reported."""
    server = serve(APPLICATION)
    words = ("-c", "8", "-d", "3s", "--warm-up", "0", "--rate", "2000")
    report = bench(f"http://127.0.0.1:{server.port}/sleep", *words)

    assert "late" in gates(report)
    assert report["never_sent"] > 500
    # The times of the seconds must include the wait for a connection, as the times of the whole run do.
    slowest_us = max(second["max_us"] for second in report["series"])
    assert pytest.approx(report["response"]["max_us"], rel=0.002) == slowest_us
    assert slowest_us > 10 * report["service"]["p50_us"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["/status/404"], "answers 404; if that is right, say --expect-status 404"),
        (
            ["/", "--expect-sha256", "0" * 64],
            "has another SHA-256: 7f83b1657ff1fc53b92dc18148a1d65dfc2d4b1fa3d67728",
        ),
        (["/", "--expect-body", str(LIARS)], "is not the expected one"),
        (
            ["/number"],
            "look at some (--debug); if the difference is intended, say --check length",
        ),
    ],
)
def test_wrong_from_the_start(serve: Servers, words: list[str], sentence: str) -> None:
    """If the very first answer is not right, nothing may be measured."""
    server = serve(APPLICATION)
    done = run(f"http://127.0.0.1:{server.port}{words[0]}", *words[1:])

    assert sentence in done.stderr
    assert (1, "") == (done.returncode, done.stdout)


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("cut-at-once", "ends the connection after 9 of the 12 bytes of the body"),
        ("cut-in-head", "ends the connection after 20 bytes of the head"),
        ("silent", "ends the connection without an answer"),
        ("hangs-at-once", "sends 9 of the 12 bytes of the body, and no more within 2000 ms"),
        ("hangs", "does not answer within 2000 ms"),
    ],
)
def test_not_whole_from_the_start(kind: str, sentence: str) -> None:
    """A first answer that is not whole must be reported, with the part of it that has come."""
    with liar(kind, "-1") as url:
        done = run(url, *QUICK, "--timeout", "2s")

    assert f"adyton bench: {url} {sentence}\n" == done.stderr
    assert (1, "") == (done.returncode, done.stdout)


@pytest.mark.parametrize(("check", "wrong_bodies"), [("body", 30), ("length", 30), ("nothing", 0)])
def test_length_told_to_head(check: str, wrong_bodies: int) -> None:
    """An answer to HEAD must have the Content-Length of the first answer, unless the length may vary."""
    with liar("wrong-length-to-head") as url:
        report = bench(url, *SURE, "-X", "HEAD", "--check", check)

    assert wrong_bodies - 5 <= report["counts"]["wrong_body"] <= wrong_bodies + 5
    assert report["errors"].get("wrong length", 0) == report["counts"]["wrong_body"]
    assert report["asked"]["checked"] == "status" + ", and the length that is told" * (check != "nothing")


def test_ceiling_is_above_what_was_reached() -> None:
    """The calibration must send as many requests at once as the load: its rate must be the higher one."""
    with liar("bulk") as url:
        report = bench(url, *QUICK, "--pipeline", "1000")

    assert report["rate"] < 1.01 * report["generator"]["ceiling_rate"]


def test_nobody_there() -> None:
    """If no server listens at the address, the message must say so."""
    with socket.socket() as taken:
        # A port at which nobody listens, and nobody else can either.
        taken.bind(("127.0.0.1", 0))
        done = run(f"http://127.0.0.1:{taken.getsockname()[1]}/")

    assert "Connection refused" in done.stderr
    assert 1 == done.returncode


def test_what_may_vary(serve: Servers) -> None:
    """With `--check length`, a page that shows a changing number must count as right."""
    server = serve(APPLICATION)
    report = bench(f"http://127.0.0.1:{server.port}/number", *SURE, "--check", "length")

    assert 0 == wrong(report)


def test_sample(serve: Servers) -> None:
    """With `--check sample`, some bodies but all lengths must be compared, and the report must say so."""
    words = ("-c", "8", "-n", "3200", "--warm-up", "200ms", "--check", "sample")
    server = serve(APPLICATION)
    honest = bench(f"http://127.0.0.1:{server.port}/", *words)
    with liar("wrong-object") as url:
        wrong_bytes = bench(url, *words)
    with liar("wrong-length") as url:
        wrong_lengths = bench(url, *words)

    assert (3200, 16) == (honest["counts"]["right"], honest["asked"]["sample"])
    assert 100 < honest["compared"] < 300
    assert "answers" in gates(wrong_bytes)
    assert 0 < wrong_bytes["counts"]["wrong_body"] < 100
    assert 300 < wrong_lengths["counts"]["wrong_body"] < 340


def test_find_rate() -> None:
    """A search must find the rate of a server that answers 200 requests a second and makes others wait."""
    for _ in range(ATTEMPTS):
        with liar("queued") as url:
            done = run(url, *QUICK, "--find-rate", "p90<30ms", "--json")
        found_rate = json.loads(done.stdout)
        if 150 < (found_rate["rate"] or 0) < 215:
            break

    assert [] == faults(found_rate, "bench-find")
    assert 0 < len(found_rate["steps"]) <= 2 * 16 + 4
    assert 150 < found_rate["rate"] < 215
    assert found_rate["steps"][-1]["held"]
    assert done.returncode == (1 if found_rate["invalid"] else 0)


@pytest.mark.long
def test_find_rate_of_something_else() -> None:
    """If the load itself may fail, the rate must be tried again, and the result must be invalid."""
    burn = (sys.executable, "-c", "while True: pass")
    with contextlib.ExitStack() as stack:
        with seated(frozenset({min(CPUS)})):
            url = stack.enter_context(liar("honest"))
        with seated(frozenset({max(CPUS)})):
            for _ in range(8):
                burner = stack.enter_context(subprocess.Popen(burn))
                stack.callback(burner.kill)
            quick = ("-c", "8", "-d", "200ms", "--warm-up", "50ms", "--find-rate", "p99<50us")
            done = run(url, *quick, "--json")
            told = run(url, *quick).stdout
    found_rate = json.loads(done.stdout)

    assert [] == faults(found_rate, "bench-find")
    assert {"generator", "foreign-load"} & set(found_rate["invalid"])
    assert found_rate["invalid"] == [reason["gate"] for reason in found_rate["reasons"]]
    assert any(one["rate"] == other["rate"] for one, other in itertools.pairwise(found_rate["steps"]))
    assert 1 == done.returncode
    # The reasons, in sentences, are shown in place of the result.
    _, _, end = told.rpartition("\nINVALID\n")
    assert re.search(r"^ +(generator: the generator |foreign-load: other programs )", end, re.MULTILINE)


def test_accepted() -> None:
    """Accepted foreign load must only mark the figures; the rate that a search finds is then a bound."""
    burn = (sys.executable, "-c", "while True: pass")
    accept = ("--accept", "foreign-load", "--accept", "steal")
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(liar("honest"))
        burner = stack.enter_context(subprocess.Popen(burn))
        stack.callback(burner.kill)
        report = bench(url, *QUICK, *accept)
        quick = ("-c", "8", "-d", "300ms", "--warm-up", "50ms", "--find-rate", "p99<20s", *accept)
        found_rate = json.loads(run(url, *quick, "--json").stdout)

    assert "foreign-load" in {reason["gate"] for reason in report["disturbed"]}
    assert {"foreign-load", "steal"}.isdisjoint(gates(report))
    assert [] == faults(found_rate, "bench-find")
    assert {"foreign-load", "steal"}.isdisjoint(found_rate["invalid"])
    assert any(step["disturbed"] for step in found_rate["steps"])
    # On a machine that is too busy for any rate, none is found.
    assert found_rate["disturbed"] or found_rate["rate"] is None


def test_find_rate_says_why() -> None:
    """For a rate at which answers are wrong, the search must show the reason instead of figures."""
    quick = ("-c", "8", "-d", "200ms", "--warm-up", "50ms", "--find-rate", "p99<1s")
    with liar("sorry") as url:
        done = run(url, *quick)
    lines = done.stdout.splitlines()
    tried = [line for line in lines if re.fullmatch(r" +(\d+ +INVALID +no|closed loop +INVALID +-)", line)]
    sentence = r" +answers: (\d+ of \d+ requests had|there was) no right answer"
    why = [line for line in lines if re.fullmatch(sentence, line)]

    assert len(tried) == len(why) > 0
    assert 1 == done.returncode


def test_interrupted() -> None:
    """Ctrl-C must end the measurement, with a report of the time until then."""
    with liar("asks-twice") as url:

        def is_loaded() -> bool:
            asked = http.client.HTTPConnection(urlsplit(url).netloc)
            with contextlib.closing(asked):
                asked.request("GET", "/.adyton-hits", headers={"Connection": "close"})
                return int(json.load(asked.getresponse())["hits"]) > 1000

        command = (sys.executable, "-m", "adyton", "bench", url, "-d", "10m", "--warm-up", "0", "--json")
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert until(is_loaded, 60)
            process.send_signal(signal.SIGINT)
            report = json.loads(process.stdout.read())

    assert report["seconds"] < 120
    assert report["counts"]["right"] > 0
