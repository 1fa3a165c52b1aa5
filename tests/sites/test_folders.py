"""Folders with their own settings: which settings count, how soon, and what they protect."""

from __future__ import annotations

import hashlib
import os
import re
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sites.conftest import BCRYPT, write
from sites.test_auth import PASSWORD, credentials, digest
from support.client import request
from support.server import run, until

if TYPE_CHECKING:
    from support.client import Response
    from support.server import Server, Servers

WORDS = '["allow", "auth", "headers", "cache-control", "errors", "redirect"]'

FILE = f"""
[[sites]]
root = "public"

[[sites.routes]]
files = "."
may-set = {WORDS}
htaccess = {WORDS}
headers = {{ X-Route = "route" }}

[[sites.routes]]
path = "/mixed/"
try = ["files", "app"]
files = "mixed"
app = "shop:application"
may-set = {WORDS}
"""

OWN = ".adyton.toml"


@pytest.fixture
def public(project: Path) -> Path:
    """Return a folder of files in three levels, and one with files and an application behind it."""
    public = project / "public"
    for name in ("a", "a/b", "a/b/c", "secret", "secret/deep", "open", "mixed", "mixed/staff"):
        (public / name).mkdir()
        (public / name / "index.html").write_text(f"index of {name}\n", encoding="utf-8")
        (public / name / "x.txt").write_text(f"file of {name}\n", encoding="utf-8")
    (public / "x.txt").write_text("file of all\n", encoding="utf-8")
    return public


@pytest.fixture
def server(serve: Servers, project: Path, public: Path) -> Server:
    """Serve the file."""
    assert public.is_dir()
    return serve(write(project, FILE), cwd=project)


def get(server: Server, target: str, user: str = "", method: str = "GET") -> Response:
    """Return the answer to a request, with credentials if there is a user."""
    fields = credentials(user, PASSWORD) if user else []
    return server.fetch(target, method=method, fields=fields, lint_answers=False)


def say(folder: Path, text: str, name: str = OWN) -> None:
    """Replace the settings of a folder, by a rename."""
    part = folder / ".part"
    part.write_text(text, encoding="utf-8")
    part.replace(folder / name)


def protect(folder: Path, users: str = "ann") -> None:
    """Have a folder ask for passwords."""
    passwords = "".join(f"{user}:{BCRYPT}\n" for user in users.split())
    (folder / ".htpasswd").write_text(passwords, encoding="utf-8")
    say(folder, 'auth = "basic:.htpasswd"\n')


def status(server: Server, target: str, user: str = "") -> int:
    """Return the status of the answer to a request."""
    return get(server, target, user).status


def said(answer: Response, name: str) -> str:
    """Return the values of a field, if there are any."""
    return ", ".join(answer.values(name))


def test_levels(server: Server, public: Path) -> None:
    """Settings of all folders on the way count, the innermost last, on top of the route's settings."""
    say(public, 'headers = { X-All = "all", X-Last = "all" }\n')
    say(public / "a", 'headers = { X-A = "a", X-Last = "a" }\ncache-control = "max-age=1"\n')
    say(
        public / "a/b",
        'headers = { X-Last = "b" }\nremove-headers = ["X-All"]\nadd-headers = { X-A = "b" }\n',
    )
    names = ("X-Route", "X-All", "X-A", "X-Last", "Cache-Control")
    for target, expected in [
        ("/x.txt", ["route", "all", "", "all", ""]),
        ("/open/x.txt", ["route", "all", "", "all", ""]),
        ("/a/x.txt", ["route", "all", "a", "a", "max-age=1"]),
        ("/a/none", ["route", "all", "a", "a", "max-age=1"]),
        ("/a/b/x.txt", ["route", "", "a, b", "b", "max-age=1"]),
        ("/a/b/c/x.txt", ["route", "", "a, b", "b", "max-age=1"]),
        ("/a/b/c/", ["route", "", "a, b", "b", "max-age=1"]),
    ]:
        for _ in range(3):
            answer = get(server, target)

            assert expected == [said(answer, name) for name in names], target


def test_who_may_come_adds_up(server: Server, public: Path) -> None:
    """A client must be let in by each folder on the way; an inner folder cannot open an outer one."""
    protect(public / "a", "ann bob")
    say(public / "a/b", 'deny = ["127.0.0.1"]\n')
    say(public / "a/b/c", 'allow = ["127.0.0.0/8"]\n')
    say(public / "open", 'allow = ["192.0.2.0/24"]\n')
    for target, statuses in [
        ("/a/x.txt", [401, 200]),
        ("/a/b/x.txt", [401, 403]),
        ("/a/b/c/x.txt", [401, 403]),
        ("/open/x.txt", [403, 403]),
        ("/x.txt", [200, 200]),
    ]:
        assert statuses == [status(server, target, user) for user in ("", "bob")], target


def test_two_passwords(server: Server, public: Path) -> None:
    """If two folders ask for a password, a user must be in the password files of both."""
    protect(public / "a", "ann bob")
    protect(public / "a/b", "bob eve")
    for _ in range(2):
        assert [200, 200, 401] == [status(server, "/a/x.txt", user) for user in ("ann", "bob", "eve")]
        assert [401, 200, 401] == [status(server, "/a/b/x.txt", user) for user in ("ann", "bob", "eve")]


def test_some_users(server: Server, public: Path) -> None:
    """A folder may set all keys of passwords, and addresses that need no password."""
    protect(public / "a", "ann bob eve")
    (public / "a/.groups").write_text("some: eve\n", encoding="utf-8")
    who = 'auth = "basic:.htpasswd"\nauth-realm = "A"\n'
    say(public / "a", who + 'auth-users = "ann"\nauth-groups = "some"\nauth-group-file = ".groups"\n')
    assert [200, 401, 200] == [status(server, "/a/x.txt", user) for user in ("ann", "bob", "eve")]
    assert 'realm="A"' in get(server, "/a/x.txt")["WWW-Authenticate"]

    say(public / "a", who + 'allow = ["127.0.0.1"]\nauth-satisfy = "any"\n')
    assert until(lambda: status(server, "/a/x.txt") == 200)


def test_pages(server: Server, public: Path) -> None:
    """A folder may have pages for missing files and refused clients; the pages change with their files."""
    (public / "a/missing.html").write_text("<p>nothing here", encoding="utf-8")
    say(public / "a", 'deny = ["192.0.2.1"]\nerror-pages = { 404 = "missing.html", 401 = "missing.html" }\n')
    for target in ("/a/none", "/a/b/c/none", "/a/.htpasswd"):
        answer = get(server, target)
        assert (404, b"<p>nothing here") == (answer.status, answer.body)
        assert "text/html" in answer["Content-Type"]
    assert b"" == get(server, "/a/none", method="HEAD").body
    assert b"nothing here" not in get(server, "/none").body
    protect(public / "a/b")
    assert until(lambda: status(server, "/a/b/x.txt") == 401)
    answer = get(server, "/a/b/x.txt")
    assert (401, b"<p>nothing here") == (answer.status, answer.body)
    with server.connect(lint_answers=False) as connection:
        both = [connection.get(target).body for target in ("/a/none", "/none", "/a/none", "/x.txt")]
    assert b"<p>nothing here" == both[0] == both[2]
    assert b"nothing here" not in both[1]
    assert b"file of all\n" == both[3]

    (public / "a/missing.html").write_text("<p>still nothing", encoding="utf-8")
    assert until(lambda: get(server, "/a/none").body == b"<p>still nothing")


def test_redirects(server: Server, public: Path) -> None:
    """A folder may redirect paths beneath it, but not for clients that it keeps out."""
    text = """
    [[redirects]]
    path = "old/"
    redirect = "/new{rest}{query}"
    redirect-status = 301
    [[redirects]]
    path = "x.txt"
    redirect = "https://other.example/"
    [[redirects]]
    path = "*.php"
    redirect = "{path}.html"
    """
    say(public / "a/b", text)
    for target, code, location in [
        ("/a/b/old/x?y", 301, "/new/x?y"),
        ("/a/b/%6fld//x?y", 301, "/new/x?y"),
        ("/a/b/old", 301, "/new"),
        ("/a/b/x.txt", 307, "https://other.example/"),
        ("/a/b/c/z.php", 307, "/a/b/c/z.php.html"),
    ]:
        answer = get(server, target)
        assert (code, location) == (answer.status, answer["Location"])
    assert [404, 200, 200] == [status(server, target) for target in ("/a/old/x", "/a/b/c/x.txt", "/a/x.txt")]
    protect(public / "a")
    assert until(lambda: status(server, "/a/b/old/x") == 401)
    assert until(lambda: status(server, "/a/b/x.txt") == 401)
    assert 307 == status(server, "/a/b/x.txt", "ann")


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("allow", 'allow = ["127.0.0.1"]'),
        ("allow", 'deny = ["192.0.2.1"]'),
        ("auth", 'auth = "basic:.htpasswd"'),
        ("headers", 'headers = { X-A = "a" }'),
        ("headers", 'remove-headers = ["X-A"]'),
        ("cache-control", 'cache-control = "no-store"'),
        ("errors", 'error-pages = { 404 = "index.html" }'),
        ("redirect", '[[redirects]]\npath = "y"\nredirect = "/"'),
    ],
)
def test_words(serve: Servers, project: Path, public: Path, word: str, text: str) -> None:
    """A folder may set what its site allows; any other setting closes the folder."""
    protect(public / "a")
    say(public / "a", text)
    routes = "".join(
        f'[[sites.routes]]\npath = "/{name}/"\nfiles = "."\nmay-set = {may}\n'
        for name, may in [("yes", f'["{word}"]'), ("no", WORDS.replace(f'"{word}"', '"redirect"'))]
    )
    inherits = (
        '[[sites.routes]]\nfiles = "."\n[[sites.routes]]\npath = "/off/"\nfiles = "."\nmay-set = "none"\n'
    )
    server = serve(
        write(project, f'[[sites]]\nroot = "public"\nmay-set = ["{word}"]\n{routes}{inherits}'), cwd=project
    )

    fine = 401 if text.startswith("auth =") else 200
    assert [fine, fine, 200] == [status(server, f"{path}/a/x.txt") for path in ("/yes", "", "/off")]
    if word != "redirect":
        assert 500 == status(server, "/no/a/x.txt")
        key = text.split(" ", maxsplit=1)[0]
        assert f"a/.adyton.toml:1:1: {key} may not be set in a folder here" in server.log()
        assert f'the site would have to allow it with "{word}"' in server.log()
    assert 200 == status(server, "/no/x.txt")


def test_changes_count(server: Server, public: Path) -> None:
    """Changes of files and folders, and replacements of folders, count soon."""
    folder = public / "a/b"
    assert 200 == status(server, "/a/b/x.txt")
    say(folder, 'deny = ["127.0.0.1"]\n')
    assert until(lambda: status(server, "/a/b/x.txt") == 403)
    say(folder, 'deny = ["127.0.0.2"]\n')
    assert until(lambda: status(server, "/a/b/x.txt") == 200)
    say(public / "a", 'deny = ["127.0.0.1"]\n')
    assert until(lambda: status(server, "/a/b/c/x.txt") == 403)
    (public / "a" / OWN).unlink()
    assert until(lambda: status(server, "/a/b/c/x.txt") == 200)
    say(folder, 'deny = ["127.0.0.1"]\n')
    folder.rename(public / "moved")
    assert until(lambda: status(server, "/moved/x.txt") == 403)
    assert 404 == status(server, "/a/b/x.txt")
    folder.mkdir()
    (folder / "x.txt").write_text("new\n", encoding="utf-8")
    assert until(lambda: status(server, "/a/b/x.txt") == 200)
    (public / "moved").rename(public / "a/b/c")
    assert until(lambda: status(server, "/a/b/c/x.txt") == 403)
    (public / "a").rename(public / "z")
    assert until(lambda: status(server, "/a/b/c/x.txt") == 404)
    assert 403 == status(server, "/z/b/c/x.txt")


def test_what_comes_is_protected_at_once(server: Server, public: Path) -> None:
    """A folder that appears together with its file of settings is never served without these settings."""
    for number in range(20):
        folder = public / f"later/{number}"
        target = f"/later/{number}/x.txt"
        assert {404} == {status(server, target) for _ in range(3)}
        made = public / f"open/{number}"
        made.mkdir()
        (made / "x.txt").write_text("secret\n", encoding="utf-8")
        say(made, 'deny = ["127.0.0.1"]\n')
        folder.parent.mkdir(exist_ok=True)
        made.rename(folder)

        assert 403 == status(server, target)


@pytest.mark.parametrize("inner", ["", "/b", "/b/c"])
@pytest.mark.parametrize("rules", ["inside", "around"])
def test_link_back_in_the_place_of_a_folder(server: Server, public: Path, inner: str, rules: str) -> None:
    """After a link replaces a folder, nothing is served beneath it, not even a file that was sent before."""
    folder, moved = public / f"a{inner}", public / "open/moved"
    targets = [f"/a{inner}/x.txt", f"/a{inner}/", f"/a{inner}/index.html", f"/a{inner}"]
    for _ in range(3):
        assert [200, 200, 200, 301] == [status(server, target) for target in targets]
    folder.rename(moved)
    say(moved if rules == "inside" else public / "open", 'deny = ["127.0.0.1"]\n')
    folder.symlink_to(moved)
    assert until(lambda: status(server, targets[0]) != 200)
    for _ in range(3):
        for method in ("GET", "HEAD"):
            assert [404] * 4 == [get(server, target, method=method).status for target in targets]
        conditional = [("If-Modified-Since", "Thu, 01 Jan 2037 00:00:00 GMT")]
        for fields in (conditional, [("Range", "bytes=0-3")], [("Connection", "close")]):
            assert 404 == server.fetch(targets[0], fields=fields, lint_answers=False).status
    assert 403 == status(server, "/open/moved/x.txt")

    folder.unlink()
    moved.rename(folder)
    expected = 403 if rules == "inside" else 200
    assert until(lambda: status(server, targets[0]) == expected)


def test_link_to_another_folder_in_the_place_of_one(server: Server, public: Path) -> None:
    """A link to another folder opens none of its files, even if the old folder had a file of that name."""
    protect(public / "secret")
    twin = public / "secret/twin.txt"
    twin.write_text("twin\n", encoding="utf-8")
    (public / "a/twin.txt").hardlink_to(twin)
    assert [200, 200] == [status(server, target) for target in ("/a/twin.txt", "/a/x.txt")]
    (public / "a").rename(public / "away")
    (public / "a").symlink_to("secret")
    seen = set()
    assert until(lambda: seen.add(status(server, "/a/twin.txt")) or 404 in seen)
    assert {200, 404} >= seen
    for target in ("/a/x.txt", "/a/twin.txt", "/a/", "/a/deep/x.txt", "/a"):
        for user in ("", "ann"):
            answer = get(server, target, user)
            assert (404, False) == (answer.status, b"of secret" in answer.body), (target, user)


def test_another_root(serve: Servers, project: Path, public: Path) -> None:
    """If the whole served folder is replaced, the settings of the new folder count."""
    (project / "next").mkdir()
    public.rename(project / "first")
    public.symlink_to("first")
    server = serve(write(project, FILE), cwd=project)
    assert 200 == status(server, "/a/x.txt")
    (project / "next/a").mkdir()
    (project / "next/a/x.txt").write_text("next\n", encoding="utf-8")
    say(project / "next/a", 'deny = ["127.0.0.1"]\n')
    link = project / "link"
    link.symlink_to("next")
    link.replace(public)

    assert until(lambda: status(server, "/a/x.txt") == 403)


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("headers", ":1:8: "),
        ('headrs = { X = "y" }', ":1:1: headrs is no key of a folder; did you mean headers?"),
        ('\nfiles = "."', ":2:1: files is no key of a folder"),
        ("bind = 1", ":1:1: bind is no key of a folder"),
        ("[server]", ":1:2: server is no key of a folder"),
        ('allow = ["10.0.0.0/33"]', ":1:10: allow = 10.0.0.0/33: "),
        (
            'auth = "off"',
            ":1:1: auth = off: a password needed around this folder is needed here, too; leave auth out",
        ),
        ("auth = false", ":1:1: auth = off: "),
        ('auth = "basic:.missing"', ": .missing cannot be read: "),
        ('auth = "basic:x.txt"', ": x.txt: it would be served; give it a name that begins with a dot"),
        (
            'auth = "basic:../.htpasswd"',
            ": ../.htpasswd: a file of passwords lies in the folder or beneath it",
        ),
        ('auth = "basic:/etc/passwd"', ": /etc/passwd: a file of passwords lies in the folder or beneath it"),
        ('auth = "basic:.link"', ": .link: it leads out of the folder"),
        ('auth = "basic:.fifo"', ".fifo cannot be read: it is no regular file"),
        (
            'auth = "basic:.empty"\nauth-groups = "some"\nauth-group-file = "groups"',
            ": groups cannot be read: ",
        ),
        ('error-pages = { 404 = "none.html" }', ": error-pages: 404=none.html: "),
        ('error-pages = { 404 = "../x.txt" }', ": error-pages: 404=../x.txt: a page is a file in the folder"),
        (
            'error-pages = { 404 = ".htpasswd" }',
            ": error-pages: 404=.htpasswd: a page is a file in the folder",
        ),
        (
            'error-pages = { 404 = "link.html" }',
            ": error-pages: 404=link.html: symbolic links are not followed",
        ),
        ('error-pages = { 200 = "x.txt" }', ":1:23: error-pages = 200=x.txt: "),
        ('[[redirects]]\npath = "/y"\nredirect = "/"', ":2:8: path = /y: it is beneath the folder"),
        ('[[redirects]]\npath = "../y"\nredirect = "/"', ":2:8: path = ../y: a path has no . or .."),
        ('[[redirects]]\npath = "y"', ":1:1: this redirect has no redirect"),
        ('[[redirects]]\nredirect = "/"', ":1:1: this redirect has no path"),
        ('[[redirects]]\npath = "y"\nredirect = "z"', ":3:12: redirect = z: a target begins with"),
        ('[[redirects]]\npath = "y"\nredirect = "/"\nstatus = 301', ":4:1: status is no key of a redirect"),
        ("redirects = 1", ":1:13: write [[redirects]], with two brackets"),
        ("#" * (64 << 10) + "\n", ": it is larger than 65536 bytes"),
    ],
)
def test_wrong_files(server: Server, public: Path, text: str, mistake: str) -> None:
    """A mistake is logged once, and nothing in or beneath the folder is served until it is repaired."""
    folder = public / "a"
    (folder / ".link").symlink_to("/etc/passwd")
    (folder / "link.html").symlink_to("index.html")
    (folder / ".empty").write_text("", encoding="utf-8")
    os.mkfifo(folder / ".fifo")
    say(folder, text)
    for target in ("/a/x.txt", "/a/", "/a", "/a/b/c/x.txt", "/a/none", "/a/.adyton.toml"):
        for method in ("GET", "POST", "HEAD", "OPTIONS"):
            answer = get(server, target, method=method)
            assert (500, "route") == (answer.status, said(answer, "X-Route")), (target, method)
    assert 200 == status(server, "/open/x.txt")
    assert (
        re.search(rf"a/{re.escape(OWN)}[^\n]*{re.escape(mistake)}", server.log()) or mistake in server.log()
    )
    assert [1] == [server.log().count(line) for line in server.log().splitlines() if " ADY225 " in line][:1]

    say(folder, 'headers = { X-A = "fine" }\n')
    assert until(lambda: status(server, "/a/x.txt") == 200)
    say(folder, text)
    assert until(lambda: status(server, "/a/x.txt") == 500)
    (folder / OWN).unlink()
    assert until(lambda: status(server, "/a/x.txt") == 200)


@pytest.mark.parametrize("kind", ["link", "loop", "fifo", "folder", "latin"])
def test_files_that_are_none(server: Server, public: Path, kind: str) -> None:
    """A file that cannot be read as text is a mistake, and the server never waits for it."""
    file = public / "a" / OWN
    if kind == "link":
        say(public / "open", "", "fine.toml")
        file.symlink_to(public / "open/fine.toml")
    elif kind == "loop":
        file.symlink_to(OWN)
    elif kind == "fifo":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    else:
        file.write_bytes(b'headers = { X = "\xe9" }')

    assert [500, 500, 200] == [status(server, target) for target in ("/a/x.txt", "/a/b/x.txt", "/x.txt")]
    assert "a/.adyton.toml: it " in server.log()


SPELLINGS = [
    "/secret/x.txt",
    "/secret//x.txt",
    "//secret/x.txt",
    "/%73ecret/x.txt",
    "/secret%2fx.txt",
    "/secret%2Fx.txt",
    "/%2fsecret/x.txt",
    "/secret",
    "/secret/",
    "/secret?x",
    "/secret//",
    "/secret/deep/x.txt",
    "/secret/deep",
    "/secret/none",
    "/secret/deep/none/none/none",
    "/secret/x.txt/",
    "/secret/x.txt/y",
    "/secret/x.txt%00",
    "/secret/x.txt;y",
    "/secret/x.txt%20",
    "/secret/.adyton.toml",
    "/secret/.htpasswd",
    "/secret/%2ehtpasswd",
]
"""Spellings of paths in a folder that is protected."""

OTHERS = [
    "/secret/../secret/x.txt",
    "/open/../secret/x.txt",
    "/open/..%2fsecret/x.txt",
    "/open/%2e%2e/secret/x.txt",
    "/./secret/x.txt",
    "/secret/./x.txt",
    "/secret/.",
    "/%2573ecret/x.txt",
    "/secret%252fx.txt",
    "/SECRET/x.txt",
    "/Secret/X.TXT",
    "/secret./x.txt",
    "/secret%20/x.txt",
    "/secret\\x.txt",
    "/open\\..\\secret\\x.txt",
    "/secret%5cx.txt",
    "/secret%00/x.txt",
    "/%c0%afsecret/x.txt",
    "/secret;/x.txt",
    "/link/x.txt",
    "/open/link/x.txt",
    "/open/file",
    "/open/up/secret/x.txt",
    "/.adyton.toml",
    "/open/.adyton.toml",
    "/open/%2eadyton.toml",
    "/open/.ADYTON.toml",
    "/open/.htaccess",
    "/open/.htpasswd",
    "/open/.adyton.toml/",
    "/open//.adyton.toml",
    "/open/.adyton.toml%20",
    "/open/.adyton.toml~",
]
"""Targets that do not lead into the protected folder: refused, or not found."""


@pytest.fixture
def protected(server: Server, public: Path) -> Server:
    """Serve a folder that is protected by its file, with links that lead around it, and to it."""
    protect(public / "secret")
    for name in (OWN, ".htaccess", ".htpasswd", f"{OWN}~"):
        (public / "open" / name).write_text("# secret\n", encoding="utf-8")
    (public / "link").symlink_to("secret")
    (public / "open/link").symlink_to("../secret/deep")
    (public / "open/file").symlink_to("../secret/x.txt")
    (public / "open/up").symlink_to("..")
    (public / "secret/out").symlink_to("../open")
    return server


@pytest.mark.parametrize("target", SPELLINGS)
def test_spellings(protected: Server, target: str) -> None:
    """A protected folder stays protected for all spellings of its path, and all methods."""
    for method in ("GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE", "PURGE"):
        answer = get(protected, target, method=method)

        assert 401 == answer.status, method
        assert b"secret" not in answer.body
    override = [("X-HTTP-Method-Override", "GET"), ("X-Original-URL", "/x.txt"), ("X-Rewrite-URL", "/x.txt")]
    assert 401 == protected.fetch(target, fields=override, lint_answers=False).status


@pytest.mark.parametrize("target", OTHERS)
def test_other_spellings(protected: Server, target: str) -> None:
    """Other spellings reach neither the folder nor the files of settings, even with a password."""
    for user in ("", "ann"):
        for method in ("GET", "HEAD", "POST"):
            answer = get(protected, target, user, method)

            assert answer.status in {400, 404, 405}, (user, method)
            assert b"file of" not in answer.body
            assert b"# secret" not in answer.body


def test_in_the_folder(protected: Server) -> None:
    """A user with the password gets the files, but neither the settings nor the targets of links."""
    for target, code in [
        ("/secret/x.txt", 200),
        ("/secret", 301),
        ("/secret/", 200),
        ("/secret/deep/x.txt", 200),
        ("/secret/out/x.txt", 404),
        ("/secret/.htpasswd", 404),
        ("/secret/.adyton.toml", 404),
    ]:
        assert code == status(protected, target, "ann"), target


def test_application_behind(server: Server, public: Path) -> None:
    """A client that is kept out of a folder does not reach the application behind it either."""
    protect(public / "mixed/staff")
    say(public / "mixed", 'headers = { X-Mixed = "yes" }\n')
    for target in ("/mixed/staff/none", "/mixed/staff", "/mixed/staff%2fnone", "/mixed//%73taff//none"):
        assert 401 == status(server, target), target
    for target, user, field in [
        ("/mixed/staff/none", "ann", ""),
        ("/mixed/none", "", ""),
        ("/mixed/staff/x.txt", "ann", "yes"),
    ]:
        answer = get(server, target, user)
        assert (200, field) == (answer.status, said(answer, "X-Mixed")), target


def test_bodies(server: Server, public: Path) -> None:
    """A request with a body is refused like any other, and gets its status, with or without `Expect`."""
    protect(public / "secret")
    for user, code in [("", 401), ("ann", 405), ("eve", 401)]:
        fields = credentials(user, PASSWORD) if user else []
        for body in (b"x", b"x" * 300_000):
            answer = server.fetch(
                "/secret/x.txt", method="POST", fields=fields, body=body, lint_answers=False
            )
            assert code == answer.status, (user, len(body))
        with server.connect(lint_answers=False) as connection:
            expects = [*fields, ("Content-Length", "4"), ("Expect", "100-continue")]
            connection.send(request("/secret/x.txt", method="POST", fields=expects))
            if connection.socket.recv(12, socket.MSG_PEEK) == b"HTTP/1.1 100":
                connection.socket.recv(len(b"HTTP/1.1 100 Continue\r\n\r\n"), socket.MSG_WAITALL)
                connection.send(b"body")
            assert code == connection.receive("POST").status, user


HTACCESS = """
AuthType Basic
AuthName "Staff"
AuthUserFile {passwords}
Require user ann
Header set X-Apache "yes"
Redirect permanent /a/b/old /new
"""


def test_htaccess(server: Server, project: Path, public: Path) -> None:
    """An `.htaccess` counts as in Apache, and so does an `.adyton.toml` beside it."""
    (project / "passwords").write_text(f"ann:{BCRYPT}\nbob:{BCRYPT}\n", encoding="utf-8")
    say(public / "a/b", HTACCESS.format(passwords=project / "passwords"), ".htaccess")
    say(public / "a/b", 'headers = { X-Own = "yes" }\n')
    assert [401, 200, 401] == [status(server, "/a/b/c/x.txt", user) for user in ("", "ann", "bob")]
    answer = get(server, "/a/b/x.txt", "ann")
    assert ("yes", "yes") == (answer["X-Apache"], answer["X-Own"])
    answer = get(server, "/a/b/old/x?y", "ann")
    assert (301, "/new/x?y") == (answer.status, answer["Location"])
    assert 401 == status(server, "/a/b/old/x")
    assert 200 == status(server, "/a/x.txt")

    say(public / "a/b", "Require all denied\n", ".htaccess")
    assert until(lambda: status(server, "/a/b/x.txt", "ann") == 403)
    say(public / "a/b", '<Files "*.html">\nRequire all denied\n</Files>\n', ".htaccess")
    assert until(lambda: status(server, "/a/b/x.txt") == 200)
    for target in ("/a/b/index.html", "/a/b/", "/a/b//", "/a/b/c/", "/a/b/c/index.htm%6c"):
        assert 403 == status(server, target), target
    say(public / "a/b", "Require all granted\n", ".htaccess")
    assert until(lambda: status(server, "/a/b/") == 200)
    assert until(lambda: status(server, "/a/b/x.txt") == 200)
    say(public / "a", "Require ip 192.0.2.1\n", ".htaccess")
    assert until(lambda: status(server, "/a/b/x.txt") == 403)


DIGEST = """
AuthType Digest
AuthName Staff
AuthUserFile {passwords}
Require valid-user
"""


def test_two_folders_that_ask_for_one_digest(server: Server, project: Path, public: Path) -> None:
    """If folders on the way ask for the same digest, the client sends one, valid for one request only."""
    hashed = hashlib.new("md5", f"ann:Staff:{PASSWORD}".encode(), usedforsecurity=False).hexdigest()
    (project / "digests").write_text(f"ann:Staff:{hashed}\n", encoding="utf-8")
    for name in ("a", "a/b"):
        say(public / name, DIGEST.format(passwords=project / "digests"), ".htaccess")
    refused = get(server, "/a/b/x.txt")
    for number, code in [(1, 200), (1, 401), (2, 200), (2, 401)]:
        field = digest(refused, "GET", "/a/b/x.txt", number)

        assert code == server.fetch("/a/b/x.txt", fields=field, lint_answers=False).status


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("Require ldap-group x", "restriction lost: "),
        ("RewriteRule ^x$ - [F]", "restriction lost: "),
        ("<Files secret.html>\nRequire ip 10.0.0.1\n</Files>", ""),
        ("<LimitExcept GET>\nRequire all denied\n</LimitExcept>", ""),
        ("<Files", ""),
        (
            "AuthType Basic\nAuthName A\nAuthUserFile {public}/a/x.txt\nRequire valid-user",
            "it would be served",
        ),
        ("AuthType Basic\nAuthName A\nAuthUserFile x\nRequire valid-user", ""),
        ("AuthType Basic\nAuthName A\nAuthUserFile /none\nRequire valid-user", "cannot be read"),
    ],
)
def test_htaccess_that_is_not_understood(server: Server, public: Path, text: str, mistake: str) -> None:
    """An `.htaccess` line that may keep somebody out, but is not supported, keeps everybody out."""
    say(public / "a", text.format(public=public) + "\n", ".htaccess")
    assert [500, 500, 200] == [status(server, target) for target in ("/a/x.txt", "/a/b/x.txt", "/x.txt")]
    assert "ADY225" in server.log()
    assert "a/.htaccess" in server.log()
    assert mistake in server.log()


def test_htaccess_that_is_not_allowed(serve: Servers, project: Path, public: Path) -> None:
    """An `.htaccess` counts only if the site allows it, and only for the settings that the site allows."""
    text = """
    [[sites]]
    root = "public"
    [[sites.routes]]
    files = "."
    htaccess = ["headers"]
    [[sites.routes]]
    path = "/none/"
    files = "."
    may-set = ["headers"]
    """
    say(public / "a", "Require all denied\n", ".htaccess")
    say(public / "open", "Header set X-A yes\nOptions -Indexes\n", ".htaccess")
    say(public / "secret", 'nonsense = "."\n')
    server = serve(write(project, text), cwd=project)

    assert [500, 200, 200] == [
        status(server, target) for target in ("/a/x.txt", "/none/a/x.txt", "/secret/x.txt")
    ]
    assert ["yes", ""] == [said(get(server, f"{target}/open/x.txt"), "X-A") for target in ("", "/none")]
    assert 500 == status(server, "/none/secret/x.txt")


def test_command_line(serve: Servers, project: Path, public: Path) -> None:
    """Folders on a command line may have settings, too; then paths are compared in decoded form."""
    protect(public / "secret")
    server = serve("shop:application", "--static=/f=public", "--may-set=auth", cwd=project)

    for target in ("/f/secret/x.txt", "/f/%73ecret/x.txt", "/f//secret/x.txt", "/f/secret%2fx.txt"):
        assert 401 == status(server, target), target
    assert [200, 200] == [status(server, "/f/secret/x.txt", "ann"), status(server, "/f/x.txt")]


def test_example(serve: Servers, project: Path) -> None:
    """The files for folders in the guide are valid without changes."""
    guide = (Path(__file__).parents[2] / "docs/folders.md").read_text(encoding="utf-8")
    site, *_ = re.findall(r"^```toml\n(.*?)^```", guide, re.MULTILINE | re.DOTALL)
    own, *_ = re.findall(r"^```toml \.adyton\.toml\n(.*?)^```", guide, re.MULTILINE | re.DOTALL)
    folder = project / "public/static"
    (folder / "missing.html").write_text("missing", encoding="utf-8")
    protect(folder)
    say(folder, own)
    server = serve(write(project, site), cwd=project)

    assert 401 == status(server, "/files/site.css")
    answer = get(server, "/files/site.css", "ann")
    assert (200, "noindex", "no-store") == (
        answer.status,
        said(answer, "X-Robots-Tag"),
        said(answer, "Cache-Control"),
    )
    assert b"missing" == get(server, "/files/none", "ann").body
    assert "/new/x" == get(server, "/files/old/x", "ann")["Location"]


def test_wrong_sites(project: Path, public: Path) -> None:
    """Settings of folders with links are a mistake, and so are unknown words; `route` names folders."""
    head = '[[sites]]\nroot = "public"\n[[sites.routes]]\nfiles = "."\n'
    for text, mistake in [
        ('may-set = ["auth"]\nstatic-symlinks = true\n', "site.toml:4:9: files: static-symlinks is on"),
        ('htaccess = ["auth"]\nstatic-symlinks = true\n', "site.toml:4:9: files: static-symlinks is on"),
        ('may-set = ["files"]\n', "site.toml:5:12: may-set = files: the words are allow, auth"),
        ('htaccess = "all"\n', "site.toml:5:12: htaccess = all: the words are allow, auth"),
    ]:
        write(project, head + text)
        checked = run("check", "site.toml", cwd=project)
        assert (2, True) == (checked.returncode, mistake in checked.stderr), checked.stderr
    checked = run("check", "public", "--may-set=auth", "--static-symlinks=on", cwd=project)
    assert "static-symlinks: a link would lead around" in checked.stderr, checked.stderr
    assert public.is_dir()
    write(project, head + 'may-set = ["auth"]\n')
    explained = run("route", "site.toml", "GET", "/a/x.txt", cwd=project)
    assert "with the settings of folders on the way" in explained.stdout


def test_scripts_alone_do_not_hear_folders(project: Path, public: Path) -> None:
    """Settings of folders count on routes with files, with or without scripts; `route` says if they do."""
    (public / "a" / "page.py").write_text("def handler(request): return 'page'\n", encoding="utf-8")
    head = '[[sites]]\nroot = "public"\nmay-set = ["auth"]\n[[sites.routes]]\npath = "/files/"\nfiles = "."\n'
    head += "[[sites.routes]]\n"
    for action, says in [
        ('scripts = "."\n', ["without the settings of folders"]),
        ('cgi = "."\n', ["without the settings of folders"]),
        ('scripts = "."\nfiles = "."\ntry = ["files", "scripts"]\n', ["with the settings of folders"]),
        ("respond = 204\n", []),
    ]:
        write(project, head + action)
        explained = run("route", "site.toml", "GET", "/a/page.py", cwd=project)
        assert says == re.findall(r"\w+ the settings of folders", explained.stdout), explained.stdout
