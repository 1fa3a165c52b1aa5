"""Puts the fragments of this folder together to `CHANGELOG.md` at the root, by kind and area.

`assemble.py` writes it, `assemble.py --check` says whether it is up to date.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER, CHANGELOG = "changes", "CHANGELOG.md"
KINDS = ("Added", "Changed", "Fixed", "Removed", "Security")
"""Kinds of changes, in their order in the file."""
HEADING = re.compile(rf"# ({'|'.join(KINDS)}): (\S.*)")
NAME = re.compile(r"(\d+)-[a-z0-9-]+\.md")
HEAD = """# Changes

Not released yet. `python3 changes/assemble.py` makes this file of the [fragments](changes/README.md).
"""


@dataclass(frozen=True)
class Change:
    """A part of a fragment: the text below one of its headings."""

    kind: str
    area: str
    text: str
    issue: int
    name: str
    """Name of the fragment."""


def changes(file: Path) -> list[Change]:
    """Return the parts of a fragment; a mistake ends the program with a message."""
    name = NAME.fullmatch(file.name)
    if not name:
        sys.exit(f"{FOLDER}/{file.name}: the name is no ISSUE-short-name.md")
    before, *parts = re.split(r"^(?=# )", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if before or not parts:
        sys.exit(f"{FOLDER}/{file.name}: the first line is no heading")
    return [change(part, int(name[1]), file.name) for part in parts]


def change(part: str, issue: int, name: str) -> Change:
    """Return one part."""
    heading, _, text = part.partition("\n")
    found = HEADING.fullmatch(heading)
    if not found:
        sys.exit(f"{FOLDER}/{name}: {heading!r} is no `# KIND: area`; kinds are {', '.join(KINDS)}")
    if not text.strip():
        sys.exit(f"{FOLDER}/{name}: there is nothing below {heading!r}")
    # A link of a fragment begins in its own folder.
    return Change(found[1], found[2], text.strip().replace("](../", "]("), issue, name)


def changelog(root: Path) -> str:
    """Return the text of the file, made of the fragments of a checkout."""
    files = [file for file in (root / FOLDER).glob("*.md") if file.name != "README.md"]
    found = [change for file in files for change in changes(file)]
    found.sort(key=lambda each: (each.area, each.issue, each.name))
    parts = [HEAD.rstrip("\n")]
    for kind in KINDS:
        those = [each for each in found if each.kind == kind]
        for area in dict.fromkeys(each.area for each in those):
            parts += [] if f"## {kind}" in parts else [f"## {kind}"]
            parts.append(f"### {area[0].upper()}{area[1:]}")
            parts += [item(each.text) for each in those if each.area == area]
    return "\n\n".join(parts) + "\n"


def item(text: str) -> str:
    """Return a change as an item of a list, unless it is a list itself."""
    return text if text.startswith("- ") else "- " + re.sub(r"\n(?=.)", "\n  ", text)


def main() -> None:
    """Write the file, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help=f"write nothing; fail if {CHANGELOG} is another")
    file, made = ROOT / CHANGELOG, changelog(ROOT)
    if not parser.parse_args().check:
        file.write_text(made, encoding="utf-8")
    elif not file.exists() or file.read_text(encoding="utf-8") != made:
        sys.exit(f"{CHANGELOG} is not what the fragments make: run `python3 changes/assemble.py`")


if __name__ == "__main__":
    main()
