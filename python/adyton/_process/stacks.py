"""Writes the stacks of the threads of a process: when asked, at a signal, and at a fault."""

from __future__ import annotations

import sys

from adyton._application import HERE


def prepare_worker() -> None:
    """Has the Python stacks of all threads written when a fault or SIGABRT ends this process.

    Also reduces ``sys.argv`` to the command line that the user has typed, for the application.
    """
    import faulthandler

    faulthandler.enable(2)
    # An internal command of this program, and its argument, come before the user's command line.
    del sys.argv[1:3]


def write_stacks_at_signal(file: int) -> int:
    """Has faulthandler write the stacks of all threads to the open `file` at a signal; returns the signal.

    Only this call needs the interpreter: the signal works even if the interpreter is blocked.
    """
    import faulthandler
    import signal

    # Not the last signal: Valgrind uses it.
    number = signal.SIGRTMAX - 1
    faulthandler.register(number, file=file)
    return number


def write_stack_at_signal(file: int) -> int:
    """Has faulthandler write a thread's stack to `file`, which is open, at a signal; returns the signal."""
    import faulthandler
    import signal

    # The last two signals are taken: by Valgrind, and by the stacks of all threads.
    number = signal.SIGRTMAX - 2
    faulthandler.register(number, file=file, all_threads=False)
    return number


def stacks() -> str:
    """Returns the stack of every thread except this one; threads that run the application come first."""
    import threading
    from traceback import format_stack

    names = {thread.ident: thread.name for thread in threading.enumerate()}
    inside: list[str] = []
    others: list[str] = []
    idle = 0
    for ident, frame in sys._current_frames().items():  # noqa: SLF001
        name, code = names.get(ident, str(ident)), frame.f_code
        is_main = ident == threading.main_thread().ident
        is_server = is_main or name.startswith("adyton-")
        if is_server and (code is threading.Thread.run.__code__ or code.co_filename.startswith(HERE)):
            idle += 1
        elif ident != threading.get_ident():
            (inside if is_server else others).append(f"Thread {name}:\n{''.join(format_stack(frame))}")
    return "\n".join([*inside, *others, f"Threads of the server that idle: {idle}\n"])
