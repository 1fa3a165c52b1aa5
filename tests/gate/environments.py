"""Makes virtual environments with their packages, and keeps them for all clones of a user.

`environments.py VERSION PROFILE REQUIREMENTS...` makes the environment of a Python. To install the packages
of the first Python takes a minute and a half of CPU time. In a copy the paths in scripts are changed to its
new place, and afterwards `pip` installs packages that are missing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import kept
from setup import FREE_THREADED, ROOT, interpreter, pip, python, shared_folder

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

COPIES_MAX = 1
"""Number of copies that are kept for each version of Python: the largest has 600 MB."""
PLACE = "place"
"""The file of a copy that says where its environment was made."""


def packages(version: str, profile: str, *requirements: str) -> None:
    """Make the environment of a version, with the packages that these files of requirements name."""
    inside = python(version, profile)
    environment, made_of = inside.parents[1], interpreter(version)
    limits = ["-c", "tests/free_threaded/constraints.txt"] if version == FREE_THREADED else []
    wanted = [word for name in requirements for word in ("-r", name)]
    is_other_build = version == FREE_THREADED and inside.resolve() != made_of.resolve()
    is_new = is_other_build or not inside.exists()
    copy = folder(version, made_of, (ROOT / name for name in (*limits[1:], *requirements)))
    if is_new and not take(copy, environment):
        subprocess.run([made_of, "-m", "venv", "--clear", environment], check=True)
    # Modules are compiled ahead: if PYTHONDONTWRITEBYTECODE is set, each start of a server would compile them
    # anew.
    pip(inside, "install", *limits, *wanted)
    if is_new:
        keep(copy, environment)


def folder(version: str, base: Path, requirements: Iterable[Path]) -> Path:
    """Return where the environment of a version is or will be kept.

    Each week has copies of its own: files of requirements name minimum versions, and the newest versions are
    wanted.
    """
    year, week, _ = datetime.now(UTC).date().isocalendar()
    texts = (file.read_text(encoding="utf-8") for file in requirements)
    return shared_folder(f"venv-{version}", [str(base), f"{year}-{week}", *texts])


def take(copy: Path, environment: Path) -> bool:
    """Make an environment from a copy; return whether there was a copy."""
    try:
        with kept.shared():
            if not copy.exists():
                return False
            begun = environment.with_name(f"{environment.name}.begun")
            shutil.rmtree(begun, ignore_errors=True)
            shutil.copytree(copy / "venv", begun, symlinks=True)
            os.utime(copy)
            made_at = (copy / PLACE).read_bytes()
        for file in (begun / "pyvenv.cfg", *(begun / "bin").iterdir()):
            # Some packages install a module among the programs; a folder beside it has the compiled form.
            is_text = file.is_file() and not file.is_symlink()
            if is_text and made_at in (text := file.read_bytes()):
                file.write_bytes(text.replace(made_at, bytes(environment)))
        shutil.rmtree(environment, ignore_errors=True)
        begun.rename(environment)
    except OSError as error:
        print(f"{copy} is not used: {error}")
        return False
    return True


def keep(copy: Path, environment: Path) -> None:
    """Keep an environment in which nothing but its requirements is installed, unless it is kept already."""
    try:
        if not copy.exists():
            with kept.begun(copy, COPIES_MAX) as new:
                shutil.copytree(environment, new / "venv", symlinks=True)
                (new / PLACE).write_bytes(bytes(environment))
    except OSError as error:
        print(f"{environment} is not kept for other clones: {error}")


if __name__ == "__main__":
    packages(*sys.argv[1:])
