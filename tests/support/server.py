"""Starts, watches and stops the server under test."""

from __future__ import annotations

import contextlib
import os
import random
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from codecs import getincrementaldecoder
from pathlib import Path
from typing import TYPE_CHECKING

from support import client

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from io import FileIO

    from support.client import Address
    from support.http import Response

START_TIMEOUT_S = 120.0
LOG_TIMEOUT_S = 60.0
"""Timeout for a line in the log; only a failing test reaches it."""
RESTING_S = 0.1
"""Pause in which the server notices that a client has closed, even on a busy machine."""
STOP_TIMEOUT_S = 40.0
"""Timeout for a stop, above the default graceful timeout of 30 s, so that a forced end is recognised."""

LISTENING = re.compile(r"adyton: listening on ([^\s\"\\]+)")
"""The banner, as text or in a JSON entry."""
PANIC = re.compile(r"panicked at|fatal runtime error|RUST_BACKTRACE|Segmentation fault")
OUR_TRACEBACK = re.compile(
    r"""Traceback \(most recent call last\):\n\s+File "[^"]*(site-packages|python)/adyton/"""
)
"""A traceback whose first frame is in our package, and not in an application."""

AS_ROOT = re.compile(r"^.*ADY336 warning: .*\n", re.MULTILINE)
"""The server's warning if root runs the tests."""

SETTINGS_PREFIXES = ("ADYTON_", "PORT")
"""Variables of the tests' own environment that must not reach the server."""

THREADS = os.environ.get("ADYTON_TEST_THREADS", "")
"""`--threads` of each server for which a test gives none; empty: the server's default."""

PROCESSES = os.environ.get("ADYTON_TEST_PROCESSES", "0")
"""`--processes` of each server for which a test gives none: most tests look at one process."""


class Log:
    """The lines that a process writes to stderr; tests can wait for a line."""

    def __init__(self, descriptor: int, file: Path | None = None) -> None:
        """Read `descriptor` until its end, and also text that is appended to `file` meanwhile."""
        self._text = ""
        self._ended = False
        self._changed = threading.Condition()
        os.set_blocking(descriptor, False)
        self._sources = [Source(os.fdopen(descriptor, "rb", buffering=0))]
        self._thread = threading.Thread(target=self._read, args=(descriptor,), daemon=True)
        self._thread.start()
        if file is not None:
            threading.Thread(target=self._follow, args=(file,), daemon=True).start()

    def _follow(self, file: Path) -> None:
        while not file.exists() and not self._ended:
            time.sleep(0.005)
        with file.open("rb", buffering=0) as stream:
            with self._changed:
                self._sources.append(Source(stream))
            while not self._ended:
                with self._changed:
                    self._take()
                time.sleep(0.005)
            with self._changed:
                self._take()
                self._sources.pop()

    def _read(self, descriptor: int) -> None:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        while not self._ended:
            poll.poll()
            with self._changed:
                self._take()
                self._ended = self._sources[0].ended
                self._changed.notify_all()
        with self._changed:
            self._sources.pop(0).stream.close()

    def _take(self) -> None:
        """Take the text that has come; the caller holds the lock."""
        for source in self._sources:
            if taken := source.take():
                self._text += taken
                self._changed.notify_all()

    def text(self) -> str:
        """Return the whole text that the process has written until now."""
        with self._changed:
            self._take()
            return self._text

    def wait_for(
        self, pattern: str, *, count: int = 1, since: int = 0, timeout_s: float = START_TIMEOUT_S
    ) -> str:
        """Wait until `pattern` occurs `count` times after `since`; return the text after `since`."""
        expression = re.compile(pattern, re.MULTILINE)

        def found() -> bool:
            return len(expression.findall(self._text, since)) >= count

        with self._changed:
            self._changed.wait_for(lambda: found() or self._ended, timeout_s)
            if not found():
                raise AssertionError(f"no {pattern!r} x {count} in the log:\n{self._text[since:]}")
            return self._text[since:]

    def join(self, timeout_s: float) -> str:
        """Wait for the end of the stream; return the whole text."""
        self._thread.join(timeout_s)
        return self.text()


class Source:
    """A stream of text that is read without blocking, in whole characters."""

    def __init__(self, stream: FileIO) -> None:
        """Read `stream`, which does not block."""
        self.stream = stream
        self.ended = False
        self._decoder = getincrementaldecoder("utf-8")("backslashreplace")

    def take(self) -> str:
        """Return the text that has come since the last call; sets `ended` when a pipe's writers are gone."""
        taken = ""
        while data := self.stream.read(65536):
            taken += self._decoder.decode(data)
        self.ended = data is not None
        return taken


class Server:
    """A running `python -m adyton serve`, or another program that serves with the same banner."""

    def __init__(
        self,
        command: Sequence[str | Path],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        listeners: int = 1,
        pass_fds: Iterable[int] = (),
        log: Path | None = None,
    ) -> None:
        """Start `command` and wait until it says that it listens, on stderr or in the file `log`."""
        self.may_crash = False
        read_end, write_end = os.pipe()
        self.process = subprocess.Popen(
            [str(part) for part in command],
            env=environment(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=write_end,
            stderr=write_end,
            pass_fds=tuple(pass_fds),
        )
        os.close(write_end)
        self._log = Log(read_end, log)
        try:
            text = self._log.wait_for(LISTENING.pattern, count=listeners)
        except AssertionError:
            self.process.kill()
            self.process.wait()
            raise
        self.addresses = [parse_address(found) for found in LISTENING.findall(text)]

    @property
    def address(self) -> Address:
        """Address of the first listener."""
        return self.addresses[0]

    @property
    def port(self) -> int:
        """The port of the first listener."""
        assert not isinstance(self.address, str)
        return self.address[1]

    def log(self) -> str:
        """Return what the server has logged until now."""
        return self._log.text()

    def mark(self) -> int:
        """Return the present length of the log, for `wait_for_log`."""
        return len(self.log())

    def wait_for_log(
        self, pattern: str, *, count: int = 1, since: int = 0, timeout_s: float = LOG_TIMEOUT_S
    ) -> str:
        """Wait until the log after `since` has `pattern` `count` times; return the log after `since`."""
        return self._log.wait_for(pattern, count=count, since=since, timeout_s=timeout_s)

    def resting_fds(self) -> int:
        """Return the number of open descriptors once the number has not changed for a moment."""
        count, since = self.fds(), time.monotonic()
        while time.monotonic() - since < RESTING_S:
            time.sleep(0.005)
            if (now := self.fds()) != count:
                count, since = now, time.monotonic()
        return count

    def settles_at_fds(self, count: int) -> bool:
        """Tell whether the number of open descriptors falls to `count` or less within a short time."""
        return until(lambda: self.fds() <= count)

    def rss(self) -> int:
        """Return the resident memory in bytes."""
        statm = Path(f"/proc/{self.process.pid}/statm").read_text(encoding="ascii")
        return int(statm.split()[1]) * os.sysconf("SC_PAGESIZE")

    def fds(self) -> int:
        """Return the number of open descriptors."""
        return sum(1 for _ in Path(f"/proc/{self.process.pid}/fd").iterdir())

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        self.process.send_signal(number)

    def wait(self, timeout_s: float = STOP_TIMEOUT_S) -> int:
        """Wait for the end; return the exit status."""
        status = self.process.wait(timeout_s)
        self._log.join(timeout_s)
        return status

    def stop(self) -> None:
        """End the server with SIGTERM; check that it ended well and logged no fault of ours."""
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
        status = self.wait()

        assert 0 == status, f"status {status}; the log:\n{self.log()}"

        self.check_log()

    def check_log(self) -> None:
        """Check that neither a panic nor a traceback of ours is in the log."""
        assert self.may_crash or not PANIC.search(self.log()), self.log()
        assert not OUR_TRACEBACK.search(self.log()), self.log()

    def kill(self) -> None:
        """End the server with SIGKILL."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def connect(self, *, lint_answers: bool = True, receive_buffer_bytes: int = 0) -> client.Connection:
        """Open a connection to the first listener."""
        return client.Connection(
            self.address, lint_answers=lint_answers, receive_buffer_bytes=receive_buffer_bytes
        )

    def fetch(
        self,
        target: str = "/",
        *,
        method: str = "GET",
        fields: Iterable[tuple[str, str]] = (),
        body: bytes | None = None,
        lint_answers: bool = True,
    ) -> Response:
        """Send one request over a new connection; return the response, which must be complete."""
        return client.fetch(
            self.address,
            target,
            method=method,
            fields=fields,
            body=body,
            lint_answers=lint_answers,
        )


class Servers:
    """Starts servers and, at the end, stops the servers that still run."""

    def __init__(self, default_cwd: Path) -> None:
        """Start without servers."""
        self._default_cwd = default_cwd
        self._running: list[Server] = []

    def __call__(
        self,
        target: str | Path,
        *flags: str,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        bind: str | None = "127.0.0.1:0",
        listeners: int = 1,
        pass_fds: Iterable[int] = (),
        log: Path | None = None,
    ) -> Server:
        """Start `adyton serve target flags...`; `bind=None` leaves `--bind` to the flags."""
        bound = [] if bind is None else ["--bind", bind]
        command = [*adyton("serve"), str(target), *bound, *flags]
        return self.start(command, env=env, cwd=cwd, listeners=listeners, pass_fds=pass_fds, log=log)

    def start(
        self,
        command: Sequence[str | Path],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        listeners: int = 1,
        pass_fds: Iterable[int] = (),
        log: Path | None = None,
    ) -> Server:
        """Start a program that becomes a server."""
        server = Server(
            command,
            env=env,
            cwd=cwd or self._default_cwd,
            listeners=listeners,
            pass_fds=pass_fds,
            log=log,
        )
        self._running.append(server)
        return server

    def close(self) -> None:
        """Stop all servers, except servers that a test has ended and waited for."""
        running, self._running = self._running, []
        try:
            for server in running:
                if server.process.returncode is None:
                    server.stop()
                else:
                    server.check_log()
        finally:
            for server in running:
                server.kill()


def adyton(*arguments: str) -> list[str]:
    """Return the command line of `adyton arguments...`."""
    return [sys.executable, "-m", "adyton", *arguments]


def run(
    *arguments: str,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    timeout_s: float = START_TIMEOUT_S,
) -> subprocess.CompletedProcess[str]:
    """Run `adyton arguments...` to its end and return its output."""
    return subprocess.run(
        adyton(*arguments),
        env=environment(env),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the tests' environment without variables that would change the server, plus `extra`.

    The default threads and processes are given as variables, because flags and keywords override these.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS_PREFIXES)}
    threads = {"ADYTON_THREADS": THREADS} if THREADS else {}
    return kept | threads | {"ADYTON_PROCESSES": PROCESSES} | dict(extra or {})


def until(condition: Callable[[], bool], timeout_s: float = LOG_TIMEOUT_S) -> bool:
    """Check repeatedly until `condition` holds; tell whether it held in time."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)
    return True


def open_files(pid: int) -> set[Path]:
    """Return the files that a process has open, by their current names."""
    found = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        # The process may close a descriptor meanwhile.
        with contextlib.suppress(OSError):
            found.add(link.readlink())
    return found


def family(pid: int) -> list[int]:
    """Return a process and all its running descendants."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        # A process may end meanwhile.
        with contextlib.suppress(OSError):
            state, parent = stat.read_text(encoding="utf-8").rpartition(")")[2].split()[:2]
            if state != "Z":
                children.setdefault(int(parent), []).append(int(stat.parent.name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found


@contextlib.contextmanager
def claimed_port(ports: range = range(20_000, 30_000)) -> Iterator[int]:
    """Give a free port that no other test uses meanwhile, and that the kernel assigns to no client."""
    for port in random.sample(ports, len(ports)):
        with socket.socket(socket.AF_UNIX) as claim:
            if is_claimed(claim, port):
                yield port
                return
    raise AssertionError(f"none of {ports} is free")


def is_claimed(claim: socket.socket, port: int) -> bool:
    """Claim a port by binding an abstract unix socket of its name; tell whether the port is free."""
    with contextlib.suppress(OSError):
        claim.bind(f"\0adyton-test-port-{port}")
        with socket.create_server(("127.0.0.1", port)):
            return True
    return False


def parse_address(text: str) -> Address:
    """Parse the address that the banner shows after `listening on`."""
    if text.startswith("unix:"):
        return text.removeprefix("unix:")
    host, _, port = text.removeprefix("http://").rstrip("/").rpartition(":")
    return host.strip("[]"), int(port)
