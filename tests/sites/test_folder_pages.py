"""Pages for errors that an `.htaccess` names with `ErrorDocument`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sites.conftest import BCRYPT, write
from support.server import until

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Server, Servers

WORDS = '["allow", "auth", "errors"]'

FILE = f"""
[[sites]]
root = "public"
error-pages = {{ 403 = "public/site.html" }}

[[sites.routes]]
files = "."
htaccess = {WORDS}
may-set = {WORDS}

[[sites.routes]]
path = "/deep/path/"
files = "beside"
htaccess = {WORDS}
"""


@pytest.fixture
def public(project: Path) -> Path:
    """Return a folder of files in three levels, and one of a route with a path."""
    public = project / "public"
    for name in ("a", "a/b", "a/c", "beside"):
        (public / name).mkdir()
        (public / name / "x.txt").write_text(f"file of {name}\n", encoding="utf-8")
    (public / "site.html").write_text("page of the site", encoding="utf-8")
    return public


@pytest.fixture
def server(serve: Servers, project: Path, public: Path) -> Server:
    """Serve the file."""
    assert public.is_dir()
    return serve(write(project, FILE), cwd=project)


def say(folder: Path, text: str) -> None:
    """Replace the settings of a folder, by a rename."""
    part = folder / ".part"
    part.write_text(text, encoding="utf-8")
    part.replace(folder / ".htaccess")


def get(server: Server, target: str) -> tuple[int, str, str]:
    """Return status, media type and body of an answer."""
    answer = server.fetch(target, lint_answers=False)
    return answer.status, answer["Content-Type"], answer.body.decode()


HTML = "text/html; charset=utf-8"


def test_pages_and_texts(server: Server, public: Path) -> None:
    """A page of the folder, one beneath it, or a text answers for a status; the innermost folder counts."""
    (public / "missing.html").write_text("nothing here", encoding="utf-8")
    (public / "a/c/no.txt").write_text("not you", encoding="utf-8")
    say(public, 'ErrorDocument 404 /missing.html\nErrorDocument 403 "Keep <b>out</b>: \u00e9"\n')
    say(public / "a", "ErrorDocument 403 /a/c/no.txt\n")
    say(public / "a/b", "ErrorDocument 404 Gone!\nRequire all denied\n")
    say(public / "beside", "ErrorDocument 404 Beside\nRequire all denied\n")
    for target, expected in [
        ("/none", (404, HTML, "nothing here")),
        ("/a/none", (404, HTML, "nothing here")),
        ("/.htaccess", (404, HTML, "nothing here")),
        ("/a/b/x.txt", (403, "text/plain; charset=utf-8", "not you")),
        ("/beside/x.txt", (403, HTML, "Keep <b>out</b>: \u00e9")),
        ("/deep/path/x.txt", (403, HTML, "page of the site")),
    ]:
        for _ in range(2):
            assert expected == get(server, target), target
    assert (200, "file of a\n") == get(server, "/a/x.txt")[::2]
    head = server.fetch("/none", method="HEAD", lint_answers=False)
    assert (404, b"", "12") == (head.status, head.body, head["Content-Length"])


def test_path_of_a_route(server: Server, public: Path) -> None:
    """A page is named by its path in the site, which begins with the route's path."""
    (public / "beside/missing.html").write_text("nothing beside", encoding="utf-8")
    say(public / "beside", "ErrorDocument 404 /deep/path/missing.html\n")
    assert (404, HTML, "nothing beside") == get(server, "/deep/path/none")
    assert 500 == get(server, "/beside/none")[0]
    assert "whose path begins with /beside/" in server.log()


def test_a_password_is_asked_for_with_a_page(server: Server, public: Path, project: Path) -> None:
    """A 401 with a text of the folder keeps its `WWW-Authenticate` field."""
    (project / "users").write_text(f"ann:{BCRYPT}\n", encoding="utf-8")
    asked = f"AuthType Basic\nAuthName A\nAuthUserFile {project}/users\nRequire valid-user\n"
    say(public / "a", f'{asked}ErrorDocument 401 "Say who you are"\n')
    answer = server.fetch("/a/x.txt", lint_answers=False)

    assert (401, b"Say who you are") == (answer.status, answer.body)
    assert 'Basic realm="A"' in answer["WWW-Authenticate"]


def test_default(server: Server, public: Path) -> None:
    """An inner folder can cancel a page of outer folders; of two lines for one status the last counts."""
    say(public, "ErrorDocument 404 outer\nErrorDocument 403 outer\n")
    say(public / "a", "ErrorDocument 404 inner\nErrorDocument 404 default\n")
    say(public / "a/b", "ErrorDocument 404 default\nErrorDocument 404 innermost\n")
    assert "outer" == get(server, "/none")[2]
    assert "innermost" == get(server, "/a/b/none")[2]
    status, _, body = get(server, "/a/none")
    assert 404 == status
    assert "outer" not in body
    assert "inner" not in body


def test_page_that_comes_and_goes(server: Server, public: Path) -> None:
    """The server's own page replaces a missing page, and a change counts soon."""
    say(public / "a", "ErrorDocument 404 /a/new/missing.html\n")
    page = public / "a/new/missing.html"
    assert "there is no such file" not in server.log()
    assert 404 == get(server, "/a/none")[0]
    assert "/a/.htaccess:1: ErrorDocument 404 /a/new/missing.html: there is no such file" in server.log()
    page.parent.mkdir()
    page.write_text("first", encoding="utf-8")
    assert until(lambda: get(server, "/a/none")[2] == "first")
    page.write_text("second", encoding="utf-8")
    assert until(lambda: get(server, "/a/none")[2] == "second")
    (page.parent / ".adyton.toml").write_text('deny = "all"\n', encoding="utf-8")
    assert until(lambda: get(server, "/a/none")[0] == 500)
    (page.parent / ".adyton.toml").unlink()
    assert until(lambda: get(server, "/a/none")[2] == "second")
    page.unlink()
    assert until(lambda: get(server, "/a/none")[2] not in {"first", "second"})
    assert [404, 200] == [get(server, target)[0] for target in ("/a/none", "/a/x.txt")]
