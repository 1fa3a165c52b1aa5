"""Applications that fork in a request, and say how their children have ended."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from wsgiref.types import StartResponse, WSGIEnvironment

    import adyton

FORK = multiprocessing.get_context("fork")
SIGNAL_S = 0.5
"""Time until a signal is sent again."""
HOLD_S_MAX = 300.0
"""Time that is longer than any test waits."""
ended: list[str] = []
"""How the children that were forked in `close()` have ended."""


def note_end() -> None:
    """Write down that this process has come to its end."""
    with Path("ended").open("a", encoding="utf-8") as file:
        file.write(f"{os.getpid()}\n")


atexit.register(note_end)


def fail() -> None:
    """Raise an exception that no code expects."""
    message = "the child fails"
    raise ValueError(message)


ENDS: dict[str, Callable[[], Any]] = {
    "return": lambda: None,
    "raise": fail,
    "exit": lambda: sys.exit(7),
    "words": lambda: sys.exit("last words"),
    "_exit": lambda: os._exit(9),
}


def fork(how: str) -> str:
    """Fork a child that ends in some way; return its status, and whether `atexit` has run there.

    In the child, the call returns if the child is to go back to the server's code.
    """
    child = os.fork()
    if child == 0:
        ENDS[how]()
        return "this is the child"
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    file = Path("ended")
    at_end = file.exists() and str(child) in file.read_text(encoding="utf-8").split()
    return f"{status} {at_end}"


def in_thread(how: str) -> str:
    """Run a function on a thread of the application."""
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(fork(how)))
    thread.start()
    thread.join()
    return found[0]


def terminate(_: str) -> str:
    """Terminate a child as multiprocessing does."""
    child = FORK.Process(target=time.sleep, args=(HOLD_S_MAX,))
    child.start()
    child.terminate()
    child.join()
    return str(child.exitcode)


def handle(_: str) -> str:
    """Have a child set a handler of its own, and send it the signal."""
    ours, theirs = FORK.Pipe()

    def work() -> None:
        signal.signal(signal.SIGTERM, lambda *_: os._exit(11))
        theirs.send("ready")
        # Python calls handlers between its own steps, so a signal just before a sleep begins does not end
        # the sleep.
        end = time.monotonic() + HOLD_S_MAX
        while time.monotonic() < end:
            time.sleep(0.01)

    child = FORK.Process(target=work)
    child.start()
    ours.recv()
    # Python loses the signal, without any server, too, in some of a thousand children that threads have
    # forked.
    while child.is_alive():
        child.terminate()
        child.join(timeout=SIGNAL_S)
    return str(child.exitcode)


def descriptors(_: str) -> str:
    """Say which sockets and event descriptors of the server a child has."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        links = []
        for number in Path("/proc/self/fd").iterdir():
            try:
                links.append(str(number.readlink()))
            except OSError:
                continue
        found = [link for link in links if link.startswith(("socket:", "anon_inode:[event"))]
        os.write(writer, " ".join(found).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        found = file.read().decode()
    os.waitpid(child, 0)
    return f"({found})"


def keep(_: str) -> str:
    """Leave a living child behind."""
    child = FORK.Process(target=time.sleep, args=(HOLD_S_MAX,))
    child.start()
    return str(child.pid)


PAGES = {page.__name__: page for page in (fork, in_thread, terminate, handle, descriptors, keep)}


class Closing:
    """A body whose `close` forks."""

    def __init__(self, how: str) -> None:
        """Remember how."""
        self.how = how

    def __iter__(self) -> Iterator[bytes]:
        """Say nothing of interest, in pieces."""
        yield b"closing"
        yield b" soon"

    def close(self) -> None:
        """Fork."""
        ended.append(fork(self.how))


def items(how: str) -> Iterator[bytes]:
    """Fork between two items."""
    yield b"before "
    yield fork(how).encode()


def body(path: str) -> Iterable[bytes]:
    """Make the body for `/PAGE/HOW`."""
    page, _, how = path.removeprefix("/").partition("/")
    if page == "items":
        return items(how)
    if page == "closing":
        return Closing(how)
    if page == "closed":
        return [ended.pop().encode()] if ended else [b""]
    return [PAGES[page](how).encode()]


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answer as WSGI."""
    answer = body(environ["PATH_INFO"])
    start_response("200 OK", [("Content-Type", "text/plain")])
    return answer


def handler(request: adyton.Request) -> bytes | Iterable[bytes]:
    """Answer as a handler."""
    answer = body(request.path)
    return b"".join(answer) if isinstance(answer, list) else answer
