"""Many large uploads at once take little memory: bodies for which there is no room go into files."""

from __future__ import annotations

import selectors
import socket
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.control import status

if TYPE_CHECKING:
    from support.server import Servers

MIB = 1 << 20
PIECE = b"x" * (256 << 10)
ABOVE_IDLE_MAX = 256 * MIB
"""Memory that uploads may take, in all processes of the server, beyond the memory before they come."""

APPLICATION = '''
"""Counts bodies."""


def application(environ, start_response):
    """Say how long the body was."""
    count = 0
    while piece := environ["wsgi.input"].read(65536):
        count += len(piece)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [str(count).encode()]
'''


@dataclass
class Upload:
    """A client that sends as much as the server takes, and reads the answer when all is sent."""

    socket: socket.socket
    left: int
    answer: bytearray = field(default_factory=bytearray)

    def go_on(self) -> int:
        """Send or read as much as possible; return the event to wait for, or 0 at the end."""
        if self.left > 0:
            self.left -= self.socket.send(PIECE[: self.left])
            return selectors.EVENT_WRITE if self.left else selectors.EVENT_READ
        data = self.socket.recv(len(PIECE))
        self.answer += data
        return selectors.EVENT_READ if data else 0


def run_all(uploads: list[Upload]) -> None:
    """Let all go on, each a piece in turn, until all are answered."""
    with selectors.DefaultSelector() as selector:
        for upload in uploads:
            selector.register(upload.socket, selectors.EVENT_WRITE, upload)
        while selector.get_map():
            ready = selector.select(60)
            assert ready, f"{len(selector.get_map())} uploads do not go on"
            for key, _ in ready:
                if not (wanted := key.data.go_on()):
                    selector.unregister(key.fileobj)
                elif wanted != key.events:
                    selector.modify(key.fileobj, wanted, key.data)


def memory(pids: list[int], name: str) -> int:
    """Return the sum of a field of `/proc/PID/status` over these processes, in bytes."""
    total = 0
    for pid in pids:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
        total += sum(int(line.split()[1]) << 10 for line in lines if line.startswith(f"{name}:"))
    return total


@pytest.mark.parametrize(
    ("number", "size"), [(40, 20 * MIB), pytest.param(500, 20 * MIB, marks=pytest.mark.long)]
)
def test_memory(serve: Servers, tmp_path: Path, number: int, size: int) -> None:
    """Uploads at the same time are answered right, and the processes' peak memory is not far above idle."""
    (tmp_path / "counting.py").write_text(APPLICATION, encoding="utf-8")
    control = tmp_path / "control.sock"
    # The defaults: as many processes and threads as the server chooses. All bodies may wait on the disk at
    # once.
    env = {"ADYTON_PROCESSES": "", "ADYTON_THREADS": "", "ADYTON_BODY_FILES_BYTES_MAX": str(number * size)}
    server = serve("counting:application", "--control", str(control), cwd=tmp_path, env=env)
    pids = [worker["pid"] for worker in status(control)["workers"]]
    head = f"POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {size}\r\n\r\n"
    with ExitStack() as stack:
        uploads = []
        for _ in range(number):
            client = stack.enter_context(socket.create_connection(server.address))
            client.sendall(head.encode())
            client.settimeout(0)
            uploads.append(Upload(client, size))
        idle = memory(pids, "VmRSS")
        run_all(uploads)

    assert {str(size).encode()} == {bytes(upload.answer).rpartition(b"\r\n\r\n")[2] for upload in uploads}
    assert pids == [worker["pid"] for worker in status(control)["workers"]]
    # The kernel itself counts the peak of each process.
    assert memory(pids, "VmHWM") - idle < ABOVE_IDLE_MAX
