"""A worker that the kernel kills because memory is short: others serve on, and the log gives the reason."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

from processes.load import Load
from support.server import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from processes.conftest import Crowd

CGROUPS = Path("/sys/fs/cgroup")
BYTES_MAX = 400 << 20
"""Room for a supervisor and two workers, and for a few pieces of 64 MiB beside."""
CLIENTS = 5
"""Clients, each with one request under way: the death of a worker fails at most so many requests."""


@contextlib.contextmanager
def bounded(pids: list[int]) -> Iterator[bool]:
    """Limit the total memory of these processes by a control group; tell whether that is allowed here."""
    one = CGROUPS / "memory"
    parent, limit = (one, "memory.limit_in_bytes") if one.is_dir() else (CGROUPS, "memory.max")
    group = parent / f"adyton-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError:
        yield False
        return
    try:
        if not (group / limit).exists():
            # The machine has version 2 of control groups, and the memory controller is not delegated to these
            # tests.
            yield False
            return
        (group / limit).write_text(str(BYTES_MAX), encoding="ascii")
        for pid in pids:
            (group / "cgroup.procs").write_text(str(pid), encoding="ascii")
        yield True
    finally:
        for pid in (group / "cgroup.procs").read_text(encoding="ascii").split():
            with contextlib.suppress(ProcessLookupError):
                (parent / "cgroup.procs").write_text(pid, encoding="ascii")
        assert until(lambda: is_removed(group))


def is_removed(group: Path) -> bool:
    """Remove a control group, which works as soon as no process is in it."""
    with contextlib.suppress(OSError):
        group.rmdir()
    return not group.exists()


def test_out_of_memory(crowd: Callable[..., Crowd]) -> None:
    """The log and the metrics tell a kill for want of memory from any other SIGKILL."""
    servers = crowd("--processes", "2")
    assert servers.settles(2)
    supervisor = servers.server.process.pid
    with (
        bounded([supervisor, *servers.pids()]) as is_bounded,
        Load(servers.server.port, "/who", keeping=CLIENTS - 1, opening=1) as load,
    ):
        if is_bounded:
            with contextlib.suppress(OSError, AssertionError):
                for _ in range(20):
                    servers.server.fetch("/grow", lint_answers=False)
            why = "was killed by the kernel because memory was short"
        else:
            os.kill(servers.pids()[0], signal.SIGKILL)
            why = "was killed by SIGKILL from outside"
        servers.server.wait_for_log(f"ADY312 error: worker [12] .* {why}")
        load.run(1)
        assert servers.settles(2)
        before = len(load.answers)

        assert until(lambda: len(load.answers) > before + 10)
    # The second worker's growth may in turn get the first worker's successor killed, and so on.
    log = servers.server.log()
    assert log.count("ADY312") == log.count(why)
    assert len(load.failures) <= CLIENTS * log.count(why), (load.failures, log)
