"""A folder with every kind of file in it, and the server for it."""

from __future__ import annotations

import gzip
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support.server import Server, Servers

TEXT = b"".join(b"line %d of a text that compresses well\n" % number for number in range(300))
DIGITS = b"0123456789"
MEDIUM = bytes(range(256)) * 1400
LONG_AGO = 1_600_000_000
"""Time of last change in seconds, long enough ago that no file looks as if it were being written."""

FOLDERS = ["sub", "plain", "listed/inner", ".git", ".well-known", "__pycache__", "sp ace/f\u00e9"]
FILES = {
    "index.html": b"<!doctype html><title>home</title>",
    "404.html": b"<!doctype html><title>not here</title>",
    "note.txt": DIGITS,
    "empty.txt": b"",
    "medium.bin": MEDIUM,
    "style.css": b"body{}",
    "script.js": b"1;",
    "module.mjs": b"1;",
    "data.json": b"{}",
    "icon.svg": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    "pixel.png": b"\x89PNG\r\n\x1a\n",
    "photo.jpg": b"\xff\xd8\xff",
    "font.woff2": b"wOF2",
    "film.mp4": b"\0\0\0\x18ftyp",
    "code.wasm": b"\0asm",
    "paper.pdf": b"%PDF",
    "feed.xml": b"<a/>",
    "unknown.zzz": b"?",
    "noextension": b"?",
    "with space.txt": b"space",
    "caf\u00e9.txt": b"cafe",
    "a%41b.txt": b"percent",
    "a&<b>.txt": b"markup",
    "semi;colon.txt": b"semicolon",
    "sub/index.html": b"<!doctype html><title>sub</title>",
    "sub/inner.txt": b"inner",
    "plain/only.txt": b"only",
    "listed/b.txt": b"b",
    "listed/A.txt": b"a",
    "listed/<i>&.txt": b"markup",
    "listed/.hidden": b"hidden",
    "listed/source.py": b"source",
    "sp ace/in.txt": b"in",
    "sp ace/f\u00e9/index.html": b"<!doctype html><title>deep</title>",
    ".env": b"SECRET",
    ".hidden.txt": b"SECRET",
    ".git/config": b"SECRET",
    ".well-known/security.txt": b"Contact: us",
    "source.py": b"SECRET",
    "source.pyc": b"SECRET",
    "SOURCE.PY": b"SECRET",
    "backup.txt~": b"SECRET",
    "edited.swp": b"SECRET",
    "__pycache__/source.cpython-311.pyc": b"SECRET",
    "text.txt": TEXT,
    "text.txt.gz": gzip.compress(TEXT),
    "text.txt.br": b"brotli, or so it says",
    "text.txt.zst": b"zstd, or so it says",
    "old.txt": TEXT,
    "old.txt.gz": gzip.compress(b"of an older text"),
    "only.txt.gz": gzip.compress(TEXT),
}
"""All regular files of the site: published files, hidden files, and files with odd names."""


def make_site(root: Path) -> None:
    """Fill `root`, and put a file beside it that must never be sent."""
    for folder in FOLDERS:
        (root / folder).mkdir(parents=True)
    (root.parent / "outside.txt").write_bytes(b"outside")
    for name, content in FILES.items():
        (root / name).write_bytes(content)
        os.utime(root / name, (LONG_AGO, LONG_AGO))
    os.utime(root / "old.txt.gz", (LONG_AGO - 100, LONG_AGO - 100))
    os.mkfifo(root / "fifo.txt")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(root / "socket.txt"))
    (root / "device.txt").symlink_to("/dev/zero")
    (root / "link-out.txt").symlink_to("../outside.txt")
    (root / "link-absolute.txt").symlink_to("/etc/passwd")
    (root / "link-in.txt").symlink_to("note.txt")
    (root / "link-folder").symlink_to("..")
    unreadable = root / "unreadable.txt"
    unreadable.write_bytes(b"SECRET")
    unreadable.chmod(0)


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that is served."""
    folder = tmp_path_factory.mktemp("static") / "site"
    folder.mkdir()
    make_site(folder)
    return folder


@pytest.fixture(scope="session")
def site(serve_session: Servers, root: Path) -> Server:
    """Serve the folder with default settings."""
    return serve_session(root)


@pytest.fixture(scope="session")
def application() -> Path:
    """Return an application to stand beside the static files."""
    return Path(__file__).with_name("application.py")
