"""A file that one route of a site runs is never sent by another route of the site, for any request."""

from __future__ import annotations

import gzip
import os
from typing import TYPE_CHECKING

import pytest

from sites.conftest import write

if TYPE_CHECKING:
    from pathlib import Path

    from support.http import Response
    from support.server import Server, Servers

SOURCE = b"#!/bin/sh\n# the source itself\necho 'Content-Type: text/plain'; echo; echo ran\n"

PAGE = b"# the source itself\ndef handler(request):\n    return 'ran'\n"

FILE = """
{groups}

[[sites]]
hosts = ["one.example"]
root = "public"
static-listing = true
{more}

[[sites.routes]]
path = "/cgi-bin/"
cgi = "cgi-bin"
{group}

[[sites.routes]]
path = "*.pl"
cgi = {{ "*.pl" = "/bin/sh" }}
{group}

[[sites.routes]]
path = "/pages/"
scripts = "pages"
{group}

[[sites.routes]]
path = ["/", "/all/"]
files = "."

[[sites.routes]]
path = "/cgi/"
files = "cgi-bin"

[[sites.routes]]
path = "/deep/"
files = "cgi-bin/sub"

[[sites]]
hosts = ["two.example"]

[[sites.routes]]
files = "public"
"""

TWO = [("Host", "two.example")]

HERE = ("", "")
IN_A_GROUP = ("[groups.back]\nprocesses = 1", 'group = "back"')


def put(project: Path, name: str, content: bytes = SOURCE, mode: int = 0o755) -> Path:
    """Put a file into the folder of the site, written a minute ago."""
    file = project / "public" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    file.chmod(mode)
    modified = file.stat().st_mtime - 60
    os.utime(file, (modified, modified))
    return file


@pytest.fixture
def folder(project: Path) -> Path:
    """Return a project with scripts, pages, files, and compressed copies of them."""
    for name in ("cgi-bin/run.sh", "cgi-bin/sub/deep.sh"):
        put(project, name)
    put(project, "x.pl", mode=0o644)
    put(project, "X2.PL", mode=0o644)
    put(project, "pages/hello.py", PAGE, mode=0o644)
    for name in ("cgi-bin/run.sh.gz", "x.pl.gz", "pages/hello.py.gz"):
        content = PAGE if "py" in name else SOURCE
        put(project, name, gzip.compress(content), mode=0o644)
    put(project, "cgi-bin/note.txt", b"a note\n", mode=0o644)
    put(project, "note.txt", b"a note\n", mode=0o644)
    put(project, "note.txt.gz", gzip.compress(b"a note\n"), mode=0o644)
    put(project, "tool.sh", b"a tool\n")
    return project


def start(serve: Servers, folder: Path, place: tuple[str, str] = HERE, more: str = "") -> Server:
    """Serve the two sites."""
    groups, group = place
    file = write(folder, FILE.format(groups=groups, group=group, more=more))
    workers = {"ADYTON_PROCESSES": "1"} if groups else {}
    return serve(file.name, cwd=folder, env=workers)


def shown(response: Response) -> bytes:
    """Return a body, decompressed if it is compressed."""
    body = response.body
    return gzip.decompress(body) if body.startswith(b"\x1f\x8b") else body


TARGETS = [
    "/all/cgi-bin/run.sh",
    "/all//cgi-bin//run.sh",
    "/all/%63gi-bin/run%2esh",
    "/%61ll/cgi-bin/run.sh",
    "/all/cgi-bin/run.sh/",
    "/all/cgi-bin/run.sh?a",
    "/all/cgi-bin/run.sh.gz",
    "/all/cgi-bin/sub/deep.sh",
    "/cgi/run.sh",
    "/cgi/run.sh.gz",
    "/cgi/sub/deep.sh",
    "/deep/deep.sh",
    "/x.pl.gz",
    "/X2.PL",
    "/all/X2.PL",
    "/all/pages/hello.py",
    "/all/pages/hello.py.gz",
    "/all/pages/hello.PY.gz",
]
"""Paths to sources, none of which reaches the route that runs the source."""

ASKED = [
    [],
    [("Accept-Encoding", "gzip, br, zstd")],
    [("Range", "bytes=0-99")],
    [("If-Modified-Since", "Thu, 01 Jan 1970 00:00:00 GMT")],
]


@pytest.mark.parametrize("place", [HERE, IN_A_GROUP], ids=["here", "group"])
def test_no_route_sends_a_source(serve: Servers, folder: Path, place: tuple[str, str]) -> None:
    """No request gets a source, whether the server or a group runs it: the answer is 404."""
    server = start(serve, folder, place)
    with server.connect() as connection:
        for target in TARGETS:
            for fields in ASKED:
                for method in ("GET", "HEAD", "GET"):
                    answer = connection.get(target, method=method, fields=fields)

                    assert 404 == answer.status, (target, fields)
                    assert b"source" not in shown(answer)
        for method in ("POST", "PUT", "OPTIONS", "PROPFIND"):
            answer = connection.get("/all/cgi-bin/run.sh", method=method)

            assert b"source" not in shown(answer)
        for target in ("/cgi-bin/run.sh", "/x.pl", "/pages/hello.py"):
            assert connection.get(target).body.startswith(b"ran"), target


def test_other_files_are_sent(serve: Servers, folder: Path) -> None:
    """A file that no route runs is sent, even from a folder of scripts; another site may send the scripts."""
    server = start(serve, folder)
    with server.connect() as connection:
        for _ in range(2):
            for target in ("/all/cgi-bin/note.txt", "/cgi/note.txt", "/note.txt"):
                assert b"a note\n" == connection.get(target).body
            coded = connection.get("/note.txt", fields=[("Accept-Encoding", "gzip")])
            assert ("gzip", b"a note\n") == (coded["Content-Encoding"], shown(coded))
            assert b"a note\n" == shown(connection.get("/note.txt.gz"))
            assert b"a tool\n" == connection.get("/tool.sh").body
            assert SOURCE == connection.get("/cgi-bin/run.sh", fields=TWO).body
        listed = connection.get("/all/cgi-bin/").body

    assert b"note.txt" in listed
    assert b"sub/" in listed
    assert b"run.sh" not in listed


def test_a_file_that_becomes_a_script(serve: Servers, folder: Path) -> None:
    """A file counts as a script as soon as it becomes executable."""
    file = put(folder, "cgi-bin/both.sh", mode=0o644)
    server = start(serve, folder)
    for mode, status in [(0o644, 200), (0o744, 404), (0o644, 200), (0o645, 404), (0o600, 200)]:
        file.chmod(mode)
        answers = [server.fetch("/all/cgi-bin/both.sh").status for _ in range(3)]

        assert [status] * 3 == answers, oct(mode)
    file.chmod(0o755)
    assert b"ran\n" == server.fetch("/cgi-bin/both.sh").body


def test_a_compressed_neighbour_that_is_a_script(serve: Servers, folder: Path) -> None:
    """A script is never sent as the compressed form of another file."""
    put(folder, "cgi-bin/style.css", b"p {}\n", mode=0o644)
    put(folder, "cgi-bin/style.css.gz")
    server = start(serve, folder)
    fields = [("Accept-Encoding", "gzip")]
    for _ in range(3):
        answer = server.fetch("/all/cgi-bin/style.css", fields=fields)

        assert b"p {}\n" == shown(answer)
    assert 404 == server.fetch("/all/cgi-bin/style.css.gz").status


def test_pages_in_the_place_of_others(serve: Servers, folder: Path) -> None:
    """A fallback, and a page for missing files, are not sent if they are scripts."""
    for place in ("app.pl", "cgi-bin/app.pl", "cgi-bin/sub/app.pl"):
        put(folder, place, mode=0o644)
    put(folder, "cgi-bin/index.html", b"an index\n")
    accept = [("Accept", "text/html")]
    for more in ('static-fallback = "app.pl"', 'static-404 = "app.pl"'):
        server = start(serve, folder, more=more)
        for target in ("/none", "/all/none", "/cgi/none"):
            answer = server.fetch(target, fields=accept)

            assert b"source" not in shown(answer), (more, target)
            assert (answer.status, answer.body) == (200, b"ran\n") or answer.status == 404
        assert b"index" not in server.fetch("/all/cgi-bin/").body
        server.stop()


INDEXES = """
[[sites]]
root = "public"

[[sites.routes]]
files = "."
cgi = {{ "*.html" = "/bin/sh" }}
try = ["files", "cgi"]

{more}
"""

BY_END = '[[sites.routes]]\npath = "*.html"\ncgi = { "*.html" = "/bin/sh" }'


@pytest.mark.parametrize(("more", "status"), [("", 404), (BY_END, 200)], ids=["alone", "by end"])
def test_indexes(serve: Servers, folder: Path, more: str, status: int) -> None:
    """An index that is a script is run if a route runs it, and is never sent."""
    put(folder, "index.html")
    put(folder, "sub/index.html")
    server = serve(write(folder, INDEXES.format(more=more)).name, cwd=folder)
    for target in ("/", "/sub/", "//sub//"):
        answer = server.fetch(target)

        assert status == answer.status, target
        assert answer.body == b"ran\n" or status == 404
        assert b"source" not in answer.body
    assert b"ran\n" == server.fetch("/sub/index.html").body
    assert b"a note\n" == server.fetch("/note.txt").body


TRIED = """
[[sites]]
root = "public"

[[sites.routes]]
files = "."
cgi = "."
try = ["files", "cgi"]
"""


def test_files_and_scripts_in_one_folder(serve: Servers, folder: Path) -> None:
    """If files are tried first, executable files are run, and all other files are sent."""
    server = serve(write(folder, TRIED).name, cwd=folder)
    with server.connect() as connection:
        for _ in range(2):
            assert b"ran\n" == connection.get("/cgi-bin/run.sh").body
            assert b"ran\n" == connection.get("/cgi-bin/run.sh/more").body
            assert b"a note\n" == connection.get("/cgi-bin/note.txt").body


LINKS = [
    ("run.txt", "cgi-bin/run.sh", "/run.txt"),
    ("dir", "cgi-bin", "/dir/run.sh"),
    ("far", "cgi-bin/sub", "/far/deep.sh"),
    ("copy.gz", "cgi-bin/run.sh.gz", "/copy.gz"),
    ("plain", "x.pl", "/plain"),
    ("cgi-bin/named.sh", "../tool.sh", "/all/cgi-bin/named.sh"),
    ("named.pl", "note.txt", "/all/named.pl"),
]


@pytest.mark.parametrize(("link", "to", "target"), LINKS, ids=[link for link, _, _ in LINKS])
def test_links(serve: Servers, folder: Path, link: str, to: str, target: str) -> None:
    """Even if links are followed, a link to a source, or with a source's name, is not sent."""
    (folder / "public" / link).symlink_to(to)
    server = start(serve, folder, more="static-symlinks = true")
    for _ in range(2):
        answer = server.fetch(target)
        assert 404 == answer.status
    listed = server.fetch(target.rpartition("/")[0] + "/")
    assert target.rpartition("/")[2].encode() not in listed.body
    assert b"a note\n" == server.fetch("/note.txt").body


def test_a_linked_folder(serve: Servers, folder: Path) -> None:
    """A route's folder may be a link into the served folder; when the link changes, its new target counts."""
    for version in ("v1", "v2"):
        put(folder, f"{version}/new.sh")
        put(folder, f"{version}/note.txt", b"a note\n", mode=0o644)
    link = folder / "public/current"
    link.symlink_to("v1")
    text = FILE.replace('cgi = "cgi-bin"', 'cgi = "current"').format(groups="", group="", more="")
    server = serve(write(folder, text).name, cwd=folder)

    assert b"ran\n" == server.fetch("/cgi-bin/new.sh").body
    assert [404, 200] == [server.fetch(f"/v{n}/new.sh").status for n in (1, 2)]
    put(folder, "v3/new.sh")
    beside = folder / "public/next"
    beside.symlink_to("v3")
    beside.rename(link)
    assert b"ran\n" == server.fetch("/cgi-bin/new.sh").body
    assert 404 == server.fetch("/v3/new.sh").status
