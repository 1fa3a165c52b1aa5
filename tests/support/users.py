"""Folders and mount namespaces for servers and applications of users that are not root."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

REMOUNT = """
set -e
mode=$1
shift
while [ "$1" != -- ]; do
    kept=$(mktemp -d)
    mount --rbind "$1" "$kept"
    mount -t tmpfs -o "mode=$mode" none "$1"
    for entry in "$kept"/* "$kept"/.[!.]*; do
        name=$1/${entry##*/}
        if [ -L "$entry" ]; then cp -P "$entry" "$name"
        elif [ -d "$entry" ]; then mkdir "$name"; mount --rbind "$entry" "$name" || [ ! -e "$entry" ]
        elif [ -f "$entry" ]; then : > "$name"; mount --bind "$entry" "$name" || [ ! -e "$entry" ]
        fi
    done
    umount -l "$kept"
    rmdir "$kept"
    shift
done
shift
exec "$@"
"""
"""Shell script that runs a command while folders have another mode, but the same files in them."""


def where(mode: str, folders: list[Path], command: list[str]) -> list[str]:
    """Return the command that runs `command` in a mount namespace where these folders have that mode."""
    private = ["unshare", "--mount", "--propagation", "private", "sh", "-c", REMOUNT, "remount", mode]
    return [*private, *map(str, folders), "--", *command]


def closed_folders(*needed_too: Path) -> list[Path]:
    """Return the folders above the server or these paths that only root may enter; outermost first."""
    needed = [Path(os.__file__).resolve(), Path(sys.prefix).resolve() / "bin"]
    needed += [path.resolve() for path in needed_too]
    folders = {folder for path in needed for folder in path.parents}
    return sorted(folder for folder in folders if not folder.stat().st_mode & stat.S_IXOTH)


@contextlib.contextmanager
def open_folder(name: str) -> Iterator[Path]:
    """Give a folder that every user may enter, and remove it afterwards."""
    folder = Path(tempfile.gettempdir()) / f"adyton-{name}-{os.getpid()}"
    folder.mkdir(mode=0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
