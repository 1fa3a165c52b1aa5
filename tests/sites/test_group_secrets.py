"""No process has secrets that it does not need: other groups' variables, or the server's token."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from sites.conftest import write

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Server, Servers

ADMIN = "token-of-the-server-0123456789abcdef"

SECRETS = {"shop": "postgres://shop:\u00e9t\u00e9@db/shop", "blog": "postgres://blog:winter@db/blog"}
"""Secret in the environment of each group."""

FILE = """
[server]
processes = 1
threads = 2
control = "control.sock"
{token}

[groups.shop]
processes = 1
env = {{ DATABASE = "{shop}", NUMBER = 12 }}

[groups.blog]
processes = 1
env = ['DATABASE={blog}']

[[sites]]

[[sites.routes]]
app = "looking:application"

[[sites.routes]]
path = "/shop"
app = "looking:application"
group = "shop"

[[sites.routes]]
path = "/blog"
app = "looking:application"
group = "blog"
"""

APPLICATION = """
import contextlib
import json
import os
import re
import stat
from pathlib import Path
from urllib.parse import parse_qs

def memory():
    '''Give all that is in the memory of this process.'''
    with open("/proc/self/mem", "rb", buffering=0) as file:
        for line in Path("/proc/self/maps").read_text().splitlines():
            first, last = (int(number, 16) for number in line.split()[0].split("-"))
            if line.split()[1].startswith("r") and "[v" not in line:
                with contextlib.suppress(OSError):
                    file.seek(first)
                    yield file.read(last - first)

def files(pid):
    '''Give what is in the files that a process holds.'''
    for place in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            if stat.S_ISREG(place.stat().st_mode):
                yield place.read_bytes()

def application(environ, start_response):
    '''Answer where a secret is found; it comes in two halves, so that the request is not a place.'''
    halves = [re.escape(bytes.fromhex(half)) for half in parse_qs(environ["QUERY_STRING"])["half"]]
    secret = re.compile(b"(?:)".join(halves))
    supervisor = os.getppid()
    places = {
        "environment": [b" ".join(os.environb.values())],
        "memory": memory(),
        "files": files("self"),
        "supervisor's files": files(supervisor),
        "supervisor's environment": [Path(f"/proc/{supervisor}/environ").read_bytes()],
    }
    if environ["PATH_INFO"] == "/":
        # The supervisor of the server has them all, and here it has the same user.
        places = {place: found for place, found in places.items() if "supervisor" not in place}
    found = [place for place, contents in places.items() if any(map(secret.search, contents))]
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps(found).encode()]
"""


def places(server: Server, path: str, secret: str) -> list[str]:
    """Ask the application at a path where a secret is found."""
    data = secret.encode()
    halves = [data[: len(data) // 2].hex(), data[len(data) // 2 :].hex()]
    answer = server.fetch(f"{path}?half={halves[0]}&half={halves[1]}")
    assert answer.status == 200, answer.body
    found: list[str] = json.loads(answer.body)
    return found


@pytest.mark.parametrize("place", ["file", "environment"])
def test_secrets_of_others(serve: Servers, tmp_path: Path, place: str) -> None:
    """Each group has only its own variables; no application has the token."""
    token = f'admin-token = "{ADMIN}"' if place == "file" else ""
    file = write(tmp_path, FILE.format(token=token, **SECRETS))
    (tmp_path / "looking.py").write_text(APPLICATION)
    environment = {"ADYTON_PROCESSES": "", "ADYTON_THREADS": ""}
    if place == "environment":
        environment["ADYTON_ADMIN_TOKEN"] = ADMIN
    server = serve(file.name, cwd=tmp_path, env=environment)

    for path in ("/", "/shop", "/blog"):
        assert places(server, path, ADMIN) == [], path
        for group, secret in SECRETS.items():
            found = places(server, path, secret)
            if path == f"/{group}":
                assert set(found) >= {"environment", "memory"}, (path, found)
            else:
                assert found == [], (path, group)


SCRIPTS = """
[server]
processes = 1
{server}

[groups.shop]
processes = 1

[groups.blog]
processes = 1

[[sites]]
{site}

[[sites.routes]]
app = "looking:application"

[[sites.routes]]
path = "/shop"
app = "looking:application"
group = "shop"

[[sites.routes]]
path = "/blog"
app = "looking:application"
group = "blog"

[[sites.routes]]
path = "/shop/cgi-bin/"
cgi = "cgi-bin"
{route}
"""

LOOKS = "#!/bin/sh\necho 'Content-Type: text/plain'; echo; echo \"$DATABASE\"\n"

STARTERS = [('group = "shop"', {"/shop"}), ("", {"/"})]
"""A line that says which processes start a route's scripts, and the applications in these processes."""


@pytest.mark.parametrize("table", ["server", "site", "route"])
@pytest.mark.parametrize(("route", "readers"), STARTERS, ids=["group", "here"])
def test_secrets_of_scripts(
    serve: Servers, tmp_path: Path, table: str, route: str, readers: set[str]
) -> None:
    """The environment of scripts is only in the processes that start them."""
    secret = SECRETS["shop"]
    said = {"server": "", "site": "", "route": ""} | {table: f'cgi-environment = ["DATABASE={secret}"]'}
    said["route"] += f"\n{route}"
    (tmp_path / "looking.py").write_text(APPLICATION)
    (tmp_path / "cgi-bin").mkdir()
    script = tmp_path / "cgi-bin/says.sh"
    script.write_text(LOOKS)
    script.chmod(0o755)
    workers = {"ADYTON_PROCESSES": "1"}
    server = serve(write(tmp_path, SCRIPTS.format(**said)).name, cwd=tmp_path, env=workers)

    assert secret == server.fetch("/shop/cgi-bin/says.sh").body.decode().strip()
    for path in ("/", "/shop", "/blog"):
        found = places(server, path, secret)

        assert bool(found) == (path in readers), (path, found)
