"""Tells where the threads of a process are: when asked, at a signal, and at a fault."""

from __future__ import annotations

import sys

from adyton._application import HERE


def prepare_worker() -> None:
    """Has the Python stacks of all threads written when this process is ended by a fault, or by SIGABRT.

    Shows the application the command line that the user has typed.
    """
    import faulthandler

    faulthandler.enable(2)
    # A command of this program to itself, and its argument, stand before the user's command line.
    del sys.argv[1:3]


def write_stacks_at_signal(file: int) -> int:
    """Has faulthandler write the stacks of all threads into the open `file` at a signal; returns which.

    It needs the interpreter for this now, and not then.
    """
    import faulthandler
    import signal

    # Not the last one, which is Valgrind's.
    number = signal.SIGRTMAX - 1
    faulthandler.register(number, file=file)
    return number


def write_stack_at_signal(file: int) -> int:
    """Has faulthandler write into the open `file` where a thread is that gets a signal; returns which."""
    import faulthandler
    import signal

    # The two behind it are taken: by the stacks of all threads, and by Valgrind.
    number = signal.SIGRTMAX - 2
    faulthandler.register(number, file=file, all_threads=False)
    return number


def stacks() -> str:
    """Returns where every thread is but this one, which only asks; those in the application come first."""
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
