"""`wsgi.input` in every way of reading, for bodies of every size and framing."""

from __future__ import annotations

import io
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.client import chunked

if TYPE_CHECKING:
    from support.server import Server, Servers

KIB = 1024
MIB = 1024 * KIB
LINES = b"one\ntwo\r\n\nthree\n" + b"x" * 300 + b"\nlast without an end"

STEPS = [
    "readline",
    "readline&readline&readline&readline&readline&readline&readline&readline",
    "readline=2&readline=2&readline=2",
    "readline=0&readline",
    "readline=-1&readline",
    "readline=1000&readline=1000&read=-1",
    "readlines",
    "readlines=0",
    "readlines=1&readlines=1&readlines",
    "readlines=5&read=-1",
    "readlines=-1",
    "readlines=100000",
    "iterate",
    "iterate&iterate",
    "next&next&readline&read=-1",
    "read=-1",
    "read=-1&read=-1&readline&readlines&iterate",
    "read=0&read=-1",
    "read=5&read=5&read=1000&read=1&read=1",
    "read=1&readline&readlines=1&next&read=3&iterate&read=1",
    "read=100000&read=0&readline=0",
    "read=-7",
]
ONLY_PLAIN = ["read", "read&read", "read=3&read&read", "readline&read", "iterate&read"]
"""Reads without a size: right in PEP 3333 since its errata, but not for the validator."""


def expected(body: bytes, steps: str) -> list[Any]:
    """Return the results of the same steps on a file in memory, which is the reference."""
    stream = io.BytesIO(body)
    told: list[Any] = []
    for step in steps.split("&"):
        name, _, value = step.partition("=")
        if name == "iterate":
            result: Any = list(stream)
        elif name == "next":
            result = next(stream, b"")
        else:
            result = getattr(stream, name)(*([int(value)] if value else []))
        lines = isinstance(result, list)
        told.append([line.decode("latin-1") for line in result] if lines else result.decode("latin-1"))
    return told


def post(server: Server, steps: str, body: bytes, framing: str) -> Any:
    """Send a body in this framing and return the results of the steps."""
    fields = []
    sent: bytes | None = body
    if framing == "chunked":
        fields = [("Transfer-Encoding", "chunked")]
        cuts = [body[start : start + 7] for start in range(0, min(len(body), 700), 7)]
        sent = chunked(*cuts, *([body[700:]] if len(body) > 700 else []))
    return server.fetch(f"/read?{steps}", method="POST", fields=fields, body=sent).json()


@pytest.mark.parametrize("framing", ["length", "chunked"])
@pytest.mark.parametrize("steps", STEPS)
def test_steps(site: Server, steps: str, framing: str) -> None:
    """Each way to read must return what a file would return."""
    assert expected(LINES, steps) == post(site, steps, LINES, framing)


@pytest.mark.parametrize("framing", ["length", "chunked"])
@pytest.mark.parametrize("steps", ONLY_PLAIN)
def test_steps_without_size(plain: Server, steps: str, framing: str) -> None:
    """Reading without a size reads all that is left."""
    assert expected(LINES, steps) == post(plain, steps, LINES, framing)


@pytest.mark.parametrize("framing", ["length", "chunked"])
@pytest.mark.parametrize("body", [b"", b"\n", b"a", b"a\n", b"\n\n", b"\r\n", b"a\n\nb"])
def test_small_bodies(site: Server, body: bytes, framing: str) -> None:
    """Small bodies, with edges of lines or without any bytes, are read as from a file."""
    for steps in ("readline&readline&readline", "readlines", "iterate&read=1", "read=-1&read=-1"):
        assert expected(body, steps) == post(site, steps, body, framing)


def test_random_steps(plain: Server) -> None:
    """Any mixture of reads must return what a file would return."""
    chance = random.Random(2026)
    names = ["read", "readline", "readlines"]
    for _ in range(150):
        body = bytes(chance.choices(b"ab\n", k=chance.randrange(60)))
        steps = "&".join(
            chance.choice(
                ["iterate", "next", *names, *(f"{n}={chance.randrange(-2, 12)}" for n in names * 3)]
            )
            for _ in range(chance.randrange(1, 8))
        )

        assert expected(body, steps) == post(plain, steps, body, chance.choice(["length", "chunked"]))


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
def test_no_body(plain: Server, method: str) -> None:
    """Without a body there is EOF at once and for ever."""
    steps = "read&read=1&readline&readlines&iterate&read=-1"
    response = plain.fetch(f"/read?{steps}", method=method)

    assert 200 == response.status
    if method != "HEAD":
        assert expected(b"", steps) == response.json()


@pytest.mark.parametrize("framing", ["length", "chunked"])
@pytest.mark.parametrize(
    "size",
    [0, 1, 64 * KIB - 1, 64 * KIB, 64 * KIB + 1, 256 * KIB - 1, 256 * KIB, 256 * KIB + 1, MIB],
)
def test_sizes(site: Server, size: int, framing: str) -> None:
    """Bodies of sizes around each limit must come whole."""
    body = random.Random(size).randbytes(size)
    fields = []
    sent = body
    if framing == "chunked":
        fields = [("Transfer-Encoding", "chunked")]
        half = size // 2
        sent = chunked(*(piece for piece in (body[:half], body[half:]) if piece))

    assert body == site.fetch("/echo", method="POST", fields=fields, body=sent).body


@pytest.mark.parametrize("memory", ["0", "1m", "128m"])
def test_large_body(serve: Servers, applications: Path, memory: str) -> None:
    """20 MiB must come whole: through a file, through a file after the first MiB, and through memory."""
    server = serve(applications, "--body-memory-max", memory)
    body = random.Random(20).randbytes(20 * MIB)
    with server.connect() as connection:
        assert body == connection.get("/echo", method="POST", body=body).body
        assert b"hello, world" == connection.get("/").body


@pytest.mark.parametrize("memory", ["0", "1m", "128m"])
def test_large_body_of_lines(serve: Servers, applications: Path, memory: str) -> None:
    """Reading by line works on a body in a file as on one in memory."""
    server = serve(applications, "--body-memory-max", memory)
    body = b"".join(b"%d\n" % number for number in range(200_000))
    steps = "readline&readlines=20&read=5&readline=3&next"

    assert expected(body, steps) == post(server, steps, body, "length")
    assert expected(body, steps) == post(server, steps, body, "chunked")


@pytest.mark.parametrize("memory", ["8m", "128m"])
def test_many_large_bodies(serve: Servers, applications: Path, memory: str) -> None:
    """Large bodies at the same time, more than there is memory for, come whole, each to its own request."""
    server = serve(applications, "--body-memory-max", memory)

    def echo(seed: int) -> bool:
        body = random.Random(seed).randbytes(2 * MIB + seed)
        with server.connect() as connection:
            return all(body == connection.get("/echo", method="POST", body=body).body for _ in range(3))

    with ThreadPoolExecutor(12) as clients:
        assert all(clients.map(echo, range(12)))


def test_large_body_is_in_a_file_without_a_name(serve: Servers, applications: Path, tmp_path: Path) -> None:
    """Beyond the memory limit, a body must go to a temporary file that never shows a name."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    server = serve(applications, "--body-memory-max", "0", "--temp-dir", str(folder))
    server.fetch("/")
    before = server.resting_fds()
    with server.connect() as connection:
        connection.send(b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n" + b"x" * 90000)

        assert 200 == server.fetch("/").status
        assert [] == list(folder.iterdir())

        connection.send(b"x" * 10000)

        assert b"x" * 100_000 == connection.receive("POST").body
    assert [] == list(folder.iterdir())
    assert 200 == server.fetch("/").status
    assert server.settles_at_fds(before)


def test_small_chunks_are_gathered(serve: Servers, applications: Path) -> None:
    """Chunks of one byte, beyond the memory limit, must be written to the file in larger pieces."""
    server = serve(applications, "--body-memory-max", "0")
    server.fetch("/")
    body = random.Random(3).randbytes(50_000)
    before = written(server)

    echoed = server.fetch(
        "/echo",
        method="POST",
        fields=[("Transfer-Encoding", "chunked")],
        body=chunked(*(body[at : at + 1] for at in range(len(body)))),
    )

    assert body == echoed.body
    assert written(server) - before < len(body) / 10


def written(server: Server) -> int:
    """Return how often the server has called write(2)."""
    counts = Path(f"/proc/{server.process.pid}/io").read_text().split()
    return int(counts[counts.index("syscw:") + 1])


def test_body_does_not_leak_into_the_next(plain: Server) -> None:
    """Each request of a connection has its own body and nothing of the one before."""
    with plain.connect() as connection:
        for body in (b"first body", b"", b"third", b"x" * 300_000, b"fifth"):
            assert body == connection.get("/echo", method="POST", body=body).body


@pytest.mark.parametrize("pause", [0, 1])
def test_body_in_two_parts(site: Server, pause: int) -> None:
    """A body that arrives after its head, or in parts, is read to its end."""
    with site.connect() as connection:
        connection.send(
            b"POST /read?readline&readline&read=-1 HTTP/1.1\r\nHost: a\r\nContent-Length: 12\r\n\r\n"
        )
        if pause:
            assert 200 == site.fetch("/").status
        connection.send(b"on")
        if pause:
            assert 200 == site.fetch("/").status
        connection.send(b"e\ntwo\nthr")
        connection.send(b"e")

        assert ["one\n", "two\n", "thre"] == connection.receive("POST").json()


def test_slow_upload_stops_nobody(plain: Server) -> None:
    """While a body trickles in, other requests are answered."""
    with plain.connect() as slow:
        slow.send(b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 20\r\n\r\n")
        for _ in range(20):
            slow.send(b"x")

            assert 200 == plain.fetch("/").status

        assert b"x" * 20 == slow.receive("POST").body


def test_sizes_by_name(plain: Server) -> None:
    """Sizes may be keyword arguments, as in those classes of the `io` module that are written in Python."""
    response = plain.fetch("/input-by-name", method="POST", body=b"abcdef\ngh\nij\n")

    assert b"[b'ab', b'cd', [b'ef\\n'], b'gh\\nij\\n']" == response.body
