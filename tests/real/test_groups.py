"""Two Django sites of two users and two Pythons, a Flask site and CGI scripts, at one port and at once."""

from __future__ import annotations

import os
import pwd
import select
import shutil
import signal
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from processes.conftest import is_alive
from real.browser import Browser
from real.conftest import APPS, PASSWORD, fill_django, manage
from support.asking import asking
from support.client import request
from support.control import reload, states, status, supervisor, workers
from support.server import Server, Servers, adyton, run, until
from support.users import closed_folders, open_folder, where

if TYPE_CHECKING:
    from collections.abc import Iterator

USERS = {"shop": "nobody", "blog": "daemon"}
"""The tenants, and whom their processes belong to."""
DOOR_USER = "www-data"
IS_ROOT = os.geteuid() == 0
ROOM = 18
"""Requests that a tenant runs or lets wait."""
CROWD = 40
"""Clients that come to one at once."""

FILE = """
[server]
{user}
processes = 1
threads = 4
env = {{ SITE_DATA = "uploads" }}
queue-timeout = "10m"

[[sites]]
root = "public"
[[sites.routes]]
app = "flask_site/app.py"
[[sites.routes]]
path = "/cgi-bin/"
cgi = "cgi-bin"
"""

TENANT = """
[groups.{name}]
{user}
python = "{python}"
processes = 1
threads = 2
queue-limit = 16
python-path = "{name}"
env = {{ SITE_DATA = "{folder}/{name}/data", MARK = "{mark}" }}

[[sites]]
hosts = ["{name}.localhost"]
root = "public/{name}"
[[sites.routes]]
path = "/static/"
files = "static"
[[sites.routes]]
app = "shelf.wsgi:application"
group = "{name}"
[[sites.routes]]
path = "/peek/"
app = "peek:application"
group = "{name}"
"""

CGI = """#!{python}
import os
from urllib.parse import parse_qs
words = parse_qs(os.environ["QUERY_STRING"])
try:
    open(words["path"][0]).close()
    said = "done"
except KeyError:
    said = "nothing was tried"
except OSError as error:
    said = type(error).__name__
print("Content-Type: text/html; charset=utf-8")
print()
print('<!doctype html><link rel="icon" href="data:,"><title>CGI</title>')
print(f"<h1>{{os.getuid()}}</h1><p>{{said}}")
"""


def other_python() -> Path:
    """Return the Python of another environment of the gate, of the other version if there is one."""
    prefix = Path(sys.prefix)
    own = "{}.{}".format(*sys.version_info)
    other = "3.11" if own == "3.13" else "3.13"
    found = prefix.with_name(prefix.name.replace(own, other)) / "bin/python"
    return found if found.exists() else Path(sys.executable)


@dataclass
class Tenants:
    """The server, and where everything is."""

    server: Server
    folder: Path
    pythons: dict[str, Path]
    marks: dict[str, str]

    @property
    def control(self) -> Path:
        """Return the control socket."""
        return self.folder / "control.sock"

    def ask(self, name: str, page: str = "me") -> str:
        """Return what a tenant says of itself, or of what it tries."""
        answer = self.server.fetch(
            f"/peek/{page}", fields=[("Host", f"{name}.localhost")], lint_answers=False
        )
        assert 200 == answer.status, answer
        return answer.body.decode()

    def write(self) -> Path:
        """Write the file of sites."""
        text = FILE.format(user=f'user = "{DOOR_USER}"' if IS_ROOT else "")
        for name, user in USERS.items():
            said = {"user": f'user = "{user}"' if IS_ROOT else "", "python": self.pythons[name]}
            text += TENANT.format(name=name, folder=self.folder, mark=self.marks[name], **said)
        file = self.folder / "site.toml"
        file.write_text(text, encoding="utf-8")
        return file

    def address(self, name: str) -> str:
        """Return the address of a tenant's site."""
        return f"http://{name}.localhost:{self.server.port}"


def fill(tenants: Tenants) -> None:
    """Make the folders: a tenant's is its own, and only what the door serves is for all."""
    folder = tenants.folder
    for name, user in USERS.items():
        shutil.copytree(APPS / "django_site", folder / name)
        shutil.copy(APPS / "tenant/peek.py", folder / name)
        data = folder / name / "data"
        if name == "shop":
            fill_django(data)
        else:
            # The other Python may have a later Django.
            shutil.copytree(folder / "shop/data", data)
            manage({"SITE_DATA": str(data)}, "migrate", python=tenants.pythons[name])
        (folder / "public" / name).mkdir(parents=True)
        shutil.copytree(folder / name / "data/static", folder / "public" / name / "static")
        give(folder / name, user)
    shutil.copytree(APPS / "flask_site", folder / "flask_site")
    (folder / "uploads").mkdir()
    give(folder / "uploads", DOOR_USER)
    script = folder / "public/cgi-bin/who.py"
    script.parent.mkdir()
    script.write_text(CGI.format(python=sys.executable), encoding="utf-8")
    script.chmod(0o755)


def give(folder: Path, user: str) -> None:
    """Make a folder a user's, and nobody else's."""
    folder.chmod(0o700)
    for path in [folder, *folder.rglob("*")] if IS_ROOT else []:
        shutil.chown(path, user, pwd.getpwnam(user).pw_gid)


@pytest.fixture(scope="module")
def tenants() -> Iterator[Tenants]:
    """Serve all of them."""
    with open_folder("tenants") as folder:
        pythons = {"shop": Path(sys.executable), "blog": other_python()}
        servers = Servers(folder)
        command = adyton("serve", str(folder / "site.toml"), "--bind", "127.0.0.1:0")
        command += ["--control", str(folder / "control.sock")]
        needed = [APPS, *pythons.values(), *(path.resolve() for path in pythons.values())]
        if IS_ROOT:
            command = where("755", closed_folders(*(path.parent for path in needed)), command)
        made = Tenants.__new__(Tenants)
        made.folder, made.pythons, made.marks = folder, pythons, dict.fromkeys(USERS, "first")
        fill(made)
        made.write()
        try:
            made.server = servers.start(
                command, cwd=folder, env={"ADYTON_PROCESSES": "", "ADYTON_THREADS": ""}
            )
            assert until(lambda: set(states(made.control).values()) == {"serving"}), made.server.log()
            yield made
        finally:
            servers.close()


def test_each_is_its_own(tenants: Tenants) -> None:
    """Each has its group, user and Python, from two environments of the gate."""
    told = {name: tenants.ask(name).split() for name in USERS}
    versions = {name: words[3].rpartition(".")[0] for name, words in told.items()}

    assert {name: name for name in USERS} == {name: words[0] for name, words in told.items()}
    assert (versions["shop"] != versions["blog"]) == (tenants.pythons["shop"] != tenants.pythons["blog"])
    if IS_ROOT:
        ids = {name: str(pwd.getpwnam(user).pw_uid) for name, user in USERS.items()}
        assert ids == {name: words[2] for name, words in told.items()}


@pytest.mark.parametrize(("name", "other"), [("shop", "blog"), ("blog", "shop")])
def test_neither_reaches_the_other(tenants: Tenants, name: str, other: str) -> None:
    """A tenant can read, list, change and end nothing of the other's, and what it does to its own it can."""
    if not IS_ROOT:
        assert "only root can" in run("serve", str(tenants.write()), "--user", "nobody").stderr
        return
    theirs, mine = tenants.folder / other, tenants.folder / name
    pids = [supervisor(tenants.control, other), *workers(tenants.control, other)]
    tried = [
        *(("read", theirs / file) for file in ("data/shelf.sqlite3", "shelf/settings.py", "peek.py")),
        *(("list", folder) for folder in (theirs, theirs / "data")),
        *(("write", theirs / file) for file in ("data/go", "peek.py")),
        ("remove", theirs / "data/shelf.sqlite3"),
        ("remove", tenants.control),
        ("write", tenants.folder / "site.toml"),
        *(("read", Path(f"/proc/{pid}/environ")) for pid in [*pids, tenants.server.process.pid]),
        *(("signal", Path(str(pid))) for pid in pids),
    ]
    refused = {(act, path): tenants.ask(name, f"{act}?path={path}") for act, path in tried}
    own = tenants.ask(name, f"read?path={mine}/data/shelf.sqlite3")
    script = tenants.server.fetch(f"/cgi-bin/who.py?path={theirs}/data/shelf.sqlite3", lint_answers=False)

    assert dict.fromkeys(tried, "PermissionError") == refused
    assert "done" == own
    assert b"PermissionError" in script.body
    assert all(map(is_alive, pids))


def use(browser: Browser, tenants: Tenants, name: str, title: str) -> list[str]:
    """Log in to a tenant's admin, add a book by its form, look at it, and ask the others in between."""
    address, door = tenants.address(name), f"http://127.0.0.1:{tenants.server.port}"
    browser.open(f"{address}/admin/")
    browser.fill(username="pythia", password=PASSWORD)
    browser.press("input[type=submit]")
    browser.open(f"{door}/")
    assert browser.find("form")
    browser.open(f"{address}/admin/books/book/add/")
    browser.fill(title=title, author=name, published="1918-05-01")
    browser.press("input[name=_save]")
    assert "was added successfully" in browser.text()
    browser.open(f"{door}/cgi-bin/who.py")
    assert "nothing was tried" in browser.text()
    browser.open(f"{address}/")
    assert title in browser.text()
    assert "rgba(160, 63, 34, 1)" == browser.find("h1").value_of_css_property("color")
    browser.look(f"tenant-{name}")
    browser.open(f"{address}/private/")
    assert "Logged in as pythia." == browser.find("#who").text
    return browser.problems()


@pytest.fixture(scope="module")
def browsers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Browser]]:
    """Start a Chromium for each tenant, which knows its name."""
    with ExitStack() as stack:
        found = {}
        for name in USERS:
            found[name] = Browser(tmp_path_factory.mktemp("chromium"), hosts=[f"{name}.localhost"])
            stack.callback(found[name].close)
        yield found


def test_in_browsers_at_once(tenants: Tenants, browsers: dict[str, Browser]) -> None:
    """Sessions, forms, files and scripts work for both at once; a book of one's is not the other's."""
    with ThreadPoolExecutor() as pool:
        used = {
            name: pool.submit(use, browser, tenants, name, f"The book of {name}")
            for name, browser in browsers.items()
        }
        assert {name: [] for name in USERS} == {name: done.result() for name, done in used.items()}
    for name, other in (("shop", "blog"), ("blog", "shop")):
        browsers[name].open(tenants.address(name))
        assert f"The book of {other}" not in browsers[name].text()


OTHERS = [("shop", "blog"), pytest.param("blog", "shop", marks=pytest.mark.long)]
"""Who has trouble, and who has not: the soak looks at both ways, the gate at one."""


@pytest.mark.parametrize(("victim", "other"), OTHERS)
def test_killed(tenants: Tenants, browsers: dict[str, Browser], victim: str, other: str) -> None:
    """A tenant's worker is killed, then its supervisor; the other does not notice, and it comes back."""
    with asking(
        tenants.server, "/", "/peek/me", "/static/books/books.css", host=f"{other}.localhost"
    ) as asked:
        for find in (
            lambda: int(tenants.ask(victim).split()[1]),
            lambda: supervisor(tenants.control, victim),
        ):
            pid = find()
            os.kill(pid, signal.SIGKILL)
            assert until(lambda pid=pid: not is_alive(pid))
            browsers[other].open(f"{tenants.address(other)}/")
            assert until(lambda: serves(tenants, victim))
    tenants.server.may_crash = True

    assert not asked.wrong
    assert [] == browsers[other].problems()


def serves(tenants: Tenants, name: str) -> bool:
    """Tell whether a tenant answers: in the moment in which it dies, what it has begun is cut."""
    try:
        answer = tenants.server.fetch("/peek/me", fields=[("Host", f"{name}.localhost")], lint_answers=False)
    except (OSError, EOFError, AssertionError):
        return False
    return answer.status == 200


@pytest.mark.parametrize(("victim", "other"), OTHERS)
def test_reloaded(tenants: Tenants, browsers: dict[str, Browser], victim: str, other: str) -> None:
    """A tenant is another version after a reload; the other keeps its processes; nobody sees an error."""
    assert until(lambda: len(status(tenants.control)["groups"]) == len(USERS))
    kept = (supervisor(tenants.control, other), tenants.ask(other).split()[1])
    paths = ("/", "/peek/me", "/static/books/books.css")
    with (
        asking(tenants.server, *paths, host=f"{other}.localhost") as asked,
        asking(tenants.server, *paths, host=f"{victim}.localhost", keeps=True) as too,
    ):
        for number in range(2):
            mark = tenants.marks[victim] = f"{victim}-{number}"
            tenants.write()
            assert 0 == reload(tenants.control)[0]
            assert mark == tenants.ask(victim).split()[4]
            browsers[other].open(f"{tenants.address(other)}/")

    assert not asked.wrong
    assert not too.wrong
    assert kept == (supervisor(tenants.control, other), tenants.ask(other).split()[1])
    assert [] == browsers[other].problems()


@pytest.mark.parametrize(("victim", "other"), OTHERS)
def test_overloaded(tenants: Tenants, browsers: dict[str, Browser], victim: str, other: str) -> None:
    """More clients than a tenant has room for: these are told so, the rest is answered; the other serves."""
    go = tenants.folder / victim / "data/go"
    with ExitStack() as stack, asking(tenants.server, "/", "/peek/me", host=f"{other}.localhost") as asked:
        stack.callback(go.unlink, missing_ok=True)
        crowd = [stack.enter_context(tenants.server.connect(lint_answers=False)) for _ in range(CROWD)]
        for client in crowd:
            client.send(request("/peek/wait", fields=[("Host", f"{victim}.localhost")]))

        def refused() -> int:
            return len(select.select([client.socket for client in crowd], [], [], 0)[0])

        assert until(lambda: refused() >= CROWD - ROOM)
        browsers[other].open(f"{tenants.address(other)}/")
        assert asked.goes_on()
        go.touch()
        answers = [client.receive() for client in crowd]

    assert not asked.wrong
    assert [] == browsers[other].problems()
    statuses = Counter(answer.status for answer in answers)
    assert {200, 503} == set(statuses)
    assert statuses[503] >= CROWD - ROOM
    assert until(lambda: serves(tenants, victim))
