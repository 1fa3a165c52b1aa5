"""Routes that ask for a name and a password: who is let in, in all spellings of paths; what is logged."""

from __future__ import annotations

import base64
import hashlib
import re
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from sites.conftest import BCRYPT, write
from support.client import request
from support.server import run, until

if TYPE_CHECKING:
    from pathlib import Path

    from support.client import Response
    from support.server import Server, Servers

PASSWORD = "correct horse"  # noqa: S105 - of a test

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

HASHES = {
    "bcrypt": BCRYPT,
    "sha512": "$6$rounds=5000$saltsalt$hRM5XZ86KXEw9UOmjigeVqFgULtFB2sgpC9lXQDfMib3Zgw7mEiUvBJI2Epl"
    "zfAqxL5Vvwp2scFtv/uamSo5z0",
    "sha256": "$5$saltsalt$myjXcpMpE2Ofk7fj9hqyNYSn6lmWG4Mqnjx.KIRRr4/",
    "apr1": "$apr1$abcdefgh$sIQmFnT1CuEXAsyjuXjUX/",
}
"""The password, hashed as crypt(3) and `openssl passwd -apr1` do."""

FILE = """
[server]
access-log = "access.log"

[[sites]]
root = "public"

[[sites.routes]]
app = "shop:application"

[[sites.routes]]
path = "/static/"
files = "static"

[[sites.routes]]
path = "/static/secret/"
files = "static/secret"
auth = "basic:staff"

[[sites.routes]]
path = "/admin/"
app = "shop:user"
auth = "basic:staff"
auth-realm = "Staff"

[[sites.routes]]
path = "/admin/bcrypt/"
app = "shop:user"
auth = "basic:staff"
auth-users = "bcrypt, nobody"

[[sites.routes]]
path = "/admin/old/"
handler = "shop:who"
auth = "basic:staff"
auth-groups = "old"
auth-group-file = "groups"

[[sites.routes]]
path = "/near/"
app = "shop:user"
auth = "basic:staff"
allow = "127.0.0.1"
auth-satisfy = "any"

[[sites.routes]]
path = "/far/"
app = "shop:user"
auth = "basic:staff"
allow = "192.0.2.1"
"""

DIGEST = """
[[sites]]
[[sites.routes]]
app = "shop:user"
auth = "digest:digests"
auth-realm = "Staff"
"""

PROTECTED = [
    "/static/secret/key.txt",
    "/static/%73ecret/key.txt",
    "//static//secret//key.txt",
    "/static%2Fsecret/key.txt",
    "/static/secret%2fkey.txt",
    "/static/secret",
    "/static/secret/none",
    "/admin",
    "/admin/",
    "/%61dmin/x",
    "//admin//x",
    "/admin/x;y",
    "/admin?x",
]
"""Paths that are protected, in all spellings."""


def credentials(user: str, password: str) -> list[tuple[str, str]]:
    """Return the field `Authorization` of a user."""
    return [("Authorization", "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode())]


@pytest.fixture
def staffed(project: Path) -> Path:
    """Return the project with files of passwords and of groups."""
    users = [f"{name}:{hashed}\n" for name, hashed in HASHES.items()]
    (project / "staff").write_text("# those that work here\n" + "".join(users), encoding="utf-8")
    (project / "groups").write_text("old: sha256 apr1\nnew: bcrypt\n", encoding="utf-8")
    digests = [
        f"ann:Staff:{hashlib.new(name, f'ann:Staff:{PASSWORD}'.encode()).hexdigest()}\n"
        for name in ("md5", "sha256")
    ]
    (project / "digests").write_text("".join(digests), encoding="utf-8")
    return project


@pytest.fixture
def server(serve: Servers, staffed: Path) -> Server:
    """Serve the file."""
    return serve(write(staffed, FILE), cwd=staffed)


def get(
    server: Server, target: str, user: str = "", password: str = PASSWORD, method: str = "GET"
) -> Response:
    """Return the answer to a request, with credentials if there is a user."""
    fields = credentials(user, password) if user else []
    return server.fetch(target, method=method, fields=fields, lint_answers=False)


@pytest.mark.parametrize("target", PROTECTED)
def test_protected(server: Server, target: str) -> None:
    """No request is let in without a password, in any method; it gets a 401 (RFC 9110 section 11.6.1)."""
    for method in ("GET", "POST", "HEAD", "OPTIONS", "PUT", "TRACE", "PURGE"):
        answer = get(server, target, method=method)

        assert 401 == answer.status, method
        assert answer["WWW-Authenticate"].startswith('Basic realm="')
        assert b"secret" not in answer.body


@pytest.mark.parametrize("user", HASHES)
def test_hashes(server: Server, user: str) -> None:
    """Each kind of hash is verified, before and after it is remembered; a wrong password is refused."""
    for _ in range(3):
        answer = get(server, "/admin/x?y", user)

        assert (200, f"{user} Basic None") == (answer.status, answer.body.decode())
        assert b"secret\n" == get(server, "/static/secret/key.txt", user).body
        assert 401 == get(server, "/admin/x", user, PASSWORD + " ").status


def test_who(server: Server) -> None:
    """Users and groups that the route names are let in; addresses may be required, too, or be enough."""
    assert [200, 401] == [get(server, "/admin/bcrypt/", user).status for user in ("bcrypt", "apr1")]
    assert [401, 200, 200] == [
        get(server, "/admin/old/", user).status for user in ("bcrypt", "apr1", "sha256")
    ]
    assert b"apr1 False" == get(server, "/admin/old/", "apr1").body
    assert [200, 403] == [get(server, target).status for target in ("/near/", "/far/")]
    assert b"None None None" == get(server, "/near/").body


@pytest.mark.parametrize(
    "field",
    [
        "Basic",
        "Basic ",
        "Basic !",
        "Basic YmNyeXB0",
        "Bearer YmNyeXB0OmNvcnJlY3QgaG9yc2U=",
        "Basic YmNyeXB0OmNvcnJlY3QgaG9yc2U",
        "Basic YmNyeXB0OmNvcnJlY3QgaG9yc2U= x",
        "Basic " + "A" * 4096,
        "Digest username=bcrypt",
    ],
)
def test_wrong_fields(server: Server, field: str) -> None:
    """A field that cannot be read is refused, and so are two fields."""
    assert 401 == server.fetch("/admin/", fields=[("Authorization", field)], lint_answers=False).status
    twice = [*credentials("bcrypt", PASSWORD), ("Authorization", field)]
    assert server.fetch("/admin/", fields=twice, lint_answers=False).status in {400, 401}


def test_bodies(server: Server) -> None:
    """The body of an admitted request reaches the application; a refused client is not asked for a body."""
    body = b"x" * 300_000
    with server.connect(lint_answers=False) as connection:
        for _ in range(2):
            answer = connection.get(
                "/admin/", method="POST", fields=credentials("sha512", PASSWORD), body=body
            )

            assert (200, "sha512 Basic None") == (answer.status, answer.body.decode())
    expects = [("Content-Length", "4"), ("Expect", "100-continue")]
    for fields, status in [(credentials("sha256", PASSWORD), 200), ([], 401)]:
        for _ in range(2):
            with server.connect(lint_answers=False) as connection:
                connection.send(request("/admin/", method="POST", fields=[*fields, *expects]))
                if status == 200:
                    assert connection.socket.recv(len(CONTINUE), socket.MSG_WAITALL) == CONTINUE
                    connection.send(b"body")

                assert status == connection.receive("POST").status


def test_many_at_once(server: Server) -> None:
    """Clients that come while passwords are verified are answered; pipelined requests keep their order."""
    with ThreadPoolExecutor(16) as pool:
        wanted = [(user, PASSWORD, 200) for user in HASHES] + [("apr1", "no", 401), ("", "", 401)]
        asked = [
            (user, pool.submit(get, server, "/admin/", user, word), status)
            for user, word, status in wanted * 8
        ]
        for user, answer, status in asked:
            assert status == answer.result().status, user
    (_, field), (_, other) = *credentials("bcrypt", PASSWORD), *credentials("sha512", PASSWORD)
    with server.connect(lint_answers=False) as connection:
        asking = [
            ("/", ""),
            ("/admin/", field),
            ("/static/site.css", ""),
            ("/admin/", other),
            ("/admin/", ""),
        ]
        given = [(target, [("Authorization", value)] if value else []) for target, value in asking]
        connection.send(b"".join(request(target, fields=fields) for target, fields in given))

        assert [200, 200, 200, 200, 401] == [connection.receive().status for _ in asking]


def test_throttle(server: Server) -> None:
    """An address that has sent many wrong passwords must wait, whatever it sends; this is logged once."""
    assert 200 == get(server, "/admin/", "bcrypt").status

    statuses = [get(server, "/admin/", "apr1", f"guess {number}").status for number in range(40)]

    assert 429 == statuses[-1]
    assert {401, 429} == set(statuses)
    assert 0 < int(get(server, "/admin/", "apr1", "another")["Retry-After"])
    assert [429, 429] == [get(server, "/admin/", user).status for user in ("bcrypt", "apr1")]
    assert [200, 401] == [get(server, target).status for target in ("/", "/admin/")]
    assert 1 <= server.log().count("127.0.0.1 has to wait for 1 s after wrong passwords") <= 2


def test_log(server: Server, staffed: Path) -> None:
    """The access log has the name of a user who was let in, and a dash for any other client."""
    get(server, "/admin/a", "bcrypt")
    get(server, "/admin/b", "bcrypt", "wrong")
    get(server, "/c", "bcrypt")
    server.stop()

    lines = (staffed / "access.log").read_text(encoding="utf-8").splitlines()

    assert ["bcrypt", "-", "-"] == [line.split()[2] for line in lines]
    assert not any(PASSWORD in line for line in lines)


def test_changed_file(server: Server, staffed: Path) -> None:
    """A changed file of passwords counts within a second; a wrong file is logged, and changes nothing."""
    assert 200 == get(server, "/admin/", "apr1").status
    file = staffed / "staff"
    text = file.read_text(encoding="utf-8")
    mark = server.mark()
    file.write_text("nonsense\n", encoding="utf-8")
    assert until(lambda: get(server, "/admin/", "apr1").status == 200 and "staff:1: " in server.log()[mark:])
    file.write_text(text.replace("apr1:", "other:"), encoding="utf-8")

    assert until(lambda: get(server, "/admin/", "apr1").status == 401)
    assert 200 == get(server, "/admin/", "other").status


def test_command_line(serve: Servers, staffed: Path) -> None:
    """A command line can ask for passwords; `check` and `route` show this, and wrong files are reported."""
    server = serve("shop:user", "--auth=basic:staff", "--static=/files=public", cwd=staffed)

    assert [401, 200] == [get(server, "/", user).status for user in ("", "sha256")]
    assert [401, 200] == [get(server, "/files/static/site.css", user).status for user in ("", "sha256")]
    write(staffed, FILE)
    assert "users" in run("check", "site.toml", cwd=staffed).stdout
    explained = run("route", "site.toml", "GET", "/admin/x", cwd=staffed).stdout
    assert re.search(
        r"answer 401 /admin/ \(line \d+\): without a name and a password; with them:\nanswer app", explained
    )
    sha1 = base64.b64encode(hashlib.sha1(b"x", usedforsecurity=False).digest()).decode()
    (staffed / "staff").write_text(f"ann:{{SHA}}{sha1}\n", encoding="utf-8")
    weak = run("check", "site.toml", cwd=staffed)
    assert 0 == weak.returncode
    assert 'staff:1: the password of "ann" is hashed with SHA-1' in weak.stderr
    (staffed / "staff").write_text("ann:{SHA}x\nbob:plain\n", encoding="utf-8")
    wrong = run("check", "site.toml", cwd=staffed)
    assert 2 == wrong.returncode
    assert "staff:1: " in wrong.stderr
    assert "staff:2: " in wrong.stderr


def digest(
    answer: Response, method: str, uri: str, number: int, password: str = PASSWORD
) -> list[tuple[str, str]]:
    """Return the field that answers a challenge (RFC 7616 section 3.4.1)."""
    challenge = answer.values("WWW-Authenticate")[0]
    told = dict(re.findall(r'(\w+)="?([^",]+)"?', challenge))
    algorithm = told["algorithm"]

    def hashed(*parts: str) -> str:
        name = {"MD5": "md5", "SHA-256": "sha256"}[algorithm]
        return hashlib.new(name, ":".join(parts).encode()).hexdigest()

    count, own = f"{number:08x}", "0a4f113b"
    response = hashed(
        hashed("ann", "Staff", password), told["nonce"], count, own, "auth", hashed(method, uri)
    )
    value = (
        f'Digest username="ann", realm="Staff", nonce="{told["nonce"]}", uri="{uri}", response="{response}", '
        f'algorithm={algorithm}, cnonce="{own}", nc={count}, qop=auth'
    )
    return [("Authorization", value)]


def test_digest(serve: Servers, staffed: Path) -> None:
    """A digest lets one request in: no second one, no other path or method, and no wrong password."""
    server = serve(write(staffed, DIGEST), cwd=staffed)
    refused = get(server, "/digest/a")
    algorithms = [re.findall(r"algorithm=([\w-]+)", value)[0] for value in refused.values("WWW-Authenticate")]

    assert (401, ["SHA-256", "MD5"]) == (refused.status, algorithms)

    def ask(fields: list[tuple[str, str]], target: str = "/digest/a", method: str = "GET") -> int:
        return server.fetch(target, method=method, fields=fields, lint_answers=False).status

    first = digest(refused, "GET", "/digest/a", 1)
    assert [200, 401] == [ask(first), ask(first)]
    second = digest(refused, "GET", "/digest/a", 2)
    assert [401, 401] == [ask(second, "/digest/b"), ask(second, method="POST")]
    answer = server.fetch("/digest/a", fields=digest(refused, "GET", "/digest/a", 3), lint_answers=False)
    assert (200, b"ann Digest None") == (answer.status, answer.body)
    assert 401 == ask(digest(refused, "GET", "/digest/a", 4, "wrong"))
    posted = digest(refused, "POST", "/digest/a", 5)
    answer = server.fetch("/digest/a", method="POST", fields=posted, body=b"x" * 100_000, lint_answers=False)
    assert 200 == answer.status


def test_slow_hashes_do_not_stop_others(serve: Servers, staffed: Path) -> None:
    """While slow password hashes are verified, other requests are answered."""
    slow = "$2y$12$abcdefghijklmnopqrstuu"
    (staffed / "staff").write_text(f"ann:{slow}NHbAKRhpaujgo33bRWs.NLUTJO3lOy2\n", encoding="utf-8")
    server = serve(write(staffed, FILE), cwd=staffed)
    with ThreadPoolExecutor(4) as pool:
        begun = time.monotonic()
        slowly = [pool.submit(get, server, "/admin/", "ann", f"guess {number}") for number in range(4)]
        quick = 0
        while not all(answer.done() for answer in slowly):
            assert 200 == get(server, "/").status
            quick += 1
        took_s = time.monotonic() - begun

        assert {401} == {answer.result().status for answer in slowly}
    # If the event loop waited for hashes, at most one quick request would be answered between two hashes.
    assert quick > 10, took_s
