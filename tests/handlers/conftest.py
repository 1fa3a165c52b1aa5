"""One server for all handlers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support.server import Server, Servers

HANDLERS = Path(__file__).with_name("handlers.py")


@pytest.fixture(scope="session")
def site(serve_session: Servers) -> Server:
    """Serve the handlers; `handler` is found without being named."""
    return serve_session(HANDLERS)


@pytest.fixture(scope="session")
def handlers() -> Path:
    """Return the file of the handlers."""
    return HANDLERS
