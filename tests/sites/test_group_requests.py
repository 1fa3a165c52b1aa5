"""Requests for groups: their bodies move with them, and pipelined requests are answered in order."""

from __future__ import annotations

import hashlib
import random
from typing import TYPE_CHECKING

import pytest

from sites.conftest import BCRYPT, write
from support import client
from support.client import Asked
from support.control import states
from support.server import until

if TYPE_CHECKING:
    from support.client import Connection
    from support.http import Response
    from support.server import Server, Servers

FILE = """
[server]
processes = 2
threads = 2
control = "control.sock"
log-level = "debug"

[groups.shop]
processes = 2
threads = 2

[groups.blog]
processes = 1
threads = 2

[[sites]]
rewrite = ["/old/ -> /shop/", "/older/ -> /posted/"]

[[sites.routes]]
path = "/"
app = "echo:application"

[[sites.routes]]
path = "/shop/"
app = "echo:application"
group = "shop"

[[sites.routes]]
path = "/blog/"
app = "echo:application"
group = "blog"

[[sites.routes]]
path = "/staff/"
app = "echo:application"
group = "shop"
auth = "basic:staff.htpasswd"

[[sites.routes]]
path = "/posted/"
methods = "POST"
app = "echo:application"
group = "shop"

[[sites.routes]]
path = "/members/"
files = "members"
static-fall-through = true
auth = "basic:staff.htpasswd"

[[sites.routes]]
path = "/members/"
app = "echo:application"
group = "shop"
"""

APPLICATION = """
import hashlib
import adyton

def application(environ, start_response):
    '''Answer with the group, the path, and what the body was.'''
    body = environ["wsgi.input"].read()
    told = [adyton.worker().group, environ["PATH_INFO"], len(body), hashlib.sha256(body).hexdigest()]
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [" ".join(map(str, told)).encode()]
"""

ENVIRONMENT = {"ADYTON_PROCESSES": "", "ADYTON_THREADS": ""}
"""Empty variables, so that the file of sites sets the numbers of processes and threads."""

STAFF = ("Authorization", "Basic YW5uOmNvcnJlY3QgaG9yc2U=")

SMALL, LARGE, TOO_LARGE = 10, 100_000, 300_000
"""Bytes of bodies; the last does not fit a worker's buffer, so it cannot move after it was read."""

REFUSED = "ADY108 debug: refused with 503: the request body cannot move to the process that answers"

FRAMINGS = ["length", "chunked", "expect"]

EARLY = {
    "plain": ("/shop/x", "/shop/x"),
    "rewritten": ("/old/x", "/shop/x"),
    "password": ("/staff/x", "/staff/x"),
}
"""Paths whose group is known from the head of a request, and the path that the application sees."""

LATE = {
    "rewritten": ("/older/x", "/posted/x"),
    "password": ("/members/x", "/members/x"),
}
"""Paths whose group the accepting worker knows only after it has the body."""


@pytest.fixture(scope="module")
def server(serve_session: Servers, tmp_path_factory: pytest.TempPathFactory) -> Server:
    """Serve the file, and wait until its groups serve."""
    folder = tmp_path_factory.mktemp("requests")
    (folder / "members").mkdir()
    (folder / "staff.htpasswd").write_text(f"ann:{BCRYPT}\n", encoding="utf-8")
    (folder / "echo.py").write_text(APPLICATION, encoding="utf-8")
    server = serve_session(write(folder, FILE).name, cwd=folder, env=ENVIRONMENT)
    assert until(lambda: {"serving"} == set(states(folder / "control.sock").values()))
    return server


def body_of(size: int) -> bytes:
    """Return a body in which no part repeats another."""
    return random.Random(size).randbytes(size)


def told_of(group: str | None, path: str, body: bytes) -> str:
    """Return the application's answer to a request."""
    return f"{group} {path} {len(body)} {hashlib.sha256(body).hexdigest()}"


def head_of(path: str, *fields: tuple[str, str]) -> bytes:
    """Return the head of a request with a body."""
    return client.request(path, method="POST", fields=[*fields, STAFF])


def chunks_of(body: bytes) -> bytes:
    """Return a body in chunks of 7,000 bytes at most."""
    return client.chunked(*(body[at : at + 7_000] for at in range(0, len(body), 7_000)))


def post(connection: Connection, path: str, body: bytes, framing: str) -> Response:
    """Send a body, after a 100 if the request expects one; return the answer."""
    length = ("Content-Length", str(len(body)))
    if framing == "length":
        connection.send(head_of(path, length) + body)
    elif framing == "chunked":
        connection.send(head_of(path, ("Transfer-Encoding", "chunked")) + chunks_of(body))
    else:
        connection.send(head_of(path, length, ("Expect", "100-continue")))
        assert 100 == connection.reader.interim()
        connection.send(body)
    return connection.receive(Asked("POST"))


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize("size", [SMALL, LARGE, TOO_LARGE])
@pytest.mark.parametrize("route", EARLY)
def test_bodies(server: Server, route: str, size: int, framing: str) -> None:
    """A group gets a whole body, on a connection that moves to it and on one that the group has already."""
    path, seen = EARLY[route]
    body = body_of(size)
    with server.connect() as connection:
        for _ in range(2):
            answer = post(connection, path, body, framing)

            assert (200, told_of("shop", seen, body)) == (answer.status, answer.body.decode())
        answer = connection.get("/x")

        assert told_of(None, "/x", b"") == answer.body.decode()


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize("size", [SMALL, LARGE])
@pytest.mark.parametrize("route", LATE)
def test_bodies_that_were_read(server: Server, route: str, size: int, framing: str) -> None:
    """A body that the accepting worker has read before it knows the group moves to the group unchanged."""
    path, seen = LATE[route]
    body = body_of(size)
    with server.connect() as connection:
        for _ in range(2):
            answer = post(connection, path, body, framing)

            assert (200, told_of("shop", seen, body)) == (answer.status, answer.body.decode())
        answer = connection.get("/x")

        assert told_of(None, "/x", b"") == answer.body.decode()


@pytest.mark.parametrize(
    ("route", "framing"),
    # A client that expects a 100 moves before its body, if its password has been verified before.
    [
        (route, framing)
        for route in LATE
        for framing in FRAMINGS
        if (route, framing) != ("password", "expect")
    ],
)
def test_bodies_that_cannot_move(server: Server, route: str, framing: str) -> None:
    """If a body was read and is too large to move, the client gets a 503, and the log says why."""
    since = server.mark()
    with server.connect() as connection:
        answer = post(connection, LATE[route][0], body_of(TOO_LARGE), framing)

        assert (503, True) == (answer.status, answer.closing)
    server.wait_for_log(REFUSED, since=since)


ALL_PATHS = {
    "early": [
        ("/x", None, "/x"),
        ("/shop/a", "shop", "/shop/a"),
        ("/blog/b", "blog", "/blog/b"),
        ("/y", None, "/y"),
        ("/shop/c", "shop", "/shop/c"),
    ],
    "late": [
        ("/older/a", "shop", "/posted/a"),
        ("/blog/b", "blog", "/blog/b"),
        ("/members/c", "shop", "/members/c"),
        ("/members/d", "shop", "/members/d"),
        ("/x", None, "/x"),
    ],
}
"""Requests in a row: paths, groups that answer (`None`: the server itself), and paths that groups see."""

BODIES = {"none": [0] * 5, "some": [0, 3_000, 0, 10, 500], "large": [LARGE, 0, LARGE, 0, LARGE]}
"""Bytes of the bodies of these requests."""

ROWS = [("early", "none"), ("early", "some"), ("early", "large"), ("late", "none"), ("late", "some")]


@pytest.mark.parametrize("is_chunked", [False, True], ids=["length", "chunked"])
@pytest.mark.parametrize(("paths", "sizes"), ROWS)
@pytest.mark.parametrize("times", [1, 6])
def test_pipelined(server: Server, times: int, paths: str, sizes: str, is_chunked: bool) -> None:  # noqa: FBT001
    """Pipelined requests for the server itself and for several groups are answered whole and in order."""
    asked, expected = b"", []
    for (path, group, seen), size in zip(ALL_PATHS[paths] * times, BODIES[sizes] * times, strict=True):
        body = body_of(size)
        if is_chunked:
            asked += head_of(path, ("Transfer-Encoding", "chunked")) + chunks_of(body)
        else:
            asked += head_of(path, ("Content-Length", str(size))) + body
        expected.append((200, told_of(group, seen, body)))
    with server.connect() as connection:
        connection.send(asked)
        answers = [connection.receive(Asked("POST")) for _ in expected]

        assert expected == [(answer.status, answer.body.decode()) for answer in answers]
        assert told_of("blog", "/blog/z", b"") == connection.get("/blog/z").body.decode()
