"""Two servers: the applications as they are, and behind the validator."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support.server import Server, Servers

APPLICATIONS = Path(__file__).with_name("applications.py")


@pytest.fixture(scope="session")
def plain(serve_session: Servers) -> Server:
    """Serve the applications as they are."""
    return serve_session(APPLICATIONS)


@pytest.fixture(scope="session")
def validated(serve_session: Servers) -> Server:
    """Serve the applications behind `wsgiref.validate`, with warnings as errors."""
    return serve_session(f"{APPLICATIONS}:validated", env={"PYTHONWARNINGS": "error"})


@pytest.fixture(params=["plain", "validated"])
def site(request: pytest.FixtureRequest) -> Server:
    """Run a test against both."""
    server: Server = request.getfixturevalue(request.param)
    return server


@pytest.fixture(scope="session")
def applications() -> Path:
    """Return the file of the applications, to be served with other settings."""
    return APPLICATIONS


@pytest.fixture(autouse=True)
def _forget(request: pytest.FixtureRequest) -> None:
    """Forget which iterables were closed, and what was noted, before each test."""
    for name in {"plain", "validated", "site"} & set(request.fixturenames):
        server: Server = request.getfixturevalue(name)
        server.fetch("/closed")
        server.fetch("/noted")
