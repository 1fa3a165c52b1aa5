"""Parts that the commands written in Python share: times as people write them, progress, and an early end."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

ENDS = (signal.SIGTERM, signal.SIGHUP)
"""Signals that end the program: SIGTERM from the system, SIGHUP from a terminal that is closed."""
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds(text: str) -> float:
    """Reads a time such as ``100ms``, ``2s``, ``3m`` or ``1h``, in seconds.

    Raises :class:`argparse.ArgumentTypeError` when the text is no time.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h)", text)
    if found is None or float(found[1]) <= 0:
        raise argparse.ArgumentTypeError(f"{text} is no time such as 100ms, 2s or 3m")
    return float(found[1]) * _SECONDS[found[2]]


def writable(text: str) -> Path:
    """Reads the name of a file, and checks that it can be written before anything is measured.

    Leaves no file behind. Raises :class:`argparse.ArgumentTypeError` when the file cannot be written.
    """
    path = Path(text)
    exists = path.exists()
    if path.is_dir() or not os.access(path if exists else path.parent, os.W_OK):
        raise argparse.ArgumentTypeError(f"{text} cannot be written")
    return path


def dumped(report: object) -> str:
    """Returns a report as JSON, as it stands on standard output and in files."""
    return json.dumps(report, indent=1) + "\n"


def has_shown(text: str, program: str) -> bool:
    """Writes to standard output; says why if that fails, unless the reader has closed (``| head``)."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        # Python would try to write the buffered rest at its exit, and fail again.
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)
        if isinstance(error, BrokenPipeError):
            return True
        sys.stderr.write(f"{program}: standard output cannot be written: {error.strerror}\n")
        return False
    return True


def has_written(path: Path, report: object, markdown: str, program: str) -> bool:
    """Writes a report in the form that the name of the file asks for, or says why that failed."""
    try:
        path.write_text(dumped(report) if path.suffix == ".json" else markdown, "utf-8")
    except OSError as error:
        sys.stderr.write(f"{program}: {path} was not written: {error.strerror}\n")
        return False
    return True


def interrupt_when_ended() -> None:
    """Lets signals interrupt this program as Ctrl-C does, so that it ends the programs it started."""
    for number in ENDS:
        # A program under `nohup` goes on ignoring this signal.
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, interrupt)


class Ended(KeyboardInterrupt):
    """Raised when a signal ends the program."""

    def __init__(self, number: int) -> None:
        """Remembers the signal's number."""
        super().__init__()
        self.number = number


def interrupt(number: int, _frame: FrameType | None) -> None:
    """Interrupts once: a closed terminal sends several signals, and only the first must interrupt."""
    for each in ENDS:
        signal.signal(each, signal.SIG_IGN)
    raise Ended(number)


def status_of(interruption: KeyboardInterrupt) -> int:
    """Returns the exit status of an interrupted program, in the form that shells use: 130 after Ctrl-C."""
    return 128 + (interruption.number if isinstance(interruption, Ended) else signal.SIGINT)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Delays an interruption to the end of the block, so that every program started in the block is known.

    Blocked signals would also be delayed, but a program that is started would inherit the blocked signals.
    """
    came: list[int] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, *ENDS)}
    held = {number: handler for number, handler in before.items() if callable(handler)}
    for number in held:
        signal.signal(number, lambda number, _frame: came.append(number))
    try:
        yield
    finally:
        for number, handler in held.items():
            signal.signal(number, handler)
        for each in came:
            signal.raise_signal(each)


def progress() -> Callable[[str], None]:
    """Returns a function that shows the current step on one line of a terminal, if there is one."""
    shows = sys.stderr.isatty()

    def tell(text: str) -> None:
        if shows:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()

    return tell
