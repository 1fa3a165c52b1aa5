"""Table, Markdown, CSV and the log of times must say the same as the report."""

from __future__ import annotations

import base64
import csv
import itertools
import re
import struct
import zlib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bench.fixed import NEW, OPEN, SEVERAL, SLOW, VALID, fixed, rendered
from bench.runs import APPLICATION, SURE, TIMES, bench, run

if TYPE_CHECKING:
    from support.server import Servers

GUIDE = Path(__file__).parents[2] / "docs" / "bench.md"
WHY = (
    "for 1012 ms there was no right answer, and nine of ten take less than 24 ms, and whoever reads "
    "this far has a terminal that is wider than 80 columns, or one that is narrower"
)
INVALID = fixed(invalid=[{"gate": "steady", "why": WHY}])


@pytest.mark.parametrize("columns", [80, 66])
@pytest.mark.parametrize("name", [*VALID, "invalid"])
def test_lines_of_the_table_fit(name: str, columns: int) -> None:
    """No line is longer than the terminal is wide, and no word is lost."""
    report = VALID.get(name, INVALID)
    narrow, wide = (rendered(report, "table", str(width)) for width in (columns, 1000))

    assert max(map(len, narrow.splitlines())) <= columns
    assert Counter(wide.split()) == Counter(narrow.split())
    assert max(map(len, wide.splitlines())) > columns


def test_disturbed() -> None:
    """Figures that other programs have disturbed must be shown in every form, with a mark."""
    why = "other programs kept 0.30 CPUs busy"
    report = fixed(disturbed=[{"gate": "foreign-load", "why": why}])
    table = rendered(report, "table", "80").splitlines()
    page, marked = rendered(report, "html"), rendered(report, "md").splitlines()
    [row] = csv.DictReader(rendered(report, "csv").splitlines())

    assert "requests/s  4,129 DISTURBED" in table
    assert f"DISTURBED   {why}" in table
    assert "**4,129 requests/s** (DISTURBED), 0.050 MB/s of bodies" in marked
    assert f"- **DISTURBED**: {why}" in marked
    assert '<b class="bad mark">DISTURBED</b>' in page
    assert f"<b>DISTURBED</b>: {why}</p>" in page
    assert ("foreign-load", "", "4129.304") == (row["disturbed"], row["invalid"], row["requests_per_second"])
    assert not any("DISTURBED" in rendered(fixed(), *form) for form in (("table", "80"), ("md",), ("html",)))


def test_points_line_up() -> None:
    """Each kind of times must have a column, with all decimal points below one another."""
    _, _, table = rendered(OPEN, "table", "80").partition("\nms ")
    head, *lines = table.partition("\n\n")[0].splitlines()
    cells = [line.split() for line in lines]

    assert ["response", "service", "first byte", "connect before"] == re.split(" {2,}", head.strip())
    assert [
        [name, *(f"{times[field] / 1000:,.3f}" for times in kinds_of(OPEN))] for name, field in TIMES.items()
    ] == cells
    assert 1 == len({tuple(at.start() for at in re.finditer(r"\.\d{3}\b", line)) for line in lines})
    assert 1 == len({len(line) for line in lines})


def kinds_of(report: dict[str, Any]) -> list[dict[str, float]]:
    """Return the times that a report has, in the order of the table."""
    kinds = ("response", "service", "first_byte", "connect_before")
    return [report[kind] for kind in kinds if report[kind]]


def test_urls_beside_numbers() -> None:
    """Each URL of a list must stand beside its numbers, or below them if there is no room."""
    wide, narrow = (rendered(SEVERAL, "table", width).splitlines() for width in ("80", "50"))

    assert "2 URLs at http://127.0.0.1:8000: drawn by weight, seed 7; checked: status and" == wide[0]
    [head] = [line for line in wide if line.startswith("weight")]
    [row] = [line for line in wide if line.endswith("  POST /c`d|e")]
    assert ["1", "11880", "11876", "0", "1.201"] == row.split()[:5]
    assert head.index("URL") == row.index("POST")
    assert "    POST /c`d|e" in narrow


def test_backticks_in_markdown() -> None:
    """A URL must not end a code span or a cell of a table."""
    lines = rendered(SEVERAL, "md").splitlines()

    assert "### 2 URLs at `http://127.0.0.1:8000`" == lines[0]
    [row] = [line for line in lines if "c`d" in line]
    assert row.endswith(r" | ``POST /c`d\|e`` |")
    title = rendered(fixed(asked={"url": "http://h/a`b``"}), "md").splitlines()[0]
    assert "### GET ``` http://h/a`b`` ```" == title


@pytest.mark.parametrize("name", VALID)
def test_csv(name: str) -> None:
    """The CSV has a row for the run, and one for each URL, with the figures of the report."""
    report = VALID[name]
    run_row, *urls = csv.DictReader(rendered(report, "csv").splitlines())

    assert figures_of(report).items() <= run_row.items()
    assert [url_of(url) for url in report["urls"]] == [
        {name: cell for name, cell in url.items() if cell != ""} for url in urls
    ]
    for side in report["slow"]:
        named = {f"slow_{side['kind']}_{name}": str(count) for name, count in side["counts"].items()}
        del named[f"slow_{side['kind']}_begun"]
        assert named.items() <= run_row.items()


def figures_of(report: dict[str, Any]) -> dict[str, str]:
    """Return the cells that the row of a valid run should have."""
    asked, generator, fair, server = (report[name] for name in ("asked", "generator", "fairness", "server"))
    numbers = {
        "requests_per_second": report["rate"],
        "body_bytes_per_second": report["body_bytes_per_second"],
        "generator_busy_percent": 100 * generator["busy"],
        "generator_waiting_percent": 100 * generator["waiting"],
        "generator_ceiling_requests_per_second": generator["ceiling_rate"],
        "fairness_jain": fair["jain"],
        "server_cpu_us_per_request": server["cpu_us_per_request"],
        "server_cpus": server["cpus"],
        **times_of("", report["response"] or report["service"]),
        **times_of("first_byte_", report["first_byte"]),
        **times_of("connect_", report["connect"] or {}),
    }
    words = {
        "row": "run",
        "url": asked["url"],
        "method": "" if report["urls"] else asked["method"],
        "load": asked["load"],
        "offered_requests_per_second": asked["rate"],
        "deadline_ms": asked["deadline_ms"],
        "in_time": report["in_time"],
        "server_pss_bytes": server["pss_bytes"],
        **{f"fairness_{name}": fair[name] for name in ("min", "median", "max")},
        **report["counts"],
    }
    shown = {
        name: "" if word is None else f"{word:.0f}" if isinstance(word, float) else str(word)
        for name, word in words.items()
    }
    return shown | {name: f"{number:.3f}" for name, number in numbers.items()}


def times_of(part: str, latency: dict[str, float]) -> dict[str, float]:
    """Return times by the names of their columns."""
    return {f"{part}{field}": latency[field] for field in TIMES.values() if latency}


def url_of(url: dict[str, Any]) -> dict[str, str]:
    """Return the cells that the row of a URL should have."""
    names = ("url", "method", "weight", "sent", "right", "wrong")
    times = {name: f"{time:.3f}" for name, time in times_of("", url["times"]).items()}
    return {"row": "url"} | {name: str(url[name]) for name in names} | times


def test_columns_of_the_csv() -> None:
    """The guide must name exactly the columns that the CSV has, with their units."""
    _, _, section = GUIDE.read_text("utf-8").partition("\n### CSV\n")
    cells = re.findall(r"^\| (`.*?) \|", section.partition("\n#")[0], re.MULTILINE)
    told = re.findall(r"`(\w+)`", "".join(cells))
    times = [name for name in told if name in TIMES.values()]
    told += [f"{part}_{name}" for part in ("first_byte", "connect") for name in times]
    [names, *_] = csv.reader(rendered(SLOW, "csv").splitlines())

    assert sorted(names) == sorted(told)


def test_no_figures_in_the_csv_of_an_invalid_run() -> None:
    """The CSV has counts beside the gates that have failed, and no figures."""
    [row] = csv.DictReader(rendered(INVALID | {"in_time": 3, "connect": NEW["connect"]}, "csv").splitlines())
    known = {name for name, cell in row.items() if cell != ""}
    asked = {"row", "url", "method", "connections", "load", "seconds", "interrupted"}

    assert "steady" == row["invalid"]
    assert known == asked | {"invalid", "wrong"} | INVALID["counts"].keys()


def test_log_of_times(serve: Servers, tmp_path: Path) -> None:
    """The histogram in the log has the times of the report."""
    url, file = f"http://127.0.0.1:{serve(APPLICATION).port}/uneven", tmp_path / "times.hlog"
    report = bench(url, *SURE, "-o", str(file))
    times = report["service"]
    counts = decoded(file.read_text().splitlines()[-1].split(",")[3])
    ranked = list(itertools.accumulate(counts.values()))

    def at(percentile: float) -> float:
        """Return the time that so many of a hundred do not exceed, in microseconds."""
        wanted = percentile / 100 * ranked[-1]
        return next(ns for ns, rank in zip(counts, ranked, strict=True) if rank >= wanted) / 1000

    assert times["count"] == ranked[-1] == report["counts"]["right"]
    assert [times[name] for name in ("p50_us", "p99_us", "max_us")] == [
        pytest.approx(at(percentile), rel=0.002) for percentile in (50, 99, 100)
    ]


def decoded(text: str) -> dict[int, int]:
    """Return the count of each time in nanoseconds, from text that HdrHistogram writes (V2, deflated)."""
    packed = base64.b64decode(text)
    assert 0x1C849304 == struct.unpack_from(">I", packed)[0] & ~0xF0
    plain = zlib.decompress(packed[8:])
    cookie, length, _, digits, lowest = struct.unpack_from(">IIIIQ", plain)
    assert (0x1C849303, 3, 1) == (cookie & ~0xF0, digits, lowest)
    counts, index = {}, 0
    for number in zigzag(plain[40 : 40 + length]):
        if number < 0:  # This many places have no count.
            index -= number
            continue
        # 2,048 times of a nanosecond, then 1,024 of two, of four, and so on.
        doublings = max(0, (index >> 10) - 1)
        counts[((index - (doublings << 10)) << doublings) + (1 << doublings) - 1] = number
        index += 1
    return counts


def zigzag(data: bytes) -> list[int]:
    """Return numbers that are written in groups of seven bits, the lowest first (ZigZag LEB128)."""
    numbers, number, shift = [], 0, 0
    for byte in data:
        last = shift == 56  # The ninth byte has eight bits.
        number |= (byte if last else byte & 0x7F) << shift
        shift += 7
        if last or byte < 0x80:
            numbers.append(number >> 1 ^ -(number & 1))
            number = shift = 0
    return numbers


def test_width_without_a_terminal(serve: Servers) -> None:
    """Without a terminal, lines must fit into 80 columns."""
    done = run(f"http://127.0.0.1:{serve(APPLICATION).port}/", *SURE)

    assert max(map(len, done.stdout.splitlines())) <= 80
