"""A server that loses its patience soon."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.server import Server, Servers

IMPATIENT = [
    "--first-byte-timeout=300ms",
    "--header-timeout=600ms",
    "--body-idle-timeout=400ms",
    "--body-rate-min=1000",
    "--body-rate-grace=800ms",
    "--write-idle-timeout=600ms",
    "--keep-alive-timeout=400ms",
    "--linger-timeout=300ms",
]


@pytest.fixture(scope="session")
def shared(serve_session: Servers, tmp_path_factory: pytest.TempPathFactory) -> Server:
    """Serve an application and a file with short timeouts."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "large.bin").write_bytes(b"x" * (20 << 20))
    (folder / "small.txt").write_bytes(b"small")
    application = Path(__file__).with_name("application.py")
    server = serve_session(application, f"--static=/files={folder}", *IMPATIENT)
    for name in ("small.txt", "large.bin"):
        # The server may keep the descriptors of files, each of its event loops its own: that is no leak.
        for _ in range(20):
            server.fetch(f"/files/{name}", method="HEAD")
    return server


@pytest.fixture
def server(shared: Server) -> Iterator[Server]:
    """Use the server; afterwards it must answer, and hold no descriptor more than before."""
    assert shared.fetch("/", method="POST", body=b"alive").body == b"alive"
    before = shared.resting_fds()
    yield shared

    assert b"alive" == shared.fetch("/", method="POST", body=b"alive").body
    assert shared.settles_at_fds(before), (before, shared.fds())
