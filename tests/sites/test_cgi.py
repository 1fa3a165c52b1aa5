"""CGI scripts: their variables and bodies, their output, and the answers made from it (RFC 3875)."""

from __future__ import annotations

import hashlib
import os
import re
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sites.conftest import write
from sites.scripts import SAY_ALL, SHELL, script, start, variables
from support.client import Connection, chunked, request
from support.server import AS_ROOT, run, until

if TYPE_CHECKING:
    from support.server import Servers


def test_what_a_script_is_told(serve: Servers, project: Path) -> None:
    """A script gets the variables of RFC 3875, a few others that programs expect, and no more."""
    script(project, "say.sh", SAY_ALL)
    server = start(serve, project)
    response = server.fetch("/cgi-bin/say.sh/a%20b/c?x=%31", fields=[("Accept", "a"), ("X-Two", "b")])
    found = variables(response)
    port, root = str(server.port), project / "public"
    expected = {
        "DOCUMENT_ROOT": str(root),
        "GATEWAY_INTERFACE": "CGI/1.1",
        "HTTP_ACCEPT": "a",
        "HTTP_HOST": "localhost",
        "HTTP_X_TWO": "b",
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "PATH_INFO": "/a b/c",
        "PATH_TRANSLATED": f"{root}/a b/c",
        "QUERY_STRING": "x=%31",
        "REMOTE_ADDR": "127.0.0.1",
        "REMOTE_HOST": "127.0.0.1",
        "REMOTE_PORT": found["REMOTE_PORT"],
        "REQUEST_METHOD": "GET",
        "REQUEST_SCHEME": "http",
        "REQUEST_URI": "/cgi-bin/say.sh/a%20b/c?x=%31",
        "SCRIPT_FILENAME": str(root / "cgi-bin/say.sh"),
        "SCRIPT_NAME": "/cgi-bin/say.sh",
        "SERVER_ADDR": "127.0.0.1",
        "SERVER_NAME": "localhost",
        "SERVER_PORT": port,
        "SERVER_PROTOCOL": "HTTP/1.1",
        "SERVER_SOFTWARE": found["SERVER_SOFTWARE"],
        "cwd": f"{root}/cgi-bin args=0",
    }
    # Variables that the shell itself sets.
    for name in ("PWD", "OLDPWD", "_", "SHLVL"):
        found.pop(name, None)

    assert 200 == response.status
    assert "text/plain" == response["Content-Type"]
    assert expected == found


BODIES = [b"", b"x", b"x" * 4096, b"y" * 65536, b"z" * 65537, b"w" * 3_000_000]


@pytest.mark.parametrize("body", BODIES, ids=len)
@pytest.mark.parametrize("is_chunked", [False, True])
@pytest.mark.parametrize("flags", [(), ("--stream-body",)], ids=["", "stream"])
def test_bodies(
    serve: Servers, project: Path, body: bytes, flags: tuple[str, ...], *, is_chunked: bool
) -> None:
    """A body arrives whole, with its length and end, however it is framed and wherever it is kept."""
    script(
        project,
        "count.sh",
        SHELL.format('echo "Content-Type: a/b"; echo; echo "$CONTENT_LENGTH"; wc -c; cat'),
    )
    server = start(serve, project, *flags)
    fields = [("Transfer-Encoding", "chunked")] if is_chunked else []
    sent = chunked(*([body] if body else [])) if is_chunked else body
    response = server.fetch("/cgi-bin/count.sh", method="POST", fields=fields, body=sent)

    assert [str(len(body))] * 2 == response.body.decode().split("\n")[:2]


SEEKS = """#!/usr/bin/env python3
import hashlib, os, sys
begins, length = os.lseek(0, 0, os.SEEK_CUR), os.fstat(0).st_size
ends = os.lseek(0, 0, os.SEEK_END)
os.lseek(0, -4, os.SEEK_END)
last = os.read(0, 9).decode()
os.lseek(0, 0, os.SEEK_SET)
whole = hashlib.sha256(sys.stdin.buffer.read()).hexdigest()
try:
    os.write(0, b"x")
except OSError as error:
    print("Content-Type: a/b\\n\\n", begins, length, ends, last, whole, type(error).__name__)
"""
"""A script that reads its body at several offsets."""


@pytest.mark.parametrize("kib", [65, 200, 300, 3_000])
@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_body_in_a_file(serve: Servers, project: Path, kib: int, *, is_chunked: bool) -> None:
    """A body too large for a pipe comes as a file, open at its start, with its length, and not writable."""
    script(project, "seeks.py", SEEKS)
    body = bytes(range(256)) * (4 * kib - 1) + b"x" * 252 + b"last"
    server = start(serve, project)
    fields = [("Transfer-Encoding", "chunked")] if is_chunked else []
    sent = chunked(body) if is_chunked else body
    whole = hashlib.sha256(body).hexdigest()
    expected = ["0", str(len(body)), str(len(body)), "last", whole, "OSError"]
    for _ in range(2):
        response = server.fetch("/cgi-bin/seeks.py", method="POST", fields=fields, body=sent)
        assert expected == response.body.decode().split()


def test_a_body_that_waits_to_be_asked(serve: Servers, project: Path) -> None:
    """A client that sends `Expect: 100-continue` gets a 100, or a 404 at once if there is no script."""
    script(project, "cat.sh", SHELL.format("echo 'Content-Type: a/b'; echo; cat"))
    server = start(serve, project)
    fields = [("Expect", "100-continue"), ("Content-Length", "4")]
    with server.connect() as connection:
        connection.send(request("/cgi-bin/cat.sh", method="POST", fields=fields))
        while not connection.reader.buffer:
            assert connection.reader.fill()
        connection.send(b"body")
        response = connection.receive("POST")

        assert ([100], b"body") == (response.interim, response.body)
        connection.send(request("/cgi-bin/none", method="POST", fields=fields))
        assert 404 == connection.receive("POST").status


ANSWERS = [
    (r"Content-Type: text/plain\n\nhello", 200, "OK", [], b"hello"),
    (r"Content-Type: text/plain\r\n\r\nhello", 200, "OK", [], b"hello"),
    (r"Status: 404 Not here\nContent-Type: a/b\n\nno", 404, "Not here", [], b"no"),
    (r"Status: 201\nContent-Type: a/b\n\n", 201, "Created", [], b""),
    (r"Status: 204 No Content\n\n", 204, "No Content", [], b""),
    (r"Location: http://other.example/x\n\n", 302, "Found", [("Location", "http://other.example/x")], b""),
    (
        r"Location: /elsewhere\nStatus: 303 See Other\nContent-Type: a/b\n\nthere",
        303,
        "See Other",
        [("Location", "/elsewhere")],
        b"there",
    ),
    (r"Content-Type: a/b\nSet-Cookie: a=1\nset-cookie: b=2\n\n", 200, "OK", [("Set-Cookie", "a=1")], b""),
    (r"Content-Type: a/b\nContent-Length: 2\n\nok", 200, "OK", [("Content-Length", "2")], b"ok"),
    (r"Content-Type: a/b\nTransfer-Encoding: chunked\nConnection: close\n\nok", 200, "OK", [], b"ok"),
]


@pytest.mark.parametrize(("printed", "status", "reason", "fields", "body"), ANSWERS)
def test_answers(
    serve: Servers,
    project: Path,
    printed: str,
    status: int,
    reason: str,
    fields: list[tuple[str, str]],
    body: bytes,
) -> None:
    """The output of a script becomes a correct answer; only the server decides about the connection."""
    script(project, "a.sh", SHELL.format(f"printf '{printed}'"))
    server = start(serve, project)
    response = server.fetch("/cgi-bin/a.sh", lint_answers=False)

    assert (status, reason, body) == (response.status, response.reason, response.body)
    assert set(fields) <= set(response.fields)


REPRESENTATION = (
    r"Content-Type: a/b\nContent-Length: 3\nContent-Encoding: x\nContent-Language: de\nContent-Location: /c"
    r"\nLast-Modified: Wed, 01 Jan 2020 00:00:00 GMT\nETag: \"a\"\nVary: X-A\nSet-Cookie: a=b\n\nabc"
)
KEPT = ["Content-Location", "ETag", "Last-Modified", "Set-Cookie", "Vary"]


@pytest.mark.parametrize(
    ("status", "expected"),
    [(204, ["Content-Encoding", "Content-Language", *KEPT]), (304, KEPT)],
)
def test_without_a_body(serve: Servers, project: Path, status: int, expected: list[str]) -> None:
    """A 304 has no fields about content (RFC 9110 section 15.4.5), and a 204 has no content."""
    script(project, "a.sh", SHELL.format(f"printf 'Status: {status}\\n{REPRESENTATION}'"))
    server = start(serve, project)
    with server.connect() as connection:
        for method in ("GET", "HEAD"):
            connection.send(request("/cgi-bin/a.sh", method=method))
            response = connection.receive(method)
            names = sorted(name for name, _ in response.fields if name not in {"Date", "Server"})

            assert (status, b"", sorted(expected)) == (response.status, response.body, names)


FAILURES = [
    ("exit 0", "its output ended before the empty line"),
    ("echo hello", "its output ended before the empty line"),
    ("echo; echo hello", "none of Content-Type, Location and Status"),
    ("echo hello; echo", "'?hello'? where a field is wanted"),
    ("echo 'Status: 99'; echo", "does not begin with a number"),
    ("echo 'Content-Type: a'; echo 'Content-Type: b'; echo", "twice"),
    ("printf 'Content-Type: a\\001b\\n\\n'", "control character"),
    ("yes 'X-A: b'", "more than 65536 bytes"),
    ("kill -SEGV $$", "was ended by SIGSEGV"),
]


@pytest.mark.parametrize(("command", "logged"), FAILURES)
def test_failures(serve: Servers, project: Path, command: str, logged: str) -> None:
    """Output that is no valid answer becomes a 500, the log says why, and no other request is affected."""
    script(project, "a.sh", SHELL.format(command))
    server = start(serve, project)
    with server.connect() as connection:
        response = connection.get("/cgi-bin/a.sh")
        assert 500 == response.status
        assert b"The script has failed." in response.body
        server.wait_for_log(r"ADY231 error: .*/cgi-bin/a\.sh")
        server.wait_for_log(logged.replace("'?", "[\"']"))

        assert b"shop 1" in connection.get("/").body


NOT_RUN = [
    ("#!/nowhere/at/all\n", "does not exist, or the program behind its #! does not"),
    ("echo hello\n", "is neither a program nor does its first line name one"),
]


@pytest.mark.parametrize(("text", "logged"), NOT_RUN)
def test_what_cannot_be_run(serve: Servers, project: Path, text: str, logged: str) -> None:
    """A file that cannot be run is a 500, and the log says how to repair it; no shell tries to run it."""
    script(project, "a", text)
    server = start(serve, project)

    assert 500 == server.fetch("/cgi-bin/a").status
    server.wait_for_log(logged)


def test_an_answer_that_breaks_off(serve: Servers, project: Path) -> None:
    """An answer that a script has not finished looks incomplete to its client."""
    script(
        project, "a.sh", SHELL.format("echo 'Content-Type: a/b'; echo; echo begun; cat pipe; kill -KILL $$")
    )
    fifo = project / "public/cgi-bin/pipe"
    run_fifo(fifo)
    server = start(serve, project)
    with server.connect() as connection:
        connection.send(request("/cgi-bin/a.sh"))
        until(lambda: bool(connection.reader.buffer) or connection.reader.fill())
        fifo.write_bytes(b"more\n")
        response = connection.receive()

    assert not response.complete
    assert b"begun\n" in response.body
    server.wait_for_log("was ended by SIGKILL")


def run_fifo(path: Path) -> None:
    """Make a named pipe; by writing to it a test tells a script to go on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)


def test_output_is_streamed(serve: Servers, project: Path) -> None:
    """Output is sent while the script runs; pipelined requests wait for the script, other clients do not."""
    script(project, "a.sh", SHELL.format("echo 'Content-Type: a/b'; echo; echo one; cat pipe; echo three"))
    fifo = project / "public/cgi-bin/pipe"
    run_fifo(fifo)
    server = start(serve, project)
    with server.connect() as connection:
        connection.send(request("/cgi-bin/a.sh") + request("/"))
        while b"one\n" not in connection.reader.buffer:
            assert connection.reader.fill()
        assert b"shop 1" in server.fetch("/").body
        fifo.write_bytes(b"two\n")
        response = connection.receive()

        assert "chunked" == response.framing
        assert b"one\ntwo\nthree\n" == response.body
        assert b"shop 1" in connection.receive().body


def test_http_1_0(serve: Servers, project: Path) -> None:
    """An old client gets an answer that it understands."""
    script(project, "a.sh", SHELL.format("echo 'Content-Type: a/b'; echo; echo $SERVER_PROTOCOL"))
    server = start(serve, project)
    with server.connect() as connection:
        response = connection.ask(request("/cgi-bin/a.sh", version="1.0"))

        assert b"HTTP/1.0\n" == response.body
        assert connection.at_end()


def test_head(serve: Servers, project: Path) -> None:
    """HEAD runs the script, and the body of the answer is left out."""
    script(
        project,
        "a.sh",
        SHELL.format("echo 'Content-Type: a/b'; echo \"X-Method: $REQUEST_METHOD\"; echo; echo body"),
    )
    server = start(serve, project)
    with server.connect() as connection:
        response = connection.get("/cgi-bin/a.sh", method="HEAD")

        assert ("HEAD", b"") == (response["X-Method"], response.body)
        assert b"shop 1" in connection.get("/").body


@pytest.mark.long
def test_much_output(serve: Servers, project: Path) -> None:
    """Megabytes arrive whole, at the pace of a client that is slow to take them."""
    script(project, "a.sh", SHELL.format("echo 'Content-Type: a/b'; echo; head -c 20000000 /dev/zero"))
    server = start(serve, project)
    assert 20_000_000 == len(server.fetch("/cgi-bin/a.sh").body)
    before = server.rss()
    with server.connect(receive_buffer_bytes=4096) as connection:
        connection.send(request("/cgi-bin/a.sh"))
        while not connection.reader.buffer:
            assert connection.reader.fill()
        assert server.rss() - before < 8_000_000, "the script waits, and not its output in memory"
        response = connection.receive()

    assert 20_000_000 == len(response.body)


def test_standard_error(serve: Servers, project: Path) -> None:
    """A script's standard error is in the error log, line by line, with its name; so is a bad exit status."""
    command = "echo 'Content-Type: a/b'; echo; echo 'first' >&2; printf 'second\\nthird' >&2; exit 3"
    script(project, "a.sh", SHELL.format(command))
    server = start(serve, project)
    assert 200 == server.fetch("/cgi-bin/a.sh").status
    for line in ("first", "second", "third"):
        server.wait_for_log(rf"ADY230 warning: .*/cgi-bin/a\.sh: {line}$")

    server.wait_for_log(r"ADY232 warning: .*/cgi-bin/a\.sh has ended with the status 3")


def test_local_redirects(serve: Servers, project: Path) -> None:
    """A path in `Location` is answered as if it had been requested, and a circle of such paths ends."""
    script(project, "app.sh", SHELL.format("echo 'Location: /other?x=1'; echo"))
    script(project, "say.sh", SAY_ALL)
    script(project, "script.sh", SHELL.format("cat >/dev/null; echo 'Location: /cgi-bin/say.sh/p?y=2'; echo"))
    script(project, "circle.sh", SHELL.format("echo run >>runs; echo 'Location: /cgi-bin/circle.sh'; echo"))
    script(project, "nowhere.sh", SHELL.format("echo 'Location: /cgi-bin/none'; echo"))
    script(project, "blank.sh", SHELL.format("echo 'Location: /a b'; echo"))
    server = start(serve, project)
    with server.connect() as connection:
        assert b"shop 1" in connection.get("/cgi-bin/app.sh").body
        found = variables(connection.get("/cgi-bin/script.sh", method="POST", body=b"body"))
        assert ("GET", "y=2", "/p") == (found["REQUEST_METHOD"], found["QUERY_STRING"], found["PATH_INFO"])
        assert "CONTENT_LENGTH" not in found
        assert 404 == connection.get("/cgi-bin/nowhere.sh").status
        assert 500 == connection.get("/cgi-bin/circle.sh").status
        assert 500 == connection.get("/cgi-bin/blank.sh").status
        assert b"shop 1" in connection.get("/").body

    runs = (project / "public/cgi-bin/runs").read_text(encoding="utf-8")
    assert 11 == runs.count("run")
    server.wait_for_log(
        "ADY224 error: a request was sent on where it cannot go: it was sent on 10 times already"
    )
    server.wait_for_log("/a b is no path as requests have them")


def test_unparsed_output(serve: Servers, project: Path) -> None:
    """Output of a script called nph- goes to the client as it is, and ends the connection."""
    answer = b"HTTP/1.1 418 Teapot\r\nContent-Length: 3\r\nX-Own: 1\r\n\r\ntea"
    script(project, "nph-a.sh", SHELL.format(f"printf '{answer.decode().encode('unicode_escape').decode()}'"))
    script(project, "nph-bad.sh", SHELL.format("echo 'Content-Type: a/b'; echo; echo hello"))
    server = start(serve, project)
    with Connection(server.address, lint_answers=False) as connection:
        connection.send(request("/cgi-bin/nph-a.sh") + request("/"))
        while connection.reader.fill():
            pass
        assert answer == bytes(connection.reader.buffer)

    assert 500 == server.fetch("/cgi-bin/nph-bad.sh").status
    server.wait_for_log("where a status line is wanted")


def test_interpreters(serve: Servers, project: Path) -> None:
    """Files with these endings are run by an interpreter, executable or not; other files are not."""
    script(
        project, "a.txt", "echo 'Content-Type: a/b'; echo; echo \"$SCRIPT_NAME $PATH_INFO $0\"", mode=0o644
    )
    script(project, "b.sh", SAY_ALL)
    more = """
[[sites.routes]]
path = "/by-end/"
cgi = { folder = "cgi-bin", "*.txt" = "/bin/sh" }

[[sites.routes]]
path = "*.txt"
cgi = { "*.txt" = "/bin/sh" }
"""
    server = start(serve, project, more=more)
    place = project / "public/cgi-bin/a.txt"
    found = server.fetch("/by-end/a.txt/x").body.decode()

    assert f"/by-end/a.txt /x {place}\n" == found
    assert 403 == server.fetch("/by-end/b.sh").status
    assert 403 == server.fetch("/cgi-bin/a.txt").status, "it is not executable"
    (project / "public/c.txt").write_text(place.read_text(encoding="utf-8"), encoding="utf-8")
    assert f"/c.txt  {project / 'public/c.txt'}\n" == server.fetch("/c.txt").body.decode()
    checked = run("check", "site.toml", cwd=project).stdout
    assert "cgi public/cgi-bin (*.txt by /bin/sh)" in checked
    routed = run("route", "site.toml", "GET", "/cgi-bin/x", cwd=project).stdout
    assert "cgi public/cgi-bin" in routed


BEHIND_FILES = """
{groups}

[[sites]]
root = "public"

[[sites.routes]]
files = "."
cgi = {{ "*.sh" = "/bin/sh" }}
try = ["files", "cgi"]
{group}

[[sites.routes]]
path = "/own.sh"
respond = 410
"""

IN_A_GROUP = ("[groups.back]\nprocesses = 1", 'group = "back"')


@pytest.mark.parametrize("place", [("", ""), IN_A_GROUP], ids=["here", "group"])
def test_behind_files(serve: Servers, project: Path, place: tuple[str, str]) -> None:
    """If files are tried first, a script answers all paths beneath its name that have no route themselves."""
    for name in ("a.sh", "own.sh", "sub/b.sh", "sub/c.sh/d.sh"):
        script(project, f"../{name}", SAY_ALL)
    (project / "public/note").write_text("note", encoding="utf-8")
    groups, group = place
    workers = {"ADYTON_PROCESSES": "1"} if groups else {}
    file = write(project, BEHIND_FILES.format(groups=groups, group=group))
    server = serve(file.name, cwd=project, env=workers)
    with server.connect() as connection:
        for target, name, rest in [
            ("/a.sh/x", "/a.sh", "/x"),
            ("/a.sh/", "/a.sh", "/"),
            ("//a.sh/x%2Fy?q", "/a.sh", "/x/y"),
            ("/sub/b.sh/c.sh", "/sub/b.sh", "/c.sh"),
            ("/sub/c.sh/d.sh/own.sh", "/sub/c.sh/d.sh", "/own.sh"),
        ]:
            found = variables(connection.get(target))

            assert (name, rest) == (found["SCRIPT_NAME"], found["PATH_INFO"]), target
        assert b"note" == connection.get("/note").body
        assert 404 == connection.get("/none.sh/x").status
        assert 410 == connection.get("/own.sh/x").status
    told = run("route", "site.toml", "GET", "/a.sh/x", cwd=project, env=workers).stdout
    assert "the script" not in told, "it has nothing else around it"
    told = run("route", "site.toml", "GET", "/own.sh/x", cwd=project, env=workers).stdout
    assert "and if that is the script /own.sh" in told


def test_environment(serve: Servers, project: Path) -> None:
    """Of the server's environment, scripts get only the variables that a route names or sets."""
    script(project, "say.sh", SAY_ALL)
    route = 'cgi-environment = ["PASSED", "ABSENT", "LANG=C.UTF-8", "PATH=/opt/bin:/bin:/usr/bin"]'
    file_server = start(serve, project, "--env", "SECRET=1", "--env", "PASSED=yes", route=route)
    found = variables(file_server.fetch("/cgi-bin/say.sh"))

    assert ("yes", "C.UTF-8") == (found["PASSED"], found["LANG"])
    assert "/opt/bin:/bin:/usr/bin" == found["PATH"]
    assert not {"SECRET", "ABSENT", "HOME"} & set(found)


def test_users(serve: Servers, project: Path) -> None:
    """A script knows the user but not the password; without `auth`, it may see the field `Authorization`."""
    script(project, "say.sh", SAY_ALL)
    more = '[[sites.routes]]\npath = "/staff/"\ncgi = "cgi-bin"\nauth = "basic:staff.htpasswd"\n'
    server = start(serve, project, more=more)
    # ann:correct horse
    fields = [("Authorization", "Basic YW5uOmNvcnJlY3QgaG9yc2U=")]
    assert 401 == server.fetch("/staff/say.sh").status
    found = variables(server.fetch("/staff/say.sh", fields=fields))
    assert ("ann", "Basic") == (found["REMOTE_USER"], found["AUTH_TYPE"])
    assert "HTTP_AUTHORIZATION" not in found

    assert "HTTP_AUTHORIZATION" in variables(server.fetch("/cgi-bin/say.sh", fields=fields))


@pytest.mark.parametrize(
    "flags", [("--processes", "2"), ("--processes", "1", "--preload")], ids=["workers", "preload"]
)
def test_workers(serve: Servers, project: Path, flags: tuple[str, ...]) -> None:
    """Workers run scripts, too; after a stop no process is left, and the log mentions none."""
    script(project, "a.sh", SHELL.format("echo 'Content-Type: a/b'; echo; echo $PPID"))
    server = start(serve, project, *flags)
    helpers = {int(server.fetch("/cgi-bin/a.sh").body) for _ in range(8)}
    server.stop()

    assert all(until(lambda pid=pid: not alive(pid)) for pid in helpers)
    assert "warning" not in AS_ROOT.sub("", server.log())


def alive(pid: int) -> bool:
    """Tell whether a process runs."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_pipelined(serve: Servers, project: Path) -> None:
    """Pipelined requests are answered in order."""
    script(project, "a.sh", SHELL.format("echo 'Content-Type: a/b'; echo; echo $QUERY_STRING"))
    server = start(serve, project)
    with server.connect() as connection:
        connection.send(b"".join(request(f"/cgi-bin/a.sh?{number}") for number in range(20)) + request("/"))
        bodies = [connection.receive().body for _ in range(20)]

        assert [f"{number}\n".encode() for number in range(20)] == bodies
        assert b"shop 1" in connection.receive().body


def test_a_client_that_has_ended_its_side(serve: Servers, project: Path) -> None:
    """A client that has closed its sending side gets its answer."""
    script(project, "a.sh", SHELL.format("echo 'Content-Type: a/b'; echo; echo hello"))
    server = start(serve, project)
    with server.connect() as connection:
        connection.send(request("/cgi-bin/a.sh"))
        connection.socket.shutdown(socket.SHUT_WR)

        assert b"hello\n" == connection.receive().body


GUIDE = (Path(__file__).parents[2] / "docs/cgi.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```toml\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("text", EXAMPLES)
def test_the_guide(serve: Servers, project: Path, text: str) -> None:
    """The files in the guide are valid without changes, and its script answers."""
    (example,) = re.findall(r"^```sh\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
    script(project, "hello.sh", example)
    # Only root can start processes of another user, and that user may not enter this folder.
    file = write(project, re.sub("^user = .*\n", "", text, flags=re.MULTILINE))
    workers = {"ADYTON_PROCESSES": "1"} if "[groups" in text else {}
    assert "site.toml: fine" in run("check", file.name, cwd=project, env=workers).stdout
    answer = serve(file.name, cwd=project, env=workers).fetch("/cgi-bin/hello.sh?anything")

    assert b"Hello, 127.0.0.1. You have asked for anything.\n" == answer.body


def test_the_access_log(serve: Servers, project: Path) -> None:
    """The access log has each request once, as the client has sent it, with its status and length."""
    script(project, "a.sh", SHELL.format("echo 'Content-Type: a/b'; echo; echo hello"))
    script(project, "to.sh", SHELL.format("echo 'Location: /cgi-bin/a.sh?x'; echo"))
    server = start(serve, project, server='access-log = "access.log"')
    for target in ("/cgi-bin/a.sh", "/cgi-bin/none", "/cgi-bin/to.sh"):
        server.fetch(target)
    server.stop()
    lines = (project / "access.log").read_text(encoding="utf-8").splitlines()
    asked = [line.split('"')[1:3] for line in lines]

    assert ["GET /cgi-bin/a.sh HTTP/1.1", " 200 6 "] == asked[0]
    assert "GET /cgi-bin/none HTTP/1.1" == asked[1][0]
    assert ["GET /cgi-bin/to.sh HTTP/1.1", " 200 6 "] == asked[2]
