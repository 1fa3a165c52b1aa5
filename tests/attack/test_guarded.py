"""Rules of a file of sites under attack: they hold in whatever way a client asks."""

from __future__ import annotations

import hashlib
import os
import re
import socket
from itertools import count
from typing import TYPE_CHECKING

import pytest

from attack.guarded import (
    APPLICATION,
    ATTACKS,
    DIGEST_SITES,
    DIGESTS,
    END,
    FILES,
    PASSWORD,
    RIGHT,
    SECRET,
    SITES,
    asks,
    basic,
)
from sites.conftest import BCRYPT
from support.client import Asked, Connection, request
from support.control import reload
from support.http import NoResponseError

if TYPE_CHECKING:
    from pathlib import Path

    from attack.guarded import Attack
    from support.http import Response
    from support.server import Server, Servers

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

OWN = count(256)
"""Addresses that clients come from, each used once: an address that has guessed too often has to wait."""


def source(attack: Attack) -> str:
    """Return the address that an attack comes from."""
    number = next(OWN)
    return attack.source or f"127.1.{number >> 8}.{number & 255}"


def put(folder: Path) -> None:
    """Put all guarded content into a folder."""
    for name, text in FILES.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        file.chmod(0o755)
    (folder / "guarded.py").write_text(APPLICATION, encoding="utf-8")
    (folder / "staff").write_text(f"ann:{BCRYPT}\n", encoding="utf-8")


@pytest.fixture(scope="module")
def guarded(serve_session: Servers, tmp_path_factory: pytest.TempPathFactory) -> Server:
    """Serve all guarded content."""
    folder = tmp_path_factory.mktemp("guarded")
    put(folder)
    (folder / "site.toml").write_text(SITES, encoding="utf-8")
    server = serve_session("site.toml", cwd=folder)
    # A page that is kept for other clients.
    kept = asks("/shared/", host="a.example", source="127.0.0.3")
    assert [200] == [answer.status for answer in answers_of(server, kept)][:1]
    return server


def answers_of(server: Server, attack: Attack) -> list[Response]:
    """Send an attack and a request behind it; return the answers, up to the answer to that request."""
    answers: list[Response] = []
    with Connection(server.address, lint_answers=False, source=source(attack)) as connection:
        connection.send(attack.data + END)
        try:
            while not answers or answers[-1].status != 204:
                answers.append(connection.receive(Asked.of(attack.data) if not answers else "GET"))
        except NoResponseError:
            pass
    return answers


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_attack(guarded: Server, attack: Attack) -> None:
    """Each attack gets exactly the expected statuses, and no answer has guarded content in it."""
    answers = answers_of(guarded, attack)
    statuses = [answer.status for answer in answers]
    wanted = list(attack.statuses)

    assert statuses in (wanted, [*wanted, 204])
    for answer in answers:
        told = f"{answer.fields} {answer.body!r}"
        assert SECRET not in told


def test_who_may(guarded: Server) -> None:
    """A client that the rules let in gets guarded content: so the attacks fail because of the rules only."""
    password = (basic(RIGHT),)
    near = (("X-Forwarded-For", "192.0.2.1"),)
    for target, fields in [
        ("/exact.txt", password),
        ("/near/", password),
        ("/none", password),
        ("/private/", password),
        ("/alias/data.txt", password),
        ("/house/", password),
        ("/app/x", password),
        ("/sends/?/internal/data.txt", ()),
        ("/far/data.txt", near),
        ("/either/data.txt", near),
        ("/either/data.txt", password),
        ("/both/data.txt", password + near),
    ]:
        attack = asks(target, fields=fields, source="127.0.0.2" if near[0] in fields else "")
        answer = answers_of(guarded, attack)[0]

        assert (200, True) == (answer.status, SECRET.encode() in answer.body), (target, answer)
    for target in ("/a.py/x", "/", "/a.py/public", "/a.py/status.py"):
        answer = answers_of(guarded, asks(target, host="pages.example", fields=password))[0]

        assert (200, SECRET.encode()) == (answer.status, answer.body), (target, answer)


HEADERS = """
[server]
trusted-proxies = "127.0.0.2"
proxy-protocol = true

[[sites]]
root = "public"

[[sites.routes]]
files = "private"
allow = "192.0.2.0/24"

[[sites.routes]]
path = "/end"
respond = 204
"""

FIRST = b"GET /data.txt HTTP/1.1\r\nHost: a\r\n\r\n"
V2 = b"\r\n\r\n\0\r\nQUIT\n"
NEAR, FAR = bytes([192, 0, 2, 7]), bytes([6, 6, 6, 6])
PORTS = b"\x12\x67\x00\x50"

OF_NOBODY = [
    b"PROXY UNKNOWN 192.0.2.7 192.0.2.7 1 2\r\n",
    b"PROXY UNKNOWN\r\n",
    V2 + b"\x20\x11\0\x0c" + NEAR + FAR + PORTS,
    V2 + b"\x21\0\0\x0c" + NEAR + NEAR + PORTS,
    V2 + b"\x21\x31\0\xd8" + b"/192.0.2.7".ljust(216, b"\0"),
]
"""Headers in which a proxy speaks for itself or for an unknown client: their addresses do not count."""

PROXY_HEADERS = [
    *((header, 403) for header in OF_NOBODY),
    (b"PROXY TCP4 192.0.2.7 1.1.1.1 1 2\r\n", 200),
    (V2 + b"\x21\x11\0\x0c" + NEAR + FAR + PORTS, 200),
    (b"PROXY TCP4 6.6.6.6 192.0.2.7 1 2\r\n", 403),
    (b"PROXY TCP6 fd00::1 ::1 1 2\r\n", 403),
    (b"PROXY TCP6 ::ffff:6.6.6.6 ::ffff:192.0.2.7 1 2\r\n", 403),
    (b"PROXY TCP4 6.6.6.6 1.1.1.1 1 2\r\nPROXY TCP4 192.0.2.7 1.1.1.1 1 2\r\n", 400),
    (b"PROXY TCP4 6.6.6.6 1.1.1.1 1 2\r\n" + V2 + b"\x21\x11\0\x0c" + NEAR + FAR + PORTS, 400),
    (b"PROXY TCP4 192.0.2.7, 6.6.6.6 1.1.1.1 1 2\r\n", 400),
    (b"PROXY TCP4 192.0.2.07 1.1.1.1 1 2\r\n", 400),
    (b"PROXY  TCP4 192.0.2.7 1.1.1.1 1 2\r\n", 400),
    (b"PROXY TCP4 192.0.2.7 1.1.1.1 1 2 \r\n", 400),
    (b" PROXY TCP4 192.0.2.7 1.1.1.1 1 2\r\n", 400),
    (b"\r\nPROXY TCP4 192.0.2.7 1.1.1.1 1 2\r\n", 400),
    (b"proxy tcp4 192.0.2.7 1.1.1.1 1 2\r\n", 400),
    (V2 + b"\x21\x11\0\x0c" + FAR + NEAR + PORTS, 403),
    (V2 + b"\x11\x11\0\x0c" + NEAR + NEAR + PORTS, 400),
    (V2 + b"\x22\x11\0\x0c" + NEAR + NEAR + PORTS, 400),
    (V2 + b"\x21\x11\0\x04" + NEAR, 400),
    (b"", 400),
]
"""Bytes that a trusted proxy sends in front of its first request, and the status of the answer."""


@pytest.fixture(scope="module")
def headed(serve_session: Servers, tmp_path_factory: pytest.TempPathFactory) -> Server:
    """Serve content that is guarded by address, behind proxies that send a PROXY header first."""
    folder = tmp_path_factory.mktemp("headed")
    put(folder)
    (folder / "site.toml").write_text(HEADERS, encoding="utf-8")
    return serve_session("site.toml", cwd=folder)


@pytest.mark.parametrize(
    ("header", "status"), PROXY_HEADERS, ids=[repr(row[0])[2:-1] for row in PROXY_HEADERS]
)
def test_proxy_header(headed: Server, header: bytes, status: int) -> None:
    """Only the first header of a trusted proxy tells a client's address; nobody else may send a header."""
    for said, wanted in [("127.0.0.2", status), ("127.0.0.1", 403 if header == b"" else 400)]:
        with Connection(headed.address, lint_answers=False, source=said) as connection:
            connection.send(header + FIRST)
            answer = connection.receive()

            assert wanted == answer.status, (said, answer)
            assert (wanted == 200) == (SECRET.encode() in answer.body)
            if wanted == 403:
                # A forwarded field counts only if the proxy spoke for itself; a later header never does.
                near = [("X-Forwarded-For", "192.0.2.7"), ("Forwarded", "for=192.0.2.7")]
                believed = 200 if header in OF_NOBODY else 403
                assert believed == connection.get("/data.txt", fields=near).status
                connection.send(b"PROXY TCP4 192.0.2.7 1.1.1.1 1 2\r\n" + FIRST)
                assert 400 == connection.receive().status


RELOADED = """
[server]
processes = 1
control = "control.sock"

[[sites]]
root = "public"

[[sites.routes]]
files = "private"
{guard}

[[sites.routes]]
path = "/waits/"
app = "waits:application"
{guard}
"""

WAITS = """
def application(environ, start_response):
    if environ["PATH_INFO"].endswith("/now"):
        start_response("200 OK", [])
        return [b"now"]
    with open("gate") as gate:
        gate.read()
    start_response("200 OK", [])
    return [b"done"]
"""

GUARDS = ['auth = "basic:staff"', 'deny = ["127.0.0.0/8", "::1"]']


@pytest.mark.parametrize("guard", GUARDS)
def test_reload(serve: Servers, tmp_path: Path, guard: str) -> None:
    """A reload that keeps clients out refuses new connections; an older one gets at most one answer."""
    put(tmp_path)
    os.mkfifo(tmp_path / "gate")
    (tmp_path / "waits.py").write_text(WAITS, encoding="utf-8")
    (tmp_path / "site.toml").write_text(RELOADED.format(guard=""), encoding="utf-8")
    server = serve("site.toml", "--threads=2", cwd=tmp_path, env={"ADYTON_PROCESSES": ""})
    burst = request("/data.txt") * 3 + request("/data.txt", fields=[("Connection", "close")])
    idle = [server.connect(lint_answers=False) for _ in range(8)]
    for connection in idle:
        assert 200 == connection.get("/data.txt").status
    begun, uploads = server.connect(lint_answers=False), server.connect(lint_answers=False)
    begun.send(request("/waits/a") + burst)
    uploads.send(b"POST /waits/now HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab")
    gate = os.open(tmp_path / "gate", os.O_WRONLY)

    (tmp_path / "site.toml").write_text(RELOADED.format(guard=guard), encoding="utf-8")
    assert 0 == reload(tmp_path / "control.sock")[0]
    os.close(gate)
    refused = 401 if "auth" in guard else 403
    for target in ("/data.txt", "/waits/now", "/index.html", "/"):
        assert refused == server.fetch(target, lint_answers=False).status

    uploads.send(b"cd")
    begun_before = [(begun, b""), (uploads, burst)]
    for connection, more in [*begun_before, *((connection, burst) for connection in idle)]:
        statuses = rest_of(connection, more)
        # A request that had begun keeps the old rules, and so may the next request of a waiting connection.
        assert statuses[:1] == [200] or set(statuses) <= {refused}, statuses
        assert 200 not in statuses[1:]


def rest_of(connection: Connection, data: bytes) -> list[int]:
    """Send more data, and return the statuses of all answers until the connection ends."""
    statuses = []
    try:
        connection.send(data)
        while True:
            statuses.append(connection.receive().status)
    except (NoResponseError, BrokenPipeError, ConnectionResetError):
        connection.socket.close()
    return statuses


SEVERAL = """
[server]
threads = 1

[[sites]]
root = "public"

[[sites.routes]]
app = "guarded:application"
auth = "basic:staff"
auth-users = "ann"

[[sites.routes]]
path = "/private/"
files = "private"
try = "files"
may-set = "auth"
auth = "basic:staff"
"""


def test_nobody_passes_with_the_verdict_of_another_request(serve: Servers, tmp_path: Path) -> None:
    """A request that waits to send its body gets the verdict of its own rules, and no other request's."""
    put(tmp_path)
    both = f"ann:{BCRYPT}\neve:{BCRYPT}\n"
    for name in ("staff", "public/private/open/.htpasswd"):
        (tmp_path / name).write_text(both, encoding="utf-8")
    (tmp_path / "public/private/open/.adyton.toml").write_text('auth = "basic:.htpasswd"\n', encoding="utf-8")
    (tmp_path / "site.toml").write_text(SEVERAL, encoding="utf-8")
    server = serve("site.toml", cwd=tmp_path)
    ann, eve = basic(RIGHT), basic(f"eve:{PASSWORD}")
    # The password of eve is known at the route; the password of the folder inside is not checked yet.
    assert 401 == server.fetch("/private/none", fields=[eve], lint_answers=False).status
    assert 200 == server.fetch("/", fields=[ann], lint_answers=False).status
    waits = [eve, ("Content-Length", "4"), ("Expect", "100-continue")]
    with server.connect(lint_answers=False) as connection:
        connection.send(request("/private/open/none", fields=waits))
        assert connection.socket.recv(len(CONTINUE), socket.MSG_WAITALL) == CONTINUE
        connection.send(b"body")
        answer = connection.receive()

    assert (401, False) == (answer.status, SECRET.encode() in answer.body)


FULL = """
[server]
threads = 1
cgi-processes = 1
queue-limit = 0

[[sites]]
root = "public"

[[sites.routes]]
path = "/cgi-bin/"
cgi = "cgi-bin"
cache = "1h"

[[sites.routes]]
path = "/app/"
app = "guarded:application"
auth = "basic:staff"
headers = { X-Frame-Options = "DENY" }
"""


def test_no_answer_is_kept_in_the_place_of_another(serve: Servers, tmp_path: Path) -> None:
    """A place in the cache, meant for an answer that was never given, is not filled by the next answer."""
    put(tmp_path)
    os.mkfifo(tmp_path / "gate")
    script = tmp_path / "public/cgi-bin/waits.sh"
    text = "#!/bin/sh\necho $$ >begun\nread x <../../gate\nprintf 'Content-Type: text/plain\\n\\nopen'\n"
    script.write_text(text, encoding="utf-8")
    script.chmod(0o755)
    (tmp_path / "site.toml").write_text(FULL, encoding="utf-8")
    server = serve("site.toml", cwd=tmp_path)
    with server.connect(lint_answers=False) as first:
        first.send(request("/cgi-bin/waits.sh"))
        # The FIFO opens only when the script waits.
        gate = os.open(tmp_path / "gate", os.O_WRONLY)
        for number in range(4):
            target = f"/cgi-bin/waits.sh?{number}"
            assert 503 == server.fetch(target, lint_answers=False).status
            assert 200 == server.fetch("/app/x", fields=[basic(RIGHT)], lint_answers=False).status
            answer = server.fetch(target, lint_answers=False)
            assert (503, False) == (answer.status, SECRET.encode() in answer.body), answer
        os.close(gate)
        assert b"open" == first.receive().body


@pytest.fixture(scope="module")
def digesting(serve_session: Servers, tmp_path_factory: pytest.TempPathFactory) -> Server:
    """Serve content that is guarded by digests."""
    folder = tmp_path_factory.mktemp("digesting")
    put(folder)
    lines = [f"ann:{realm}:{hashed('ann', realm, PASSWORD)}\n" for realm in ("Staff", "Other")]
    (folder / "digests").write_text("".join(lines), encoding="utf-8")
    (folder / "site.toml").write_text(DIGEST_SITES, encoding="utf-8")
    return serve_session("site.toml", cwd=folder)


def hashed(*parts: str) -> str:
    """Return the MD5 of some words, with colons between them."""
    return hashlib.new("md5", ":".join(parts).encode(), usedforsecurity=False).hexdigest()


def proof(answer: Response, method: str, uri: str, changes: dict[str, str | None]) -> tuple[str, str]:
    """Return the field that answers a challenge (RFC 7616 section 3.4.1), with some parts changed."""
    (nonce,) = re.findall(r'nonce="(\w+)"', answer["WWW-Authenticate"])
    own = {
        "username": "ann",
        "realm": "Staff",
        "nonce": nonce,
        "uri": uri,
        "qop": "auth",
        "nc": "00000001",
        "cnonce": "0a4f113b",
        "algorithm": "MD5",
        "password": PASSWORD,
    }
    said = own | changes
    words = {name: value or "" for name, value in said.items()}
    user = words.get("hash", hashed(words["username"] or "ann", words["realm"], words["password"]))
    asked = [words[name] for name in ("nonce", "nc", "cnonce", "qop")]
    said = {"response": hashed(user, *asked, hashed(method, words["uri"]))} | said
    shown = [
        f"{name}={value}" if name.endswith("*") else f'{name}="{value}"'
        for name, value in said.items()
        if value is not None and name not in {"password", "hash"}
    ]
    return ("Authorization", "Digest " + ", ".join(shown))


@pytest.mark.parametrize(
    ("changes", "target", "method"), [row[1:] for row in DIGESTS], ids=[row[0][:100] for row in DIGESTS]
)
def test_digest(digesting: Server, changes: dict[str, str | None], target: str, method: str) -> None:
    """A digest is valid for one request, once; a digest that is changed in any way lets nobody in."""
    own = source(asks(""))
    with Connection(digesting.address, lint_answers=False, source=own) as connection:
        refused = connection.get("/data.txt")
        assert 401 == refused.status
        field = proof(refused, "GET", "/data.txt", changes)
        if "uri" in changes:
            field = proof(refused, method, changes["uri"] or "", changes)
        answer = connection.get(target, method=method, fields=[field])

        assert (401, False) == (answer.status, SECRET in f"{answer.fields} {answer.body!r}")
        right = proof(refused, "GET", "/data.txt", {"nc": "00000009"})
        first, *others = [connection.get("/data.txt", fields=[right]) for _ in range(3)]
        assert (200, [401, 401]) == (first.status, [other.status for other in others])
        twice = [right, proof(refused, "GET", "/data.txt", {"nc": "0000000a"})]
        assert 400 == connection.get("/data.txt", fields=twice).status
