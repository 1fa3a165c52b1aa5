"""One server that the tests of all rules share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support.server import Server, Servers

APPLICATION = Path(__file__).with_name("application.py")


PATIENT = "--linger-timeout=30s"
"""A linger timeout so long that the server waits even for a client that pauses for seconds while it sends."""


@pytest.fixture(scope="session")
def server(serve_session: Servers) -> Server:
    """Serve the reporting application with default settings, except for the linger timeout."""
    return serve_session(APPLICATION, PATIENT)


@pytest.fixture(scope="session")
def application() -> Path:
    """Return the file of the reporting application, to be served with other settings."""
    return APPLICATION
