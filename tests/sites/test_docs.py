"""The examples of the guide: each is valid without changes, and serves."""

from __future__ import annotations

import json
import os
import pwd
import re
import shutil
import subprocess
import sys
from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sites.conftest import write
from support.server import adyton, environment, family
from support.users import closed_folders, open_folder, where

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.server import Server, Servers

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("sites.md", "compress.md", "cache.md", "folders.md", "groups.md")
GUIDE = [DOCS.parent / "README.md", *(DOCS / name for name in PAGES)]
TEXT = "".join(page.read_text(encoding="utf-8") for page in GUIDE)
FILES = re.findall(r"^<!-- file: (\S+) -->\n```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(r"^```toml\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXAMPLES = EXAMPLE.findall(TEXT)
DAEMONS = (DOCS / "coming-from-daemon-mode.md").read_text(encoding="utf-8")


def test_examples_are_found() -> None:
    """The guide has examples."""
    assert len(EXAMPLES) >= 3


USERS = {"shop": "nobody", "blog": "daemon"}
"""Users in the guide, and users that every system has instead."""


@pytest.fixture
def place(project: Path) -> Iterator[Path]:
    """Return the project in a folder that the users of groups may enter."""
    if os.geteuid() != 0:
        yield project
        return
    with open_folder("docs") as folder:
        shutil.copytree(project, folder, dirs_exist_ok=True)
        folder.chmod(0o755)
        yield folder


def with_users(text: str) -> str:
    """Return an example with users that exist; without root, the lines with users are left out."""
    if os.geteuid() != 0:
        return re.sub(r"^user = .*\n", "", text, flags=re.MULTILINE)
    return re.sub(r"^user = \"(.*)\"$", lambda found: f'user = "{USERS[found[1]]}"', text, flags=re.MULTILINE)


def checked(file: Path, workers: dict[str, str]) -> str:
    """Return what `adyton check` prints for a file without mistakes."""
    command = adyton("check", file.name)
    if is_of_users(file):
        command = where("755", closed_folders(), command)
    done = subprocess.run(
        command,
        cwd=file.parent,
        env=environment(workers),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (0, True) == (done.returncode, "site.toml: fine" in done.stdout), done.stderr
    return done.stdout


def serving(serve: Servers, file: Path, workers: dict[str, str]) -> Server:
    """Serve a file, with users if it has some."""
    if not is_of_users(file):
        return serve(file.name, cwd=file.parent, env=workers)
    command = adyton("serve", file.name, "--bind", "127.0.0.1:0")
    return serve.start(where("755", closed_folders(), command), cwd=file.parent, env=workers)


def is_of_users(file: Path) -> bool:
    """Tell whether a file has groups of users."""
    return "\nuser = " in file.read_text(encoding="utf-8")


def users_of(server: Server) -> set[str]:
    """Return the users, except root, to whom the processes of a server belong."""
    owners = {Path(f"/proc/{pid}").stat().st_uid for pid in family(server.process.pid)}
    return {pwd.getpwuid(owner).pw_name for owner in owners if owner != 0}


@pytest.mark.parametrize("text", EXAMPLES)
def test_example(serve: Servers, place: Path, text: str) -> None:
    """An example has no mistake, and its application answers; without an application, `/` is not found."""
    for name, content in FILES:
        (place / name).write_text(content, encoding="utf-8")
    file = write(place, with_users(text))
    workers = {"ADYTON_PROCESSES": "1"}
    checked(file, workers)

    server = serving(serve, file, workers)
    answer = server.fetch("/")
    if "app = " in text:
        assert answer.body.startswith(b"shop 1")
    else:
        assert 404 == answer.status
    if is_of_users(file):
        # The group of another user has no process before its first request.
        assert 200 == server.fetch("/", fields=[("Host", "blog.example")]).status
        assert set(USERS.values()) == users_of(server)


def test_an_example_has_users() -> None:
    """One example has a user for each customer; when root starts it, its processes have these users."""
    assert any(re.search("^user = ", text, re.MULTILINE) for text in EXAMPLES)


STANDS_IN = '''
import os
import sys

def application(environ, start_response):
    """Answer with the folder and the environment of this process."""
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [f"{os.getcwd()} {sys.prefix}".encode()]
'''


def test_several_applications(serve: Servers, tmp_path: Path) -> None:
    """The example serves three applications, each in its folder and its environment, and their files."""
    page = (DOCS / "several-applications.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"^```toml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    for name, module in (("shop", "shop/wsgi.py"), ("blog", "blog/wsgi.py"), ("tools", "app.py")):
        folder = tmp_path / name
        (folder / module).parent.mkdir(parents=True, exist_ok=True)
        (folder / module).write_text(STANDS_IN, encoding="utf-8")
        (folder / "static").mkdir()
        (folder / "static/site.css").write_text(name, encoding="utf-8")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    file = write(tmp_path, text)
    workers = {"ADYTON_PROCESSES": "", "ADYTON_THREADS": ""}
    checked(file, workers)

    server = serve(file.name, cwd=tmp_path, env=workers)
    for name in ("shop", "blog", "tools"):
        fields = [("Host", f"{name}.example")]
        answer = server.fetch("/", fields=fields)
        assert f"{tmp_path / name} {tmp_path / name / 'venv'}" == answer.body.decode()
        if name != "tools":
            assert name == server.fetch("/static/site.css", fields=fields).body.decode()


def test_python_that_is_asked(serve: Servers, project: Path) -> None:
    """The example with Python functions for passwords lets in the users that it knows, and nobody else."""
    for name, content in FILES:
        (project / name).write_text(content, encoding="utf-8")
    (project / "private").mkdir()
    (project / "private/a.txt").write_text("a file\n", encoding="utf-8")
    (text,) = [text for text in EXAMPLES if "basic-python:" in text]
    server = serve(write(project, text), cwd=project)

    def status(target: str, said: str = "", agent: str = "") -> int:
        fields = [("User-Agent", agent)] if agent else []
        if said:
            fields.append(("Authorization", "Basic " + b64encode(said.encode()).decode()))
        return server.fetch(target, fields=fields, lint_answers=False).status

    for target in ("/admin/", "/private/a.txt"):
        assert [401, 401, 401, 200] == [
            status(target, said) for said in ("", "ann:wrong", "bob:correct horse", "ann:correct horse")
        ]
    assert [403, 403] == [status("/private/a.txt", said, "scraper") for said in ("", "ann:correct horse")]


PLACE = """
import os
import sys

def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [f"{os.getcwd()} {sys.prefix} {__file__}".encode()]
"""


def test_daemon_mode(serve: Servers, place: Path) -> None:
    """The example for mod_wsgi's daemons serves: each group has its own folder, Python and application."""
    for name in ("shop/static", "blog/lib"):
        (place / name).mkdir(parents=True)
    (place / "shop/static/site.css").write_text("p {}\n", encoding="utf-8")
    for name in ("shop", "blog"):
        (place / name / "wsgi.py").write_text(PLACE, encoding="utf-8")
    venv = place / "shop/venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    (text,) = EXAMPLE.findall(DAEMONS)
    file = write(place, with_users(text))
    workers = {"ADYTON_PROCESSES": "", "ADYTON_THREADS": ""}
    assert "  workers   2 processes, 15 threads each\n" in checked(file, workers)

    server = serving(serve, file, workers)
    server.wait_for_log("the group shop serves")
    for name, prefix in (("shop", venv), ("blog", sys.prefix)):
        answer = server.fetch("/", fields=[("Host", f"{name}.example")])
        own = place / name
        assert f"{own} {prefix} {own}/wsgi.py" == answer.body.decode()
    assert b"p {}\n" == server.fetch("/static/site.css", fields=[("Host", "shop.example")]).body
    if is_of_users(file):
        assert set(USERS.values()) == users_of(server)


OPTIONS = """
    chroot connect-timeout cpu-priority cpu-time-limit deadlock-timeout display-name eviction-timeout
    graceful-timeout group header-buffer-size home inactivity-timeout interrupt-timeout lang
    listen-backlog locale maximum-requests memory-limit processes python-eggs python-home python-path
    queue-timeout receive-buffer-size request-timeout response-buffer-size response-flush-delay
    response-socket-timeout restart-interval script-group script-user send-buffer-size server-metrics
    shutdown-timeout socket-timeout socket-user stack-size startup-timeout supplementary-groups
    switch-interval threads umask user virtual-memory-limit
"""
"""Options of WSGIDaemonProcess in mod_wsgi 6.0."""


def test_every_option_of_daemons() -> None:
    """Each option stands once in the table, with existing keys, or with the reason why there is none."""
    schema = json.loads((DOCS / "reference/sites.schema.json").read_text(encoding="utf-8"))["properties"]
    tables = {
        "": schema["groups"]["additionalProperties"],
        "[server]": schema["server"],
        "[[sites]]": schema["sites"]["items"],
    }
    rows = re.findall(r"^\| (`[a-z-]+=`[^|]*) \| ([^|]*) \| ([^|]*) \|$", DAEMONS, re.MULTILINE)
    told = [name for theirs, _, _ in rows for name in re.findall(r"`([a-z-]+)=`", theirs)]

    assert OPTIONS.split() == sorted(told)
    for theirs, ours, why in rows:
        keys, _, table = ours.partition(" in ")
        own = tables[table.strip("`")]["properties"]
        assert [] == [key for key in re.findall(r"`([^`]+)`", keys) if key not in own], theirs
        assert len(why) > (5 if "`" in ours else 20), theirs
