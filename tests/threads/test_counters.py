"""The server counts which way each request took; slow endpoints go to the queue, and come back."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import adyton
import pytest

from support.client import request
from threads.scenes import holding, receive_all, receive_held, start, target, under_way

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.server import Servers
    from threads.scenes import Flag, Site

NAMES = {
    "inline",
    "handed_over",
    "queued",
    "turned_away",
    "departed",
    "timed_out",
    "stuck",
    "threads",
    "threads_busy",
    "queue_length",
}
WAYS = ("inline", "handed_over", "queued")
BATCH = 100
MOSTLY = 0.5
"""The share of a batch of quick requests that must be inline: on a busy machine, some wait for a CPU."""
ATTEMPTS = list("abcdefghijklmnop")
"""Attempts, each with its own paths: a machine that stands still for some ms makes quick requests slow."""


@pytest.fixture
def fresh(serve: Servers, tmp_path: Path) -> Site:
    """Start a server that has learned nothing."""
    return start(serve, tmp_path, 16)


def told(site: Site) -> dict[str, int]:
    """Ask the application for the counters."""
    counters: dict[str, int] = site.server.fetch("/counters").json()
    return counters


def ways(site: Site, paths: Iterator[str] | list[str]) -> dict[str, int]:
    """Ask for each path, one after the other; return how many requests took each way."""
    site.wait_settled()
    before = site.counters()
    with site.server.connect() as connection:
        for path in paths:
            assert 200 == connection.get(path).status
    site.wait_settled()
    after = site.counters()
    return {name: after[name] - before[name] for name in WAYS}


def test_without_a_server() -> None:
    """A process that serves nothing has counted nothing."""
    assert dict.fromkeys(NAMES, 0) == adyton.counters()


def test_names(site: Site) -> None:
    """The counters are whole numbers under these names."""
    counters = told(site)

    assert set(counters) == NAMES
    assert {int} == {type(value) for value in counters.values()}
    assert 1 <= counters["threads"] <= site.threads_most
    assert 1 == counters["threads_busy"], "the one that asks"


@pytest.mark.parametrize(
    ("path", "count"), [("/hello", 100), ("/linger?ms=5", 30), ("/answer?kind=late%20generator&ms=2", 20)]
)
def test_each_request_is_counted_once(site: Site, path: str, count: int) -> None:
    """Each request is counted once, whatever its way."""
    assert count == sum(ways(site, [path] * count).values())


def in_some_attempt(check: Callable[[str], None]) -> None:
    """Check something that a busy machine may disturb, and check it again if it failed."""
    for attempt in ATTEMPTS:
        try:
            check(attempt)
        except AssertionError:
            if attempt == ATTEMPTS[-1]:
                raise
        else:
            break


def test_fast_is_inline(fresh: Site) -> None:
    """A request that is quick runs on the loop's thread."""

    def check(attempt: str) -> None:
        quick = [f"/learn/{attempt}/page"] * BATCH
        ways(fresh, quick)

        assert 0.9 * BATCH < ways(fresh, quick)["inline"]

    in_some_attempt(check)


def test_first_slow_one_is_handed_over(fresh: Site, flag: Flag) -> None:
    """A request that takes long loses the event loop to another thread."""
    before = fresh.counters()
    with holding(fresh, flag, 1) as held:
        assert b"static" == fresh.server.fetch("/static/file.txt").body
        fresh.wait_for(lambda counters: counters["handed_over"] > before["handed_over"])
        flag.lift()
        receive_held(held)
    fresh.wait_settled()
    after = fresh.counters()

    assert {"inline": 0, "handed_over": 1, "queued": 0} == {name: after[name] - before[name] for name in WAYS}


def test_busy(site: Site, flag: Flag) -> None:
    """Threads inside the application, and requests in the queue, are counted."""
    with holding(site, flag, site.threads) as held, under_way(site.server, *["/hello"] * 3) as waiting:
        site.wait_for(lambda counters: counters["threads_busy"] == site.threads)
        site.wait_queued(3)
        flag.lift()
        receive_held(held)
        receive_all(waiting)
    site.wait_for(lambda counters: counters["threads_busy"] == 0)
    site.wait_queued(0)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_learning(fresh: Site, method: str) -> None:
    """A slow endpoint goes to the queue, and others do not; once it is fast again, it comes back.

    An endpoint is a method and a path in which all segments with a digit are the same.
    """

    def check(attempt: str) -> None:
        slow = f"slow-{attempt}"
        learn(fresh, method, slow, f"fast-{attempt}" if method == "GET" else slow)

    in_some_attempt(check)


def learn(site: Site, method: str, slow: str, fast: str) -> None:
    """Make one endpoint slow, and fast again, beside an endpoint that is always fast."""

    def ask(count: int) -> dict[str, int]:
        before = site.counters()
        with site.server.connect() as connection:
            for number in range(count):
                assert 200 == connection.get(f"/learn/{slow}/{number}/more", method=method).status
        site.wait_settled()
        after = site.counters()
        return {name: after[name] - before[name] for name in WAYS}

    def beside() -> dict[str, int]:
        return ways(site, [f"/learn/{fast}/{number}" for number in range(BATCH)])

    def check_beside() -> None:
        taken = beside()
        assert MOSTLY * BATCH < taken["inline"], taken

    # A busy machine may have made this endpoint slow from the start.
    wait_inline(beside)
    site.server.fetch(target(f"/learn/{slow}", set=3), method="PUT")
    ask(BATCH)
    if method == "GET":
        assert 0.9 * BATCH < ask(BATCH)["queued"]
        check_beside()
    site.server.fetch(target(f"/learn/{slow}", set=0), method="PUT")
    if method == "POST":
        # Requests to this path by another method were never slow.
        check_beside()
    wait_inline(lambda: ask(BATCH))


def wait_inline(ask: Callable[[], dict[str, int]]) -> None:
    """Ask for one quick batch after the other until most requests of a batch run on the loop's thread."""
    for _ in range(20):
        if ask()["inline"] > MOSTLY * BATCH:
            return
    raise AssertionError(f"still not inline after {20 * BATCH} quick requests")


def test_mostly_fast_stays_inline(fresh: Site) -> None:
    """One slow request in fifty does not send an endpoint to the queue."""

    def check(attempt: str) -> None:
        path = f"/linger/{attempt}/page"
        taken = dict.fromkeys(WAYS, 0)
        for _ in range(6):
            for name, count in ways(fresh, [f"{path}?ms=0"] * 49 + [f"{path}?ms=5"]).items():
                taken[name] += count

        assert 0.7 * 300 < taken["inline"], taken

    in_some_attempt(check)


def test_slow_and_fast_at_once(fresh: Site) -> None:
    """While the slow endpoint keeps threads busy, the fast one goes on inline."""
    ways(fresh, ["/linger?ms=5"] * 50)

    def check(attempt: str) -> None:
        with ExitStack() as stack:
            slow = [stack.enter_context(fresh.server.connect()) for _ in range(8)]
            for _ in range(10):
                for connection in slow:
                    connection.send(request("/linger?ms=5"))
                before = told(fresh)
                with fresh.server.connect() as connection:
                    for _ in range(20):
                        assert 200 == connection.get(f"/learn/{attempt}/page").status
                after = told(fresh)
                assert 8 < after["inline"] - before["inline"]
                receive_all(slow)

    in_some_attempt(check)
    fresh.wait_settled()
