"""Answers wait for slow readers in bounded memory, and a client that leaves disturbs no other client."""

from __future__ import annotations

import os
import socket
import sysconfig
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

import pytest

from support.client import request
from support.server import until
from threads.scenes import PATIENT, receive_all, start, target, under_way

if TYPE_CHECKING:
    from pathlib import Path

    from support.client import Connection
    from support.server import Servers
    from threads.scenes import Site

KIB, MIB = 1 << 10, 1 << 20
ITEM_BYTES = 65536
ITEMS = 400
"""Items that make 25 MiB."""
POLLS = 15
"""How many polls in a row must find that no further item was asked for before the answer is at rest."""
KERNEL_BYTES_MAX = 6 * MIB
"""Bytes that the kernel may hold for one client: the sender's buffer grows to four MiB (`tcp_wmem`)."""
POURS = pytest.mark.parametrize("path", ["/pour", "/pour-generator", "/pour-write"])


def begin(site: Site, asked: str, version: str = "1.0") -> Connection:
    """Ask over a connection with the smallest receive buffer, and take the first bytes."""
    connection = site.server.connect(receive_buffer_bytes=4096)
    connection.send(request(asked, version=version))
    assert connection.reader.fill()
    return connection


def read_on(connection: Connection) -> bytes:
    """Take all the rest; return the body, which is complete."""
    connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * MIB)
    response = connection.receive()
    assert response.complete
    return response.body


def rests(site: Site, name: str) -> int:
    """Wait until the application is asked for no more items; return how many there were.

    The application has to wait for its reader by then: if it merely has no CPU for a while, it is still busy.
    """
    seen: list[int] = []

    def rested() -> bool:
        site.wait_settled()
        seen[:] = (site.server.fetch(target("/count", name=name)).json() for _ in range(POLLS))
        return seen[0] == seen[-1] > 0

    assert until(rested), seen
    return seen[-1]


@pytest.mark.parametrize("version", ["1.0", "1.1"])
@POURS
def test_complete(threaded: Site, tmp_path: Path, path: str, version: str) -> None:
    """The application waits for its reader, and then goes on to the end."""
    asked = target(path, name=tmp_path, items=ITEMS)
    with begin(threaded, asked, version) as connection:
        assert ITEMS > rests(threaded, str(tmp_path))
        assert b"x" * ITEM_BYTES * ITEMS == read_on(connection)
        if version == "1.1":
            assert b"hello" == connection.get("/hello").body
    told = threaded.wait_noted(str(tmp_path), "close")

    assert ["item"] * ITEMS + ["close"] == told


@POURS
@pytest.mark.parametrize("size", [1_000, ITEM_BYTES, 3 * MIB])
def test_high_water(threaded: Site, tmp_path: Path, path: str, size: int) -> None:
    """The application is asked for about a mebibyte more than the reader's side takes; then all arrives."""
    name, items = str(tmp_path), max(20, ITEMS * ITEM_BYTES // size)
    with begin(threaded, target(path, name=name, items=items, size=size)) as connection:
        assert KERNEL_BYTES_MAX + MIB + 2 * size > rests(threaded, name) * size
        assert rests(threaded, name) < items
        assert b"x" * size * items == read_on(connection)


def test_a_mebibyte(serve: Servers, tmp_path: Path) -> None:
    """Beyond the kernel's part, a client's answer takes 1 MiB, and 64 KiB when other clients hold too much.

    On a unix socket the kernel's share is always about the same.
    """
    asked = []
    for bound in ("256m", "64k"):
        folder = tmp_path / bound
        folder.mkdir()
        site = start(serve, folder, 2, f"--output-bytes-max={bound}", *PATIENT, bind=f"unix:{folder}/socket")
        with ExitStack() as stack:
            for name in ("first", "second"):
                many = target("/pour", name=name, items=ITEMS * 64, size=1024)
                stack.enter_context(begin(site, many))
                asked.append(rests(site, name) * 1024)
    first, second, _, last = asked

    assert 640 * KIB < first - last < 1280 * KIB, asked
    assert 640 * KIB < second - last < 1280 * KIB, asked


@POURS
def test_gone(threaded: Site, tmp_path: Path, path: str) -> None:
    """When the client goes away, the iterable is closed, `write` raises OSError, and nothing is logged."""
    name, mark = str(tmp_path), threaded.server.mark()
    with begin(threaded, target(path, name=name, items=ITEMS)) as connection:
        asked = rests(threaded, name)
        connection.abort()
    told = threaded.wait_noted(name, "close")
    besides = {"/pour-generator": {"GeneratorExit"}, "/pour-write": {"OSError"}}.get(path, set())

    assert {"item", "close"} | besides == set(told)
    assert "close" == told[-1]
    assert 1 == told.count("close")
    assert asked + 2 >= told.count("item")
    threaded.wait_settled()
    assert "Traceback" not in threaded.server.log()[mark:]
    assert "error:" not in threaded.server.log()[mark:]


@pytest.mark.parametrize("how", ["reset", "close"])
@pytest.mark.parametrize("ms", [1, 30], ids=["quick items", "slow items"])
@POURS
def test_gone_while_the_application_works(
    threaded: Site, tmp_path: Path, path: str, how: str, ms: int
) -> None:
    """A client that leaves is noticed between two items, too."""
    name, mark = str(tmp_path), threaded.server.mark()
    with threaded.server.connect() as connection:
        connection.send(request(target(path, name=name, items=20_000, size=1000, ms=ms)))
        assert connection.reader.fill()
        if how == "reset":
            connection.abort()

    # The kernel takes many slow items before it is full: a client that has gone is noticed before that.
    most = 20_000 if ms == 1 else 500
    assert most > threaded.wait_noted(name, "close").count("item")
    threaded.wait_settled()
    assert "Traceback" not in threaded.server.log()[mark:]


def test_write_that_is_not_caught(threaded: Site, tmp_path: Path) -> None:
    """An OSError of `write` that the application does not catch is not logged as a failure."""
    name, mark = str(tmp_path), threaded.server.mark()
    asked = target("/pour-write", name=name, items=ITEMS, **{"raise": "yes"})
    with begin(threaded, asked) as connection:
        rests(threaded, name)
        connection.abort()
    assert "OSError" in threaded.wait_noted(name, "close")
    threaded.wait_settled()

    assert "Traceback" not in threaded.server.log()[mark:]


@POURS
def test_who_waits_does_not_count(threaded: Site, tmp_path: Path, path: str) -> None:
    """While more clients than threads do not read, others find all threads free; then all of them read."""
    count = threaded.threads + 3
    names = [f"{tmp_path}/{number}" for number in range(count)]
    with ExitStack() as stack:
        waiting = [
            stack.enter_context(begin(threaded, target(path, name=name, items=ITEMS))) for name in names
        ]
        for name in names:
            rests(threaded, name)
        threaded.wait_settled()
        meet = [target("/meet", n=threaded.threads, name=tmp_path)] * threaded.threads
        with under_way(threaded.server, *meet) as others:
            assert [b"met"] * threaded.threads == [answer.body for answer in receive_all(others)]
        for connection in waiting:
            assert b"x" * ITEM_BYTES * ITEMS == read_on(connection)


def test_threads_of_those_who_wait_go(threaded: Site, tmp_path: Path) -> None:
    """Threads that were added because clients do not read end when those clients have gone."""
    meet = [target("/meet", n=threaded.threads, name=tmp_path)] * threaded.threads
    with under_way(threaded.server, *meet) as others:
        receive_all(others)
    # Threads that were added for the readers of other tests are gone by then.
    threaded.wait_for(lambda counters: counters["threads"] <= threaded.threads_most)
    before = threaded.counters()["threads"]
    with ExitStack() as stack:
        for number in range(2 * threaded.threads):
            asked = target("/pour-write", name=f"{tmp_path}/{number}", items=ITEMS)
            connection = stack.enter_context(begin(threaded, asked))
            rests(threaded, f"{tmp_path}/{number}")
            if number > threaded.threads:
                connection.abort()
        threaded.wait_for(lambda counters: counters["threads"] > before)
    threaded.wait_for(lambda counters: counters["threads"] <= before)
    pid = threaded.server.process.pid

    # The crew, the main thread, the watch, two threads that write logs, and the thread that publishes the
    # counters.
    assert until(lambda: before + 6 >= len(os.listdir(f"/proc/{pid}/task")))  # noqa: PTH208 - names are enough


@pytest.mark.long
@pytest.mark.parametrize("path", ["/pour", "/pour-write"])
@pytest.mark.parametrize(
    ("bound", "growth_max"), [("256m", 100 * MIB * 5 // 4), ("8m", 8 * MIB + 100 * KIB * 320)]
)
def test_memory(serve: Servers, tmp_path: Path, path: str, bound: str, growth_max: int) -> None:
    """A hundred clients that do not read cost a mebibyte each, or less when all together have a bound.

    A waiting thread costs some hundred KiB besides, and more if each has a heap of its own.
    """
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        growth_max += 100 * 200 * KIB
    site = start(serve, tmp_path, 16, f"--output-bytes-max={bound}", *PATIENT)
    with under_way(site.server, *[target("/pour", name="warm", items=20)] * 16) as warm:
        receive_all(warm)
    before = site.server.rss()
    with ExitStack() as stack:
        for number in range(100):
            asked = target(path, name=f"pour{number}", items=ITEMS, size=16_000)
            stack.enter_context(begin(site, asked))
        for number in range(100):
            rests(site, f"pour{number}")

        assert growth_max > site.server.rss() - before
    site.wait_settled()


@pytest.mark.long
@pytest.mark.parametrize("threads", [1, 16])
@pytest.mark.parametrize("kind", ["list", "generator"])
def test_memory_of_whole_answers(serve: Servers, tmp_path: Path, threads: int, kind: str) -> None:
    """Answers that are complete at once do not fill the memory, however many wait; each arrives whole."""
    size, bound = 8 * MIB, 16 * MIB
    # Freed memory goes back to the kernel (mallopt(3)).
    env = {"MALLOC_MMAP_THRESHOLD_": "131072"}
    site = start(serve, tmp_path, threads, f"--output-bytes-max={bound}", *PATIENT, env=env)
    asked = target("/fresh", items=1, size=size, **{"as": kind})
    with under_way(site.server, asked) as warm:
        receive_all(warm)
    before = site.server.rss()
    # The last answers may be on their way into a file. Without the interpreter's lock, a thread frees the
    # objects that it has made only when it goes on: that bounds the lists that are kept, but each thread that
    # waits with a generator keeps its item.
    count, late = 60, 8
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        late = 40 if kind == "list" else count + 8
    with ExitStack() as stack:
        slow = [stack.enter_context(begin(site, asked)) for _ in range(count)]
        assert until(lambda: len(files_of(site)) >= 50), files_of(site)
        assert until(lambda: site.server.rss() - before < bound + late * size), site.server.rss()

        assert [bytes(size)] * count == [read_on(connection) for connection in slow]
    assert until(lambda: not files_of(site))


def files_of(site: Site) -> list[str]:
    """Return the files without a name that the server has open."""
    folder = f"/proc/{site.server.process.pid}/fd"
    with suppress(OSError):
        links = [os.readlink(f"{folder}/{name}") for name in os.listdir(folder)]  # noqa: PTH115, PTH208
        # Boards are files without a name as well, in memory.
        return [link for link in links if link.endswith("(deleted)") and not link.startswith("/memfd:")]
    return []


def test_no_room_for_answers(serve: Servers, tmp_path: Path) -> None:
    """An answer for which there is no room is cut so that its client knows, and others are served."""
    site = start(serve, tmp_path, 4, "--output-bytes-max=1m", "--body-files-bytes-max=1k")
    site.server.may_crash = True
    asked = target("/fresh", items=1, size=8 * MIB, **{"as": "list"})
    with begin(site, asked) as slow:
        site.server.wait_for_log("ADY218 error: clients take their answers slowly, and one cannot be stored")
        response = slow.receive()
        assert slow.was_reset or not response.complete
    assert b"hello" == site.server.fetch("/hello").body


@pytest.mark.parametrize("kind", ["generator", "list"])
@pytest.mark.parametrize("size", [ITEM_BYTES, 4 * MIB])
def test_what_is_sent_is_given_back(serve: Servers, tmp_path: Path, kind: str, size: int) -> None:
    """Large items that were sent, or whose client has gone, are freed without another request.

    Without the interpreter's lock only the thread that made an object frees it: each thread may keep its last
    item.
    """
    bound = (400 if sysconfig.get_config_var("Py_GIL_DISABLED") else 48) * MIB
    site = start(serve, tmp_path, 2, *PATIENT)
    items = 512 * MIB // size if kind == "generator" else 64 * MIB // size
    before = site.server.rss()
    for _ in range(4 if kind == "generator" else 12):
        with site.server.connect(lint_answers=False) as connection:
            asked = target("/fresh", items=items, size=size, **{"as": kind})
            connection.send(request(asked, version="1.0"))
            taken = sum(iter(lambda: len(connection.socket.recv(MIB)), 0)) if kind == "generator" else 0
            peak = site.server.rss()
            connection.abort()
        if kind == "generator":
            assert taken > items * size
            assert bound > peak - before
    assert until(lambda: bound > site.server.rss() - before), site.server.rss() - before
