"""Load tools, with and without keep-alive: no error, and as many answers as were asked for.

Other people wrote these clients: they may find an error of which the server's own tests have not thought.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from classics.apps.load_site import PAGE
from classics.conftest import APPS, CLIENT_TIMEOUT_S, DEFAULT_PROCESSES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.server import Servers


@dataclass(frozen=True)
class Load:
    """Load that a tool is to produce."""

    url: str
    connections: int
    requests: int
    keep_alive: bool
    folder: Path
    """Folder for the tool's own files."""

    @property
    def each(self) -> int:
        """Requests of each connection."""
        return self.requests // self.connections


def ab(load: Load) -> str:
    """Run ApacheBench, which speaks HTTP/1.0."""
    keep = ["-k"] if load.keep_alive else []
    said = run(load, "ab", "-q", *keep, "-n", load.requests, "-c", load.connections, load.url)

    assert number("Complete requests", said) == load.requests, said
    assert number("Failed requests", said) == 0, said
    assert "Non-2xx" not in said, said
    assert "Write errors" not in said, said
    assert number("HTML transferred", said) == load.requests * len(PAGE), said
    # A worker that has too many connections may close one with an answer.
    assert not load.keep_alive or 2 * number("Keep-Alive requests", said) >= load.requests, said

    return said


def siege(load: Load) -> str:
    """Run siege, with a configuration of its own."""
    connection = "keep-alive" if load.keep_alive else "close"
    settings = load.folder / "siegerc"
    settings.write_text(
        f"connection = {connection}\nlimit = {load.connections}\nparser = false\nlogging = false\n"
        "protocol = HTTP/1.1\nverbose = false\njson_output = true\nfailures = 1\n"
    )
    said = run(load, "siege", "-R", settings, "-b", "-c", load.connections, "-r", load.each, load.url)

    assert number('"transactions"', said) == load.requests, said
    assert number('"successful_transactions"', said) == load.requests, said
    assert number('"failed_transactions"', said) == 0, said

    return said


def hey(load: Load) -> str:
    """Run hey, which uses the HTTP client of Go."""
    keep = [] if load.keep_alive else ["-disable-keepalive"]
    said = run(load, "hey", *keep, "-n", load.requests, "-c", load.connections, load.url)

    assert re.findall(r"\[(\d+)\]\s+(\d+) responses", said) == [("200", str(load.requests))], said
    assert "Error distribution" not in said, said

    return said


def httperf(load: Load) -> str:
    """Run httperf: each connection has many requests, or one."""
    host, _, port = load.url.removeprefix("http://").partition("/")[0].partition(":")
    # httperf has at most 1,024 connections, so the rate limits how many it opens per second, however quickly
    # earlier ones end.
    connections, calls, rate = (load.connections, load.each, 1_000) if load.keep_alive else (1_000, 1, 500)
    requests = connections * calls
    said = run(
        load,
        *("httperf", "--hog", "--server", host, "--port", port, "--uri", load.url.partition(port)[2]),
        *("--num-conns", connections, "--num-calls", calls, "--rate", rate, "--timeout", "60"),
    )

    assert f"replies {requests} " in said, said
    assert f"2xx={requests} 3xx=0 4xx=0 5xx=0" in said, said
    assert "Errors: total 0 " in said, said

    return said


def wrk(load: Load) -> str:
    """Run wrk, which counts seconds and not requests, for a short time."""
    close = [] if load.keep_alive else ["-H", "Connection: close"]
    seconds = f"{max(1, load.requests // 10_000)}s"
    said = run(
        load, "wrk", *close, "-t", "1", "-c", load.connections, "-d", seconds, "--timeout", "60s", load.url
    )

    assert "Socket errors" not in said, said
    assert "Non-2xx" not in said, said
    assert int(re.findall(r"(\d+) requests in", said)[0]) > 0, said

    return said


def h2load(load: Load) -> str:
    """Run h2load with HTTP/1.1."""
    close = [] if load.keep_alive else ["-H", "Connection: close"]
    said = run(load, "h2load", "--h1", *close, "-n", load.requests, "-c", load.connections, load.url)
    done = ", ".join(f"{load.requests} {word}" for word in ("done", "succeeded"))

    assert f"{done}, 0 failed, 0 errored, 0 timeout" in said, said
    assert f"status codes: {load.requests} 2xx, 0 3xx, 0 4xx, 0 5xx" in said, said

    return said


def run(load: Load, *command: object) -> str:
    """Run a tool, which must succeed; return its output."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=load.folder,
        env={**os.environ, "HOME": str(load.folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=CLIENT_TIMEOUT_S,
        check=False,
    )

    assert 0 == done.returncode, done.stdout

    return done.stdout


def number(name: str, said: str) -> int:
    """Return the number that stands behind a name."""
    found = re.search(rf"{re.escape(name)}:\s+(\d+)", said)
    assert found, (name, said)
    return int(found[1])


@pytest.fixture(scope="module")
def urls(serve_session: Servers, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Serve the page in each way."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "page.html").write_bytes(PAGE)
    site = APPS / "load_site.py"
    static = f"--static=/files={folder}"
    wsgi = serve_session(f"{site}:application", static, env=DEFAULT_PROCESSES)
    handler = serve_session(f"{site}:handler", env=DEFAULT_PROCESSES)
    return {
        "wsgi": f"http://127.0.0.1:{wsgi.port}/",
        "handler": f"http://127.0.0.1:{handler.port}/",
        "static": f"http://127.0.0.1:{wsgi.port}/files/page.html",
    }


QUICK = (100, 2_000)
LONG = ((100, 50_000), (200, 50_000), (500, 50_000))


@pytest.mark.parametrize(
    ("connections", "requests"),
    [QUICK, *(pytest.param(*each, marks=pytest.mark.long) for each in LONG)],
)
@pytest.mark.parametrize("target", ["wsgi", "handler", "static"])
@pytest.mark.parametrize("keep_alive", [True, False], ids=["keep-alive", "close"])
@pytest.mark.parametrize("tool", [ab, siege, hey, httperf, wrk, h2load], ids=lambda tool: tool.__name__)
def test_no_error(
    urls: dict[str, str],
    tmp_path: Path,
    tool: Callable[[Load], str],
    keep_alive: bool,  # noqa: FBT001
    target: str,
    connections: int,
    requests: int,
) -> None:
    """Every request of every tool is answered, and rightly.

    With keep-alive, siege and httperf continue after an answer with `Connection: close`, and count the
    missing answer as an error. A worker sends that field if other workers have had fewer for long.
    """
    tool(Load(urls[target], connections, requests, keep_alive, tmp_path))
