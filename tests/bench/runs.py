"""Starts servers that lie, and runs `adyton bench` against them."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.schema import faults

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LIARS = Path(__file__).with_name("liars.py")
APPLICATION = Path(__file__).with_name("application.py")
NOISE = {"steal", "foreign-load", "generator", "steady", "little"}
"""Gates that may fail on a busy machine, whatever the server does."""
QUICK = ("-c", "8", "-d", "1s", "--warm-up", "100ms")
"""Options for tests that need no answers: if the machine stands still for a second, there are none."""
SURE = ("-c", "8", "-n", "300", "--warm-up", "100ms")
"""Options for tests that need answers: the run takes as long as it takes."""

TIMES = {
    "mean": "mean_us",
    "p50": "p50_us",
    "p90": "p90_us",
    "p95": "p95_us",
    "p99": "p99_us",
    "p99.9": "p999_us",
    "p99.99": "p9999_us",
    "max": "max_us",
}
"""The columns of times, and their fields."""


@contextmanager
def liar(kind: str, *words: str, within: Sequence[str] = ()) -> Iterator[str]:
    """Start a server that lies in one way, within the command `within` if there is one; yield its URL."""
    command = [*within, sys.executable, str(LIARS), kind, *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/"
        finally:
            process.stdin.close()


@contextmanager
def few_ports(first: int, last: int) -> Iterator[Sequence[str]]:
    """Make a network that has only these local ports; yield the command that runs a program in it."""
    script = f"ip link set lo up; echo {first} {last} > /proc/sys/net/ipv4/ip_local_port_range; echo; cat"
    command = ["unshare", "--net", "sh", "-ec", script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert b"\n" == process.stdout.readline()
        yield ["nsenter", f"--net=/proc/{process.pid}/ns/net"]
        process.stdin.close()


@contextmanager
def full_queue() -> Iterator[None]:
    """Keep a listen queue full that belongs to this process, not to the server: no connection is accepted."""
    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0), backlog=1) as listener, contextlib.ExitStack() as clients:

        def connect() -> None:
            while not ended.wait(0.01):
                client = clients.enter_context(socket.socket())
                client.settimeout(0)
                client.connect_ex(listener.getsockname())

        thread = threading.Thread(target=connect)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


def overflows() -> int:
    """Return the number of packets of new connections that have found any listen queue full so far."""
    names, numbers, *_ = Path("/proc/net/netstat").read_text("utf-8").splitlines()
    return int(dict(zip(names.split(), numbers.split(), strict=True))["ListenOverflows"])


def run(
    *words: str,
    cwd: Path | None = None,
    variables: dict[str, str] | None = None,
    within: Sequence[str] = (),
) -> subprocess.CompletedProcess[str]:
    """Run `adyton bench` to its end, within the command `within` if there is one."""
    command = (*within, sys.executable, "-m", "adyton", "bench", *words)
    env = {name: value for name, value in os.environ.items() if name != "GITHUB_STEP_SUMMARY"}
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=cwd,
        env=env | (variables or {}),
    )


def bench(*words: str, within: Sequence[str] = ()) -> dict[str, Any]:
    """Run `adyton bench`; return its report, which must match its schema, and whose counts must add up."""
    done = run(*words, "--json", within=within)
    assert "" == done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    assert [] == faults(report, "bench")
    counts = report["counts"]
    assert counts["sent"] == sum(number for name, number in counts.items() if name != "sent")
    assert done.returncode == (1 if report["invalid"] else 0)
    assert sum(second["right"] for second in report["series"]) == counts["right"]
    assert sum(second["wrong"] for second in report["series"]) == wrong(report)
    return report


def wrong(report: dict[str, Any]) -> int:
    """Return the number of requests without a right answer."""
    names = ("wrong_status", "wrong_body", "connection_error", "timeout")
    return sum(report["counts"][name] for name in names)


def gates(report: dict[str, Any]) -> set[str]:
    """Return the gates that have failed."""
    return {reason["gate"] for reason in report["invalid"]}


def reasons(report: dict[str, Any]) -> list[str]:
    """Return the reasons why the figures must not be used, in sentences."""
    return [reason["why"] for reason in report["invalid"]]


def warnings(report: dict[str, Any]) -> dict[str, str]:
    """Return the warnings: a sentence for each name."""
    return {warning["gate"]: warning["why"] for warning in report["warnings"]}
