"""Finds the application that the settings name."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from adyton._application.kinds import NoApplicationError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

#: Attributes that are tried in this order when the user names only a module.
NAMES = ("application", "app", "handler")

#: Index in ``sys.path`` for the folder of a file that is run: 1 if a group's folder comes first, else 0.
_behind = 0


class NotFoundError(Exception):
    """Raised when the module was imported but does not have the attribute that was asked for."""


def prepare(
    chdir: str | None,
    python_path: Sequence[str],
    env: Sequence[tuple[str, str]],
    leads: bool,  # noqa: FBT001
) -> None:
    """Goes to the working directory, and sets up ``sys.path`` and the environment.

    With ``leads``, the working directory becomes the first entry of ``sys.path``, even if it already was one.
    Raises ``OSError``, with a sentence, when a folder does not exist or may not be entered.
    """
    global _behind  # noqa: PLW0603
    if chdir is not None:
        _try("chdir", chdir, os.chdir)
    for entry in python_path:
        # A zip archive is allowed, and so is a folder that this user may enter but not list.
        _try("python-path", entry, os.stat if os.path.isfile(entry) else look_into)
    for entry in reversed([os.getcwd(), *map(os.fspath, python_path)]):
        path = os.path.abspath(entry)
        if path not in sys.path:
            sys.path.insert(0, path)
    if leads:
        here = os.getcwd()
        sys.path.remove(here)
        sys.path.insert(0, here)
        _behind = 1
    os.environ.update(env)


def _try(setting: str, path: str, use: Callable[[str], object]) -> None:
    """Uses a path that a setting names; an error names the setting, the path and the user."""
    try:
        use(path)
    except PermissionError as error:
        message = f"{setting}: {user_name()} may not enter {path}"
        raise OSError(message) from error
    except OSError as error:
        message = f"{setting}: {path} is no folder to enter: {error.strerror}"
        raise OSError(message) from error


def look_into(folder: str) -> None:
    """Raises ``OSError`` if this user cannot enter a folder."""
    os.stat(os.path.join(folder, "."))


def user_name() -> str:
    """Returns the user of this process, by name if the user has one."""
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return f"the user {os.geteuid()}"


def load(place: str, attribute: str | None, is_file: bool, factory: bool) -> tuple[Any, str]:  # noqa: FBT001
    """Imports a module or runs a file, and returns the application and its name.

    Raises whatever the application's code raises, and ``NotFoundError``.
    """
    module = _run_file(place) if is_file else _import(place)
    name, found = _find(module, place, attribute)
    if factory:
        if not callable(found):
            raise NoApplicationError(
                f"{name} makes no application: --factory calls it, and it is no function"
            )
        found = found()
    return found, name


def load_function(place: str, name: str, is_file: bool) -> tuple[Any, str]:  # noqa: FBT001
    """Imports a module or runs a file; returns one of its functions, and the name to show for that function.

    A file that was already run as a module is not run again. Raises whatever its code raises, and
    ``NotFoundError``.
    """
    module = (_already_run(place) or _run_file(place)) if is_file else _import(place)
    shown, found = _find(module, place, name)
    if not callable(found):
        message = f"{shown} is no function"
        raise NotFoundError(message)
    return found, shown


def _already_run(path: str) -> ModuleType | None:
    """Returns the module that was made from a file, if the file was run."""
    wanted = os.path.abspath(path)
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == wanted:
            return module
    return None


def _import(name: str) -> ModuleType:
    from importlib import import_module

    return import_module(name)


def _run_file(path: str) -> ModuleType:
    """Runs a file as a module that other modules can import by the file's name."""
    from importlib.machinery import SourceFileLoader
    from importlib.util import module_from_spec, spec_from_file_location

    path = os.path.abspath(path)
    name = os.path.splitext(os.path.basename(path))[0].replace("-", "_").replace(".", "_")
    folder = os.path.dirname(path)
    if folder not in sys.path:
        sys.path.insert(_behind, folder)
    if name in sys.modules or name in sys.builtin_module_names:
        name = f"_adyton_{name}"
    spec = spec_from_file_location(name, path, loader=SourceFileLoader(name, path))
    if spec is None or spec.loader is None:
        message = f"{path} is no Python file"
        raise NotFoundError(message)
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _find(module: ModuleType, place: str, attribute: str | None) -> tuple[str, Any]:
    if attribute is None:
        for name in NAMES:
            if hasattr(module, name):
                return f"{place}:{name}", getattr(module, name)
        names = f"{', '.join(NAMES[:-1])} or {NAMES[-1]}"
        message = f"{place} has no {names}: name the application as {place}:NAME"
        raise NotFoundError(message)
    found: Any = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            message = f"{place} has no {attribute}{_hint(found, part)}"
            raise NotFoundError(message)
        found = getattr(found, part)
    return f"{place}:{attribute}", found


def _hint(owner: object, name: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, [other for other in dir(owner) if not other.startswith("_")], 1)
    return f"; did you mean {close[0]}?" if close else ""
