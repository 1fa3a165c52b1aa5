"""A request that takes too long is ended, answered, and reported with the place where it hung."""

from __future__ import annotations

import os
import random
import re
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import adyton
import pytest

from support.client import request
from support.server import until
from threads.scenes import APPLICATION, PATIENCE_S, let_go, receive_all, start, target, under_way

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.http import Response
    from support.server import Servers
    from threads.scenes import Site

HANGING = APPLICATION.with_name("hanging.py")
LINES = dict(enumerate(HANGING.read_text(encoding="utf-8").splitlines(), 1))
THREADS = pytest.mark.parametrize("threads", [1, 2, 16])
ITEMS = 100
"""Items of 64 KiB: more than the kernel keeps for a client that does not read."""
TIMEOUT_MS = 20
"""Timeout of the race."""
RACES = 60


@pytest.fixture
def impatient(serve: Servers, tmp_path: Path) -> Callable[[int], Site]:
    """Return a function that starts a server that lets a request take 300 ms, or another time."""

    def start_impatient(threads: int, *flags: str, timeout: str = "300ms", of: str = "application") -> Site:
        return start(serve, tmp_path, threads, f"--request-timeout={timeout}", *flags, file=HANGING, of=of)

    return start_impatient


def assert_timed_out(response: Response) -> None:
    """Check a 504: a small page of the server's own."""
    assert 504 == response.status
    assert re.match("text/html", response["Content-Type"])
    assert b"504" in response.body
    assert "X-Lost" not in response


def test_exception() -> None:
    """`RequestTimeout` is no Exception: code that catches all errors of a request does not catch it."""
    assert issubclass(adyton.RequestTimeout, BaseException)
    assert not issubclass(adyton.RequestTimeout, Exception)
    assert "RequestTimeout" in adyton.__all__


@THREADS
@pytest.mark.parametrize("by", ["sleeping", "computing"])
def test_hung(impatient: Callable[[int], Site], threads: int, by: str) -> None:
    """The exception is raised where the request hangs; `finally` sees it, `except Exception` does not."""
    site = impatient(threads)
    asked = target("/hang", by=by, name="hung")
    begun = time.monotonic()
    with site.server.connect() as connection:
        response = connection.get(asked)
        assert_timed_out(response)
        assert 0.25 < time.monotonic() - begun
        if response.closing:
            assert connection.at_end()
        else:
            assert b"hello" == connection.get("/hello").body
    _, raised, last = site.wait_noted("hung", "finally")

    assert raised.startswith("adyton.")
    assert raised.endswith(".RequestTimeout")
    assert "finally" == last
    site.wait_for(lambda counters: counters["timed_out"] == 1)
    assert 0 == site.counters()["stuck"]


@THREADS
@pytest.mark.parametrize("by", ["sleeping", "computing"])
def test_log(impatient: Callable[[int], Site], threads: int, by: str) -> None:
    """The log has the request line, and the Python stack with the line where it hung."""
    site = impatient(threads)
    function = "hang" if by == "sleeping" else "hang_computing"
    asked = target("/hang", by=by, name="logged")
    assert_timed_out(site.server.fetch(asked))
    text = site.server.wait_for_log(rf"\bin {function}$")

    assert asked in text
    assert "in hangs" in text
    expression = re.compile(rf'hanging\.py", line ([0-9]+), in {function}$', re.MULTILINE)
    places = [int(line) for line in expression.findall(text)]
    begin = next(number for number, line in LINES.items() if line == f"def {function}() -> None:")

    assert 1 <= len(places)
    assert all(begin < place <= begin + 4 for place in places)


@THREADS
@pytest.mark.parametrize("status", [200, 503])
def test_caught(impatient: Callable[[int], Site], threads: int, status: int) -> None:
    """If the application catches the exception and answers, that answer is sent."""
    site = impatient(threads)
    response = site.server.fetch(target("/hang", by="sleeping", name="caught", catch=status))

    assert (status, b"caught") == (response.status, response.body)
    assert "adyton" in "".join(map(str, site.notes("caught")))
    assert b"hello" == site.server.fetch("/hello").body


@THREADS
def test_started(impatient: Callable[[int], Site], threads: int) -> None:
    """A status and fields given to `start_response` are forgotten, because nothing of them was sent."""
    site = impatient(threads)

    assert_timed_out(site.server.fetch("/hang-started"))


@THREADS
def test_midway(impatient: Callable[[int], Site], threads: int) -> None:
    """An answer that has begun is cut, so that the client knows; its iterable is closed."""
    site = impatient(threads)
    with site.server.connect() as connection:
        response = connection.get(target("/hang-midway", name="midway"))

        assert 200 == response.status
        assert b"begun" == response.body
        assert not response.complete
    site.wait_noted("midway", "finally")
    site.server.wait_for_log(r"\bin hang$")
    site.server.wait_for_log("(has given nothing more for|takes) longer than --request-timeout allows")


@THREADS
@pytest.mark.parametrize("way", ["items", "write"])
def test_stream_that_goes_on(impatient: Callable[..., Site], threads: int, way: str) -> None:
    """The time counts from each item to the next: an answer may last for longer, as long as it goes on."""
    site = impatient(threads, timeout="1500ms")
    response = site.server.fetch(target("/ticks", way=way, ms=100, count=20))

    assert response.complete
    assert b"tick" * 20 == response.body
    assert 0 == site.counters()["timed_out"]


@THREADS
@pytest.mark.parametrize("way", ["items", "write"])
def test_total(impatient: Callable[..., Site], threads: int, way: str) -> None:
    """`--request-total-timeout` limits the time of a whole answer, and no item puts its end off."""
    site = impatient(threads, "--request-total-timeout=500ms", timeout="60s")
    with site.server.connect() as connection:
        response = connection.get(target("/ticks", way=way, ms=20))

        assert response.body.startswith(b"tick")
        assert not response.complete
    site.server.wait_for_log(r"/ticks\S+ takes longer than --request-total-timeout allows")
    site.wait_for(lambda counters: counters["timed_out"] == 1)


def leave_midway(site: Site, asked: str) -> None:
    """Ask for an answer without an end, and go away when the server waits for its reader."""
    with site.server.connect() as connection:
        connection.send(request(asked))
        assert connection.socket.recv(1)
        site.wait_settled()


@THREADS
def test_at_the_end(impatient: Callable[[int], Site], threads: int) -> None:
    """If the client of an answer has gone, closing the answer may take no longer than a request may."""
    site = impatient(threads)
    leave_midway(site, target("/hang-at-the-end", by="sleeping", name="end"))
    assert b"hello" == site.server.fetch("/hello").body, "others wait for it"
    site.wait_noted("end", "RequestTimeout")

    assert ["closed", "RequestTimeout"] == site.notes("end")
    site.server.wait_for_log(r"\bin items$")
    # With one thread the loop waits for the reader itself; with more threads, a late thread waits in its
    # request.
    told = (
        "the rest of an answer takes" if threads == 1 else r"the rest of an answer takes|/hang-at-the-end\?"
    )
    # The thread that reports the timeout is not the thread that was interrupted.
    site.server.wait_for_log(told)
    site.wait_for(lambda counters: counters["timed_out"] == 1)
    site.wait_settled()
    for number in range(3):
        assert f"busy44850{number}".encode() == site.server.fetch(target("/busy", id=number)).body


@THREADS
def test_does_not_react_at_the_end(impatient: Callable[[int], Site], tmp_path: Path, threads: int) -> None:
    """A thread that hangs while it closes an answer is reported, and ends when it comes back."""
    site = impatient(threads)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    leave_midway(site, target("/hang-at-the-end", by="c", name="end", fifo=fifo))
    site.server.wait_for_log("does not react", timeout_s=PATIENCE_S)
    site.wait_for(lambda counters: counters["stuck"] == 1)
    let_go(fifo)
    site.wait_noted("end", "RequestTimeout")
    site.wait_settled()


@THREADS
def test_does_not_react(impatient: Callable[[int], Site], tmp_path: Path, threads: int) -> None:
    """A thread that sits in a call outside Python is reported; it ends when it comes back."""
    site = impatient(threads)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    asked = target("/hang", by="c", name="stuck", fifo=fifo)
    with under_way(site.server, asked) as (connection,):
        text = site.server.wait_for_log("does not react", timeout_s=PATIENCE_S)
        assert "/hang?" in text
        assert_timed_out(connection.receive())
        site.wait_for(lambda counters: counters["stuck"] == 1)
        let_go(fifo)
    told = site.wait_noted("stuck", "finally")

    assert told[1].endswith(".RequestTimeout")
    site.wait_settled()
    assert b"hello" == site.server.fetch("/hello").body


@THREADS
def test_keeps_the_interpreter(impatient: Callable[[int], Site], tmp_path: Path, threads: int) -> None:
    """While a request keeps the interpreter, and cannot be interrupted, it is reported and answered once."""
    site = impatient(threads)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with under_way(site.server, target("/hang", by="holding", name="holding", fifo=fifo)) as (connection,):
        try:
            assert_timed_out(connection.receive())
        finally:
            let_go(fifo)

    # Without a lock the request keeps only its own thread.
    log = site.server.wait_for_log("does not react|is not reached", timeout_s=PATIENCE_S)
    assert "/hang?" in log
    _, raised, last = site.wait_noted("holding", "finally")
    assert raised.endswith(".RequestTimeout")
    assert "finally" == last
    site.wait_settled()
    assert (1, 1) == (site.counters()["timed_out"], site.counters()["stuck"])
    assert b"hello" == site.server.fetch("/hello").body


def test_one_stuck_after_another(impatient: Callable[[int], Site], tmp_path: Path) -> None:
    """A lost thread does not disturb a later connection that has the place of the thread's own."""
    site = impatient(4)
    fifos = [tmp_path / f"fifo{number}" for number in range(3)]
    for fifo in fifos:
        os.mkfifo(fifo)
        assert_timed_out(site.server.fetch(target("/hang", by="c", name=fifo.name, fifo=fifo)))
    site.wait_for(lambda counters: counters["stuck"] == 3)
    for fifo in fifos:
        let_go(fifo)
        site.wait_noted(fifo.name, "finally")
    site.wait_settled()


@pytest.mark.parametrize("threads", [2, 16])
def test_others_go_on(impatient: Callable[..., Site], tmp_path: Path, threads: int) -> None:
    """While some requests are stuck, others are served; afterwards all threads are there again."""
    site = impatient(threads, timeout="2s")
    fifos = [tmp_path / f"fifo{number}" for number in range(threads - 1)]
    for fifo in fifos:
        os.mkfifo(fifo)
    targets = [target("/hang", by="c", name=fifo.name, fifo=fifo) for fifo in fifos]
    with under_way(site.server, *targets) as connections:
        for connection in connections:
            assert_timed_out(connection.receive())
        assert [b"hello"] * 20 == [site.server.fetch("/hello").body for _ in range(20)]
        for fifo in fifos:
            let_go(fifo)
    for fifo in fifos:
        site.wait_noted(fifo.name, "finally")
    site.wait_settled()
    meet = [target("/meet", n=threads, name="all")] * threads
    with under_way(site.server, *meet) as connections:
        assert [b"met"] * threads == [response.body for response in receive_all(connections)]


@THREADS
def test_handler(impatient: Callable[[int], Site], threads: int) -> None:
    """Handlers are interrupted like WSGI applications."""
    site = impatient(threads, of="handler")

    assert_timed_out(site.server.fetch("/"))
    assert b"caught" == site.server.fetch("/?catch=1").body
    site.server.wait_for_log(r"\bin hang$")


def test_off(serve: Servers, tmp_path: Path) -> None:
    """With `--request-timeout=0` a request may take as long as it likes."""
    site = start(serve, tmp_path, 2, "--request-timeout=0", file=HANGING)

    assert b"lingered" == site.server.fetch("/linger?ms=1500").body
    assert 0 == site.counters()["timed_out"]


@THREADS
def test_time_in_the_queue_does_not_count(impatient: Callable[..., Site], threads: int) -> None:
    """The time of a request counts from the moment at which it begins to run."""
    site = impatient(threads, timeout="3s")
    targets = [target("/linger", ms=800, id=number) for number in range(4 * threads)]
    with under_way(site.server, *targets) as connections:
        assert [b"lingered%d" % number for number in range(len(targets))] == [
            response.body for response in receive_all(connections)
        ]
    assert 0 == site.counters()["timed_out"]


@THREADS
@pytest.mark.parametrize("way", ["pour", "pour-generator", "pour-write"])
def test_time_for_a_reader_does_not_count(impatient: Callable[..., Site], threads: int, way: str) -> None:
    """Time for a slow reader does not count, as long as the application does not hang."""
    site = impatient(threads, timeout="1500ms")
    with site.server.connect(receive_buffer_bytes=4096) as connection:
        connection.send(request(target(f"/{way}", name="read", items=ITEMS), version="1.0"))
        assert connection.reader.fill()
        time.sleep(2)
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        response = connection.receive()

        assert response.complete
        assert ITEMS << 16 == len(response.body)
    assert 0 == site.counters()["timed_out"]


@THREADS
def test_time_for_a_sender_does_not_count(impatient: Callable[..., Site], threads: int) -> None:
    """Time for a slow sender does not count when the application reads the body as it comes."""
    site = impatient(threads, "--stream-body=on")
    with site.server.connect() as connection:
        fields = [("Content-Length", "10")]
        connection.send(request(target("/upload", how="all", name="sent"), method="POST", fields=fields))
        for _ in range(10):
            time.sleep(0.1)
            connection.send(b"x")

        assert b"x" * 10 == connection.receive().body
    assert 0 == site.counters()["timed_out"]


def race(site: Site, turn: str, us: int) -> list[tuple[str, Response]]:
    """Ask for a page that takes about the allowed time, then for three quick ones; return the answers."""
    slow, *quick = target("/near", us=us, id=turn), *(target("/busy", id=f"{turn}.{n}") for n in range(3))
    answers = [(slow, site.server.fetch(slow))]
    with site.server.connect() as connection:
        for one in quick:
            answers.append((one, connection.get(one)))
            if answers[-1][1].status == 504:
                break
    return answers


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_never_the_next_request(serve: Servers, tmp_path: Path, threads: int) -> None:
    """However close an answer is to its timeout, the exception never strikes in the next request.

    The log says of each request that was answered 504 that the request took too long.
    """
    site = start(serve, tmp_path, threads, f"--request-timeout={TIMEOUT_MS}ms", file=HANGING)
    answers: list[tuple[str, Response]] = []

    def client(number: int) -> None:
        chance = random.Random(number)
        us, step = 1000.0 * TIMEOUT_MS, 1.2
        for turn in range(RACES):
            asked_us = int(us * chance.uniform(0.98, 1.02))
            came = race(site, f"{number}.{turn}", asked_us)
            answers.extend(came)
            # Home in on the moment at which the server really ends a request.
            step = 1.03 if came[0][1].status == 504 else step
            us = us / step if came[0][1].status == 504 else us * step

    with ThreadPoolExecutor(threads) as clients:
        list(clients.map(client, range(threads)))
    struck = {one for one, answer in answers if answer.status == 504}

    def ended() -> set[str]:
        # If a request gets no CPU for a second, the server answers in its place.
        why = "takes longer than|was interrupted|is not reached"
        return set(re.findall(rf"GET (\S+) (?:{why})", site.server.log()))

    # Another thread writes the line, perhaps after the answer.
    assert until(lambda: struck <= ended()), f"struck for another one: {struck - ended()}"
    for one, answer in answers:
        if answer.status != 504:
            assert 200 == answer.status
            assert (b"near" if "/near" in one else f"busy44850{one[9:]}".encode()) == answer.body
    assert {200, 504} == {answer.status for one, answer in answers if "/near" in one}, "this was no race"
    assert "Traceback" not in site.server.log()
    site.wait_settled()
    meet = [target("/meet", n=threads, name="all")] * threads
    with under_way(site.server, *meet) as connections:
        assert threads == len(receive_all(connections))
