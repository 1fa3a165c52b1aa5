"""``adyton compare``: peers side by side, in one run, on the same CPUs, with every answer checked.

A peer is one small file in ``peers/``: how it is started, and what it serves. Those that are installed are
started one after the other in random order, round after round, and loaded by ``adyton bench``; what is told
is the median of the rounds, and the ratio to one of them with its interval. One peer takes part twice, so
that the page shows how far two runs of the same thing differ.
"""

from adyton.compare.command import main

__all__ = ["main"]
