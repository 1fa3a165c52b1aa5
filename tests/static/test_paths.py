"""Rules 43 and 44: no path leads out of the folder, or to files that were not meant to be published."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pytest

from static.conftest import DIGITS

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Server, Servers

OUTSIDE = [
    "/../outside.txt",
    "/..%2foutside.txt",
    "/%2e%2e/outside.txt",
    "/%2e%2e%2foutside.txt",
    "/%2E%2E/outside.txt",
    "/.%2e/outside.txt",
    "/%252e%252e/outside.txt",
    "/%252e%252e%252foutside.txt",
    "/sub/../../outside.txt",
    "/sub/%2e%2e/%2e%2e/outside.txt",
    "/sub/..%2f..%2foutside.txt",
    "/./../outside.txt",
    "/sub//../../outside.txt",
    "/..\\outside.txt",
    "/..%5coutside.txt",
    "/%5c..%5coutside.txt",
    "/sub/..\\..\\outside.txt",
    "/%c0%ae%c0%ae/outside.txt",
    "/%c0%ae%c0%ae%c0%afoutside.txt",
    "/%uff0e%uff0e/outside.txt",
    "/..;/outside.txt",
    "/.../outside.txt",
    "//../outside.txt",
    "/../site/../outside.txt",
    "/..%00/outside.txt",
    "/../outside.txt%00.html",
    "/link-out.txt",
    "/link-absolute.txt",
    "/link-folder/outside.txt",
    "//etc/passwd",
    "/%2fetc/passwd",
    "/../../../../../../../../../../etc/passwd",
    "/" + "../" * 200 + "etc/passwd",
    "/" + "%2e%2e/" * 200 + "etc/passwd",
]

DENIED = [
    "/.env",
    "/%2eenv",
    "/.hidden.txt",
    "/.git/config",
    "/.git/",
    "/.git",
    "/%2egit/config",
    "/./.env",
    "/sub/../.env",
    "/source.py",
    "/source%2epy",
    "/source.pyc",
    "/SOURCE.PY",
    "/backup.txt~",
    "/backup.txt%7E",
    "/edited.swp",
    "/__pycache__/source.cpython-311.pyc",
    "/listed/.hidden",
    "/listed/source.py",
]

ODD = [
    "/note.txt%00",
    "/note.txt%00.html",
    "/%00",
    "/note%0A.txt",
    "/note.txt%0d%0a",
    "/note.txt%20",
    "/note.txt.",
    "/note.txt::$DATA",
    "/note.txt%2f",
    "/NOTE.TXT",
    "/%ff.txt",
    "/%ed%a0%80.txt",
    "/%",
    "/%zz",
    "/note.txt%2",
    "/fifo.txt",
    "/socket.txt",
    "/device.txt",
    "/sub%2finner.txt",
    "/" + "a" * 300,
    "/" + "a/" * 2000,
]


def test_outside_exists(root: Path) -> None:
    """The paths in the tests below would lead to real files if they were followed."""
    assert b"outside" == (root / "link-out.txt").read_bytes()
    assert b"outside" == (root / "link-folder" / "outside.txt").read_bytes()


@pytest.mark.parametrize("target", OUTSIDE)
def test_outside(site: Server, target: str) -> None:
    """No file outside of the folder is ever sent, and the connection either stays usable or ends."""
    with site.connect() as connection:
        response = connection.get(target)

        assert response.status in {400, 404}
        assert b"outside" not in response.body
        assert b"root:" not in response.body
        if not response.closing:
            assert DIGITS == connection.get("/note.txt").body


@pytest.mark.parametrize("target", DENIED)
def test_denied(site: Server, target: str) -> None:
    """Hidden files, sources and leftovers are answered as if they did not exist."""
    response = site.fetch(target)

    assert 404 == response.status
    assert b"SECRET" not in response.body
    assert site.fetch("/missing").body == response.body


@pytest.mark.parametrize("target", ODD)
def test_odd(site: Server, target: str) -> None:
    """Odd names are answered at once with a client error, also the names of pipes and devices."""
    with site.connect() as connection:
        response = connection.get(target)

        assert response.status in {400, 403, 404}
        if not response.closing:
            assert DIGITS == connection.get("/note.txt").body


@pytest.mark.parametrize(
    ("target", "body"),
    [
        ("/./note.txt", DIGITS),
        ("/sub/../note.txt", DIGITS),
        ("/sub/./inner.txt", b"inner"),
        ("/sub/%2e/inner.txt", b"inner"),
        ("/sub/%2e%2e/note.txt", DIGITS),
        ("//note.txt", DIGITS),
        ("/sub//inner.txt", b"inner"),
        ("/missing/../note.txt", DIGITS),
    ],
)
def test_not_in_normal_form(site: Server, target: str, body: bytes) -> None:
    """Dots and double slashes inside the folder are either resolved or refused."""
    for _ in range(2):
        response = site.fetch(target)

        assert response.status in {200, 301, 308, 400, 404}
        if response.status == 200:
            assert body == response.body


def test_links(serve: Servers, site: Server, root: Path) -> None:
    """Links are followed only if the settings allow it, and then only to files beneath the folder."""
    assert 404 == site.fetch("/link-in.txt").status

    follows = serve(root, "--static-symlinks=on")

    assert DIGITS == follows.fetch("/link-in.txt").body
    for target in (
        "/link-out.txt",
        "/link-absolute.txt",
        "/link-folder/outside.txt",
        "/device.txt",
    ):
        assert 404 == follows.fetch(target).status


def test_absolute_link(serve: Servers, tmp_path: Path) -> None:
    """With `--static-symlinks` an absolute or relative link to a file beneath the folder is followed."""
    site = tmp_path / "site"
    (site / "files").mkdir(parents=True)
    (site / "files" / "note.txt").write_bytes(DIGITS)
    (tmp_path / "outside.txt").write_bytes(b"outside")
    (site / "link.txt").symlink_to(site / "files" / "note.txt")
    (site / "folder").symlink_to(site / "files")
    (site / "out.txt").symlink_to(tmp_path / "outside.txt")
    (site / "up.txt").symlink_to(site / ".." / "outside.txt")
    server = serve(site, "--static-symlinks")

    for target in ("/link.txt", "/folder/note.txt"):
        assert DIGITS == server.fetch(target).body
    for target in ("/out.txt", "/up.txt"):
        assert 404 == server.fetch(target).status


def test_names_of_all_bytes(serve: Servers, tmp_path: Path) -> None:
    """Every published name is served, and is a link in the listing, which shows no control characters."""
    names = [b"caf\xe9.txt", b"\xff\xfe", b"a&b'\"<c> #?%41.txt", "\u20ac".encode(), b"a\\..\\b"]
    names += [b"of %d" % byte + bytes([byte]) for byte in range(1, 256) if byte not in b"/~"]
    for name in names:
        (tmp_path / os.fsdecode(name)).write_bytes(name)
    server = serve(tmp_path, "--static-listing")
    page = server.fetch("/").body.decode()
    links = re.findall(r'href="(\./[^"]*)"', page)

    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", page)
    for _ in range(2):
        assert sorted(names) == sorted(server.fetch(link[1:]).body for link in links)


def test_folder_of_any_name(serve: Servers, tmp_path: Path) -> None:
    """The name of a folder cannot inject anything into the redirect to the folder or into its listing."""
    folder = tmp_path / "a\r\nSet-Cookie: x=y\\<b>"
    folder.mkdir()
    (folder / "note.txt").write_bytes(DIGITS)
    server = serve(tmp_path, "--static-listing")
    target = "/a%0D%0ASet-Cookie:%20x=y%5C%3Cb%3E"
    response = server.fetch(target)

    assert (301, target + "/") == (response.status, response["Location"])
    assert "Set-Cookie" not in response
    assert b"<b>" not in server.fetch(target + "/").body
    assert DIGITS == server.fetch(target + "/note.txt").body


def test_bytes_that_have_to_be_escaped(serve: Servers, tmp_path: Path) -> None:
    """An unescaped backslash may be meant as a slash: it is refused, whether such a file exists or not."""
    (tmp_path / "a\\b").write_bytes(DIGITS)
    server = serve(tmp_path)

    for _ in range(3):
        assert DIGITS == server.fetch("/a%5Cb").body
        assert 400 == server.fetch("/a\\b").status


def test_folder_that_is_a_link(serve: Servers, root: Path, tmp_path: Path) -> None:
    """The served folder itself may be a link, because sites are deployed that way."""
    (tmp_path / "current").symlink_to(root)

    assert DIGITS == serve(tmp_path / "current").fetch("/note.txt").body


def test_mount_needs_its_whole_name(serve: Servers, root: Path, application: Path) -> None:
    """`/static` does not match `/statics`, and dot segments do not lead from one into the other."""
    server = serve(application, "--static", f"/static={root}")

    assert b"application: GET |/statics/note.txt" == server.fetch("/statics/note.txt").body
    assert b"application: GET |/staticnote.txt" == server.fetch("/staticnote.txt").body
    for target in ("/static/../outside.txt", "/static/..%2foutside.txt", "/static../outside.txt"):
        assert b"outside" != server.fetch(target).body
    assert 404 == server.fetch("/static/.env").status
    assert b"SECRET" not in server.fetch("/x/../static/.env").body
    assert b"SECRET" not in server.fetch("/%73tatic/.env").body
    assert b"SECRET" not in server.fetch("//static/.env").body
