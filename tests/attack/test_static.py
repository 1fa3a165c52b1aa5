"""Static files under attack: nothing outside or hidden is sent, no name is markup, all bytes are right."""

from __future__ import annotations

import html
import os
import re
import socket
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urljoin

import pytest

from attack.static import CHANGED_S, CONDITIONS, DIGITS, LOST, NAMES, RANGES
from support.client import request

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.server import Server, Servers

SECRET = b"SECRET"
LARGE_BYTES = 20 << 20


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with every trap in it, and a secret beside it."""
    root = tmp_path_factory.mktemp("attack") / "site"
    (root / "sub").mkdir(parents=True)
    (root / ".git").mkdir()
    (root.parent / "outside.txt").write_bytes(SECRET)
    for name in NAMES:
        (root / name).write_bytes(DIGITS)
        os.utime(root / name, (CHANGED_S, CHANGED_S))
    for name in (".hidden", "sub/.hidden", ".git/config", "a.py", "a.PY", "a.pyc", "backup~", "sub/backup~"):
        (root / name).write_bytes(SECRET)
    os.mkfifo(root / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(root / "socket"))
    for name, target in {
        "self": "self", "loop-1": "loop-2", "loop-2": "loop-1", "up": "..", "absolute": "/etc/passwd",
        "top": "/",
        "device": "/dev/zero", "dangling": "nowhere", "to-fifo": "fifo", "to-socket": "socket",
    }.items():  # fmt: skip
        (root / name).symlink_to(target)
    return root


@pytest.fixture(scope="session")
def site(serve_session: Servers, root: Path) -> Server:
    """Serve the folder, with every setting that shows more of it turned on."""
    return serve_session(root, "--static-listing", "--static-symlinks")


@pytest.mark.parametrize("target", LOST)
def test_lost(site: Server, target: str) -> None:
    """Each target is answered as if nothing were there, and the connection goes on."""
    for method in ("GET", "HEAD"):
        with site.connect(lint_answers=False) as connection:
            response = connection.get(target, method=method)

            assert response.status in {400, 404}
            assert SECRET not in response.body
            assert b"root:" not in response.body
            if not response.closing:
                assert DIGITS == connection.get("/plain.txt").body


@pytest.mark.parametrize("name", NAMES)
def test_name(site: Server, name: str) -> None:
    """A file of any name is found by its escaped name, and nothing of the name is in a field."""
    response = site.fetch("/" + quote(name, safe=""), lint_answers=False)

    assert 200 == response.status
    assert DIGITS == response.body
    assert not any(name in value for _, value in response.fields if len(name) > 2)


def test_listing(site: Server) -> None:
    """The listing shows each name as text, links to its file, and has no markup of an attacker."""
    page = site.fetch("/", lint_answers=False).body.decode()
    links = [html.unescape(link) for link in re.findall(r'href="([^"]*)"', page)]

    assert not re.search(r"<(img|script)", page)
    for name in NAMES:
        # A browser that follows the link has to ask for this name, in whatever way the link is written.
        found = [link for link in links if name == unquote(link.removeprefix("./"))]
        assert found, name
        assert DIGITS == site.fetch(urljoin("/", found[0]), lint_answers=False).body
    assert not [link for link in links if re.search(r"hidden|\.py|\.git|backup|fifo|socket|passwd", link)]


@pytest.mark.parametrize(("field", "status", "body"), RANGES, ids=lambda value: str(value)[:40])
def test_range(site: Server, field: str, status: int, body: bytes | None) -> None:
    """Each spelling of Range is answered as RFC 9110, section 14, says; a malformed one is ignored."""
    with site.connect(lint_answers=False) as connection:
        response = connection.get("/plain.txt", fields=[("Range", field)])

        assert status == response.status
        assert body in {None, response.body}
        assert (status == 200) != ("Content-Range" in response)
        assert DIGITS == connection.get("/plain.txt").body


@pytest.mark.parametrize(("name", "value", "status"), CONDITIONS, ids=lambda value: str(value)[:40])
def test_condition(site: Server, name: str, value: str, status: int) -> None:
    """Each condition, malformed or not, gets the expected status, and the connection goes on."""
    with site.connect(lint_answers=False) as connection:
        response = connection.get("/plain.txt", fields=[(name, value)])

        assert status == response.status
        assert response.body == (DIGITS if status == 200 else response.body)
        assert DIGITS == connection.get("/plain.txt").body


def _replace(file: Path) -> None:
    (file.parent / "new").write_bytes(b"new")
    (file.parent / "new").rename(file)


def _become_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def _become_fifo(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def _become_loop(file: Path) -> None:
    file.unlink()
    file.symlink_to(file.name)


def _move_folder(file: Path) -> None:
    file.parent.rename(file.parent.with_name("moved"))


CHANGES: dict[str, tuple[Callable[[Path], object], bool, int]] = {
    "removed": (lambda file: file.unlink(), True, 404),
    "replaced": (_replace, True, 200),
    "a folder now": (_become_folder, True, 404),
    "a pipe now": (_become_fifo, True, 404),
    "a loop now": (_become_loop, True, 404),
    "in a folder that moved": (_move_folder, True, 404),
    "emptied": (lambda file: os.truncate(file, 0), False, 200),
    "one byte shorter": (lambda file: os.truncate(file, LARGE_BYTES - 1), False, 200),
    "longer": (lambda file: os.truncate(file, LARGE_BYTES + 1000), True, 200),
}
"""Change of a file while it is sent; whether its answer is whole; the next answer's status."""


@pytest.mark.parametrize("what", CHANGES)
def test_change_while_sent(serve: Servers, tmp_path: Path, what: str) -> None:
    """The answer under way has the old file, or is cut, never padded or mixed; the next answer is right."""
    change, is_whole, then = CHANGES[what]
    file = tmp_path / "site" / "sub" / "large.bin"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"x" * LARGE_BYTES)
    server = serve(tmp_path / "site", "--static-symlinks")
    with server.connect(receive_buffer_bytes=8192) as connection:
        connection.send(request("/sub/large.bin"))
        while b"\r\n\r\n" not in connection.reader.buffer:
            assert connection.reader.fill()
        change(file)
        response = connection.receive()

        assert is_whole == response.complete
        assert len(response.body) <= LARGE_BYTES
        assert not response.body.strip(b"x")
    assert then == server.fetch("/sub/large.bin", method="HEAD", lint_answers=False).status
