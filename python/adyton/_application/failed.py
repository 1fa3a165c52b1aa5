"""Says why an application could not be loaded: its own traceback, without frames of this package."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from adyton._application import HERE
from adyton._application.kinds import NoApplicationError
from adyton._application.load import NotFoundError, look_into, user_name

if TYPE_CHECKING:
    from types import TracebackType

#: Files in which the application has failed: ``--reload`` watches them, too.
FILES: list[str] = []


def report(error: BaseException, place: str = "") -> str:
    """Says why the application could not be loaded: its own traceback, without our frames.

    ``place`` is the line of a file of sites that names the application, as ``site.toml:3:7: ``, or empty.
    """
    if isinstance(error, NotFoundError | NoApplicationError):
        return f"adyton: {place}{error}\n"
    from traceback import format_exception, walk_tb

    from adyton._application import single

    FILES.extend(frame.f_code.co_filename for frame, _ in walk_tb(error.__traceback__))
    if isinstance(error, SyntaxError) and error.filename:
        FILES.append(error.filename)
    frames = without_ours(error.__traceback__)
    lines = format_exception(type(error), error, frames)
    if place:
        lines.insert(0, f"adyton: {place}the application named here cannot be loaded:\n")
    if isinstance(error, ModuleNotFoundError) and frames is None:
        lines.append(_where_it_is_not(error.name or ""))
    lines.append(single.hint(error))
    return "".join(lines).encode("utf-8", "backslashreplace").decode()


def _where_it_is_not(name: str) -> str:
    """Returns a hint where to look for a module: the import system skips folders that it may not enter."""
    parent = sys.modules.get(name.rpartition(".")[0])
    closed = [folder for folder in getattr(parent, "__path__", sys.path) if _is_closed(folder)]
    if closed:
        return f"adyton: {user_name()} may not enter {', '.join(closed)}, where the module is looked for\n"
    if parent is None:
        return f"adyton: the module is not in {os.getcwd()}; --python-path names other folders to look in\n"
    return ""


def _is_closed(folder: str) -> bool:
    try:
        look_into(folder)
    except OSError as error:
        return isinstance(error, PermissionError)
    return False


def without_ours(frames: TracebackType | None) -> TracebackType | None:
    """Leaves out the frames of this package and of the import system at the top; None if no frame is left."""
    while frames is not None:
        file = frames.tb_frame.f_code.co_filename
        if not (os.path.abspath(file).startswith(HERE) or "importlib" in file):
            return frames
        frames = frames.tb_next
    return None
