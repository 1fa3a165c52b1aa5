"""Answers that the server compresses: which answers, with which coding, and with which heads."""

from __future__ import annotations

import gzip
import shutil
import zlib
from typing import TYPE_CHECKING

import brotli
import pytest

from sites import pages
from sites.conftest import write
from sites.pages import LINES
from support.client import request
from support.server import run

if TYPE_CHECKING:
    from pathlib import Path

    from support.client import Response
    from support.server import Server, Servers

FILE = """
[server]
threads = 4
compress = true
access-log = "access.log"
access-log-format = "%m %U %b"

[[sites]]

[[sites.routes]]
app = "pages:application"

[[sites.routes]]
path = "/handler"
handler = "pages:handler"

[[sites.routes]]
path = "/cookies/"
mount = true
app = "pages:application"
compress-cookies = true

[[sites.routes]]
path = "/gzip/"
mount = true
app = "pages:application"
compress = ["gzip"]
compress-bytes-min = 5

[[sites.routes]]
path = "/plain/"
mount = true
app = "pages:application"
compress = false

[[sites.routes]]
path = "/edited/"
mount = true
app = "pages:application"
headers = { Cache-Control = "no-transform" }
"""

FILES = """
[[sites]]
root = "public"
compress = "on"

[[sites.routes]]
path = "/static/"
files = "static"

[[sites.routes]]
path = "/off/"
files = "static"
compress = false

[[sites.routes]]
path = "/fixed/"
files = "static"
cache-control = "no-transform"
"""

GZIP, BR = ("Accept-Encoding", "gzip"), ("Accept-Encoding", "gzip;q=0.5, br")


@pytest.fixture
def server(serve: Servers, project: Path) -> Server:
    """Return a server of the file."""
    shutil.copy(pages.__file__, project)
    return serve(write(project, FILE), cwd=project)


def decoded(response: Response) -> bytes:
    """Return the decoded body of an answer."""
    match response.values("content-encoding"):
        case ["gzip"]:
            return gzip.decompress(response.body)
        case ["br"]:
            return brotli.decompress(response.body)
        case codings:
            assert not codings, codings
            return response.body


@pytest.mark.parametrize(
    "path", ["/page", "/handler", "/pieces", "/gzip/page", "/cookies/cookie", "/promise"]
)
@pytest.mark.parametrize("field", [GZIP, BR])
def test_an_answer_is_compressed(server: Server, path: str, field: tuple[str, str]) -> None:
    """A compressed answer holds the plain one, is smaller, and its head names the coding."""
    plain = server.fetch(path)
    response = server.fetch(path, fields=[field])
    coding = "gzip" if field == GZIP else "br"
    if path.startswith("/gzip"):
        coding = "gzip"

    assert response["content-encoding"] == coding
    assert decoded(response) == plain.body
    assert len(response.body) * 3 < len(plain.body)
    assert ("chunked", []) == (response.framing, response.values("content-length"))
    assert ["Accept-Encoding"] == response.values("vary") == plain.values("vary")
    assert "content-encoding" not in plain


def test_what_is_liked_most(server: Server) -> None:
    """The client's preference decides; if it prefers none, Zstandard is taken, which is the quickest."""
    response = server.fetch("/page", fields=[("Accept-Encoding", "gzip, deflate, br, zstd")])

    assert response["content-encoding"] == "zstd"
    assert response.body.startswith(b"\x28\xb5\x2f\xfd")
    for refused in ["", "identity", "gzip;q=0", "deflate", "br;q=0, *;q=0", "gzip;q=0.1, identity"]:
        response = server.fetch("/page", fields=[("Accept-Encoding", refused)])
        assert ([], LINES) == (response.values("content-encoding"), response.body), refused
        assert response["vary"] == "Accept-Encoding"


@pytest.mark.parametrize(
    "path",
    [
        "/cookie",
        "/fixed",
        "/part",
        "/picture",
        "/untyped",
        "/small",
        "/plain/page",
        "/edited/page",
    ],
)
def test_what_is_left_alone(server: Server, path: str) -> None:
    """The answer is the same as for a client that takes no coding."""
    response = server.fetch(path, fields=[GZIP], lint_answers=False)

    assert response.body in (LINES, b"small")
    assert ([], []) == (response.values("content-encoding"), response.values("vary"))
    assert response["content-length"] == str(len(response.body))


def test_what_is_coded_already(server: Server) -> None:
    """Nothing is coded twice."""
    response = server.fetch("/coded", fields=[GZIP], lint_answers=False)

    assert (["deflate"], LINES) == (response.values("content-encoding"), response.body)


def test_settings_of_a_route(server: Server) -> None:
    """A route can set its own codings and least length; a `Vary` of the answer is extended."""
    small = server.fetch("/gzip/small", fields=[BR])
    varies = server.fetch("/varies", fields=[BR])

    assert decoded(small) == b"small"
    assert small["content-encoding"] == "gzip"
    assert ["Cookie", "Accept-Encoding"] == varies.values("vary")


def test_conditions(server: Server) -> None:
    """The ETag of a compressed answer is weak, and a condition with it gets a 304."""
    plain, coded = server.fetch("/page"), server.fetch("/page", fields=[GZIP])
    assert ('"one"', 'W/"one"') == (plain["etag"], coded["etag"])
    for response, fields in [(plain, []), (coded, [GZIP])]:
        tag = response["etag"]
        again = server.fetch("/page", fields=[*fields, ("If-None-Match", tag)])
        assert (304, tag, "Accept-Encoding") == (again.status, again["etag"], again["vary"])


def test_head(server: Server) -> None:
    """HEAD has the fields of GET, and a length only if GET has one."""
    get, head = (server.fetch("/page", method=method, fields=[GZIP]) for method in ("GET", "HEAD"))
    names = ("content-encoding", "content-type", "etag", "vary")

    assert [get.values(name) for name in names] == [head.values(name) for name in names]
    assert (b"", []) == (head.body, head.values("content-length"))


def test_http_1_0(server: Server) -> None:
    """A client without support for chunks gets the answer uncompressed."""
    with server.connect() as connection:
        response = connection.ask(request("/page", fields=[GZIP], version="1.0"))

    assert ([], LINES) == (response.values("content-encoding"), response.body)


@pytest.mark.parametrize("path", ["/stream", "/write"])
def test_each_piece_is_sent(server: Server, path: str) -> None:
    """An item that an application has yielded reaches the client while the application still waits."""
    decoder = zlib.decompressobj(wbits=31)
    with server.connect() as connection:
        connection.send(request(path, fields=[GZIP]))
        seen = b""
        while b"first\n" not in seen:
            data = connection.socket.recv(65536)
            assert data, seen
            head, _, body = data.partition(b"\r\n\r\n") if not seen else (b"", b"", data)
            assert not head or b"\r\nContent-Encoding: gzip" in head
            while body:
                size, _, body = body.partition(b"\r\n")
                seen += decoder.decompress(body[: int(size, 16)])
                body = body[int(size, 16) + 2 :]
            seen = seen or b" "
        assert seen.strip() == b"first"
        assert server.fetch("/more").body == b"small"
        rest = b""
        while not rest.endswith(b"\r\n0\r\n\r\n"):
            rest += connection.socket.recv(65536)


@pytest.mark.parametrize("threads", [1, 4])
def test_a_large_stream(serve: Servers, project: Path, threads: int) -> None:
    """A large stream arrives whole, and the connection goes on; with one thread the loop pulls it."""
    shutil.copy(pages.__file__, project)
    file = write(project, FILE.replace("threads = 4", f"threads = {threads}"))
    server = serve(file, cwd=project)
    with server.connect() as connection:
        for _ in range(2):
            response = connection.get("/large", fields=[GZIP])
            assert decoded(response) == LINES * 2800
        assert connection.get("/small").body == b"small"


def test_a_stream_that_breaks(server: Server) -> None:
    """A compressed answer that is shorter than its Content-Length promised looks incomplete to the client."""
    with server.connect() as connection:
        response = connection.get("/broken", fields=[GZIP])

        assert not response.complete
        assert connection.at_end()
    server.wait_for_log("ADY")


def test_files_of_an_application(server: Server) -> None:
    """A file of an application that the kernel could send is compressed if that makes it smaller."""
    response = server.fetch("/file", fields=[GZIP])

    assert decoded(response) == server.fetch("/file").body
    assert response["content-encoding"] == "gzip"


def test_the_access_log_counts_what_is_sent(server: Server, project: Path) -> None:
    """The access log has the length of the compressed body."""
    response = server.fetch("/page", fields=[GZIP])
    server.stop()
    lines = (project / "access.log").read_text(encoding="utf-8").splitlines()

    assert lines == [f"GET /page {len(response.body)}"]


def test_memory_is_bounded(serve: Servers, project: Path) -> None:
    """If there is no memory for a compressor, an answer is sent uncompressed."""
    file = write(project, FILE.replace("threads = 4", 'threads = 4\ncompress-memory-max = "100k"'))
    shutil.copy(pages.__file__, project)
    server = serve(file, cwd=project)
    response = server.fetch("/page", fields=[GZIP])

    assert ([], LINES) == (response.values("content-encoding"), response.body)
    assert ('"one"', "Accept-Encoding") == (response["etag"], response["vary"])


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ('"lzma"', "write on, off, or some of br, zstd and gzip, each once"),
        ('["br", "br"]', "write on, off, or some of br, zstd and gzip, each once"),
        ('["br", {}]', "write a text, a decimal number, true or false"),
        ("{ br = 1 }", "compress takes one value, as in compress = "),
    ],
)
def test_mistakes(project: Path, value: str, why: str) -> None:
    """An unknown coding is refused, with a sentence."""
    file = write(project, f'[[sites]]\n[[sites.routes]]\nfiles = "public"\ncompress = {value}\n')
    found = run("check", str(file), cwd=project)

    assert found.returncode == 2
    assert why in found.stderr


def test_files(serve: Servers, project: Path) -> None:
    """A file is compressed once and kept; a `.gz` file beside it is sent; ranges are of the plain file."""
    folder = project / "public/static"
    (folder / "long.css").write_bytes(LINES)
    (folder / "large.css").write_bytes(LINES * 10)
    (folder / "ready.css").write_bytes(LINES)
    (folder / "ready.css.gz").write_bytes(b"ready")
    (folder / "a.png").write_bytes(LINES)
    server = serve(write(project, FILES), cwd=project)
    plain = server.fetch("/static/long.css")
    for path, lines in [("long", LINES), ("large", LINES * 10)]:
        first, second = (server.fetch(f"/static/{path}.css", fields=[GZIP]) for _ in range(2))
        assert first.body == second.body
        assert (decoded(first), first["content-encoding"]) == (lines, "gzip")
        assert (first["content-length"], first["vary"]) == (str(len(first.body)), "Accept-Encoding")
        tagged = server.fetch(f"/static/{path}.css", fields=[GZIP, ("If-None-Match", first["etag"])])
        assert (304, first["etag"]) == (tagged.status, tagged["etag"])
        part = server.fetch(f"/static/{path}.css", fields=[GZIP, ("Range", "bytes=0-3")])
        assert (206, lines[:4], []) == (part.status, part.body, part.values("content-encoding"))
    assert (plain.body, plain["vary"]) == (LINES, "Accept-Encoding")
    assert decoded(server.fetch("/static/long.css", fields=[BR])) == LINES
    assert server.fetch("/static/ready.css", fields=[GZIP], lint_answers=False).body == b"ready"
    for path in ["/static/a.png", "/off/long.css", "/fixed/long.css"]:
        response = server.fetch(path, fields=[GZIP])
        assert (LINES, []) == (response.body, response.values("content-encoding")), path


def test_a_folder_alone(serve: Servers, project: Path) -> None:
    """A command line compresses, too."""
    (project / "public/a.txt").write_bytes(LINES)
    server = serve("public", "--compress", "gzip", cwd=project)

    assert decoded(server.fetch("/a.txt", fields=[GZIP])) == LINES
    assert "content-encoding" not in server.fetch("/a.txt", fields=[("Accept-Encoding", "br")])
