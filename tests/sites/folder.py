"""Python pages in a folder for the tests, and the file of sites that names the folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from sites.conftest import write

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Server, Servers

FILE = """
[server]
{server}

[[sites]]
root = "public"

[[sites.routes]]
app = "shop:application"

[[sites.routes]]
path = "/pages/"
scripts = "pages"
{route}
"""

HANDLER = """
def handler(request):
    return "{}"
"""

WSGI = """
def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain; charset=utf-8")])
    return [b"{}"]
"""

SAY_ALL = """
def application(environ, start_response):
    '''Answer with the variables that say where it stands, and the body.'''
    start_response("200 OK", [("Content-Type", "text/plain; charset=latin-1")])
    names = ["SCRIPT_NAME", "PATH_INFO", "SCRIPT_FILENAME", "QUERY_STRING", "REQUEST_URI"]
    said = [f"{name}={environ[name]}\\n" for name in names]
    return ["".join(said).encode("latin-1"), environ["wsgi.input"].read()]
"""


def page(project: Path, name: str, text: str, *, age_s: float = 60) -> Path:
    """Write a page, with a time of change `age_s` ago; a rename makes it appear as a whole."""
    file = project / "public/pages" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_name(f".{file.name}.new")
    beside.write_text(text, encoding="utf-8")
    modified = beside.stat().st_mtime - age_s
    os.utime(beside, (modified, modified))
    beside.rename(file)
    return file


def start(serve: Servers, project: Path, *flags: str, server: str = "", route: str = "") -> Server:
    """Serve the scripts of a project."""
    (project / "public/pages").mkdir(parents=True, exist_ok=True)
    return serve(write(project, FILE.format(server=server, route=route)).name, *flags, cwd=project)
