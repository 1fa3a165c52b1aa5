"""The requests that are sent must be those that the command line asks for."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from bench.runs import APPLICATION, SURE, run, wrong

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.server import Servers

BOUNDARY = "boundary=adyton-bench-4b1d7c0e6a93f258"
"""The parameter with the boundary between the fields of a form."""


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--connections", "0"], "--connections 0: out of range, which is from 1 to 65536"),
        (["-c", "1", "-t", "2"], "each thread needs a connection"),
        (["--conections", "1"], "--conections is not an option of adyton bench; did you mean --connections?"),
        (["--pipeline", "2", "-k=off"], "only connections that are kept alive"),
        (["--pipeline", "2", "--no-keepalive"], "only connections that are kept alive"),
        (["--pipeline", "2", "--rate", "5"], "an open loop sends one request at a time"),
        (["--fail-if", "p98>1ms"], "p98 is not a figure"),
        (["--find-rate", "p99<1s", "-o", "a.md"], "--output is for the report of one run"),
        (["--find-rate", "p99<1s", "--save", "a"], "--save is for the report of one run"),
        (["--find-rate", "p99<1s", "--baseline", "a"], "--baseline is for the report of one run"),
        (["--find-rate", "p99<1s", "--fail-if", "rate<1"], "--fail-if is for the report of one run"),
        (["--expect-status", "20"], "a status is a number from 200 to 999"),
        (["--expect-status", "+200"], "a status is a number from 200 to 999"),
        (["http://127.0.0.1:2/"], "one argument too many"),
        (["--data", "@/nowhere"], "--data /nowhere: No such file or directory"),
        (["--data", "@"], "--data @: the name of the file is missing"),
        (["--form", "a"], "--form a: write NAME=TEXT or NAME=@FILE"),
        (["--form", "a=@/nowhere"], "--form /nowhere: No such file or directory"),
        (["-H", "Transfer-Encoding: gzip", "--data", "abc"], "Transfer-Encoding: gzip: leave it out"),
        (["-H", "content-length: 4", "--data", "abc"], "Content-Length: 4 is not the length of the body"),
        (
            ["-F", "a=b", "-H", "Content-Type: x/y"],
            "a form is multipart/form-data, with a boundary of its own",
        ),
        (["--find-rate", "rate>5"], "there is no highest rate at which this condition holds"),
        (["--find-rate", "p99>5ms"], "there is no highest rate at which this condition holds"),
        (["-d", "1s", "-n", "5"], "leave one of them out"),
        (["-o", "/nowhere/x.html"], "--output /nowhere/x.html: No such file or directory"),
        (["-o", "/proc/x.html"], "--output /proc/x.html: "),
        (["--data", os.fsdecode(b"\xff\xfe")], "is not UTF-8; bytes that are to be sent can stand in a file"),
    ],
)
def test_wrong_words(words: list[str], sentence: str) -> None:
    """A command line that cannot be carried out is refused before anything is tried."""
    done = run("http://127.0.0.1:1/", *words)

    assert sentence in done.stderr
    assert done.stderr.startswith("adyton bench: ")
    assert (2, "", 1) == (done.returncode, done.stdout, done.stderr.count("\n"))


def test_wrong_places(tmp_path: Path) -> None:
    """A file that cannot be written must be reported before a run; a run that fails must leave no file."""
    unused, summary = tmp_path / "x.html", {"GITHUB_STEP_SUMMARY": str(tmp_path / "no" / "summary")}
    words = ("http://127.0.0.1:1/", "-o", str(unused), "--save", "main")
    refused = run(*words, cwd=tmp_path, variables=summary)
    failed = run(*words, cwd=tmp_path)

    assert refused.stderr.startswith(f"adyton bench: GITHUB_STEP_SUMMARY {tmp_path}/no/summary: No such file")
    assert "Connection refused" in failed.stderr
    assert [2, 1] == [refused.returncode, failed.returncode]
    assert [] == list(tmp_path.iterdir())
    (tmp_path / ".adyton-bench").touch()
    assert "adyton bench: --save .adyton-bench/main.json: " in run(*words, cwd=tmp_path).stderr


def test_debug(serve: Servers) -> None:
    """`--debug` must show one exchange as it was on the connection."""
    server = serve(APPLICATION)
    done = run(f"http://127.0.0.1:{server.port}/a", "--debug", "-H", "X-Y: z", "--data", "body")
    lines = done.stdout.splitlines()

    assert ["> POST /a HTTP/1.1", f"> Host: 127.0.0.1:{server.port}"] == lines[:2]
    assert {"> X-Y: z", "> Content-Length: 4", "> body", "< HTTP/1.1 200 OK", "< Hello World!"} <= set(lines)


@contextmanager
def saying(answer: bytes, *, then_closes: bool = True) -> Iterator[str]:
    """Answer one request with these bytes; yield the URL."""

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(answer)
            if not then_closes:
                connection.recv(1)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        thread.join()


@pytest.mark.parametrize(
    ("answer", "then_closes", "shown", "why"),
    [
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\nHi",
            True,
            ["Content-Length: x", "", "Hi"],
            "Content-Length",
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHi",
            True,
            ["Content-Length: 5", "", "Hi"],
            "ends the connection after 2 of the 5 bytes of the body",
        ),
        (b"HTTP/1.1 200 OK\r\n", False, [], "sends 17 bytes of the head, and no more within 2000 ms"),
        (b"SSH-2.0-x\r\n", False, [], ""),
        (b"", True, None, "ends the connection without an answer"),
        (b"", False, None, "does not answer within 2000 ms"),
    ],
)
def test_debug_of_no_answer(answer: bytes, then_closes: bool, shown: list[str] | None, why: str) -> None:  # noqa: FBT001 - a row of a table
    """If the bytes that come are no answer, `--debug` must show them, and the reason."""
    with saying(answer, then_closes=then_closes) as url:
        done = run(url, "--debug", "--timeout", "2s")
    lines = done.stdout.splitlines()
    came = [] if shown is None else [answer.partition(b"\r\n")[0].decode(), *shown]

    assert "> GET / HTTP/1.1" == lines[0]
    assert [f"< {line}" for line in came] == [line for line in lines if line.startswith("<")]
    assert done.stderr.startswith(f"adyton bench: {url}")
    assert why in done.stderr
    assert 1 == done.returncode


def test_debug_of_nobody() -> None:
    """A request must be shown even if it cannot be sent, but not if it contradicts itself."""
    done = run("http://127.0.0.1:1/", "--debug")
    wrong = run("http://127.0.0.1:1/", "--debug", "-H", "Content-Length: 1")

    assert "> GET / HTTP/1.1" == done.stdout.splitlines()[0]
    assert "adyton bench: http://127.0.0.1:1/: Connection refused (os error 111)\n" == done.stderr
    assert (2, "") == (wrong.returncode, wrong.stdout)


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (["-X", "POST"], ["> POST / HTTP/1.1", "> Content-Length: 0"]),
        (["--data", ""], ["> POST / HTTP/1.1", "> Content-Length: 0"]),
        (["curl", "URL", "-d", ""], ["> POST / HTTP/1.1", "> Content-Length: 0"]),
        (
            ["--data", "abc", "-H", "transfer-encoding: chunked"],
            ["> Transfer-Encoding: chunked", "> 3", "> abc", "> 0"],
        ),
        (
            ["-F", "a=b", "-H", "Content-Type: multipart/mixed"],
            [f"> Content-Type: multipart/mixed; {BOUNDARY}"],
        ),
        (
            ["-F", "a=b", "-b", "c=d", "-b", "e=f"],
            ["> Cookie: c=d; e=f", '> Content-Disposition: form-data; name="a"'],
        ),
        (
            ["-F", f"file=@{APPLICATION}"],
            [
                '> Content-Disposition: form-data; name="file"; filename="application.py"',
                "> Content-Type: application/octet-stream",
            ],
        ),
        (["curl", "-sXPUT", "--data", "a=b", "-H", "D: e", "URL"], ["> PUT / HTTP/1.1", "> D: e", "> a=b"]),
        (
            [
                "curl",
                "URL",
                "-F",
                f"f=@{APPLICATION};type=image/png;filename=x.png",
                "--form-string",
                "a=@b;c",
            ],
            [
                '> Content-Disposition: form-data; name="f"; filename="x.png"',
                "> Content-Type: image/png",
                '> Content-Disposition: form-data; name="a"',
                "> @b;c",
            ],
        ),
        (["curl", "URL", "-u", "a:b", "-I"], ["> HEAD / HTTP/1.1", "> Authorization: Basic YTpi"]),
    ],
)
def test_requests(serve: Servers, words: list[str], lines: list[str]) -> None:
    """Forms, cookies and command lines of curl must become requests whose answers count as right."""
    server = serve(APPLICATION)
    url = f"http://127.0.0.1:{server.port}/"
    words = [url if word == "URL" else word for word in words] if "curl" in words else [url, *words]
    shown = run("--debug", *words).stdout.splitlines()

    assert set(lines) <= set(shown)
    assert 0 == wrong(bench_before(*SURE, words=words))


@pytest.mark.parametrize(
    ("words", "fields", "body"),
    [
        (["-H", "Accept-Encoding: br", "--compressed"], ["Accept-Encoding: br", "Accept: */*"], ""),
        (
            ["-L", "-A", "a", "-e", "b", "-H", "user-agent: c"],
            ["user-agent: c", "Accept: */*", "Referer: b"],
            "",
        ),
        (["-H", "Accept:", "-H", "User-Agent:", "-H", "X-Empty;"], ["X-Empty: "], ""),
        (
            ["--json", '{"a":', "--json", "1}", "-H", "Content-Type: a/json"],
            ["Content-Type: a/json", "Accept: application/json", "Content-Length: 7"],
            '{"a":1}',
        ),
        (
            ["-d", "@lines", "-d", "c=d"],
            ["Accept: */*", "Content-Type: application/x-www-form-urlencoded", "Content-Length: 11"],
            "a=1&b=2&c=d",
        ),
        (
            ["--data-binary", "@lines", "-H", "Accept:"],
            ["Content-Type: application/x-www-form-urlencoded", "Content-Length: 10"],
            "a=1\n> &b=\\u{0}2",
        ),
        (
            ["-d", "@-", "-H", "Accept:"],
            ["Content-Type: application/x-www-form-urlencoded", "Content-Length: 10"],
            "from stdin",
        ),
        (["-G", "--data-urlencode", "a=b c", "-d", "d"], ["Accept: */*"], ""),
    ],
)
def test_curl(tmp_path: Path, words: list[str], fields: list[str], body: str) -> None:
    """The request for a command line of curl must be the one that curl sends, except its User-Agent."""
    (tmp_path / "lines").write_bytes(b"a=1\r\n&b=\0002")
    with saying(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") as url:
        command = [sys.executable, "-m", "adyton", "bench", "--debug", "curl", url, *words]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
            cwd=tmp_path,
            input="from\n stdin\n",
        )
    head, _, rest = done.stdout.partition("> \n")
    said = [line.removeprefix("> ") for line in head.splitlines()[1:]]
    ours = ("Host: ", "User-Agent: adyton-bench/")

    assert fields == [line for line in said if not line.startswith(ours)]
    assert rest.startswith(f"> {body}\n\n<" if body else "\n<")


def test_curl_has_the_only_url() -> None:
    """A URL in front of `curl` and another one behind it must be refused; neither is dropped silently."""
    done = run("http://127.0.0.1:1/", "-c", "8", "curl", "http://127.0.0.1:1/b", "-d", "a")
    why = "stands in front of curl, whose command line has a URL of its own: leave one of them out"

    assert f"adyton bench: http://127.0.0.1:1/ {why}\n" == done.stderr
    assert (2, "") == (done.returncode, done.stdout)


def test_curl_as_a_value(tmp_path: Path) -> None:
    """The word `curl` must be taken as a value if it follows an option that takes one."""
    with saying(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") as url:
        done = run("--debug", url, "--save", "curl", cwd=tmp_path)

    assert (0, "") == (done.returncode, done.stderr)


def bench_before(*options: str, words: list[str]) -> dict[str, Any]:
    """Return the report of a run with these options in front of the words, which may be curl's command."""
    report: dict[str, Any] = json.loads(run("--json", *options, *words).stdout)
    return report
