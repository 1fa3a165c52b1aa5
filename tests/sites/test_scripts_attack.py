"""URLs from an attacker: no file but a page is loaded, no source is shown, and no page is misled."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from sites.conftest import write
from sites.folder import FILE, HANDLER, SAY_ALL, page

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Server, Servers

FLAG = "import pathlib\n\n\nSECRET = 'secret'\n\n\ndef handler(request):\n    return 'RUN'\n"


@pytest.fixture
def server(serve: Servers, project: Path) -> Server:
    """Serve pages beside files that must not be reached."""
    page(project, "ok.py", SAY_ALL)
    for name in ("plain.txt", "plain", "data.pyc", "ok.py~", "ok.py.bak", "ok.PY", "ok.py.orig", "#ok.py#"):
        page(project, name, FLAG)
    hidden = (
        ".hidden.py",
        ".git/hook.py",
        "__pycache__/ok.py",
        "_lib.py",
        "_sub/a.py",
        "__init__.py",
        "CVS/a.py",
    )
    for name in hidden:
        page(project, name, FLAG)
    page(project, "sub/inner.py", FLAG)
    outside = page(project, "../outside.py", FLAG)
    pages = project / "public/pages"
    (pages / "link.py").symlink_to(outside)
    (pages / "relative.py").symlink_to("../outside.py")
    (pages / "folder").symlink_to(outside.parent)
    (pages / "top").symlink_to("/")
    (pages / "inside.py").symlink_to("ok.py")
    (pages / "loop.py").symlink_to("loop.py")
    (pages / "folder.py").mkdir()
    os.mkfifo(pages / "pipe.py")
    more = '[[sites.routes]]\npath = "/pages/sub/"\nrespond = 403\n'
    return serve(write(project, FILE.format(server="", route="") + more).name, cwd=project)


OTHERS = [
    "/pages/../outside.py",
    "/pages/%2e%2e/outside.py",
    "/pages/.%2e/outside.py",
    "/pages/%2e%2e%2foutside.py",
    "/pages/..%2foutside.py",
    "/pages/..%5coutside.py",
    "/pages/..\\outside.py",
    "/pages/%252e%252e/outside.py",
    "/pages/..;/outside.py",
    "/pages/.../outside.py",
    "/pages/%c0%ae%c0%ae/outside.py",
    "/pages/x/../../outside.py",
    "/pages/ok.py/../../outside.py",
    "/pages/link.py",
    "/pages/link.py/x",
    "/pages/relative.py",
    "/pages/inside.py",
    "/pages/loop.py",
    "/pages/folder/outside.py",
    "/pages/folder/pages/sub/inner.py",
    "/pages/top/etc/passwd",
    "/pages/top/tmp/x.py",
    "/pages//outside.py",
    "/pages/%2fetc/x.py",
    "/pages/.hidden.py",
    "/pages/%2ehidden.py",
    "/pages/.git/hook.py",
    "/pages/__pycache__/ok.py",
    "/pages/_lib.py",
    "/pages/%5flib.py",
    "/pages/_sub/a.py",
    "/pages/__init__.py",
    "/pages/CVS/a.py",
    "/pages/ok.py~",
    "/pages/ok.py%7e",
    "/pages/ok.py.bak",
    "/pages/ok.py.orig",
    "/pages/%23ok.py%23",
    "/pages/data.pyc",
    "/pages/plain.txt",
    "/pages/plain",
    "/pages/plain.txt/ok.py",
    "/pages/plain/ok.py",
    "/pages/sub/inner.py",
    "/pages/%73ub/inner.py",
    "/pages//sub//inner.py",
    "/pages/sub%2finner.py",
    "/pages/ok.py%00.txt",
    "/pages/ok.py%00",
    "/pages/%00/ok.py",
    "/pages/ok.py%20",
    "/pages/ok.py%0a",
    "/pages/ok.py.",
    "/pages/ok.PY",
    "/pages/OK.py",
    "/pages/ok.py;x",
    "/pages/ok.py:$DATA",
    "/pages/ok",
    "/pages/ok.",
    "/pages/ok%252epy",
    "/pages/folder.py",
    "/pages/folder.py/",
    "/pages/pipe.py",
    "/pages/pipe.py/x",
    "/pages/" + "a" * 300 + ".py",
    "/pages/" + "a/" * 2100 + "b.py",
    "/pages/",
    "/pages",
    "/PAGES/ok.py",
]


@pytest.mark.parametrize("target", OTHERS)
def test_no_other_file_answers(server: Server, target: str) -> None:
    """Paths that lead out of the folder, to hidden files, or to files that are no pages, are not answered."""
    response = server.fetch(target)

    assert b"RUN" not in response.body
    assert b"SCRIPT_NAME" not in response.body
    assert b"secret" not in response.body
    assert response.status in (400, 403, 404) or b"shop 1" in response.body


def test_a_nul_is_refused(server: Server) -> None:
    """A path with a NUL is refused wherever the NUL is, and whether the page is loaded or not."""
    for target in ("/pages/ok.py/%00", "/pages/ok.py%00", "/pages/%00"):
        assert 400 == server.fetch(target).status
        assert 200 == server.fetch("/pages/ok.py").status
        assert 400 == server.fetch(target).status


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE", "PROPFIND"])
def test_no_method_shows_a_source(server: Server, method: str) -> None:
    """A page answers all methods, and no method gets its file."""
    response = server.fetch("/pages/ok.py", method=method)
    assert (200, False) == (response.status, b"def application" in response.body)
    assert 404 == server.fetch("/pages/plain.txt", method=method).status


def test_a_source_is_not_sent_by_ranges_or_conditions(server: Server) -> None:
    """The server does not apply a request's ranges and conditions to a page: the page sees them itself."""
    for field in [
        ("Range", "bytes=0-10"),
        ("If-Modified-Since", "Mon, 01 Jan 2035 00:00:00 GMT"),
        ("If-Match", "*"),
    ]:
        response = server.fetch("/pages/ok.py", fields=[field])
        assert response.body.startswith(b"SCRIPT_NAME=/pages/ok.py\n")


def test_links_where_they_are_allowed(serve: Servers, project: Path) -> None:
    """With `static-symlinks`, links are followed as long as they stay in the folder."""
    page(project, "a.py", HANDLER.format("inside"))
    outside = page(project, "../outside.py", FLAG)
    pages = project / "public/pages"
    (pages / "inside.py").symlink_to("a.py")
    (pages / "absolute.py").symlink_to(pages / "a.py")
    (pages / "outside.py").symlink_to(outside)
    server = serve(write(project, FILE.format(server="", route="static-symlinks = true")).name, cwd=project)

    assert [b"inside"] * 2 == [server.fetch(f"/pages/{name}.py").body for name in ("inside", "absolute")]
    assert 404 == server.fetch("/pages/outside.py").status


def test_a_page_that_becomes_a_link(serve: Servers, project: Path) -> None:
    """A page that a link out of the folder has replaced is not found, and the link's target is not loaded."""
    file = page(project, "a.py", HANDLER.format("inside"))
    inner = page(project, "sub/b.py", HANDLER.format("inner"))
    outside = page(project, "../other/b.py", FLAG)
    server = serve(write(project, FILE.format(server="", route="")).name, cwd=project)
    assert [b"inside", b"inner"] == [server.fetch(f"/pages/{name}").body for name in ("a.py", "sub/b.py")]
    file.unlink()
    file.symlink_to(outside)
    inner.parent.rename(project / "away")
    inner.parent.symlink_to(outside.parent)

    assert [404, 404] == [server.fetch(f"/pages/{name}").status for name in ("a.py", "sub/b.py")]
