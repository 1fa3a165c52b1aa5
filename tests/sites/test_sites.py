"""A file of sites: which site and which route answers, and which settings apply."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sites.conftest import write
from support.server import run

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Server, Servers

FILE = """
[server]
access-log = "all.log"

[[sites]]
hosts = ["shop.example", "*.shop.example"]
root = "public"

[[sites.routes]]
app = "shop:application"

[[sites.routes]]
path = "/static/"
files = "static"
headers = { X-Content-Type-Options = "nosniff" }

[[sites.routes]]
path = "/static/secret/"
deny = ["127.0.0.0/8", "::1"]
files = "static/secret"

[[sites.routes]]
path = "/quiet/"
app = "shop:application"
remove-headers = ["X-Powered-By"]
cache-control = "max-age=60"
add-headers = { Link = "</a>; rel=preload" }

[[sites.routes]]
path = "/api/"
methods = ["POST", "DELETE"]
handler = "shop:handler"

[[sites.routes]]
path = "/beta/"
if-headers = { X-Beta = "1" }
handler = "blog:handler"

[[sites.routes]]
path = "/beta/"
if-query = { beta = "*" }
respond = 202
body = "soon"

[[sites]]
hosts = ["blog.example"]
body-bytes-max = 4
access-log = "blog.log"

[[sites.routes]]
app = "blog:application"

[[sites.routes]]
path = ["/old/", "/older/"]
redirect = "https://new.example{rest}{query}"
redirect-status = 301

[[sites.routes]]
path = "/gone"
respond = 410

[[sites]]
hosts = ["only.example"]

[[sites.routes]]
path = "/only"
methods = "PUT"
respond = 201
body = "put"
content-type = "text/html"
"""

LINES = [number for number, line in enumerate(FILE.splitlines(), 1) if line.startswith("[[")]
"""Lines where sites and routes begin."""

SHOP = "site   shop.example, *.shop.example, and all other names (line 5)"

ANSWERS = [
    # The host decides the site.
    ("shop.example", "GET", "/", 200, "shop 1"),
    ("www.SHOP.example:80", "GET", "/x", 200, "shop 1"),
    ("blog.example.", "GET", "/x", 200, "blog 1"),
    ("other.example", "GET", "/x", 200, "shop 1"),
    # The path and the method decide the route.
    ("shop.example", "GET", "/static/site.css", 200, "p {}"),
    ("shop.example", "GET", "/static/none.css", 404, ""),
    ("shop.example", "POST", "/api/orders", 200, "shop handles /api/orders"),
    ("shop.example", "GET", "/api/orders", 200, "shop 1"),
    ("shop.example", "GET", "/beta/", 200, "shop 1"),
    ("shop.example", "GET", "/beta/?a&beta=3", 202, "soon"),
    ("blog.example", "GET", "/old/a?b", 301, "https://new.example/a?b"),
    ("blog.example", "GET", "/older", 301, "https://new.example"),
    ("blog.example", "GET", "/gone", 410, "410 Gone"),
    ("blog.example", "GET", "/gone/", 200, "blog 1"),
    ("only.example", "PUT", "/only", 201, "put"),
    ("only.example", "GET", "/only", 405, "not served with this method"),
    ("only.example", "GET", "/", 404, "Nothing is served here"),
    # The rule of a path is found in all spellings of the path.
    ("shop.example", "GET", "/static/secret/key.txt", 403, ""),
    ("shop.example", "GET", "/static/%73ecret/key.txt", 403, ""),
    ("shop.example", "GET", "//static//secret//key.txt", 403, ""),
    ("shop.example", "GET", "/static%2Fsecret/key.txt", 403, ""),
    ("shop.example", "GET", "/static/secret%2fkey.txt", 403, ""),
    ("shop.example", "GET", "/static/x/../secret/key.txt", 400, ""),
    ("shop.example", "GET", "/static/./secret/key.txt", 400, ""),
    ("shop.example", "GET", "/static/%2e/secret/key.txt", 400, ""),
    ("shop.example", "GET", "/static/x%2f..%2fsecret/key.txt", 400, ""),
    ("shop.example", "GET", "/static/secret/", 403, ""),
    ("shop.example", "GET", "/static/secret", 403, ""),
    # Names that no file has.
    ("shop.example", "GET", "/static/SECRET/key.txt", 404, ""),
    ("shop.example", "GET", "/static/secret./key.txt", 404, ""),
    ("shop.example", "GET", "/static/%2573ecret/key.txt", 404, ""),
    ("shop.example", "GET", "/static/secret%00/key.txt", 400, ""),
    ("shop.example", "GET", "/static/secret;/key.txt", 404, ""),
    ("shop.example", "GET", "/static/secret\\key.txt", 400, ""),
]


@pytest.fixture
def server(serve: Servers, project: Path) -> Server:
    """Serve the file."""
    return serve(write(project, FILE), cwd=project)


def test_answers(server: Server) -> None:
    """All sites answer rightly, over one connection and over a connection for each request."""
    with server.connect(lint_answers=False) as connection:
        for kept in (True, False):
            for host, method, target, status, words in ANSWERS:
                fields = [("Host", host)]
                if kept and status != 400:
                    response = connection.get(target, method=method, fields=fields)
                else:
                    response = server.fetch(target, method=method, fields=fields, lint_answers=False)
                told = f"{method} {target} at {host}: {response}"

                assert status == response.status, told
                assert words in response.body.decode(), told


def test_around(server: Server) -> None:
    """Routes add and remove fields, and may require one; sites have limits and logs of their own."""
    shop, blog = ("Host", "shop.example"), ("Host", "blog.example")
    plain, quiet = (server.fetch(target, fields=[shop]) for target in ("/", "/quiet/"))
    css = server.fetch("/static/site.css", fields=[shop])

    assert ["us", "no-store"] == [plain["X-Powered-By"], plain["Cache-Control"]]
    assert ["max-age=60"] == quiet.values("Cache-Control")
    assert "X-Powered-By" not in quiet
    assert "</a>; rel=preload" == quiet["Link"]
    assert "nosniff" == css["X-Content-Type-Options"]
    assert b"blog handles /beta/x" == server.fetch("/beta/x", fields=[shop, ("X-Beta", "1")]).body
    assert [200, 413, 200] == [
        server.fetch("/up", method="POST", fields=[host], body=body, lint_answers=False).status
        for host, body in [(blog, b"1234"), (blog, b"12345"), (shop, b"12345")]
    ]


INTERCEPTED = """
[[sites]]
error-pages = { 404 = "errors/who.html", 503 = "errors/busy.html" }
intercept-errors = true

[[sites.routes]]
app = "shop:errors"
headers = { X-Frame-Options = "DENY" }

[[sites.routes]]
path = "/handler"
handler = "shop:errors_handler"

[[sites.routes]]
path = "/as-it-is/"
app = "shop:errors"
intercept-errors = false

[[sites.routes]]
path = "/fixed"
respond = 404
body = "fixed"
"""


@pytest.mark.parametrize("threads", ["1", "4"])
def test_pages_for_errors_of_applications(serve: Servers, project: Path, threads: str) -> None:
    """The site's page for a status replaces an application's answer, if the settings say so."""
    server = serve(write(project, INTERCEPTED), "--threads", threads, cwd=project)
    with server.connect(lint_answers=False) as connection:
        for way in ("list", "iter", "long", "write"):
            for status, page in [(404, "<p>who?"), (503, "<p>busy?"), (500, None), (200, None)]:
                answer = connection.get(f"/{way}/{status}")

                assert status == answer.status
                assert (page or f"the application says {status}") == answer.body.decode(), (way, status)
                assert ["a=b", "7", "DENY"] == [
                    answer[n] for n in ("Set-Cookie", "Retry-After", "X-Frame-Options")
                ]
                assert (page is None) == ("ETag" in answer)
                assert "Its Words" == answer.reason
        head = connection.get("/long/404", method="HEAD")

        assert (404, b"", "7") == (head.status, head.body, head["Content-Length"])
        assert b"<p>busy?" == connection.get("/handler").body
        assert b"the application says 404" == connection.get("/as-it-is/list/404").body
        assert b"fixed" == connection.get("/fixed").body


TRIED = """
[[sites]]
root = "public"

[[sites.routes]]
files = "static"
app = "shop:application"
try = ["files", "app"]
deny = "192.0.2.0/24"

[[sites.routes]]
path = "/part/"
methods = ["GET", "PUT"]
files = "static"
respond = 202
try = ["files", "respond"]

[[sites.routes]]
path = "/next/"
files = "static"
try = "files"
"""


def test_files_first(serve: Servers, project: Path) -> None:
    """A folder answers for the files that it has; another key of the route answers all other paths."""
    server = serve(write(project, TRIED), cwd=project)
    for method, target, status, words in [
        ("GET", "/site.css", 200, "p {}"),
        ("HEAD", "/site.css", 200, ""),
        ("GET", "/none.css", 200, "shop 1"),
        ("GET", "/", 200, "shop 1"),
        ("POST", "/none.css", 200, "shop 1"),
        ("GET", "/secret/key.txt", 200, "secret"),
        ("GET", "/%2e%2e/shop.py", 400, ""),
        ("GET", "/part/site.css", 200, "p {}"),
        ("PUT", "/part/none.css", 202, "202"),
        ("DELETE", "/part/none.css", 200, "shop 1"),
        ("GET", "/next/site.css", 200, "p {}"),
        ("GET", "/next/none.css", 200, "shop 1"),
    ]:
        answer = server.fetch(target, method=method, lint_answers=False)

        assert status == answer.status, f"{method} {target}: {answer}"
        assert words in answer.body.decode(), f"{method} {target}: {answer}"

    said = run("route", "site.toml", "/none.css", cwd=project).stdout.splitlines()

    assert [
        "answer files public/static / (line 5)",
        "       and if there is no such file:",
        "answer app shop:application / (line 5)",
    ] == said[1:]


LIMITED = """
[[sites]]
rate-limit = "1/h"
rate-burst = 3

[[sites.routes]]
app = "shop:application"

[[sites.routes]]
path = "/same/"
respond = 202

[[sites.routes]]
path = "/own/"
respond = 202
rate-burst = 2

[[sites.routes]]
path = "/free/"
respond = 202
rate-limit = "off"

[[sites.routes]]
path = "/staff/"
app = "shop:user"
auth = "basic:staff.htpasswd"
rate-burst = 4
"""


def test_rate_of_requests(serve: Servers, project: Path) -> None:
    """A client above its rate limit gets a 429; routes with the same limit count together."""
    server = serve(write(project, LIMITED), "--processes", "1", cwd=project)
    staff = ("Authorization", "Basic YW5uOmNvcnJlY3QgaG9yc2U=")

    def statuses(*targets: str) -> list[int]:
        return [server.fetch(target, fields=[staff], lint_answers=False).status for target in targets]

    assert [200, 202, 200, 429, 429] == statuses("/", "/same/", "/x", "/same/", "/")
    assert [202, 202, 429] == statuses("/own/", "/own/", "/own/")
    assert [202] * 10 == statuses(*["/free/"] * 10)
    # A request that waits while its password is verified is counted only once.
    assert [200, 200, 200, 200, 429] == statuses(*["/staff/"] * 5)

    refused = server.fetch("/", lint_answers=False)

    assert 3000 < int(refused["Retry-After"]) <= 3600


def test_an_even_rate(serve: Servers, project: Path) -> None:
    """A client that waits for the time in `Retry-After` gets its answer."""
    text = LIMITED.replace('"1/h"', '"2/s"').replace("rate-burst = 3", "rate-burst = 1")
    server = serve(write(project, text), "--processes", "1", cwd=project)
    statuses = []
    for _ in range(3):
        while (answer := server.fetch("/same/", lint_answers=False)).status == 429:
            assert "1" == answer["Retry-After"]
        statuses.append(answer.status)

    assert [202, 202, 202] == statuses


AROUND = """
[server]
headers = { X-All = "server", X-Some = "server" }

[[sites]]
deny = ["127.0.0.0/8", "::1"]
add-headers = { X-More = "site" }

[[sites.routes]]
app = "shop:application"

[[sites.routes]]
path = "/open/"
app = "shop:application"
deny = "none"
headers = { X-Some = "route" }
remove-headers = ["X-More", "X-Powered-By"]

[[sites.routes]]
path = "/files/"
files = "public/static"
deny = "192.0.2.0/24"
cache-control = "no-cache"
"""


def test_around_is_inherited(serve: Servers, project: Path) -> None:
    """Settings of a site, or of the server, count for all of their routes that do not set them."""
    server = serve(write(project, AROUND), cwd=project)
    names = ["X-All", "X-Some", "X-More", "X-Powered-By", "Cache-Control"]

    assert [
        ("/", 403, ["server", "server", "site", None, None]),
        ("/open/", 200, ["server", "route", None, None, "no-store"]),
        ("/files/site.css", 200, ["server", "server", "site", None, "no-cache"]),
        ("/files/none", 404, ["server", "server", "site", None, "no-cache"]),
    ] == [
        (target, answer.status, [answer.values(name)[0] if name in answer else None for name in names])
        for target in ("/", "/open/", "/files/site.css", "/files/none")
        for answer in [server.fetch(target, lint_answers=False)]
    ]


def test_around_a_command_line(serve: Servers, project: Path) -> None:
    """Settings for all routes can be given on a command line, too."""
    server = serve(
        "shop:application",
        *("--deny", "192.0.2.0/24", "--headers", "X-All=a", "--static", "/static=public/static"),
        cwd=project,
    )

    assert ["a", "a"] == [server.fetch(target)["X-All"] for target in ("/", "/static/site.css")]

    server = serve("shop:application", "--allow", "192.0.2.0/24", cwd=project)

    assert 403 == server.fetch("/", lint_answers=False).status


def test_logs(serve: Servers, project: Path) -> None:
    """A site has the log that it names, and the server's if it names none."""
    server = serve(write(project, FILE), cwd=project)
    for host, target in [("shop.example", "/a"), ("blog.example", "/b"), ("only.example", "/c")]:
        server.fetch(target, fields=[("Host", host)], lint_answers=False)
    server.stop()

    def logged(name: str) -> list[str]:
        return [line.split()[6] for line in (project / name).read_text(encoding="utf-8").splitlines()]

    assert ["/a", "/c"] == logged("all.log")
    assert ["/b"] == logged("blog.log")


def test_check_and_route(project: Path) -> None:
    """`check` prints the compiled table of routes; `route` says which route answers, and why."""
    write(project, FILE)
    checked = run("check", "site.toml", cwd=project)
    table = checked.stdout.splitlines()

    assert 0 == checked.returncode, checked.stderr
    assert "shop.example, *.shop.example, and all other names (line 5)" == table[0]
    paths = [line.split()[0] for line in table[1:8]]
    assert ["/static/secret/", "/static/", "/quiet/", "/beta/", "/beta/", "/api/", "/"] == paths
    for words, lines in [
        (
            ("GET", "http://shop.example/beta/?beta"),
            [
                f"{SHOP}: has the name shop.example",
                f"passed /beta/ (line {LINES[6]}): it is for X-Beta=1",
                f"answer respond 202 /beta/ (line {LINES[7]})",
            ],
        ),
        (
            ("/static/%73ecret/a",),
            [
                f"{SHOP}: the first one",
                "path   /static/secret/a",
                f"answer 403 /static/secret/ (line {LINES[3]}): not for this client",
            ],
        ),
        (
            ("--from", "192.0.2.1", "http://a.shop.example/static/secret/a"),
            [
                f"{SHOP}: has the name a.shop.example",
                f"answer files public/static/secret /static/secret/ (line {LINES[3]})",
            ],
        ),
        (
            ("GET", "http://only.example/only"),
            [
                f"site   only.example (line {LINES[12]}): has the name only.example",
                f"passed /only (line {LINES[13]}): it is for PUT",
                "answer 405: no route of this path is for this method",
            ],
        ),
    ]:
        said = run("route", "site.toml", *words, cwd=project)

        assert lines == said.stdout.splitlines(), said.stderr


def test_wrong_file(project: Path) -> None:
    """All mistakes are reported, each on a line with its place, and no server starts."""
    write(project, FILE.replace("path =", "pth =", 2))
    said = run("serve", "site.toml", cwd=project)

    assert 2 == said.returncode
    assert [
        f"adyton: site.toml:{LINES[2] + 1}:1: pth is no key of a route; did you mean path?",
        f"adyton: site.toml:{LINES[3] + 1}:1: pth is no key of a route; did you mean path?",
    ] == said.stderr.splitlines()


MOUNTS = """
[server]
error-pages = { 404 = "errors/who.html" }

[[sites]]
error-pages = ["500=errors/busy.html", "405=errors/who.html", "401=errors/who.html"]

[[sites.routes]]
path = ["/shop/", "/a/b/"]
app = "shop:mounted"
mount = true

[[sites.routes]]
path = ["/shop/admin/", "/shop/one"]
app = "shop:mounted"
mount = "/shop"

[[sites.routes]]
path = "/whole/"
app = "shop:mounted"

[[sites.routes]]
path = "/shop/only"
methods = "PUT"
respond = 201

[[sites.routes]]
path = "/private/"
auth = "basic:staff.htpasswd"
respond = 200
"""

MOUNTED = [
    ("/shop", "/shop||/shop"),
    ("/shop/", "/shop|/|/shop/"),
    ("/shop/x?y", "/shop|/x|/shop/x?y"),
    ("//sh%6Fp//x%2Fy", "/shop|//x/y|//sh%6Fp//x%2Fy"),
    ("/a/b/c", "/a/b|/c|/a/b/c"),
    ("/shop/admin/x", "/shop|/admin/x|/shop/admin/x"),
    ("//shop//admin", "/shop|//admin|//shop//admin"),
    ("/shop/one", "/shop|/one|/shop/one"),
    ("/whole/x", "|/whole/x|/whole/x"),
]
"""The target of a request, and its `SCRIPT_NAME`, `PATH_INFO` and `REQUEST_URI`."""


def test_mounts_and_pages(serve: Servers, project: Path) -> None:
    """A mounted application sees the path behind its own; the server's errors have the site's pages."""
    server = serve(write(project, MOUNTS), cwd=project)
    for target, expected in MOUNTED:
        assert expected == server.fetch(target, lint_answers=False).body.decode(), target
    for target, status, body in [
        ("/none", 404, "<p>who?"),
        ("/private/", 401, "<p>who?"),
        ("/whole/fail", 500, "<p>busy?"),
        ("/shop/../x", 400, "400 Bad Request"),
    ]:
        answer = server.fetch(target, lint_answers=False)
        head = server.fetch(target, method="HEAD", lint_answers=False)

        assert (status, "text/html; charset=utf-8") == (answer.status, answer["Content-Type"]), target
        assert body in answer.body.decode()
        assert (status, b"") == (head.status, head.body)
        assert answer["Content-Length"] == head["Content-Length"]
    (project / "errors/who.html").unlink()
    checked = run("check", "site.toml", cwd=project)

    assert 2 == checked.returncode
    assert [
        f"adyton: site.toml:{place}=errors/who.html: No such file or directory (os error 2)"
        for place in ("3:23: error-pages: 404", "6:40: error-pages: 405", "6:63: error-pages: 401")
    ] == checked.stderr.splitlines()


def test_answers_without_a_body(serve: Servers, project: Path) -> None:
    """An answer with a status that allows no body has none."""
    routes = "".join(f'[[sites.routes]]\npath = "/{status}"\nrespond = {status}\n' for status in (204, 205))
    server = serve(write(project, f"[[sites]]\n{routes}"), cwd=project)
    for status in (204, 205):
        answer = server.fetch(f"/{status}", lint_answers=False)

        assert (status, b"") == (answer.status, answer.body)
        assert "Content-Type" not in answer
