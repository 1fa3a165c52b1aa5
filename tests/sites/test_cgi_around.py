"""Settings for the answers of applications, and for the group that runs them, hold for scripts, too."""

from __future__ import annotations

import gzip
import zlib
from typing import TYPE_CHECKING

from sites.scripts import SAY_ALL, SHELL, script, start
from support.client import request
from support.server import run, until

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Servers

GZIP = ("Accept-Encoding", "gzip")

ROUTE = """
compress = ["gzip"]
x-sendfile = "sent"
internal-redirects = true
intercept-errors = true
headers = { X-Around = "yes" }
"""

INTERNAL = """
[[sites.routes]]
path = "/inner/"
internal = true
respond = 202
body = "inner"
"""

GROUP = """
[[sites.routes]]
path = "/grouped/"
app = "blog:application"
group = "blog"

[[sites.routes]]
path = "/grouped/own/"
internal = true
app = "blog:application"
group = "blog"

[groups.blog]
processes = 1
"""


def test_compression(serve: Servers, project: Path) -> None:
    """An answer is compressed, and printed output reaches the client while the script still waits."""
    head = "printf 'Content-Type: text/html\\n\\n'"
    script(project, "page.sh", SHELL.format(f"{head}; seq 2000"))
    script(project, "large.sh", SHELL.format(f"{head}; seq 2000000"))
    script(
        project,
        "promised.sh",
        SHELL.format("printf 'Content-Type: text/html\\nContent-Length: 8893\\n\\n'; seq 2000"),
    )
    script(project, "broken.sh", SHELL.format(f"{head}; seq 2000; sleep 0.3; kill -KILL $$"))
    waits = "while [ ! -e go ]; do sleep 0.05; done"
    script(project, "pieces.sh", SHELL.format(f"{head}; echo first; {waits}; echo last"))
    server = start(serve, project, route=ROUTE)
    counts = {"page": 2000, "promised": 2000, "large": 2_000_000}
    pages = {name: "".join(f"{line}\n" for line in range(1, to + 1)).encode() for name, to in counts.items()}
    with server.connect() as connection:
        for name, page in pages.items():
            answer = connection.get(f"/cgi-bin/{name}.sh", fields=[GZIP])
            assert (["gzip"], page) == (answer.values("Content-Encoding"), gzip.decompress(answer.body)), name
            assert ("yes", "Accept-Encoding") == (answer["X-Around"], answer["Vary"])
            assert page == connection.get(f"/cgi-bin/{name}.sh").body
        assert b"" == connection.get("/cgi-bin/page.sh", method="HEAD", fields=[GZIP]).body
        assert not connection.get("/cgi-bin/broken.sh", fields=[GZIP]).complete

    decoder = zlib.decompressobj(wbits=31)
    with server.connect() as connection:
        connection.send(request("/cgi-bin/pieces.sh", fields=[GZIP]))
        received = b""
        while b"\r\n\r\n" not in received or received.endswith(b"\r\n\r\n"):
            received += connection.socket.recv(65536)
        body, seen = received.partition(b"\r\n\r\n")[2], b""
        while b"first\n" not in seen:
            while not body:
                body = connection.socket.recv(65536)
            size, _, body = body.partition(b"\r\n")
            seen += decoder.decompress(body[: int(size, 16)])
            body = body[int(size, 16) + 2 :]
        assert b"first\n" == seen
        (project / "public/cgi-bin/go").touch()
        while not body.endswith(b"\r\n0\r\n\r\n"):
            body += connection.socket.recv(65536)


def test_sending_on(serve: Servers, project: Path) -> None:
    """A script can have a file sent, or another route answer; error pages replace its error answers."""
    (project / "sent").mkdir()
    (project / "sent/a.txt").write_text("file\n", encoding="utf-8")
    kept = "echo 'Content-Type: a/b'; echo 'Set-Cookie: a=b'"
    for name, says in [
        ("file", f"{kept}; echo 'X-Sendfile: a.txt'; echo; seq 200000"),
        ("none", f"{kept}; echo 'X-Sendfile: /etc/passwd'; echo"),
        ("accel", f"{kept}; echo 'X-Accel-Redirect: /inner/a'; echo; echo hello"),
        ("inner", "echo 'Location: /inner/a'; echo"),
        ("again", "echo 'Location: /cgi-bin/file.sh'; echo"),
        ("error", "echo 'Status: 404 None'; echo 'Content-Type: a/b'; echo; echo hello"),
    ]:
        script(project, f"{name}.sh", SHELL.format(says))
    pages = 'error-pages = { 404 = "errors/who.html" }'
    server = start(serve, project, server=pages, route=ROUTE, more=INTERNAL)
    with server.connect() as connection:
        for name, status, body in [
            ("file", 200, b"file\n"),
            ("none", 500, b"cannot go"),
            ("accel", 202, b"inner"),
            ("inner", 202, b"inner"),
            ("again", 200, b"file\n"),
            ("error", 404, b"<p>who?"),
        ]:
            answer = connection.get(f"/cgi-bin/{name}.sh")
            assert status == answer.status, (name, answer)
            assert body in answer.body, (name, answer)
            assert "X-Sendfile" not in answer
        file = connection.get("/cgi-bin/file.sh")
        assert ("a/b", "a=b", "yes") == (file["Content-Type"], file["Set-Cookie"], file["X-Around"])
        assert "Set-Cookie" not in connection.get("/cgi-bin/inner.sh")
        assert 404 == connection.get("/inner/a").status


def test_groups(serve: Servers, project: Path) -> None:
    """Scripts run outside of groups, and can send a request on to a group's application."""
    script(project, "say.sh", SAY_ALL)
    script(project, "to.sh", SHELL.format("echo 'Location: /grouped/a?b'; echo"))
    script(project, "own.sh", SHELL.format("echo 'Location: /grouped/own/a'; echo"))
    server = start(serve, project, "--processes=1", server='control = "control.sock"', more=GROUP)
    asks = ("status", "--json", "--control", "control.sock")
    assert until(lambda: '"starting"' not in run(*asks, cwd=project).stdout)
    with server.connect() as connection:
        for _ in range(2):
            assert b"blog 1" in connection.get("/grouped/a").body
            assert b"SCRIPT_NAME=/cgi-bin/say.sh" in connection.get("/cgi-bin/say.sh").body
            said = connection.get("/cgi-bin/to.sh", method="POST", body=b"body").body
            assert (b"blog", b"/grouped/a", b"0") == tuple(said.split()[index] for index in (0, 3, 4))
            body = connection.get("/cgi-bin/say.sh", method="POST", body=b"x" * 100).body
            assert body.endswith(b"x" * 100)
        assert 404 == connection.get("/cgi-bin/own.sh").status
        assert b"shop 1" in connection.get("/").body
