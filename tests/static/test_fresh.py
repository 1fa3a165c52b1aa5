"""Files are sent whole and as they are on the disk, with or without the cache."""

from __future__ import annotations

import hashlib
import os
import time
from typing import TYPE_CHECKING

import pytest

from support.client import request
from support.server import until

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Server, Servers

MEBIBYTE = 1 << 20
LARGE_BYTES = 50 * MEBIBYTE
NEIGHBOUR_LOOK_S = 10.0
"""New neighbours may be noticed a second late (crates/files); the rest is for a machine that is busy."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of this test's own, with files old enough for any cache."""
    for name, content in [("page.txt", b"first"), ("large.txt", b"first" * 40_000)]:
        (tmp_path / name).write_bytes(content)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "index.html").write_bytes(b"index")
    time.sleep(0.05)  # longer than two ticks of the file system's clock: now it may be cached
    return tmp_path


@pytest.fixture
def server(serve: Servers, folder: Path) -> Server:
    """Serve the folder, and request its files so that they are cached."""
    server = serve(folder)
    for name in ("page.txt", "large.txt", "sub/"):
        for _ in range(5):
            assert 200 == server.fetch(f"/{name}").status
    return server


@pytest.mark.parametrize("name", ["page.txt", "large.txt"])
def test_changes(server: Server, folder: Path, name: str) -> None:
    """Every kind of change is noticed by the very next request, on the same connection."""
    file = folder / name
    size = file.stat().st_size
    with server.connect() as connection:

        def now() -> bytes:
            return connection.get(f"/{name}").body

        assert file.read_bytes() == now()

        file.write_bytes(b"longer" * size)

        assert b"longer" * size == now()

        file.write_bytes(b"s" * size)

        assert b"s" * size == now()

        before = file.stat()
        file.write_bytes(b"t" * size)
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

        assert b"t" * size == now()

        other = folder / "other"
        other.write_bytes(b"u" * size)
        os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
        other.rename(file)

        assert b"u" * size == now()

        with file.open("r+b") as stream:
            stream.truncate(1)

        assert b"u" == now()

        with file.open("ab") as end:
            end.write(b"v")

        assert b"uv" == now()

        file.unlink()

        assert 404 == connection.get(f"/{name}").status

        file.write_bytes(b"again")

        assert b"again" == now()


@pytest.mark.parametrize("flags", [(), ("--static-symlinks",)])
def test_folder_is_swapped(serve: Servers, tmp_path: Path, flags: tuple[str, ...]) -> None:
    """If another folder replaces the served one, the very next request gets its files."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "page.txt").write_text(name)
        (tmp_path / name / f"only-{name}.txt").write_text(name)
    current, following = tmp_path / "current", tmp_path / "next"
    current.symlink_to("one")
    server = serve(current, *flags)
    served = "one"
    for name in ["two", "one"] * 20:
        with server.connect() as connection:
            for _ in range(3):
                assert served == connection.get("/page.txt").body.decode()
            assert 404 == connection.get(f"/only-{name}.txt").status
            following.symlink_to(name)
            following.rename(current)
            # One turn first requests the path that is cached, the other turn the path that is not.
            targets = ["/page.txt", f"/only-{name}.txt"]
            for target in targets if name == "two" else reversed(targets):
                assert name == connection.get(target).body.decode()
            assert 404 == connection.get(f"/only-{served}.txt").status
        served = name
    current.rename(tmp_path / "aside")

    assert served == server.fetch("/page.txt").body.decode()

    (tmp_path / "one").rename(current)

    assert "one" == server.fetch("/page.txt").body.decode()


@pytest.mark.parametrize("name", ["page.txt", "large.txt"])
def test_tag_changes(server: Server, folder: Path, name: str) -> None:
    """A file that was written again has a different tag, so that no client keeps the old content."""
    with server.connect() as connection:
        first = connection.get(f"/{name}")
        (folder / name).write_bytes(first.body.swapcase())
        second = connection.get(f"/{name}", fields=[("If-None-Match", first["ETag"])])

        assert 200 == second.status
        assert first.body.swapcase() == second.body
        assert first["ETag"] != second["ETag"]


def test_many_quick_changes(server: Server, folder: Path) -> None:
    """Each of several changes within one tick of the clock, of equal length, is noticed."""
    file = folder / "page.txt"
    with server.connect() as connection:
        for number in range(300):
            content = b"%05d" % number
            file.write_bytes(content)

            assert content == connection.get("/page.txt").body


def test_file_becomes_folder(server: Server, folder: Path) -> None:
    """A file that became a folder is redirected; a folder that became a file is sent."""
    (folder / "page.txt").unlink()
    (folder / "page.txt").mkdir()

    assert server.fetch("/page.txt").status in {301, 308, 404}

    (folder / "sub" / "index.html").unlink()

    assert 404 == server.fetch("/sub/").status

    (folder / "sub").rmdir()
    (folder / "sub").write_bytes(b"a file")

    assert b"a file" == server.fetch("/sub").body


def test_file_becomes_link(server: Server, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A cached file that is replaced by a link to the outside is no longer found."""
    outside = tmp_path_factory.mktemp("outside") / "secret.txt"
    outside.write_bytes(b"first")
    (folder / "page.txt").unlink()
    (folder / "page.txt").symlink_to(outside)

    assert 404 == server.fetch("/page.txt").status


def test_file_becomes_unreadable(server: Server, folder: Path) -> None:
    """A file that is renamed is found only under its new name."""
    (folder / "page.txt").rename(folder / "moved.txt")

    assert 404 == server.fetch("/page.txt").status
    assert b"first" == server.fetch("/moved.txt").body


def test_new_neighbour(server: Server, folder: Path) -> None:
    """A new precompressed neighbour is used within a moment; a removed neighbour is ignored at once."""
    gzip = ("Accept-Encoding", "br")
    neighbour = folder / "page.txt.br"
    neighbour.write_bytes(b"brotli")

    def used() -> bool:
        with server.connect(lint_answers=False) as connection:
            return connection.get("/page.txt", fields=[gzip]).body == b"brotli"

    assert until(used, NEIGHBOUR_LOOK_S)

    neighbour.unlink()
    with server.connect(lint_answers=False) as connection:
        assert b"first" == connection.get("/page.txt", fields=[gzip]).body

    neighbour.write_bytes(b"brotli")

    assert until(used, NEIGHBOUR_LOOK_S)

    os.utime(neighbour, (1, 1))
    with server.connect(lint_answers=False) as connection:
        assert b"first" == connection.get("/page.txt", fields=[gzip]).body


def test_pipelined_requests_see_one_state(server: Server) -> None:
    """Many requests for a cached file that are sent at once are all answered."""
    with server.connect() as connection:
        connection.send(request("/page.txt") * 200)

        assert [b"first"] * 200 == [connection.receive().body for _ in range(200)]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a file of 50 MB in which no part repeats another."""
    folder = tmp_path_factory.mktemp("large")
    with (folder / "large.bin").open("wb") as stream:
        for number in range(LARGE_BYTES // 32):
            stream.write(hashlib.sha256(b"%d" % number).digest())
    return folder


def digest(data: bytes) -> str:
    """Return a hash of the data that is short enough for a message."""
    return hashlib.sha256(data).hexdigest()


def test_large_file(serve: Servers, large: Path) -> None:
    """A file of 50 MB is sent whole, and costs the server no memory."""
    server = serve(large)
    server.fetch("/missing")
    before = server.rss()
    content = (large / "large.bin").read_bytes()
    with server.connect() as connection:
        for _ in range(2):
            assert digest(content) == digest(connection.get("/large.bin").body)
        middle = [("Range", f"bytes={LARGE_BYTES // 2}-{LARGE_BYTES // 2 + 9_999_999}")]
        expected = content[LARGE_BYTES // 2 :][:10_000_000]

        assert digest(expected) == digest(connection.get("/large.bin", fields=middle).body)
    assert 4 * MEBIBYTE > server.rss() - before


def test_slow_readers(serve: Servers, large: Path) -> None:
    """Twenty clients that read slowly delay no other client, cost little, and get the whole file."""
    # This test is not about the limits for slow readers.
    server = serve(large, "--write-idle-timeout=10m", "--write-rate-min=0")
    server.fetch("/missing")
    before = server.rss()
    readers = [server.connect(receive_buffer_bytes=8192) for _ in range(20)]
    for reader in readers:
        reader.send(request("/large.bin"))
    for reader in readers:
        while not reader.reader.buffer:
            assert reader.reader.fill()

    assert 404 == server.fetch("/missing").status
    assert 8 * MEBIBYTE > server.rss() - before

    content = digest((large / "large.bin").read_bytes())
    for reader in readers[:2]:
        assert content == digest(reader.receive().body)
    for reader in readers:
        reader.abort()


def test_file_that_shrinks(serve: Servers, tmp_path: Path) -> None:
    """If a file becomes shorter while it is sent, the connection is cut, and nothing is padded (rule 49)."""
    file = tmp_path / "large.bin"
    file.write_bytes(b"x" * LARGE_BYTES)
    server = serve(tmp_path)
    with server.connect(receive_buffer_bytes=8192) as connection:
        connection.send(request("/large.bin"))
        while b"\r\n\r\n" not in connection.reader.buffer:
            assert connection.reader.fill()
        os.truncate(file, 10 * MEBIBYTE)
        response = connection.receive()

        assert 200 == response.status
        assert not response.complete
        assert 10 * MEBIBYTE <= len(response.body) < LARGE_BYTES
        assert b"\0" not in response.body
    assert 404 == server.fetch("/missing").status


def test_descriptors_are_bounded(serve: Servers, tmp_path: Path) -> None:
    """However many files are requested, few descriptors stay open, and none when the files are removed."""
    for number in range(400):
        (tmp_path / f"{number}.bin").write_bytes(b"%05d" % number * 20_000)
    server = serve(tmp_path)
    server.fetch("/missing")
    before = server.resting_fds()
    with server.connect() as connection:
        for number in range(400):
            assert b"%05d" % number * 20_000 == connection.get(f"/{number}.bin").body

    assert server.settles_at_fds(before + 300)


def test_cache_is_bounded(serve: Servers, tmp_path: Path) -> None:
    """The cache of contents keeps its limit, and answers stay right if the limit is far too small."""
    for number in range(300):
        (tmp_path / f"{number}.bin").write_bytes(b"%05d" % number * 10_000)
    time.sleep(0.05)  # old enough for the cache
    server = serve(tmp_path, "--static-cache-bytes-max", "1m")
    server.fetch("/missing")
    before = server.rss()
    with server.connect() as connection:
        for _ in range(3):
            for number in range(300):
                assert b"%05d" % number * 10_000 == connection.get(f"/{number}.bin").body

    assert 6 * MEBIBYTE > server.rss() - before


def test_no_cache(serve: Servers, tmp_path: Path) -> None:
    """Files are served without the cache, too."""
    (tmp_path / "page.txt").write_bytes(b"page")
    server = serve(tmp_path, "--static-cache-bytes-max", "0")
    with server.connect() as connection:
        assert [b"page"] * 5 == [connection.get("/page.txt").body for _ in range(5)]
