"""The application of the groups: it shows the surroundings of its process, and can reach each limit."""

from __future__ import annotations

import json
import os
import resource
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

HERE = Path(__file__).parent
IMPORTED_BY = os.getpid()

kept: list[bytes] = []


def note_import() -> None:
    """Note the process that imports this module, and wait while the file `stuck` names the module."""
    with (HERE / f"{__name__}.imported").open("a", encoding="ascii") as file:
        file.write(f"{os.getpid()}\n")
    wait_while((HERE / f"{__name__}.stuck").exists)


def wait_while(condition: Callable[[], bool]) -> None:
    """Wait while the condition holds, up to a limit."""
    deadline = time.monotonic() + 60
    while condition() and time.monotonic() < deadline:
        time.sleep(0.005)


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Answer with this process's number, and with the text of the page that the path's last segment names."""
    page = PAGES.get(environ["PATH_INFO"].rpartition("/")[2], quick)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [f"{os.getpid()} {page()}".encode()]


def quick() -> str:
    """Say nothing."""
    return ""


def gate() -> str:
    """Wait for the file `gate`."""
    wait_while(lambda: not (HERE / "gate").exists())
    return ""


def surroundings() -> str:
    """Return everything about this process that the settings of a group can change."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    told = {
        "nice": os.getpriority(os.PRIO_PROCESS, 0),
        "umask": dict(line.split(":\t") for line in status.splitlines())["Umask"],
        "memory-limit": resource.getrlimit(resource.RLIMIT_DATA)[0],
        "preload": os.getpid() != IMPORTED_BY,
    }
    return json.dumps(told)


def allocate() -> str:
    """Ask for more memory than the limit allows."""
    try:
        return str(len(bytearray(4 << 30)))
    except MemoryError:
        return "MemoryError"


def grow() -> str:
    """Keep some memory for ever."""
    kept.append(b"x" * (64 << 20))
    return ""


def spin() -> str:
    """Use a CPU for a moment."""
    until = time.thread_time() + 0.3
    while time.thread_time() < until:
        pass
    return ""


PAGES: dict[str, Callable[[], str]] = {
    page.__name__: page for page in (gate, surroundings, allocate, grow, spin)
}

note_import()
