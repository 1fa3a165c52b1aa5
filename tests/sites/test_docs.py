"""The examples of the guide: each is right as it stands, and serves."""

from __future__ import annotations

import re
from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sites.conftest import write
from support.server import run

if TYPE_CHECKING:
    from support.server import Servers

PAGES = ("sites.md", "compress.md", "cache.md", "folders.md", "groups.md")
GUIDE = [Path(__file__).parents[2] / "docs" / name for name in PAGES]
TEXT = "".join(page.read_text(encoding="utf-8") for page in GUIDE)
FILES = re.findall(r"^<!-- file: (\S+) -->\n```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
EXAMPLES = re.findall(r"^```toml\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def test_examples_are_found() -> None:
    """The guide has some."""
    assert len(EXAMPLES) >= 3


@pytest.mark.parametrize("text", EXAMPLES)
def test_example(serve: Servers, project: Path, text: str) -> None:
    """It is checked without a mistake, and its application answers; where it has none, nothing is at `/`."""
    for name, content in FILES:
        (project / name).write_text(content, encoding="utf-8")
    # Those users are not there.
    file = write(project, re.sub(r"^user = .*\n", "", text, flags=re.MULTILINE))
    workers = {"ADYTON_PROCESSES": "1"}
    checked = run("check", file.name, cwd=project, env=workers)
    assert 0 == checked.returncode, checked.stderr
    assert "site.toml: fine" in checked.stdout

    server = serve(file.name, cwd=project, env=workers)
    answer = server.fetch("/")
    if "app = " in text:
        assert answer.body.startswith(b"shop 1")
    else:
        assert 404 == answer.status


def test_python_that_is_asked(serve: Servers, project: Path) -> None:
    """The one that knows clients lets in whom it knows, and nobody else."""
    for name, content in FILES:
        (project / name).write_text(content, encoding="utf-8")
    (project / "private").mkdir()
    (project / "private/a.txt").write_text("a file\n", encoding="utf-8")
    (text,) = [text for text in EXAMPLES if "basic-python:" in text]
    server = serve(write(project, text), cwd=project)

    def status(target: str, said: str = "", agent: str = "") -> int:
        fields = [("User-Agent", agent)] if agent else []
        if said:
            fields.append(("Authorization", "Basic " + b64encode(said.encode()).decode()))
        return server.fetch(target, fields=fields, lint_answers=False).status

    for target in ("/admin/", "/private/a.txt"):
        assert [401, 401, 401, 200] == [
            status(target, said) for said in ("", "ann:wrong", "bob:correct horse", "ann:correct horse")
        ]
    assert [403, 403] == [status("/private/a.txt", said, "scraper") for said in ("", "ann:correct horse")]
