"""The application of the groups in these tests: its pages wait, stream, or end their process."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import json
import os
import resource
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import adyton

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

HERE = Path(__file__).parent
FAULT = os.environ.get("FAULT_OF_DOOR" if __name__ == "own" else "FAULT", "")
"""The fault of the group to which this process belongs, or of the server's own workers."""

FILES_LEFT = 24
"""Number of descriptors that the fault `files` lets the process open after its import."""
ANSWERS = 10
"""Requests that a process answers before `eleventh` ends it."""

requests = itertools.count(1)


def fail() -> None:
    """Raise the error that a missing database would raise."""
    raise RuntimeError("the database is not there")


IMPORTS: dict[str, Callable[[], object]] = {
    "raise": fail,
    "exit": lambda: os._exit(7),
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "crash": lambda: ctypes.string_at(0),
}
"""Ways in which an import fails while the file `broken` exists."""


def import_with_fault() -> None:
    """Cause the fault that `FAULT` names, if it is one of the import."""
    if FAULT in IMPORTS and (HERE / "broken").exists():
        IMPORTS[FAULT]()
    if FAULT == "once" and not (HERE / "tried").exists():
        (HERE / "tried").touch()
        fail()
    if FAULT == "files":
        most = len(list(Path("/proc/self/fd").iterdir())) + FILES_LEFT
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Answer with the page that the last segment of the path names."""
    count = next(requests)
    if FAULT == "first" or (FAULT == "eleventh" and count > ANSWERS):
        os._exit(7)
    page = PAGES.get(environ["PATH_INFO"].rpartition("/")[2], quick)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return page(environ)


def quick(environ: dict[str, Any]) -> list[bytes]:
    """Answer with the number of this process and the length of the body."""
    return [f"{os.getpid()} {len(environ['wsgi.input'].read())}".encode()]


def gate(environ: dict[str, Any]) -> list[bytes]:
    """Wait for the file `gate`."""
    wait_for_gate()
    return quick(environ)


def stream(_environ: dict[str, Any]) -> Iterator[bytes]:
    """Yield the number of this process, and end when the file `gate` exists."""
    yield b"process %d\n" % os.getpid()
    wait_for_gate()
    yield b"the end\n"


def crash(_environ: dict[str, Any]) -> Iterator[bytes]:
    """Yield the number of this process; when the file `gate` exists, crash by reading an invalid address."""
    yield b"process %d\n" % os.getpid()
    wait_for_gate()
    yield ctypes.string_at(0)


def big(_environ: dict[str, Any]) -> Iterator[bytes]:
    """Send more bytes than the buffers of sockets hold."""
    for _ in range(128):
        yield b"x" * 65536


def sleep(_environ: dict[str, Any]) -> list[bytes]:
    """Never answer; an interruption ends it."""
    while True:
        time.sleep(0.01)


def pause(_environ: dict[str, Any]) -> list[bytes]:
    """Never answer: wait in C code that releases the interpreter and that no interruption ends."""
    ctypes.CDLL(None).pause()
    return [b"never"]


def hoard(environ: dict[str, Any]) -> list[bytes]:
    """Open all descriptors that the process may have, make a folder as a sign, and wait for `gate`."""
    taken: list[int] = []
    with contextlib.suppress(OSError):
        while True:
            taken.append(os.open(os.devnull, os.O_RDONLY))
    (HERE / "hoarded").mkdir()
    wait_for_gate()
    for number in taken:
        os.close(number)
    return quick(environ)


def place(environ: dict[str, Any]) -> list[bytes]:
    """Answer with this process's place among the workers, and with the WSGI variables about concurrency."""
    found = adyton.worker()
    assert found is not None
    told = {
        "number": found.number,
        "of": found.of,
        "generation": found.generation,
        "group": found.group,
        "multiprocess": environ["wsgi.multiprocess"],
        "multithread": environ["wsgi.multithread"],
        "main": threading.current_thread() is threading.main_thread(),
    }
    return [json.dumps(told).encode()]


def wait_for_gate() -> None:
    """Wait for the file `gate`, up to a limit."""
    deadline = time.monotonic() + 60
    while not (HERE / "gate").exists() and time.monotonic() < deadline:
        time.sleep(0.005)


PAGES: dict[str, Callable[[dict[str, Any]], Iterable[bytes]]] = {
    page.__name__: page for page in (gate, stream, crash, big, sleep, pause, hoard, place)
}

import_with_fault()
