"""A worker that gives no sign of life is named in the log, does not count as serving, and is replaced."""

from __future__ import annotations

import os
import signal
import sysconfig
from typing import TYPE_CHECKING

from processes.conftest import Crowd, admin_of, freeze
from support import client
from support.client import request
from support.server import until

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.http import Response

SOON = ["--heartbeat-timeout", "6s", "--graceful-timeout", "1s"]
"""Timeouts with which a worker is silent after 0.6 s, and given up after 6 s."""


def ready(servers: Crowd) -> Response:
    """Ask the admin listener whether the server is ready."""
    return client.fetch(admin_of(servers.server), "/readyz")


def state_of(servers: Crowd, pid: int) -> str:
    """Return the state of a worker, if it is still there."""
    states = {worker["pid"]: worker["state"] for worker in servers.status()["workers"]}
    return str(states.get(pid))


def test_stopped(crowd: Callable[..., Crowd]) -> None:
    """A stopped worker is replaced while other workers serve; once it runs again, it prints its stack."""
    servers = crowd("--processes", "2", *SOON)
    servers.server.may_crash = True
    assert servers.settles(2)
    silent, other = servers.pids()
    freeze(silent)
    servers.server.wait_for_log(rf"process {silent}\) has given no sign of life .* stopped, or gets no CPU")

    assert {str(other)} == {servers.who()[0] for _ in range(20)}

    servers.server.wait_for_log(r"is replaced: it has given no sign of life", timeout_s=60)
    servers.server.wait_for_log(rf"process {silent}\) had not finished", timeout_s=60)
    servers.server.wait_for_log(r"Fatal Python error: Aborted", timeout_s=60)

    assert until(lambda: state_of(servers, silent) == "None")
    assert servers.settles(2)
    assert 1 == servers.status()["deaths"]["overdue"]


def test_stopped_and_continued(crowd: Callable[..., Crowd]) -> None:
    """While the only worker is silent, the server is not ready; a worker that is heard again serves on."""
    servers = crowd("--processes", "1", "--heartbeat-timeout", "30s", "--admin", "127.0.0.1:0")
    (pid,) = servers.pids()
    assert until(lambda: ready(servers).status == 200)
    freeze(pid)
    try:
        servers.server.wait_for_log(rf"worker 1 \(process {pid}\) has given no sign of life")

        assert (503, b"no worker gives signs of life") == (ready(servers).status, ready(servers).body.strip())
        assert ("silent", "silent") == (servers.status()["state"], state_of(servers, pid))
    finally:
        os.kill(pid, signal.SIGCONT)
    servers.server.wait_for_log(rf"worker 1 \(process {pid}\) gives signs of life again")

    assert 200 == ready(servers).status
    assert str(pid) == servers.who()[0]


def test_interpreter_kept(crowd: Callable[..., Crowd]) -> None:
    """A worker is silent if a request waits for an interpreter that hangs, and says where it hangs."""
    servers = crowd("--processes", "1", "--threads", "4", "--request-timeout", "0", *SOON)
    servers.server.may_crash = True
    (pid,) = servers.pids()
    with servers.server.connect() as holding, servers.server.connect() as waiting:
        holding.send(request("/hold"))
        assert servers.has_inside(1)
        waiting.send(request("/who"))
        if sysconfig.get_config_var("Py_GIL_DISABLED"):
            # Without the GIL, no request keeps the others from running.
            assert str(pid) == waiting.receive().body.decode().split()[0]
            assert "serving" == state_of(servers, pid)
            return
        servers.server.wait_for_log(rf"process {pid}\) has given no sign of life .* keeps the interpreter")
        servers.server.wait_for_log(r"is replaced: it has given no sign of life", timeout_s=60)
        servers.server.wait_for_log(r"\bin hold$", timeout_s=60)
    assert until(lambda: state_of(servers, pid) == "None")

    assert str(pid) != servers.who()[0]
