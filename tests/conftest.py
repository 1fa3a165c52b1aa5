"""Fixtures for all black-box tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.server import THREADS, Servers, claimed_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def pytest_report_header() -> str:
    """Say how many threads the servers run with (`ADYTON_TEST_THREADS`)."""
    return f"servers: {f'--threads {THREADS}' if THREADS else 'default threads'}"


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Servers]:
    """Start servers for one test."""
    servers = Servers(tmp_path)
    try:
        yield servers
    finally:
        servers.close()


@pytest.fixture
def port() -> Iterator[int]:
    """Give a port for one test to listen at."""
    with claimed_port() as port:
        yield port


@pytest.fixture(scope="session")
def serve_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """Start servers that many tests share."""
    servers = Servers(tmp_path_factory.mktemp("cwd"))
    try:
        yield servers
    finally:
        servers.close()
