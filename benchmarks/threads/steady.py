"""The cases with closed loops: what is slow beside what is fast, and many connections beside few."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, cast

import client
import cost
import servers
import sides
from generator import Group, Times, calibrate, measure
from load import LoadCase
from rows import Case, Column
from turns import Turns, taking_part

if TYPE_CHECKING:
    from generator import Found, Page, Result, ThreadsRun, Tick
    from rows import Row, Run
    from servers import Server

SLOW_MS = 10.0
IDEAL_PER_S = sides.THREADS * 1e3 / SLOW_MS
COMPUTE_MS = 50.0
MIX = {"slow": "101", "hello": "011"}
"""A second with the slow page alone, one with hello alone, one with both, and again."""
MIX_BOTH = 2
MANY = 10_000
MANY_S = 3
"""At least, so that all have their turn on a slow machine too."""
WINDOW = 64


def asked(name: str, page: Page, connections: int, **more: object) -> Group:
    """Returns a closed loop."""
    return Group(name, page, connections, more=tuple(more.items()))


def loop(server: Server, run: ThreadsRun, *groups: Group, awake: bool = False) -> dict[str, Found]:
    """Asks for so long as the command line says; every answer must be right."""
    return measure(server, run, groups, Times(run.secs, awake=awake)).require().groups


def alone(server: Server, run: ThreadsRun, group: Group, *, awake: bool = False) -> Found:
    """Asks for one page alone; there must be answers, or there is nothing to compare with."""
    found = loop(server, run, group, awake=awake)[group.name]
    if not found.rate:
        raise client.WrongAnswerError(f"{group.name}: no answer within {run.secs} s")
    return found


def worst_p99(found: Found, ticks: tuple[Tick, ...]) -> float:
    """Returns the highest p99 of some seconds; one without any answer is as bad as can be."""
    return max(tick.p99_ms if tick.ok else found.latency.max for tick in ticks)


def measure_cost(run: Run) -> list[Row]:
    """Measures what a request costs, with wrk, as the other benchmarks do."""
    threads_run = cast("ThreadsRun", run)
    specs = (ONE_THREAD, SIXTEEN_THREADS, *sides.peers("hello_wsgi"))
    return LoadCase(taking_part(specs, threads_run), cost.Load(connections=64))(run)


def sleep(server: Server, run: ThreadsRun) -> dict[str, float]:
    """Asks for the slow page on as many connections as there are threads, and on eight times as many."""
    asleep = alone(server, run, asked("slow", sides.SLOW, sides.THREADS))
    figures = {"asleep_64": 100 * asleep.rate / IDEAL_PER_S}
    for connections in (64, 512):
        found = alone(server, run, asked("slow", sides.SLOW, connections), awake=True)
        figures |= {
            f"rate_{connections}": found.rate,
            f"share_{connections}": 100 * found.rate / IDEAL_PER_S,
            f"p50_{connections}": found.latency.p50,
            f"p99_{connections}": found.latency.p99,
            f"fair_{connections}": found.latency.p99 / (connections * 1e3 / IDEAL_PER_S),
            f"fewest_{connections}": 100 * found.fewest * connections / (found.rate * run.secs),
        }
    return figures


def both(server: Server, run: ThreadsRun) -> dict[str, float]:
    """Asks for the slow page and for hello: each alone, at once, and in a mix that changes every second."""
    slow, hello = asked("slow", sides.SLOW, 64), asked("hello", sides.HELLO, 16)
    before = {group.name: alone(server, run, group).rate for group in (slow, hello)}
    together = loop(server, run, slow, hello)
    mixed = (
        asked("slow", sides.SLOW, 64, active=MIX["slow"]),
        asked("hello", sides.HELLO, 16, active=MIX["hello"]),
    )
    mix = measure(server, run, mixed, Times(3 * ((2 * run.secs + 2) // 3))).require().groups
    figures: dict[str, float] = {}
    for name in ("slow", "hello"):
        seconds = mix[name].series[MIX_BOTH::3]
        figures |= {
            f"{name}_alone": before[name],
            f"{name}_kept": 100 * together[name].rate / before[name],
            f"{name}_p99": together[name].latency.p99,
            f"{name}_mix_kept": 100 * statistics.mean(tick.ok for tick in seconds) / before[name],
            f"{name}_mix_p99": worst_p99(mix[name], seconds),
        }
    return figures


def compute(server: Server, run: ThreadsRun) -> dict[str, float]:
    """Asks for a page that computes, and for a static file: each alone, then at once."""
    computing = asked("compute", calibrate(run.python, COMPUTE_MS), 4)
    static = asked("static", sides.STATIC, 16)
    before = {group.name: alone(server, run, group).rate for group in (computing, static)}
    together = loop(server, run, computing, static)
    return {
        "compute_alone": before["compute"],
        "static_alone": before["static"],
        "compute_kept": 100 * together["compute"].rate / before["compute"],
        "compute_p99": together["compute"].latency.p99,
        "static_kept": 100 * together["static"].rate / before["static"],
        "static_p99": together["static"].latency.p99,
        "static_max": together["static"].latency.max,
    }


def many(server: Server, run: ThreadsRun) -> dict[str, float]:
    """Asks on few connections and on many, with as many requests under way."""
    figures: dict[str, float] = {}
    for connections in (WINDOW, MANY):
        group = asked("hello", sides.HELLO, connections, window=WINDOW)
        times = Times(max(run.secs, MANY_S), warm=1.0)
        result = measure(server, run, (group,), times).require()
        found = result.groups["hello"]
        if not found.fewest:
            raise client.WrongAnswerError(f"not all of {connections} connections had their turn")
        figures |= {f"rate_{connections}": found.rate, f"cpu_{connections}": per_request(result, found)}
        figures |= {f"p99_{connections}": found.latency.p99}
    return figures | {"ratio": figures[f"cpu_{MANY}"] / figures[f"cpu_{WINDOW}"]}


def per_request(result: Result, found: Found) -> float:
    """Returns the server's CPU time for each right answer, in microseconds."""
    return result.cpu_us / (found.rate * result.secs)


ONE_THREAD = sides.adyton("adyton, --threads 1", 1, app="hello_wsgi")
SIXTEEN_THREADS = sides.adyton("adyton, --threads 16", 16, app="hello_wsgi")
ADYTON_STATIC = sides.adyton("adyton", sides.THREADS, sides.STATIC_FILES)
ADYTON_ALIKE = sides.adyton("adyton, --slow-nice 0", sides.THREADS, f"--slow-nice 0 {sides.STATIC_FILES}")
ADYTON_MANY = sides.adyton("adyton, --threads 16", 16)
GUNICORN_STATIC = sides.gunicorn("threads_whitenoise", ", WhiteNoise", "--env STATIC_ROOT={work}/files ")

COST = Case(
    "cost",
    "1. Hello from WSGI: what many threads cost",
    "wrk, 64 keep-alive connections; the ratio is to the first row.",
    (
        Column("requests_per_s", "requests/s", 0),
        Column("cpu_us", "CPU µs/request", 2),
        Column("ratio", "× one thread", 3, spread=True),
        Column("p99_us", "p99 µs", 0),
    ),
    measure_cost,
)
SLEEP = Case(
    "sleep",
    "2. A page that waits 10 ms, 64 threads",
    "64 and 512 connections; ideal are 6,400 requests/s. The load looks for answers all the time: an idle "
    "CPU of a virtual machine takes up to 0.1 ms to wake, which is no server's time; `asleep` is the share "
    "with a load that sleeps until an answer comes. The fair share is what each waits if all wait alike, 10 "
    "ms and 80 ms. Fewest: answers on the connection that had the fewest, of the average.",
    (
        Column("rate_64", "64: requests/s", 0),
        Column("share_64", "% of ideal", 1, spread=True),
        Column("asleep_64", "asleep %", 1, spread=True),
        Column("p50_64", "p50 ms", 1),
        Column("p99_64", "p99 ms", 1),
        Column("rate_512", "512: requests/s", 0),
        Column("share_512", "% of ideal", 1, spread=True),
        Column("p50_512", "p50 ms", 1),
        Column("p99_512", "p99 ms", 1),
        Column("fair_512", "p99 / fair share", 2, spread=True),
        Column("fewest_512", "fewest %", 0),
    ),
    Turns((sides.ADYTON, *sides.peers()), sleep),
)
BOTH = Case(
    "both",
    "3. A page that waits 10 ms and hello at once, in one process",
    "64 connections on the slow page, 16 on hello; each alone, both at once, and a mix that changes every "
    "second (slow, hello, both), of which the seconds with both count, and the worst p99 of these.",
    (
        Column("slow_alone", "slow alone/s", 0),
        Column("hello_alone", "hello alone/s", 0),
        Column("slow_kept", "slow keeps %", 1, spread=True),
        Column("hello_kept", "hello keeps %", 1, spread=True),
        Column("slow_p99", "slow p99 ms", 1),
        Column("hello_p99", "hello p99 ms", 2, spread=True),
        Column("slow_mix_kept", "mix: slow keeps %", 1, spread=True),
        Column("hello_mix_kept", "hello keeps %", 1, spread=True),
        Column("hello_mix_p99", "hello p99 ms", 2, spread=True),
    ),
    Turns((sides.ADYTON, *sides.peers()), both),
)
COMPUTE = Case(
    "compute",
    "4. A page that computes 50 ms in Python, and static files, at once",
    "4 connections compute, 16 ask for a file of 13 bytes; each alone, then at once. Static files are served "
    "by the server, or by WhiteNoise where it has none.",
    (
        Column("compute_alone", "compute alone/s", 1),
        Column("static_alone", "static alone/s", 0),
        Column("compute_kept", "compute keeps %", 1, spread=True),
        Column("compute_p99", "compute p99 ms", 0),
        Column("static_kept", "static keeps %", 1, spread=True),
        Column("static_p99", "static p99 ms", 2, spread=True),
        Column("static_max", "longest ms", 1),
    ),
    Turns((ADYTON_STATIC, ADYTON_ALIKE, GUNICORN_STATIC, *sides.peers()[1:]), compute),
)
MANY_CASE = Case(
    "many",
    "7. 10,000 keep-alive connections, all active in turn",
    "64 requests are under way at any time, on 64 connections and on 10,000, which take turns. The floor is "
    "what the kernel takes for a bare loop of receive and send.",
    (
        Column(f"rate_{WINDOW}", "64: requests/s", 0),
        Column(f"cpu_{WINDOW}", "CPU µs/request", 2),
        Column(f"p99_{WINDOW}", "p99 ms", 2),
        Column(f"rate_{MANY}", "10,000: requests/s", 0),
        Column(f"cpu_{MANY}", "CPU µs/request", 2),
        Column(f"p99_{MANY}", "p99 ms", 2),
        Column("ratio", "× 64 connections", 2, spread=True),
    ),
    Turns((ADYTON_MANY, servers.FLOOR), many),
)
