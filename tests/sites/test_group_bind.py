"""Groups with addresses of their own: only their workers accept there, and only their sites answer there."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import re
import signal
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from processes.conftest import is_alive
from sites.conftest import write
from support import client
from support.asking import asking
from support.client import request
from support.control import group, reload, states, status, supervisor, workers
from support.server import adyton, claimed_port, open_files, run, until
from support.users import closed_folders, open_folder, where

if TYPE_CHECKING:
    from support.client import Address
    from support.http import Response
    from support.server import Server, Servers

FILE = """
[server]
processes = 2
threads = 2
control = "control.sock"
access-log = "access.log"
access-log-format = '%v %{{group}}P %s %U'

[groups.shop]
processes = 2
env = {{ MARK = "{mark}" }}
{shop}

[groups.blog]
processes = 1

[[sites]]
hosts = ["own.example"]
error-pages = {{ 503 = "errors/busy.html" }}

[[sites.routes]]
app = "own:application"

[[sites]]
bind = {bind}
hosts = ["shop.example"]
root = "public"

[[sites.routes]]
path = "/static/"
files = "static"

[[sites.routes]]
path = "/staff/"
respond = 200
body = "staff"
auth = "basic:staff.htpasswd"

[[sites.routes]]
app = "shop:application"
group = "shop"

[[sites]]
hosts = ["shop.example", "blog.example"]

[[sites.routes]]
app = "blog:application"
group = "blog"
"""

APPLICATION = """
import os
import time

def application(environ, start_response):
    '''Answer with the module, the process, and where the request has come in.'''
    if environ["PATH_INFO"].endswith("/slow"):
        time.sleep(0.2)
    told = [__name__, os.getpid(), os.environ.get("MARK", "-")]
    told += [environ["SERVER_PORT"], environ["REMOTE_ADDR"]]
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [" ".join(map(str, told)).encode()]
"""

CONTROL = "control.sock"

ENVIRONMENT = {"ADYTON_PROCESSES": "", "ADYTON_THREADS": ""}
"""Empty variables, so that the file of sites sets the numbers of processes and threads."""

ANY_PORT = '"127.0.0.1:0"'

HOSTS = ("shop.example", "own.example", "blog.example", "none.example")

LISTENS = "0A"
"""The state of a listening socket in /proc/net/tcp."""

STAFF = ("Authorization", "Basic YW5uOmNvcnJlY3QgaG9yc2U=")


@pytest.fixture
def folder(project: Path) -> Path:
    """Return a project with three applications."""
    for name in ("own", "shop", "blog"):
        (project / f"{name}.py").write_text(APPLICATION, encoding="utf-8")
    return project


def file_of(folder: Path, *, bind: str = ANY_PORT, mark: str = "first", shop: str = "") -> Path:
    """Write the file of sites."""
    return write(folder, FILE.format(bind=bind, mark=mark, shop=shop))


def start(serve: Servers, folder: Path, *, listeners: int = 2, **said: Any) -> Server:
    """Serve the file, and wait until its groups have started or failed; the first address is the server's."""
    file = file_of(folder, **said)
    server = serve(file.name, cwd=folder, env=ENVIRONMENT, listeners=listeners)
    assert until(lambda: {"starting"}.isdisjoint(states(folder / CONTROL).values()))
    return server


def ask(address: Address, target: str = "/", *, host: str = "shop.example", **said: Any) -> Response:
    """Send one request."""
    fields = [("Host", host), *said.pop("fields", ())]
    return client.fetch(address, target, fields=fields, **said)


def words(address: Address, *, host: str = "shop.example") -> list[str]:
    """Return the words in an application's answer."""
    answer = ask(address, host=host)
    assert 200 == answer.status, answer.body
    return answer.body.decode().split()


def moved(folder: Path) -> int:
    """Return how many connections have moved from one process to another."""
    said = status(folder / CONTROL)
    totals = [said["total"], *(one["status"]["total"] for one in said["groups"] if one["status"])]
    return sum(total[way] for total in totals for way in ("moved_away", "moved_here"))


def at_port(port: int) -> str:
    """Return an address in the form of a file of sites."""
    return f'"127.0.0.1:{port}"'


def test_found_there_alone(serve: Servers, folder: Path) -> None:
    """The site answers only at its own address, and there for any host; no connection moves."""
    server = start(serve, folder)
    own, shop = server.addresses
    assert isinstance(shop, tuple)
    for host in HOSTS:
        assert ["shop", "first", str(shop[1]), "127.0.0.1"] == [
            word for number, word in enumerate(words(shop, host=host)) if number != 1
        ]
        assert b"p {}\n" == ask(shop, "/static/site.css", host=host).body
        assert 401 == ask(shop, "/staff/", host=host).status
        assert b"staff" == ask(shop, "/staff/", host=host, fields=[STAFF]).body
    assert ["own", "own"] == [words(own, host=host)[0] for host in ("own.example", "none.example")]
    assert 404 == ask(shop, "/static/none.css").status
    assert "own" == ask(own, "/static/site.css", host="own.example").body.decode().split()[0]
    assert 0 == moved(folder)

    assert ["blog", "blog"] == [words(own, host=host)[0] for host in ("shop.example", "blog.example")]
    assert until(lambda: moved(folder) >= 4)
    log = folder / "access.log"
    line = "shop.example shop 200 /static/site.css\n"
    assert until(lambda: log.exists() and line in log.read_text(encoding="utf-8"))


def test_all_workers_accept(serve: Servers, folder: Path) -> None:
    """Both workers of the group take connections; when one is killed, no client gets an error."""
    server = start(serve, folder)
    shop = server.addresses[1]
    assert until(lambda: len(workers(folder / CONTROL, "shop")) == 2)
    pids: set[bytes] = set()
    with contextlib.ExitStack() as stack:

        def are_both_met() -> bool:
            one = stack.enter_context(client.Connection(shop))
            pids.add(one.get("/").body.split()[1])
            return len(pids) == 2

        assert until(are_both_met)
    victim = int(pids.pop())
    os.kill(victim, signal.SIGKILL)
    assert until(lambda: not is_alive(victim))
    with asking(server, "/", at=1) as asked:
        server.wait_for_log("was killed by SIGKILL")
    assert [] == asked.wrong


@pytest.mark.parametrize("keeps", [False, True])
def test_reload(serve: Servers, folder: Path, keeps: bool) -> None:  # noqa: FBT001
    """When a reload replaces the group, or only its code, the address stays open; no client gets an error."""
    server = start(serve, folder)
    shop = server.addresses[1]
    before = supervisor(folder / CONTROL, "shop")
    with asking(server, "/", "/slow", at=1, keeps=keeps) as asked:
        for mark in ("second", "third"):
            file_of(folder, mark=mark)
            assert (0, mark) == (reload(folder / CONTROL)[0], words(shop)[2])
        assert until(lambda: not is_alive(before))
        pid = words(shop)[1]
        assert 0 == reload(folder / CONTROL, "shop")[0]
        assert pid != words(shop)[1]
    assert [] == asked.wrong


def test_a_version_that_does_not_start(serve: Servers, folder: Path) -> None:
    """If the group of a new version does not start, the old version keeps the address."""
    server = start(serve, folder)
    good = (folder / "shop.py").read_text(encoding="utf-8")
    with asking(server, "/", at=1) as asked:
        (folder / "shop.py").write_text("import no_such_module\n", encoding="utf-8")
        file_of(folder, mark="second")
        code, said = reload(folder / CONTROL)
        assert (1, True) == (code, "the group shop does not start; the old version serves on" in said), said
        (folder / "shop.py").write_text(good, encoding="utf-8")
        assert (0, "second") == (reload(folder / CONTROL)[0], words(server.addresses[1])[2])
    assert [] == asked.wrong


def is_refused(address: tuple[str, int]) -> bool:
    """Tell whether connections to an address are refused."""
    try:
        socket.create_connection(address).close()
    except ConnectionRefusedError:
        return True
    return False


def test_addresses_that_change(serve: Servers, folder: Path) -> None:
    """A reload opens a new address, keeps another with the clients that wait there, and closes a third."""
    with contextlib.ExitStack() as stack:
        first, kept, new = (stack.enter_context(claimed_port()) for _ in range(3))
        server = start(serve, folder, listeners=3, bind=f"[{at_port(kept)}, {at_port(first)}]")
        assert ["shop", "shop"] == [words(("127.0.0.1", port))[0] for port in (first, kept)]

        with asking(server, "/", at=1) as asked:
            file_of(folder, bind=f"[{at_port(kept)}, {at_port(new)}]")
            assert 0 == reload(folder / CONTROL)[0]
            assert "shop" == words(("127.0.0.1", new))[0]
            assert until(lambda: is_refused(("127.0.0.1", first)))
            server.wait_for_log(rf"listening on http://127\.0\.0\.1:{new} \(group shop\)")
            listens = [f"http://127.0.0.1:{port}" for port in (kept, new)]
            assert listens == group(folder / CONTROL, "shop")["listens"]
        assert [] == asked.wrong


def test_an_address_that_is_taken(serve: Servers, folder: Path) -> None:
    """A reload fails if an address cannot be opened, and so does a start."""
    server = start(serve, folder)
    before = supervisor(folder / CONTROL, "shop")
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        file = file_of(folder, bind=f"[{ANY_PORT}, {at_port(port)}]", mark="second")
        code, said = reload(folder / CONTROL)
        why = f"site.toml:25:8: bind: cannot listen at 127.0.0.1:{port} for the group shop: Address already"
        assert (1, True) == (code, why in said), said
        assert (before, "first") == (supervisor(folder / CONTROL, "shop"), words(server.addresses[1])[2])

        flags = ("--bind", "127.0.0.1:0", "--control", "other.sock")
        done = run("serve", file.name, *flags, cwd=folder, env=ENVIRONMENT)
        assert (1, True) == (done.returncode, why in done.stderr), done.stderr
    assert (0, "second") == (reload(folder / CONTROL)[0], words(("127.0.0.1", port))[2])


def test_succession(serve: Servers, folder: Path) -> None:
    """A new program that replaces the supervisor gets the sockets of groups, and no request is lost."""
    server = start(serve, folder)
    shop = server.addresses[1]
    pid = supervisor(folder / CONTROL, "shop")
    with asking(server, "/", at=1) as asked:
        for count in (1, 2):
            server.signal(signal.SIGUSR2)
            server.wait_for_log("the supervisor is version", count=count)
            assert pid == supervisor(folder / CONTROL, "shop")
        os.kill(pid, signal.SIGTERM)
        assert until(lambda: not is_alive(pid))
        assert until(lambda: states(folder / CONTROL)["shop"] == "serving")
        file_of(folder, mark="second")
        assert (0, "second") == (reload(folder / CONTROL)[0], words(shop)[2])
    assert [] == asked.wrong


def test_succession_asleep(serve: Servers, folder: Path) -> None:
    """The new program knows the addresses of a group without processes, and starts the group for a client."""
    server = start(serve, folder, shop="min-processes = 0")
    server.signal(signal.SIGUSR2)
    server.wait_for_log("the supervisor is version")
    assert "asleep" == states(folder / CONTROL)["shop"]
    assert "shop" == words(server.addresses[1])[0]


def test_asleep(serve: Servers, folder: Path) -> None:
    """A group with `min-processes = 0` starts when a client comes to its address, and ends when it idles."""
    server = start(serve, folder, shop='min-processes = 0\nidle-timeout = "1s"')
    shop = server.addresses[1]
    for _ in range(2):
        assert until(lambda: "asleep" == states(folder / CONTROL)["shop"])
        assert "shop" == words(shop)[0]
    assert 0 == moved(folder)
    with asking(server, "/", at=1) as asked:
        assert asked.goes_on(200)
    assert [] == asked.wrong


def test_one_that_does_not_start(serve: Servers, folder: Path) -> None:
    """Clients of a group that does not start get a 503, and no other site's answer; repaired, it serves."""
    good = (folder / "shop.py").read_text(encoding="utf-8")
    (folder / "shop.py").write_text("import no_such_module\n", encoding="utf-8")
    server = serve(file_of(folder).name, cwd=folder, env=ENVIRONMENT, listeners=2)
    server.wait_for_log("the group shop does not start")
    own, shop = server.addresses

    for host in HOSTS:
        answer = ask(shop, host=host)
        assert (503, True) == (answer.status, answer.closing)
        assert b"busy" not in answer.body
    assert [503, 503] == [
        ask(shop, "/static/site.css", method=method, body=body).status
        for method, body in (("HEAD", None), ("POST", b"x" * 100_000))
    ]
    both = client.exchange(shop, request("/a") + request("/b", fields=[("Host", "own.example")]))
    assert ([503], True) == (both.statuses, both.closed)
    assert [400] == client.exchange(shop, b"GET / HTTP/1.1\r\n\r\n").statuses
    with client.Connection(shop) as silent, client.Connection(shop) as slow:
        slow.send(request("/slow")[:10])
        assert "own" == words(own, host="own.example")[0]
        slow.send(request("/slow")[10:])
        assert 503 == slow.receive().status
        silent.send(request("/"))
        assert 503 == silent.receive().status
    # The state is "starting" while the group is tried again.
    assert until(lambda: "does not start" == states(folder / CONTROL)["shop"])

    (folder / "shop.py").write_text(good, encoding="utf-8")
    server.wait_for_log("the group shop serves")
    assert "shop" == words(shop)[0]


USERS = """
[server]
processes = 1
control = "{control}"
socket-mode = "660"

[groups.shop]
user = "nobody"
processes = 1

[groups.blog]
user = "daemon"
processes = 1

[[sites]]
bind = ["127.0.0.1:0", "unix:{folder}/shop.sock"]
[[sites.routes]]
app = "shop.py"
group = "shop"

[[sites]]
bind = "127.0.0.1:0"
[[sites.routes]]
app = "blog.py"
group = "blog"
"""


def listening(pid: int) -> set[int]:
    """Return the TCP ports at which a process may accept."""
    held = {path.name for path in open_files(pid)}
    lines = Path(f"/proc/{pid}/net/tcp").read_text(encoding="ascii").splitlines()[1:]
    sockets = (line.split() for line in lines)
    return {
        int(words[1].rpartition(":")[2], 16)
        for words in sockets
        if words[3] == LISTENS and f"socket:[{words[9]}]" in held
    }


def test_users(serve: Servers, tmp_path: Path) -> None:
    """Processes of a group have the group's sockets, but none of another group or of the server."""
    with open_folder("bind") as everyones:
        for name in ("shop", "blog"):
            (everyones / f"{name}.py").write_text(APPLICATION, encoding="utf-8")
        control = tmp_path / CONTROL
        file = write(everyones, USERS.format(control=control, folder=everyones))
        if os.geteuid() != 0:
            assert "only root can start processes of the user" in run("serve", str(file)).stderr
            return
        command = adyton("serve", str(file))
        server = serve.start(
            where("755", closed_folders(), command), cwd=everyones, env=ENVIRONMENT, listeners=3
        )
        for name in ("shop", "blog"):
            server.wait_for_log(f"the group {name} serves")
        blog, shop, unix = server.addresses
        assert isinstance(shop, tuple)
        assert isinstance(unix, str)
        assert isinstance(blog, tuple)
        said = json.loads(run("status", "--json", "--control", str(control)).stdout)
        pids = {one["group"]: one["pid"] for one in said["groups"]}

        assert ({shop[1]}, {blog[1]}) == (listening(pids["shop"]), listening(pids["blog"]))
        for address, port in ((shop, shop[1]), (blog, blog[1])):
            assert {port} == listening(int(words(address)[1]))
        assert {shop[1], blog[1]} == listening(server.process.pid)
        assert set() == listening(said["workers"][0]["pid"])
        assert "shop" == words(unix)[0]
        rights = Path(unix).stat()
        assert (0o660, pwd.getpwnam("nobody").pw_gid) == (rights.st_mode & 0o777, rights.st_gid)


def test_unix(serve: Servers, folder: Path) -> None:
    """An address may be a unix socket, whose file is removed with it."""
    path = folder / "shop.sock"
    server = start(serve, folder, listeners=3, bind=f'["unix:{path}", "unix:@{path}"]')
    assert ["shop", "shop"] == [words(address)[0] for address in server.addresses[1:]]
    server.signal(signal.SIGUSR2)
    server.wait_for_log("the supervisor is version")
    assert "shop" == words(str(path))[0]
    file_of(folder, bind=f'"unix:@{path}"')
    assert 0 == reload(folder / CONTROL)[0]
    assert until(lambda: not path.exists())
    assert "shop" == words(f"@{path}")[0]
    file_of(folder, bind=f'["unix:{path}", "unix:@{path}"]')
    assert 0 == reload(folder / CONTROL)[0]
    assert "shop" == words(str(path))[0]
    server.stop()
    assert not path.exists()


ALL = """
[groups.shop]
processes = 1

[[sites]]
bind = "127.0.0.1:0"

[[sites.routes]]
app = "shop:application"
group = "shop"
"""


def test_all_sites(serve: Servers, folder: Path) -> None:
    """If every site has addresses of its own, the server listens nowhere else."""
    file = write(folder, ALL)
    server = serve(file.name, cwd=folder, bind=None, env=ENVIRONMENT)
    assert "shop" == words(server.address)[0]
    assert [server.port] == [address[1] for address in server.addresses]
    server.wait_for_log(r"^adyton: listening on http://127\.0\.0\.1:\d+ \(group shop\)$")
    assert {server.port} == listening(server.process.pid)

    (folder / "shop.py").write_text("import no_such_module\n", encoding="utf-8")
    other = serve(file.name, cwd=folder, bind=None, env=ENVIRONMENT)
    other.wait_for_log("the group shop does not start")
    assert 503 == ask(other.address).status

    done = run("serve", file.name, "--bind", "127.0.0.1:0", cwd=folder, env=ENVIRONMENT)
    why = "nothing is served at 127.0.0.1:0, because every site has addresses of its own (bind of the site)"
    assert (2, True) == (done.returncode, why in done.stderr), done.stderr


SITES = """[server]
bind = "127.0.0.1:7001"
[groups.a]
[groups.b]
[[sites]]
hosts = "own.example"
routes = [{ app = "own:application" }]
[[sites]]
"""

TWO = """bind = "127.0.0.1:7002"
routes = [{ app = "shop:application", group = "a" }]
[[sites]]
%s
hosts = "two.example"
routes = [{ app = "blog:application", group = "%s" }]
"""

MISTAKES = {
    """bind = "fd://3"
routes = [{ app = "shop:application", group = "a" }]
""": "9:8: bind = fd://3: a socket that is open already belongs to the server: fd://N goes into [server]",
    """bind = ["127.0.0.1:7002", "127.0.0.1:7002"]
routes = [{ app = "shop:application", group = "a" }]
""": "9:8: bind: 127.0.0.1:7002 is given twice",
    """bind = "127.0.0.1:7001"
routes = [{ app = "shop:application", group = "a" }]
""": "9:8: bind: 127.0.0.1:7001 is the address of the server already (bind of [server]): leave it out at one",
    """bind = "127.0.0.1:7002"
routes = [{ app = "shop:application" }]
""": "9:8: bind: a group accepts at the addresses of its sites, and no route of this site says group = ",
    """bind = "127.0.0.1:7002"
routes = [
{ path = "/a", app = "shop:application", group = "a" },
{ app = "shop:application" },
]
""": "12:1: this route has no group, and its site is found at addresses that the group a has to itself",
    """bind = "127.0.0.1:7002"
routes = [
{ path = "/a", app = "shop:application", group = "a" },
{ app = "shop:application", group = "b" },
]
""": '12:37: group = "b": this site is found at addresses that the group a has to itself; write group = "a"',
    TWO
    % (
        "",
        "a",
    ): "11:1: this site has no bind, and the group a has addresses to itself for the site of line 8: ",
    TWO
    % ('bind = "127.0.0.1:7003"', "a"): "12:8: bind: the site of line 8 has other addresses for the same ",
    TWO % ('bind = ["127.0.0.1:7003", "127.0.0.1:7002"]', "b"): (
        "12:8: bind: 127.0.0.1:7002 is an address of the group a already (line 8): sites that share an"
    ),
}
"""The rest of a file, and the beginning of the message about its mistake."""


@pytest.mark.parametrize(("text", "said"), MISTAKES.items())
def test_mistakes(folder: Path, text: str, said: str) -> None:
    """Settings that exclude each other are a mistake, reported with its place and a remedy."""
    write(folder, SITES + text)
    done = run("check", "site.toml", cwd=folder)
    assert (2, True) == (done.returncode, f"adyton: site.toml:{said}" in done.stderr), done.stderr


def test_told(folder: Path) -> None:
    """`adyton check` and `adyton route` name the addresses of a site; a URL's port decides on the site."""
    text = file_of(folder, bind='["127.0.0.1:7002", "unix:shop.sock"]').read_text(encoding="utf-8")
    write(folder, text.replace("[server]\n", '[server]\nbind = "127.0.0.1:7001"\n'))
    checked = run("check", "site.toml", cwd=folder, env=ENVIRONMENT)
    assert 0 == checked.returncode, checked.stderr
    heading = (
        "shop.example, and every name (line 25)\n  at 127.0.0.1:7002, unix:shop.sock (group shop) alone\n"
    )
    assert heading in checked.stdout
    assert "  accepts   at 127.0.0.1:7002, unix:shop.sock, without the server\n" in checked.stdout
    for url, app in (
        ("http://shop.example:7002/", "app shop:application in shop"),
        ("http://none.example:7002/", "app shop:application in shop"),
        ("http://shop.example:7001/", "app blog:application in blog"),
        ("http://shop.example/", "app blog:application in blog"),
        ("http://own.example:7001/", "app own:application"),
        ("/", "app own:application"),
    ):
        told = run("route", "site.toml", "GET", url, cwd=folder, env=ENVIRONMENT)
        assert (0, True) == (told.returncode, f"answer {app} / (line" in told.stdout), (
            told.stdout + told.stderr
        )
        is_shop = "shop:application" in app
        assert is_shop == ("at 127.0.0.1:7002, unix:shop.sock (group shop)\n" in told.stdout)


def test_banner(serve: Servers, folder: Path) -> None:
    """The banner and the status name the addresses of groups."""
    server = start(serve, folder)
    assert isinstance(server.addresses[1], tuple)
    shown = f"http://127.0.0.1:{server.addresses[1][1]}"
    assert re.search(rf"^adyton: listening on {shown} \(group shop\)$", server.log(), re.MULTILINE)
    table = run("status", "--control", CONTROL, cwd=folder).stdout
    assert re.search(rf"^group shop: serving, process \d+, started once, at {shown}$", table, re.MULTILINE), (
        table
    )
    assert [shown] == group(folder / CONTROL, "shop")["listens"]
    assert "listens" not in group(folder / CONTROL, "blog")
