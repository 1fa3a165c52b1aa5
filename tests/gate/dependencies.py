"""Keeps Cargo's builds of other people's crates for all clones of a user.

`dependencies.py take PYTHON` copies them into a clone that has built nothing yet; `dependencies.py keep
PYTHON` makes the copy, in the first clone that has built all of them. Cargo's own fingerprints tell which
parts of a copy are fresh, and Cargo builds the rest: a copy that does not fit costs only time. Our own crates
are left out, because Cargo would build them anew elsewhere.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING

import kept
from setup import CACHE, ROOT, interpreter, shared_folder

if TYPE_CHECKING:
    from pathlib import Path

BUILDS = {"target": "ci", "loom": "release"}
"""Folders of builds in a clone's `.cache`, each with the profile whose dependencies are kept."""
PARTS = (".fingerprint", "build", "deps")
"""Folders that Cargo needs of a profile: how each crate was built, output of build scripts, libraries."""
FLAGS = ("RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_RUSTFLAGS", "CARGO_BUILD_TARGET")
COPIES_MAX = 2
"""Number of copies that are kept: two branches may have different dependencies."""
KEY = "dependencies"
"""The file in a folder of builds that names the dependencies with which the folder was begun."""


def take(first: str) -> str:
    """Copy each missing folder of builds from the kept copy, if there is one; return what was copied."""
    copy = folder(first)
    done = []
    with kept.shared():
        for name in BUILDS:
            if (CACHE / name).exists():
                continue
            begun = CACHE / f"{name}.begun"
            shutil.rmtree(begun, ignore_errors=True)
            if (copy / name).exists():
                shutil.copytree(copy / name, begun)
                done.append(name)
            begun.mkdir(parents=True, exist_ok=True)
            (begun / KEY).write_text(copy.name, encoding="utf-8")
            begun.rename(CACHE / name)
        if done:
            os.utime(copy)
    return f"taken: {' and '.join(done) or 'nothing'}"


def keep(first: str) -> str:
    """Keep the dependencies of this clone, unless they are kept already; return what was done.

    A folder that was begun with other dependencies is not kept, because it may still hold many of them.
    """
    copy = folder(first)
    if copy.exists():
        return "kept already"
    if any(begun_with(CACHE / name) != copy.name for name in BUILDS):
        return "not kept: this clone was begun with other dependencies"
    with kept.begun(copy, COPIES_MAX) as new:
        for name, profile in BUILDS.items():
            fill(new / name / profile, CACHE / name / profile)
    return f"kept: {copy}"


def folder(first: str) -> Path:
    """Return where the dependencies are or will be kept.

    Its name has a hash of what decides how Cargo builds them; `first` is the Python for which they are built.
    """
    manifests = [ROOT / "Cargo.lock", ROOT / "Cargo.toml", *sorted(ROOT.glob("crates/*/Cargo.toml"))]
    compiler = subprocess.run(["rustc", "-vV"], cwd=ROOT, capture_output=True, text=True, check=True)
    made_of = [
        *(manifest.read_text(encoding="utf-8") for manifest in manifests),
        compiler.stdout,
        str(interpreter(first)),
        *(f"{name}={os.environ.get(name, '')}" for name in FLAGS),
    ]
    return shared_folder("rust", made_of)


def begun_with(builds: Path) -> str:
    """Return with which dependencies a folder of builds was begun, as far as that is known."""
    key = builds / KEY
    return key.read_text(encoding="utf-8") if key.exists() else ""


def fill(copy: Path, built: Path) -> None:
    """Copy the builds of crates that come from a registry, with the times that Cargo compares.

    Copies share no files with the original: Cargo writes some of them in place.
    """
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))
    names = {package["name"] for package in lock["package"] if "source" in package}
    with (built / ".cargo-lock").open("a") as cargo:
        # A `cargo` that is run meanwhile takes this lock, too.
        fcntl.flock(cargo, fcntl.LOCK_SH)
        units = [entry.name.rpartition("-") for entry in (built / ".fingerprint").iterdir()]
        hashes = {unit for name, _, unit in units if name in names}
        for part in PARTS:
            (copy / part).mkdir(parents=True)
            for entry in (built / part).iterdir():
                # NAME-HASH is a folder, libNAME-HASH.rlib a file.
                if entry.name.partition(".")[0].rpartition("-")[2] not in hashes:
                    continue
                if entry.is_dir():
                    shutil.copytree(entry, copy / part / entry.name)
                else:
                    shutil.copy2(entry, copy / part)


def main(what: str, first: str) -> str:
    """Take or keep; a full disk, or a cache of another user, is no failure of the gate."""
    try:
        return {"take": take, "keep": keep}[what](first)
    except OSError as error:
        return f"Rust's dependencies are not shared between clones: {error}"


if __name__ == "__main__":
    print(main(*sys.argv[1:]))
