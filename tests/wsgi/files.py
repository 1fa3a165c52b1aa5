"""File objects of many kinds behind `wsgi.file_wrapper`: only some read what their descriptor has."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import random
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from wsgiref.types import StartResponse, WSGIEnvironment

DATA = random.Random(1).randbytes(100_000)
"""Random bytes: they grow if compressed, so a Content-Length does not show which form was sent."""
LOWER, UPPER = b"abc" * 30_000, b"ABC" * 30_000
FAR = 4 << 30
"""Offset of some bytes in a large file."""
MADE_UP = [path for path in ("/proc/filesystems", "/sys/devices/system/cpu/possible") if Path(path).exists()]
"""Files that the kernel writes as they are read."""


def named(data: bytes) -> str:
    """Return the name of a new file in the folder of the test."""
    with tempfile.NamedTemporaryFile(delete=False, dir=".") as file:
        file.write(data)
    return file.name


class Proxy:
    """Stands in for a file in everything except `read`, which returns capitals."""

    def __init__(self, file: IO[bytes]) -> None:
        """Stand in for `file`."""
        self._file = file

    def read(self, size: int = -1) -> bytes:
        """Read something else than the file has."""
        return self._file.read(size).upper()

    def __getattr__(self, name: str) -> Any:
        """Return any other attribute of the file."""
        return getattr(self._file, name)


class Holder:
    """Has the methods of the file that it holds, as Django's `File`."""

    def __init__(self, file: IO[bytes]) -> None:
        """Hold `file`."""
        self.file = file
        self.name = "holder"

    read = property(lambda self: self.file.read)
    fileno = property(lambda self: self.file.fileno)
    tell = property(lambda self: self.file.tell)
    close = property(lambda self: self.file.close)


class Capitals(io.FileIO):
    """A file that reads in capitals."""

    def read(self, size: int | None = -1, /) -> bytes:
        """Read something else than the file has."""
        return (super().read(-1 if size is None else size) or b"").upper()

    def readinto(self, buffer: Any, /) -> int:
        """Read something else than the file has into a buffer."""
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class Displaced(io.FileIO):
    """A file whose `tell` returns a wrong position."""

    def tell(self) -> int:
        """Return a wrong position."""
        return super().tell() + 10


def patched() -> IO[bytes]:
    """Open a file whose method `read` is replaced."""
    file: Any = open(named(LOWER), "rb")  # noqa: PTH123, SIM115
    read = file.read
    file.read = lambda size: read(size).upper()
    return file  # type: ignore[no-any-return]


def temporary() -> IO[bytes]:
    """Open a temporary file with a name."""
    file = tempfile.NamedTemporaryFile()  # noqa: SIM115
    file.write(DATA)
    file.seek(10)
    return file  # type: ignore[return-value]


def written() -> IO[bytes]:
    """Open a file whose end is still in its buffer."""
    file = open(named(DATA), "r+b")  # noqa: PTH123, SIM115
    file.seek(len(DATA) - 100)
    file.read(10)
    file.write(b"end")
    file.seek(-20, io.SEEK_CUR)
    return file


def pipe() -> IO[bytes]:
    """Open a pipe."""
    reader, writer = os.pipe()
    os.write(writer, b"through a pipe")
    os.close(writer)
    return os.fdopen(reader, "rb")


def archived(module: Any) -> Callable[[], IO[bytes]]:
    """Return a function that opens a compressed file."""

    def opened() -> IO[bytes]:
        return module.open(named(module.compress(DATA)), "rb")  # type: ignore[no-any-return]

    return opened


KINDS: dict[str, tuple[Callable[[], Any], bool]] = {
    "buffered": (lambda: open(named(DATA), "rb"), True),  # noqa: PTH123, SIM115
    "raw": (lambda: open(named(DATA), "rb", buffering=0), True),  # noqa: PTH123, SIM115
    "temporary": (temporary, True),
    "written": (written, True),
    "holder": (lambda: Holder(open(named(DATA), "rb")), True),  # noqa: PTH123, SIM115
    "gzip": (archived(gzip), False),
    "bz2": (archived(bz2), False),
    "lzma": (archived(lzma), False),
    "buffer of gzip": (lambda: io.BufferedReader(archived(gzip)()), False),  # type: ignore[arg-type]
    "proxy": (lambda: Proxy(open(named(LOWER), "rb")), False),  # noqa: PTH123, SIM115
    "holder of proxy": (lambda: Holder(Proxy(open(named(LOWER), "rb"))), False),  # type: ignore[arg-type] # noqa: PTH123, SIM115
    "subclass": (lambda: Capitals(named(LOWER)), False),
    "buffer of subclass": (lambda: io.BufferedReader(Capitals(named(LOWER))), False),
    "displaced": (lambda: Displaced(named(DATA)), False),
    "patched": (patched, False),
    "pipe": (pipe, False),
    "memory": (lambda: io.BytesIO(DATA), False),
    **{path: (lambda path=path: open(path, "rb"), False) for path in MADE_UP},  # noqa: PTH123, SIM115
}
"""The kinds of files: a function that opens one, and whether the kernel may send it."""


def blocks(file: IO[bytes]) -> Iterator[bytes]:
    """Read a file as PEP 3333 does."""
    return iter(lambda: file.read(8192), b"")


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Send a file of some kind, with a Content-Length or without one."""
    kind, _, length = environ["QUERY_STRING"].replace("%20", " ").partition(",")
    fields = [("Content-Type", "application/octet-stream")]
    if length:
        fields.append(("Content-Length", length))
    start_response("200 OK", fields)
    if environ["PATH_INFO"] == "/part":
        return part(environ["wsgi.file_wrapper"], kind)
    opened = KINDS[kind][0] if kind in KINDS else WRONG[kind]
    return environ["wsgi.file_wrapper"](opened())  # type: ignore[no-any-return]


WRONG: dict[str, Callable[[], Any]] = {
    "text": lambda: open(named(DATA[:10]), encoding="latin-1"),  # noqa: PTH123, SIM115
    "for writing": lambda: open(named(DATA), "ab"),  # noqa: PTH123, SIM115
    "raw for writing": lambda: open(named(DATA), "ab", buffering=0),  # noqa: PTH123, SIM115
}
"""Files that cannot be read, or not as bytes."""


def part(wrapper: Any, where: str) -> Iterable[bytes]:
    """Send a part far behind in a large file; like Werkzeug, seek through the wrapper."""
    with open("large", "wb") as file:  # noqa: PTH123
        file.seek(FAR)
        file.write(b"far behind")
    wrapped = wrapper(open("large", "rb"))  # noqa: PTH123, SIM115
    assert wrapped.seekable()
    assert wrapped.tell() == 0
    assert FAR + 4 == wrapped.seek(FAR + 4) == wrapped.tell()
    return wrapped if where == "rest" else iter([next(iter(wrapped))])  # type: ignore[no-any-return]
