"""Forks of workers from the process that has imported the application (``--preload``)."""

from __future__ import annotations

import os
import sys

from adyton._process.ending import end_timers


def before_preload() -> None:
    """Turns the garbage collector off, because it would leave holes in the memory that workers are to share.

    Registers our own fork hook first, so that it runs before the application's hooks, which may hang.
    """
    import gc

    gc.disable()
    os.register_at_fork(after_in_child=_end_with_prototype)


def after_preload() -> None:
    """Hides imported objects from the garbage collector: its marks would copy every page that workers share.

    Logs which threads and timers the import has started, because a worker has only the thread that forked it
    (fork(2)).
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


#: Whether this process is forking the intermediate process that in turn forks a worker.
_forking = False


def _end_with_prototype() -> None:
    """Has the kernel end the intermediate process with the prototype, even if it hangs in a fork hook."""
    global _forking  # noqa: PLW0603
    if _forking:
        from adyton._core import end_with_parent

        _forking = False
        end_with_parent()


def begin_fork() -> tuple[int, int]:
    """Forks a child, which forks the worker and exits, so that the worker is not a child of this process.

    Returns the child's number, and a descriptor for ``end_fork``; zeros in the worker.
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
    # The supervisor accepts only its own children as workers: wait until the kernel has made it our parent.
    while os.getppid() == parent:
        os.sched_yield()
    gc.enable()
    return 0, 0


def end_fork(midwife: int, reader: int) -> int:
    """Waits until the worker is forked, and returns its number; 0 if the fork has failed."""
    import contextlib

    worker = os.read(reader, 16)
    os.close(reader)
    # If the application ignores SIGCHLD, the kernel has reaped the child already.
    with contextlib.suppress(ChildProcessError):
        os.waitpid(midwife, 0)
    return int(worker or 0)
