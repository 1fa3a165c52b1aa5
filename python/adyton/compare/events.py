"""Events that happen to a peer under load: its workers are replaced, or one of them is killed."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import threading
import time
from typing import TYPE_CHECKING

from adyton._processes import cpu_s_of, of_sessions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from adyton.compare.running import Server

RELOAD, KILL = "reload", "kill"
TURN_S = 20.0
"""Longest time for new workers to replace the old ones; after it the event counts as never finished."""
LOOK_S = 0.01
"""Time between two checks of the processes."""
REST_S = 0.3
"""Time between the end of an event and the next one."""


@contextlib.contextmanager
def going_on(event: str, server: Server) -> Iterator[list[float]]:
    """Causes events, one after the other, while the block runs; gives a list of their seconds."""
    took_s: list[float] = []
    over = threading.Event()
    act = {RELOAD: reload, KILL: kill}.get(event)

    def acting(act: Callable[[Server], float]) -> None:
        while not over.wait(REST_S):
            took_s.append(act(server))

    actor = threading.Thread(target=acting, args=(act,)) if act else None
    if actor:
        actor.start()
    try:
        yield took_s
    finally:
        over.set()
        if actor:
            actor.join()


def reload(server: Server) -> float:
    """Has the workers replaced; returns the time until as many new workers run, and no old one.

    Some servers end all old workers before they start new ones.
    """
    old = workers(server)
    began_s = time.monotonic()
    for leader in server.leaders:
        os.kill(leader, server.reload)

    def is_new() -> bool:
        now = workers(server)
        return not old & now and len(now) >= len(old)

    return until(is_new, server, began_s)


def kill(server: Server) -> float:
    """Kills the worker that has used most CPU time; returns the time until as many workers run as before."""
    old = workers(server)
    began_s = time.monotonic()
    busiest = max(old, key=cpu_s_of, default=None)
    if busiest is None:
        return math.inf
    with contextlib.suppress(ProcessLookupError):
        os.kill(busiest, signal.SIGKILL)
    return until(lambda: len(workers(server) - {busiest}) >= len(old), server, began_s)


def workers(server: Server) -> set[int]:
    """Returns the processes that the programs of a peer have started."""
    return {stat.pid for stat in of_sessions(set(server.leaders))} - server.leaders


def until(done: Callable[[], bool], server: Server, began_s: float) -> float:
    """Waits until ``done`` is true; returns the time since ``began_s``, infinite if that takes too long."""
    while not done():
        if time.monotonic() - began_s > TURN_S or server.how_it_ended():
            return math.inf
        time.sleep(LOOK_S)
    return time.monotonic() - began_s
