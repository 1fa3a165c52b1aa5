"""CGI scripts of a route with a group are started by the group's processes, as the group's user."""

from __future__ import annotations

import os
import pwd
import shutil
from typing import TYPE_CHECKING

import pytest

from sites.conftest import write
from sites.scripts import HEAD, SAY_ALL, SHELL, children, has_ended, parent, script, text, variables
from support.client import request
from support.control import states, supervisor
from support.server import adyton, run, until
from support.users import closed_folders, open_folder, where

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.server import Server, Servers

FILE = """
[server]
processes = 1
control = "control.sock"
cgi-environment = ["OF_ALL=all"]

[groups.blog]
processes = 1
env = {{ OWN = "blog", HIDDEN = "blog" }}
{group}

[[sites]]
root = "public"
group = "shop"

[[sites.routes]]
app = "shop:application"

[[sites.routes]]
path = "/cgi-bin/"
cgi = "cgi-bin"
cgi-environment = ["OF_DOOR=door", "OWN"]

[[sites.routes]]
path = "/own/"
cgi = "cgi-bin"
group = "blog"
cgi-environment = ["OF_GROUP=secret of the group", "OWN"]

[groups.shop]
processes = 1
"""

ENVIRONMENT = {"ADYTON_PROCESSES": "", "ADYTON_THREADS": ""}
"""Empty variables, so that the file of sites sets the numbers of processes and threads."""


@pytest.fixture
def place() -> Iterator[Path]:
    """Give a folder that every user may enter."""
    with open_folder("cgi-groups") as folder:
        yield folder


def start(serve: Servers, project: Path, group: str = "") -> Server:
    """Serve the scripts of a project twice: by the server itself, and by a group."""
    script(project, "say.sh", SAY_ALL)
    file = write(project, FILE.format(group=group))
    if group and os.geteuid() == 0:
        command = where("755", closed_folders(), adyton("serve", str(file), "--bind", "127.0.0.1:0"))
        server = serve.start(command, cwd=project, env=ENVIRONMENT)
    else:
        server = serve(file.name, cwd=project, env=ENVIRONMENT)
    assert until(lambda: {"starting"}.isdisjoint(states(project / "control.sock").values()))
    return server


def test_where_they_run(serve: Servers, project: Path) -> None:
    """Workers of the group start its scripts, with the group's environment; the server starts all others."""
    script(project, "who.sh", SHELL.format(HEAD + "echo $PPID"))
    server = start(serve, project)
    own = supervisor(project / "control.sock", "blog")
    with server.connect() as connection:
        for _ in range(2):
            assert b"shop 1" in connection.get("/").body
            said = variables(connection.get("/own/say.sh/rest?query"))
            assert ("blog", "secret of the group", "all") == (said["OWN"], said["OF_GROUP"], said["OF_ALL"])
            assert ("/own/say.sh", "/rest", "query") == (
                said["SCRIPT_NAME"],
                said["PATH_INFO"],
                said["QUERY_STRING"],
            )
            assert str(project / "public") == said["DOCUMENT_ROOT"]
            said = variables(connection.get("/cgi-bin/say.sh"))
            assert ("door", "all") == (said["OF_DOOR"], said["OF_ALL"])
            assert {"OWN", "HIDDEN", "OF_GROUP"}.isdisjoint(said)
            for length in (10, 1_000_000):
                answer = connection.get("/own/say.sh", method="POST", body=b"x" * length)
                assert answer.body.endswith(b"x" * length)
        helpers = [int(connection.get(f"/{path}/who.sh").body) for path in ("own", "cgi-bin")]
    assert [own, server.process.pid] == [parent(parent(helper)) for helper in helpers]
    assert 404 == server.fetch("/own/none").status
    route = run("route", "site.toml", "/own/say.sh", cwd=project, env=ENVIRONMENT).stdout
    assert "cgi public/cgi-bin in blog" in route


def test_the_end_of_a_group(serve: Servers, project: Path) -> None:
    """If a client leaves, or a worker of the group is killed, the client's or worker's scripts end."""
    script(
        project,
        "a.sh",
        SHELL.format("sleep 600 & echo $! >>begun; echo $$ >>begun; echo $PPID >helper; wait"),
    )
    server = start(serve, project)
    begun = project / "public/cgi-bin/begun"
    connections = [server.connect() for _ in range(2)]
    for number, connection in enumerate(connections, 1):
        connection.send(request("/own/a.sh"))
        assert until(lambda count=2 * number: text(begun).count("\n") == count)
    pids = [int(line) for line in text(begun).split()]
    connections[0].abort()
    assert until(lambda: all(has_ended(pid) for pid in pids[:2]))
    (worker,) = children(supervisor(project / "control.sock", "blog"))
    os.kill(worker, 9)

    assert until(lambda: all(has_ended(pid) for pid in pids))
    assert until(lambda: has_ended(int(text(project / "public/cgi-bin/helper"))))
    connections[1].socket.close()
    assert "blog" == variables(server.fetch("/own/say.sh"))["OWN"]


def test_users(serve: Servers, project: Path, place: Path) -> None:
    """Scripts run as the user of the group, and can read files that only this user may read."""
    if os.geteuid() != 0:
        file = write(project, FILE.format(group='user = "nobody"'))
        assert "only root can start processes of the user nobody" in run("serve", str(file)).stderr
        return
    nobody = pwd.getpwnam("nobody")
    script(project, "who.sh", SHELL.format(HEAD + "id -u; cat secret"))
    secret = project / "public/cgi-bin/secret"
    secret.write_text("secret", encoding="utf-8")
    secret.chmod(0o600)
    shutil.copytree(project, place, dirs_exist_ok=True)
    place.chmod(0o755)
    os.chown(place / "public/cgi-bin/secret", nobody.pw_uid, nobody.pw_gid)
    server = start(serve, place, 'user = "nobody"')

    assert f"{nobody.pw_uid}\nsecret" == server.fetch("/own/who.sh").body.decode()
    assert server.fetch("/cgi-bin/who.sh").body.startswith(b"0\n")
