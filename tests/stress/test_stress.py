"""Random requests of all kinds at once, for minutes: all answers must be right, and nothing may be left.

`ADYTON_STRESS_SECONDS` is the time for each variant; `ADYTON_STRESS_SEED` repeats a run as far as threads
can be repeated.
"""

from __future__ import annotations

import os
import random
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from stress.clients import Client
from support.server import until
from threads.scenes import PATIENCE_S, meet, start

if TYPE_CHECKING:
    from support.server import Server, Servers
    from threads.scenes import Site

APPLICATION = Path(__file__).with_name("application.py")
SECONDS = float(os.environ.get("ADYTON_STRESS_SECONDS", "60"))
SECONDS_SOON = 5.0
SECONDS_WARM = 2.0
CLIENTS = 24
JOIN_S = 60.0
"""Every request that has begun ends within this time, however many are before it."""

GROWTH_BYTES_MAX = 32 << 20
"""Growth that is no leak: buffers and stacks of threads fragment the heap of the C library."""
ROUNDS_MAX = 3
"""The most rounds: a thread's heap grows until it has served all kinds of requests; a leak always grows."""
OBJECTS_MAX = 200
BLOCKS_MAX = 2_000
"""Growth of a count above which there is a leak; after the warm-up, counts still vary a little."""

ENTRY = re.compile(r"^\[[^]]+ GMT\] (?:request \S+ )?(?:ADY\d+ )?(error|warning): (.*)$", re.MULTILINE)
EXPECTED = re.compile(
    r"GET /fail\?how=(call|started|midway)\S* failed:|the close\(\) of an application's body failed:"
)

MALFORMED = re.compile(
    r"refused (?:in \d+ s, the last one from \S+, )?with 400: "
    r"A field has whitespace in its name or before its colon\."
)
"""Log lines that are written immediately at first, and later at most once a minute."""


def tasks(server: Server) -> int:
    """Return the number of threads of the process."""
    return sum(1 for _ in Path(f"/proc/{server.process.pid}/task").iterdir())


def state(site: Site) -> dict[str, Any]:
    """Return the counts of application and server, when all requests whose clients have left are over."""
    counted: dict[str, Any] = {}

    def is_over() -> bool:
        site.wait_settled()
        counted.update(site.server.fetch("/state").json(), counters=site.counters())
        return (
            counted["calls"] == ran(counted)
            and counted["opened"] == counted["closed"]
            and counted["inside"] == 1
        )

    until(is_over, PATIENCE_S)
    return counted


def ran(counted: dict[str, Any]) -> int:
    """Return how many calls the server has counted."""
    counters: dict[str, int] = counted["counters"]
    return sum(counters[way] for way in ("inline", "handed_over", "queued")) - counters["departed"]


def load(site: Site, seed: str, seconds: float) -> list[Client]:
    """Run clients for so long; every answer that they get must be right."""
    clients = [Client(site.server.address, f"{seed}.{number}", site.threads) for number in range(CLIENTS)]
    for client in clients:
        client.start()
    end = time.monotonic() + seconds
    while time.monotonic() < end and not any(client.failures for client in clients):
        time.sleep(0.05)
    for client in clients:
        client.stop()
    stuck = [client.seed for client in clients if not client.join(JOIN_S)]
    failures = [failure for client in clients for failure in client.failures]

    assert [] == failures, "\n".join([*failures, str(site.counters()), *unexpected(site.server.log())])
    assert [] == stuck
    return clients


def told(log: str) -> list[str]:
    """Return the errors and warnings, except about requests that were malformed on purpose."""
    return [message for _, message in ENTRY.findall(log) if not MALFORMED.search(message)]


def unexpected(log: str) -> list[str]:
    """Return the errors and warnings that are not about failures on purpose."""
    return [message for message in told(log) if not EXPECTED.match(message)]


def check_log(site: Site, failed: int) -> None:
    """Check that the log tells of the failures on purpose, once each, and of nothing else."""
    log = site.server.log()

    assert [] == unexpected(log)
    assert failed == len(told(log))
    assert failed == log.count("Traceback (most recent call last)")


def stress(site: Site, seconds: float) -> None:
    """Warm up, run the clients, and compare the state before and after."""
    seed = os.environ.get("ADYTON_STRESS_SEED") or f"{random.SystemRandom().randrange(1 << 32):08x}"
    sys.stdout.write(f"ADYTON_STRESS_SEED={seed}\n")
    if site.threads > 1 and "--hand-over=never" not in str(site.server.process.args):
        meet(site, "all")  # so that all threads have started
    first = Client(site.server.address, f"{seed}.first", site.threads)
    first.try_each()  # things that a first request imports and keeps are no leak
    loads = [[first], load(site, f"{seed}.warm", SECONDS_WARM)]
    before, fds = state(site), site.server.resting_fds()
    threads = tasks(site.server)
    for number in range(ROUNDS_MAX):
        rss = site.server.rss()
        loads.append(load(site, f"{seed}.{number}", seconds))
        state(site)
        growth = site.server.rss() - rss
        if growth < GROWTH_BYTES_MAX:
            break

    assert site.server.settles_at_fds(fds), (fds, site.server.fds())
    assert until(lambda: tasks(site.server) <= threads), (threads, tasks(site.server))
    after = state(site)
    assert after["opened"] == after["closed"]
    assert 1 == after["inside"]
    assert before["threads"] >= after["threads"]
    assert OBJECTS_MAX > after["objects"] - before["objects"]
    assert BLOCKS_MAX > after["blocks"] - before["blocks"]
    assert GROWTH_BYTES_MAX > growth
    assert {0} == {after["counters"][name] for name in ("turned_away", "timed_out", "stuck")}
    assert after["calls"] == ran(after)
    check_log(site, sum(client.failed_on_purpose for clients in loads for client in clients))


def start_stressed(servers: Servers, folder: Path, threads: int, hand_over: str) -> Site:
    """Serve the application with a queue timeout so long that no request is refused."""
    return start(
        servers,
        folder,
        threads,
        f"--hand-over={hand_over}",
        "--queue-timeout=10m",
        file=APPLICATION,
        env={"PYTHONPATH": str(APPLICATION.parent.parent)},
    )


@pytest.mark.long
@pytest.mark.parametrize("threads", [1, 2, 16])
@pytest.mark.parametrize("hand_over", ["auto", "always", "never"])
def test_stress(serve: Servers, tmp_path: Path, hand_over: str, threads: int) -> None:
    """One, few or many threads, with the loop handed over when needed, always or never, must hold out."""
    stress(start_stressed(serve, tmp_path, threads, hand_over), SECONDS)


def test_soon(serve: Servers, tmp_path: Path) -> None:
    """Most faults show within seconds, so there is a short run, too."""
    stress(start_stressed(serve, tmp_path, 16, "auto"), SECONDS_SOON)
