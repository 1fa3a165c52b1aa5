"""The servers that are measured: how each is started, checked and ended."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import client
import cost

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = cost.HERE.parent
SCRIPTS = Path(sys.executable).parent  # not resolved: a link here is the virtual environment
READY_S = 15.0
"""From start to first answer at the most."""
STOP_S = 5.0
"""From SIGTERM to the end; then SIGKILL."""
LARGE_BYTES = 350_000
PORTS = iter(range(18100, 32000))
"""Never twice in a run: an old connection that the kernel still remembers must not meet a new server."""


@dataclass(frozen=True)
class Spec:
    """A server: its name in the tables, its command line, and what it must answer.

    In `command`, {port} stands for the port, {work} for the run's own folder; it starts in the root of the
    checkout. Programs of Python packages come from the environment that runs this.
    """

    name: str
    command: str
    expected: client.Expected
    nginx: tuple[tuple[str, str], ...] = ()
    """What replaces the words in peers/nginx.conf; empty for other servers."""
    closes: bool = False
    """It ends every connection after one answer, asked for or not."""

    @property
    def shown(self) -> str:
        """The command line as a record shows it: nothing of this machine in it."""
        words = " ".join(f"{word}={value}" for word, value in self.nginx)
        return self.command.format(port="PORT", work="WORK") + (f" ({words})" if words else "")


HELLO = client.Expected("/", b"Hello World!")
WSGI = client.Expected("/", HELLO.body, (("content-type", "text/plain"), ("cache-control", "no-cache")))
HANDLER = client.Expected("/", HELLO.body, (("content-type", "text/html; charset=utf-8"),))
SMALL = client.Expected("/small.txt", b"Hello World!\n")
# Nothing repeats in it soon, so that a wrong range or order shows.
LARGE = client.Expected("/large.bin", bytes(i * i % 251 for i in range(LARGE_BYTES)))

CACHED = ("FILE_CACHE", "max=1000 inactive=300s")
UNCACHED = ("FILE_CACHE", "off")
SENDFILE = ("SENDFILE", "on")
NO_SENDFILE = ("SENDFILE", "off")
NGINX = "nginx -p {work}/nginx-{port}/ -c nginx.conf"
GRANIAN = (
    "granian --interface wsgi --http 1 --no-ws --workers 1 --blocking-threads 1 --runtime-mode mt "
    "--backlog 4096 --log-level warning --working-dir benchmarks/apps --port {port} hello_wsgi:application"
)

FLOOR = Spec("floor", "{work}/floor {port}", HELLO)
FLOOR_CLOSE = Spec("floor", "{work}/floor {port} close", HELLO, closes=True)
ADYTON_WSGI = Spec(
    "adyton, WSGI",
    "adyton serve benchmarks/apps/hello_wsgi.py --processes 0 --bind 127.0.0.1:{port}",
    expected=WSGI,
)
ADYTON_LOGGING = Spec(
    "adyton, WSGI, access log", f"{ADYTON_WSGI.command} --access-log {{work}}/access.log", expected=WSGI
)
ADYTON_HANDLER = Spec(
    "adyton, handler",
    "adyton serve benchmarks/apps/hello_handler.py --processes 0 --bind 127.0.0.1:{port}",
    expected=HANDLER,
)
ADYTON_STATIC = Spec(
    "adyton, static", "adyton serve {work}/files --processes 0 --bind 127.0.0.1:{port}", expected=SMALL
)
ADYTON_LARGE = Spec("adyton, static", ADYTON_STATIC.command, expected=LARGE)
NGINX_SMALL = Spec("nginx, static", NGINX, SMALL, (CACHED, NO_SENDFILE))
NGINX_SMALL_SENDFILE = Spec("nginx, static, sendfile", NGINX, SMALL, (CACHED, SENDFILE))
NGINX_LARGE = Spec("nginx, sendfile, open_file_cache", NGINX, LARGE, (CACHED, SENDFILE))
NGINX_LARGE_UNCACHED = Spec("nginx, sendfile", NGINX, LARGE, (UNCACHED, SENDFILE))
BJOERN = Spec("bjoern, WSGI", "python benchmarks/peers/run_bjoern.py {port}", expected=WSGI)
FASTPYSGI = Spec("FastPySGI, WSGI", "python benchmarks/peers/run_fastpysgi.py {port}", expected=WSGI)
FASTPYSGI_NODELAY = Spec("FastPySGI, WSGI", f"{FASTPYSGI.command} nodelay", expected=WSGI)
GRANIAN_WSGI = Spec("granian, WSGI", GRANIAN, expected=WSGI)
# A connection counts as one of its requests under way, idle or not; the default would stop at 4,096.
GRANIAN_IDLE = Spec("granian, WSGI", f"{GRANIAN} --backpressure 9000", expected=WSGI)
GRANIAN_PIPELINE = Spec("granian, WSGI", f"{GRANIAN} --http1-pipeline-flush", expected=WSGI)


@dataclass
class Server:
    """A server that runs."""

    spec: Spec
    port: int
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        """The address of what it is asked for."""
        return f"http://127.0.0.1:{self.port}{self.spec.expected.path}"

    def wait_ready(self, work: Path) -> None:
        """Waits for the first right answer; raises `client.WrongAnswerError` if none comes."""
        deadline = time.monotonic() + READY_S
        while True:
            try:
                client.check(self.port, self.spec.expected, close=self.spec.closes)
            except (OSError, client.WrongAnswerError) as error:
                if self.process.poll() is not None:
                    log = log_of(work, self.port).read_text("utf-8", "replace").strip().splitlines()
                    raise client.WrongAnswerError(f"ended at once: {' / '.join(log[-3:])}") from error
                if time.monotonic() > deadline:
                    raise client.WrongAnswerError(f"no right answer in {READY_S:.0f} s: {error}") from error
                time.sleep(0.02)
            else:
                return

    def stop(self) -> None:
        """Ends it, and what it has started."""
        stop(self.process)


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ends the process, and by their ids those that it started and left behind."""
    family = cost.tree({process.pid}) - {process.pid}
    process.terminate()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    deadline = time.monotonic() + STOP_S
    while (left := {pid for pid in family if is_alive(pid)}) and time.monotonic() < deadline:
        time.sleep(0.02)
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def running(spec: Spec, work: Path) -> Iterator[Server]:
    """Starts a server, waits for its first right answer, and ends it on the way out."""
    server = start(spec, work)
    try:
        server.wait_ready(work)
        yield server
    finally:
        server.stop()


def start(spec: Spec, work: Path) -> Server:
    """Starts a server on its CPU at a port of its own; it may not listen yet."""
    port = free_port()
    if spec.nginx:
        prepare_nginx(spec, port, work)
    program, *arguments = spec.command.format(port=port, work=work).split()
    found = (
        sys.executable
        if program == "python"
        else shutil.which(program, path=f"{SCRIPTS}:{os.environ['PATH']}")
    )
    if not found:
        raise client.WrongAnswerError(f"{program} is not installed")
    # A process starts on the CPUs of the thread that starts it, which is cheaper than a program that
    # moves it there: the time to the first answer is measured too.
    os.sched_setaffinity(0, {cost.SERVER_CPU})
    try:
        with log_of(work, port).open("wb") as log:
            process = subprocess.Popen(
                [found, *arguments],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
    finally:
        os.sched_setaffinity(0, {cost.LOAD_CPU})
    return Server(spec, port, process)


def prepare_nginx(spec: Spec, port: int, work: Path) -> None:
    """Makes the folder that nginx runs in: its configuration, and the files beside it."""
    folder = work / f"nginx-{port}"
    (folder / "temp").mkdir(parents=True)
    (folder / "files").symlink_to(work / "files")
    text = (cost.HERE / "peers" / "nginx.conf").read_text("utf-8")
    for word, value in (("PORT", str(port)), *spec.nginx):
        text = re.sub(rf"^([^#\n]*)\b{word}\b", rf"\g<1>{value}", text, flags=re.MULTILINE)
    (folder / "nginx.conf").write_text(text, "utf-8")


def prepare(work: Path) -> None:
    """Fills the run's folder: the floor, and the files to serve."""
    work.chmod(0o755)  # nginx's worker gives up root's rights.
    cost.build_floor(work)
    (work / "files").mkdir()
    for expected in (SMALL, LARGE):
        (work / "files" / expected.path.lstrip("/")).write_bytes(expected.body)


def log_of(work: Path, port: int) -> Path:
    """Returns the file for what the server at `port` prints."""
    return work / f"server-{port}.log"


def is_alive(pid: int) -> bool:
    """Tells whether a process is there; it may be waiting for its parent to look after it (a zombie)."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    return False


def free_port() -> int:
    """Returns a port that nobody uses, below those that the kernel gives to clients.

    The peers cannot tell which port the kernel gave them, so they are told one.
    """
    for port in PORTS:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise client.WrongAnswerError("no port is free")
