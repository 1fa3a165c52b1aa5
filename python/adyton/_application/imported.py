"""The files that an application was imported from, for ``--reload``."""

from __future__ import annotations

import functools
import os
import sys
from typing import Any

from adyton._application import HERE, failed

#: Time of the last change of each imported source file, in nanoseconds since 1970.
_imported: dict[str, int] = {}


def note_imports() -> None:
    """Notes the version of each source file that is imported from now on."""
    from importlib.machinery import SourceFileLoader

    path_stats = SourceFileLoader.path_stats

    def noted(self: SourceFileLoader, path: str) -> Any:  # noqa: ANN401
        _imported[path] = os.stat(path).st_mtime_ns
        return path_stats(self, path)

    SourceFileLoader.path_stats = noted  # type: ignore[method-assign]


@functools.cache
def _installed() -> tuple[str, ...]:
    """Returns the folders of installed packages. They are cached: this is called several times a second."""
    import site
    import sysconfig

    paths = sysconfig.get_paths()
    installed = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    installed.update((HERE, site.getusersitepackages(), *site.getsitepackages()))
    return tuple(os.path.join(folder, "") for folder in installed)


def sources() -> list[tuple[str, int | None]]:
    """Returns the files that the application was imported from, or failed in, without installed packages.

    Each file has the time of its last change before it was imported, in nanoseconds since 1970, or None if
    that time was not noted.
    """
    brought = _installed()
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    return [
        (file, _imported.get(file))
        for file in [*files, *failed.FILES]
        if file and os.path.isabs(file) and not file.startswith(brought)
    ]
