"""Refusals by the server itself are counted by cause, and logged by default: once a minute for each cause."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import pytest

from processes.conftest import Crowd, admin_of
from support import client
from support.server import until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

REFUSALS = 5
POST = b"POST / HTTP/1.1\r\nHost: localhost\r\n"


class Refused(NamedTuple):
    """A request, the status of its answer, the cause that is counted, and the setting that the log names."""

    data: bytes
    status: int
    cause: str
    setting: str


CASES = [
    Refused(b"GET  / HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "malformed", "--underscore-headers"),
    Refused(b"GET / HTTP/1.1\r\nHost: ", 408, "head_too_slow", "--header-timeout"),
    Refused(POST + b"Content-Length: 9\r\n\r\nbody", 408, "body_too_slow", "--body-idle-timeout"),
    Refused(POST + b"Content-Length: 99\r\n\r\n", 413, "body_too_large", "--body-bytes-max"),
    Refused(b"GET /" + b"a" * 70_000, 414, "line_too_long", "--request-line-bytes-max"),
    Refused(b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 1_000, 431, "head_too_large", "--header-fields-max"),
    Refused(b"GET / HTTP/2.0\r\nHost: localhost\r\n\r\n", 505, "unsupported", "no setting"),
]


def counted(servers: Crowd, cause: str) -> int:
    """Return how many requests were refused for a cause."""
    metrics = client.fetch(admin_of(servers.server), "/metrics").body.decode()
    found = re.search(rf'^adyton_requests_refused_total{{cause="{cause}"}} (\d+)$', metrics, re.MULTILINE)
    assert found, metrics
    return int(found[1])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.cause)
def test_refusals(crowd: Callable[..., Crowd], case: Refused) -> None:
    """The first refusal is logged at once, later ones together, and at the end all have been logged."""
    timeouts = ["--header-timeout", "200ms", "--body-idle-timeout", "200ms"]
    limits = ["--processes", "1", "--body-bytes-max", "50", "--admin", "127.0.0.1:0"]
    servers = crowd(*limits, *timeouts)
    for _ in range(REFUSALS):
        with servers.server.connect(lint_answers=False) as connection:
            connection.send(case.data)
            assert case.status == connection.receive().status
    assert until(lambda: counted(servers, case.cause) == REFUSALS)
    servers.server.wait_for_log(
        rf"ADY109 warning: a request from 127\.0\.0\.1 was refused with {case.status}: .*{case.setting}"
    )

    servers.order("stop")
    assert 0 == servers.server.wait()

    told = re.findall(r"ADY109 warning: (?:a request|(\d+) requests)", servers.server.log())
    assert REFUSALS == sum(int(number or 1) for number in told)
    assert len(told) < REFUSALS


READS = """
def application(environ, start_response):
    environ["wsgi.input"].read()
    start_response("200 OK", [("Content-Length", "0")])
    return []
"""


@pytest.mark.parametrize(
    "case", [case for case in CASES if "body" in case.cause], ids=lambda case: case.cause
)
def test_in_a_stream(crowd: Callable[..., Crowd], tmp_path: Path, case: Refused) -> None:
    """A body that the application reads itself is counted like a body that the server reads."""
    target = tmp_path / "reads.py"
    target.write_text(READS, encoding="utf-8")
    flags = ["--processes", "1", "--stream-body", "--body-bytes-max", "50", "--body-idle-timeout", "200ms"]
    servers = crowd(*flags, "--admin", "127.0.0.1:0", target=target)
    # A Content-Length that is too large is refused before the application is called; chunks are refused while
    # the application reads them.
    data = POST + b"Transfer-Encoding: chunked\r\n\r\n40\r\n" if case.status == 413 else case.data
    with servers.server.connect(lint_answers=False) as connection:
        connection.send(data)
        assert case.status == connection.receive().status

    assert until(lambda: counted(servers, case.cause) == 1)
    servers.server.wait_for_log(
        rf"ADY109 warning: a request from 127\.0\.0\.1 was refused with {case.status}: .*{case.setting}"
    )
