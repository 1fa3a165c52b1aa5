"""URLs and fields from an attacker: no file but a script runs, and no script is misled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sites.conftest import write
from sites.scripts import FILE, SAY_ALL, SHELL, script, variables

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Server, Servers

FLAG = SHELL.format("echo 'Content-Type: a/b'; echo; echo RUN")


@pytest.fixture
def server(serve: Servers, project: Path) -> Server:
    """Serve scripts beside programs that must not be reached."""
    script(project, "ok.sh", SAY_ALL)
    script(project, "plain.txt", "secret", mode=0o644)
    script(project, "ok.sh~", FLAG)
    script(project, "ok.sh.bak", FLAG)
    script(project, ".hidden", FLAG)
    script(project, ".git/hook", FLAG)
    script(project, "sub/inner.sh", FLAG)
    outside = script(project, "../outside.sh", FLAG)
    (project / "public/cgi-bin/link.sh").symlink_to(outside)
    (project / "public/cgi-bin/folder").symlink_to(outside.parent)
    (project / "public/cgi-bin/top").symlink_to("/")
    more = '[[sites.routes]]\npath = "/cgi-bin/sub/"\nrespond = 403\n'
    return serve(write(project, FILE.format(server="", route="") + more).name, cwd=project)


OTHERS = [
    "/cgi-bin/../outside.sh",
    "/cgi-bin/%2e%2e/outside.sh",
    "/cgi-bin/.%2e/outside.sh",
    "/cgi-bin/%2e%2e%2foutside.sh",
    "/cgi-bin/..%2foutside.sh",
    "/cgi-bin/..%5coutside.sh",
    "/cgi-bin/..\\outside.sh",
    "/cgi-bin/%252e%252e/outside.sh",
    "/cgi-bin/..;/outside.sh",
    "/cgi-bin/.../outside.sh",
    "/cgi-bin/%c0%ae%c0%ae/outside.sh",
    "/cgi-bin/x/../../outside.sh",
    "/cgi-bin/ok.sh/../../outside.sh",
    "/cgi-bin/link.sh",
    "/cgi-bin/folder/outside.sh",
    "/cgi-bin/top/bin/sh",
    "/cgi-bin//bin/sh",
    "/cgi-bin/%2fbin%2fsh",
    "/cgi-bin/.hidden",
    "/cgi-bin/%2ehidden",
    "/cgi-bin/.git/hook",
    "/cgi-bin/ok.sh~",
    "/cgi-bin/ok.sh%7e",
    "/cgi-bin/ok.sh.bak",
    "/cgi-bin/plain.txt",
    "/cgi-bin/plain.txt/ok.sh",
    "/cgi-bin/sub/inner.sh",
    "/cgi-bin/%73ub/inner.sh",
    "/cgi-bin//sub//inner.sh",
    "/cgi-bin/sub%2finner.sh",
    "/cgi-bin/ok.sh%00.txt",
    "/cgi-bin/ok.sh%00",
    "/cgi-bin/ok.sh%20",
    "/cgi-bin/ok.sh.",
    "/cgi-bin/OK.SH",
    "/cgi-bin/ok.sh;x",
    "/cgi-bin/ok.sh:$DATA",
    "/cgi-bin/|id",
    "/cgi-bin/$(id)",
    "/cgi-bin/`id`",
    "/cgi-bin/",
    "/cgi-bin",
    "/CGI-BIN/ok.sh",
]


@pytest.mark.parametrize("target", OTHERS)
def test_no_other_file_runs(server: Server, target: str) -> None:
    """Paths that lead out of the folder, and hidden files, are not found."""
    response = server.fetch(target)

    assert b"RUN" not in response.body
    assert b"GATEWAY_INTERFACE" not in response.body
    assert b"secret" not in response.body
    assert response.status in (400, 403, 404) or b"shop 1" in response.body


SPELLINGS = [
    ("/cgi-bin/ok.sh", "/cgi-bin/ok.sh", None),
    ("/%63gi-bin/%6fk.sh", "/cgi-bin/ok.sh", None),
    ("//cgi-bin//ok.sh//x", "/cgi-bin/ok.sh", "/x"),
    ("/cgi-bin/ok.sh/%2fetc/passwd", "/cgi-bin/ok.sh", "/etc/passwd"),
    ("/cgi-bin/ok.sh/%252e%252e/x", "/cgi-bin/ok.sh", "/%2e%2e/x"),
    ("/cgi-bin/ok.sh/a%3Db%26c", "/cgi-bin/ok.sh", "/a=b&c"),
    ("/cgi-bin/ok.sh/", "/cgi-bin/ok.sh", "/"),
]


@pytest.mark.parametrize(("target", "name", "rest"), SPELLINGS)
def test_one_spelling(server: Server, target: str, name: str, rest: str | None) -> None:
    """A script gets one form of its name and path, whichever way the client has spelled them."""
    found = variables(server.fetch(target))

    assert (name, rest) == (found["SCRIPT_NAME"], found.get("PATH_INFO"))


QUERIES = ["-s", "-d+allow_url_include%3d1", "--version", "a+b+c", "%00", "x;id", "$(id)", "%0aX:1"]


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_is_no_argument(server: Server, query: str) -> None:
    """A query becomes a variable as it was sent; no word of it becomes an argument, and no shell sees it."""
    found = variables(server.fetch(f"/cgi-bin/ok.sh?{query}"))

    assert query == found["QUERY_STRING"]
    assert found["cwd"].endswith(" args=0")


FIELDS = [
    ("Proxy", "http://evil.example"),
    ("proxy", "http://evil.example"),
    ("PROXY", "http://evil.example"),
    ("Proxy-Authorization", "Basic eDp5"),
    ("X_Forwarded_User", "root"),
    ("Content_Length", "5"),
]


@pytest.mark.parametrize(("name", "value"), FIELDS)
def test_fields_that_mislead(server: Server, name: str, value: str) -> None:
    """A field is not passed on if programs obey its variable, or if another field has the same variable."""
    found = variables(server.fetch("/cgi-bin/ok.sh", fields=[(name, value)]))

    assert value not in found.values()


def test_fields_set_nothing_else(server: Server) -> None:
    """A field becomes a variable whose name begins with HTTP_, and sets no other variable."""
    fields = [
        ("PATH", "/evil"),
        ("LD-PRELOAD", "/evil.so"),
        ("Script-Name", "/evil"),
        ("Shellshock", "() { :; }; id"),
    ]
    found = variables(server.fetch("/cgi-bin/ok.sh", fields=fields))

    assert "/usr/local/bin:/usr/bin:/bin" == found["PATH"]
    assert "/cgi-bin/ok.sh" == found["SCRIPT_NAME"]
    assert ("/evil", "/evil.so") == (found["HTTP_PATH"], found["HTTP_LD_PRELOAD"])
    assert not [name for name in found if name.startswith("LD_")]


SPLITTING = [
    r"Content-Type: a/b\rX-Injected: 1\n\n",
    r"Content-Type: a/b\0X-Injected: 1\n\n",
    r"Location: http://a.example/\rSet-Cookie: x\n\n",
    r"Status: 200 OK\rX-Injected: 1\nContent-Type: a/b\n\n",
]


@pytest.mark.parametrize("printed", SPLITTING)
def test_answers_are_not_split(server: Server, project: Path, printed: str) -> None:
    """If a script prints data of the client, the client cannot thereby add a field to the answer."""
    script(project, "split.sh", SHELL.format(f"printf '{printed}'"))
    response = server.fetch("/cgi-bin/split.sh")

    assert 500 == response.status
    assert "X-Injected" not in response
    assert "Set-Cookie" not in response


def test_links_where_they_are_allowed(serve: Servers, project: Path) -> None:
    """With `static-symlinks`, links are followed as long as they stay in the folder."""
    script(project, "a.sh", FLAG)
    (project / "public/cgi-bin/inside.sh").symlink_to("a.sh")
    (project / "public/cgi-bin/outside.sh").symlink_to(script(project, "../outside.sh", FLAG))
    server = serve(write(project, FILE.format(server="", route="static-symlinks = true")).name, cwd=project)

    assert b"RUN\n" == server.fetch("/cgi-bin/inside.sh").body
    assert 404 == server.fetch("/cgi-bin/outside.sh").status
