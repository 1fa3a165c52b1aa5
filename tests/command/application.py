"""An application for the command's tests: it can wait, and tells where it runs."""

from __future__ import annotations

import ctypes
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from wsgiref.types import StartResponse, WSGIEnvironment

PLAIN = [("Content-Type", "text/plain; charset=utf-8")]


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answer in the way that the path names."""
    path, query = environ["PATH_INFO"], environ["QUERY_STRING"]
    start_response("200 OK", PLAIN)
    if path == "/wait":
        wait(query)
        return [b"waited"]
    if path == "/hold":
        hold(query)
    if path == "/pour":
        return (b"x" * 65536 for _ in range(int(query)))
    if path == "/wait-midway":
        return wait_midway(query)
    if path == "/where":
        told = {
            "cwd": str(Path.cwd()),
            "path": sys.path,
            "env": os.environ.get("TOLD"),
            "pid": os.getpid(),
        }
        return [json.dumps(told).encode()]
    return [b"hello"]


def wait(flag: str) -> None:
    """Create `flag`.started, and wait until `flag` exists."""
    Path(flag + ".started").touch()
    deadline = time.monotonic() + 60
    while not Path(flag).exists() and time.monotonic() < deadline:
        time.sleep(0.005)


def hold(flag: str) -> NoReturn:
    """Create `flag`.started, and keep the interpreter for ever: `PyDLL` calls do not release it."""
    Path(flag + ".started").touch()
    semaphore = ctypes.create_string_buffer(64)
    library = ctypes.PyDLL(None)
    library.sem_init(semaphore, 0, 0)
    # Unlike pause(2), sem_wait(3) goes on after a signal: signal(7).
    library.sem_wait(semaphore)
    sys.exit("nobody has posted")


def wait_midway(flag: str) -> Iterator[bytes]:
    """Wait between two items."""
    yield b"first "
    wait(flag)
    yield b"second"
