"""Loads scripts of a folder, each as a module of its own, and finds the application that a script defines.

No other module can import a script: its folder is not on ``sys.path``, and no import statement can spell the
name of its module. So no script hides a module of the standard library.
"""

from __future__ import annotations

import os
import sys
from hashlib import sha256
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adyton._application.kinds import kind_of
from adyton._application.load import NAMES, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

#: Endings that the name of a script may have.
_ENDS = (".py", ".wsgi")

#: Characters of a digest in a name: enough that no two paths of a machine have the same digest.
_DIGEST_CHARS = 24


def load(path: str, source: bytes, modified: float, interface: str) -> tuple[Any, str, dict[str, Any]]:
    """Runs a script; returns its application, the application's kind, and the names that the script defines.

    The module of the script is in ``sys.modules`` from before the script runs until :func:`forget`. If the
    script fails, the module that was there before is put back. Raises whatever the script raises, and
    ``NotFoundError``.
    """
    name = module_name(path)
    module = _new_module(name, path)
    # As in mod_wsgi: a script that deletes this variable is loaded again.
    module.__dict__["__mtime__"] = modified
    before = sys.modules.get(name)
    sys.modules[name] = module
    try:
        exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)  # noqa: S102
        attribute = _application_of(module, path)
        application = module.__dict__[attribute]
        kind = kind_of(application, f"{path}:{attribute}", interface)
    except BaseException:
        if before is None:
            sys.modules.pop(name, None)
        else:
            sys.modules[name] = before
        raise
    return application, kind, module.__dict__


def module_name(path: str) -> str:
    """Returns the name of a script's module: the name of its file, for people, and a digest of its path."""
    stem = Path(path).stem.replace(".", "_")
    digest = sha256(os.fsencode(path)).hexdigest()[:_DIGEST_CHARS]
    return f"_adyton_{stem}-{digest}"


def _new_module(name: str, path: str) -> ModuleType:
    spec = spec_from_file_location(name, path, loader=SourceFileLoader(name, path))
    if spec is None:
        message = f"{path} is no Python file"
        raise NotFoundError(message)
    return module_from_spec(spec)


def _application_of(module: ModuleType, path: str) -> str:
    for name in NAMES:
        if name in module.__dict__:
            return name
    names = f"{', '.join(NAMES[:-1])} or {NAMES[-1]}"
    message = f"{path} defines no {names}, so it is no page; a name that begins with _ keeps it from clients"
    raise NotFoundError(message)


def forget(path: str, names: dict[str, Any]) -> None:
    """Takes a script's module out of ``sys.modules``, unless a newer module has replaced it."""
    name = module_name(path)
    module = sys.modules.get(name)
    if module is not None and module.__dict__ is names:
        del sys.modules[name]


def give_way() -> None:
    """Does nothing: an exception set for a waiting thread is raised when the thread calls this function."""


def faults(folder: str) -> list[str]:
    """Returns the scripts of a folder that cannot be compiled, each with the reason; runs no script."""
    found: list[str] = []
    for path in _scripts_in(folder):
        try:
            compile(path.read_bytes(), path, "exec", dont_inherit=True)
        except SyntaxError as error:
            found.append(f"{path}:{error.lineno or 1}: {error.msg}")
        except (OSError, ValueError) as error:
            found.append(f"{path}: {error}")
    return found


def _scripts_in(folder: str) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "_")))
        for name in sorted(files):
            if name.endswith(_ENDS) and not name.startswith((".", "_")):
                yield Path(place, name)
