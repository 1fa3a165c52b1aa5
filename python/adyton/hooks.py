"""Hooks for what an application wants to do when its workers come and go.

Each decorator takes a function of a :class:`adyton.Worker`, and may be used several times::

    @adyton.hooks.on_worker_start
    def connect(worker: adyton.Worker) -> None:
        pool.open()

They run on the worker's main thread. One that raises in a worker that starts keeps it from serving, as an
import that fails does; one that raises in a worker that stops is logged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from adyton import Worker

    Hook = Callable[[Worker], object]

_H = TypeVar("_H", bound="Hook")

_hooks: dict[str, list[Hook]] = {}


def on_fork(hook: _H) -> _H:
    """Runs ``hook`` in a worker that was forked from one that had imported the application (``--preload``).

    It is the first to run: for what must not be shared with that process, as connections and random states.
    """
    return _add("on_fork", hook)


def on_reload(hook: _H) -> _H:
    """Runs ``hook`` in a worker that serves a version which a reload has brought, before it serves.

    Those that replace one of them later, as after a crash, serve that version, too.
    """
    return _add("on_reload", hook)


def on_worker_start(hook: _H) -> _H:
    """Runs ``hook`` in each worker before it serves."""
    return _add("on_worker_start", hook)


def on_worker_stop(hook: _H) -> _H:
    """Runs ``hook`` in each worker that has answered its last request."""
    return _add("on_worker_stop", hook)


def _add(event: str, hook: _H) -> _H:
    _hooks.setdefault(event, []).append(hook)
    return hook


def run(event: str, worker: tuple[int, int, int, str | None]) -> list[Exception]:
    """Runs the hooks of one kind in the order in which they were given; the server does that.

    Raises what a hook raises; hooks of ``on_worker_stop`` all run, and what they raise is returned.
    """
    from adyton import Worker  # noqa: PLC0415

    raised = []
    for hook in _hooks.get(event, []):
        try:
            hook(Worker(*worker))
        except Exception as error:
            error.add_note(f"adyton: a hook of {event} has failed, in worker {worker[0]}")
            if event != "on_worker_stop":
                raise
            raised.append(error)
    return raised
