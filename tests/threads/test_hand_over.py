"""Hand-over forced to its extremes: always, and never."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from support.client import chunked, request
from threads.application import pattern
from threads.scenes import holding, meet, receive_all, receive_held, start, target, under_way

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Servers
    from threads.scenes import Flag, Site

KINDS = ["one", "list", "length", "generator", "late generator", "write", "file"]
SIZES = [0, 100, 70_000, 3_000_000]


@pytest.fixture(params=["always", "never"])
def forced(serve: Servers, tmp_path: Path, request: pytest.FixtureRequest) -> Site:
    """Start a server with sixteen threads and one of the extremes."""
    return start(serve, tmp_path, 16, f"--hand-over={request.param}")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ms", [0, 3])
def test_answers(forced: Site, kind: str, ms: int) -> None:
    """Answers of all kinds are right, one after the other and pipelined."""
    with forced.server.connect() as connection:
        for seed, size in enumerate(SIZES):
            asked = request(target("/answer", kind=kind, size=size, seed=seed, ms=ms))
            connection.send(asked + request("/hello") + request("/static/file.txt") + asked)

            assert pattern(size, seed) == connection.receive().body
            assert b"hello" == connection.receive().body
            assert b"static" == connection.receive().body
            assert pattern(size, seed) == connection.receive().body


def test_bodies(forced: Site) -> None:
    """Bodies of requests arrive whole."""
    fields = [("Transfer-Encoding", "chunked")]
    asked = target("/upload", how="all", name="body")
    with forced.server.connect() as connection:
        for size in SIZES:
            assert pattern(size) == connection.get(asked, method="POST", body=pattern(size)).body
            body = chunked(pattern(size)) if size else chunked()
            assert (
                pattern(size) == connection.ask(request(asked, method="POST", fields=fields, body=body)).body
            )


def test_many(forced: Site) -> None:
    """Many connections at once each get their own answers."""
    with ExitStack() as stack:
        connections = [stack.enter_context(forced.server.connect()) for _ in range(30)]
        for turn in range(10):
            for number, connection in enumerate(connections):
                asked = target("/answer", kind=KINDS[number % 7], size=100 * number, seed=turn, ms=number % 3)
                connection.send(request(asked))
            for number, response in enumerate(receive_all(connections)):
                assert pattern(100 * number, turn) == response.body
    forced.wait_settled()


def test_always(serve: Servers, tmp_path: Path) -> None:
    """Every request loses the event loop to another thread, however quick it is."""
    site = start(serve, tmp_path, 16, "--hand-over=always")
    before = site.counters()
    for _ in range(20):
        assert b"hello" == site.server.fetch("/hello").body
    site.wait_settled()
    after = site.counters()

    assert before["inline"] == after["inline"]
    assert 20 == after["handed_over"] + after["queued"] - before["handed_over"] - before["queued"]
    assert before["handed_over"] < after["handed_over"]


@pytest.mark.parametrize("threads", [1, 2])
def test_always_with_few_threads(serve: Servers, tmp_path: Path, threads: int) -> None:
    """A forced hand-over does not let more threads into the application than are allowed."""
    site = start(serve, tmp_path, threads, "--hand-over=always")
    site.server.fetch("/inside")
    for turn in range(5):
        targets = [target("/linger", ms=turn, id=number) for number in range(20)]
        with under_way(site.server, *targets, "/hello") as connections:
            receive_all(connections)
    meet(site, "few")

    assert threads == site.server.fetch("/inside").json()["most"]


def test_never(serve: Servers, tmp_path: Path, flag: Flag) -> None:
    """With `never` no request loses the loop: a slow request holds up all others, files included."""
    # Without the interpreter's lock there are several loops. If Python can be told to use its lock, there is
    # one loop.
    site = start(serve, tmp_path, 16, "--hand-over=never", env={"PYTHON_GIL": "1"})
    with holding(site, flag, 1) as held, under_way(site.server, "/hello", "/static/file.txt") as others:
        assert all(connection.is_silent(0.1) for connection in others)
        flag.lift()
        receive_held(held)
        assert [b"hello", b"static"] == [response.body for response in receive_all(others)]
    for _ in range(20):
        assert b"lingered" == site.server.fetch("/linger?ms=3").body

    assert 0 == site.counters()["handed_over"]
