"""The processes of a server, wherever they stand: CPU time and memory of all that it has started."""

from __future__ import annotations

import contextlib
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
CPU_CLOCK = 2
"""The lowest bits of the clock of a process (clock_getcpuclockid(3)); the others are its number, inverted."""


@dataclass(frozen=True)
class Stat:
    """One process, as /proc tells it."""

    pid: int
    parent: int
    session: int
    reaped_s: float
    """CPU time of its children that have ended and been waited for."""


def stat_of(pid: int) -> Stat | None:
    """Reads one process; none when it has ended meanwhile."""
    with contextlib.suppress(OSError):
        text = (PROC / str(pid) / "stat").read_text("utf-8", "replace")
        # Behind the name, which may hold anything: state, parent, group, session, and later children's times.
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
    """Returns the CPU time that these sessions have used, with the children that they have waited for."""
    total = 0.0
    for stat in of_sessions(leaders):
        with contextlib.suppress(OSError):
            # In nanoseconds, with threads that have ended; /proc counts in hundredths of a second.
            total += time.clock_gettime(~stat.pid << 3 | CPU_CLOCK) + stat.reaped_s
    return total


def memory_bytes(leaders: set[int]) -> int | None:
    """Returns the proportional memory (PSS) of these sessions; none when it may not be looked at."""
    total = 0
    for stat in of_sessions(leaders):
        try:
            text = (PROC / str(stat.pid) / "smaps_rollup").read_text("utf-8")
        except PermissionError:
            return None
        except OSError:  # It has ended.
            continue
        found = re.search(r"^Pss: +(\d+) kB", text, re.MULTILINE)
        total += 1024 * int(found[1]) if found else 0
    return total
