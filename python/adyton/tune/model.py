"""Predicts the rate of a choice from the cost of one request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from adyton.tune.choice import Choice

if TYPE_CHECKING:
    from collections.abc import Iterator

THREADS_MAX = 64
"""The most threads that are tried by default."""

PROMISING = 0.7
"""A choice is not tried if its predicted rate is less than this part of the best predicted rate."""

ENOUGH = 0.95
"""Once a process is predicted to reach this part of its highest rate, more threads are not tried."""


@dataclass(frozen=True)
class Cost:
    """Cost of one request, in seconds, and of a process, in bytes."""

    service_s: float
    """Time from sending a request to the last byte of its answer, with one request at a time."""
    cpu_s: float
    """CPU time of the server for the request."""
    serial_s: float
    """The part of the CPU time in which the request holds the interpreter: other threads wait meanwhile."""
    shared_bytes: int
    """Memory that does not grow with the number of workers."""
    unique_bytes: int
    """Memory of one worker alone."""
    interpreter_wait_s: float = 0.0
    """Time that one request alone waits for the interpreter, which other threads of the application hold."""

    @property
    def waiting_s(self) -> float:
        """Time that is not CPU time: waiting for databases, other servers, disks."""
        return max(0.0, self.service_s - self.cpu_s)


@dataclass(frozen=True)
class Limits:
    """CPUs and memory that may be used, and the most processes and threads."""

    cpus: float
    memory_bytes: int
    processes_max: int
    threads_max: int


def process_rate(cost: Cost, threads: int) -> float:
    """Returns the requests a second of one process, if each of its threads always has a request.

    Mean value analysis (Reiser and Lavenberg 1980) of a closed network: a thread queues for the interpreter,
    holds it, works or waits without it, and queues again.
    """
    elsewhere_s = max(0.0, cost.service_s - cost.serial_s)
    waiting, rate = 0.0, 0.0
    for count in range(1, threads + 1):
        at_interpreter_s = cost.serial_s * (1 + waiting)
        rate = count / max(at_interpreter_s + elsewhere_s, 1e-9)
        waiting = rate * at_interpreter_s
    return rate


def predicted_rate(cost: Cost, choice: Choice, cpus: float) -> float:
    """Returns the requests a second of all processes, limited by the time of the CPUs."""
    return min(choice.processes * process_rate(cost, choice.threads), cpus / max(cost.cpu_s, 1e-9))


def memory(cost: Cost, choice: Choice) -> int:
    """Returns the bytes of memory that a choice needs."""
    return cost.shared_bytes + choice.processes * cost.unique_bytes


def candidates(cost: Cost, limits: Limits, count: int) -> list[Choice]:
    """Returns the choices that are worth trying, the best predicted first; of equals the smaller first.

    One process is tried even if it does not fit into the memory, so that the report can say what it needs.
    """
    fitting = [
        number
        for number in processes_allowed(limits)
        if memory(cost, Choice(number, 1)) <= limits.memory_bytes
    ] or [1]
    tried = [Choice(number, threads) for number in fitting for threads in worth(cost, limits)]
    rates = {choice: predicted_rate(cost, choice, limits.cpus) for choice in tried}
    best = max(rates.values())
    promising = [choice for choice in tried if rates[choice] >= PROMISING * best]
    # Choices whose predictions differ by less than a twentieth are sorted by size.
    promising.sort(key=lambda choice: (-round(20 * rates[choice] / best), choice))
    return promising[:count]


def doubled(most: int) -> Iterator[int]:
    """Yields 1, 2, 4 and so on, and ``most``: a number between two of these rarely serves more."""
    number = 1
    while number < most:
        yield number
        number *= 2
    yield most


def most_processes(cpus: float) -> int:
    """Returns the most processes that are tried by default: twice the CPUs."""
    return 2 * max(1, round(cpus))


def processes_allowed(limits: Limits) -> list[int]:
    """Returns the numbers of processes to try, among them the number of CPUs, and one more."""
    cpus = round(limits.cpus)
    numbers = {*doubled(limits.processes_max), cpus, cpus + 1}
    return sorted(number for number in numbers if 1 <= number <= limits.processes_max)


def wider(cost: Cost, limits: Limits, choice: Choice) -> list[str]:
    """Returns the limits that a choice has reached, each with the option that raises it.

    A limit of one thread does not count, because then the application is not thread-safe.
    """
    larger = [number for number in processes_allowed(limits) if number > choice.processes]
    found = []
    if not larger:
        found.append("more processes (--processes-max)")
    elif memory(cost, Choice(larger[0], 1)) > limits.memory_bytes:
        found.append("more processes (--memory)")
    if choice.threads >= limits.threads_max > 1:
        found.append("more threads (--threads-max)")
    return found


def worth(cost: Cost, limits: Limits) -> list[int]:
    """Returns numbers of threads, up to one more than the first that nearly reaches the highest rate."""
    allowed = list(doubled(limits.threads_max))
    most = process_rate(cost, allowed[-1])
    enough = next(
        (index for index, threads in enumerate(allowed) if process_rate(cost, threads) >= ENOUGH * most),
        0,
    )
    return allowed[: enough + 2]
