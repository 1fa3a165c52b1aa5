"""Only `make soak` builds the programs of libFuzzer: mistakes that would stop it are found here."""

from __future__ import annotations

import re
import tomllib

from tidy.sources import ROOT

FUZZ = ROOT / "fuzz"


MAIN = """#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| adyton_fuzz::targets::NAME(data));
"""


def test_targets() -> None:
    """Each target has a program, which calls it and nothing else, and inputs to begin with."""
    manifest = tomllib.loads((FUZZ / "Cargo.toml").read_text("utf-8"))
    named = {target["name"] for target in manifest["bin"]}
    programs = {file.stem: file.read_text("utf-8") for file in (FUZZ / "targets").glob("*.rs")}
    with_inputs = {folder.name for folder in (FUZZ / "corpus").iterdir() if any(folder.iterdir())}
    targets = (ROOT / "crates/fuzz/src/targets.rs").read_text("utf-8")
    all_targets = set(re.findall(r'^    \("(\w+)", \1\),$', targets, re.MULTILINE))

    assert named == set(programs) == with_inputs == all_targets
    assert {name: MAIN.replace("NAME", name) for name in programs} == {
        name: text.partition("\n")[2] for name, text in programs.items()
    }


def test_lock() -> None:
    """The lock file has the dependencies that our crates need today: the gate builds with them."""
    lock = tomllib.loads((FUZZ / "Cargo.lock").read_text("utf-8"))
    ours = {package["name"]: package for package in lock["package"] if "source" not in package}
    for name, package in ours.items():
        folder = FUZZ if name == "adyton-fuzz-targets" else ROOT / "crates" / name.removeprefix("adyton-")
        manifest = tomllib.loads((folder / "Cargo.toml").read_text("utf-8"))
        locked = {each.split()[0] for each in package.get("dependencies", [])}
        needed = set(manifest.get("dependencies", {}))
        for target in manifest.get("target", {}).values():
            needed |= set(target.get("dependencies", {}))

        assert locked == needed, name
