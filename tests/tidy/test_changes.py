"""`CHANGELOG.md` is assembled from the fragments in `changes/`."""

from __future__ import annotations

import runpy
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tidy.sources import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PROGRAM = ROOT / "changes/assemble.py"


def assembled(root: Path, **fragments: str) -> str:
    """Return what these fragments make, each of the issue 1."""
    (root / "changes").mkdir()
    for name, text in fragments.items():
        (root / f"changes/1-{name}.md").write_text(text, encoding="utf-8")
    changelog: Callable[[Path], str] = runpy.run_path(str(PROGRAM))["changelog"]
    return changelog(root)


def test_changelog_is_made_of_the_fragments() -> None:
    """If the changelog differs from the fragments, this fails, and names the command to run."""
    command = (sys.executable, PROGRAM, "--check")
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert (0, "") == (done.returncode, done.stderr)


def test_kinds_and_areas(tmp_path: Path) -> None:
    """Fragments stand below their kind and area, in the order of kinds; links begin at the root."""
    made = assembled(
        tmp_path,
        fixed="# Fixed: folders\n\nA folder is.\n",
        other="# Added: sites\n\nA [site](../docs/sites.md) is there.\n\n- More.\n",
        added="# Added: sites\n\nAnother one.\n",
        folder="# Added: folders\n\nIt is there.\n\n# Fixed: sites\n\nTwo in one.\n",
    )
    headings = [line for line in made.splitlines() if line.startswith("#")]

    assert ["# Changes", "## Added", "### Folders", "### Sites"] == headings[:4]
    assert ["## Fixed", "### Folders", "### Sites"] == headings[4:]
    assert (
        "### Sites\n\n- Another one.\n\n- A [site](docs/sites.md) is there.\n\n  - More.\n\n## Fixed" in made
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Text.\n", "the first line is no heading"),
        ("# Added\n\nNo area.\n", "'# Added' is no `# KIND: area`"),
        ("# Odd: sites\n\nNo kind.\n", "kinds are Added, Changed, Fixed, Removed, Security"),
        ("# Fixed: sites\n\n", "there is nothing below '# Fixed: sites'"),
    ],
)
def test_mistakes_of_a_fragment(text: str, why: str, tmp_path: Path) -> None:
    """A mistake in a fragment is reported with the fragment's name."""
    with pytest.raises(SystemExit, match=r"changes/1-odd\.md: ") as told:
        assembled(tmp_path, odd=text)

    assert why in str(told.value)
