"""`wsgi.file_wrapper`: the kernel sends real files, other files are sent in pieces, with the same bytes."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from support.client import request
from wsgi import files
from wsgi.test_close import closed

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Server, Servers

DATA = bytes(range(256)) * 4096
SIZE = len(DATA)


@pytest.mark.parametrize("offset", [0, 1, 1000, SIZE - 1, SIZE])
@pytest.mark.parametrize("kind", ["file", "memory"])
def test_offset(site: Server, kind: str, offset: int) -> None:
    """Sending must start at the file's current position."""
    with site.connect() as connection:
        assert DATA[offset:] == connection.get(f"/{kind}?{offset}").body
        assert b"hello, world" == connection.get("/").body


def test_length_is_known(plain: Server) -> None:
    """For a real file, the Content-Length must be the length of the rest of the file."""
    assert str(SIZE - 10) == plain.fetch("/file?10")["Content-Length"]


@pytest.mark.parametrize(("offset", "length"), [(0, SIZE), (0, 10), (100, 1000), (SIZE - 10, 10)])
def test_own_length(site: Server, offset: int, length: int) -> None:
    """A Content-Length of at most the rest of the file must be obeyed."""
    with site.connect() as connection:
        response = connection.get(f"/file?{offset},{length}")

        assert DATA[offset : offset + length] == response.body
        assert str(length) == response["Content-Length"]
        if not response.closing:
            assert b"hello, world" == connection.get("/").body


def test_own_length_of_zero(plain: Server) -> None:
    """Nothing is sent when nothing was promised."""
    assert b"" == plain.fetch("/file?0,0").body


def test_own_length_beyond_the_end(plain: Server) -> None:
    """A Content-Length beyond the end of the file cuts the connection: nothing is made up."""
    with plain.connect() as connection:
        response = connection.get("/file-longer")

        assert DATA == response.body
        assert not response.complete
    assert ["file"] == closed(plain)


def test_head(plain: Server) -> None:
    """HEAD tells the length and sends nothing."""
    with plain.connect() as connection:
        response = connection.get("/file?10", method="HEAD")

        assert str(SIZE - 10) == response["Content-Length"]
        assert b"hello, world" == connection.get("/").body


def test_on_1_0(plain: Server) -> None:
    """The wrapper works on HTTP/1.0, where a file without a descriptor ends with the connection."""
    for kind in ("file", "memory"):
        with plain.connect() as connection:
            response = connection.ask(request(f"/{kind}?5", version="1.0"))

            assert DATA[5:] == response.body
            assert response.complete


def test_pipelined(plain: Server) -> None:
    """Answers with files must keep their place among other pipelined answers."""
    with plain.connect() as connection:
        connection.send(b"".join(request(f"/file?{offset}") + request("/") for offset in range(5)))
        for offset in range(5):
            assert DATA[offset:] == connection.receive().body
            assert b"hello, world" == connection.receive().body


def test_descriptors_are_given_back(plain: Server) -> None:
    """After many files no more descriptors are open than before."""
    plain.fetch("/file?0")
    before = plain.resting_fds()
    with plain.connect() as connection:
        for _ in range(30):
            connection.get("/file?0")
    for _ in range(10):
        with plain.connect() as connection:
            connection.send(request("/file?0"))
            connection.abort()

    assert b"hello, world" == plain.fetch("/").body
    assert plain.settles_at_fds(before)


@pytest.fixture(scope="module")
def odd(serve_session: Servers, applications: Path) -> Server:
    """Serve files of many kinds."""
    return serve_session(applications.with_name("files.py"))


@pytest.mark.parametrize("kind", files.KINDS)
def test_what_read_gives(odd: Server, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client gets what `read()` gives, with a Content-Length or without; the kernel sends plain files."""
    monkeypatch.chdir(tmp_path)
    opened, is_sent = files.KINDS[kind]
    with contextlib.closing(opened()) as file:
        body = b"".join(files.blocks(file))
    target = f"/?{kind.replace(' ', '%20')}"
    response = odd.fetch(target)

    assert body == response.body
    assert is_sent == (response.framing == "length")
    assert body == odd.fetch(f"{target},{len(body)}").body
    assert body[:3] == odd.fetch(f"{target},3").body


@pytest.mark.parametrize("kind", files.WRONG)
def test_what_read_refuses(odd: Server, kind: str) -> None:
    """A file that gives no bytes is an error of the application, although its descriptor would give some."""
    mark = odd.mark()

    assert 500 == odd.fetch(f"/?{kind.replace(' ', '%20')}").status
    odd.wait_for_log("TypeError|UnsupportedOperation", since=mark)


def test_a_part_far_behind(odd: Server) -> None:
    """If an application seeks in the wrapper to send a part, nothing before the part may be read."""
    assert b"behind" == odd.fetch("/part?rest").body
    assert "6" == odd.fetch("/part?rest")["Content-Length"]
    assert b"behind" == odd.fetch("/part?first").body


def test_what_can_be_sought(plain: Server) -> None:
    """The wrapper must be seekable if its file is."""
    assert ["True", "True", "False", "False"] == plain.fetch("/seekable").json()
