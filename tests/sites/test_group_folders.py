"""Groups with their own folders: applications are found there; other paths start at the file's folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sites.conftest import write
from support.control import reload
from support.server import AS_ROOT, run, until

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Server, Servers

CONTROL = "control.sock"

FILE = """
[server]
control = "control.sock"
processes = 1
threads = 2
python-path = "lib"
temp-dir = "large"
body-memory-max = 0
{server}

[groups.shop]
chdir = "{shop}"
access-log = "shop.log"

[groups.blog]
chdir = "{blog}"

[[sites]]
root = "public"
error-pages = {{ 404 = "errors/who.html" }}
intercept-errors = true

[[sites.routes]]
path = "/static/"
files = "static"

[[sites.routes]]
path = "/pages/"
scripts = "pages"
group = "shop"

[[sites.routes]]
path = "/shop/"
app = "wsgi:application"
group = "shop"

[[sites.routes]]
path = "/blog/"
app = "wsgi.py"
group = "blog"
x-sendfile = "public"

[[sites.routes]]
path = "/staff/"
app = "wsgi:application"
group = "shop"
auth = "basic:staff.htpasswd"

[[sites.routes]]
path = "/asked/"
app = "wsgi:application"
group = "blog"
allow-python = "rules.py"
"""

APPLICATION = """
import os
import sys

import beside
from shared import NAME

def application(environ, start_response):
    '''Answer with where it is, and what it has found beside it and in the folder of all.'''
    if environ["PATH_INFO"].endswith("/none"):
        start_response("404 Not Found", [])
        return []
    headers = [("Content-Type", "text/plain")]
    if environ["QUERY_STRING"]:
        headers.append(("X-Sendfile", environ["QUERY_STRING"]))
    start_response("200 OK", headers)
    length = len(environ["wsgi.input"].read())
    told = [os.getcwd(), sys.path[0], __file__, beside.NAME, NAME, length]
    return [" ".join(map(str, told)).encode()]
"""

RULES = """
def allow_access(environ, host):
    return environ["PATH_INFO"].endswith("/yes")
"""

ENVIRONMENT = {"ADYTON_PROCESSES": "", "ADYTON_THREADS": ""}
"""Empty variables, so that the file of sites sets the numbers of processes and threads."""

ANN = [("Authorization", "Basic YW5uOmNvcnJlY3QgaG9yc2U=")]


@pytest.fixture
def folder(project: Path) -> Path:
    """Return a project with two applications of the same name, each in a folder of its own."""
    for name in ("of-shop", "of-blog"):
        own = project / name
        own.mkdir()
        (own / "wsgi.py").write_text(APPLICATION, encoding="utf-8")
        (own / "beside.py").write_text(f"NAME = {name!r}\n", encoding="utf-8")
    (project / "lib").mkdir()
    (project / "lib/shared.py").write_text("NAME = 'shared'\n", encoding="utf-8")
    (project / "large").mkdir()
    (project / "public/pages").mkdir()
    (project / "public/pages/index.py").write_text(APPLICATION, encoding="utf-8")
    (project / "rules.py").write_text(RULES, encoding="utf-8")
    return project


def file_of(folder: Path, *, shop: str = "of-shop", blog: str = "of-blog", server: str = "") -> Path:
    """Write the file of sites."""
    return write(folder, FILE.format(shop=shop, blog=blog, server=server))


def start(serve: Servers, file: str | Path, cwd: Path, **variables: str) -> Server:
    """Serve the file, and wait until both groups serve."""
    server = serve(str(file), cwd=cwd, env={**ENVIRONMENT, **variables})
    for name in ("shop", "blog"):
        server.wait_for_log(f"the group {name} serves")
    return server


def told(folder: Path, own: str, length: int = 0) -> str:
    """Return the answer of a group's application that has found all its files."""
    place = folder / own
    return f"{place} {place} {place}/wsgi.py {own} shared {length}"


@pytest.mark.parametrize("preload", [False, True])
def test_folders(serve: Servers, folder: Path, *, preload: bool) -> None:
    """Two groups have different modules with one name; all other paths start at the file's folder."""
    said = f"preload = {str(preload).lower()}"
    server = start(serve, file_of(folder, server=said).name, folder)

    body = b"x" * 5_000_000
    for path, own in (("/shop/", "of-shop"), ("/blog/", "of-blog")):
        assert told(folder, own) == server.fetch(path).body.decode()
        assert told(folder, own, len(body)) == server.fetch(path, method="POST", body=body).body.decode()
        assert b"<p>who?" == server.fetch(f"{path}none").body
    assert b"p {}\n" == server.fetch("/static/site.css").body
    assert f"{folder / 'of-shop'} " in server.fetch("/pages/").body.decode()
    assert b"p {}\n" == server.fetch(f"/blog/?{folder}/public/static/site.css").body
    assert 200 != server.fetch(f"/blog/?{folder}/of-blog/wsgi.py", lint_answers=False).status
    assert [401, 200] == [server.fetch("/staff/", fields=fields).status for fields in ([], ANN)]
    assert [403, 200] == [server.fetch(f"/asked/{name}").status for name in ("no", "yes")]
    log = folder / "shop.log"
    assert until(lambda: log.exists() and "GET /shop/" in log.read_text(encoding="utf-8"))


def test_first_of_all(serve: Servers, folder: Path) -> None:
    """Modules are looked for in the group's folder first, even if a variable names another folder."""
    path = f"{folder / 'of-blog'}:{folder / 'of-shop'}"
    server = start(serve, file_of(folder).name, folder, PYTHONPATH=path)

    assert told(folder, "of-shop") == server.fetch("/shop/").body.decode()
    assert told(folder, "of-blog") == server.fetch("/asked/yes").body.decode()


def test_reload(serve: Servers, folder: Path) -> None:
    """If a group's folder changes, its processes are replaced; its path is relative to the file's folder."""
    server = start(serve, file_of(folder), folder.parent)
    assert told(folder, "of-shop") == server.fetch("/shop/").body.decode()
    file_of(folder, shop="of-blog", blog=str(folder / "of-shop"))

    assert 0 == reload(folder / CONTROL)[0]
    assert told(folder, "of-blog") == server.fetch("/shop/").body.decode()
    assert told(folder, "of-shop") == server.fetch("/blog/").body.decode()


@pytest.mark.parametrize(
    ("said", "mistakes"),
    [
        (
            {"shop": "of-shp"},
            ["site.toml:12:9: chdir: there is no folder of-shp; did you mean of-shop?"],
        ),
        ({"blog": "of-blog/wsgi.py"}, ["site.toml:16:9: chdir: there is no folder of-blog/wsgi.py"]),
        (
            {"blog": 'of-blog"\npython = "none'},
            ["site.toml:17:10: python = none: there is no such file"],
        ),
        ({"blog": "lib"}, ["site.toml:39:7: there is no wsgi.py in lib"]),
    ],
)
def test_mistakes(folder: Path, said: dict[str, str], mistakes: list[str]) -> None:
    """A missing folder is reported once, with its place; an application is looked for in the folder."""
    checked = run("check", file_of(folder, **said).name, cwd=folder, env=ENVIRONMENT)
    lines = AS_ROOT.sub("", checked.stderr).replace(f"{folder}/", "").splitlines()

    assert 2 == checked.returncode
    assert [f"adyton: {mistake}" for mistake in mistakes] == lines
