"""One server for all rules."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support.server import Server, Servers

APPLICATION = Path(__file__).with_name("application.py")


PATIENT = "--linger-timeout=30s"
"""A timeout with which a client that stands still for seconds does not count as one that sends for ever."""


@pytest.fixture(scope="session")
def server(serve_session: Servers) -> Server:
    """Serve the telling application with default settings, but for a time."""
    return serve_session(APPLICATION, PATIENT)


@pytest.fixture(scope="session")
def application() -> Path:
    """Return the file of the telling application, to be served with other settings."""
    return APPLICATION
