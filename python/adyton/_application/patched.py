"""Finds which of Python's modules gevent or eventlet has patched, without importing either library."""

from __future__ import annotations

import sys

#: The module of each library that does the patching, and the variable in which it records patched modules.
PATCHERS = {"gevent": ("gevent.monkey", "saved"), "eventlet": ("eventlet.patcher", "already_patched")}

#: Names that both libraries give to Python's modules for threads. If none of these modules is patched, the
#: other patched modules work: they wait in the hub of their own thread.
THREADS = {"_thread", "thread", "threading"}


def report(threads: int) -> str | None:
    """Returns a sentence: what was patched, and what fails because of it; ``None`` without patched threads.

    ``threads``: how many threads may answer requests at once.
    """
    for library, (module, attribute) in PATCHERS.items():
        patched: dict[str, object] = getattr(sys.modules.get(module), attribute, {})
        if THREADS.intersection(patched):
            names = ", ".join(sorted(name for name in patched if not name.startswith("_")))
            meaning = _meaning(library) if threads > 1 else ALONE
            return f"{library} has patched {names}: {meaning}; remove the call of its monkey patch"
    return None


#: Failures that were seen with one thread, with each library.
ALONE = (
    "threads that the application starts are greenlets, which run only while a request waits, and a request "
    "that waits holds up all others"
)

#: Failures that were seen with several threads and only one of the libraries.
OWN = {
    "gevent": "subprocess may fail",
    "eventlet": "--request-timeout does not end such a wait",
}


def _meaning(library: str) -> str:
    """Describes the failures that were seen with several threads."""
    return (
        "each request runs in a thread of the kernel, and greenlets of one thread never run in another; so a "
        "lock, queue or pool that requests share may wait for ever, threads started by the import stand "
        f"still, and {OWN[library]}"
    )
