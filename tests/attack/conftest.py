"""Servers to be attacked; each must still answer afterwards, with the same process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support.server import Server, Servers

PATIENT = "--linger-timeout=30s"
"""Flag for tests whose client pauses for seconds: else the server would close it as an endless sender."""


@pytest.fixture(scope="session")
def teller(serve_session: Servers) -> Server:
    """Serve an application that tells what has reached it."""
    return serve_session(Path(__file__).parents[1] / "rules" / "application.py", PATIENT)
