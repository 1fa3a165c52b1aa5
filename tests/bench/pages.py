"""Looks at pages of `adyton bench` in a browser."""

from __future__ import annotations

import html
import json
import re
import subprocess
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


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
    """Return the cells of a table of a page; none if the page lacks the table."""
    inner = re.search(rf'<table id="{table}">(.*?)</table>', dom, re.DOTALL)
    each = re.findall(r"<tr>(.*?)</tr>", inner.group(1), re.DOTALL) if inner else []
    return [[html.unescape(cell) for cell in re.findall(r"<t[hd]>(.*?)</t[hd]>", row)] for row in each]


def sides(dom: str) -> list[tuple[str, str]]:
    """Return the texts below the counts, each with its name."""
    return [(name, html.unescape(text)) for name, text in re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", dom)]


def found(pattern: str, text: str) -> str:
    """Return the text that the pattern's group matches."""
    match = re.search(pattern, text, re.DOTALL)
    assert match is not None, pattern
    return match.group(1)


def grouped(number: float) -> str:
    """Return a number as reports write it: in groups of three digits, one digit behind the point if small."""
    return f"{number:.1f}" if number < 1000 else f"{number:,.0f}"
