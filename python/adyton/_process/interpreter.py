"""The interpreter of this process, in words."""

from __future__ import annotations

import sys


def described() -> str:
    """Returns the interpreter's name and version, for the banner: ``CPython 3.13.0``."""
    name = {"cpython": "CPython"}.get(sys.implementation.name, sys.implementation.name)
    version = ".".join(map(str, sys.version_info[:3]))
    threads = "" if getattr(sys, "_is_gil_enabled", lambda: True)() else ", free-threaded"
    return f"{name} {version}{threads}"
