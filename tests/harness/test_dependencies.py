"""Builds of other people's crates are kept for other clones; nothing else of a clone is kept."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"

WORKSPACE = """
[workspace]
members = ["crates/*"]
resolver = "3"

[profile.ci]
inherits = "dev"
"""
MEMBER = """
[package]
name = "ours"
version = "0.1.0"
edition = "2024"

[dependencies]
itoa = "1.0"
"""
CODE = "pub fn text() -> String {{ itoa::Buffer::new().format({number}).to_owned() }}\n"


class Clone:
    """A clone of a project with one crate, which depends on one crate of somebody else."""

    def __init__(self, folder: Path, cache: Path, number: int = 1) -> None:
        """Make the clone, for a user with this cache; the number changes only our crate."""
        self.folder, self.cache = folder, cache
        (folder / "tests/gate").mkdir(parents=True)
        for name in ("setup.py", "environments.py", "dependencies.py", "kept.py"):
            shutil.copy(ROOT / "tests/gate" / name, folder / "tests/gate")
        (folder / "tests/free_threaded").mkdir()
        (folder / "crates/ours/src").mkdir(parents=True)
        (folder / "Cargo.toml").write_text(WORKSPACE, encoding="utf-8")
        (folder / "crates/ours/Cargo.toml").write_text(MEMBER, encoding="utf-8")
        (folder / "crates/ours/src/lib.rs").write_text(CODE.format(number=number), encoding="utf-8")
        self.cargo("generate-lockfile")

    def run(self, what: str) -> str:
        """Run `dependencies.py`; return what it says."""
        command = [sys.executable, "tests/gate/dependencies.py", what, PYTHON]
        variables = {**os.environ, "XDG_CACHE_HOME": str(self.cache)}
        done = subprocess.run(
            command, cwd=self.folder, env=variables, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def cargo(self, *words: str, target: str = "target") -> str:
        """Run Cargo offline, with crates fetched for the server's own build; return what it says."""
        variables = {**os.environ, "CARGO_TARGET_DIR": str(self.folder / ".cache" / target)}
        command = ["cargo", *words, "--offline"]
        done = subprocess.run(
            command, cwd=self.folder, env=variables, check=True, capture_output=True, text=True
        )
        return done.stderr

    def build(self) -> dict[str, str]:
        """Build both folders; return what Cargo did with each crate: `Fresh` or `Compiling`."""
        said = self.cargo("build", "-v", "--profile", "ci")
        self.cargo("build", "-v", "--release", target="loom")
        return {crate: did for did, crate in re.findall(r"^ *(Fresh|Compiling) (\w+) ", said, re.MULTILINE)}

    def depend_on(self, line: str) -> None:
        """Change the dependencies of our crate, as a pull does."""
        with (self.folder / "crates/ours/Cargo.toml").open("a", encoding="utf-8") as manifest:
            manifest.write(f"{line}\n")
        self.cargo("generate-lockfile")

    def kept(self) -> list[Path]:
        """Return the folders that are kept for all clones."""
        return sorted(self.cache.glob("adyton/rust-*/"))


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """Return a clone that has built all and kept its dependencies."""
    folder = tmp_path_factory.mktemp("user")
    clone = Clone(folder / "first", folder / "cache")

    assert "taken: nothing" == clone.run("take")
    assert {"itoa": "Compiling", "ours": "Compiling"} == clone.build()
    assert clone.run("keep").startswith("kept: ")

    return clone


@pytest.fixture
def second(first: Clone, tmp_path: Path) -> Clone:
    """Return a second clone, which has built nothing; a test may change its cache."""
    shutil.copytree(first.cache, tmp_path / "cache")
    return Clone(tmp_path / "second", tmp_path / "cache", number=2)


def test_second_clone(second: Clone) -> None:
    """A second clone must build only its own crate, and must share no files afterwards."""
    assert "taken: target and loom" == second.run("take")
    assert {"itoa": "Fresh", "ours": "Compiling"} == second.build()
    assert "kept already" == second.run("keep")

    [kept] = second.kept()
    inodes = [
        {entry.stat().st_ino for entry in folder.rglob("*") if entry.is_file()}
        for folder in (kept, second.folder / ".cache")
    ]

    assert set() == inodes[0] & inodes[1]
    assert [] == [entry.name for entry in kept.rglob("*ours*")]


def test_what_was_built_stays(first: Clone) -> None:
    """Nothing is taken into a clone that has builds of its own."""
    assert "taken: nothing" == first.run("take")
    assert {"itoa": "Fresh", "ours": "Fresh"} == first.build()


def test_copy_that_lacks_something(second: Clone) -> None:
    """Cargo must build anew what a copy lacks."""
    for library in second.kept()[0].rglob("libitoa-*.rlib"):
        library.unlink()
    second.run("take")

    assert {"itoa": "Compiling", "ours": "Compiling"} == second.build()


def test_other_dependencies(second: Clone) -> None:
    """Each set of dependencies has its own copy, from a clone begun with this set; two copies are kept."""
    second.run("take")
    second.depend_on('memchr = "2.8"')

    assert "not kept: this clone was begun with other dependencies" == second.run("keep")

    for number, line in enumerate(['memchr = "2.8"', "[features]"]):
        clone = Clone(second.folder.parent / f"other{number}", second.cache)
        clone.depend_on(line)

        assert "taken: nothing" == clone.run("take")

        clone.build()
        before = clone.kept()

        assert clone.run("keep").startswith("kept: ")

    assert 2 == len(before) == len(clone.kept())
    assert before != clone.kept()


def test_interrupted(second: Clone) -> None:
    """A copy that was interrupted while it was kept or taken must not be used."""
    [kept] = second.kept()
    kept.rename(kept.with_name(f"{kept.name}.begun"))
    (second.folder / ".cache/target.begun/ci").mkdir(parents=True)

    assert "taken: nothing" == second.run("take")
    assert {"itoa": "Compiling", "ours": "Compiling"} == second.build()
    assert second.run("keep").startswith("kept: ")
    assert [kept] == second.kept()


def test_no_cache(first: Clone, tmp_path: Path) -> None:
    """A cache that cannot be written to must not make the build fail."""
    (tmp_path / "cache").write_text("a file", encoding="utf-8")
    clone = Clone(tmp_path / "clone", tmp_path / "cache")

    assert "are not shared between clones" in clone.run("take")
    assert not (clone.folder / ".cache").exists()

    shutil.copytree(first.folder / ".cache", clone.folder / ".cache")

    assert "are not shared between clones" in clone.run("keep")
