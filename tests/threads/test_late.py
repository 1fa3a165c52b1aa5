"""The answer to a request that has lost its loop is whole, and the connection goes on."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from support.client import Asked, chunked, request
from threads.application import pattern
from threads.scenes import start, target, under_way

if TYPE_CHECKING:
    from pathlib import Path

    from support.client import Connection
    from support.server import Servers
    from threads.scenes import Flag, Site

KINDS = ["one", "list", "length", "generator", "late generator", "write", "file"]
SIZES = [0, 1, 100, 16_384, 70_000, 3_000_000]
HOWS = [
    pytest.param({}, id="at once"),
    pytest.param({"ms": 4}, id="sleeping"),
    pytest.param({"ms": 4, "by": "computing"}, id="computing"),
]
CONNECTIONS = 40
PAUSE_S = 0.15
"""A connection takes a tenth of this time; if it waits for a timer of the server, it takes more."""
ATTEMPTS = 8
"""A machine that stands still makes the connections of some attempts slow, and not of all."""
how_it_is_late = pytest.mark.parametrize("how", HOWS)
"""A request of four milliseconds always loses its loop, and is short enough for hundreds of requests."""


def check_hello(connection: Connection) -> None:
    """Check that the connection goes on."""
    assert b"hello!" == connection.get("/hello?id=!").body


@how_it_is_late
@pytest.mark.parametrize("kind", KINDS)
def test_bodies(site: Site, kind: str, how: dict[str, object]) -> None:
    """Late bodies of every kind and size arrive whole, one after the other on one connection."""
    with site.server.connect() as connection:
        for seed, size in enumerate(SIZES):
            asked = target("/answer", kind=kind, size=size, seed=seed, **how)
            response = connection.get(asked)

            assert 200 == response.status
            assert response.complete
            assert pattern(size, seed) == response.body
            check_hello(connection)


@how_it_is_late
@pytest.mark.parametrize("kind", [*KINDS, "empty"])
def test_head(site: Site, kind: str, how: dict[str, object]) -> None:
    """A late answer to HEAD has no body, and the connection goes on after it."""
    with site.server.connect() as connection:
        for size in (0, 100, 70_000):
            response = connection.get(target("/answer", kind=kind, size=size, **how), method="HEAD")

            assert (204 if kind == "empty" else 200) == response.status
            assert b"" == response.body
            check_hello(connection)


@how_it_is_late
@pytest.mark.parametrize("kind", [*KINDS, "empty"])
@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_close(site: Site, kind: str, version: str, how: dict[str, object]) -> None:
    """If the client wants it so, the connection ends after the late answer, and not before."""
    fields = [("Connection", "close")] if version == "1.1" else []
    for size in (100, 3_000_000):
        asked = target("/answer", kind=kind, size=size, **how)
        with site.server.connect() as connection:
            connection.send(request(asked, version=version, fields=fields))
            response = connection.receive()

            assert response.closing
            assert response.complete
            assert (b"" if kind == "empty" else pattern(size)) == response.body
            assert connection.at_end()
            assert not connection.was_reset


@how_it_is_late
def test_old_keep_alive(site: Site, how: dict[str, object]) -> None:
    """A connection of HTTP/1.0 with keep-alive goes on after a late answer, too."""
    asked = request(
        target("/answer", kind="one", **how), version="1.0", fields=[("Connection", "keep-alive")]
    )
    with site.server.connect() as connection:
        for _ in range(3):
            assert pattern(100) == connection.ask(asked).body
        check_hello(connection)


@how_it_is_late
def test_pipelined(site: Site, how: dict[str, object]) -> None:
    """Requests sent behind a slow request are answered after it, in their order."""
    sizes = [0, 100, 70_000, 5, 400_000]
    asked = [
        (kind, size, seed)
        for seed, (kind, size) in enumerate((kind, size) for kind in KINDS for size in sizes)
    ]
    data = b"".join(
        request(target("/answer", kind=kind, size=size, seed=seed, **how))
        + request(target("/hello", id=seed))
        for kind, size, seed in asked
    )
    with site.server.connect() as connection:
        connection.send(data)
        for _, size, seed in asked:
            assert pattern(size, seed) == connection.receive().body
            assert b"hello%d" % seed == connection.receive().body


def test_pipelined_behind_one_that_is_held(site: Site, flag: Flag) -> None:
    """Nothing behind a slow request overtakes it: neither a page nor a file."""
    data = request(target("/hold", flag=flag)) + request("/hello") + request("/static/file.txt")
    with site.server.connect() as connection:
        connection.send(data)
        flag.wait_started()
        connection.send(request("/hello?id=2"))
        assert connection.is_silent(0.1)
        flag.lift()
        assert [b"held", b"hello", b"static", b"hello2"] == [connection.receive().body for _ in range(4)]


def test_sent_while_late(site: Site, flag: Flag) -> None:
    """A request that arrives in pieces while the application is busy is put together as always."""
    late = request("/upload?how=all&name=late", method="POST", body=pattern(1000))
    with under_way(site.server, target("/hold", flag=flag)) as (connection,):
        flag.wait_started()
        for start_of_piece in range(0, len(late), 100):
            connection.send(late[start_of_piece : start_of_piece + 100])
        flag.lift()

        assert b"held" == connection.receive().body
        assert pattern(1000) == connection.receive().body


@how_it_is_late
def test_uploads(site: Site, how: dict[str, object]) -> None:
    """A late answer to a request with a body leaves the connection in order."""
    chunks = request(
        target("/answer", kind="list", **how),
        method="POST",
        fields=[("Transfer-Encoding", "chunked")],
        body=chunked(b"x" * 1000, b"y" * 100_000),
    )
    length = request(target("/answer", kind="list", **how), method="POST", body=b"z" * 300_000)
    with site.server.connect() as connection:
        for _ in range(3):
            assert pattern(100) == connection.ask(chunks).body
            assert pattern(100) == connection.ask(length).body
            check_hello(connection)


@how_it_is_late
def test_failures(site: Site, how: dict[str, object]) -> None:
    """An exception after a while is answered 500, like an early one."""
    mark = site.server.mark()
    with site.server.connect() as connection:
        response = connection.get(target("/answer", kind="raise", **how))

        assert 500 == response.status
        if not response.closing:
            check_hello(connection)
    site.server.wait_for_log(r"^RuntimeError: expected$", since=mark)


@pytest.mark.parametrize("first", ["/hello", "/linger?ms=4"])
def test_second_request_of_a_new_connection(site: Site, first: str) -> None:
    """A request sent right behind a late answer is seen at once, on a new connection as well."""
    for _ in range(20):
        assert b"lingered" == site.server.fetch("/linger?ms=4").body  # it is known to be slow from now on
    took_s: list[float] = []
    while not took_s or (took_s[-1] >= PAUSE_S * CONNECTIONS and len(took_s) < ATTEMPTS):
        begun = time.monotonic()
        for _ in range(CONNECTIONS):
            with site.server.connect() as connection:
                assert 200 == connection.get(first).status
                assert b"lingered" == connection.get("/linger?ms=4").body
                check_hello(connection)
        took_s.append(time.monotonic() - begun)

    assert PAUSE_S * CONNECTIONS > took_s[-1], took_s


def test_half_closed_while_late(site: Site, flag: Flag) -> None:
    """A client that has closed its sending side still gets the answer that is being made."""
    with under_way(site.server, target("/hold", flag=flag)) as (connection,):
        flag.wait_started()
        connection.half_close()
        flag.lift()

        assert b"held" == connection.receive().body
        assert connection.at_end()


@pytest.mark.parametrize("threads", [1, 2, 16])
def test_access_log(serve: Servers, tmp_path: Path, threads: int, flag: Flag) -> None:
    """Each request is one line in the access log, late or not."""
    log = tmp_path / "access.log"
    logged = start(serve, tmp_path, threads, "--access-log", str(log))
    with under_way(logged.server, target("/hold", flag=flag, id=1), "/hello?id=2") as connections:
        flag.wait_started([1])
        flag.lift()
        assert [b"held1", b"hello2"] == [connection.receive().body for connection in connections]
    logged.server.stop()
    lines = log.read_text(encoding="utf-8").splitlines()

    assert 2 == len(lines)
    assert 1 == sum("GET /hold?" in line and '" 200 5' in line for line in lines), lines
    assert 1 == sum("GET /hello?" in line and '" 200 6' in line for line in lines), lines


def test_linted(site: Site) -> None:
    """After late answers, a 304 and a 404 of the file server are as they always are."""
    with site.server.connect() as connection:
        connection.send(
            request(target("/linger", ms=4))
            + request("/static/file.txt", fields=[("If-None-Match", "*")])
            + request("/static/none")
        )

        assert [200, 304, 404] == [
            connection.receive(Asked("GET", one)).status for one in ("/linger", "/static/file.txt", "/x")
        ]
