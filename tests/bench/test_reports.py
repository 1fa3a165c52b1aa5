"""Every form of a report says the same, and scripts can go by it."""

from __future__ import annotations

import csv
import html
import json
import re
import subprocess
from typing import TYPE_CHECKING

from bench.runs import APPLICATION, QUICK, bench, liar, run
from bench.schema import faults

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Servers


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
    files = {form: tmp_path / f"report.{form}" for form in ("json", "md", "csv", "html", "hlog")}
    words = [word for file in files.values() for word in ("-o", str(file))]
    done = run(f"http://127.0.0.1:{server.port}/?a=<b>", *QUICK, *words)
    assert "" == done.stderr
    report = json.loads(files["json"].read_text())
    [row] = csv.DictReader(files["csv"].read_text().splitlines())

    assert report["asked"]["url"] == row["url"] == f"http://127.0.0.1:{server.port}/?a=<b>"
    assert str(report["counts"]["right"]) == row["right"]
    log = files["hlog"].read_text().splitlines()
    assert "#[MaxValueDivisor: 1000000.000]" in log
    assert abs(float(log[-1].split(",")[2]) - report["service"]["max_us"] / 1000) < 0.01
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
    assert (1 if report["invalid"] else 2) == dom.count("<polyline")
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
