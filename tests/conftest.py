"""Fixtures for all black-box tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.server import THREADS, Servers, claimed_port

if TYPE_CHECKING:
    from collections.abc import Iterator


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option `--failures`."""
    parser.addoption("--failures", type=Path, help="list the tests that failed in this file, as JSON")


def pytest_configure(config: pytest.Config) -> None:
    """Register the list of failures if `--failures` is given."""
    if file := config.getoption("failures"):
        config.pluginmanager.register(Failures(file))


class Failures:
    """Lists failed tests in a file, from which `tests/gate` runs them once more."""

    def __init__(self, file: Path) -> None:
        """List failures in `file`, which may have lines of an earlier run."""
        self.file = file
        file.parent.mkdir(parents=True, exist_ok=True)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the phase of a test that failed (`setup`, `call` or `teardown`), and the test."""
        if report.failed:
            with self.file.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps([report.when, report.nodeid]) + "\n")


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
