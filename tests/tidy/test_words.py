"""Some words have no place in any file: those for unfinished work, and paths of one machine."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tidy.sources import Source, sources

if TYPE_CHECKING:
    from collections.abc import Iterable

UNFINISHED = re.compile(r"\b(?:[T]ODO|[F]IXME|[X]XX)\b")
MACHINE = re.compile(r"(?<![\w.>~-])/(?:[w]ork|[r]oot|[h]ome|[U]sers)/")

# Put together from halves, because this file is searched, too.
MARKS = ["".join(halves) for halves in (("TO", "DO"), ("FIX", "ME"), ("X", "XX"))]
FOLDERS = [f"/{folder}/" for folder in ("work", "root", "home", "Users")]


def matches(files: Iterable[Source], pattern: re.Pattern[str]) -> list[str]:
    """Find a pattern anywhere in the files."""
    return [
        f"{file.at(match.start())}: {match[0]}" for file in files for match in pattern.finditer(file.text)
    ]


def test_marks_are_found() -> None:
    """A mark is found anywhere in a line, with the line's number; a part of a word is no mark."""
    for mark in MARKS:
        text = f"later\n# {mark}: later {mark}\n{mark}S X{mark}"

        assert [f"x:2: {mark}"] * 2 == matches([Source("x", text)], UNFINISHED)


def test_machines_are_found() -> None:
    """An absolute path of a machine is found; a path beneath another folder is not."""
    for folder in FOLDERS:
        text = f"see {folder}x or\n'{folder}x'; /proc/self{folder} https://example.org{folder} ~{folder}"

        assert [f"x:1: {folder}", f"x:2: {folder}"] == matches([Source("x", text)], MACHINE)


def test_nothing_is_left_for_later() -> None:
    """Unfinished work is in the issues, not in the files."""
    found = matches(sources(), UNFINISHED)

    assert [] == found


def test_no_machine_is_meant() -> None:
    """Files of the repository work wherever it lies."""
    found = matches(sources(), MACHINE)

    assert [] == found
