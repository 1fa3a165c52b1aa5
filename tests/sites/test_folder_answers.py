"""Answers of programs and pages that folders run are compressed and kept like answers of routes."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from sites.conftest import BCRYPT, write
from sites.test_auth import PASSWORD, credentials
from sites.test_folder_scripts import program, say
from support.client import Connection

if TYPE_CHECKING:
    from pathlib import Path

    from support.http import Response
    from support.server import Server, Servers

FILE = """
[[sites]]
root = "public"
cache = "10m"
compress = ["gzip"]

[[sites.routes]]
files = "."
may-set = ["cgi", "scripts", "auth", "allow", "headers"]
"""

PROGRAM = """#!/bin/sh
echo "$QUERY_STRING" >> {counted}
printf 'Content-Type: text/plain\\r\\nCache-Control: public\\r\\n\\r\\n'
printf '%03000d %s' 0 "$(wc -l < {counted})"
"""

PAGE = """
from pathlib import Path

def application(environ, start_response):
    counted = Path({counted!r})
    counted.write_text(counted.read_text() + environ["QUERY_STRING"] + "\\n")
    start_response("200 OK", [("Content-Type", "text/plain"), ("Cache-Control", "public")])
    return ["{{:03000d}} {{}}".format(0, counted.read_text().count("\\n")).encode()]
"""

RUN = ("/tools/count.cgi", "/tools/count.py")
"""Paths of a program and a page that the folder runs; both count their requests."""

ASKS_FOR_GZIP = [("Accept-Encoding", "gzip")]


@pytest.fixture
def tools(project: Path) -> Path:
    """Return a folder that runs two files and serves a third."""
    tools = project / "public/tools"
    tools.mkdir(parents=True)
    for name in ("cgi", "py"):
        (project / f"{name}.txt").write_text("", encoding="utf-8")
    program(tools / "count.cgi", PROGRAM.format(counted=project / "cgi.txt"))
    (tools / "count.py").write_text(PAGE.format(counted=str(project / "py.txt")), encoding="utf-8")
    (tools / "style.css").write_text("p { color: red }\n" * 100, encoding="utf-8")
    say(tools, "cgi = true\nscripts = true\n")
    return tools


def start(serve: Servers, project: Path, more: str = "") -> Server:
    """Serve the folder by one process."""
    return serve(write(project, FILE + more).name, "--processes", "1", cwd=project)


def counted(response: Response) -> str:
    """Return what a program or page has counted, from an answer in any coding."""
    assert 200 == response.status
    body = response.body
    if response.values("Content-Encoding") == ["gzip"]:
        body = gzip.decompress(body)
    return body.decode().split()[1]


@pytest.mark.parametrize("target", RUN)
def test_compressed(serve: Servers, project: Path, tools: Path, target: str) -> None:
    """An answer is compressed for clients that take it, by the rules of its route alone."""
    server = start(serve, project)
    packed = server.fetch(target, fields=ASKS_FOR_GZIP)
    assert ("gzip", "1") == (packed["Content-Encoding"], counted(packed))
    assert "accept-encoding" in packed["Vary"].lower()
    assert "Content-Encoding" not in server.fetch(target + "?plain")

    styles = server.fetch("/tools/style.css", fields=ASKS_FOR_GZIP)
    assert (tools / "style.css").read_bytes() == gzip.decompress(styles.body)

    say(tools, 'cgi = true\nscripts = true\nheaders = { Cache-Control = "no-transform" }\n')
    server = start(serve, project)
    assert "Content-Encoding" not in server.fetch(target, fields=ASKS_FOR_GZIP)


@pytest.mark.parametrize("target", RUN)
def test_kept(serve: Servers, project: Path, tools: Path, target: str) -> None:
    """All clients of one URL get one kept answer, and files do not go through the cache."""
    server = start(serve, project)
    assert ["1", "1", "2", "1", "2"] == [
        counted(server.fetch(target + query)) for query in ("", "", "?other", "", "?other")
    ]
    assert "hit" in server.fetch(target)["Cache-Status"]
    styles = tools / "style.css"
    assert styles.read_bytes() == server.fetch("/tools/style.css").body
    assert "Cache-Status" not in server.fetch("/tools/style.css")


@pytest.mark.parametrize("target", RUN)
def test_kept_from_those_whom_the_folder_refuses(
    serve: Servers, project: Path, tools: Path, target: str
) -> None:
    """A client that a folder refuses gets no kept answer; an answer for a password is not kept."""
    (tools / ".people").write_text(f"ann:{BCRYPT}\n", encoding="utf-8")
    say(tools, 'cgi = true\nscripts = true\nauth = "basic:.people"\n')
    server = start(serve, project)
    ann = credentials("ann", PASSWORD)
    assert ["1", "2"] == [counted(server.fetch(target, fields=ann)) for _ in range(2)]
    assert 401 == server.fetch(target).status

    say(tools, 'cgi = true\nscripts = true\nallow = ["127.0.0.1"]\n')
    server = start(serve, project)
    assert ["3", "3"] == [counted(server.fetch(target)) for _ in range(2)]
    with Connection(server.address, source="127.0.0.3") as other:
        assert 403 == other.get(target).status


def test_compressed_for_its_own_client(serve: Servers, project: Path, tools: Path) -> None:
    """A page is not compressed for a client only because a kept answer was compressed for another client."""
    say(tools, 'scripts = true\nheaders = { X-Folder = "tools" }\n')
    packed = '[[sites.routes]]\npath = "/packed/"\nscripts = "tools"\n'
    server = start(serve, project, f'cache = "off"\ncompress = "off"\n\n{packed}')
    for _ in range(2):
        kept = server.fetch("/packed/count.py", fields=ASKS_FOR_GZIP)
        assert ("gzip", "1") == (kept["Content-Encoding"], counted(kept))
    for fields in ([], ASKS_FOR_GZIP):
        page = server.fetch("/tools/count.py", fields=fields)
        assert (["tools"], []) == (page.values("X-Folder"), page.values("Content-Encoding"))


def test_kept_by_a_route_that_says_off(serve: Servers, project: Path, tools: Path) -> None:
    """If a route's cache is off, its programs and pages run for each request."""
    assert tools.is_dir()
    server = start(serve, project, 'cache = "off"\ncompress = "off"\n')
    for target in RUN:
        answers = [server.fetch(target, fields=ASKS_FOR_GZIP) for _ in range(2)]
        assert ["1", "2"] == [counted(answer) for answer in answers]
        assert not any("Content-Encoding" in answer for answer in answers)
