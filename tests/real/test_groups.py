"""Django sites of two users with different Pythons, a Flask site of a third, and CGI scripts at one port."""

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
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pytest

from processes.conftest import is_alive
from real.browser import Browser
from real.conftest import APPS, PASSWORD, fill_django, manage
from support.asking import asking
from support.client import request
from support.control import reload, states, status, supervisor
from support.pythons import other, python_of
from support.server import (
    OUR_TRACEBACK,
    PANIC,
    Server,
    Servers,
    adyton,
    family,
    open_files,
    run,
    until,
)
from support.users import closed_folders, open_folder, where

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.asking import Asking

USERS = {"shop": "nobody", "blog": "daemon", "notes": "bin"}
"""The tenants, and the users to whom their processes belong."""
DJANGO = ("/", "/peek/me", "/static/books/books.css")
PAGES = {"shop": DJANGO, "blog": DJANGO, "notes": ("/", "/peek/me", "/report")}
"""Pages asked of each tenant while another one has trouble; the last tenant has Flask."""
SHELVES = ("shop", "blog")
"""Tenants with Django."""
SECRET = {"shop": "data/shelf.sqlite3", "blog": "data/shelf.sqlite3", "notes": "data/kept.txt"}
"""A file of each tenant that no other tenant may read."""
LOGS = ("access.log", "error.log")
DOOR_USER = "www-data"
IS_ROOT = os.geteuid() == 0
ROOM = 18
"""How many requests a tenant runs or lets wait."""
CROWD = 40
"""Clients that come to one tenant at once."""

FILE = """
[server]
{user}
processes = 1
threads = 4
queue-timeout = "10m"
access-log = "logs/access.log"

[[sites]]
root = "public"
[[sites.routes]]
app = "notes/app.py"
group = "notes"
[[sites.routes]]
path = "/peek/"
app = "peek:application"
group = "notes"
[[sites.routes]]
path = "/cgi-bin/"
cgi = "cgi-bin"
"""

GROUP = """
[groups.{name}]
{user}
python = "{python}"
processes = 1
threads = 2
queue-limit = 16
python-path = "{name}"
env = {{ SITE_DATA = "{folder}/{name}/data", MARK = "{mark}" }}
access-log = "{name}/access.log"
error-log = "{name}/error.log"
"""

SHELF = """
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


@dataclass
class Tenants:
    """The server, and the places of its files."""

    server: Server
    folder: Path
    pythons: dict[str, Path]
    marks: dict[str, str]

    @property
    def control(self) -> Path:
        """Return the control socket."""
        return self.folder / "control.sock"

    def ask(self, name: str, page: str = "me") -> str:
        """Return a tenant's answer about itself, or about something that it tries to do."""
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
            text += GROUP.format(name=name, folder=self.folder, mark=self.marks[name], **said)
        text += "".join(SHELF.format(name=name) for name in SHELVES)
        file = self.folder / "site.toml"
        file.write_text(text, encoding="utf-8")
        return file

    def address(self, name: str) -> str:
        """Return the address of a tenant's site."""
        return f"http://{name}.localhost:{self.server.port}"

    def processes(self) -> dict[str, list[int]]:
        """Return all processes: of the tenants, of the server's own workers, and the supervisor's."""
        groups = {name: family(supervisor(self.control, name)) for name in USERS}
        every = {pid for pids in groups.values() for pid in pids}
        top = self.server.process.pid
        return {**groups, "door": sorted(set(family(top)) - every - {top}), "server": [top]}

    def look_at_logs(self) -> None:
        """Check that the tenants' logs contain no line that would be a fault in the server's own log."""
        for name in USERS:
            text = (self.folder / name / "error.log").read_text(encoding="utf-8")
            assert not OUR_TRACEBACK.search(text), text
            assert self.server.may_crash or not PANIC.search(text), text


def fill(tenants: Tenants) -> None:
    """Make the folders: only the tenant may enter its own; files that the server itself sends are for all."""
    folder = tenants.folder
    for name, user in USERS.items():
        fill_tenant(tenants, name)
        shutil.copy(APPS / "tenant/peek.py", folder / name)
        give(folder / name, user)
    (folder / "logs").mkdir()
    give(folder / "logs", DOOR_USER)
    script = folder / "public/cgi-bin/who.py"
    script.parent.mkdir()
    script.write_text(CGI.format(python=sys.executable), encoding="utf-8")
    script.chmod(0o755)


def fill_tenant(tenants: Tenants, name: str) -> None:
    """Make a tenant's application, its data, and its files that the server itself sends."""
    folder = tenants.folder
    data = folder / name / "data"
    if name == "notes":
        shutil.copytree(APPS / "flask_site", folder / name)
        data.mkdir()
        (folder / name / SECRET[name]).write_text("kept\n", encoding="utf-8")
        return
    shutil.copytree(APPS / "django_site", folder / name)
    if name == "shop":
        fill_django(data)
    else:
        # The data of `shop` is copied, because the other Python may have a later Django.
        shutil.copytree(folder / "shop/data", data)
        manage({"SITE_DATA": str(data)}, "migrate", python=tenants.pythons[name])
    (folder / "public" / name).mkdir(parents=True)
    shutil.copytree(data / "static", folder / "public" / name / "static")


def give(folder: Path, user: str) -> None:
    """Give a folder to a user, and close it for all others."""
    folder.chmod(0o700)
    for path in [folder, *folder.rglob("*")] if IS_ROOT else []:
        shutil.chown(path, user, pwd.getpwnam(user).pw_gid)


@pytest.fixture(scope="module")
def tenants() -> Iterator[Tenants]:
    """Serve all tenants."""
    with open_folder("tenants") as folder:
        own = Path(sys.executable)
        another = python_of(other()) if other() else own
        pythons = {"shop": own, "blog": another, "notes": own}
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
        made.look_at_logs()


def test_each_is_its_own(tenants: Tenants) -> None:
    """Each has its group, user and Python, from two environments of the gate."""
    told = {name: tenants.ask(name).split() for name in USERS}
    versions = {name: words[3].rpartition(".")[0] for name, words in told.items()}

    assert {name: name for name in USERS} == {name: words[0] for name, words in told.items()}
    assert (versions["shop"] != versions["blog"]) == bool(other())
    if IS_ROOT:
        ids = {name: str(pwd.getpwnam(user).pw_uid) for name, user in USERS.items()}
        assert ids == {name: words[2] for name, words in told.items()}


@pytest.mark.parametrize(("name", "victim"), list(permutations(USERS, 2)))
def test_none_reaches_another(tenants: Tenants, name: str, victim: str) -> None:
    """A tenant can read, list, change and end its own files and processes, but no other tenant's."""
    if not IS_ROOT:
        assert "only root can" in run("serve", str(tenants.write()), "--user", "nobody").stderr
        return
    theirs, mine = tenants.folder / victim, tenants.folder / name
    all_pids = tenants.processes()
    pids = [*all_pids[victim], *all_pids["door"], *all_pids["server"]]
    secret, logs = theirs / SECRET[victim], tenants.folder / "logs"
    tried = [
        *(("read", theirs / file) for file in (SECRET[victim], "peek.py", *LOGS)),
        *(("list", folder) for folder in (theirs, theirs / "data", logs)),
        *(("write", path) for path in (theirs / "data/go", theirs / "peek.py", tenants.folder / "site.toml")),
        *(("remove", path) for path in (secret, tenants.control)),
        ("connect", tenants.control),
        ("read", logs / "access.log"),
        *(("read", Path(f"/proc/{pid}/{file}")) for pid in pids for file in ("environ", "fd/0", "fd/2")),
        *(("list", Path(f"/proc/{pid}/fd")) for pid in pids),
        *(("signal", Path(str(pid))) for pid in pids),
    ]
    refused = {(act, path): tenants.ask(name, f"{act}?path={path}") for act, path in tried}
    own = {path: tenants.ask(name, f"read?path={mine / path}") for path in (SECRET[name], *LOGS)}
    script = tenants.server.fetch(f"/cgi-bin/who.py?path={secret}", lint_answers=False)

    assert dict.fromkeys(tried, "PermissionError") == refused
    assert {"done"} == set(own.values())
    assert b"PermissionError" in script.body
    assert all(map(is_alive, pids))


def sockets(pids: list[int]) -> set[str]:
    """Return the sockets that any of these processes has."""
    found = set()
    for pid in pids:
        found |= {str(path) for path in open_files(pid) if str(path).startswith("socket:")}
    return found


def test_no_socket_is_shared(tenants: Tenants) -> None:
    """A tenant has its end of the socket to the server, and no socket of other tenants or workers."""
    assert set(USERS) == {tenants.ask(name).split()[0] for name in USERS}
    found = {name: sockets(pids) for name, pids in tenants.processes().items()}

    for name, another in permutations([*USERS, "door"], 2):
        assert set() == found[name] & found[another], (name, another, found)
    # The supervisor keeps both ends of each such socket, for processes that it will start.
    assert dict.fromkeys(USERS, 1) == {name: len(found[name] & found["server"]) for name in USERS}


def use(browser: Browser, tenants: Tenants, name: str, title: str) -> list[str]:
    """Log in to a tenant's admin, add a book by its form, look at it; ask the other tenants in between."""
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
    """Start a Chromium for each tenant with Django; it resolves the name of this tenant's site."""
    with ExitStack() as stack:
        found = {}
        for name in SHELVES:
            found[name] = Browser(tmp_path_factory.mktemp("chromium"), hosts=[f"{name}.localhost"])
            stack.callback(found[name].close)
        yield found


def test_in_browsers_at_once(tenants: Tenants, browsers: dict[str, Browser]) -> None:
    """Sessions, forms, files and scripts work for both tenants at once; their books stay separate."""
    with ThreadPoolExecutor() as pool:
        used = {
            name: pool.submit(use, browser, tenants, name, f"The book of {name}")
            for name, browser in browsers.items()
        }
        assert {name: [] for name in SHELVES} == {name: done.result() for name, done in used.items()}
    for name, another in permutations(SHELVES, 2):
        browsers[name].open(tenants.address(name))
        assert f"The book of {another}" not in browsers[name].text()


VICTIMS = ["shop", "notes", pytest.param("blog", marks=pytest.mark.long)]
"""Tenants that are disturbed: the long run takes all, the gate one of each kind."""


class Witnesses:
    """Clients of all tenants except the victim, and a browser at one of these tenants."""

    def __init__(self, tenants: Tenants, browsers: dict[str, Browser], victim: str) -> None:
        """Prepare to watch while `victim` is disturbed."""
        self.names = [name for name in USERS if name != victim]
        self._tenants = tenants
        self._seen_by = next(name for name in SHELVES if name != victim)
        self._browser = browsers[self._seen_by]
        self._asked: dict[str, Asking] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Begin to ask."""
        with ExitStack() as stack:
            for name in self.names:
                asked = asking(self._tenants.server, *PAGES[name], host=f"{name}.localhost")
                self._asked[name] = stack.enter_context(asked)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        """Stop asking; check that no client has seen an error."""
        self._stack.close()
        if not any(error):
            assert {name: [] for name in self.names} == {
                name: asked.wrong for name, asked in self._asked.items()
            }
            assert [] == self._browser.problems()

    def look(self) -> None:
        """Check in the browser that the site answers."""
        self._browser.open(f"{self._tenants.address(self._seen_by)}/")

    def go_on(self) -> bool:
        """Wait for more answers of each tenant."""
        return all(asked.goes_on() for asked in self._asked.values())


@pytest.mark.parametrize("victim", VICTIMS)
def test_killed(tenants: Tenants, browsers: dict[str, Browser], victim: str) -> None:
    """A tenant comes back after its worker, then its supervisor, is killed; others are undisturbed."""
    with Witnesses(tenants, browsers, victim) as witnesses:
        for find in (
            lambda: int(tenants.ask(victim).split()[1]),
            lambda: supervisor(tenants.control, victim),
        ):
            pid = find()
            os.kill(pid, signal.SIGKILL)
            assert until(lambda pid=pid: not is_alive(pid))
            witnesses.look()
            assert until(lambda: serves(tenants, victim))
    tenants.server.may_crash = True


def serves(tenants: Tenants, name: str) -> bool:
    """Tell whether a tenant answers; while its process dies, an answer may be cut off."""
    try:
        answer = tenants.server.fetch("/peek/me", fields=[("Host", f"{name}.localhost")], lint_answers=False)
    except (OSError, EOFError, AssertionError):
        return False
    return answer.status == 200


@pytest.mark.parametrize("victim", VICTIMS)
def test_reloaded(tenants: Tenants, browsers: dict[str, Browser], victim: str) -> None:
    """After a reload a tenant serves its new version; others keep their processes; there is no error."""
    assert until(lambda: len(status(tenants.control)["groups"]) == len(USERS))
    with (
        Witnesses(tenants, browsers, victim) as witnesses,
        asking(tenants.server, *PAGES[victim], host=f"{victim}.localhost", keeps=True) as too,
    ):
        kept = {name: process_ids(tenants, name) for name in witnesses.names}
        for number in range(2):
            mark = tenants.marks[victim] = f"{victim}-{number}"
            tenants.write()
            assert 0 == reload(tenants.control)[0]
            assert mark == tenants.ask(victim).split()[4]
            witnesses.look()
        assert kept == {name: process_ids(tenants, name) for name in witnesses.names}

    assert not too.wrong


def process_ids(tenants: Tenants, name: str) -> tuple[int, str]:
    """Return the supervisor and the worker of a tenant."""
    return supervisor(tenants.control, name), tenants.ask(name).split()[1]


@pytest.mark.parametrize("victim", VICTIMS)
def test_overloaded(tenants: Tenants, browsers: dict[str, Browser], victim: str) -> None:
    """If more clients come than a tenant has room for, the excess get a 503; other tenants serve on."""
    go = tenants.folder / victim / "data/go"
    with ExitStack() as stack, Witnesses(tenants, browsers, victim) as witnesses:
        stack.callback(go.unlink, missing_ok=True)
        crowd = [stack.enter_context(tenants.server.connect(lint_answers=False)) for _ in range(CROWD)]
        for client in crowd:
            client.send(request("/peek/wait", fields=[("Host", f"{victim}.localhost")]))

        def refused() -> int:
            return len(select.select([client.socket for client in crowd], [], [], 0)[0])

        assert until(lambda: refused() >= CROWD - ROOM)
        witnesses.look()
        assert witnesses.go_on()
        go.touch()
        answers = [client.receive() for client in crowd]

    statuses = Counter(answer.status for answer in answers)
    assert {200, 503} == set(statuses)
    assert statuses[503] >= CROWD - ROOM
    assert until(lambda: serves(tenants, victim))
