"""CPU time spent under a load: by the peer's processes, and by all programs on the CPUs of peer and load."""

from __future__ import annotations

import resource
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adyton import _processes

if TYPE_CHECKING:
    from adyton._processes import Busy
    from adyton.compare.running import Seats


@dataclass(frozen=True)
class Spent:
    """CPU time that was spent until some moment, or between two moments."""

    clock_s: float
    peer_s: float
    """CPU time of the peer's processes; an ended process counts only if its parent has waited for it."""
    load_s: float
    """CPU time of this program, of the loads that it has started and that have ended, and of a database."""
    server: Busy
    """Time of all programs on the CPUs of the server."""
    other: Busy
    """Time of all programs on the CPUs of the load; equal to ``server`` if both have the same CPUs."""

    @classmethod
    def now(cls, leaders: set[int], seats: Seats, database: frozenset[int] = frozenset()) -> Spent:
        """Reads the times; ``database`` has the session leaders of a database that the peer queries."""
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        load_s = children.ru_utime + children.ru_stime + time.process_time()
        load_s += _processes.cpu_s(set(database)) if database else 0.0
        server, other = (_processes.busy(cpus) for cpus in (seats.server, seats.load))
        return cls(time.monotonic(), _processes.cpu_s(leaders), load_s, server, other)

    def since(self, before: Spent) -> Spent:
        """Returns what was spent between two moments."""
        return Spent(
            self.clock_s - before.clock_s,
            self.peer_s - before.peer_s,
            self.load_s - before.load_s,
            self.server - before.server,
            self.other - before.other,
        )

    def of_peer(self, seats: Seats, *, forks: bool) -> float:
        """Returns the CPU time of the peer; if it ``forks``, the time of all programs on its CPUs."""
        return max(self.peer_s, self.server.all_s) if forks and seats.are_apart else self.peer_s

    def foreign_cpus(self, seats: Seats, *, forks: bool) -> float:
        """Returns how many CPUs of the peer, or of the load, other programs kept busy: the larger number.

        Time in interrupts is left out, because the kernel does not tell which program caused them. On the
        CPUs of a peer that ``forks``, the time of other programs cannot be known.
        """
        if not seats.are_apart:
            known_s = self.peer_s + self.load_s
            foreign_s = 0.0 if forks else self.server.programs_s - known_s
        else:
            of_server = 0.0 if forks else self.server.programs_s - self.peer_s
            foreign_s = max(of_server, self.other.programs_s - self.load_s)
        return max(0.0, foreign_s) / max(self.clock_s, 1e-9)
