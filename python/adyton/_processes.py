"""The processes of a server, found by their sessions: their CPU time, their memory, and their end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

PROC = Path("/proc")
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
CPU_CLOCK = 2
"""Lowest bits in the number of a process's clock (clock_getcpuclockid(3)); above them is the inverted pid."""
STOP_S = 10.0
"""Time that a program gets after SIGTERM to end; then it is sent SIGKILL."""


@dataclass(frozen=True)
class Stat:
    """One process, as /proc tells it."""

    pid: int
    parent: int
    session: int
    reaped_s: float
    """CPU time of children that have ended, and that this process has waited for."""


def stat_of(pid: int) -> Stat | None:
    """Reads one process; ``None`` when it has ended meanwhile."""
    with contextlib.suppress(OSError):
        text = (PROC / str(pid) / "stat").read_text("utf-8", "replace")
        # The name may hold any character. Behind it: state, parent, group, session, and later children's
        # times.
        fields = text.rpartition(")")[2].split()
        return Stat(pid, int(fields[1]), int(fields[3]), (int(fields[13]) + int(fields[14])) / CLOCK_TICKS)
    return None


def of_sessions(leaders: set[int]) -> list[Stat]:
    """Returns the processes of these sessions, and all that descend from them."""
    every = [stat for entry in PROC.iterdir() if entry.name.isdigit() and (stat := stat_of(int(entry.name)))]
    found = {stat.pid for stat in every if stat.session in leaders}
    while more := {stat.pid for stat in every if stat.parent in found} - found:
        found |= more
    return [stat for stat in every if stat.pid in found]


def cpu_s(leaders: set[int]) -> float:
    """Returns the CPU time of the processes of these sessions, and of ended children that were waited for."""
    total = 0.0
    for stat in of_sessions(leaders):
        used_s = cpu_s_of(stat.pid)
        total += used_s + stat.reaped_s if used_s else 0.0
    return total


def cpu_s_of(pid: int) -> float:
    """Returns the CPU time of a process, ended threads included; 0 when the process is gone."""
    with contextlib.suppress(OSError):
        # The clock counts nanoseconds; /proc counts hundredths of a second.
        return time.clock_gettime(~pid << 3 | CPU_CLOCK)
    return 0.0


@dataclass(frozen=True)
class Busy:
    """Seconds for which CPUs were busy (proc_stat(5)); the kernel counts them in hundredths.

    Time that a hypervisor gave to other machines is in neither figure.
    """

    programs_s: float
    """User, nice and system time."""
    interrupts_s: float
    """Interrupts, among them the network's, in which packets of all programs are delivered."""

    @property
    def all_s(self) -> float:
        """The sum of both."""
        return self.programs_s + self.interrupts_s

    def __sub__(self, before: Busy) -> Busy:
        """Returns the time that was added since ``before``."""
        return Busy(self.programs_s - before.programs_s, self.interrupts_s - before.interrupts_s)


def busy(cpus: Iterable[int]) -> Busy:
    """Returns for how long some CPUs were busy since the machine was started."""
    names = {f"cpu{number}" for number in cpus}
    rows = [line.split() for line in (PROC / "stat").read_text("ascii").splitlines()]
    ticks = [[int(field) for field in fields] for name, *fields in rows if name in names]
    # Columns: user nice system idle iowait irq softirq steal; the time of guests is part of user.
    programs, interrupts = sum(sum(each[:3]) for each in ticks), sum(sum(each[5:7]) for each in ticks)
    return Busy(programs / CLOCK_TICKS, interrupts / CLOCK_TICKS)


@dataclass(frozen=True)
class Memory:
    """Memory of a process, in bytes (proc_pid_smaps(5))."""

    proportional: int
    """PSS of the process: each shared page counts as a fraction, divided by the processes that share it."""
    private: int
    """Memory that the process shares with no other."""

    @classmethod
    def of(cls, pid: int) -> Memory:
        """Reads the memory of a process.

        Raises :class:`PermissionError` when this user may not look at the process, and another
        :class:`OSError` when the process has ended.
        """
        rows = (PROC / str(pid) / "smaps_rollup").read_text("ascii").splitlines()[1:]
        kib = {name: int(value.split()[0]) for name, value in (row.split(":", 1) for row in rows)}
        private = kib.get("Private_Clean", 0) + kib.get("Private_Dirty", 0)
        return cls(1024 * kib.get("Pss", 0), 1024 * private)


def memory_bytes(leaders: set[int]) -> int | None:
    """Returns the proportional memory (PSS) of these sessions; ``None`` when this user may not look at it."""
    total = 0
    for stat in of_sessions(leaders):
        try:
            total += Memory.of(stat.pid).proportional
        except PermissionError:
            return None
        except OSError:  # It has ended.
            continue
    return total


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ends a program, and all programs that it has started."""
    members = of_sessions({process.pid})
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_S)
    for member in members:
        now = stat_of(member.pid)
        if now and now.session == member.session:
            with contextlib.suppress(ProcessLookupError):
                os.kill(member.pid, signal.SIGKILL)
    process.wait()
