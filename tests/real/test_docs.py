"""The documents tell the truth: their examples run, their settings and links exist."""

from __future__ import annotations

import functools
import re
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest

from real.conftest import ROOT
from support import server

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Servers

PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "changes").glob("*.md"),
    ]
)
FILE = re.compile(r"^<!-- file: (\S+) -->\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]+")
VARIABLE = re.compile(r"\bADYTON_[A-Z0-9_]+")
LINK = re.compile(r"\]\(([^)#\s]*)(#[^)\s]*)?\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)

FLAGS_OF_OTHERS = {
    "--noinput",
    "--unix-socket",
    "--compressed",
    "--data-binary",
    "--form-string",
    "--data-urlencode",
    # Flags of mod_wsgi-express.
    "--auth-user-script",
    "--directory-index",
    "--document-root",
    "--host-access-script",
    "--mount-point",
}
COMMANDS = ("serve", "bench", "compare", "tune", "import")
"""Commands whose help lists flags."""
FLAGS_OF_ORDERS = {"--json"}
"""Flags of `adyton status` and the other orders to a server."""
WRONG_ON_PURPOSE = {"--keep-alive-tiemout"}
"""A wrong flag that docs/errors.md shows with its error message."""


def names(page: Path) -> str:
    """Name a test after its page."""
    return str(page.relative_to(ROOT))


class Example(NamedTuple):
    """A command that a page shows, and the answers of the server."""

    page: str
    command: str
    target: str
    expected: bytes


EXAMPLES = [
    Example("README.md", "adyton serve hello.py", "/", b"Hello World!"),
    Example("docs/handlers.md", "adyton serve shop.py", "/", b"<h1>Shop</h1>"),
    Example("docs/handlers.md", "adyton serve shop.py", "/prices", b'"lyre":'),
    Example("docs/flask.md", "adyton serve blog.py", "/", b"<h1>Blog</h1>"),
    Example("docs/flask.md", "adyton serve blog:app --static /static=static", "/", b"<h1>Blog</h1>"),
    Example("docs/flask.md", "adyton serve shop:create_app --factory", "/", b"<h1>Shop</h1>"),
    Example("docs/static.md", "adyton serve ./public", "/", b"<h1>Public</h1>"),
    Example(
        "docs/logs.md",
        """adyton serve hello.py --access-log - --access-log-format '%h %t "%r" %>s %b %D'""",
        "/",
        b"Hello World!",
    ),
    Example("docs/start.md", "adyton serve hello.py --bind [::1]:8080", "/", b"Hello World!"),
]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example.page}-{example[1]}")
def test_examples(serve: Servers, tmp_path: Path, example: Example) -> None:
    """A command copied from a page, run in a folder with the page's files, serves what the page says."""
    page = (ROOT / example.page).read_text("utf-8")
    write_files(tmp_path, page)

    assert example.command in page

    _, _, target, *flags = shlex.split(example.command)
    running = serve(target, *without_bind(flags), cwd=tmp_path)

    assert example.expected in running.fetch(example.target).body


def without_bind(flags: list[str]) -> list[str]:
    """Leave out `--bind` and its value: the test chooses a free port."""
    return [flag for before, flag in zip(["", *flags], flags, strict=False) if "--bind" not in {before, flag}]


def write_files(folder: Path, page: str) -> None:
    """Write the files that a page shows, and files that the page takes for granted."""
    (folder / "static").mkdir()
    (folder / "public").mkdir()
    (folder / "public" / "index.html").write_text("<h1>Public</h1>", encoding="utf-8")
    (folder / "hello.py").write_text('def handler(request):\n    return "Hello World!"\n', encoding="utf-8")
    for name, text in FILE.findall(page):
        (folder / name).write_text(text, encoding="utf-8")


def test_handler_page(serve: Servers, tmp_path: Path) -> None:
    """The shop takes orders and refuses bad ones, and the counter streams."""
    write_files(tmp_path, (ROOT / "docs/handlers.md").read_text("utf-8"))
    shop = serve("shop.py", cwd=tmp_path)
    order = shop.fetch("/order", method="POST", body=b'{"item": "lyre"}')

    assert (200, b"One lyre, 120 drachmas.\n") == (order.status, order.body)
    assert order["set-cookie"].startswith("last=lyre;")
    assert 422 == shop.fetch("/order", method="POST", body=b'{"item": "chariot"}').status
    assert 404 == shop.fetch("/order").status

    count = serve("count.py", cwd=tmp_path).fetch("/")

    assert (b"0\n1\n2\n", "chunked") == (count.body, count.framing)


def test_plain_wsgi(serve: Servers, tmp_path: Path) -> None:
    """The application without a framework answers."""
    write_files(tmp_path, (ROOT / "docs/flask.md").read_text("utf-8"))

    assert b"Hello World!" == serve("plain.py", cwd=tmp_path).fetch("/").body


def test_program(serve: Servers, tmp_path: Path) -> None:
    """The program of the page serves; the test changes only its port."""
    page = (ROOT / "docs/program.md").read_text("utf-8")
    write_files(tmp_path, page.replace('bind="127.0.0.1:8000"', 'bind="127.0.0.1:0"'))
    running = serve.start([sys.executable, "program.py"], cwd=tmp_path)

    assert b"Hello Ada!" == running.fetch("/?name=Ada").body


def test_wrong_setting(tmp_path: Path) -> None:
    """The page shows the real message about a wrong setting."""
    page = (ROOT / "docs/errors.md").read_text("utf-8")
    write_files(tmp_path, page)
    typed = re.search(r"^\$ adyton (.*)\n(.*)\n", page, re.MULTILINE)
    assert typed
    ended = server.run(*shlex.split(typed[1]), cwd=tmp_path)

    assert (2, typed[2]) == (ended.returncode, ended.stderr.strip())


@pytest.mark.parametrize("target", ["hello.py", "wsgi.py", "site/app.py"])
def test_examples_are_found(target: str) -> None:
    """The application in each example file is found."""
    ended = server.run("check", target, cwd=ROOT / "examples")

    assert 0 == ended.returncode, ended.stderr


def test_example_handler(serve: Servers) -> None:
    """The handler in examples/ greets, and the WSGI application answers with the request's path."""
    hello = serve(ROOT / "examples/hello.py")

    assert b"Hello &lt;Ada&gt;!" in hello.fetch("/?name=%3CAda%3E").body

    wsgi = serve(ROOT / "examples/wsgi.py")

    assert b"You asked for /a/b\n" == wsgi.fetch("/a/b?c").body


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_settings_exist(page: Path) -> None:
    """Every flag and every variable that a page names is a setting."""
    text = page.read_text("utf-8")
    known = set(FLAG.findall(help_of_all())) | FLAGS_OF_OTHERS | FLAGS_OF_ORDERS
    flags = set(FLAG.findall(without_other_commands(text))) - WRONG_ON_PURPOSE

    assert set() == flags - known
    assert set() == {
        variable
        for variable in VARIABLE.findall(text)
        if "--" + variable.removeprefix("ADYTON_").lower().replace("_", "-") not in known
    }


@functools.cache
def help_of_all() -> str:
    """Return the help texts of all commands."""
    return "".join(server.run(command, "--help").stdout for command in COMMANDS)


def without_other_commands(text: str) -> str:
    """Leave out shell lines that run other programs, and names of other servers' settings."""
    others = ("make ", "pip ", "python ", "cargo ", ".venv/")
    lines = [line for line in text.splitlines() if not line.startswith(others)]
    ours = 0
    for at, line in enumerate(lines):
        if not line.startswith("|"):
            ours = 0
        elif line.startswith(("| Adyton | ", "| there | Adyton |")):
            ours = line.split("|").index(" Adyton ")
        if ours:
            lines[at] = line.split("|")[ours]
    return "\n".join(lines)


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_links_lead_somewhere(page: Path) -> None:
    """Every link to a file of ours leads to an existing file, and to an existing heading if it names one."""
    for path, fragment in LINK.findall(page.read_text("utf-8")):
        if "://" in path:
            continue
        found = (page.parent / path).resolve() if path else page

        assert found.exists(), f"{page.name} links to {path}"

        if fragment:
            headings = {anchor(title) for title in HEADING.findall(found.read_text("utf-8"))}

            assert fragment in headings, f"{page.name} links to {path}{fragment}"


def anchor(title: str) -> str:
    """Return the anchor of a heading."""
    kept = re.sub(r"[^\w\- ]", "", title.lower())
    return "#" + kept.replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_python_compiles(page: Path) -> None:
    """Every block of Python on a page compiles, and every block of shell parses."""
    for language, text in BLOCK.findall(page.read_text("utf-8")):
        if language == "python":
            compile(text, names(page), "exec")
        elif language == "sh":
            subprocess.run(["/bin/sh", "-n", "-c", text], check=True)
