"""Files that answer for their folder, named by the folder with `index` or `DirectoryIndex`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sites.conftest import write
from support.client import request
from support.server import until

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Server, Servers

WORDS = '["allow", "cgi", "scripts", "index"]'

FILE = f"""
[[sites]]
root = "public"

[[sites.routes]]
path = "/listed/"
files = "a"
may-set = {WORDS}
htaccess = {WORDS}
static-listing = true

[[sites.routes]]
path = "*.sh"
cgi = {{ "*.sh" = "/bin/sh" }}

[[sites.routes]]
path = "/pages/"
files = "pages"
may-set = ["scripts", "index"]

[[sites.routes]]
path = "/plain/"
files = "plain"
may-set = ["index"]

[[sites.routes]]
path = "/pages/index.sh"
cgi = {{ "*.sh" = "/bin/sh" }}

[[sites.routes]]
path = "/plain/index.sh"
cgi = {{ "*.sh" = "/bin/sh" }}

[[sites.routes]]
path = "/few/"
files = "few"
may-set = ["allow"]
htaccess = ["allow"]

[[sites.routes]]
path = "/mixed/"
files = "a"
may-set = {WORDS}
app = "shop:application"
try = ["files", "app"]

[[sites.routes]]
files = "."
may-set = {WORDS}
htaccess = {WORDS}
"""

PROGRAM = """#!/bin/sh
body=$(cat)
printf 'Content-Type: text/plain\\n\\n'
printf '%s %s%s %s' "$REQUEST_METHOD" "$SCRIPT_NAME" "$PATH_INFO" "$QUERY_STRING$body"
"""

PAGE = "def application(environ, start_response):\n    start_response('200 OK', [])\n    return [b'page']\n"


@pytest.fixture
def public(project: Path) -> Path:
    """Return folders with programs, pages and files."""
    public = project / "public"
    for name in ("a", "a/b", "a/b/c", "few", "pages", "plain", "empty"):
        folder = public / name
        folder.mkdir()
        (folder / "index.html").write_text(f"index of {name}", encoding="utf-8")
        (folder / "other.html").write_text(f"other of {name}", encoding="utf-8")
        (folder / "index.py").write_text(PAGE, encoding="utf-8")
        (folder / "index.cgi").write_text(PROGRAM, encoding="utf-8")
        (folder / "index.cgi").chmod(0o755)
    for file in (public / "empty").iterdir():
        file.unlink()
    return public


@pytest.fixture
def server(serve: Servers, project: Path, public: Path) -> Server:
    """Serve the file."""
    assert public.is_dir()
    return serve(write(project, FILE), cwd=project)


def say(folder: Path, text: str, name: str = ".adyton.toml") -> None:
    """Replace the settings of a folder, by a rename."""
    part = folder / ".part"
    part.write_text(text, encoding="utf-8")
    part.replace(folder / name)


def get(server: Server, target: str, method: str = "GET", body: bytes | None = None) -> tuple[int, str]:
    """Return status and body of an answer."""
    answer = server.fetch(target, method=method, body=body, lint_answers=False)
    return answer.status, answer.body.decode()


APACHE = "Options +ExecCGI\nAddHandler cgi-script .cgi\nDirectoryIndex"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".adyton.toml", 'cgi = true\nindex = ["index.none", "index.cgi", "index.html"]\n'),
        (".htaccess", f"{APACHE} index.none index.cgi index.html\n"),
        (".htaccess", f"{APACHE} index.none\nDirectoryIndex index.cgi\n"),
    ],
)
def test_a_program_answers(server: Server, public: Path, name: str, text: str) -> None:
    """The first file that exists answers: a program gets its own name, the query, and the body."""
    say(public / "a", text, name)
    for path, program in [("/a/", "/a/index.cgi"), ("/a/b/c/", "/a/b/c/index.cgi"), ("/mixed/", None)]:
        if program is None and name == ".htaccess":
            continue
        shown = program or "/mixed/index.cgi"
        for _ in range(2):
            assert (200, f"GET {shown} x=1") == get(server, f"{path}?x=1")
            assert (200, f"POST {shown} form") == get(server, path, "POST", b"form")
    moved = server.fetch("/a/b?x=1", lint_answers=False)
    assert (301, "/a/b/?x=1") == (moved.status, moved["Location"])
    assert (200, "other of a") == get(server, "/a/other.html")
    (public / "a/b/index.cgi").chmod(0o644)
    assert 403 == get(server, "/a/b/")[0]


@pytest.mark.parametrize("flags", [(), ("--stream-body",)], ids=["", "stream"])
@pytest.mark.parametrize(
    ("folder", "text", "program"),
    [
        ("a", 'cgi = true\nindex = ["index.none", "index.cgi"]\n', "index.cgi"),
        ("a", 'cgi = true\nscripts = true\nindex = ["index.cgi", "index.py"]\n', "index.cgi"),
        ("a", 'index = ["index.sh"]\n', "index.sh"),
        ("pages", 'index = ["index.sh", "index.html"]\n', "index.sh"),
        ("plain", 'index = "index.sh"\n', "index.sh"),
    ],
)
def test_a_body_behind_the_head(
    serve: Servers, project: Path, public: Path, flags: tuple[str, ...], folder: str, text: str, program: str
) -> None:
    """A program that answers for its folder gets the whole body that follows the head, on any route."""
    (public / folder / "index.sh").write_text(PROGRAM, encoding="utf-8")
    say(public / folder, text)
    server = serve(write(project, FILE), *flags, cwd=project)
    for _ in range(2):
        with server.connect(lint_answers=False) as connection:
            connection.send(request(f"/{folder}/", method="POST", fields=[("Content-Length", "6")]))
            # When the server has answered another client, it has read this head, too.
            assert 200 == get(server, "/few/other.html")[0]
            connection.send(b"one")
            assert 200 == get(server, "/few/other.html")[0]
            connection.send(b"two")
            answer = connection.receive("POST")

        assert (200, f"POST /{folder}/{program} onetwo") == (answer.status, answer.body.decode())


def test_names_of_files(server: Server, public: Path) -> None:
    """Of several folders that name indexes, the innermost counts, and no other file answers."""
    say(public / "a", 'index = "other.html"\n')
    say(public / "a/b", "DirectoryIndex index.html other.html\n", ".htaccess")
    say(public / "a/b/c", 'index = "none"\n')
    for target, expected in [
        ("/a/", (200, "other of a")),
        ("/a/b/", (200, "index of a/b")),
        ("/a/b/index.html", (200, "index of a/b")),
    ]:
        for _ in range(3):
            assert expected == get(server, target), target
    assert 405 == get(server, "/a/", "POST", b"x")[0]
    assert [404, 404] == [get(server, target)[0] for target in ("/a/b/c/", "/a/b/c")]
    assert 200 == get(server, "/a/b/c/index.html")[0]
    (public / "a/other.html").unlink()
    assert 404 == get(server, "/a/")[0]
    status, listing = get(server, "/listed/")
    assert 200 == status
    assert "index.cgi" in listing
    # The application is asked if no file answers.
    assert "/mixed/" in get(server, "/mixed/")[1]


def test_pages(server: Server, public: Path) -> None:
    """A Python page answers if it is named, and not if another name comes first."""
    say(public / "a", 'scripts = true\nindex = ["index.py", "index.html"]\n')
    say(public / "a/b", 'index = ["other.html", "index.py"]\n')
    assert (200, "page") == get(server, "/a/")
    assert (200, "other of a/b") == get(server, "/a/b/")
    assert 301 == get(server, "/a/b")[0]
    (public / "a/b/other.html").unlink()
    assert (200, "page") == get(server, "/a/b/")
    say(public / "a", 'index = ["index.py", "index.html"]\n')
    assert until(lambda: get(server, "/a/")[0] == 404)
    assert 404 == get(server, "/a/index.py")[0]


def test_who_may_come(server: Server, public: Path) -> None:
    """A file that is refused by its name is refused as an index, too, even if another index exists."""
    denied = "<Files other.html>\nRequire all denied\n</Files>\nDirectoryIndex other.html index.html\n"
    say(public / "a", denied, ".htaccess")
    assert [403, 403] == [get(server, target)[0] for target in ("/a/", "/a/other.html")]
    assert 403 == get(server, "/a/b/")[0]
    assert (200, "index of a") == get(server, "/a/index.html")
    say(public / "a", denied.replace("<Files other.html>", "<Files index.html>"), ".htaccess")
    assert until(lambda: get(server, "/a/") == (200, "other of a"))


def test_a_link_is_no_index(server: Server, public: Path) -> None:
    """A link with the name of an index is passed over, and so is a folder."""
    say(public / "a", 'index = ["link.html", "b", "other.html"]\n')
    (public / "a/link.html").symlink_to("index.html")
    assert (200, "other of a") == get(server, "/a/")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (".adyton.toml", 'index = "index.cgi"', "index may not be set in a folder here"),
        (".htaccess", "DirectoryIndex index.cgi index.html", 'htaccess = ["index"]'),
        (".htaccess", "DirectoryIndex index.html index.htm", 'htaccess = ["index"]'),
        (".htaccess", "DirectoryIndex disabled", 'htaccess = ["index"]'),
        (".htaccess", "DirectoryIndex index.html", ""),
    ],
)
def test_without_the_word(server: Server, public: Path, name: str, text: str, said: str) -> None:
    """A folder that names its index without permission is refused."""
    say(public / "few", f"{text}\n", name)
    assert (500 if said else 200) == get(server, "/few/")[0]
    assert said in server.log()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".adyton.toml", 'index = "../x.html"'),
        (".adyton.toml", 'index = ".htaccess"'),
        (".adyton.toml", "index = []"),
        (".adyton.toml", 'index = ["none", "index.html", ""]'),
        (".htaccess", "DirectoryIndex index.html /cgi-bin/index.pl"),
        (".htaccess", "DirectoryIndex ../other.html"),
        (".htaccess", "DirectoryIndex index.php?x"),
        (".htaccess", "DirectoryIndex .htpasswd"),
        (".htaccess", f"DirectoryIndex {'x ' * 17}"),
    ],
)
def test_wrong_names(server: Server, public: Path, name: str, text: str) -> None:
    """A folder that names an index outside of the folder, or an invalid one, is refused."""
    say(public / "a", f"{text}\n", name)
    assert [500, 500] == [get(server, target)[0] for target in ("/a/", "/a/other.html")]
    assert f"/a/{name}" in server.log()


def test_changes_count(server: Server, public: Path) -> None:
    """Names that change, and files that come and go, count soon."""
    say(public / "empty", 'index = ["first.html", "second.html"]\n')
    assert 404 == get(server, "/empty/")[0]
    for name in ("second", "first"):
        (public / f"empty/{name}.html").write_text(name, encoding="utf-8")
        assert (200, name) == get(server, "/empty/")
    say(public / "empty", 'index = "second.html"\n')
    assert until(lambda: get(server, "/empty/") == (200, "second"))
