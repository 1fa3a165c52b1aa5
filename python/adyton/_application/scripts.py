"""Loads scripts of a folder, each as a module of its own, and says which application one defines.

A script is no module that others import: its folder is not on ``sys.path``, and its module has a name that no
import statement can write. So no script stands in the way of a module of the standard library.
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

#: Characters of a digest in a name: no two paths of a machine will have the same.
_DIGEST_CHARS = 24


def load(path: str, source: bytes, modified: float, interface: str) -> tuple[Any, str, dict[str, Any]]:
    """Runs a script; returns its application, what kind that is, and the names that the script has defined.

    Its module stands in ``sys.modules`` from before it runs until it is forgotten. If it fails, the one that
    was there stands there again. Raises whatever the script raises, and ``NotFoundError``.
    """
    name = module_name(path)
    module = _new_module(name, path)
    # As mod_wsgi has it: a script may take it away to be loaded again.
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
    """The name of a script's module: that of its file, for people, and a digest of its path."""
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
    """Takes a script's module away, unless another one stands there by now."""
    name = module_name(path)
    module = sys.modules.get(name)
    if module is not None and module.__dict__ is names:
        del sys.modules[name]


def give_way() -> None:
    """Does nothing: a thread that waits is interrupted when it comes here."""


def faults(folder: str) -> list[str]:
    """The scripts of a folder that cannot be compiled, each with the reason; runs none of them."""
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
