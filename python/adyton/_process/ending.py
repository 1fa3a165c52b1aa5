"""The end of a process that an application has run in."""

from __future__ import annotations

import sys
from typing import Any


def forget_children() -> None:
    """Keeps :mod:`multiprocessing` from waiting at the exit for children that are no daemons.

    Everything else that :mod:`multiprocessing` does at the exit is done: daemons are ended, finalizers run.
    """
    util = sys.modules.get("multiprocessing.util")
    process = sys.modules.get("multiprocessing.process")
    if util is None or process is None:
        return
    children: set[Any] = process._children  # noqa: SLF001
    children.difference_update([child for child in children if not child.daemon])


def end_timers() -> list[str]:
    """Ends the timers of this process (setitimer(2)); returns which signals they would have sent.

    At its exit the interpreter restores the default actions of signals: a timer that fired then would kill
    the process.
    """
    import signal

    sends = {
        signal.ITIMER_REAL: "SIGALRM",
        signal.ITIMER_VIRTUAL: "SIGVTALRM",
        signal.ITIMER_PROF: "SIGPROF",
    }
    return [name for timer, name in sends.items() if any(signal.setitimer(timer, 0))]
