"""Middleware that counts the requests that Python sees, for ``adyton bench --count-hits``.

It wraps the application, on any server::

    import adyton.counting

    application = adyton.counting.wsgi(application)    # or adyton.counting.asgi(application)

A request for ``/.adyton-hits`` is answered with the count of all processes of the server, as JSON.
``adyton bench`` reads the count before and after a load: if there are fewer hits than answers, some answers
came from a cache; if there are more hits than requests, something repeats requests.

Each process counts in a file of its own, mapped into its memory, so that no count is lost when a process
ends, and no process waits for another. The files of one server are named for the parent of its processes and
for its port, which all workers share, whether they were forked before or after the application was loaded. So
use this only to measure, and run one server at a time with the same parent and port.
"""

from __future__ import annotations

import json
import mmap
import os
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, MutableMapping
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    ASGIApplication = Callable[[Message, Receive, Send], Awaitable[None]]

__all__ = ["PATH", "asgi", "wsgi"]

#: Path at which the count can be asked for.
PATH = "/.adyton-hits"

#: Length of a file, which holds one number.
_COUNT_BYTES = 8


def wsgi(application: WSGIApplication) -> WSGIApplication:
    """Returns the application with its requests counted."""
    hits = _Hits()

    def counted(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        port = environ.get("SERVER_PORT", "")
        if environ.get("PATH_INFO") == PATH:
            body = hits.told(port)
            start_response("200 OK", [*_FIELDS, ("Content-Length", str(len(body)))])
            return [body]
        hits.add(port)
        return application(environ, start_response)

    return counted


def asgi(application: ASGIApplication) -> ASGIApplication:
    """Returns the application with its HTTP requests counted."""
    hits = _Hits()

    async def counted(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await application(scope, receive, send)
            return
        port = str((scope.get("server") or ("", ""))[1])
        if scope["path"] == PATH:
            body = hits.told(port)
            fields = [*_FIELDS, ("Content-Length", str(len(body)))]
            headers = [(name.lower().encode(), value.encode()) for name, value in fields]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": body})
            return
        hits.add(port)
        await application(scope, receive, send)

    return counted


_FIELDS = [("Content-Type", "application/json"), ("Cache-Control", "no-store")]


class _Hits:
    """The count of this process, and the sum of the counts of all processes of its server."""

    _folder: Path
    _server: str
    _own: mmap.mmap

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0
        # The process that `_own` belongs to: after a fork, the child needs a file of its own.
        self._process = 0

    def add(self, port: str) -> None:
        """Counts one request."""
        with self._lock:
            self._be_own(port)
            self._count += 1
            self._own[:] = self._count.to_bytes(_COUNT_BYTES, "little")

    def told(self, port: str) -> bytes:
        """Returns the sum, as JSON."""
        with self._lock:
            self._be_own(port)
        files = list(self._folder.glob(f"{self._server}-*"))
        hits = sum(int.from_bytes(file.read_bytes(), "little") for file in files)
        processes = {file.name.split("-")[2] for file in files}
        return json.dumps({"hits": hits, "processes": len(processes)}).encode()

    def _be_own(self, port: str) -> None:
        """Begins a file for this process, if it has none yet."""
        process = os.getpid()
        if self._process == process:
            return
        self._folder, self._server = _folder(), f"{os.getppid()}-{port if port.isdigit() else 0}"
        # One process may have several files: for sub-interpreters, or for several applications.
        name = self._folder / f"{self._server}-{process}-{os.urandom(8).hex()}"
        descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.ftruncate(descriptor, _COUNT_BYTES)
            self._own, self._count = mmap.mmap(descriptor, _COUNT_BYTES), 0
        finally:
            os.close(descriptor)
        self._process = process


def _folder() -> Path:
    """Returns the folder of this user; removes files of servers that have ended."""
    folder = Path(tempfile.gettempdir()) / f"adyton-hits-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to another user: remove it, or set TMPDIR")
    for file in folder.iterdir():
        parent, _, process, _ = file.name.split("-")
        if not (_lives(parent) or _lives(process)):
            file.unlink(missing_ok=True)
    return folder


def _lives(process: str) -> bool:
    return Path("/proc", process).exists()
