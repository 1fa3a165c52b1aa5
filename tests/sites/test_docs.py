"""The examples of the guide: each is right as it stands, and serves."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sites.conftest import write
from support.server import run

if TYPE_CHECKING:
    from support.server import Servers

GUIDE = Path(__file__).parents[2] / "docs/sites.md"
EXAMPLES = re.findall(r"^```toml\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_examples_are_found() -> None:
    """The guide has some."""
    assert len(EXAMPLES) >= 3


@pytest.mark.parametrize("text", EXAMPLES)
def test_example(serve: Servers, project: Path, text: str) -> None:
    """It is checked without a mistake, and its first application or redirect answers."""
    file = write(project, text)
    checked = run("check", file.name, cwd=project)
    assert 0 == checked.returncode, checked.stderr
    assert "site.toml: fine" in checked.stdout

    server = serve(file.name, cwd=project)
    assert server.fetch("/").body.startswith(b"shop 1")
