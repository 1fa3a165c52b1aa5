"""What is sent is what the command line says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from bench.runs import APPLICATION, SURE, run, wrong

if TYPE_CHECKING:
    from support.server import Servers


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
        (["http://127.0.0.1:2/"], "one argument too many"),
        (["--data", "@/nowhere"], "--data /nowhere: No such file or directory"),
    ],
)
def test_wrong_words(words: list[str], sentence: str) -> None:
    """What cannot be done is said, before anything is tried."""
    done = run("http://127.0.0.1:1/", *words)

    assert sentence in done.stderr
    assert (2, "") == (done.returncode, done.stdout)


def test_debug(serve: Servers) -> None:
    """One exchange is shown as it is."""
    server = serve(APPLICATION)
    done = run(f"http://127.0.0.1:{server.port}/a", "--debug", "-H", "X-Y: z", "--data", "body")
    lines = done.stdout.splitlines()

    assert ["> POST /a HTTP/1.1", f"> Host: 127.0.0.1:{server.port}"] == lines[:2]
    assert {"> X-Y: z", "> Content-Length: 4", "> body", "< HTTP/1.1 200 OK", "< Hello World!"} <= set(lines)


@pytest.mark.parametrize(
    ("words", "lines"),
    [
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
        (["curl", "URL", "-u", "a:b", "-I"], ["> HEAD / HTTP/1.1", "> Authorization: Basic YTpi"]),
    ],
)
def test_requests(serve: Servers, words: list[str], lines: list[str]) -> None:
    """Forms, cookies and command lines of curl become requests, whose answers are right."""
    server = serve(APPLICATION)
    url = f"http://127.0.0.1:{server.port}/"
    words = [url if word == "URL" else word for word in words] if "curl" in words else [url, *words]
    shown = run("--debug", *words).stdout.splitlines()

    assert set(lines) <= set(shown)
    assert 0 == wrong(bench_before(*SURE, words=words))


def bench_before(*options: str, words: list[str]) -> dict[str, Any]:
    """Return the report of a run whose options stand in front, as those of curl must stand behind."""
    report: dict[str, Any] = json.loads(run("--json", *options, *words).stdout)
    return report
