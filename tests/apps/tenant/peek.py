"""A tenant that tells of itself, tries to reach things of other tenants, and waits for a file."""

import os
import platform
import socket
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import adyton

DATA = Path(os.environ["SITE_DATA"])


def connect(path: Path) -> None:
    """Connect to a socket."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))


TRIES: dict[str, Callable[[Path], object]] = {
    "read": Path.read_bytes,
    "list": os.listdir,
    "write": lambda path: path.write_bytes(b"mine"),
    "remove": Path.unlink,
    "connect": connect,
    "signal": lambda path: os.kill(int(path.name), 9),
}


def application(environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
    """Answer in one line."""
    name = environ["PATH_INFO"].rpartition("/")[2]
    query = parse_qs(environ["QUERY_STRING"])
    start_response("200 OK", [("Content-Type", "text/plain"), ("Cache-Control", "no-store")])
    if name == "wait":
        return wait()
    if name in TRIES:
        return [attempt(TRIES[name], Path(query["path"][0])).encode()]
    place = adyton.worker()
    told = [place and place.group, os.getpid(), os.getuid(), platform.python_version()]
    return [" ".join(map(str, [*told, os.environ.get("MARK", "-")])).encode()]


def attempt(act: Callable[[Path], object], path: Path) -> str:
    """Call `act`, and return the name of its error, or `done`."""
    try:
        act(path)
    except OSError as error:
        return type(error).__name__
    return "done"


def wait() -> Iterable[bytes]:
    """Wait until there is a file `go`."""
    while not (DATA / "go").exists():
        time.sleep(0.005)
    return [b"gone"]
