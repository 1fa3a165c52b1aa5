"""Slow clients are apart from the load: their answers are checked, and their outcomes are reported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bench.runs import APPLICATION, NOISE, bench, gates, liar, run, wrong

if TYPE_CHECKING:
    from support.server import Servers

RATE = 400
REQUEST_BYTES = len("GET / HTTP/1.1\r\nHost: 127.0.0.1:10000\r\nUser-Agent: adyton-bench/0\r\n\r\n")
FEW = ("-c", "2", "--warm-up", "200ms")
LONG = (*FEW, "-d", "4s")
"""Long enough that slow clients come to an end although the machine stands still for two seconds."""
SLOW = ("--slow-readers", "3", "--slow-senders", "3", "--slow-rate", str(RATE))


UPLOAD = ("--data", "x" * 60, "--slow-uploads", "3", "--slow-rate", str(RATE))


def sides(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the results of the slow clients of each kind; their counts must add up."""
    for side in report["slow"]:
        counts = side["counts"]
        assert counts["begun"] == sum(number for name, number in counts.items() if name != "begun")
        assert counts["right"] == side["right_times"]["count"]
        assert counts["cut_off"] == side["cut_off_times"]["count"]
    assert [side["kind"] for side in report["slow"]] in (["readers", "senders"], ["uploads"])
    return list(report["slow"])


@pytest.mark.parametrize("words", [LONG, (*LONG, "--rate", "500"), (*FEW, "-n", "2000")])
def test_right(serve: Servers, words: tuple[str, ...]) -> None:
    """A slow client must get the right answer, though late, and must be in none of the load's figures."""
    server = serve(APPLICATION)
    report = bench(f"http://127.0.0.1:{server.port}/say/hello", *words, *SLOW)
    readers, senders = sides(report)

    assert set() == gates(report) - NOISE - ({"late"} if "--rate" in words else set())
    assert 0 == wrong(report) == sum(side["counts"]["wrong"] for side in (readers, senders))
    assert 0 == sum(side["counts"]["cut_off"] for side in (readers, senders))
    assert 5 * report["counts"]["right"] == report["body_bytes"]
    if "-n" not in words:
        head_bytes = report["asked"]["answer_head_bytes"]
        assert min(readers["counts"]["right"], senders["counts"]["right"]) > 0
        assert readers["right_times"]["min_us"] > 0.9e6 * head_bytes / RATE
        assert senders["right_times"]["min_us"] > 0.9e6 * (REQUEST_BYTES - 10) / RATE
        assert report["service"]["p50_us"] < senders["right_times"]["min_us"]


def test_cut_off(serve: Servers) -> None:
    """If a server gives slow senders up, the run must be valid, and the report must tell when it did so."""
    server = serve(APPLICATION, "--header-timeout", "200ms")
    report = bench(f"http://127.0.0.1:{server.port}/sleep", *LONG, "--slow-senders", "3", "--slow-rate", "20")
    [senders] = report["slow"]

    assert set() == gates(report) - NOISE
    assert (0, 0) == (senders["counts"]["right"], senders["counts"]["wrong"])
    assert senders["counts"]["cut_off"] > 0
    assert senders["cut_off_times"]["min_us"] > 150_000


def test_wrong() -> None:
    """An answer to a slow client that is not right makes the run invalid."""
    with liar("snubs-slow") as url:
        report = bench(url, *LONG, "--rate", "100", *SLOW)
    readers, senders = sides(report)

    assert "answers" in gates(report)
    assert 0 == wrong(report) == readers["counts"]["wrong"]
    assert senders["counts"]["wrong"] > 0


def test_uploads(serve: Servers) -> None:
    """An upload sends its head at once and its body slowly, so a limit on heads must not cut it off."""
    server = serve(APPLICATION, "--header-timeout", "100ms")
    report = bench(f"http://127.0.0.1:{server.port}/sleep", *LONG, *UPLOAD)
    [uploads] = sides(report)

    assert set() == gates(report) - NOISE
    assert (0, 0) == (uploads["counts"]["wrong"], uploads["counts"]["cut_off"])
    assert uploads["counts"]["right"] > 0
    assert uploads["right_times"]["min_us"] > 0.9e6 * (60 - 10) / RATE


def test_uploads_without_a_body() -> None:
    """Slow uploads without a body must be refused."""
    done = run("http://127.0.0.1:1/", "--slow-uploads", "1")

    assert 2 == done.returncode
    assert "slow uploads need a body to send: give one with --data or --form" in done.stderr


def test_memory_is_that_with_open_connections() -> None:
    """The server's memory must be read while connections are open, to include what it keeps for them."""
    with liar("holds") as url:
        report = bench(url, "-c", "32", "-d", "1s", "--warm-up", "200ms")

    assert report["server"]["pss_bytes"] > 32 * (2 << 20)
