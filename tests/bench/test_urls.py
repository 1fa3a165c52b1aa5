"""Several URLs are drawn by weight, and each has its own right answer and its own figures."""

from __future__ import annotations

import html
import json
import re
from typing import TYPE_CHECKING

import pytest

from bench.runs import APPLICATION, NOISE, SURE, bench, gates, liar, run, wrong

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Servers

LIST = """# weights are shares of ten
6 /say/six
3 POST /say/three  # with the body
HEAD /say/one
"""
NEEDED = {"p50_us": 6, "p99_us": 300}
"""Number of measured times that each figure needs before it is told."""
SHARES = {"GET": 0.6, "POST": 0.3, "HEAD": 0.1}


@pytest.fixture
def urls(tmp_path: Path) -> Path:
    """Write the list to a file."""
    file = tmp_path / "urls.txt"
    file.write_text(LIST)
    return file


@pytest.mark.parametrize(
    "words", [(), ("-t", "2"), ("-k=off",), ("--rate", "800"), ("--check", "length"), ("--data", "a=b")]
)
def test_shares(serve: Servers, urls: Path, words: tuple[str, ...]) -> None:
    """Each URL must get its share and its own answers, and the sums must be those of the whole run."""
    server = serve(APPLICATION)
    report = bench(f"http://127.0.0.1:{server.port}/", *SURE, "-X", "GET", "--urls", str(urls), *words)
    counts, by_url = report["counts"], report["urls"]

    assert set() == gates(report) - NOISE - ({"late"} if "--rate" in words else set())
    assert 0 == wrong(report)
    assert ["six", "three", "one"] == [url["url"].rpartition("/")[2] for url in by_url]
    for name in ("sent", "right"):
        assert counts[name] == sum(url[name] for url in by_url)
    for url in by_url:
        assert abs(url["sent"] / counts["sent"] - SHARES[url["method"]]) < 0.1
        assert url["times"]["count"] == url["right"] > 0
    assert sum(url["right"] * url["answer_body_bytes"] for url in by_url) == report["body_bytes"]


def test_seed(serve: Servers, urls: Path) -> None:
    """One seed always draws the same URLs, however long the warm-up is; another seed draws others."""
    url = f"http://127.0.0.1:{serve(APPLICATION).port}/"
    drawn = []
    for seed, warm_up in (("7", "0"), ("7", "200ms"), ("8", "0")):
        report = bench(url, "-n", "500", "--warm-up", warm_up, "--seed", seed, "--urls", str(urls))
        assert int(seed) == report["asked"]["seed"]
        drawn.append([url["sent"] for url in report["urls"]])

    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]


def test_mixed_up(tmp_path: Path) -> None:
    """The right answer to another request must count as wrong, for the URL that got it."""
    file = tmp_path / "urls.txt"
    file.write_text("/\n/others\n")
    with liar("mixes-up") as url:
        report = bench(url, *SURE, "--urls", str(file))

    assert "answers" in gates(report)
    assert [0, report["counts"]["wrong_body"]] == [url["wrong"] for url in report["urls"]]
    assert report["counts"]["wrong_body"] > 0


def test_forms(serve: Servers, urls: Path, tmp_path: Path) -> None:
    """Table, Markdown and page have a row for each URL."""
    url = f"http://127.0.0.1:{serve(APPLICATION).port}"
    files = {form: tmp_path / f"report.{form}" for form in ("json", "md", "html")}
    words = [word for file in files.values() for word in ("-o", str(file))]
    done = run(url, *SURE, "-n", "1000", "--urls", str(urls), *words)
    report = json.loads(files["json"].read_text())
    [table] = re.findall(r'<table id="urls">.*?</table>', files["html"].read_text())
    for of in report["urls"]:
        name = f"{of['method']} {of['url'].removeprefix(url)}"
        cells = [str(of[column]) for column in ("weight", "sent", "right", "wrong")]
        if not report["invalid"]:
            cells += [
                f"{of['times'][column] / 1000:.3f}" if of["times"]["count"] >= needed else "-"
                for column, needed in NEEDED.items()
            ]

        assert [*cells, *name.split()] in [line.split() for line in done.stdout.splitlines()]
        assert f"| {' | '.join(cells)} |" in files["md"].read_text()
        assert f"<td>{html.escape(name)}</td>" in table


@pytest.mark.parametrize(
    ("text", "words", "sentence"),
    [
        ("/\nhttp://127.0.0.1:2/\n", (), "line 2: http://127.0.0.1:2/ is on another server"),
        ("x /\n", (), "line 1: write [WEIGHT] [METHOD] URL"),
        ("/\n/a\n", ("--pipeline", "2"), "leave --pipeline out"),
        ("/\n", ("--expect-body", "/dev/null"), "those of their first answers"),
    ],
)
def test_wrong_lists(tmp_path: Path, text: str, words: tuple[str, ...], sentence: str) -> None:
    """A list with a mistake is refused, with the line, before anything is tried."""
    file = tmp_path / "urls.txt"
    file.write_text(text)
    done = run("http://127.0.0.1:1/", "--urls", str(file), *words)

    assert sentence in done.stderr
    assert (2, "") == (done.returncode, done.stdout)
