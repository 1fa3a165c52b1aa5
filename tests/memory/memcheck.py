"""Starts servers under valgrind's memcheck, and reads what it found."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from support.server import adyton

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from xml.etree.ElementTree import Element

OUR_LIBRARY = "/adyton/_core."
INTERPRETER = "_PyEval_EvalFrameDefault"
"""The frame of the interpreter's loop: calls that the loop makes for Python code are not ours."""

ALWAYS_WRONG = {"InvalidRead", "InvalidWrite", "InvalidJump", "InvalidFree", "MismatchedFree"}
"""Errors that count whoever makes them: we may have made a reference count too low."""

MALLOC = {"PYTHONMALLOC": "malloc"}
"""Setting to allocate each object by itself: the interpreter's allocator would hide it in a pool."""

FRAMES = 40
"""Number of frames in a report: enough to reach the cause of an allocation."""


def command(report: Path, target: Path, *flags: str) -> list[str]:
    """Return the command that serves `target`; what memcheck finds goes to `report`."""
    assert shutil.which("valgrind"), "install Debian's package valgrind"
    return [
        "valgrind",
        "--leak-check=full",
        "--show-leak-kinds=definite",
        f"--num-callers={FRAMES}",
        "--xml=yes",
        f"--xml-file={report}",
        *adyton("serve"),
        str(target),
        "--bind=127.0.0.1:0",
        *flags,
    ]


def faults(report: Path, rounds: int) -> list[str]:
    """Return the faults in a report; each of `rounds` rounds made the same requests."""
    tree = ET.parse(report)  # noqa: S314 - valgrind wrote it
    found = [_told(error) for error in tree.iter("error") if _is_fault(error, rounds)]
    ends = [signal.findtext("signame", "") for signal in tree.iter("fatal_signal")]
    return found + [f"fatal signal {name}" for name in ends]


def _is_fault(error: Element, rounds: int) -> bool:
    kind = error.findtext("kind", "")
    if kind == "Leak_DefinitelyLost":
        blocks = int(error.findtext("xwhat/leakedblocks", "0"))
        return blocks >= rounds and _is_ours(error)
    return kind in ALWAYS_WRONG or _is_ours(error)


def _is_ours(error: Element) -> bool:
    """Tell whether our code, or code that it called, made the error: ours lies below all Python code."""
    for frame in error.iterfind("stack/frame"):
        if OUR_LIBRARY in frame.findtext("obj", ""):
            return True
        if frame.findtext("fn") == INTERPRETER:
            return False
    return False


def _told(error: Element) -> str:
    what = error.findtext("what") or error.findtext("xwhat/text", "")
    return "\n    ".join([what, *_frames(error)])


def _frames(error: Element) -> Iterator[str]:
    for stack in error.iterfind("stack"):
        yield "in"
        for frame in stack.iterfind("frame"):
            place = frame.findtext("obj", "").rpartition("/")[2]
            name = frame.findtext("fn", frame.findtext("ip", ""))
            yield f"{place} {name} {frame.findtext('file', '')}:{frame.findtext('line', '')}"
