"""The application that the workers of these tests serve: its pages name the worker, or make it fail."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import adyton

if TYPE_CHECKING:
    from collections.abc import Callable

OBEYED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM)

VERSION = os.environ.get("VERSION", "1")


def who() -> str:
    """Return the process's number, its place, and its version of the application."""
    place = adyton.worker()
    assert place is not None
    return f"{os.getpid()} {place.number} {place.of} {place.generation} {VERSION}"


def segfault() -> str:
    """Read from address 0, which is not mapped."""
    return str(ctypes.string_at(0))


def leave() -> str:
    """End the process without a word."""
    os._exit(7)


def hold() -> str:
    """Keep the interpreter for ever: `PyDLL` calls do not release it."""
    ctypes.PyDLL(None).pause()
    return "never"


def deadlock() -> str:
    """Wait for a lock that is never released."""
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()
    return "never"


def allocate() -> str:
    """Ask for more memory than any limit allows."""
    try:
        return str(len(bytearray(4 << 30)))
    except MemoryError:
        return "MemoryError"


def grow() -> str:
    """Keep some memory for ever."""
    kept.append(bytearray(b"x" * (64 << 20)))
    return str(len(kept))


def wait() -> str:
    """Take a moment."""
    time.sleep(0.2)
    return "waited"


def gate() -> str:
    """Wait until the file that `GATE` names exists."""
    deadline = time.monotonic() + 60
    while not Path(os.environ["GATE"]).exists() and time.monotonic() < deadline:
        time.sleep(0.005)
    return "passed"


def spin() -> str:
    """Use a CPU for a moment."""
    until = time.thread_time() + 0.3
    while time.thread_time() < until:
        pass
    return "spun"


def masks() -> str:
    """Start a program; return the signals that it blocks or ignores, except the C library's own (nptl(7))."""
    status = subprocess.run(["cat", "/proc/self/status"], capture_output=True, text=True, check=True).stdout  # noqa: S607
    fields = dict(line.split(":") for line in status.splitlines() if line.startswith(("SigBlk", "SigIgn")))
    kept = int(fields["SigBlk"], 16) | int(fields["SigIgn"], 16)
    return " ".join(number.name for number in signal.Signals if number < 32 and kept >> number - 1 & 1)


def signals() -> str:
    """Start a program for each signal that a server obeys; return the signals that ended their programs."""
    ended = []
    for number in OBEYED:
        with subprocess.Popen(["sleep", "10"]) as program:  # noqa: S607
            program.send_signal(number)
            ended.append(-program.wait())
    return " ".join(signal.Signals(number).name for number in ended)


kept: list[bytearray] = []

PAGES: dict[str, Callable[[], str]] = {
    page.__name__: page
    for page in (who, segfault, leave, hold, deadlock, allocate, grow, wait, gate, spin, masks, signals)
}


def handler(request: adyton.Request) -> str:
    """Answer `/NAME` with the result of the function of that name."""
    return PAGES[request.path.removeprefix("/")]()


if os.environ.get("BROKEN"):
    sys.exit("this version is broken")
