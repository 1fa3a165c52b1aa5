"""Forks of workers from the process that has imported the application (``--preload``)."""

from __future__ import annotations

import os
import sys

from adyton._process.ending import end_timers


def before_preload() -> None:
    """Keeps the collector from leaving holes in memory that workers are to share.

    Registers what has to be done in a fork before anything that the application does there, which may hang.
    """
    import gc

    gc.disable()
    os.register_at_fork(after_in_child=_end_with_prototype)


def after_preload() -> None:
    """Takes what was imported out of the collector's sight: its look would copy every page.

    Says which threads and timers the import has started: a fork has only the thread that forks (fork(2)).
    """
    import gc

    gc.freeze()
    if signals := end_timers():
        _tell_lost(f"timers of {', '.join(signals)}", "set timers")
    if "threading" not in sys.modules:
        return
    import threading

    names = [thread.name for thread in threading.enumerate() if thread is not threading.current_thread()]
    if names:
        _tell_lost(", ".join(names), "start threads")


def _tell_lost(what: str, remedy: str) -> None:
    from adyton._core import relay

    where = f"{remedy} in a hook of on_worker_start"
    relay(30, "adyton", f"--preload: {what} will not run in workers: {where}")


#: Whether a process is being forked that forks a worker.
_forking = False


def _end_with_prototype() -> None:
    """Has the process between the prototype and a worker end when the prototype does, wherever it hangs."""
    global _forking  # noqa: PLW0603
    if _forking:
        from adyton._core import end_with_parent

        _forking = False
        end_with_parent()


def begin_fork() -> tuple[int, int]:
    """Forks a worker that is not this process's child, by way of one that is.

    Returns that one's number, and a descriptor for ``end_fork``; zeros in the worker.
    """
    import gc

    global _forking  # noqa: PLW0603
    reader, writer = os.pipe()
    _forking = True
    midwife = os.fork()
    _forking = False
    if midwife:
        os.close(writer)
        return midwife, reader
    parent = os.getpid()
    if worker := os.fork():
        os.write(writer, str(worker).encode())
        os._exit(0)
    os.close(reader)
    os.close(writer)
    # The supervisor only believes its own children that they are its workers.
    while os.getppid() == parent:
        os.sched_yield()
    gc.enable()
    return 0, 0


def end_fork(midwife: int, reader: int) -> int:
    """Waits until a worker is forked, and returns its number; 0 if it never will be."""
    import contextlib

    worker = os.read(reader, 16)
    os.close(reader)
    # If the application has SIGCHLD ignored, the kernel has reaped the child.
    with contextlib.suppress(ChildProcessError):
        os.waitpid(midwife, 0)
    return int(worker or 0)
