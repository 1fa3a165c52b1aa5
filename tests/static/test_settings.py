"""Settings of static files: mounts, listings, pages and Cache-Control."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pytest

from static.conftest import DIGITS
from support.server import run

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Server, Servers

HTML = [("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")]


@pytest.fixture
def mounted(serve: Servers, root: Path, application: Path) -> Server:
    """Serve an application, with the folder mounted beside it."""
    return serve(application, "--static", f"/static={root}", "--static", f"/more/deep={root / 'sub'}")


def test_mount(mounted: Server) -> None:
    """Paths beneath a prefix are answered with files, other paths by the application."""
    assert DIGITS == mounted.fetch("/static/note.txt").body
    assert b"inner" == mounted.fetch("/more/deep/inner.txt").body
    assert b"inner" == mounted.fetch("/static/sub/inner.txt").body
    assert b"application: GET |/" == mounted.fetch("/").body
    assert b"application: GET |/note.txt" == mounted.fetch("/note.txt").body
    assert b"application: GET |/more/" == mounted.fetch("/more/").body
    assert b"application: GET |/Static/note.txt" == mounted.fetch("/Static/note.txt").body
    assert b"<!doctype html><title>home</title>" == mounted.fetch("/static/").body


def test_mount_alternates(mounted: Server) -> None:
    """Files and the application can answer alternately on one connection."""
    with mounted.connect() as connection:
        for _ in range(10):
            assert DIGITS == connection.get("/static/note.txt").body
            assert b"application: GET |/x" == connection.get("/x").body


def test_mount_folder_redirect(mounted: Server) -> None:
    """A redirect within a mount keeps the prefix and the query."""
    for target, location in [
        ("/static?a", "/static/?a"),
        ("/static/sub?a=b", "/static/sub/?a=b"),
        ("/more/deep", "/more/deep/"),
    ]:
        response = mounted.fetch(target)

        assert response.status in {301, 308}
        assert location == response["Location"]


def test_missing_file_is_404(mounted: Server) -> None:
    """The application is not asked for files that are missing under a prefix."""
    response = mounted.fetch("/static/missing.txt")

    assert 404 == response.status
    assert b"application" not in response.body


def test_other_methods_stay_at_the_files(mounted: Server) -> None:
    """A POST beneath a prefix is not passed to the application either."""
    assert 405 == mounted.fetch("/static/note.txt", method="POST", body=b"x").status
    assert b"application: POST |/" == mounted.fetch("/", method="POST", body=b"x").body


def test_fall_through(serve: Servers, root: Path, application: Path) -> None:
    """With fall-through, the application answers for missing files, and only for them."""
    server = serve(application, "--static", f"/static={root}", "--static-fall-through=on")

    assert DIGITS == server.fetch("/static/note.txt").body
    assert b"application: GET |/static/missing.txt" == server.fetch("/static/missing.txt").body
    assert b"application: POST |/static/a" == server.fetch("/static/a", method="POST", body=b"x").body
    with server.connect() as connection:
        assert b"SECRET" not in connection.get("/static/.env").body


def test_mount_at_the_root(serve: Servers, root: Path, application: Path) -> None:
    """With fall-through, a folder at `/` is asked before the application for every path."""
    server = serve(application, "--static", f"/={root}", "--static-fall-through=on")

    assert DIGITS == server.fetch("/note.txt").body
    assert b"application: GET |/missing" == server.fetch("/missing").body


def test_longest_prefix(serve: Servers, root: Path, application: Path) -> None:
    """The longest prefix that matches is used, in whatever order the prefixes are given."""
    server = serve(application, "--static", f"/a={root}", "--static", f"/a/sub={root / 'plain'}")

    assert b"only" == server.fetch("/a/sub/only.txt").body
    assert 404 == server.fetch("/a/sub/inner.txt").status
    assert DIGITS == server.fetch("/a/note.txt").body


def test_listing(serve: Servers, root: Path) -> None:
    """A listing has all names that can be requested, sorted and escaped, with links that work."""
    server = serve(root, "--static-listing=on")
    response = server.fetch("/listed/")
    page = response.body.decode()
    links = [html.unescape(link) for link in re.findall(r'<a [^>]*href="([^"]*)"', page)]
    entries = [link.removeprefix("./") for link in links if not link.startswith(("..", "/"))]

    assert 200 == response.status
    assert "text/html; charset=utf-8" == response["Content-Type"].lower()
    assert {"b.txt", "A.txt", "<i>&.txt", "inner/"} == {unquote(link) for link in entries}
    assert "<i>" not in page
    assert "hidden" not in page
    assert "source.py" not in page
    for link in entries:
        assert server.fetch(f"/listed/{link}").status == 200
    assert b"home" in server.fetch("/").body
    assert response.status == server.fetch("/listed/", method="HEAD").status


def test_listing_of_the_root(serve: Servers, tmp_path: Path) -> None:
    """The listing of the root has no link to a parent, and the listing of an empty folder has no rows."""
    page = serve(tmp_path, "--static-listing=on").fetch("/").body.decode()

    assert not re.search(r'href="\.\.', page)


def test_listing_has_no_outside(serve: Servers, tmp_path: Path) -> None:
    """The listing loads nothing from elsewhere."""
    page = serve(tmp_path, "--static-listing=on").fetch("/").body.decode()

    assert not re.search(r"https?://|<script|<link", page)


def test_cache_control(serve: Servers, root: Path) -> None:
    """Cache-Control is sent unchanged with files and with 304."""
    server = serve(root, "--static-cache-control", "public, max-age=60")
    with server.connect() as connection:
        for target in ("/note.txt", "/medium.bin", "/"):
            first = connection.get(target)
            second = connection.get(target, fields=[("If-None-Match", first["ETag"])])

            assert "public, max-age=60" == first["Cache-Control"]
            assert (304, "public, max-age=60") == (second.status, second["Cache-Control"])
        assert "Cache-Control" not in connection.get("/missing")


def test_own_404_page(serve: Servers, root: Path) -> None:
    """The page for a missing file can be replaced by the operator's; the status stays 404."""
    server = serve(root, "--static-404", "404.html")
    with server.connect() as connection:
        for _ in range(2):
            response = connection.get("/missing")

            assert 404 == response.status
            assert b"<!doctype html><title>not here</title>" == response.body
            assert "text/html; charset=utf-8" == response["Content-Type"].lower()
        head = connection.get("/missing", method="HEAD")

        assert (404, b"") == (head.status, head.body)
        assert 404 == connection.get("/missing", fields=[("If-None-Match", "*")]).status
        assert 404 == connection.get("/missing", fields=[("Range", "bytes=0-1")]).status
        assert 404 == connection.get("/.env").status


def test_fallback(serve: Servers, root: Path) -> None:
    """An application in the browser gets its page for the paths that it routes; a missing script is a 404."""
    server = serve(root, "--static-fallback", "index.html")
    home = b"<!doctype html><title>home</title>"

    assert (200, home) == ((r := server.fetch("/users/5", fields=HTML)).status, r.body)
    assert home == server.fetch("/deep/er/route?x", fields=HTML).body
    assert 404 == server.fetch("/missing.js", fields=HTML).status
    assert 404 == server.fetch("/users/5", fields=[("Accept", "application/json")]).status
    assert DIGITS == server.fetch("/note.txt", fields=HTML).body
    assert server.fetch("/users/5", method="POST", fields=HTML, body=b"x").status in {404, 405}


@pytest.mark.parametrize("processes", ["0", "1"])
def test_missing_folder(serve: Servers, application: Path, tmp_path: Path, processes: str) -> None:
    """The server warns of a missing folder at the start, and serves its files once the folder exists."""
    media = tmp_path / "later" / "media"
    server = serve(application, "--static", f"/media={media}", "--processes", processes)

    assert 1 == server.log().count("ADY220")
    assert str(media) in server.log()
    for _ in range(2):
        assert 404 == server.fetch("/media/photo.txt").status
        assert 404 == server.fetch("/media/").status
    media.mkdir(parents=True)
    (media / "photo.txt").write_bytes(DIGITS)
    for _ in range(3):
        assert DIGITS == server.fetch("/media/photo.txt").body


def test_file_in_the_place_of_a_folder(serve: Servers, application: Path, root: Path) -> None:
    """A path that exists but is not a folder is refused at the start."""
    with pytest.raises(AssertionError, match=r"no folder .*note\.txt"):
        serve(application, "--static", f"/static={root / 'note.txt'}")


def test_check_warns_of_a_missing_folder(application: Path, tmp_path: Path) -> None:
    """`adyton check` warns of a missing folder, too, and looks for it where the server would."""
    (tmp_path / "static").mkdir()
    flags = ["--chdir", str(tmp_path), "--static", "/static=static", "--static", "/media=media"]
    done = run("check", str(application), *flags, "--processes", "0")

    assert 0 == done.returncode
    assert 1 == done.stderr.count("ADY220")
    assert "no folder media yet" in done.stderr
