"""The files of the repository, as a commit would hold them."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]

# Inputs of parsers, and results that were measured on some machine: nobody wrote these files.
FOREIGN = ("fuzz/corpus/", "benchmarks/record/")


class Source(NamedTuple):
    """One file of text."""

    path: str
    """Relative to the root of the repository."""
    text: str

    def at(self, offset: int) -> str:
        """Say where `offset` is, for a person or an editor."""
        return f"{self.path}:{self.text.count(chr(10), 0, offset) + 1}"


@cache
def sources() -> list[Source]:
    """Return every text that is in the repository or about to be."""
    command = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    names = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    found = []
    for name in sorted(set(names.split("\0")) - {""}):
        if name.startswith(FOREIGN):
            continue
        try:
            data = (ROOT / name).read_bytes()
        except (FileNotFoundError, IsADirectoryError):  # It is gone by now, or a link to a folder.
            continue
        if b"\0" not in data:
            found.append(Source(name, data.decode()))
    return found


def ending(suffix: str) -> list[Source]:
    """Return the files whose names have this suffix; there is always one."""
    found = [source for source in sources() if source.path.endswith(suffix)]
    if not found:
        raise LookupError(f"no file of the repository ends with {suffix}")
    return found
