"""Parts that the commands written in Python share: times as people write, progress, and an early end."""

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
"""Signals that end the program: of the system, and of a terminal that is closed."""
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds(text: str) -> float:
    """Reads a time such as ``100ms``, ``2s``, ``3m`` or ``1h``, in seconds.

    Raises :class:`argparse.ArgumentTypeError` when it is not one.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h)", text)
    if found is None or float(found[1]) <= 0:
        raise argparse.ArgumentTypeError(f"{text} is no time such as 100ms, 2s or 3m")
    return float(found[1]) * _SECONDS[found[2]]


def writable(text: str) -> Path:
    """Reads the name of a file that can be written, without leaving one: no measurement is in vain.

    Raises :class:`argparse.ArgumentTypeError` when it cannot be.
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
    """Writes to standard output, or says why that failed: not where a reader has seen enough (``| head``)."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        # Python would write the rest when it ends, and fail again.
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)
        if isinstance(error, BrokenPipeError):
            return True
        sys.stderr.write(f"{program}: standard output cannot be written: {error.strerror}\n")
        return False
    return True


def has_written(path: Path, report: object, markdown: str, program: str) -> bool:
    """Writes a report in the form that the name says, or says why that failed."""
    try:
        path.write_text(dumped(report) if path.suffix == ".json" else markdown, "utf-8")
    except OSError as error:
        sys.stderr.write(f"{program}: {path} was not written: {error.strerror}\n")
        return False
    return True


def interrupt_when_ended() -> None:
    """Lets signals from outside interrupt this program, as Ctrl-C does: it ends what it has started."""
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
    """Interrupts once: a closed terminal sends several signals, and the second must not disturb the end."""
    for each in ENDS:
        signal.signal(each, signal.SIG_IGN)
    raise Ended(number)


def status_of(interruption: KeyboardInterrupt) -> int:
    """Returns the exit status of a program that was interrupted, as shells tell it: 130 after Ctrl-C."""
    return 128 + (interruption.number if isinstance(interruption, Ended) else signal.SIGINT)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Has an interruption wait until the block is over, so that what is started in it is known when it comes.

    Blocked signals would do, too, but those are blocked in what is started as well.
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
    """Returns a function that tells the user what is done now: on one line of a terminal, else nowhere."""
    shows = sys.stderr.isatty()

    def tell(text: str) -> None:
        if shows:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()

    return tell
