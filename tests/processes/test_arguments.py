"""In every process, applications see the command line that the user has typed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support.server import Servers

APPLICATION = """
import json, sys

ARGUMENTS = list(sys.argv)

def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps([ARGUMENTS, sys.argv]).encode()]
"""

SITES = """
[groups.apart]

[groups.own]
python = "{python}"

[[sites]]

[[sites.routes]]
path = "/"
app = "application.py"

[[sites.routes]]
path = "/apart/"
app = "application.py"
group = "apart"

[[sites.routes]]
path = "/own/"
app = "application.py"
group = "own"
"""


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """Return the file of the application."""
    file = tmp_path / "application.py"
    file.write_text(APPLICATION, encoding="utf-8")
    return file


@pytest.mark.parametrize("way", [("0",), ("1",), ("1", "--preload")], ids=" ".join)
def test_typed(serve: Servers, target: Path, way: tuple[str, ...]) -> None:
    """`sys.argv` is the typed command line, at the import and later, in a process alone and in workers."""
    at_import, now = serve(target, "--processes", *way).fetch().json()

    assert at_import == now
    assert at_import[0].endswith("adyton/__main__.py")
    assert ["serve", str(target), "--bind", "127.0.0.1:0", "--processes", *way] == at_import[1:]


def test_typed_with_sites(serve: Servers, target: Path, tmp_path: Path) -> None:
    """`sys.argv` is the typed command line in groups, too, even in a group with a Python of its own."""
    file = tmp_path / "site.toml"
    python = tmp_path / "python"
    python.symlink_to(Path(sys.executable))
    file.write_text(SITES.format(python=python), encoding="utf-8")
    del target
    server = serve(file, "--processes", "1", "--control", "off", cwd=tmp_path)
    typed = ["serve", str(file), "--bind", "127.0.0.1:0", "--processes", "1", "--control", "off"]
    for path in ("/", "/apart/", "/own/"):
        at_import, now = server.fetch(path).json()

        assert at_import == now
        assert typed == at_import[1:], path
        assert at_import[0].endswith("adyton/__main__.py")
