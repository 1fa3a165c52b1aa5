"""``adyton compare``: peers side by side, in one run, on the same CPUs, with every answer checked.

A peer is one small file in ``peers/``: how a server is started, and what it serves. In each round all
installed peers are started in random order, one at a time, and loaded by ``adyton bench``. The page shows the
median of the rounds, and the ratio to one of the peers with its interval. That peer takes part twice, so that
the page shows how far two runs of the same server differ.
"""

from adyton.compare.command import main

__all__ = ["main"]
