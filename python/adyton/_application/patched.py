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
            meaning = _meaning(library) if threads > 1 else ALONE
            return f"{library} has patched {names}: {meaning}; remove the call of its monkey patch"
    return None


#: What was seen to fail with one thread, with each library.
ALONE = (
    "threads that the application starts are greenlets, which run only while a request waits, and a request "
    "that waits holds up all others"
)

#: What was seen to fail with several, beside what fails with each library.
OWN = {
    "gevent": "subprocess may fail",
    "eventlet": "--request-timeout does not end such a wait",
}


def _meaning(library: str) -> str:
    """What was seen to fail with several threads."""
    return (
        "each request runs in a thread of the kernel, and greenlets of one thread never run in another; so a "
        "lock, queue or pool that requests share may wait for ever, threads started by the import stand "
        f"still, and {OWN[library]}"
    )
