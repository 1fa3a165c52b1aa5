"""Adyton: the web server with Python in its innermost room.

A handler is a function of a request::

    def handler(request: adyton.Request) -> str:
        return "Hello World!"

``adyton serve hello.py`` serves this handler; a program does so by calling :func:`serve`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from adyton._core import Request, counters, place, request_id, serve
from adyton._response import Abort, RequestTimeout, Response

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from adyton import hooks as hooks
    from adyton import logs as logs

    #: Types that a handler may return.
    Answer = str | bytes | Response | Iterable[bytes]
    #: A plain handler.
    Handler = Callable[[Request], Answer]

__all__ = [
    "Abort",
    "Request",
    "RequestTimeout",
    "Response",
    "Worker",
    "abort",
    "counters",
    "request_id",
    "serve",
    "worker",
]


class Worker(NamedTuple):
    """The place of a process among the workers of ``adyton serve``."""

    #: Number of the worker, from 1 on. A worker that replaces another worker has the same number.
    number: int
    #: How many workers there were when this one was started.
    of: int
    #: 1 at first, and one more after each reload.
    generation: int
    #: The group, in a file of sites, that this process belongs to; ``None`` in a worker of the server itself.
    group: str | None = None


def worker() -> Worker | None:
    """The place of this process among the workers; ``None`` when it serves without a supervisor."""
    found = place()
    return Worker(*found) if found else None


def abort(status: int, message: str | None = None) -> NoReturn:
    """Ends the request with an error page: raises :class:`Abort`.

    ``status`` is a status code of RFC 9110 section 15 from 400 on; ``message`` is shown to the client.
    """
    raise Abort(status, message)


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Imports ``__version__``, ``hooks`` and ``logs`` at first use (PEP 562): most programs need none."""
    if name in ("hooks", "logs"):
        from importlib import import_module  # noqa: PLC0415

        return import_module(f"adyton.{name}")
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415

        return version("adyton")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
