"""Scripts that the tests of CGI run, and the file of sites that names them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sites.conftest import write

if TYPE_CHECKING:
    from pathlib import Path

    from support.http import Response
    from support.server import Server, Servers

FILE = """
[server]
{server}

[[sites]]
root = "public"
[[sites.routes]]
app = "shop:application"

[[sites.routes]]
path = "/cgi-bin/"
cgi = "cgi-bin"
{route}
"""

SHELL = """#!/bin/sh
{}
"""

SAY_ALL = SHELL.format(r"""printf 'Content-Type: text/plain\r\n\r\n'; env; echo "cwd=$PWD args=$#"; cat""")
"""Prints its environment, its folder, how many arguments it has, and its body."""


def script(project: Path, name: str, text: str, mode: int = 0o755) -> Path:
    """Put a script among the others."""
    file = project / "public/cgi-bin" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    file.chmod(mode)
    return file


def start(
    serve: Servers, project: Path, *flags: str, server: str = "", route: str = "", more: str = ""
) -> Server:
    """Serve the scripts of a project."""
    (project / "public/cgi-bin").mkdir(parents=True, exist_ok=True)
    file = write(project, FILE.format(server=server, route=route) + more)
    return serve(file.name, *flags, cwd=project)


def variables(response: Response) -> dict[str, str]:
    """Return the environment that `SAY_ALL` has printed."""
    lines = response.body.decode().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)
