"""The server's log, for the application's own messages.

Text that the application prints, or writes to ``sys.stderr`` or ``wsgi.errors``, is in the error log line by
line, with the worker and the request that it comes from (``--capture-output``); so are messages of
:mod:`logging` for which no handler is set up. :class:`Handler` writes all messages of :mod:`logging` to the
error log, with their levels::

    LOGGING = {
        "version": 1,
        "handlers": {"server": {"class": "adyton.logs.Handler"}},
        "root": {"handlers": ["server"], "level": "INFO"},
    }
"""

from __future__ import annotations

import codecs
import io
import logging
import sys
from typing import TYPE_CHECKING, Any, TextIO

from adyton._core import begin_capture, end_lines, put_out, relay

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

__all__ = ["Handler"]


class Handler(logging.Handler):
    """Writes records to the error log of the server, with their level and the name of their logger.

    Records below ``--log-level`` are left out here, too.
    """

    def emit(self, record: logging.LogRecord) -> None:
        """Writes one record; an error in the record is reported as :mod:`logging` does it."""
        try:
            relay(record.levelno, record.name, self.format(record))
        except Exception:  # noqa: BLE001
            self.handleError(record)


class _Stream(io.TextIOBase):
    """Stands for ``sys.stdout`` or ``sys.stderr``: its lines are entries of the error log."""

    mode = "w"
    line_buffering = True
    write_through = True

    def __init__(self, original: TextIO, number: int) -> None:
        self._original = original
        self._number = number
        self.buffer = _Bytes(self)

    @property
    def name(self) -> str:
        return self._original.name

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return "utf-8"

    @property
    def errors(self) -> str:  # type: ignore[override]
        return "backslashreplace"

    def writable(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        put_out(self._number, text)
        return len(text)

    def flush(self) -> None:
        """Ends the line that this thread has begun."""
        end_lines()

    def reconfigure(self, **_: object) -> None:
        """Changes nothing: the log has its own encoding and its own lines."""

    def detach(self) -> _Bytes:  # type: ignore[override]
        """Returns the stream of bytes; this stream stays usable, unlike other detached streams."""
        return self.buffer

    def fileno(self) -> int:
        return self._original.fileno()

    def isatty(self) -> bool:
        return False

    def close(self) -> None:
        """Does nothing: the log stays open even if the application closes the stream."""


class _Bytes(io.RawIOBase):
    """The stream of bytes that stands in for ``sys.stdout.buffer``."""

    mode = "wb"

    def __init__(self, text: _Stream) -> None:
        self._text = text
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")

    @property
    def name(self) -> str:
        return self._text.name

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:  # noqa: ANN401
        whole = bytes(memoryview(data))
        self._text.write(self._decoder.decode(whole))
        return len(whole)

    def flush(self) -> None:
        self._text.flush()

    def fileno(self) -> int:
        return self._text.fileno()

    def close(self) -> None:
        """Does nothing."""


def capture() -> None:
    """Sends the application's output to the error log; called before the application is imported."""
    begin_capture()
    sys.stdout, sys.stderr = _Stream(sys.stdout, 1), _Stream(sys.stderr, 2)
    if logging.lastResort is not None:
        logging.lastResort = Handler(logging.WARNING)
    _say_what_threads_fail_of()
    _say_warnings()


def _say_what_threads_fail_of() -> None:
    """Logs the traceback of a thread that has failed as one entry, with the level error."""
    import threading  # noqa: PLC0415

    usual: Callable[[threading.ExceptHookArgs], object] = threading.excepthook

    def failed(args: threading.ExceptHookArgs) -> None:
        if args.exc_type is SystemExit or args.exc_value is None or not isinstance(sys.stderr, _Stream):
            usual(args)
            return
        from traceback import format_exception  # noqa: PLC0415

        name = args.thread.name if args.thread is not None else "?"
        lines = format_exception(args.exc_type, args.exc_value, args.exc_traceback)
        text = f"Exception in thread {name}:\n{''.join(lines)}"
        relay(logging.ERROR, "threading", text)

    threading.excepthook = failed


def _say_warnings() -> None:
    """Logs warnings with their level, under the logger's name that ``logging.captureWarnings`` gives them."""
    import warnings  # noqa: PLC0415

    usual: Callable[..., object] = warnings.showwarning

    def show(  # noqa: PLR0913, PLR0917
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if file is not None or not isinstance(sys.stderr, _Stream):
            # The caller wants the warning in another file.
            usual(message, category, filename, lineno, file, line)
            return
        text = warnings.formatwarning(message, category, filename, lineno, line)
        relay(logging.WARNING, "py.warnings", text)

    warnings.showwarning = show
