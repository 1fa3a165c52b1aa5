"""Says whether a Python that a group names can have the package ``adyton``, without running it.

It may be another user's program, which root is not to run.
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

from adyton._application import HERE


def lacks(python: str | os.PathLike[str]) -> str | None:
    """The version of a Python in a virtual environment that this server was not built for, and that lacks it.

    ``None`` if it has it, or if that is not known: of a Python outside of such an environment it is not.
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
    """Whether this package has a core for such a Python, as ``3.13t``; true if no core says for which."""
    cores = [core.name for core in Path(HERE).glob("_core.*.so")]
    wanted = f"_core.cpython-{version.replace('.', '')}-"
    return not any("cpython-" in core for core in cores) or any(core.startswith(wanted) for core in cores)
