"""Fixtures for pytest: a server of the application under test, and load that checks every answer.

pytest finds the fixtures if Adyton is installed in the same environment::

    def test_front_page(adyton_serve, adyton_bench):
        url = adyton_serve("mysite.wsgi:application")
        report = adyton_bench(url + "/", connections=8, duration="1s")
        assert report["service"]["p99_us"] < 50_000

This is a smoke test, not a measurement: a wrong answer fails the test, but figures from a busy machine do
not.
"""

from __future__ import annotations

import re
import subprocess
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Protocol, Self

import pytest

from adyton._runs import ADYTON, BenchError, bench_together

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = ["Bench", "Serve", "adyton_bench", "adyton_serve"]

_LISTENING = re.compile(r"listening on (http://\S+)")

#: Gates about the server's answers; all other gates are about the machine.
_OF_ANSWERS = {"answers", "count", "hits", "late", "listen-queue", "own-limits"}

_START_TIMEOUT_S = 30
_STOP_TIMEOUT_S = 40


class Serve(Protocol):
    """Starts ``adyton serve TARGET`` with settings as keywords; returns its URL without a slash at the end.

    Fails the test with the server's output if the server does not start.
    """

    def __call__(self, target: str | Path, **settings: object) -> str:
        """Starts one server; it is stopped at the end of the test."""


class Bench(Protocol):
    """Runs ``adyton bench URL`` with its options as keywords, and returns its report, parsed from JSON.

    Fails the test when an answer is not right, when a condition of ``fail_if`` holds, and when ``find_rate``
    finds no rate.
    """

    def __call__(self, url: str, **options: object) -> dict[str, Any]:
        """Runs one load to its end."""


@pytest.fixture
def adyton_serve() -> Iterator[Serve]:
    """Starts servers for one test: see :class:`Serve`."""
    with ExitStack() as servers:

        def serve(target: str | Path, **settings: object) -> str:
            defaults: dict[str, object] = {"bind": "127.0.0.1:0", "processes": 0}
            return servers.enter_context(_Server(str(target), defaults | settings)).url

        yield serve


@pytest.fixture
def adyton_bench() -> Bench:
    """Loads a server: see :class:`Bench`."""
    return _bench


class _Server:
    """A server in a process of its own."""

    url: str

    def __init__(self, target: str, settings: dict[str, object]) -> None:
        command = [*ADYTON, "serve", target, *_flags(settings)]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)  # noqa: S603 - our own program
        self._said: list[str] = []
        self._listens = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        self._reader.start()
        self._listens.wait(_START_TIMEOUT_S)
        found = _LISTENING.search("".join(self._said))
        if found is None:
            self.__exit__()
            pytest.fail("the server does not start:\n" + "".join(self._said), pytrace=False)
        self.url = found.group(1).rstrip("/")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()

    def _read(self) -> None:
        stream = self._process.stderr
        if stream is not None:
            with stream:
                for line in stream:
                    self._said.append(line)
                    if _LISTENING.search(line):
                        self._listens.set()
        self._listens.set()


def _bench(url: str, **options: object) -> dict[str, Any]:
    if "debug" in options:
        pytest.fail("debug shows an exchange and measures nothing: use the command line", pytrace=False)
    try:
        done = bench_together([(url, tuple(_flags(options)))])[0]
    except BenchError as error:
        pytest.fail(str(error), pytrace=False)
    wrong = [*_wrong(done.report), *(done.said.splitlines() if "fail_if" in options else ())]
    if wrong:
        pytest.fail("\n".join([url, *wrong]), pytrace=False)
    return done.report


def _wrong(report: dict[str, Any]) -> list[str]:
    """Returns the faults of the answers."""
    if "steps" in report:
        # The report of a search for a rate has only the names of gates, not their reasons.
        wrong = [gate for gate in report["invalid"] if gate in _OF_ANSWERS]
        return wrong if report["rate"] else [*wrong, f"{report['condition']} holds at no rate"]
    wrong = [reason["why"] for reason in report["invalid"] if reason["gate"] in _OF_ANSWERS]
    return wrong and [*wrong, *_causes(report)]


def _causes(report: dict[str, Any]) -> Iterator[str]:
    """Tells why requests had no right answer, a line for each cause."""
    counts = report["counts"]
    if counts["wrong_status"]:
        statuses = ", ".join(f"{status}: {count}" for status, count in report["statuses"].items())
        yield f"statuses: {statuses}; right is {report['asked']['status']}"
    if counts["wrong_body"]:
        yield f"wrong body: {counts['wrong_body']}"
    yield from (f"{cause}: {count}" for cause, count in report["errors"].items())


#: Separator between name and value in options that have both.
_PAIRS = {"header": ": ", "cookie": "=", "form": "="}


def _flags(options: dict[str, object]) -> Iterator[str]:
    """Yields keywords as flags: ``warm_up="1s"`` becomes ``--warm-up=1s``; a list becomes several flags."""
    for name, value in options.items():
        for item in _items(name, value):
            text = ("off", "on")[item] if isinstance(item, bool) else str(item)
            yield f"--{name.replace('_', '-')}={text}"


def _items(name: str, value: object) -> Sequence[object]:
    if isinstance(value, dict):
        if name not in _PAIRS:
            pytest.fail(f"{name}: a dictionary is for {', '.join(_PAIRS)}", pytrace=False)
        return [f"{key}{_PAIRS[name]}{each}" for key, each in value.items()]
    return value if isinstance(value, (list, tuple)) else [value]
