"""A server that lies or misbehaves in the way that its first argument names.

A second argument says when a stall begins, in seconds from the first request of the load.

Prints the port at which it listens. Ends when its standard input does.
"""

from __future__ import annotations

import collections
import itertools
import os
import random
import resource
import socket
import sys
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

RIGHT = b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nHello World!"
TO_HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n"
UNTIL_CLOSE = b"HTTP/1.1 200 OK\r\n\r\nHello World!"
SORRY = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nSorry"
SLOW_DOWN = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"
BAD_GATEWAY = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 12\r\n\r\nHello World!"
INTERIM = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"
STALL_FROM_S = float(sys.argv[2]) if len(sys.argv) > 2 else 2.0
STALL_S = 1.0
PACE_S = 0.005
"""Time for each answer if its speed does not matter, so that the other tests have the CPUs."""
PROBES = 3
"""Requests with which `adyton bench` learns what is right. It has more to do before the load begins."""
QUEUED_S = 0.005
BAN_REQUESTS, BAN_S = 50, 0.1
SORRY_FROM = 1000

_numbers = itertools.count(1)
_first_at: list[float] = []
_hits = [0.0]
_hits_lock = threading.Lock()
_lock = threading.Lock()
_free_at = [0.0]
_stalled_until: list[float] = []
_recent: collections.deque[float] = collections.deque()


def age() -> float:
    """Return the time since the first request came."""
    if not _first_at:
        _first_at.append(time.monotonic())
    return time.monotonic() - _first_at[0]


def age_of_load() -> float:
    """Return the time since the load began; zero before the load."""
    return age() if _first_at or next(_numbers) > PROBES else 0.0


def every_tenth(other: bytes, otherwise: bytes = RIGHT) -> bytes:
    """Return `other` for every tenth request."""
    return other if next(_numbers) % 10 == 0 else otherwise


def stalls() -> bytes:
    """Answer no request for a second, from the first request that comes late enough; then answer all."""
    with _lock:
        if not _stalled_until and age_of_load() > STALL_FROM_S:
            _stalled_until.append(time.monotonic() + STALL_S)
    time.sleep(max(PACE_S, _stalled_until[0] - time.monotonic()) if _stalled_until else PACE_S)
    return RIGHT


def hangs() -> bytes:
    """Answer no request any more after some time."""
    time.sleep(600 if age_of_load() > STALL_FROM_S else PACE_S)
    return RIGHT


def steps() -> bytes:
    """Take 5 ms for each answer, and after some time 100 ms."""
    time.sleep(0.005 if age_of_load() < STALL_FROM_S else 0.1)
    return RIGHT


def gets_slower() -> bytes:
    """Take longer from second to second."""
    time.sleep(0.002 + age_of_load() * 0.002)
    return RIGHT


def queued() -> bytes:
    """Answer one request after the other, each 5 ms after the last: 200 a second; more have to wait.

    The time of an answer is settled when its request comes, so a busy machine makes answers late, but not
    fewer.
    """
    with _lock:
        _free_at[0] = max(time.monotonic(), _free_at[0]) + QUEUED_S
        due = _free_at[0]
    time.sleep(max(0.0, due - time.monotonic()))
    return RIGHT


def fixed() -> bytes:
    """Take 50 ms, each time."""
    time.sleep(0.05)
    return RIGHT


def uneven() -> bytes:
    """Take from 25 to 125 ms; all times between are equally frequent."""
    time.sleep(0.025 + 0.001 * (next(_numbers) * 61 % 101))
    return RIGHT


def paced() -> bytes:
    """Take so long for each answer that other programs have the CPUs."""
    time.sleep(PACE_S)
    return RIGHT


def slow() -> bytes:
    """Answer right, but take 300 ms on average."""
    time.sleep(random.uniform(0.2, 0.4))
    return RIGHT


def never() -> bytes:
    """Keep every tenth request waiting for longer than any client waits."""
    if next(_numbers) % 10 == 0:
        time.sleep(600)
    return RIGHT


def sorry() -> bytes:
    """Answer with a page of regret, and status 200, after too many requests."""
    if next(_numbers) > SORRY_FROM:
        return SORRY
    time.sleep(0.002)
    return RIGHT


def bans() -> bytes:
    """Answer every request wrong while more than 500 a second come."""
    now = time.monotonic()
    with _lock:
        _recent.append(now)
        while _recent[0] < now - BAN_S:
            _recent.popleft()
        return SLOW_DOWN if len(_recent) > BAN_REQUESTS else RIGHT


def hangs_behind(answer: bytes) -> Callable[[], bytes]:
    """Send this answer for every tenth request, and nothing more on the same connection."""
    return lambda: every_tenth(answer)


def hits() -> bytes:
    """Tell the count as `adyton.counting` does."""
    body = b'{"hits": %d, "processes": 1}' % _hits[0]
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


ANSWERS: dict[str, Callable[[], bytes]] = {
    "honest": lambda: RIGHT,
    "bad-gateway": lambda: every_tenth(BAD_GATEWAY),
    "cut-short": lambda: every_tenth(RIGHT[:-3]),
    "empty": lambda: every_tenth(b""),
    "wrong-object": lambda: every_tenth(RIGHT.replace(b"World", b"Wolrd")),
    "wrong-length": lambda: every_tenth(RIGHT.replace(b"12", b"11")[:-1]),
    "malformed": lambda: every_tenth(b"HTTP/1.1 200 OK\r\nContent-Length: twelve\r\n\r\nHello World!"),
    "wrong-length-to-head": lambda: every_tenth(TO_HEAD.replace(b"12", b"99"), TO_HEAD),
    "cut-until-close": lambda: every_tenth(UNTIL_CLOSE[:-3], UNTIL_CLOSE),
    "cut-at-once": lambda: RIGHT[:-3],
    "cut-in-head": lambda: RIGHT[:20],
    "silent": lambda: b"",
    "hangs-at-once": lambda: RIGHT[:-3],
    "sorry": sorry,
    "bans": bans,
    "bulk": lambda: RIGHT,
    "twice": lambda: every_tenth(RIGHT * 2),
    "stalls": stalls,
    "hangs": hangs,
    "steps": steps,
    "gets-slower": gets_slower,
    "queued": queued,
    "fixed": fixed,
    "uneven": uneven,
    "slow": slow,
    "never": never,
    "no-more-head": hangs_behind(RIGHT[:20]),
    "no-body": hangs_behind(TO_HEAD),
    "no-more-body": hangs_behind(RIGHT[:-5]),
    "interim-only": hangs_behind(INTERIM * 3),
    "interim": lambda: INTERIM * 100 + RIGHT,
    "bare-lf": lambda: every_tenth(RIGHT.replace(b"\r\n", b"\n")),
    "two-framings": lambda: every_tenth(TWO_FRAMINGS),
    "long-head": lambda: every_tenth(RIGHT.replace(b"\r\n", b"\r\n" + b"A: %b\r\n" % (b"x" * 95) * 1000, 1)),
    "endless-head": lambda: every_tenth(
        RIGHT.replace(b"\r\n", b"\r\n" + b"A: %b\r\n" % (b"x" * 95) * 3100, 1)
    ),
    "other-status": lambda: every_tenth(RIGHT.replace(b"200 OK", b"203 Other")),
    "early": lambda: RIGHT,
    "closes-kept": lambda: RIGHT,
    "starves": paced,
    "cached": lambda: RIGHT.replace(b"\r\n", b"\r\nContent-Encoding: gzip\r\nAge: 7\r\nX-Cache: HIT\r\n", 1),
    "differs": lambda: RIGHT.replace(b"Hello", b"%05d" % next(_numbers)),
    "small-queue": lambda: RIGHT,
    "mixes-up": lambda: RIGHT,
    "snubs-slow": lambda: RIGHT,
    "cache": lambda: RIGHT,
    "asks-twice": lambda: RIGHT,
    "holds": lambda: RIGHT,
}
CHUNKED = b"c\r\nHello World!\r\n0\r\n\r\n"
TWO_FRAMINGS = b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKED
OTHERS = RIGHT.replace(b"12", b"13").replace(b"World", b"Others")
MIXES_UP = "mixes-up"
"""Answers each tenth request for `/others` as if it were for another path."""
SNUBS_SLOW = "snubs-slow"
"""Answers a request that comes in pieces with another body."""
HITS = {"cache": 0.1, "asks-twice": 2.0}
"""How many hits of the application these liars claim for each request."""
CUTS = {"cut-short", "empty", "cut-until-close", "cut-at-once", "cut-in-head", "silent"}
"""Liars that close the connection after an answer that is not whole, or that only the close ends."""
SILENT_AFTER = {"no-more-head", "no-body", "no-more-body", "interim-only"}
"""Liars that send nothing after an answer that is not whole, and keep the connection."""
EARLY = "early"
"""Answers each client before its request comes, except the first clients, which learn the right answer."""
CLOSES_KEPT, KEPT = "closes-kept", 9
"""Closes each connection without notice after so many answers."""
STARVES, STARVED_S = "starves", 0.5
"""Lets one connection wait for so long before each answer."""
HOLDS, HELD = "holds", 2 << 20
"""Uses so many bytes of memory for each open connection."""
BULK = "bulk"
"""Answers all requests that have come with one send, without a look at them."""


def before(kind: str, number: int, answered: int) -> bool:
    """Wait before an answer, if the lie demands it; return whether to close the connection instead."""
    if kind == STARVES and number == PROBES + 1:
        time.sleep(STARVED_S)
    return kind == CLOSES_KEPT and answered == KEPT


def serve(connection: socket.socket, kind: str, number: int) -> None:  # noqa: C901 - a branch for each lie
    """Answer each request of one connection; an answer that is not whole ends the connection."""
    held, pieces, answered = b"", 0, 0
    _needed = bytearray(b"x") * (HELD if kind == HOLDS else 0)
    with connection:
        if kind == EARLY:
            if number <= PROBES:
                connection.recv(65536)
            connection.sendall(RIGHT)
            while connection.recv(65536):
                pass
            return
        while data := connection.recv(65536):
            if kind == BULK:
                asked, _, held = (held + data).rpartition(b"\r\n\r\n")
                connection.sendall(RIGHT * (asked.count(b"\r\n\r\n") + bool(asked)))
                continue
            held, pieces = held + data, pieces + 1
            while b"\r\n\r\n" in held:
                head, _, held = held.partition(b"\r\n\r\n")
                if before(kind, number, answered):
                    return
                is_other = kind == MIXES_UP and b" /others " in head
                answer = every_tenth(RIGHT, OTHERS) if is_other else ANSWERS[kind]()
                if kind == SNUBS_SLOW and pieces > 1:
                    answer = OTHERS
                if b" /.adyton-hits" in head:
                    answer = hits()
                else:
                    with _hits_lock:
                        _hits[0] += HITS.get(kind, 0.0)
                pieces, answered = 0, answered + 1
                connection.sendall(answer)
                if kind in SILENT_AFTER and answer != RIGHT:
                    time.sleep(600)
                if (kind in CUTS and answer != RIGHT) or b"connection: close" in head.lower():
                    return


def main() -> None:
    """Listen and serve, a thread for each connection."""
    kind = sys.argv[1]
    _, descriptors_max = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors_max, descriptors_max))
    listener = socket.create_server(("127.0.0.1", 0), backlog=8 if kind == "small-queue" else 1024)
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    for number in itertools.count(1):
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=serve, args=(connection, kind, number), daemon=True).start()
        if kind == "small-queue" and age() > 0.2:
            time.sleep(0.05)


if __name__ == "__main__":
    main()
