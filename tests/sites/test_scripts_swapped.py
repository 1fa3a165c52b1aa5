"""A page's file is replaced by another file, a link, a folder or nothing, while it is loaded or requested."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from sites.folder import HANDLER, page, start
from sites.loading import Asked, crowd_of, loads, noting, waiting

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.server import Servers

THREADS = ("--processes", "0", "--threads", "4")


def another(project: Path) -> None:
    """Put another page in the place of the page."""
    noting(project, "a.py", "another")


def link(project: Path) -> None:
    """Put a link to a page in the place of the page."""
    folder = project / "public/pages"
    beside = folder / ".link"
    beside.symlink_to("b.py")
    beside.rename(folder / "a.py")


def folder(project: Path) -> None:
    """Put a folder without a page in the place of the page."""
    nothing(project)
    (project / "public/pages/a.py").mkdir()


def folder_with_a_page(project: Path) -> None:
    """Put a folder with a page in the place of the page."""
    folder(project)
    page(project, "a.py/index.py", HANDLER.format("index"))


def nothing(project: Path) -> None:
    """Remove the page."""
    (project / "public/pages/a.py").unlink()


def unreadable(project: Path) -> None:
    """Put a file that is no Python source in the place of the page."""
    (project / "public/pages/.new").write_bytes(b"\0" * 64)
    (project / "public/pages/.new").rename(project / "public/pages/a.py")


SWAPS: list[tuple[Callable[[Path], None], int]] = [
    (another, 200),
    (link, 404),
    (folder, 404),
    (folder_with_a_page, 308),
    (nothing, 404),
]
"""Replacements of a page, and the status of later requests."""

IDS = [swap.__name__ for swap, _ in SWAPS]


@pytest.fixture
def pages(project: Path) -> Path:
    """Return a project with the page that is replaced, and another page."""
    page(project, "b.py", HANDLER.format("beside"))
    return project


@pytest.mark.parametrize("before", ["", "old"], ids=["first", "again"])
@pytest.mark.parametrize(("swap", "status"), SWAPS, ids=IDS)
def test_while_it_is_loaded(
    serve: Servers, pages: Path, swap: Callable[[Path], None], status: int, before: str
) -> None:
    """A request that loads a page gets the version that was read; later requests get the replacement."""
    server = start(serve, pages, *THREADS)
    if before:
        noting(pages, "a.py", before)
        assert (200, b"old") == Asked(server, "/pages/a.py").answered()
    pipe = waiting(pages, "a.py", "loaded")
    asked = Asked(server, "/pages/a.py")
    with pipe.open("wb"):
        swap(pages)
        if status != 200:
            # The server notices the replacement before the load has ended.
            assert [status] * 5 == [server.fetch("/pages/a.py").status for _ in range(5)]
        elif before:
            assert [b"old"] * 5 == [server.fetch("/pages/a.py").body for _ in range(5)]
        assert b"beside" == server.fetch("/pages/b.py").body
        assert asked.answer is None
    assert (200, b"loaded") == asked.answered()

    answers = [server.fetch("/pages/a.py") for _ in range(3)]
    assert [status] * 3 == [answer.status for answer in answers]
    assert {b"another"} == {answer.body for answer in answers} or status != 200
    shutil.rmtree(pages / "public/pages/a.py", ignore_errors=True)
    (pages / "public/pages/a.py").unlink(missing_ok=True)
    noting(pages, "a.py", "back")
    assert [b"back"] * 2 == [server.fetch("/pages/a.py").body for _ in range(2)]
    assert {1} == set(loads(pages).values())


@pytest.mark.parametrize(("swap", "status"), SWAPS, ids=IDS)
def test_while_it_is_asked_for(
    serve: Servers, pages: Path, swap: Callable[[Path], None], status: int
) -> None:
    """Clients see the page, then its replacement, then the page again, and nothing else."""
    noting(pages, "a.py", "old")
    server = start(serve, pages, *THREADS)
    with crowd_of(server, "/pages/a.py", 4) as crowd:
        for number in range(5):
            swap(pages)
            assert crowd.sees(lambda answer: answer[0] == status and answer[1] != b"old")
            shutil.rmtree(pages / "public/pages/a.py", ignore_errors=True)
            (pages / "public/pages/a.py").unlink(missing_ok=True)
            noting(pages, "a.py", f"new {number}")
            assert crowd.all_see((200, f"new {number}".encode()))
    # Between the removal of a file and the next file, the page is missing.
    assert {200, 404, status} >= {answer[0] for seen in crowd.seen for answer in seen}
    assert all(count == 1 for (_, words), count in loads(pages).items() if words != "another")


def test_what_is_no_source(serve: Servers, pages: Path) -> None:
    """A file that is no Python source fails as a page: this is logged once, and the old version serves on."""
    noting(pages, "a.py", "old")
    server = start(serve, pages, *THREADS)
    with crowd_of(server, "/pages/a.py", 4) as crowd:
        assert crowd.all_see((200, b"old"))
        unreadable(pages)
        server.wait_for_log("ADY235")
        noting(pages, "a.py", "new")
        assert crowd.all_see((200, b"new"))

    assert {(200, b"old"), (200, b"new")} == {answer for seen in crowd.seen for answer in seen}
    assert server.log().count("ADY235") == 1


@pytest.mark.parametrize("first", [404, 200])
def test_the_folder_of_all_pages(serve: Servers, pages: Path, first: int) -> None:
    """If the folder of all pages is replaced while one is loaded, the new folder's pages answer next."""
    server = start(serve, pages, *THREADS)
    pipe = waiting(pages, "a.py", "loaded")
    asked = Asked(server, "/pages/a.py")
    public = pages / "public"
    with pipe.open("wb"):
        (public / "pages").rename(public / "gone")
        if first == 200:
            noting(pages, "a.py", "new")
        page(pages, "c.py", HANDLER.format("only here"))
        assert b"only here" == server.fetch("/pages/c.py").body
    assert (200, b"loaded") == asked.answered()

    assert first == server.fetch("/pages/a.py").status
    assert b"only here" == server.fetch("/pages/c.py").body
    assert 404 == server.fetch("/pages/b.py").status
