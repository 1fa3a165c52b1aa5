"""Says, without running a group's Python, whether the package ``adyton`` can be imported in it.

That Python may belong to another user, so root must not run it.
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

from adyton._application import HERE


def lacks(python: str | os.PathLike[str]) -> str | None:
    """Returns a Python's version if this server was not built for it and it has no ``adyton``.

    Returns ``None`` if ``adyton`` can be imported there, or if the answer is unknown. The answer is always
    unknown for a Python outside of a virtual environment.
    """
    environment = Path(python).parent.parent
    with contextlib.suppress(OSError):
        says = (environment / "pyvenv.cfg").read_text("utf-8", "replace")
        places = list(environment.glob("lib/python3*/site-packages"))
        shares = re.search(r"^include-system-site-packages *= *true", says, re.MULTILINE | re.IGNORECASE)
        if len(places) == 1 and not shares and not os.environ.get("PYTHONPATH"):
            version = places[0].parent.name.removeprefix("python")
            if not _is_built_for(version) and not any(places[0].glob("*adyton*")):
                return version
    return None


def _is_built_for(version: str) -> bool:
    """Whether this package has a core for a version such as ``3.13t``; true if no core names a version."""
    cores = [core.name for core in Path(HERE).glob("_core.*.so")]
    wanted = f"_core.cpython-{version.replace('.', '')}-"
    return not any("cpython-" in core for core in cores) or any(core.startswith(wanted) for core in cores)
