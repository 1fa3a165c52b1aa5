"""Groups: applications with processes of their own, to which connections move."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import re
import select
import signal
import subprocess
import sys
import sysconfig
import threading
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from processes.conftest import freeze, is_alive
from sites.conftest import write
from support.asking import asking
from support.client import Asked, request
from support.control import group, reload, states, status, supervisor
from support.server import adyton, run, until
from support.users import closed_folders, open_folder, where

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.client import Connection
    from support.server import Server, Servers

FILE = """
[server]
processes = 2
threads = 2
control = "control.sock"
access-log = "access.log"
access-log-format = '%v %{{group}}P %u [%m %U'

[groups.shop]
processes = {processes}
env = {{ MARK = "{mark}" }}

[groups.blog]
processes = 1
{blog}

[[sites]]
hosts = ["all.example"]
root = "public"
rewrite = ["/old/ -> /shop/", "/assets/ -> /static/"]

[[sites.routes]]
path = "/static/"
files = "static"
static-fall-through = true

[[sites.routes]]
path = "/"
app = "own:application"

[[sites.routes]]
path = ["/shop/", "/static/"]
app = "shop:application"
group = "shop"

[[sites.routes]]
path = "/place/shop"
app = "shop:place"
group = "shop"

[[sites.routes]]
path = "/place/own"
app = "own:place"

[[sites.routes]]
path = "/staff/"
app = "shop:user"
group = "shop"
auth = "basic:staff.htpasswd"

[[sites.routes]]
path = "/blog/"
app = "blog:application"
group = "blog"
mount = true
"""

APPLICATION = """
import ctypes
import os
import time
import adyton

def application(environ, start_response):
    '''Answer with the module, the process, its user, who has asked, and the body.'''
    if environ["PATH_INFO"].endswith("/slow"):
        time.sleep(0.2)
    if environ["PATH_INFO"].endswith("/die"):
        os._exit(3)
    if environ["PATH_INFO"].endswith("/hold"):
        ctypes.PyDLL(None).pause()
    body = environ["wsgi.input"].read()
    told = [__name__, os.getpid(), os.getuid(), environ["REMOTE_ADDR"], environ["REMOTE_PORT"]]
    told += [environ["SERVER_PORT"], os.environ.get("MARK", "-"), environ["SCRIPT_NAME"] or "-"]
    told += [environ["PATH_INFO"], environ["wsgi.multiprocess"], len(body)]
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [" ".join(map(str, told)).encode()]

def place(environ, start_response):
    '''Answer with the place of this worker; in the log is its group.'''
    found = adyton.worker()
    print("said", file=environ["wsgi.errors"])
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [f"{found.number} {found.of} {found.generation} {found.group}".encode()]

def user(environ, start_response):
    '''Answer with who has asked.'''
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [environ["REMOTE_USER"].encode()]
"""

CONTROL = "control.sock"

ENVIRONMENT = {"ADYTON_PROCESSES": "", "ADYTON_THREADS": ""}
"""Empty variables, so that the file of sites sets the numbers of processes and threads."""

ASKED = [("/", "own", "-"), ("/shop/a", "shop", "first"), ("/blog/b", "blog", "-")]
"""Paths, the application of each, and the mark in its environment."""

REWRITTEN = [("/old/a", b"x"), ("/old/b", b"x" * 30_000), ("/assets/none.css", None)]
"""Paths that are rewritten before a route is chosen, and bodies of the requests."""

NOBODY = pwd.getpwnam("nobody").pw_uid
DAEMON = pwd.getpwnam("daemon").pw_uid


@pytest.fixture
def folder(project: Path) -> Path:
    """Return a project with three applications."""
    for name in ("own", "shop", "blog"):
        (project / f"{name}.py").write_text(APPLICATION, encoding="utf-8")
    return project


def file_of(folder: Path, *, processes: int = 2, mark: str = "first", blog: str = "") -> Path:
    """Write the file of sites."""
    return write(folder, FILE.format(processes=processes, mark=mark, blog=blog))


def start(serve: Servers, folder: Path, **said: Any) -> Server:
    """Serve the file, and wait until its groups serve."""
    file = file_of(folder, **said)
    server = serve(file.name, cwd=folder, env=ENVIRONMENT)
    assert until(lambda: {"starting"}.isdisjoint(states(folder / CONTROL).values()))
    return server


def words(server: Server, path: str, **said: Any) -> list[str]:
    """Return the words in an application's answer."""
    answer = server.fetch(path, **said)
    assert 200 == answer.status, answer.body
    return answer.body.decode().split()


def test_one_connection_for_all(serve: Servers, folder: Path) -> None:
    """One connection asks the server, its files and both groups in turn; each knows client and body."""
    server = start(serve, folder)
    with server.connect() as connection:
        port = str(connection.socket.getsockname()[1])
        for number in range(5):
            for path, module, mark in ASKED:
                body = b"x" * number * 30_000
                answer = connection.get(path, method="POST", body=body)
                told = answer.body.decode().split()
                assert 200 == answer.status
                assert [module, "127.0.0.1", port, str(server.port), mark] == [told[0], *told[3:7]]
                assert ["True", str(len(body))] == told[9:]
                assert ("/blog", "/b") == tuple(told[7:9]) if module == "blog" else path == told[8]
            assert b"p {}\n" == connection.get("/static/site.css").body
            assert b"shop" == connection.get("/static/none.css").body.split()[0]
            for path, body in REWRITTEN:
                answer = connection.get(path, method="POST" if body else "GET", body=body)
                told = answer.body.split()
                assert [b"shop", b"%d" % len(body or b"")] == [told[0], told[-1]]
            assert b"p {}\n" == connection.get("/assets/site.css").body
    pids = {words(server, path)[1] for path in ("/", "/shop/", "/blog/") for _ in range(10)}
    assert len(pids) >= 3


def test_guards(serve: Servers, folder: Path) -> None:
    """The group asks for the password, before and after another route has used the connection."""
    server = start(serve, folder)
    with server.connect() as connection:
        for _ in range(3):
            assert 401 == connection.get("/staff/").status
            assert 200 == connection.get("/").status
            fields = [("Authorization", "Basic YW5uOmNvcnJlY3QgaG9yc2U=")]
            answer = connection.get("/staff/", fields=fields)
            assert (200, b"ann") == (answer.status, answer.body)
    log = folder / "access.log"
    assert until(lambda: log.exists() and " ann [" in log.read_text(encoding="utf-8"))


def test_reload_of_one(serve: Servers, folder: Path) -> None:
    """A reload replaces only the processes of the group that has changed, and loses no request."""
    server = start(serve, folder)
    before = {name: supervisor(folder / CONTROL, name) for name in ("shop", "blog")}
    blog = words(server, "/blog/")[1]
    for keeps in (False, True):
        with asking(server, "/shop/x", "/blog/y", "/", keeps=keeps) as asked:
            for mark in ("second", "third"):
                file_of(folder, mark=mark + str(keeps))
                assert (0, mark + str(keeps)) == (reload(folder / CONTROL)[0], words(server, "/shop/")[6])
        assert not asked.wrong
    assert until(lambda: len(status(folder / CONTROL)["groups"]) == 2)
    assert (before["blog"], blog) == (supervisor(folder / CONTROL, "blog"), words(server, "/blog/")[1])
    assert supervisor(folder / CONTROL, "shop") != before["shop"]
    assert until(lambda: not is_alive(before["shop"]))


def test_a_version_that_does_not_start(serve: Servers, folder: Path) -> None:
    """If a group of a new version does not start, the old version serves on, until a good version comes."""
    server = start(serve, folder)
    shop = (folder / "shop.py").read_text(encoding="utf-8")
    (folder / "shop.py").write_text("raise SystemExit('closed')\n", encoding="utf-8")
    file_of(folder, mark="second")
    with asking(server, "/shop/x", "/blog/y") as asked:
        code, said = reload(folder / CONTROL)
        assert (1, True) == (code, "the group shop does not start; the old version serves on" in said), said
        assert "first" == words(server, "/shop/")[6]
    assert not asked.wrong
    (folder / "shop.py").write_text(shop, encoding="utf-8")
    assert 0 == reload(folder / CONTROL)[0]
    assert "second" == words(server, "/shop/")[6]


def newer(folder: Path, module: str) -> None:
    """Change the name that an application puts into its answers."""
    file = folder / f"{module}.py"
    file.write_text(file.read_text(encoding="utf-8").replace("[__name__,", "['newer',"), encoding="utf-8")


def test_reload_by_name(serve: Servers, folder: Path) -> None:
    """A reload of a group by name replaces only its workers, and loses no request."""
    server = start(serve, folder)
    for module in ("own", "shop", "blog"):
        newer(folder, module)
    blog = words(server, "/blog/")[1]

    code, said = reload(folder / CONTROL)
    assert (0, True) == (code, "keep their processes: blog, shop\n" in said), said
    assert ["newer", "shop", "blog"] == [words(server, path)[0] for path in ("/", "/shop/", "/blog/")]

    with asking(server, "/shop/x", "/shop/slow", "/blog/y", "/") as asked:
        code, said = reload(folder / CONTROL, "shop")
        expected = "group shop: generation 2 serves in 2 workers, after "
        assert (0, True) == (code, said.startswith(expected)), said
        assert "newer" == words(server, "/shop/")[0]
        assert asked.goes_on(50)
    assert not asked.wrong
    assert ["blog", blog] == words(server, "/blog/")[:2]


def test_reload_by_name_that_fails(serve: Servers, folder: Path) -> None:
    """A group whose new code does not start serves on with the old code, and the reload reports this."""
    server = start(serve, folder)
    shop = (folder / "shop.py").read_text(encoding="utf-8")
    (folder / "shop.py").write_text("import no_such_module\n", encoding="utf-8")
    code, said = reload(folder / CONTROL, "shop")
    assert (1, True) == (code, "the new version does not start; the old one serves on" in said), said
    assert "shop" == words(server, "/shop/")[0]
    (folder / "shop.py").write_text(shop, encoding="utf-8")
    assert 0 == reload(folder / CONTROL, "shop")[0]

    code, said = reload(folder / CONTROL, "shops")
    assert (1, 'adyton: there is no group "shops"; there is blog, shop\n') == (code, said)
    code, said = reload(folder / CONTROL, "a b")
    assert (2, True) == (code, '"a b" is no name of a group' in said), said


def test_reload_by_name_of_one_that_is_not_there(serve: Servers, folder: Path) -> None:
    """A reload by name at once tries a group that has failed to start; a sleeping group needs no reload."""
    good = (folder / "shop.py").read_text(encoding="utf-8")
    (folder / "shop.py").write_text("import no_such_module\n", encoding="utf-8")
    file = file_of(folder, blog="min-processes = 0")
    server = serve(file.name, cwd=folder, env=ENVIRONMENT)
    # From the fourth failure on, the group is tried again only after eight seconds or more.
    assert until(lambda: server.log().count("the group shop does not start") >= 4)

    code, said = reload(folder / CONTROL, "shop")
    assert (1, "adyton: the group shop does not start; the log says why\n") == (code, said)
    (folder / "shop.py").write_text(good, encoding="utf-8")
    code, said = reload(folder / CONTROL, "shop")
    assert (0, True) == (code, said.startswith("group shop: serves again, after ")), said
    assert "shop" == words(server, "/shop/")[0]
    code, said = reload(folder / CONTROL, "blog")
    assert (0, "group blog: has no process; the next request starts a new one\n") == (code, said)


def test_one_that_does_not_start(serve: Servers, folder: Path) -> None:
    """Clients of a group that does not start get a 503; others are not affected; repaired, it serves."""
    good = (folder / "shop.py").read_text(encoding="utf-8")
    (folder / "shop.py").write_text("import no_such_module\n", encoding="utf-8")
    server = serve(file_of(folder).name, cwd=folder, env=ENVIRONMENT)
    server.wait_for_log("the group shop does not start")

    assert 503 == server.fetch("/shop/").status
    assert "blog" == words(server, "/blog/")[0]
    assert "does not start" == states(folder / CONTROL)["shop"]
    assert "no_such_module" in server.log()
    (folder / "shop.py").write_text(good, encoding="utf-8")
    server.wait_for_log("the group shop serves")
    assert "shop" == words(server, "/shop/")[0]


def test_asleep(serve: Servers, folder: Path) -> None:
    """A group with `min-processes = 0` has no process until a request comes, and ends when it idles."""
    server = start(serve, folder, blog='min-processes = 0\nidle-timeout = "3s"')
    assert "asleep" == states(folder / CONTROL)["blog"]
    for _ in range(2):
        assert "blog" == words(server, "/blog/")[0]
        assert "serving" == states(folder / CONTROL)["blog"]
        assert until(lambda: "asleep" == states(folder / CONTROL)["blog"])
    with asking(server, "/blog/x", "/shop/y") as asked:
        assert asked.goes_on(200)
    assert not asked.wrong


@pytest.mark.parametrize("victim", ["worker", "supervisor", "door"])
def test_kill(serve: Servers, folder: Path, victim: str) -> None:
    """When a process is killed, each client loses at most one request, and the process is replaced."""
    server = start(serve, folder)
    with asking(server, "/shop/slow", "/shop/x", "/", "/blog/y") as asked:
        if victim == "worker":
            pid = int(words(server, "/shop/")[1])
        elif victim == "supervisor":
            pid = supervisor(folder / CONTROL, "shop")
        else:
            pid = status(folder / CONTROL)["workers"][0]["pid"]
        os.kill(pid, signal.SIGKILL)
        assert until(lambda: not is_alive(pid))
    # When a supervisor is killed, its workers finish their requests.
    assert len(asked.wrong) <= (0 if victim == "supervisor" else 4), asked.wrong
    assert until(lambda: states(folder / CONTROL)["shop"] == "serving")
    if victim != "supervisor":
        # Every connection that has left one side has reached the other, except perhaps the victim's last
        # connection, which the victim may not have counted.
        assert until(lambda: all(abs(number) <= 1 for number in on_their_way(folder)))


def on_their_way(folder: Path) -> tuple[int, int]:
    """Return how many connections are on their way between the server and groups, in each direction."""
    said = status(folder / CONTROL)
    groups = [one["status"]["total"] for one in said["groups"] if one["status"]]
    away, here = (sum(one[way] for one in groups) for way in ("moved_away", "moved_here"))
    return said["total"]["moved_away"] - here, away - said["total"]["moved_here"]


def status_of(client: Connection) -> int:
    """Return the status of an answer, or 0 if the connection ends without one."""
    try:
        return client.receive().status
    except (OSError, EOFError, AssertionError):
        return 0


WAYS = {
    "to the group": ("/blog/x", "/", ("10m", "1s")),
    "to the door": ("/x", "/blog/x", ("1s", "10m")),
}
"""The target, the first target on the connection, and how long the group and the server wait for room."""


@pytest.mark.parametrize("way", WAYS)
def test_full_passage(serve: Servers, folder: Path, way: str) -> None:
    """If one side is stopped, its socket takes some connections, which wait; the rest get a 503."""
    path, begin, (of_group, of_door) = WAYS[way]
    file = file_of(folder, blog=f'queue-timeout = "{of_group}"')
    server = serve(file.name, "--queue-timeout", of_door, cwd=folder, env=ENVIRONMENT)
    is_away = path == "/blog/x"
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(server.connect()) for _ in range(32)]
        assert {200} == {client.get(begin).status for client in clients}
        witness = stack.enter_context(server.connect())
        assert 200 == witness.get("/shop/x").status
        pids = [int(words(server, path)[1])] if is_away else doors(folder)
        before = moved_away(folder, of_group=not is_away)
        for pid in pids:
            freeze(pid)
            stack.callback(os.kill, pid, signal.SIGCONT)
        for client in clients:
            client.send(request(path, method="POST", body=b"x" * 60_000))

        def refused() -> int:
            return len(select.select([client.socket for client in clients], [], [], 0)[0])

        def moved() -> int:
            return moved_away(folder, of_group=not is_away) - before

        assert until(lambda: refused() + moved() == len(clients))
        expected = {503: refused(), 200: moved()}
        assert all(expected.values())
        assert b"shop" == witness.get("/shop/x").body.split()[0]
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        assert expected == Counter(client.receive(Asked("POST")).status for client in clients)


def doors(folder: Path) -> list[int]:
    """Return the workers that accept."""
    return [worker["pid"] for worker in status(folder / CONTROL)["workers"]]


def moved_away(folder: Path, *, of_group: bool) -> int:
    """Return how many connections the server, or the group `blog`, has passed on, by its last report."""
    said = group(folder / CONTROL, "blog")["status"] if of_group else status(folder / CONTROL)
    return int(said["total"]["moved_away"])


def test_one_that_never_answers(serve: Servers, folder: Path) -> None:
    """A worker whose interpreter is blocked for ever is replaced; only requests inside it are lost."""
    server = start(serve, folder, blog='heartbeat-timeout = "3s"\ngraceful-timeout = "1s"')
    server.may_crash = True
    pid = int(words(server, "/blog/")[1])
    with contextlib.ExitStack() as stack, asking(server, "/shop/x", "/", keeps=True) as asked:
        holding, *others = [stack.enter_context(server.connect()) for _ in range(9)]
        holding.send(request("/blog/hold"))
        if sysconfig.get_config_var("Py_GIL_DISABLED"):
            # Without the GIL, no request keeps the others from running.
            assert "blog" == words(server, "/blog/")[0]
            os.kill(pid, signal.SIGKILL)
        for client in others:
            client.send(request("/blog/x"))
        statuses = [status_of(client) for client in [holding, *others]]
        assert until(lambda: not is_alive(pid))
    assert not asked.wrong
    assert statuses[0] != 200
    assert set(statuses) <= {0, 200, 503}
    assert str(pid) != words(server, "/blog/")[1]
    assert until(lambda: all(abs(number) <= 1 for number in on_their_way(folder)))


def test_one_worker_stands_still(serve: Servers, folder: Path) -> None:
    """A stopped worker of a group takes no connections: the group's other worker takes them all."""
    server = start(serve, folder)
    pid = int(words(server, "/shop/")[1])
    freeze(pid)
    try:
        others = {words(server, "/shop/")[1] for _ in range(30)}
    finally:
        os.kill(pid, signal.SIGCONT)
    assert str(pid) not in others


def test_supervisor_gone(serve: Servers, folder: Path) -> None:
    """When the server's own supervisor is killed, all processes end by themselves."""
    server = start(serve, folder)
    all_pids = [server.process.pid, supervisor(folder / CONTROL, "shop"), int(words(server, "/shop/")[1])]
    server.kill()
    assert until(lambda: not any(map(is_alive, all_pids)))


def test_succession(serve: Servers, folder: Path) -> None:
    """If a new program replaces the supervisor, groups and their sockets stay; no request is lost."""
    server = start(serve, folder, blog="min-processes = 0")
    pid = supervisor(folder / CONTROL, "shop")
    with asking(server, "/shop/x", "/", keeps=True) as asked:
        server.signal(signal.SIGUSR2)
        server.wait_for_log("the supervisor is version")
    assert not asked.wrong
    assert (pid, "asleep") == (supervisor(folder / CONTROL, "shop"), states(folder / CONTROL)["blog"])
    assert "blog" == words(server, "/blog/")[0]
    file_of(folder, mark="second", blog="min-processes = 0")
    assert 0 == reload(folder / CONTROL)[0]
    assert "second" == words(server, "/shop/")[6]


def test_stop(serve: Servers, folder: Path) -> None:
    """When the server stops, requests under way are answered, in groups too, and no process is left."""
    server = start(serve, folder)
    pids = [supervisor(folder / CONTROL, name) for name in ("shop", "blog")]
    answers: list[int] = []

    def ask() -> None:
        answers.append(server.fetch("/shop/slow").status)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    of_shop = [group["status"] for group in status(folder / CONTROL)["groups"] if group["group"] == "shop"]
    assert of_shop
    server.signal(signal.SIGTERM)
    for thread in threads:
        thread.join()
    assert 0 == server.wait()
    assert [200] * 3 == answers
    assert not any(map(is_alive, pids))


USERS = """
[server]
processes = 1
control = "{control}"

[groups.shop]
user = "nobody"
processes = 1
{shop}

[groups.blog]
user = "daemon"
processes = 1

[[sites]]
[[sites.routes]]
path = "/shop/"
app = "shop/shop.py"
group = "shop"

[[sites.routes]]
path = "/blog/"
app = "blog/blog.py"
group = "blog"
"""

READER = """
import os

def application(environ, start_response):
    '''Answer with the user, and with a file of the other's.'''
    try:
        with open(environ["QUERY_STRING"]) as file:
            text = file.read()
    except OSError as error:
        text = type(error).__name__
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [f"{os.getuid()} {os.geteuid()} {os.environ['HOME']} {text}".encode()]
"""


def test_users(serve: Servers, folder: Path, everyones: Path) -> None:
    """Each group becomes its user before its Python starts, for good; neither can read the other's files."""
    if os.geteuid() != 0:
        file = write(everyones, USERS.format(control="control.sock", shop=""))
        assert "only root can start processes of the user nobody" in run("serve", str(file)).stderr
        return
    for name, user in (("shop", NOBODY), ("blog", DAEMON)):
        own = everyones / name
        own.mkdir(mode=0o700)
        (own / f"{name}.py").write_text(READER, encoding="utf-8")
        (own / "secret").write_text(f"secret of {name}", encoding="utf-8")
        for path in (own, *own.iterdir()):
            os.chown(path, user, user)
    control = folder / "control.sock"
    file = write(everyones, USERS.format(control=control, shop=""))
    command = adyton("serve", str(file), "--bind", "127.0.0.1:0")
    server = serve.start(where("755", closed_folders(), command), cwd=everyones, env=ENVIRONMENT)
    for name, user, other in (("shop", NOBODY, "blog"), ("blog", DAEMON, "shop")):
        server.wait_for_log(f"the group {name} serves")
        mine = server.fetch(f"/{name}/?{everyones}/{name}/secret").body.decode()
        theirs = server.fetch(f"/{name}/?{everyones}/{other}/secret").body.decode()
        assert [str(user), str(user)] == mine.split()[:2]
        assert (True, True) == (mine.endswith(f"secret of {name}"), theirs.endswith("PermissionError"))
        said = json.loads(run("status", "--json", "--control", str(control)).stdout)
        (pid,) = [group["pid"] for group in said["groups"] if group["group"] == name]
        ids = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
        assert f"Uid:\t{user}\t{user}\t{user}\t{user}\n" in ids


@pytest.fixture
def everyones() -> Iterator[Path]:
    """Give a folder that every user may enter."""
    with open_folder("groups") as folder:
        yield folder


def test_python_of_its_own(serve: Servers, folder: Path) -> None:
    """A group with its own virtual environment has its own packages, and `adyton` from the server's."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    (packages,) = (folder / "venv/lib").glob("python3*/site-packages")
    (packages / "of_the_venv.py").write_text("NAME = 'of the venv'\n", encoding="utf-8")
    (folder / "blog.py").write_text(
        "import importlib.util, sys\nfrom of_the_venv import NAME\n"
        "def application(environ, start_response):\n"
        "    start_response('200 OK', [('Content-Type', 'text/plain')])\n"
        "    return [f'{sys.prefix} {NAME} {importlib.util.find_spec(\"pytest\")}'.encode()]\n",
        encoding="utf-8",
    )
    server = start(serve, folder, blog='python = "venv/bin/python"')

    assert f"{folder / 'venv'} of the venv None" == server.fetch("/blog/").body.decode()
    assert "shop" == words(server, "/shop/")[0]


def test_no_package_for_that_python(serve: Servers, folder: Path) -> None:
    """One sentence reports a group's Python that the server was not built for, and that has no `adyton`."""
    fake = folder / "python"
    fake.write_text(
        f"#!/bin/sh\nexec {sys.executable} -c 'import sys, runpy\n"
        "import importlib.machinery as machinery\nmachinery.EXTENSION_SUFFIXES[:] = []\n"
        'sys.path_importer_cache.clear(); sys.modules["adyton"] = None\n'
        'sys.argv = sys.argv[1:]\nrunpy.run_path(sys.argv[0], run_name="__main__")\' "$@"\n',
        encoding="utf-8",
    )
    fake.chmod(0o755)
    server = serve(file_of(folder, blog='python = "python"').name, cwd=folder, env=ENVIRONMENT)

    server.wait_for_log("the group blog does not start")
    assert "install adyton there, too" in server.log()
    assert "shop" == words(server, "/shop/")[0]


def test_told(serve: Servers, folder: Path) -> None:
    """Status, metrics and the log have the groups, in text and in JSON."""
    server = start(serve, folder)
    assert "shop" == words(server, "/shop/")[0]
    assert until(lambda: group(folder / CONTROL, "shop")["status"]["total"]["requests"] >= 1)
    table = run("status", "--control", "control.sock", cwd=folder).stdout

    assert "group shop: serving, process " in table
    assert re.search("^ *shop 2  ", table, re.MULTILINE), table
    assert "info: the group shop serves" in server.log()
    os.kill(supervisor(folder / CONTROL, "shop"), signal.SIGTERM)
    server.wait_for_log("group shop ADY302 info: stopping when running requests are done")
    server.wait_for_log("the group shop: process [0-9]+ ended with status 0; it is started again")


def test_told_of_processes(serve: Servers, folder: Path) -> None:
    """A worker knows its group; stacks and both logs name it, and the site."""
    server = start(serve, folder)

    assert until(lambda: serving(status(folder / CONTROL)) == serving(shop_of(folder)) == 2)
    assert server.fetch("/place/shop").body.decode().endswith(" 2 1 shop")
    assert server.fetch("/place/own").body.decode().endswith(" 2 1 None")
    server.wait_for_log(r"group shop worker \d request \S+ stderr: said")
    stacks = run("dump", "--control", CONTROL, cwd=folder).stdout
    found = re.findall(r"^== (.*) \(process (\d+)\)$", stacks, re.MULTILINE)
    names = ["worker 1", "worker 2", "group blog worker 1", "group shop worker 1", "group shop worker 2"]
    assert names == [name for name, _ in found]
    of_shop = shop_of(folder)["workers"]
    assert [str(one["pid"]) for one in of_shop] == [pid for name, pid in found if "shop" in name]
    assert "it did not answer" not in stacks
    log = folder / "access.log"
    lines = ("all.example shop - [GET /place/shop\n", "all.example - - [GET /place/own\n")
    assert until(lambda: log.exists() and all(line in log.read_text(encoding="utf-8") for line in lines))


def shop_of(folder: Path) -> Any:
    """Return the last report of the supervisor of the group `shop`."""
    return group(folder / CONTROL, "shop").get("status", {"workers": []})


def serving(said: Any) -> int:
    """Return how many workers of a supervisor serve."""
    return [worker["state"] for worker in said["workers"]].count("serving")


def test_what_runs_in_groups(serve: Servers, folder: Path) -> None:
    """The running requests in the status include requests in groups."""
    server = start(serve, folder)
    command = adyton("top", "--json", "--control", CONTROL)
    with asking(server, "/shop/slow"), subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE) as top:
        assert top.stdout
        for line in top.stdout:
            running = [(one.get("group"), one["answer"]) for one in json.loads(line)["running"]]
            if any(name == "shop" and "/shop/slow" in json.dumps(said) for name, said in running):
                break
        top.kill()


def test_no_supervisor(folder: Path) -> None:
    """Groups without a supervisor are a mistake that is reported."""
    file = file_of(folder)
    text = file.read_text(encoding="utf-8").replace('control = "control.sock"\n', "")
    file.write_text(text, encoding="utf-8")
    done = run("serve", file.name, "--processes", "0", cwd=folder, env={"ADYTON_THREADS": ""})

    assert (2, True) == (done.returncode, "the file has groups" in done.stderr), done.stderr
