"""Copies in the user's cache folder, which all clones share, each named by what it is made of."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
from typing import TYPE_CHECKING

from setup import user_cache

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextlib.contextmanager
def shared() -> Iterator[None]:
    """Lock the copies, so that nobody changes them meanwhile."""
    with _locked(fcntl.LOCK_SH):
        yield


@contextlib.contextmanager
def begun(kept: Path, copies_max: int) -> Iterator[Path]:
    """Yield a folder that becomes the copy `kept` if nothing fails; of older copies, the last used ones stay.

    Copies that an interrupted run has left unfinished are removed.
    """
    with _locked(fcntl.LOCK_EX):
        name, _, _ = kept.name.rpartition("-")
        for left in kept.parent.glob(f"{name}-*.begun"):
            shutil.rmtree(left)
        new = kept.with_name(f"{kept.name}.begun")
        new.mkdir()
        yield new
        if kept.exists():
            # Another clone had the lock before, and has made the copy.
            shutil.rmtree(new)
            return
        new.rename(kept)
        copies = sorted(kept.parent.glob(f"{name}-*/"), key=lambda each: each.stat().st_mtime, reverse=True)
        for old in copies[copies_max:]:
            shutil.rmtree(old)


@contextlib.contextmanager
def _locked(how: int) -> Iterator[None]:
    caches = user_cache()
    caches.mkdir(parents=True, exist_ok=True)
    with (caches / "kept.lock").open("w") as lock:
        fcntl.flock(lock, how)
        yield
