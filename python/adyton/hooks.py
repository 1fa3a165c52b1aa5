"""Hooks: functions that an application wants to run when its workers start or stop.

Each decorator takes a function of a :class:`adyton.Worker`, and may be used several times::

    @adyton.hooks.on_worker_start
    def connect(worker: adyton.Worker) -> None:
        pool.open()

Hooks run on the worker's main thread. If a hook raises while a worker starts, the worker does not serve, as
after a failed import; if a hook raises while a worker stops, the error is logged.
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
    """Runs ``hook`` in a worker that was forked from a process with the imported application (``--preload``).

    Such hooks run before all others. They are for state that must not be shared with that process, such as
    connections and random states.
    """
    return _add("on_fork", hook)


def on_reload(hook: _H) -> _H:
    """Runs ``hook`` before a worker serves, if it serves a version that came with a reload.

    Workers that later replace such a worker, as after a crash, run the hook, too, because they serve the same
    version.
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
    """Runs the hooks of one kind in the order in which they were given; only the server calls this.

    Raises what a hook raises. Hooks of ``on_worker_stop`` all run, and their exceptions are returned.
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
