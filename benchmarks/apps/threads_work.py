"""Pure Python that takes as long as it is told: `threads_work.py MILLISECONDS` prints how many steps that is.

Behind the number it prints what these steps come to. They are counted once, and then stand in the path of
every request: so every server does the same work, however busy the machine is when it starts.
"""

import sys
import time

TRIES = 50
"""The fastest counts: whatever else the machine does only makes it slower."""
STEPS = 20_000


def work(steps: int) -> int:
    """Computes something that only depends on `steps`, in a loop of Python, with numbers that only this call has.

    Threads of a free-threaded CPython 3.13 that use the same large constant write to its reference count all the time,
    and wait for each other's cache lines.
    """
    value, modulus = 0, 1_000_003 + steps
    for step in range(steps):
        value = (value * 31 + step) % modulus
    return value


def steps_of(milliseconds: float) -> int:
    """Returns how many steps take so long here."""
    fastest = min(seconds_of(STEPS) for _ in range(TRIES))
    return round(STEPS * milliseconds / 1e3 / fastest)


def seconds_of(steps: int) -> float:
    """Returns the time that the steps take once."""
    begin = time.perf_counter()
    work(steps)
    return time.perf_counter() - begin


if __name__ == "__main__":
    count = steps_of(float(sys.argv[1]))
    print(count, work(count))
