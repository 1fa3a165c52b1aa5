"""Keeps some signals for the server while it runs; for all others the application's handlers run.

Python runs handlers on the main thread, between two steps of its code (:mod:`signal`). The main thread sleeps
while it drives the event loop, or while other threads serve. The descriptor that is given to
:func:`signal.set_wakeup_fd` here wakes it.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

#: Signals that the server keeps for itself, and the use that it has for each.
REASONS = {
    signal.SIGTERM: "to stop",
    signal.SIGINT: "to stop",
    signal.SIGUSR1: "to open its logs again",
}


def keep(
    is_worker: bool,  # noqa: FBT001
    may_be_set: bool,  # noqa: FBT001
    hear: Callable[[], int],
    tell: Callable[[str], None],
) -> Callable[[], None]:
    """Keeps the server's signals, and lets handlers of other signals run; returns a function to undo that.

    ``may_be_set``: the main thread serves requests, in which the application may set handlers. ``hear``
    begins to listen for signals, and returns the descriptor to which their numbers are written; ``tell``
    takes a sentence for the log.
    """
    keeper = Keeper(is_worker, hear, tell)
    keeper.look()
    if may_be_set:
        keeper.watch()
    # In a child that the application forks, all signals are the application's.
    os.register_at_fork(after_in_child=keeper.undo)
    return keeper.undo


class Keeper:
    """Keeps the server's signals from the application, and has the application's own handlers run."""

    def __init__(self, is_worker: bool, hear: Callable[[], int], tell: Callable[[str], None]) -> None:  # noqa: FBT001
        """Changes nothing yet."""
        # A worker opens its logs again when its supervisor says so.
        self._kept = {number for number in REASONS if not (is_worker and number == signal.SIGUSR1)}
        self._hear = hear
        self._tell = tell
        self._told: set[int] = set()
        #: Handlers that the application has set for signals of the server; they do not run.
        self._wanted: dict[int, Any] = {}
        #: Descriptor to which numbers of signals are written when the keeper listens; -1 before.
        self._descriptor = -1
        #: Whether the keeper cannot listen.
        self._is_deaf = False
        self._set = signal.signal
        self._set_wakeup = signal.set_wakeup_fd

    def look(self) -> None:
        """Looks at the handlers that the application has set until now."""
        for number in signal.valid_signals():
            self._note(number, signal.getsignal(number))

    def watch(self) -> None:
        """Looks at each handler that is set from now on."""
        signal.signal = self._signal
        signal.set_wakeup_fd = self._set_wakeup_fd

    def undo(self) -> None:
        """Restores Python's own functions and removes the wakeup descriptor."""
        signal.signal = self._set
        signal.set_wakeup_fd = self._set_wakeup
        if self._descriptor >= 0:
            # ValueError: not the main thread, the only one that may set the descriptor.
            with contextlib.suppress(ValueError):
                self._set_wakeup(-1)
            self._descriptor = -1

    def _signal(self, signalnum: int, handler: Any) -> Any:  # noqa: ANN401
        """Stands in for :func:`signal.signal`.

        ``asyncio.run``, for example, sets a handler for SIGINT, and afterwards restores the former handler.
        """
        if signalnum in self._kept:
            former = self._wanted.get(signalnum, signal.getsignal(signalnum))
            self._wanted[signalnum] = handler
        else:
            former = self._set(signalnum, handler)
        self._note(signalnum, handler)
        return former

    def _set_wakeup_fd(self, fd: int, *, warn_on_full_buffer: bool = True) -> int:
        """Stands in for :func:`signal.set_wakeup_fd`; to the application, the server's descriptor is -1."""
        if fd == -1:
            former = self._set_wakeup(self._descriptor, warn_on_full_buffer=False)
        else:
            former = self._set_wakeup(fd, warn_on_full_buffer=warn_on_full_buffer)
        return -1 if former == self._descriptor else former

    def _note(self, number: int, handler: Any) -> None:  # noqa: ANN401
        """Makes sure that a handler of the application runs, or logs once that it does not."""
        if not _is_of_application(handler):
            return
        if number not in self._kept:
            self._listen()
        elif number not in self._told:
            self._told.add(number)
            name, reason = signal.Signals(number).name, REASONS[signal.Signals(number)]
            self._tell(f"the server needs {name} {reason}, so the application's handler for it does not run")

    def _listen(self) -> None:
        """Begins to listen for signals, if the keeper does not listen yet."""
        if self._descriptor >= 0 or self._is_deaf:
            return
        try:
            former = self._set_wakeup(-1)
        except ValueError:
            # This is not the main thread, which runs the program's own code, and so the program's handlers.
            self._is_deaf = True
            return
        if former != -1:
            self._set_wakeup(former)
            self._is_deaf = True
            self._tell(
                "the application has called signal.set_wakeup_fd itself: its signal handlers run only while "
                "a request has the main thread, and with several threads never"
            )
            return
        self._descriptor = self._hear()
        self._set_wakeup(self._descriptor, warn_on_full_buffer=False)


def _is_of_application(handler: object) -> bool:
    """Whether a handler is the application's own: neither the interpreter's nor set by ``asyncio``."""
    function = handler.func if isinstance(handler, functools.partial) else handler
    module = getattr(function, "__module__", None) or ""
    return (
        callable(handler) and handler is not signal.default_int_handler and not module.startswith("asyncio.")
    )
