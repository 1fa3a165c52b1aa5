"""Paths that are answered with the file of another path: the rules of both paths count."""

from __future__ import annotations

import hashlib
import socket
from base64 import b64encode
from typing import TYPE_CHECKING

import pytest

from sites.conftest import write
from sites.scripts import SAY_ALL, script
from sites.test_auth import CONTINUE, PASSWORD, digest
from support.client import request
from support.server import run

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Servers

STAFF = ("Authorization", "Basic " + b64encode(b"ann:correct horse").decode())

FOLDER = """
[server]
access-log = "all.log"

[[sites]]
root = "public"
rate-limit = "1/h"
rate-burst = 40

[[sites.routes]]
files = "."
static-fallback = "app.html"

[[sites.routes]]
path = ["/index.html", "/told/index.html"]
{rule}

[[sites.routes]]
path = "/app.html"
files = "."
headers = {{ X-App = "yes" }}

[[sites.routes]]
path = "/open/index.html"
redirect = "/open/"
"""

RULES = [
    ('files = "."\ndeny = ["127.0.0.0/8", "::1"]', 403, None),
    ('files = "."\nauth = "basic:staff.htpasswd"', 401, b"index\n"),
    ('files = "."\ninternal = true', 404, None),
    ("respond = 410", 410, None),
    ('app = "shop:told"', 200, None),
    ('files = "."\nmethods = "PUT"', 200, b"index\n"),
]
"""Settings for the path of an index, and the status and body of the answer for its folder."""


@pytest.fixture
def pages(project: Path) -> Path:
    """Return a project with indexes, and a page for missing paths."""
    for name in ("index.html", "told/index.html", "open/index.html"):
        file = project / "public" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("index\n", encoding="utf-8")
    (project / "public/app.html").write_text("app\n", encoding="utf-8")
    return project


@pytest.mark.parametrize(("rule", "status", "admitted"), RULES, ids=[rule for rule, _, _ in RULES])
@pytest.mark.parametrize("waits", [False, True], ids=["", "asks first"])
def test_a_body_on_its_way(
    serve: Servers, pages: Path, rule: str, status: int, admitted: bytes | None, *, waits: bool
) -> None:
    """The rules for an index count, too, before the body of the request has come."""
    server = serve(write(pages, FOLDER.format(rule=rule)), cwd=pages)
    fields = [("Content-Length", "4"), *([("Expect", "100-continue")] if waits else [])]
    users = [([], status), *([([STAFF], 200)] if admitted and status == 401 else [])]
    for target in ("/", "/told/", "/told/?a=b"):
        for user, expected in users:
            with server.connect(lint_answers=False) as connection:
                connection.send(request(target, fields=[*fields, *user]))
                # When the server has answered another client, it has read this head, too.
                assert 200 == server.fetch("/app.html").status
                connection.send(b"body")
                response = connection.receive()

                assert expected == response.status, target
    assert "ADY205" not in server.log()


@pytest.mark.parametrize(("rule", "status", "admitted"), RULES, ids=[rule for rule, _, _ in RULES])
def test_indexes(serve: Servers, pages: Path, rule: str, status: int, admitted: bytes | None) -> None:
    """A request for a folder gets the index only if a request for the index itself is allowed."""
    server = serve(write(pages, FOLDER.format(rule=rule)), cwd=pages)
    with server.connect(lint_answers=False) as connection:
        for target in ("/", "//?a=b", "/told/", "/%74old//", "/told/"):
            for method in ("GET", "HEAD"):
                answer = connection.get(target, method=method)

                assert status == answer.status, (target, method, answer)
                assert status == 200 or b"index" not in answer.body
        if admitted:
            assert admitted == connection.get("/told/", fields=[STAFF]).body
        assert connection.get("/told").status == 301
        assert b"index\n" == connection.get("/open/").body
        deep = connection.get("/users/17", fields=[("Accept", "text/html")])
        told = connection.get("/told/", fields=[STAFF])
    server.stop()
    first = (pages / "all.log").read_text(encoding="utf-8").splitlines()[0].split()

    assert ["/", str(status)] == [first[6], first[8]]
    assert ("yes", b"app\n") == (deep["X-App"], deep.body)
    if "shop" in rule:
        assert told.body.startswith(b"GET /told/index.html ")


def test_an_index_is_counted_once(serve: Servers, pages: Path) -> None:
    """A request that a folder's index answers counts only once for the site's rate limit."""
    text = FOLDER.format(rule='files = "."').replace("rate-burst = 40", "rate-burst = 3")
    server = serve(write(pages, text), cwd=pages)

    assert [200, 200, 200, 429] == [server.fetch("/", lint_answers=False).status for _ in range(4)]


ALLOWS = """
def allow_access(environ, host):
    return "html" not in environ["PATH_INFO"] or environ["PATH_INFO"] == "/told/index.html"
"""


@pytest.mark.parametrize("more", ["", 'allow-python = "doors.py"'])
def test_a_digest_is_for_an_index_too(serve: Servers, pages: Path, more: str) -> None:
    """A digest for a folder is also valid for an index with the same rule, but for no second request."""
    hashed = hashlib.new("md5", f"ann:Staff:{PASSWORD}".encode(), usedforsecurity=False).hexdigest()
    (pages / "digests").write_text(f"ann:Staff:{hashed}\n", encoding="utf-8")
    (pages / "doors.py").write_text(ALLOWS, encoding="utf-8")
    guard = f'auth = "digest:digests"\nauth-realm = "Staff"\nroot = "public"\n{more}'
    text = FOLDER.format(rule='files = "."').replace('root = "public"', guard)
    server = serve(write(pages, text), cwd=pages)
    refused = server.fetch("/told/", lint_answers=False)
    for count in (1, 2):
        field = digest(refused, "GET", "/told/", count)
        answer = server.fetch("/told/", fields=field, lint_answers=False)
        assert (200, b"index\n") == (answer.status, answer.body)
        assert 401 == server.fetch("/told/", fields=field, lint_answers=False).status
    # A request with `Expect: 100-continue` is authenticated again when its body has come.
    fields = [*digest(refused, "GET", "/told/", 3), ("Content-Length", "4"), ("Expect", "100-continue")]
    with server.connect(lint_answers=False) as connection:
        connection.send(request("/told/", fields=fields))
        assert connection.socket.recv(len(CONTINUE), socket.MSG_WAITALL) == CONTINUE
        connection.send(b"body")

        assert b"index\n" == connection.receive().body


SCRIPTS = """
[[sites]]
root = "public"
deny-paths = "/pages/none.py"

[[sites.routes]]
path = "/pages/"
scripts = "pages"

[[sites.routes]]
path = ["/pages/index.py", "/pages/a.py", "/cgi-bin/a.sh"]
deny = ["127.0.0.0/8", "::1"]
respond = 200

[[sites.routes]]
path = ["/pages/gone.py", "/cgi-bin/gone.sh"]
respond = 410

[[sites.routes]]
path = "/cgi-bin/"
cgi = "cgi-bin"
"""

SCRIPT_ANSWERS = [
    ("/pages/", 403),
    ("/pages/a.py", 403),
    ("/pages/a.py/", 403),
    ("/pages/a.py/x", 403),
    ("/pages/%61.py//x/y", 403),
    ("/pages/gone.py/x", 410),
    ("/pages/none.py/x", 403),
    ("/pages/b.py", 200),
    ("/pages/b.py/x", 200),
    ("/pages/sub/", 200),
    ("/cgi-bin/a.sh", 403),
    ("/cgi-bin/a.sh/x", 403),
    ("/cgi-bin//a%2Esh/", 403),
    ("/cgi-bin/gone.sh/x", 410),
    ("/cgi-bin/b.sh/x", 200),
]
"""Targets, and the status of each."""


def test_scripts(serve: Servers, project: Path) -> None:
    """The rules of a script count for paths behind its name, and the rules of an index for its folder."""
    for name in ("index", "a", "b", "gone", "none", "sub/index"):
        file = project / f"public/pages/{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("def handler(request):\n    return 'ran'\n", encoding="utf-8")
    for name in ("a", "b", "gone"):
        script(project, f"{name}.sh", SAY_ALL)
    server = serve(write(project, SCRIPTS), cwd=project)
    with server.connect(lint_answers=False) as connection:
        for target, status in SCRIPT_ANSWERS:
            answer = connection.get(target)

            assert status == answer.status, (target, answer)


DENIED = """
[[sites]]
root = "public"
deny-paths = ["*.bak", "/.git/", "/told/index.html", "*.secret"]
rewrite = ["/away/ -> /.git/", "/x.bak -> /fine"]

[[sites.routes]]
app = "shop:told"

[[sites.routes]]
path = "/told/"
files = "told"
may-set = "allow"
htaccess = "allow"

[[sites.routes]]
path = "/told/a.secret"
app = "shop:told"
"""

DENIED_ANSWERS = [
    ("/", 200),
    ("/x.bak", 403),
    ("/x.ba%6B", 403),
    ("//deep//x.bak//", 403),
    ("/x.bak/y", 403),
    ("/x.bak.gz", 403),
    ("/.git", 403),
    ("/%2egit/config", 403),
    ("/away/config", 403),
    ("/.gitignore", 200),
    ("/told/", 403),
    ("/told/index.html", 403),
    ("/told/a.secret", 403),
    ("/told/b.txt", 200),
]


def test_denied_paths(serve: Servers, pages: Path) -> None:
    """For denied paths, no route, rule or folder's file lets anyone in, and `adyton route` says so."""
    folder = pages / "public/told"
    (folder / "a.secret").write_text("secret", encoding="utf-8")
    (folder / "b.txt").write_text("b", encoding="utf-8")
    (folder / ".adyton.toml").write_text('allow = "all"\n', encoding="utf-8")
    (folder / ".htaccess").write_text("Require all granted\n", encoding="utf-8")
    server = serve(write(pages, DENIED), cwd=pages)
    with server.connect(lint_answers=False) as connection:
        for target, status in DENIED_ANSWERS:
            assert status == connection.get(target).status, target

    said = run("route", "site.toml", "/deep/x.ba%6B/y", cwd=pages).stdout.splitlines()

    assert ["path   /deep/x.bak/y", "answer 403: refused to everybody, by deny-paths = *.bak"] == said[1:]

    said = run("route", "site.toml", "/told/", cwd=pages).stdout

    assert "that is /told/index.html, the rules for its path apply:\n         answer 403: refused to" in said


def test_wrong_patterns(pages: Path) -> None:
    """A pattern that is invalid, or that would deny everything, is reported."""
    for pattern, why in [
        ("/", "/ is everything, and the site would answer nothing"),
        ("bak", "a path begins with a slash"),
        ("*", "behind * stands the suffix of paths"),
    ]:
        write(pages, DENIED.replace('"*.bak"', f'"{pattern}"'))
        said = run("check", "site.toml", cwd=pages)

        assert (2, True) == (said.returncode, f"deny-paths = {pattern}: {why}" in said.stderr), said


HOSTS = """
[[sites]]
hosts = ["a.example"]
[[sites.routes]]
app = "shop:hosts"

[[sites]]
hosts = ["b.example"]
rewrite = "/old/ -> /new/"
[[sites.routes]]
app = "blog:hosts"

[[sites.routes]]
path = "/cgi-bin/"
cgi = "public/cgi-bin"
"""


def test_absolute_targets(serve: Servers, project: Path) -> None:
    """The host in an absolute target counts, whatever the Host field says (RFC 9112 section 3.2.2)."""
    script(project, "a.sh", SAY_ALL)
    server = serve(write(project, HOSTS), cwd=project)
    with server.connect(lint_answers=False) as connection:
        for target, host, body in [
            ("http://b.example/x", "a.example", b"blog b.example"),
            ("http://A.example:81/x", "b.example", b"shop A.example:81"),
            ("http://b.example/old/x", "a.example", b"blog b.example"),
            ("/x", "b.example", b"blog b.example"),
        ]:
            answer = connection.get(target, fields=[("Host", host)])

            assert (200, body) == (answer.status, answer.body), (target, host)
        ran = connection.get("http://b.example/cgi-bin/a.sh", fields=[("Host", "a.example")]).body.decode()

    assert {"HTTP_HOST=b.example", "SERVER_NAME=b.example"} <= set(ran.splitlines())
