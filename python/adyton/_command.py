"""What the commands that are written in Python share: times as people write them, and a line of progress."""

from __future__ import annotations

import argparse
import re
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds(text: str) -> float:
    """Reads a time such as ``100ms``, ``2s``, ``3m`` or ``1h``, in seconds.

    Raises :class:`argparse.ArgumentTypeError` when it is none.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h)", text)
    if found is None or float(found[1]) <= 0:
        raise argparse.ArgumentTypeError(f"{text} is no time such as 100ms, 2s or 3m")
    return float(found[1]) * _SECONDS[found[2]]


def progress() -> Callable[[str], None]:
    """Returns what tells the user what is done at the moment: on one line of a terminal, else nowhere."""
    shows = sys.stderr.isatty()

    def tell(text: str) -> None:
        if shows:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()

    return tell
