"""The page of a report, in a browser, has every figure and every point of the report that it carries."""

from __future__ import annotations

import html
import itertools
import math
import re
from typing import TYPE_CHECKING, Any

import pytest

from bench.fixed import SECONDS, VALID, fixed, rendered
from bench.pages import carried, found, grouped, in_browser, rows, sides
from bench.runs import SURE, TIMES, liar, run

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from _pytest.python_api import ApproxBase

WIDTH, HEIGHT = 340, 150
"""Size of a plot between its axes."""


@pytest.mark.parametrize("name", VALID)
def test_page(tmp_path: Path, name: str) -> None:
    """The page must have all figures of the report, and no unfilled placeholder."""
    report, file = VALID[name], tmp_path / "report.html"
    file.write_text(rendered(report, "html"))
    dom = in_browser(file)
    headline = re.sub("<.*?>", "", found(r'<p class="rate">(.*?)</p>', dom))
    megabytes = report["body_bytes_per_second"] / 1e6

    assert carried(dom) == report
    assert "{{" not in dom
    assert not re.search("<b>[^<]*$|[?]<b>", dom.partition("<script")[0])
    assert identity_of(report) == found(r'<p id="identity">(.*?)</p>', dom)
    assert f"{grouped(report['rate'])} requests/s, {megabytes:.3f} MB/s of bodies" == headline
    assert times_of(report) == rows(dom, "times")
    assert urls_of(report) == rows(dom, "urls")
    assert sides_of(report) == sides(dom)
    lines = dict(re.findall('<polyline class="(.*?)" points="(.*?)"', dom))
    assert series_of(report) == points(lines["right"])
    assert curve_of(report) == points(lines["curve"])
    assert times_of_seconds(report) == {name: points(lines[name]) for name in ("p50", "p99", "max")}
    assert len(report["histogram"]) == dom.count("<rect ")
    shown = {name: html.unescape(found(f'<p id="{name}">(.*?)</p>', dom)) for name in report["run"]}
    assert report["run"] == shown


def test_labels_of_plots() -> None:
    """Each plot must be labelled: at its side both ends or decades, below it seconds, nines or times."""
    seconds, _, times, bars = re.findall(r"<svg.*?</svg>", rendered(fixed(), "html"))

    assert [("4,100", 4.0), ("0", HEIGHT + 4)] == labels(seconds, "height", "y")
    assert [("40,000", 4.0), ("0", HEIGHT + 4)] == labels(bars, "height", "y")
    decades = ["0.1", "1", "10", "100", "1,000"]
    assert decades == [text for text, _ in labels(times, "height", "y")]
    distances = [one - other for (_, one), (_, other) in itertools.pairwise(labels(times, "height", "y"))]
    assert [pytest.approx(HEIGHT / math.log10(12_345.67), abs=0.11)] * 4 == distances
    assert ["0.1", "0.2", "0.5", "1"] == [text for text, _ in labels(bars, "place", "x")]
    assert [("1 s", 0.0)] + [
        (f"{second} s", pytest.approx((second - 1) / 10 * WIDTH, abs=0.06)) for second in (2, 4, 6, 8, 10)
    ] == labels(seconds, "place", "x")
    # The last percentile below 100 has five nines.
    names = ("0", "p90", "p99", "p99.9", "p99.99", "p99.999", "max")
    assert [(name, pytest.approx(place * WIDTH / 6, abs=0.06)) for place, name in enumerate(names)] == labels(
        times, "place", "x"
    )


def test_list_of_urls() -> None:
    """A page of a list of URLs must not say that the URL of the command line was asked for."""
    page = rendered(VALID["several"], "html")

    assert "2 URLs at http://127.0.0.1:8000" == found("<h1>(.*?)</h1>", page)
    assert "<h2>By URL</h2>" in page


@pytest.mark.parametrize("checked", ["status and every byte of the body", "status"])
def test_what_was_checked(checked: str) -> None:
    """The page must name exactly the parts of the answers that were compared."""
    footer = found("<footer>(.*?)</footer>", rendered(fixed(asked={"checked": checked}), "html"))

    assert f"adyton bench 1.2.3. Checked of every answer: {checked}." in footer


def test_page_of_an_invalid_run(tmp_path: Path) -> None:
    """The page must have INVALID and each reason instead of figures, and the failures by cause."""
    file = tmp_path / "report.html"
    with liar("cut-short") as url:
        run(url, *SURE, "-o", str(file))
    dom = in_browser(file)
    report = carried(dom)
    why = re.findall(r"<li>(.*?)</li>", found(r'<ul class="bad">(.*?)</ul>', dom))

    assert '<b id="rate">INVALID</b>' == found(r'<p class="rate bad">(.*?)</p>', dom)
    assert [reason["why"] for reason in report["invalid"]] == [html.unescape(each) for each in why] != []
    assert identity_of(report) == found(r'<p id="identity">(.*?)</p>', dom)
    assert (
        [("error", f"{cause}: {count}") for cause, count in report["errors"].items()] == sides(dom)[:-1] != []
    )
    assert ("oldest", f"the oldest was {report['oldest_ms']} ms old") == sides(dom)[-1]
    assert ([], 0) == (rows(dom, "times"), dom.count("<polyline"))


def ms(time_us: float) -> str:
    """Return a time in the form that pages have."""
    return f"{time_us / 1000:,.3f}"


def times_of(report: dict[str, Any]) -> list[list[str]]:
    """Return the table of times that the page of a valid report should have."""
    shown = {
        "response": report["response"],
        "service": report["service"],
        "first byte": report["first_byte"],
        "connect": report["connect"],
        "connect before": None if report["connect"] else report["connect_before"],
    }
    kinds = {name: times for name, times in shown.items() if times}
    figures = [[name, *(ms(times[field]) for times in kinds.values())] for name, field in TIMES.items()]
    return [["ms", *kinds], *figures]


def urls_of(report: dict[str, Any]) -> list[list[str]]:
    """Return the table of URLs that the page should have."""
    titles = [["weight", "sent", "right", "wrong", "p50 ms", "p99 ms", "URL"]] if report["urls"] else []
    return titles + [
        [
            *(str(url[name]) for name in ("weight", "sent", "right", "wrong")),
            *(ms(url["times"][name]) for name in ("p50_us", "p99_us")),
            f"{url['method']} {url['url'].removeprefix('http://127.0.0.1:8000')}",
        ]
        for url in report["urls"]
    ]


def identity_of(report: dict[str, Any]) -> str:
    """Return the sentence in which the counts add up."""
    names = ("right", "wrong_status", "wrong_body", "connection_error", "timeout", "in_flight")
    outcomes = " + ".join(f"{name.replace('_', ' ')} {report['counts'][name]}" for name in names)
    return f"sent {report['counts']['sent']} = {outcomes}"


def sides_of(report: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what should stand below the counts of a valid report."""
    server, generator, fair, hits = (report[name] for name in ("server", "generator", "fairness", "hits"))
    out = {
        "server": f"{server['cpu_us_per_request']:.2f} us of CPU a request, {server['cpus']:.2f} CPUs, "
        f"{server['pss_bytes'] / 2**20:.1f} MiB (PSS) in 1 process",
        "generator": f"{100 * generator['busy']:.0f} % busy, "
        f"waited for a CPU for {100 * generator['waiting']:.0f} % of the time; "
        f"its ceiling is {grouped(generator['ceiling_rate'])} requests/s",
        "fairness": f"{fair['min']} to {fair['max']} answers a connection, median {fair['median']} "
        f"(Jain's index {fair['jain']:.3f})",
    }
    if report["in_time"] is not None:
        right, deadline_ms = report["counts"]["right"], report["asked"]["deadline_ms"]
        out["in time"] = f"{report['in_time']} of {right} right answers within {deadline_ms} ms"
    if hits:
        out["hits"] = (
            f"{hits['seen']} requests seen by {hits['processes']} processes of the application, "
            f"for {hits['right']} right answers to {hits['sent']} requests, warm-up included"
        )
    return [*out.items(), *((side["kind"], slow(side)) for side in report["slow"])]


def slow(side: dict[str, Any]) -> str:
    """Return the text about slow clients that should stand below the counts."""
    counts = side["counts"]
    after = [
        f"{counts[name]} {word} (after {ms(times['min_us'])} to {ms(times['max_us'])} ms)"
        for name, word, times in (
            ("right", "right", side["right_times"]),
            ("cut_off", "cut off", side["cut_off_times"]),
        )
    ]
    return (
        f"{side['clients']} slow ones, {side['bytes_per_second']} bytes/s: "
        f"{after[0]}, {counts['wrong']} wrong, {after[1]}, {counts['not_connected']} not connected, "
        f"{counts['under_way']} under way (up to {side['oldest_ms']} ms old)"
    )


def points(line: str) -> list[float]:
    """Return the coordinates of a line's points, one after the other."""
    return [float(coordinate) for pair in line.split() for coordinate in pair.split(",")]


def line_of(pairs: Iterable[tuple[float, float]]) -> ApproxBase:
    """Return the coordinates, within rounding, of a line that should go through points from 0 to 1."""
    flat = [each for x, y in pairs for each in (x * WIDTH, HEIGHT - y * HEIGHT)]
    return pytest.approx(flat, abs=0.051)


def series_of(report: dict[str, Any]) -> ApproxBase:
    """Return the points of the whole seconds."""
    assert SECONDS == [second["right"] for second in report["series"]]
    whole = SECONDS[: int(report["seconds"])]
    return line_of((second / (len(whole) - 1), right / max(whole)) for second, right in enumerate(whole))


def curve_of(report: dict[str, Any]) -> ApproxBase:
    """Return the points of all percentiles: all nines are equally wide, the longest time is at the end."""
    most = max(time_us for _, time_us in report["curve"])
    end = math.floor(max(nines(percent) for percent, _ in report["curve"] if percent < 100)) + 1
    places = [min(1.0, nines(percent) / end) if percent < 100 else 1.0 for percent, _ in report["curve"]]
    low = 10 ** math.floor(math.log10(min(time_us for _, time_us in report["curve"])))
    return line_of(zip(places, (height(time_us, low, most) for _, time_us in report["curve"]), strict=True))


def height(time_us: float, low: float, most: float) -> float:
    """Return the height of a time on an axis on which all decades are equally high."""
    return math.log10(time_us / low) / math.log10(most / low)


def times_of_seconds(report: dict[str, Any]) -> dict[str, ApproxBase]:
    """Return the points of the times of the whole seconds."""
    whole = report["series"][: int(report["seconds"])]
    times = {name: [second[f"{name}_us"] for second in whole] for name in ("p50", "p99", "max")}
    low, most = 10.0, max(times["max"])
    return {
        name: line_of((place / (len(whole) - 1), height(each, low, most)) for place, each in enumerate(of))
        for name, of in times.items()
    }


def nines(percent: float) -> float:
    """Return how many nines a percentile has: two for p99."""
    return -math.log10(1 - percent / 100)


def labels(svg: str, kind: str, axis: str) -> list[tuple[str, float]]:
    """Return the texts of a plot, each with its place along an axis."""
    texts = re.findall(rf'<text class="{kind}" x="(.*?)" y="(.*?)">(.*?)</text>', svg)
    return [(text, float(x if axis == "x" else y)) for x, y, text in texts]
