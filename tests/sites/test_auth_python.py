"""Python functions that check passwords and access, as in mod_wsgi: their calls, and their results."""

from __future__ import annotations

import base64
import hashlib
import re
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from sites.conftest import write
from support.client import request
from support.server import run, until

if TYPE_CHECKING:
    from pathlib import Path

    from support.client import Response
    from support.server import Server, Servers

PASSWORD = "correct horse"  # noqa: S105 - of a test

AUTH = '''
"""Knows clients."""

import hashlib
import threading
import time

CALLS = []
GATE = threading.Event()


def check_password(environ, user, password):
    CALLS.append((user, threading.current_thread().name))
    print("asked about", user, file=environ["wsgi.errors"])
    if user == "raises":
        raise LookupError("no such directory")
    if user == "exits":
        raise SystemExit(3)
    if user == "seen":
        hidden = ("wsgi.input", "HTTP_AUTHORIZATION", "REMOTE_USER")
        assert not any(key in environ for key in hidden), environ
        return environ["REQUEST_METHOD"] + " " + environ["REQUEST_URI"] + " " + environ["REMOTE_ADDR"]
    if user == "alias":
        return "ann"
    if user == "slow":
        GATE.wait(30)
    if user == "sleeps":
        while True:
            time.sleep(0.01)
    known = {"ann", "bob", "slow", "J\\u00f6rg"}
    answers = {"one": 1, "bytes": b"ann", "list": [True], "empty": "", "line": "a\\nb", "long": "x" * 2000,
               "surrogate": "\\ud800", "none": None}
    if user in answers:
        return answers[user]
    if user not in known:
        return None
    return password == "correct horse"


async def check_later(environ, user, password):
    return True


def groups_for_user(environ, user):
    assert "wsgi.input" not in environ
    groups = {"ann": ["editors", "staff"], "bob": (name for name in ["staff"])}
    wrong = {"J\\u00f6rg": "editors", "slow": None}
    if user in wrong:
        return wrong[user]
    return groups.get(user, [])


def get_realm_hash(environ, user, realm):
    assert "HTTP_AUTHORIZATION" not in environ
    if user == "raises":
        raise LookupError("no such directory")
    wrong = {"short": "abc", "bytes": b"0" * 32}
    if user in wrong:
        return wrong[user]
    if user != "ann":
        return None
    return hashlib.md5(f"{user}:{realm}:correct horse".encode()).hexdigest()


def allow_access(environ, host):
    assert "wsgi.input" not in environ
    if "raises" in environ["PATH_INFO"]:
        raise LookupError("no such list")
    says = {"no": False, "nothing": None, "one": 1, "text": "yes"}
    CALLS.append((environ["REQUEST_METHOD"], host))
    return says.get(environ["PATH_INFO"].rpartition("/")[2], True)


def gate(environ, start_response):
    GATE.set()
    start_response("200 OK", [])
    return [repr(CALLS).encode()]
'''

FILE = """
[server]
access-log = "access.log"
request-timeout = 1

[[sites]]
root = "public"

[[sites.routes]]
path = "/open/"
app = "site_auth.py:gate"

[[sites.routes]]
path = "/admin/"
app = "shop:user"
auth = "basic-python:site_auth.py"
auth-realm = "Staff"

[[sites.routes]]
path = "/upload/"
app = "shop"
auth = "basic-python:site_auth"

[[sites.routes]]
path = "/files/"
files = "static"
auth = "basic-python:site_auth.py"

[[sites.routes]]
path = "/editors/"
app = "shop:user"
auth = "basic-python:site_auth.py"
auth-users = "carl"
auth-groups = "editors"

[[sites.routes]]
path = "/staff/"
app = "shop:user"
auth = "basic:staff.htpasswd"
auth-groups = "editors"
auth-group-python = "site_auth.py"

[[sites.routes]]
path = "/later/"
app = "shop:user"
auth = "basic-python:site_auth.py:check_later"

[[sites.routes]]
path = "/cgi-bin/"
cgi = "cgi-bin"
auth = "basic-python:site_auth.py"

[[sites.routes]]
path = "/some/"
app = "shop"
allow-python = "site_auth.py"

[[sites.routes]]
path = "/some/files/"
files = "static"
allow-python = "site_auth.py"

[[sites.routes]]
path = "/some/staff/"
app = "shop:user"
allow-python = "site_auth.py"
auth = "basic:staff.htpasswd"

[[sites.routes]]
path = "/some/who/"
app = "shop:user"
allow-python = "site_auth.py"
auth = "basic-python:site_auth.py"

[[sites.routes]]
path = "/some/far/"
app = "shop"
allow = "192.0.2.1"
allow-python = "site_auth.py"

[[sites.routes]]
path = "/digest/"
app = "shop:user"
auth = "digest-python:site_auth.py"
auth-realm = "Staff"

[[sites.routes]]
path = "/digest/editors/"
app = "shop:user"
auth = "digest-python:site_auth.py"
auth-realm = "Staff"
auth-groups = "editors"
"""


CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

SCRIPT = """#!/bin/sh
printf 'Content-Type: text/plain\\n\\n'
echo "$REMOTE_USER|$AUTH_TYPE|$HTTP_AUTHORIZATION|$(wc -c)"
"""


def credentials(user: str, password: str = PASSWORD) -> list[tuple[str, str]]:
    """Return the field `Authorization` of a user."""
    return [("Authorization", "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode())]


@pytest.fixture
def known(project: Path) -> Path:
    """Return the project with a module that has the functions."""
    (project / "site_auth.py").write_text(AUTH, encoding="utf-8")
    (project / "public/static/page.txt").write_text("a file\n", encoding="utf-8")
    script = project / "public/cgi-bin/say.sh"
    script.parent.mkdir()
    script.write_text(SCRIPT, encoding="utf-8")
    script.chmod(0o755)
    return project


@pytest.fixture(params=["--threads=1", "--threads=4", "--hand-over=always", "--stream-body=on"])
def server(serve: Servers, known: Path, request: pytest.FixtureRequest) -> Server:
    """Serve the file."""
    return serve(write(known, FILE), request.param, cwd=known)


def get(server: Server, target: str, user: str = "", password: str = PASSWORD) -> Response:
    """Return the answer to a request, with credentials if there is a user."""
    fields = credentials(user, password) if user else []
    return server.fetch(target, fields=fields, lint_answers=False)


def test_password(server: Server) -> None:
    """A user with the password is let in under the name that the function returns, at each request anew."""
    for _ in range(2):
        assert b"ann Basic None" == get(server, "/admin/x", "ann").body
    assert b"ann Basic None" == get(server, "/admin/x", "alias", "anything").body
    for user, password in [("ann", "wrong"), ("ann", ""), ("nobody", PASSWORD), ("none", PASSWORD), ("", "")]:
        answer = get(server, "/admin/x", user, password)

        assert 401 == answer.status, user
        assert 'Basic realm="Staff", charset="UTF-8"' == answer["WWW-Authenticate"]
    assert b"GET /admin/x?y=1 127.0.0.1 Basic None" == get(server, "/admin/x?y=1", "seen").body
    assert 4 == get(server, "/open/").body.decode().count("('ann', ")


def test_files(server: Server) -> None:
    """Files are guarded, too."""
    assert [401, 401, 200] == [
        get(server, "/files/page.txt", *who).status for who in [(), ("ann", "wrong"), ("ann",)]
    ]
    assert [401, 404] == [get(server, "/files/none", *who).status for who in [(), ("ann",)]]
    assert b"a file\n" == get(server, "//files//page.txt", "bob").body


def test_scripts(server: Server) -> None:
    """CGI scripts are guarded, too; they get the name and the whole body."""
    for size in (0, 10, 300_000):
        body = b"x" * size
        for who, status in [([], 401), (credentials("ann", "wrong"), 401), (credentials("ann"), 200)]:
            with server.connect(lint_answers=False) as connection:
                answer = connection.get("/cgi-bin/say.sh", method="POST", fields=who, body=body)

                assert status == answer.status
        assert f"ann|Basic||{size}\n".encode() == answer.body


@pytest.mark.parametrize(
    ("user", "why"),
    [
        ("raises", "LookupError: no such directory"),
        ("exits", "SystemExit: 3"),
        ("one", "returns True, False, None, or the name of the user, and not int"),
        ("bytes", "and not bytes"),
        ("list", "and not list"),
        ("empty", "a name has 1 to 1024 bytes and no control characters"),
        ("line", "a name has 1 to 1024 bytes and no control characters"),
        ("long", "a name has 1 to 1024 bytes and no control characters"),
        ("surrogate", "UnicodeEncodeError"),
    ],
)
def test_what_is_no_answer(server: Server, user: str, why: str) -> None:
    """A function that raises, or returns no valid answer, lets nobody in; the log names the request."""
    for target in ("/admin/", "/files/page.txt"):
        answer = get(server, target, user)

        assert 500 == answer.status
        assert b"file" not in answer.body
    assert until(lambda: 2 == server.log().count(why))
    assert "ADY227 error: " in server.log()
    assert "site_auth.py:check_password for GET /admin/ failed:" in server.log()
    assert 200 == get(server, "/admin/", "ann").status


def test_coroutine(server: Server) -> None:
    """A coroutine function gives no answer, and lets nobody in."""
    assert 500 == get(server, "/later/", "ann").status
    assert "and not coroutine" in server.log()


@pytest.mark.parametrize(
    ("name", "password", "status"),
    [
        ("x" * 900, "p", 401),
        ("x" * 2000, "p", 401),
        ("ann\0", PASSWORD, 401),
        ("ann", PASSWORD + "\0", 401),
        ("J\u00f6rg", PASSWORD, 200),
        ("ann:", PASSWORD, 401),
        ("", PASSWORD, 401),
    ],
)
def test_names(server: Server, name: str, password: str, status: int) -> None:
    """Long names and passwords, and arbitrary bytes in them, reach the function or are refused before it."""
    assert status == server.fetch("/admin/", fields=credentials(name, password), lint_answers=False).status


def test_bytes(server: Server) -> None:
    """Credentials that are not UTF-8 are refused without a call of the function."""
    for said in (b"ann:\xff", b"J\xf6rg:correct horse", b"\xff\xfe:x"):
        field = ("Authorization", "Basic " + base64.b64encode(said).decode())

        assert 401 == server.fetch("/admin/", fields=[field], lint_answers=False).status
    assert b"[]" == get(server, "/open/").body


def test_groups(server: Server) -> None:
    """The groups of a user are asked for if a route names groups, for passwords of Python and of a file."""
    assert [200, 401] == [get(server, "/editors/", user).status for user in ("ann", "bob")]
    assert 500 == get(server, "/editors/", "J\u00f6rg").status
    assert "site_auth.py:groups_for_user returns a list of names, and not str" in server.log()
    assert [401, 200] == [get(server, "/staff/", "ann", word).status for word in ("wrong", PASSWORD)]


def test_access(server: Server) -> None:
    """A function decides whether a request is let in; addresses count before it, and passwords after it."""
    for place in ("/some/", "/some/files/"):
        wanted = [("no", 403), ("one", 500), ("text", 500), ("raises", 500)]
        assert wanted == [(name, get(server, place + name).status) for name, _ in wanted]
        assert [403, 403] == [get(server, place + "no", *who).status for who in [("ann",), ("ann", "wrong")]]
    assert [200, 200, 404] == [
        get(server, target).status for target in ("/some/x", "/some/nothing", "/some/files/x")
    ]
    assert b"a file\n" == get(server, "/some/files/page.txt", "ann").body
    assert "site_auth.py:allow_access returns True, False or None, and not int" in server.log()
    for place in ("/some/staff/", "/some/who/"):
        for _ in range(2):
            assert [401, 401, 200] == [
                get(server, place, *who).status for who in [(), ("ann", "wrong"), ("ann",)]
            ]
            assert [403, 403] == [get(server, place + "no", *who).status for who in [(), ("ann",)]]
    asked = get(server, "/open/").body
    assert 403 == get(server, "/some/far/").status
    assert asked == get(server, "/open/").body
    assert b"('GET', '127.0.0.1')" in asked


def test_access_of_bodies(server: Server) -> None:
    """The body of an admitted request arrives; a refused request's body does not disturb the next one."""
    with server.connect(lint_answers=False) as connection:
        for size in (10, 300_000):
            answer = connection.get("/some/x", method="POST", body=b"x" * size)

            assert answer.body.decode().endswith(f" {size}")
            assert 403 == connection.get("/some/no", method="POST", body=b"x" * 10).status
            assert 200 == connection.get("/open/").status


def test_bodies(server: Server) -> None:
    """The application gets a whole body, whether the body was kept in memory or in a file."""
    with server.connect(lint_answers=False) as connection:
        for size in (10, 300_000, 5_000_000):
            for _ in range(2):
                fields = credentials("ann")
                answer = connection.get("/upload/", method="POST", fields=fields, body=b"x" * size)

                assert 200 == answer.status
                assert answer.body.decode().endswith(f" {size}")
            assert (
                500
                == connection.get("/upload/", method="POST", fields=credentials("raises"), body=b"x").status
            )


def test_pipelined(server: Server) -> None:
    """Pipelined requests are answered in order, each for its own user."""
    asked = [
        ("/admin/", "ann"),
        ("/files/page.txt", "bob"),
        ("/admin/", "nobody"),
        ("/open/", ""),
        ("/admin/", "bob"),
    ]
    with server.connect(lint_answers=False) as connection:
        given = [(target, credentials(user) if user else []) for target, user in asked]
        connection.send(b"".join(request(target, fields=fields) for target, fields in given))
        answers = [connection.receive() for _ in asked]

    assert [200, 200, 401, 200, 200] == [answer.status for answer in answers]
    assert b"ann Basic None" == answers[0].body
    assert b"bob Basic None" == answers[4].body


def test_crowd(server: Server) -> None:
    """Each of many requests at once is answered for its own user, and for no other."""
    with ThreadPoolExecutor(16) as pool:
        users = ["ann", "bob", "J\u00f6rg"] * 20
        answers = list(pool.map(lambda user: get(server, "/admin/", user), users))

    # A string in an environ has one character for each byte.
    assert users == [answer.body.split()[0].decode().encode("latin-1").decode() for answer in answers]
    assert 401 == get(server, "/admin/").status


def test_throttle(server: Server) -> None:
    """An address that has often sent wrong passwords must wait, and the function is not called meanwhile."""
    statuses = [get(server, "/admin/", "ann", f"guess {number}").status for number in range(40)]

    assert {401, 429} == set(statuses)
    assert 429 == statuses[-1]
    asked = get(server, "/open/").body.decode().count("'ann'")
    assert asked < 40
    assert 429 == get(server, "/admin/", "ann").status
    assert asked == get(server, "/open/").body.decode().count("'ann'")


def test_slow(server: Server) -> None:
    """A function that takes too long is interrupted, and lets nobody in."""
    answer = get(server, "/admin/", "sleeps")

    assert 504 == answer.status
    assert until(lambda: "in check_password" in server.log())
    assert 200 == get(server, "/admin/", "ann").status


def test_holds_nobody_up(serve: Servers, known: Path) -> None:
    """While a function waits, other requests are answered: files at once, applications by other threads."""
    server = serve(write(known, FILE.replace("request-timeout = 1", "")), "--threads=4", cwd=known)
    with ThreadPoolExecutor(2) as pool:
        waits = pool.submit(get, server, "/admin/", "slow")
        assert until(lambda: "asked about slow" in server.log())
        assert b"a file\n" == get(server, "/files/page.txt", "bob").body
        assert not waits.done()
        assert 200 == get(server, "/open/").status
        assert b"slow Basic None" == waits.result(60).body


def test_log(server: Server, known: Path) -> None:
    """The access log has the user; lines that the function prints have the request's name."""
    get(server, "/admin/a", "alias")
    get(server, "/admin/b", "ann", "wrong")
    get(server, "/admin/c", "raises")
    server.stop()

    lines = (known / "access.log").read_text(encoding="utf-8").splitlines()

    assert ["ann", "-", "-"] == [line.split()[2] for line in lines]
    assert not any(PASSWORD in line for line in lines)
    assert PASSWORD not in server.log()


def test_methods(server: Server) -> None:
    """In every method, only a user with the password gets the answer."""
    for method in ("GET", "HEAD", "OPTIONS", "PUT", "TRACE", "PURGE"):
        for target in ("/admin/", "/some/who/x", "/files/page.txt", "/%61dmin/", "//admin//x", "/admin"):
            for who in ([], credentials("ann", "wrong")):
                with server.connect(lint_answers=False) as connection:
                    answer = connection.get(target, method=method, fields=who)

                    assert answer.status in {401, 429}, (method, target)
    server.stop()
    assert "panicked" not in server.log()


def test_server_as_a_whole(serve: Servers, known: Path) -> None:
    """Requests that reach no application, or ask for other protocols, get their usual answers if let in."""
    line = 'auth = "basic-python:site_auth.py"\nallow-python = "site_auth.py"'
    server = serve(write(known, f'[[sites]]\n[[sites.routes]]\napp = "shop:user"\n{line}\n'), cwd=known)
    web_socket = [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Key", "x")]
    wanted = {("TRACE", "/"): 405, ("OPTIONS", "*"): 204, ("GET", "/"): 501}
    for (method, target), status in wanted.items():
        fields = [*credentials("ann"), *(web_socket if method == "GET" else [])]
        with server.connect(lint_answers=False) as connection:
            connection.send(request(target, method=method, fields=fields))

            assert status == connection.receive("GET").status, method


def test_continue(server: Server) -> None:
    """A client with a password is asked for its body before the check; a client without one is not asked."""
    expects = [("Content-Length", "4"), ("Expect", "100-continue")]
    for who, status in [([], 401), (credentials("ann"), 200), (credentials("ann", "wrong"), 401)]:
        with server.connect(lint_answers=False) as connection:
            connection.send(request("/upload/", method="POST", fields=[*who, *expects]))
            start = connection.socket.recv(len(CONTINUE), socket.MSG_PEEK | socket.MSG_WAITALL)
            if start == CONTINUE:
                connection.socket.recv(len(CONTINUE))
                connection.send(b"body")

            assert status == connection.receive("POST").status
            assert bool(who) or start != CONTINUE


REMEMBER = """
[[sites]]
[[sites.routes]]
app = "site_auth.py:gate"

[[sites.routes]]
path = "/admin/"
app = "shop:user"
auth = "basic-python:site_auth.py"
auth-groups = "staff"
auth-remember = "REMEMBER"

[[sites.routes]]
path = "/editors/"
app = "shop:user"
auth = "basic-python:site_auth.py"
auth-groups = "editors"
auth-remember = "REMEMBER"
"""


def test_remembered(serve: Servers, known: Path) -> None:
    """A user who was let in is remembered if a route says so, for that route's rule and time."""
    server = serve(write(known, REMEMBER.replace("REMEMBER", "1h")), "--threads=4", cwd=known)
    for _ in range(3):
        assert [b"bob Basic None", b"ann Basic None"] == [
            get(server, "/admin/", user).body for user in ("bob", "ann")
        ]
        assert [401, 200] == [get(server, "/editors/", user).status for user in ("bob", "ann")]
        assert 401 == get(server, "/admin/", "ann", "wrong").status
        assert b"ann Basic None" == get(server, "/admin/", "alias", "anything").body
    asked = get(server, "/").body.decode()
    # For a refused user, or for a user whom the function names differently, the function is called each time.
    assert (1 + 3, 1 + 1 + 3, 3) == tuple(asked.count(f"('{user}', ") for user in ("bob", "ann", "alias"))
    server.stop()
    server = serve(write(known, REMEMBER.replace("REMEMBER", "1ms")), "--threads=4", cwd=known)

    def is_asked_again() -> bool:
        assert 200 == get(server, "/admin/", "ann").status
        return get(server, "/").body.count(b"('ann', ") > 1

    assert until(is_asked_again)


BESIDE = """
[[sites]]
rewrite = ["/old/ -> /digest/"]

[[sites.routes]]
app = "site_auth.py:gate"

[[sites.routes]]
path = "/files/"
files = "public/static"
auth = "basic-python:site_auth.py"
allow-python = "site_auth.py"
may-set = ["auth"]

[[sites.routes]]
path = "/digest/"
app = "shop:user"
auth = "digest-python:site_auth.py"
auth-realm = "Staff"
"""


def test_beside_others(serve: Servers, known: Path) -> None:
    """Rules of routes and of folders are both asked, once each; a digest is checked for the path as sent."""
    inner = known / "public/static/inner"
    inner.mkdir()
    (inner / "a.txt").write_text("inner\n", encoding="utf-8")
    (inner / ".adyton.toml").write_text('auth = "basic:.htpasswd"\nauth-users = "ann"\n', encoding="utf-8")
    users = (known / "staff.htpasswd").read_text(encoding="utf-8")
    (inner / ".htpasswd").write_text(users + users.replace("ann", "bob"), encoding="utf-8")
    server = serve(write(known, BESIDE), "--threads=4", cwd=known)

    assert [401, 401, 200, 401] == [
        get(server, "/files/inner/a.txt", *who).status for who in [(), ("ann", "wrong"), ("ann",), ("bob",)]
    ]
    assert 200 == get(server, "/files/page.txt", "bob").status
    before = get(server, "/calls").body.count(b"('ann', ")
    assert b"inner\n" == get(server, "/files/inner/a.txt", "ann").body
    assert 1 == get(server, "/calls").body.count(b"('ann', ") - before
    fields = digest(get(server, "/digest/"), "GET", "/old/x", 1)
    assert b"ann Digest None" == server.fetch("/old/x", fields=fields, lint_answers=False).body
    (inner / ".adyton.toml").write_text('auth = "basic-python:site_auth"\n', encoding="utf-8")
    assert until(lambda: get(server, "/files/inner/a.txt", "ann").status == 500)
    assert "no code runs because a folder says so" in server.log()


GROUP = """
[groups.shop]
processes = 1

[[sites]]
[[sites.routes]]
path = "/shop/"
app = "shop:user"
group = "shop"
auth = "basic-python:site_auth.py"
auth-groups = "editors"

[[sites.routes]]
path = "/calls/"
app = "site_auth.py:gate"
group = "shop"

[[sites.routes]]
path = "/own/calls/"
app = "site_auth.py:gate"

[[sites.routes]]
path = "/files/"
files = "public/static"
auth = "basic-python:site_auth.py"
"""


def test_group(serve: Servers, known: Path) -> None:
    """A function runs in the process that answers: for a group's application, in a process of the group."""
    server = serve(write(known, GROUP), cwd=known, env={"ADYTON_PROCESSES": "1"})
    for _ in range(2):
        assert [401, 401, 401, 200] == [
            get(server, "/shop/", *who).status for who in [(), ("ann", "wrong"), ("bob",), ("ann",)]
        ]
    assert [401, 200] == [get(server, "/files/page.txt", *who).status for who in [(), ("bob",)]]
    in_group, own = (get(server, target).body for target in ("/calls/", "/own/calls/"))

    assert (6, 0) == (in_group.count(b"('"), in_group.count(b"('bob', ") - 2)
    assert 1 == own.count(b"('")


@pytest.mark.parametrize("flags", [[], ["--preload=on"]], ids=["", "preload"])
def test_workers(serve: Servers, known: Path, flags: list[str]) -> None:
    """Each worker calls the function itself; a new version of the function counts after a reload."""
    server = serve(write(known, FILE), *flags, cwd=known, env={"ADYTON_PROCESSES": "2"})
    for _ in range(4):
        assert [200, 401] == [get(server, "/admin/", *who).status for who in [("ann",), ("ann", "wrong")]]
    told = run("route", "site.toml", "GET", "/some/who/", cwd=known).stdout
    assert "unless site_auth.py lets it in; then:" in told
    assert "without a name and a password" in told
    (known / "site_auth.py").write_text(AUTH.replace('"correct horse"', '"another"'), encoding="utf-8")
    server.process.send_signal(signal.SIGHUP)

    assert until(lambda: get(server, "/admin/", "bob", "another").status == 200)


def test_name(serve: Servers, known: Path) -> None:
    """A request has the same name in lines that the function prints and in the answer."""
    server = serve(write(known, FILE), "--request-id-header=X-Request-Id", cwd=known)
    for target in ("/admin/", "/files/page.txt"):
        for user, password in [("ann", PASSWORD), ("ann", "wrong"), ("raises", PASSWORD)]:
            answer = get(server, target, user, password)
            told = f"request {answer['X-Request-Id']} stderr: asked about {user}"

            assert until(lambda told=told: told in server.log())


def digest(
    answer: Response, method: str, uri: str, number: int, user: str = "ann", password: str = PASSWORD
) -> list[tuple[str, str]]:
    """Return the field that answers a challenge (RFC 7616 section 3.4.1)."""
    told = dict(re.findall(r'(\w+)="?([^",]+)"?', answer["WWW-Authenticate"]))

    def hashed(*parts: str) -> str:
        return hashlib.md5(":".join(parts).encode(), usedforsecurity=False).hexdigest()

    count, own = f"{number:08x}", "0a4f113b"
    response = hashed(hashed(user, "Staff", password), told["nonce"], count, own, "auth", hashed(method, uri))
    value = (
        f'Digest username="{user}", realm="Staff", nonce="{told["nonce"]}", uri="{uri}", algorithm=MD5, '
        f'qop=auth, nc={count}, cnonce="{own}", response="{response}"'
    )
    return [("Authorization", value)]


def test_digest(serve: Servers, known: Path) -> None:
    """Digests are compared with the hash that the function returns; each nonce count is valid once."""
    server = serve(write(known, FILE), "--threads=4", "--processes=1", cwd=known)
    first = get(server, "/digest/")

    assert 401 == first.status
    assert "algorithm=MD5" in first["WWW-Authenticate"]

    def ask(target: str, number: int, **proof: str) -> Response:
        fields = digest(first, "GET", proof.pop("uri", target), number, **proof)
        return server.fetch(target, fields=fields, lint_answers=False)

    assert b"ann Digest None" == ask("/digest/", 1).body
    assert "stale=true" in ask("/digest/", 1)["WWW-Authenticate"]
    assert [200, 200] == [
        ask(target, 2 + at).status for at, target in enumerate(["/digest/x?y", "/digest/z"])
    ]
    assert 401 == ask("/digest/", 4, password="wrong").status  # noqa: S106 - of a test
    assert 401 == ask("/digest/", 5, uri="/other").status
    assert 401 == ask("/digest/", 6, user="nobody").status
    assert [500, 500, 500] == [
        ask("/digest/", 7 + at, user=user).status for at, user in enumerate(["raises", "short", "bytes"])
    ]
    assert "get_realm_hash returns None, or 32 hexadecimal digits, and not bytes" in server.log()
    assert 401 == ask("/digest/", 10, user="#x").status
    second = get(server, "/digest/editors/")
    fields = digest(second, "GET", "/digest/editors/", 1)
    assert 200 == server.fetch("/digest/editors/", fields=fields, lint_answers=False).status


def test_command_line(serve: Servers, known: Path) -> None:
    """A command line can name a function, for an application and for files alone."""
    for arguments in (["shop:user"], ["--static=/=public/static"]):
        server = serve(*arguments, "--auth=basic-python:site_auth", cwd=known)

        assert [401, 401, 200] == [
            get(server, "/page.txt", *who).status for who in [(), ("ann", "wrong"), ("ann",)]
        ]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (
            'auth = "basic-python:"',
            "site.toml:4:8: auth = basic-python:: write MODULE, FILE.py, or either with :NAME behind it",
        ),
        ('auth = "basic-python:none.py"', "auth: there is no none.py in"),
        ('auth = "basic-python:public"', "auth: public is a folder, and no Python"),
        ('auth = "basic-python:site_auth:other"', "site_auth has no other"),
        ('auth = "basic-python:site_auth:CALLS"', "site_auth:CALLS is no function"),
        ('auth = "digest-python:shop"', "shop has no get_realm_hash"),
        ('auth = "basic-python:shop:user"\nauth-groups = "x"', "shop has no groups_for_user"),
        ('allow-python = "site_auth:none"', "site_auth has no none"),
        ('allow-python = "none.py"', "allow-python: there is no none.py in"),
        (
            'allow-python = "site_auth"\nauth-satisfy = "any"',
            "allow-python: with auth-satisfy = any an address",
        ),
        ('auth = "python:site_auth"', "write off, basic:FILE, digest:FILE, basic-python:TARGET"),
    ],
)
def test_wrong(known: Path, line: str, sentence: str) -> None:
    """A rule whose function cannot be called is reported before anything is served."""
    write(known, f'[[sites]]\n[[sites.routes]]\napp = "shop:user"\n{line}\n')
    wrong = run("check", "site.toml", cwd=known)

    assert 0 != wrong.returncode
    assert sentence in wrong.stderr
