"""As many threads are inside the application as the setting says, if there is work, and never more."""

from __future__ import annotations

import random
import re
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from support.client import request
from threads.scenes import meet, receive_all, start, target, under_way

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Servers
    from threads.scenes import Site

SEED = 7
ROUNDS = 12


def mixture(site: Site, name: str, seed: int) -> list[str]:
    """Return requests that wait, compute, stream and answer at once, thrice as many as there are threads."""
    chance = random.Random(seed)
    kinds = [
        target("/hello"),
        target("/linger", ms=chance.randint(1, 20)),
        target("/linger", ms=chance.randint(1, 8), by="computing"),
        target("/answer", kind="late generator", ms=chance.randint(0, 5)),
        target("/answer", kind="write", ms=chance.randint(0, 5)),
        target("/answer", kind="generator", size=300_000),
        target("/variables", id=name, items=5, ms=chance.randint(0, 4)),
    ]
    return [*kinds, *chance.choices(kinds, k=3 * site.threads)]


def load(site: Site, name: str) -> None:
    """Send mixtures, each request on its own connection; at last all threads are inside at once."""
    for number in range(ROUNDS):
        with under_way(site.server, *mixture(site, name, SEED + number)) as connections:
            assert {200} == {response.status for response in receive_all(connections)}
    meet(site, name)


def test_never_more(site: Site, tmp_path: Path) -> None:
    """The application never counts more threads inside than the setting: in calls, items and `close`."""
    site.server.fetch("/inside")
    load(site, str(tmp_path))
    told = site.server.fetch("/inside").json()

    assert site.threads == told["most"]


def test_the_threads(threaded: Site, tmp_path: Path) -> None:
    """The threads are daemons with names of ours, real `threading.Thread`s, and not the main thread."""
    threaded.server.fetch("/inside")
    load(threaded, str(tmp_path))
    told = threaded.server.fetch("/inside").json()

    assert all(re.fullmatch(r"adyton-[1-9][0-9]*", name) for name in told["threads"]), told
    assert [[True, False, True]] * len(told["threads"]) == list(told["threads"].values())
    assert threaded.threads <= len(told["threads"])


def test_one_thread_is_the_main_thread(single: Site, tmp_path: Path) -> None:
    """With one thread the application is only called by the thread that imported it."""
    single.server.fetch("/inside")
    load(single, str(tmp_path))
    told = single.server.fetch("/inside").json()
    del told["ids"]

    assert {"most": 1, "threads": {"MainThread": [False, True, False]}} == told


@pytest.mark.parametrize("kept", [False, True], ids=["new", "kept"])
def test_so_many_at_the_same_time(threaded: Site, tmp_path: Path, *, kept: bool) -> None:
    """As many requests as there are threads are inside at once: they wait for each other, and all return."""
    with ExitStack() as stack:
        connections = [stack.enter_context(threaded.server.connect()) for _ in range(threaded.threads)]
        for turn in range(5):
            if kept:
                for connection in connections:
                    assert b"hello" == connection.get("/hello").body
            asked = request(target("/meet", n=threaded.threads, name=f"{tmp_path}{turn}"))
            for connection in connections:
                connection.send(asked)
            assert [b"met"] * threaded.threads == [answer.body for answer in receive_all(connections)]


def test_three_rounds_in_the_queue(threaded: Site, tmp_path: Path) -> None:
    """Three times as many requests as threads meet in groups: queued requests come in as threads are free."""
    size = threaded.threads
    targets = [target("/meet", n=size, name=tmp_path, ms=5) for _ in range(3 * size)]
    with under_way(threaded.server, *targets) as connections:
        assert [b"met"] * 3 * size == [answer.body for answer in receive_all(connections)]


@pytest.mark.parametrize("threads", [1, 2, 3, 16, 64])
def test_multithread(serve: Servers, tmp_path: Path, threads: int) -> None:
    """`wsgi.multithread` tells an application whether it may be called by several threads at once."""
    site = start(serve, tmp_path, threads)

    assert (threads > 1) == site.server.fetch(target("/environ", name="wsgi.multithread")).json()
    assert not site.server.fetch(target("/environ", name="wsgi.multiprocess")).json()


def test_default(serve: Servers, tmp_path: Path) -> None:
    """Without the setting there are sixteen threads."""
    site = start(serve, tmp_path, None, env={"ADYTON_THREADS": ""})
    targets = [target("/meet", n=16, name="default")] * 16
    with under_way(site.server, *targets) as connections:
        assert [b"met"] * 16 == [answer.body for answer in receive_all(connections)]
