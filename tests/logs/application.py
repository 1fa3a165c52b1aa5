"""Writes log lines and output in every way that an application can."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
import time
import warnings
from typing import TYPE_CHECKING
from urllib.parse import unquote

import adyton
import adyton.logs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Environ = dict[str, object]

CART = logging.getLogger("shop.cart")
HANDLED = logging.getLogger("shop.handled")
HANDLED.addHandler(adyton.logs.Handler())
HANDLED.setLevel(logging.INFO)
HANDLED.propagate = False

HANGS_S_MAX = 60.0
"""Time for which a page hangs, longer than any test waits."""


def fail() -> None:
    """Fail."""
    raise ValueError("on purpose")


def log_failure() -> None:
    """Log a warning, and an exception with its traceback."""
    CART.warning("empty %d", 3)
    try:
        raise KeyError("missing")
    except KeyError:
        CART.exception("failed")


def log_levels() -> None:
    """Log one entry of each level."""
    for level in (10, 20, 30, 40):
        logging.getLogger("shop.root").log(level, "%d", level)


def handle_all() -> None:
    """Set up the server's handler for the whole application."""
    logging.getLogger().addHandler(adyton.logs.Handler())
    logging.getLogger().setLevel(logging.DEBUG)


def run_thread() -> None:
    """Start a thread that fails."""
    thread = threading.Thread(target=fail, name="beside")
    thread.start()
    thread.join()


def chatter() -> None:
    """Start threads that print for ever, and do not wait for them."""

    def talk() -> None:
        while True:
            print("chatter")

    for _ in range(2):
        threading.Thread(target=talk, daemon=True).start()


def hang() -> None:
    """Hang by many short sleeps."""
    end = time.monotonic() + HANGS_S_MAX
    while time.monotonic() < end:
        time.sleep(0.001)


def fork() -> None:
    """Fork a child that prints something and ends."""
    pid = os.fork()
    if pid == 0:
        print("said by a child")
        sys.exit(0)
    os.waitpid(pid, 0)


def write_raw() -> None:
    """Write to the standard streams of the process, if they are open."""
    for number in (1, 2):
        with contextlib.suppress(OSError):
            os.write(number, b"written to a descriptor\n")


if "CLOSES_STREAMS" in os.environ:
    os.closerange(0, 3)

SAY: dict[str, Callable[[], object]] = {
    "/print": lambda: print("one line"),
    "/print-pieces": lambda: print("a", "b"),
    "/print-unended": lambda: print("no end", end=""),
    "/print-lines": lambda: sys.stdout.write("first\nsecond\n"),
    "/print-bytes": lambda: sys.stdout.buffer.write("caf\u00e9\n".encode()),
    "/print-surrogate": lambda: print("\udcff"),
    "/stderr": lambda: print("oops", file=sys.stderr),
    "/warn": lambda: warnings.warn("old", stacklevel=1),
    "/logging": log_failure,
    "/levels": log_levels,
    "/handler-for-all": handle_all,
    "/basic-config": logging.basicConfig,
    "/handler": lambda: HANDLED.info("taken"),
    "/thread": run_thread,
    "/fork": fork,
    "/close-streams": lambda: os.closerange(0, 3),
    "/write-raw": write_raw,
    "/raw": lambda: os.write(2, b"written to descriptor 2\n"),
    "/fail": fail,
    "/chatter": chatter,
    "/hang": hang,
}


def say(path: str) -> str:
    """Print or log what the path says; return the body."""
    if path == "/id":
        print("here")
        return adyton.request_id() or ""
    if path == "/pid":
        return str(os.getpid())
    if path == "/streams":
        return repr(type(sys.stdout))
    SAY.get(path, str)()
    return "said"


def generate() -> Iterator[bytes]:
    """Print something in the middle of an answer."""
    yield b"first "
    print("between")
    yield (adyton.request_id() or "").encode()


def hang_midway() -> Iterator[bytes]:
    """Hang in the middle of an answer."""
    yield b"first "
    hang()


def application(environ: Environ, start_response: Callable[..., object]) -> Iterable[bytes]:
    """Do what the path asks for."""
    path = str(environ["PATH_INFO"])
    fields = [("Content-Type", "text/plain")]
    if path == "/own-id":
        fields.append(("X-Request-ID", "own"))
    if path == "/errors":
        environ["wsgi.errors"].write("said to wsgi.errors\n")  # type: ignore[attr-defined]
    start_response("200 OK", fields)
    if path == "/generated":
        return generate()
    if path == "/hang-midway":
        return hang_midway()
    if path == "/stuck":
        # The system call ends when somebody opens the other end of the FIFO.
        os.close(os.open(unquote(str(environ["QUERY_STRING"])), os.O_RDONLY))
    if path == "/redirect":
        os.dup2(os.open(unquote(str(environ["QUERY_STRING"])), os.O_WRONLY | os.O_CREAT), 2)
    if path == "/echo":
        CART.warning("said %s", unquote(str(environ["QUERY_STRING"])))
    body = say(path)
    if "HTTP_X_REQUEST_ID" in environ and path == "/id":
        assert environ["HTTP_X_REQUEST_ID"] == body
    return [body.encode()]
