"""Finds what gevent or eventlet have put in the place of Python's threads, without importing either."""

from __future__ import annotations

import sys

#: Of each library the module that patches, and what that calls its list of what it has patched.
PATCHERS = {"gevent": ("gevent.monkey", "saved"), "eventlet": ("eventlet.patcher", "already_patched")}

#: What they call Python's threads. Without these, what is patched waits in the hub of its thread, and works.
THREADS = {"_thread", "thread", "threading"}


def report(threads: int) -> str | None:
    """Returns a sentence about what was patched and what fails then; ``None`` if nothing was.

    ``threads``: how many may be in requests at once.
    """
    for library, (module, attribute) in PATCHERS.items():
        patched: dict[str, object] = getattr(sys.modules.get(module), attribute, {})
        if THREADS.intersection(patched):
            names = ", ".join(sorted(name for name in patched if not name.startswith("_")))
            return (
                f"{library} has patched {names}: {_meaning(threads)}; take the call of its monkey patch out"
            )
    return None


def _meaning(threads: int) -> str:
    """What was seen to fail, with each library."""
    if threads == 1:
        return (
            "what the application starts as threads are greenlets, which run only while a request waits, "
            "and a request that waits holds up all others"
        )
    return (
        "requests are in threads of the kernel, where greenlets of another thread never run; so a lock, "
        "queue or pool that several of them share may wait for ever, threads that were started by the import "
        "do not run, and subprocess may fail"
    )
