"""The examples of the guide: each is right as it stands, and serves."""

from __future__ import annotations

import re
import subprocess
import sys
from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sites.conftest import write
from support.server import run

if TYPE_CHECKING:
    from support.server import Servers

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("sites.md", "compress.md", "cache.md", "folders.md", "groups.md")
GUIDE = [DOCS / name for name in PAGES]
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


STANDS_IN = '''
import os
import sys

def application(environ, start_response):
    """Answer with the folder and the environment of this process."""
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [f"{os.getcwd()} {sys.prefix}".encode()]
'''


def test_several_applications(serve: Servers, tmp_path: Path) -> None:
    """The file of that page serves three applications, each in its folder and its environment, beside their files."""
    page = (DOCS / "several-applications.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"^```toml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    for name, module in (("shop", "shop/wsgi.py"), ("blog", "blog/wsgi.py"), ("tools", "app.py")):
        folder = tmp_path / name
        (folder / module).parent.mkdir(parents=True, exist_ok=True)
        (folder / module).write_text(STANDS_IN, encoding="utf-8")
        (folder / "static").mkdir()
        (folder / "static/site.css").write_text(name, encoding="utf-8")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    file = write(tmp_path, text)
    checked = run("check", file.name, cwd=tmp_path)
    assert (0, True) == (checked.returncode, "site.toml: fine" in checked.stdout), checked.stderr

    server = serve(file.name, cwd=tmp_path)
    for name in ("shop", "blog", "tools"):
        fields = [("Host", f"{name}.example")]
        answer = server.fetch("/", fields=fields)
        assert f"{tmp_path / name} {tmp_path / name / 'venv'}" == answer.body.decode()
        if name != "tools":
            assert name == server.fetch("/static/site.css", fields=fields).body.decode()


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
