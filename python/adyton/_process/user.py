"""The user that a process has become."""

from __future__ import annotations

import os


def move_in() -> None:
    """Sets the variables that name the user, as a login does: until then they name the former user."""
    import pwd

    try:
        entry = pwd.getpwuid(os.getuid())
    except KeyError:
        os.environ["HOME"] = "/"
        for name in ("USER", "LOGNAME"):
            os.environ.pop(name, None)
    else:
        os.environ.update(HOME=entry.pw_dir, USER=entry.pw_name, LOGNAME=entry.pw_name)
