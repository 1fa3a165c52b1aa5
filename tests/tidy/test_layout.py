"""Each crate has its job: who may be unsafe, who knows libc and Python, and who depends on whom."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from tidy import rust
from tidy.sources import Source, ending

if TYPE_CHECKING:
    from collections.abc import Iterable

# Folders in which unsafe code may be.
UNSAFE = ("crates/sys/", "crates/python/")

# The only users of the C library and of Python's, by the names of the packages.
ONLY_USER = {"libc": "crates/sys/", "pyo3": "crates/python/", "pyo3-ffi": "crates/python/"}

# The packages that each package of ours may use: dependencies point one way.
MAY_USE = {
    "adyton-http": set(),
    "adyton-http1": {"adyton-http"},
    "adyton-sys": set(),
    "adyton-log": {"adyton-sys"},
    "adyton-bench": {"adyton-http1", "adyton-sys"},
    "adyton-auth": {"adyton-http"},
    "adyton-cache": {"adyton-http", "adyton-http1"},
    "adyton-cgi": {"adyton-http", "adyton-http1"},
    "adyton-compress": {"adyton-http"},
    "adyton-cli": {
        "adyton-compress",
        "adyton-http",
        "adyton-http1",
        "adyton-log",
        "adyton-proxied",
        "adyton-route",
    },
    "adyton-proxied": {"adyton-http", "adyton-http1", "adyton-route"},
    "adyton-import": {"adyton-cli"},
    "adyton-files": {"adyton-compress", "adyton-http", "adyton-http1", "adyton-route", "adyton-sys"},
    "adyton-crew": set(),
    "adyton-route": {"adyton-http", "adyton-http1"},
    "adyton-server": {
        "adyton-auth",
        "adyton-cache",
        "adyton-cgi",
        "adyton-compress",
        "adyton-spawn",
        "adyton-proxied",
        "adyton-route",
        "adyton-http",
        "adyton-http1",
        "adyton-log",
        "adyton-sys",
        "adyton-files",
        "adyton-crew",
    },
    "adyton-spawn": {"adyton-sys"},
    "adyton-process": {"adyton-http", "adyton-http1", "adyton-log", "adyton-sys", "adyton-server"},
    "adyton-python": {
        "adyton-compress",
        "adyton-route",
        "adyton-spawn",
        "adyton-bench",
        "adyton-http",
        "adyton-http1",
        "adyton-log",
        "adyton-process",
        "adyton-sys",
        "adyton-cli",
        "adyton-files",
        "adyton-import",
        "adyton-server",
    },
    "adyton-fuzz": {
        "adyton-auth",
        "adyton-cache",
        "adyton-cgi",
        "adyton-compress",
        "adyton-proxied",
        "adyton-route",
        "adyton-http",
        "adyton-http1",
        "adyton-log",
        "adyton-files",
        "adyton-process",
        "adyton-server",
        "adyton-cli",
        "adyton-import",
        "adyton-sys",
    },
    "adyton-fuzz-targets": {"adyton-fuzz"},
}

# Limit of files in a folder: a reader finds one of so many names at a glance.
BESIDE_MAX = 15

RUST = ending(".rs")
MANIFESTS = [source for source in ending("Cargo.toml") if source.path != "Cargo.toml"]


def outside(sources: Iterable[Source], folders: str | tuple[str, ...]) -> list[Source]:
    """Return the files that are in none of the folders."""
    return [source for source in sources if not source.path.startswith(folders)]


def crowded(sources: Iterable[Source]) -> list[str]:
    """Find folders of code with too many files beside each other."""
    names = Counter(str(PurePosixPath(source.path).parent) for source in sources)
    return [f"{folder}: {count} files" for folder, count in sorted(names.items()) if count > BESIDE_MAX]


def crates_that_may_be_unsafe(sources: Iterable[Source]) -> list[str]:
    """Find libraries that do not forbid unsafe code."""
    forbids = re.compile(r"^#!\[forbid\(unsafe_code\)\]$", re.MULTILINE)
    return [
        f"{source.path}: does not forbid unsafe code"
        for source in outside(sources, UNSAFE)
        if source.path.endswith("src/lib.rs") and not forbids.search(source.text)
    ]


def foreign_code(sources: Iterable[Source]) -> list[str]:
    """Find code that uses a library which only another crate may use."""
    found = []
    for package, folder in ONLY_USER.items():
        pattern = rf"\b{package.replace('-', '_')}\b"
        found += rust.words(outside(sources, folder), pattern)
    return found


def needs(manifest: dict[str, Any]) -> set[str]:
    """Return the packages that a manifest names, for whatever purpose and platform."""
    tables = [manifest, *manifest.get("target", {}).values()]
    kinds = ("dependencies", "dev-dependencies", "build-dependencies")
    return {package for table in tables for kind in kinds for package in table.get(kind, {})}


def wrong_dependencies(manifests: Iterable[Source]) -> list[str]:
    """Find packages that use what they must not."""
    found = []
    for source in manifests:
        manifest = tomllib.loads(source.text)
        name, needed = manifest["package"]["name"], needs(manifest)
        ours = {package for package in needed if package.startswith("adyton")}
        foreign = {
            package
            for package, folder in ONLY_USER.items()
            if package in needed and not source.path.startswith(folder)
        }
        wrong = (ours - MAY_USE.get(name, set())) | foreign
        if name not in MAY_USE:
            found.append(f"{source.path}: {name} has no place in the order of packages")
        elif wrong:
            found.append(f"{source.path}: {name} must not use {', '.join(sorted(wrong))}")
    return found


def test_unsafe_is_in_two_crates() -> None:
    """Unsafe code is where the kernel and Python are, and nowhere else."""
    bad = [Source("crates/http1/src/x.rs", "fn f() {\n    unsafe { g() }\n}\n")]
    good = [Source("crates/sys/src/x.rs", bad[0].text), Source("a.rs", "#![forbid(unsafe_code)]\n")]
    found = rust.words(outside(RUST, UNSAFE), r"\bunsafe\b")

    assert 1 == len(rust.words(outside(bad, UNSAFE), r"\bunsafe\b"))
    assert [] == rust.words(outside(good, UNSAFE), r"\bunsafe\b")
    assert [] == found


def test_the_others_forbid_it() -> None:
    """Every other library forbids unsafe code, so that the compiler checks this."""
    bad = [Source("crates/http1/src/lib.rs", "//! // #![forbid(unsafe_code)]\n#![deny(unsafe_code)]\n")]
    found = crates_that_may_be_unsafe(RUST)

    assert 1 == len(crates_that_may_be_unsafe(bad))
    assert [] == found


def test_foreign_worlds_have_one_door() -> None:
    """Only one crate knows the C library, and only one knows Python."""
    bad = [
        Source("crates/server/src/a.rs", "use pyo3::Python;\nlibc::close(3);\n"),
        Source("crates/sys/src/a.rs", "use pyo3_ffi as ffi;\nlibc::close(3);\n"),
        Source("crates/files/src/a.rs", "// libc::close and pyo3\n"),
    ]
    found = foreign_code(RUST)

    assert [
        "crates/server/src/a.rs:2: libc",
        "crates/server/src/a.rs:1: pyo3",
        "crates/sys/src/a.rs:1: pyo3_ffi",
    ] == foreign_code(bad)
    assert [] == found


def test_wrong_dependencies_are_found() -> None:
    """A dependency against the order is found, also for tests or one platform; so is an unplaced package."""
    samples = [
        ("crates/http1", 'name = "adyton-http1"', "[dependencies]\nadyton-sys.workspace = true"),
        ("crates/files", 'name = "adyton-files"', "[dev-dependencies]\nadyton-server = {}"),
        ("crates/sys", 'name = "adyton-sys"', "[target.'cfg(unix)'.dependencies]\npyo3 = '1'"),
        ("crates/server", 'name = "adyton-server"', "[build-dependencies]\nlibc = '1'"),
        ("crates/new", 'name = "adyton-new"', ""),
    ]
    right = Source("crates/sys/Cargo.toml", '[package]\nname = "adyton-sys"\n[dependencies]\nlibc = "1"\n')

    assert [] == wrong_dependencies([right])
    for folder, name, rest in samples:
        manifest = Source(f"{folder}/Cargo.toml", f"[package]\n{name}\n{rest}\n")
        assert 1 == len(wrong_dependencies([manifest])), manifest


def test_dependencies_point_one_way() -> None:
    """The order of packages holds, and names none that is gone."""
    found = wrong_dependencies(MANIFESTS)
    names = {tomllib.loads(source.text)["package"]["name"] for source in MANIFESTS}

    assert [] == found
    assert set(MAY_USE) == names


def test_no_folder_is_crowded() -> None:
    """Code stands in folders that a reader takes in at a glance."""
    one_more = [Source(f"crates/x/src/{number}.rs", "") for number in range(BESIDE_MAX + 1)]
    folders = ("crates/", "python/")
    code = [source for source in [*RUST, *ending(".py")] if source.path.startswith(folders)]

    assert [f"crates/x/src: {BESIDE_MAX + 1} files"] == crowded(one_more)
    assert [] == crowded(one_more[1:])
    assert [] == crowded(code)
