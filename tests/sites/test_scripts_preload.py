"""Pages that are loaded before a worker serves."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from sites.conftest import write
from sites.folder import HANDLER, page, start
from support.control import reload
from support.server import run, until

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Servers

NOTES = """
import os

with open({notes!r}, "a") as notes:
    notes.write(f"{{os.getpid()}} {name}\\n")


def handler(request):
    return "{name}"
"""
"""Code of a page that notes each of its loads, and the process that has loaded it."""

ALL = ["b.wsgi", "index.py", "shop/a.py", "shop/deep/c.py"]


def noting(project: Path, name: str, *, before: str = "") -> None:
    """Make a page that notes its loads."""
    page(project, name, before + NOTES.format(notes=str(project / "notes"), name=name))


def loads(project: Path) -> list[tuple[str, str]]:
    """Return the loads so far: the process, and the page."""
    notes = project / "notes"
    lines = notes.read_text(encoding="utf-8").splitlines() if notes.exists() else []
    return [(pid, name) for pid, _, name in (line.partition(" ") for line in lines)]


@pytest.fixture
def pages(project: Path) -> Path:
    """Return a project with pages in several folders, and files that are no pages."""
    for name in [*ALL, "_own.py", "shop/_own/d.py", "shop/.d.py", "shop/e.py.bak"]:
        noting(project, name)
    (project / "public/pages/note.txt").write_text("note", encoding="utf-8")
    (project / "public/pages/link.py").symlink_to("index.py")
    (project / "public/pages/loop").symlink_to(".")
    return project


PATTERNS = [
    ('"*"', ALL),
    ('"shop/*"', ALL[2:]),
    ('["index.py", "*/c.py"]', ["index.py", "shop/deep/c.py"]),
    ('"none.py"', []),
]


@pytest.mark.parametrize(("pattern", "names"), PATTERNS, ids=[pattern for pattern, _ in PATTERNS])
def test_patterns(serve: Servers, pages: Path, pattern: str, names: list[str]) -> None:
    """Pages that match a pattern are loaded before the server says that it serves; all others later."""
    server = start(serve, pages, route=f"scripts-preload = {pattern}")
    assert names == [name for _, name in loads(pages)]
    for name in ALL:
        assert name.encode() == server.fetch(f"/pages/{name}").body

    assert sorted(ALL) == sorted(name for _, name in loads(pages))


@pytest.mark.parametrize("flags", [("--processes", "0"), ("--processes", "2")], ids=["alone", "workers"])
def test_each_worker(serve: Servers, pages: Path, flags: tuple[str, ...]) -> None:
    """Each process that serves loads the pages, one after the other."""
    server = start(serve, pages, *flags, route='scripts-preload = "*"')
    count = max(1, int(flags[1]))
    assert until(lambda: len(loads(pages)) == count * len(ALL))
    by_process: dict[str, list[str]] = {}
    for pid, name in loads(pages):
        by_process.setdefault(pid, []).append(name)

    assert [ALL] * count == list(by_process.values())
    assert b"index.py" == server.fetch("/pages/").body


def test_a_reload(serve: Servers, pages: Path) -> None:
    """New workers load the pages anew before they serve."""
    control = pages / "control.sock"
    more = f'control = "{control}"'
    start(serve, pages, "--processes", "1", server=more, route='scripts-preload = "index.py"')
    (first,) = loads(pages)
    status, _ = reload(control)

    assert 0 == status
    assert until(lambda: len(loads(pages)) == 2)
    assert loads(pages)[1][0] != first[0]


def test_pages_that_fail(serve: Servers, pages: Path) -> None:
    """A page that fails is logged, and stops no other page; it is tried again after it has changed."""
    noting(pages, "a.py", before="raise SystemExit('on purpose')\n")
    noting(pages, "c.py", before="def broken(:\n")
    page(pages, "d.py", "nothing = 1\n")
    os.mkfifo(pages / "public/pages/f.py")
    server = start(serve, pages, route='scripts-preload = "*"')
    log = server.log()
    for why in ("SystemExit: on purpose", "SyntaxError", "defines no application"):
        assert why in log
    assert log.count("ADY235") == 3
    assert ALL == [name for _, name in loads(pages)]

    assert [500, 500, 200] == [server.fetch(f"/pages/{name}").status for name in ("a.py", "c.py", "index.py")]
    assert server.log().count("ADY235") == 3, "each version of a file is told once"
    noting(pages, "a.py")
    assert b"a.py" == server.fetch("/pages/a.py").body


def test_too_many(serve: Servers, project: Path) -> None:
    """The first thousand pages by name are loaded, and the log says that there are more."""
    for number in range(1002):
        page(
            project,
            f"{number:04}.py",
            f"import builtins\nbuiltins.loaded = getattr(builtins, 'loaded', 0) + 1\n{COUNTS}",
        )
    server = start(serve, project, route='scripts-preload = "*"')
    server.wait_for_log("ADY239")

    assert "1000 of the pages are loaded now" in server.log()
    assert b"1000" == server.fetch("/pages/0999.py").body
    assert b"1001" == server.fetch("/pages/1001.py").body


COUNTS = "def handler(request):\n    return str(builtins.loaded)\n"


def test_links(serve: Servers, pages: Path) -> None:
    """If links are followed, links to pages are loaded, but links to folders are not searched."""
    start(serve, pages, route='scripts-preload = "*"\nstatic-symlinks = true')

    assert sorted([*ALL, "index.py"]) == sorted(name for _, name in loads(pages))


def test_a_folder_that_is_not_there_yet(serve: Servers, project: Path) -> None:
    """A missing folder is no mistake; pages that appear there are loaded at their first request."""
    text = '[[sites]]\n[[sites.routes]]\nscripts = "later"\nscripts-preload = "*"\n'
    server = serve(write(project, text).name, cwd=project)
    page(project, "a.py", HANDLER.format("came"))
    (project / "public/pages").rename(project / "later")

    assert b"came" == server.fetch("/a.py").body
    assert not {"ADY235", "ADY239"} & set(server.log().split())


TWO = """
[[sites]]
root = "public"

[[sites.routes]]
path = "/one/"
scripts = "pages"

[[sites.routes]]
path = "/two/"
scripts = "pages"
scripts-preload = "index.py"

[[sites.routes]]
path = "/three/"
scripts = "pages"
scripts-preload = "shop/*"
"""


def test_routes_with_one_folder(serve: Servers, pages: Path) -> None:
    """Routes that share a folder share its pages: a page that one route has loaded is loaded for all."""
    server = serve(write(pages, TWO).name, cwd=pages)
    assert ["index.py", "shop/a.py", "shop/deep/c.py"] == [name for _, name in loads(pages)]
    for path in ("/one/", "/two/", "/three/"):
        assert b"index.py" == server.fetch(path).body

    assert len(loads(pages)) == 3


WRONG = [
    ('scripts = "pages"\nscripts-preload = "/index.py"', "write a path in the folder of the scripts"),
    ('scripts = "pages"\nscripts-preload = "../*"', "write a path in the folder of the scripts"),
    ('scripts = "pages"\nscripts-preload = ""', "write a path in the folder of the scripts"),
    ('files = "pages"\nscripts-preload = "*"', "scripts-preload belongs to scripts"),
]


@pytest.mark.parametrize(("lines", "why"), WRONG, ids=[lines for lines, _ in WRONG])
def test_wrong_files(pages: Path, lines: str, why: str) -> None:
    """A pattern that cannot match any page is a mistake."""
    write(pages, f'[[sites]]\nroot = "public"\n[[sites.routes]]\n{lines}\n')
    checked = run("check", "site.toml", cwd=pages)

    assert checked.returncode != 0
    assert why in checked.stderr
