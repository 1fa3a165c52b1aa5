"""Servers of the application with 1, 2 and 16 threads, which all tests of a kind share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from threads.scenes import PATIENT, Flag, Site, start

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.server import Servers


@pytest.fixture(scope="session")
def shared(serve_session: Servers, tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Site]:
    """Return the server with so many threads; the first test that asks for it starts it."""
    sites: dict[int, Site] = {}

    def find(threads: int) -> Site:
        if threads not in sites:
            folder = tmp_path_factory.mktemp("site")
            sites[threads] = start(serve_session, folder, threads, *PATIENT)
        return sites[threads]

    return find


@pytest.fixture(params=[1, 2, 16], ids=lambda threads: f"{threads}-threads")
def site(shared: Callable[[int], Site], request: pytest.FixtureRequest) -> Iterator[Site]:
    """Use a server with any number of threads; afterwards no request is left in it."""
    yield shared(request.param)
    shared(request.param).wait_settled()


@pytest.fixture(params=[2, 16], ids=lambda threads: f"{threads}-threads")
def threaded(shared: Callable[[int], Site], request: pytest.FixtureRequest) -> Iterator[Site]:
    """Use a server that runs several requests at once."""
    yield shared(request.param)
    shared(request.param).wait_settled()


@pytest.fixture
def single(shared: Callable[[int], Site]) -> Iterator[Site]:
    """Use the server with one thread."""
    yield shared(1)
    shared(1).wait_settled()


@pytest.fixture
def flag(tmp_path: Path) -> Flag:
    """Return a flag that is down."""
    return Flag(tmp_path / "flag")
