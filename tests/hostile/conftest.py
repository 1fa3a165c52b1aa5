"""A server that hostile clients share, and one for each limit that slow clients reach."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.http import NoResponseError
from support.server import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.server import Server, Servers

    Impatient = Callable[..., Server]

APPLICATION = Path(__file__).with_name("application.py")
LARGE_BYTES = 20 << 20

PATIENT = ["--first-byte-timeout=5s", "--linger-timeout=300ms"]
"""Timeouts so long that a client of the tests does not count as slow if it stands still for seconds.

The linger timeout does not matter: bytes that come before its end are thrown away, and later ones, too.
"""


def sockets(server: Server) -> int:
    """Return how many sockets a server has, those at which it listens among them."""
    count = 0
    for descriptor in Path(f"/proc/{server.process.pid}/fd").iterdir():
        try:
            count += descriptor.readlink().name.startswith("socket:")
        except FileNotFoundError:  # It was closed meanwhile.
            continue
    return count


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a small and a large file."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "large.bin").write_bytes(b"x" * LARGE_BYTES)
    (folder / "small.txt").write_bytes(b"small")
    return folder


@pytest.fixture(scope="session")
def shared(serve_session: Servers, folder: Path) -> tuple[Server, int]:
    """Serve the application and the files; return the number of sockets while nobody is connected, too."""
    server = serve_session(APPLICATION, f"--static=/files={folder}", *PATIENT)
    resting = sockets(server)
    for name in ("small.txt", "large.bin"):
        # Each event loop of the server may keep descriptors of files open: that is no leak.
        for _ in range(20):
            server.fetch(f"/files/{name}", method="HEAD")
    return server, resting


@pytest.fixture
def server(shared: tuple[Server, int]) -> Iterator[Server]:
    """Use the server; afterwards it must answer, and hold no descriptor more than before."""
    server, resting = shared
    assert server.fetch("/", method="POST", body=b"alive").body == b"alive"
    assert until(partial(has_sockets, server, resting))
    before = server.fds()
    yield server

    assert b"alive" == server.fetch("/", method="POST", body=b"alive").body
    assert server.settles_at_fds(before), (before, server.fds())


@pytest.fixture
def impatient(serve: Servers, folder: Path) -> Iterator[Impatient]:
    """Start servers that each have one short timeout and reach no other; at the end no client may stay."""
    started: list[tuple[Server, int]] = []

    def start(*flags: str) -> Server:
        server = serve(APPLICATION, f"--static=/files={folder}", *flags)
        started.append((server, sockets(server)))
        return server

    yield start
    for server, resting in started:
        assert until(partial(is_alive, server))
        assert until(partial(has_sockets, server, resting))


def has_sockets(server: Server, count: int) -> bool:
    """Tell whether a server has this many sockets."""
    return count == sockets(server)


def is_alive(server: Server) -> bool:
    """Tell whether a server answers; with short timeouts, it may close the connection before it is asked."""
    try:
        return server.fetch("/", method="POST", body=b"alive").body == b"alive"
    except (NoResponseError, ConnectionError):
        return False
