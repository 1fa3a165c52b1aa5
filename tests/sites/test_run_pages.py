"""Error pages whose files are programs: their source is never sent, and the log says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sites.conftest import write
from support.server import run, until

if TYPE_CHECKING:
    from pathlib import Path

    from support.http import Response
    from support.server import Server, Servers

SOURCE = b"TOP SECRET"

PROGRAM = f"#!/bin/sh\n# {SOURCE.decode()}\nprintf 'Content-Type: text/plain\\n\\nran'\n"

FILE = """
[[sites]]
root = "public"
{site}

[[sites.routes]]
path = "/cgi-bin/"
cgi = "cgi-bin"

[[sites.routes]]
path = "*.sh"
cgi = {{ "*.sh" = "/bin/sh" }}

[[sites.routes]]
path = "/closed/"
respond = 204
deny = "all"

[[sites.routes]]
files = "."
{route}
"""

SAID = "it is run, and its text is never sent; the answer is without it"

CGI = "Options +ExecCGI\nSetHandler cgi-script\n"
"""Lines that have all files of a folder run, whatever their names are."""

MAY = 'may-set = ["cgi", "errors"]\nhtaccess = ["cgi"]\n'


def put(project: Path, name: str, text: str = PROGRAM, mode: int = 0o755) -> Path:
    """Write a file into the served folder, by a rename."""
    file = project / "public" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(".part")
    part.write_text(text, encoding="utf-8")
    part.chmod(mode)
    return part.replace(file)


def start(serve: Servers, project: Path, site: str = "", route: str = "") -> Server:
    """Serve the files."""
    return serve(write(project, FILE.format(site=site, route=route)).name, cwd=project)


def get(server: Server, target: str) -> Response:
    """Return an answer; check that it contains no source."""
    response = server.fetch(target, lint_answers=False)
    assert SOURCE not in response.body, target
    return response


@pytest.mark.parametrize("page", ["cgi-bin/missing", "missing.sh", "MISSING.SH", "cgi-bin/sub/missing.html"])
@pytest.mark.parametrize("key", ["error-pages", "static-404"])
def test_programs_of_routes(serve: Servers, project: Path, page: str, key: str) -> None:
    """A program that a route runs is no error page; `check` and the start say so, with the line."""
    put(project, page)
    put(project, "plain.html", "a page\n", mode=0o644)
    own = f'error-pages = {{ 404 = "public/{page}", 403 = "public/plain.html" }}'
    said = (own, "") if key == "error-pages" else ("", f'static-404 = "{page}"')
    server = start(serve, project, *said)
    for target in ("/none", "/none.html", "/cgi-bin/none", "/none.sh"):
        assert 404 == get(server, target).status
    closed = get(server, "/closed/x")
    assert (403, key == "error-pages") == (closed.status, closed.body == b"a page\n")
    assert SAID in server.wait_for_log("ADY238 warning: .*site.toml:")
    checked = run("check", "site.toml", cwd=project)

    assert 0 == checked.returncode
    assert f"{page}: {SAID}" in checked.stderr


def test_a_page_beside_programs(serve: Servers, project: Path) -> None:
    """A file in a folder of programs that is no program itself is used as a page, and nothing is logged."""
    put(project, "cgi-bin/missing.html", "a page\n", mode=0o644)
    own = 'error-pages = { 403 = "public/cgi-bin/missing.html" }\n'
    server = start(serve, project, own, f'{MAY}static-404 = "cgi-bin/missing.html"\n')
    put(project, "cgi-bin/dull", mode=0o644)

    assert [(404, b"a page\n")] * 2 == [((found := get(server, "/none")).status, found.body)] * 2
    assert (403, b"a page\n") == ((found := get(server, "/cgi-bin/dull")).status, found.body)
    assert "ADY238" not in server.log()


@pytest.mark.parametrize(
    ("name", "rule", "page", "off"),
    [
        (".adyton.toml", "cgi = true\n", "tools/missing", "cgi = false\n"),
        (".adyton.toml", "cgi = true\n", "tools/in/missing.cgi", "cgi = false\n"),
        (".htaccess", CGI, "tools/missing.html", "SetHandler default-handler\n"),
    ],
)
def test_programs_of_folders(
    serve: Servers, project: Path, name: str, rule: str, page: str, off: str
) -> None:
    """A program that its folder runs is not used as `static-404`, wherever the missing file would be."""
    put(project, page)
    (project / "public/plain").mkdir()
    put(project, f"tools/{name}", rule, mode=0o644)
    server = start(serve, project, route=f'{MAY}static-404 = "{page}"\n')
    targets = ("/none", "/plain/none", "/plain/", "/none/at/all")
    for target in targets * 2:
        response = get(server, target)
        assert (404, True) == (response.status, b"There is no such file." in response.body), target
    server.wait_for_log(f"ADY238 warning: .*{page}: {SAID}")
    told = server.log().count("ADY238")
    assert b"There is no such file." in get(server, "/none").body
    assert told == server.log().count("ADY238")

    put(project, f"tools/{name}", off, mode=0o644)
    # If the folder no longer runs the file, the file's text is sent, as it is for its own path.
    assert until(lambda: SOURCE in server.fetch("/none").body)


@pytest.mark.parametrize("page", ["sub/missing.html", "sub/in/missing.html"])
def test_pages_of_folders(serve: Servers, project: Path, page: str) -> None:
    """A folder's page that an inner folder runs is not sent; the page of the outer folder is sent instead."""
    put(project, f"tools/{page}")
    put(project, "outer.html", "the outer one\n", mode=0o644)
    put(project, "tools/sub/.htaccess", CGI, mode=0o644)
    put(project, ".adyton.toml", 'error-pages = { 404 = "outer.html" }\n', mode=0o644)
    put(project, "tools/.adyton.toml", f'error-pages = {{ 404 = "{page}" }}\n', mode=0o644)
    server = start(serve, project, route=MAY)
    for _ in range(2):
        for target in ("/tools/none", "/tools/sub/none.html", "/none"):
            response = get(server, target)
            assert (404, b"the outer one\n") == (response.status, response.body), target
    server.wait_for_log(f"ADY238 warning: .*tools/{page}: {SAID}")
    put(project, "tools/sub/.htaccess", "SetHandler default-handler\n", mode=0o644)

    assert until(lambda: SOURCE in server.fetch("/tools/none").body)


def test_error_documents_that_are_run(serve: Servers, project: Path) -> None:
    """An `ErrorDocument` that its folder runs is not sent; an outer folder's page and texts are sent."""
    put(project, "tools/missing.html")
    put(project, "tools/dull.cgi", mode=0o644)
    put(project, "outer.html", "the outer one\n", mode=0o644)
    put(project, ".htaccess", "ErrorDocument 404 /outer.html\n", mode=0o644)
    pages = 'ErrorDocument 404 /tools/missing.html\nErrorDocument 403 "not you"\n'
    put(project, "tools/.htaccess", CGI + pages, mode=0o644)
    server = start(serve, project, route='htaccess = ["cgi", "errors"]\n')
    for target in ("/tools/none.html", "/tools/none", "/none") * 2:
        response = get(server, target)
        assert (404, b"the outer one\n") == (response.status, response.body), target
    assert (403, b"not you") == ((found := get(server, "/tools/dull.cgi")).status, found.body)
    server.wait_for_log(f"ADY238 warning: .*tools/missing.html: {SAID}")
    put(project, "tools/.htaccess", pages, mode=0o644)

    assert until(lambda: SOURCE in server.fetch("/tools/none").body)


def test_error_documents_that_routes_run(serve: Servers, project: Path) -> None:
    """A program that a route runs is not sent as an `ErrorDocument`."""
    put(project, "cgi-bin/missing.html")
    put(project, ".htaccess", "ErrorDocument 404 /cgi-bin/missing.html\n", mode=0o644)
    server = start(serve, project, route='htaccess = ["errors"]\n')

    assert 404 == get(server, "/plain/none").status
    server.wait_for_log(f"ADY238 warning: .*cgi-bin/missing.html: {SAID}")


def test_pages_of_folders_that_routes_run(serve: Servers, project: Path) -> None:
    """A program that a route runs is not sent as an error page of a folder."""
    put(project, "plain/missing.sh")
    put(project, "plain/.adyton.toml", 'error-pages = { 404 = "missing.sh" }\n', mode=0o644)
    server = start(serve, project, route='may-set = ["errors"]\n')

    assert 404 == get(server, "/plain/none").status
    server.wait_for_log(f"ADY238 warning: .*plain/missing.sh: {SAID}")


def test_a_page_of_a_site_in_a_folder_that_runs(serve: Servers, project: Path) -> None:
    """At the start, a site's page is checked against the settings of the folders that it is in."""
    put(project, "tools/busy.cgi")
    put(project, "tools/.adyton.toml", "cgi = true\n", mode=0o644)
    own = 'error-pages = { 403 = "public/tools/busy.cgi" }\n'
    server = start(serve, project, own, MAY)

    assert 403 == get(server, "/closed/x").status
    assert SAID in server.wait_for_log("ADY238")


def test_on_a_command_line(serve: Servers, project: Path) -> None:
    """A program in a folder on the command line is not used as `static-404`."""
    put(project, "tools/missing.cgi")
    put(project, "tools/.adyton.toml", "cgi = true\n", mode=0o644)
    server = serve("./public", "--may-set", "cgi", "--static-404", "tools/missing.cgi", cwd=project)

    assert 404 == get(server, "/none").status
    assert SAID in server.wait_for_log("ADY238")
