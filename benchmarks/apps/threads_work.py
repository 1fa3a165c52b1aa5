"""Pure Python that takes as long as it is told: `threads_work.py MILLISECONDS` prints how many steps that is.

Behind the number it prints what these steps come to. They are counted once, and then stand in the path of
every request: so every server does the same work, however busy the machine is when it starts.
`threads_work.py STEPS SECONDS` prints how often it does so many steps in so much time.
"""

import statistics
import sys
import time

TRIES = 201
"""The median counts, in CPU time: the fastest is a moment that does not last."""
STEPS = 20_000


def work(steps: int) -> int:
    """Computes something that only depends on `steps`, in a loop of Python, with numbers of its own.

    Threads of a free-threaded CPython 3.13 that use the same large constant write to its reference count
    all the time, and wait for each other's cache lines.
    """
    value, modulus = 0, 1_000_003 + steps
    for step in range(steps):
        value = (value * 31 + step) % modulus
    return value


def steps_of(milliseconds: float) -> int:
    """Returns how many steps take so long here."""
    usual = statistics.median(seconds_of(STEPS) for _ in range(TRIES))
    return round(STEPS * milliseconds / 1e3 / usual)


def seconds_of(steps: int) -> float:
    """Returns the CPU time that the steps take once."""
    begin = time.thread_time()
    work(steps)
    return time.thread_time() - begin


def times_of(steps: int, seconds: float) -> int:
    """Returns how often the steps are done in so much time by the clock."""
    times, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        work(steps)
        times += 1
    return times


if __name__ == "__main__":
    if len(sys.argv) > 2:
        print(times_of(int(sys.argv[1]), float(sys.argv[2])))
    else:
        count = steps_of(float(sys.argv[1]))
        print(count, work(count))
