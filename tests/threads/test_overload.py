"""Requests that cannot be served in time are refused, soon and cheaply; others are served."""

from __future__ import annotations

import itertools
import random
import re
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from support.client import request
from support.http import NoResponseError
from support.server import until
from threads.scenes import PATIENCE_S, holding, receive_all, receive_held, start, target, under_way

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.client import Connection
    from support.http import Response
    from support.server import Servers
    from threads.scenes import Flag, Site

THREADS = pytest.mark.parametrize("threads", [1, 2, 16])
NAP_MS = 20
RATE = 4 * 1000 // NAP_MS
"""Requests per second: four times the capacity of one thread."""
COUNT = 3 * RATE
ATTEMPTS = 8
"""Attempts: a machine that stands still for a second makes everything late."""


def assert_turned_away(response: Response) -> None:
    """Check a 503: a small page that says when to come again."""
    assert 503 == response.status
    assert re.fullmatch(r"[123]", response["Retry-After"])
    assert re.match("text/html", response["Content-Type"])
    assert 1000 > len(response.body)


@THREADS
def test_queue_limit(serve: Servers, tmp_path: Path, flag: Flag, threads: int) -> None:
    """Beyond the limit the answer is 503 at once; a request in the queue keeps its place."""
    site = start(serve, tmp_path, threads, "--queue-limit=3", "--queue-timeout=10m")
    with holding(site, flag, threads) as held, under_way(site.server, *["/hello"] * 3) as queued:
        site.wait_queued(3)
        answers = [site.server.fetch("/hello") for _ in range(30)]
        for answer in answers:
            assert_turned_away(answer)
        assert 1 < len({answer["Retry-After"] for answer in answers}), "all would come back together"
        assert b"static" == site.server.fetch("/static/file.txt").body
        site.wait_for(lambda counters: counters["turned_away"] == 30)
        flag.lift()
        receive_held(held)
        assert [b"hello"] * 3 == [response.body for response in receive_all(queued)]
    assert b"hello" == site.server.fetch("/hello").body


@pytest.mark.parametrize("limit", [0, 3])
def test_burst_into_free_threads(serve: Servers, tmp_path: Path, limit: int) -> None:
    """Only requests without a free thread are queued: sixteen threads take sixteen requests at once."""
    site = start(serve, tmp_path, 16, f"--queue-limit={limit}")
    for turn in range(10):
        targets = [target("/meet", n=16, name=turn)] * 16
        with under_way(site.server, *targets) as connections:
            assert [200] * 16 == [response.status for response in receive_all(connections)]


def test_no_queue(serve: Servers, tmp_path: Path, flag: Flag) -> None:
    """A limit of 0 serves requests for which a thread is free, and refuses the others."""
    site = start(serve, tmp_path, 2, "--queue-limit=0")

    assert [200] * 20 == [site.server.fetch("/hello").status for _ in range(20)]
    with holding(site, flag, 2) as held:
        assert_turned_away(site.server.fetch("/hello"))
        flag.lift()
        receive_held(held)


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
def test_connection_goes_on(serve: Servers, tmp_path: Path, flag: Flag, method: str) -> None:
    """A 503 ends its request and not its connection, which the client uses when it comes again."""
    site = start(serve, tmp_path, 2, "--queue-limit=0")
    body = b"x" * 100_000 if method == "POST" else None
    with site.server.connect() as connection:
        with holding(site, flag, 2) as held:
            for _ in range(3):
                response = connection.get("/hello", method=method, body=body)

                assert 503 == response.status
                assert not response.closing
            flag.lift()
            receive_held(held)
        assert b"hello" == connection.get("/hello").body


@THREADS
def test_queue_timeout(serve: Servers, tmp_path: Path, flag: Flag, threads: int) -> None:
    """A request that has waited until the timeout is refused, though the threads are still busy."""
    site = start(serve, tmp_path, threads, "--queue-timeout=300ms")
    pages = [target("/linger", note="ran", id=number) for number in range(5)]
    with holding(site, flag, threads) as held:
        begun = time.monotonic()
        with under_way(site.server, *pages) as waiting:
            for response in receive_all(waiting):
                assert_turned_away(response)
        assert 0.25 < time.monotonic() - begun
        assert all(connection.is_silent(0.001) for connection in held)
        flag.lift()
        receive_held(held)
    site.wait_settled()

    assert [] == site.notes("ran")


def send_at_rate(site: Site, stack: ExitStack, name: str) -> Iterator[tuple[Connection, float]]:
    """Send requests evenly, each over a connection of its own; yield each connection with its time."""
    begun = time.monotonic()
    for number in range(COUNT):
        time.sleep(max(0.0, begun + number / RATE - time.monotonic()))
        connection = stack.enter_context(site.server.connect())
        connection.send(request(target("/linger", ms=NAP_MS, note=name, id=number)))
        yield connection, time.monotonic()


def take(waiting: dict[Connection, float], took_s: dict[int, list[float]]) -> None:
    """Take the answers that are there; keep how long each took, by its status."""
    for connection in list(waiting):
        if not connection.is_silent(0.0001):
            sent_at = waiting.pop(connection)
            response = connection.receive()
            took_s.setdefault(response.status, []).append(time.monotonic() - sent_at)
            connection.socket.close()


def rush(site: Site, name: str) -> tuple[dict[int, list[float]], list[int]]:
    """Ask for far more than can be served; return the times of answers, by status, and the served ids."""
    took_s: dict[int, list[float]] = {}
    waiting: dict[Connection, float] = {}
    with ExitStack() as stack:
        for number, (connection, sent_at) in enumerate(send_at_rate(site, stack, name)):
            waiting[connection] = sent_at
            if number % 20 == 0:
                take(waiting, took_s)
        while waiting:
            take(waiting, took_s)
    site.wait_settled()
    return took_s, [int(number) for number in site.notes(name)]


@pytest.mark.parametrize("threads", [1, 2])
def test_newest_first(serve: Servers, tmp_path: Path, threads: int) -> None:
    """With far more requests than can be served, most served requests are fresh; old ones are refused soon.

    Served in the order of arrival, all requests would be late: the last one would wait for seconds.
    """
    site = start(serve, tmp_path, threads, "--queue-timeout=1s")
    for attempt in range(ATTEMPTS):
        took_s, served = rush(site, f"served{attempt}")

        assert {200, 503} == set(took_s)
        assert COUNT == len(took_s[200]) + len(took_s[503])
        assert len(served) == len(took_s[200])
        good = {
            "enough are served": len(served) > COUNT * threads // 8,
            "told soon": max(took_s[503]) < 4.0,
            "the newest first": sum(later < former for former, later in itertools.pairwise(served)) > 10,
            "fresh": sorted(took_s[200])[len(took_s[200]) // 2] < 1.0,
        }
        if all(good.values()):
            break
    assert all(good.values()), good
    assert b"hello" == site.server.fetch("/hello").body


@pytest.mark.parametrize("how", ["reset", "close"])
@THREADS
def test_departed(serve: Servers, tmp_path: Path, flag: Flag, threads: int, how: str) -> None:
    """The application never sees the request of a client that has left the queue; it sees all others."""
    site = start(serve, tmp_path, threads)
    pages = [target("/linger", note="ran", id=number) for number in range(10)]
    with holding(site, flag, threads) as held, under_way(site.server, *pages) as waiting:
        site.wait_queued(10)
        for connection in waiting[::2]:
            if how == "reset":
                connection.abort()
            else:
                connection.socket.close()
        site.wait_for(lambda counters: counters["departed"] == 5)
        flag.lift()
        receive_held(held)
        assert [b"lingered%d" % number for number in range(1, 10, 2)] == [
            response.body for response in receive_all(waiting[1::2])
        ]
    site.wait_settled()

    assert ["1", "3", "5", "7", "9"] == sorted(site.notes("ran"))
    assert 5 == site.counters()["departed"]
    assert "error:" not in site.server.log()


@pytest.mark.parametrize("gone", [1, 6])
def test_impatient(serve: Servers, tmp_path: Path, flag: Flag, gone: int) -> None:
    """When many clients leave, the newest requests are served first; one client alone changes nothing."""
    site = start(serve, tmp_path, 1)
    pages = [target("/linger", note="ran", id=number) for number in range(20)]
    with holding(site, flag, 1) as held, ExitStack() as stack:
        waiting = []
        for number, page in enumerate(pages, 1):
            waiting += stack.enter_context(under_way(site.server, page))
            site.wait_queued(number)
        time.sleep(0.15)  # a client that closes after a tenth of a second counts as gone
        for connection in waiting[:gone]:
            connection.socket.close()
        site.wait_for(lambda counters: counters["departed"] == gone)
        flag.lift()
        receive_held(held)
        assert {200} == {response.status for response in receive_all(waiting[gone:])}
    left = [str(number) for number in range(gone, 20)]

    assert (left if gone == 1 else left[::-1]) == site.notes("ran")


@pytest.mark.parametrize("how", ["reset", "close", "close soon"])
@pytest.mark.parametrize(("connections", "timeout"), [("new", "60s"), ("kept", "60s"), ("new", "0")])
def test_departed_make_room(
    serve: Servers, tmp_path: Path, flag: Flag, connections: str, timeout: str, how: str
) -> None:
    """A client that leaves frees its descriptor and its place in the queue, though all threads are busy."""
    site = start(serve, tmp_path, 2, "--queue-limit=50", f"--request-timeout={timeout}")
    with ExitStack() as stack:
        waiting = [stack.enter_context(site.server.connect()) for _ in range(50)]
        if connections == "kept":
            assert {b"hello"} == {connection.get("/hello").body for connection in waiting}
        held = stack.enter_context(holding(site, flag, 2))
        for connection in waiting:
            connection.send(request("/hello"))
        if how != "close soon":
            site.wait_queued(50)
            time.sleep(0.15)  # a client that closes after a tenth of a second counts as gone
        for connection in waiting:
            if how == "reset":
                connection.abort()
            else:
                connection.socket.close()
        site.wait_for(lambda counters: counters["departed"] == 50)
        site.wait_queued(0)
        before = site.server.resting_fds()
        with under_way(site.server, *["/hello"] * 50) as others:
            site.wait_queued(50)
            flag.lift()
            receive_held(held)
            assert [b"hello"] * 50 == [response.body for response in receive_all(others)]
        assert site.server.settles_at_fds(before)


@pytest.mark.parametrize(
    "unit", [pytest.param(1, id="s"), pytest.param(1000, id="ms"), pytest.param(1_000_000, id="us")]
)
@pytest.mark.parametrize("prefix", ["t=", ""])
def test_request_start(serve: Servers, tmp_path: Path, flag: Flag, prefix: str, unit: int) -> None:
    """The wait begins at the time that the proxy gives, so a request that waited long there is refused."""
    site = start(serve, tmp_path, 2, "--queue-timeout=60s")
    with holding(site, flag, 2) as held:
        value = time.time() - 90
        text = f"{value:.3f}" if unit == 1 else f"{value * unit:.0f}"
        late = site.server.fetch("/hello", fields=[("X-Request-Start", prefix + text)])
        assert_turned_away(late)
        recent = f"{time.time() - 1:.3f}" if unit == 1 else f"{(time.time() - 1) * unit:.0f}"
        with under_way(site.server, "/hello", fields=[("X-Request-Start", prefix + recent)]) as waiting:
            site.wait_queued(1)
            flag.lift()
            receive_held(held)
            assert b"hello" == waiting[0].receive().body


def test_clocks_that_differ(serve: Servers, tmp_path: Path) -> None:
    """A request that claims a long wait is not refused while a thread is free, even at a slow endpoint."""
    site = start(serve, tmp_path, 4, "--queue-timeout=500ms")
    fields = [("X-Request-Start", f"t={time.time() - 5:.3f}")]
    for _ in range(30):
        assert 200 == site.server.fetch("/linger?ms=5", fields=fields).status
    assert site.counters()["queued"] > 10


@pytest.mark.parametrize(
    "value",
    ["", "t=", "soon", "t=-5", "t=1e9", "t=99999999999999999999999", "t=5", "t=4102444800", "t=1.2.3"],
)
def test_wrong_request_start(serve: Servers, tmp_path: Path, flag: Flag, value: str) -> None:
    """A start that is nonsense, in the future or decades old is ignored: the wait begins at this server."""
    site = start(serve, tmp_path, 1, "--queue-timeout=60s")
    fields = [("X-Request-Start", value)]
    with holding(site, flag, 1) as held, under_way(site.server, "/hello", fields=fields) as waiting:
        site.wait_queued(1)
        flag.lift()
        receive_held(held)
        assert b"hello" == waiting[0].receive().body


def test_recovers(serve: Servers, tmp_path: Path, flag: Flag) -> None:
    """When the rush is over, all is as before: no request waits, and none is turned away."""
    site = start(serve, tmp_path, 4, "--queue-timeout=200ms", "--queue-limit=20")
    with ExitStack() as stack, holding(site, flag, 4) as held:
        rush = [stack.enter_context(site.server.connect()) for _ in range(100)]
        for connection in rush:
            connection.send(request("/hello"))
        assert [503] * 100 == [response.status for response in receive_all(rush)]
        flag.lift()
        receive_held(held)
    site.wait_settled()
    before = site.counters()["turned_away"]

    assert [200] * 50 == [site.server.fetch("/linger?ms=2").status for _ in range(50)]
    assert before == site.counters()["turned_away"]


def test_random_departures(serve: Servers, tmp_path: Path) -> None:
    """Whenever clients leave, each request is answered, departed or turned away, and none is left."""
    site = start(serve, tmp_path, 2, "--queue-timeout=1s")
    assert b"hello" == site.server.fetch("/hello").body
    before = site.server.resting_fds()
    chance = random.Random(5)
    with ExitStack() as stack:
        stayed = []
        for number in range(200):
            connection = stack.enter_context(site.server.connect())
            connection.send(request(target("/linger", ms=chance.randint(0, 6), id=number)))
            if chance.random() < 0.6:
                time.sleep(chance.random() * 0.003)
                connection.abort()
            else:
                stayed.append((number, connection))
        for number, connection in stayed:
            try:
                response = connection.receive()
            except NoResponseError:
                pytest.fail(f"request {number} was not answered")
            if response.status == 200:
                assert b"lingered%d" % number == response.body
            else:
                assert_turned_away(response)
    site.wait_settled()
    assert site.server.settles_at_fds(before)
    assert until(lambda: site.server.fetch("/hello").body == b"hello", PATIENCE_S)
