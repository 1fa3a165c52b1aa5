"""The server under a service manager, in a container, and with workers of another user."""

from __future__ import annotations

import contextlib
import errno
import grp
import json
import os
import pwd
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from processes.conftest import APPLICATION, Crowd
from support import client
from support.server import adyton, claimed_port, environment, run, until
from support.users import closed_folders, where

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.server import Servers

NOBODY = 65534

ALONE = ["serve", str(APPLICATION), "--bind", "127.0.0.1:0", "--processes", "1"]


class Manager:
    """The manager at the other end of `$NOTIFY_SOCKET`."""

    def __init__(self, name: str) -> None:
        """Listen at a path, or at an abstract name that begins with `@`."""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind("\0" + name[1:] if name.startswith("@") else name)
        self._socket.settimeout(client.TIMEOUT_S)

    def hear(self, word: str) -> dict[str, str]:
        """Return the next message that has this word in it, and skip the messages before that."""
        while True:
            text = self._socket.recv(4096).decode()
            message = dict(line.split("=", 1) for line in text.splitlines())
            if word in message:
                return message

    def close(self) -> None:
        """Listen no more."""
        self._socket.close()


@pytest.fixture(params=["path", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Manager]]:
    """Listen as systemd does, in both of its ways."""
    name = str(tmp_path / "notify") if request.param == "path" else f"@adyton-test-{os.getpid()}"
    manager = Manager(name)
    yield name, manager
    manager.close()


def test_told(crowd: Callable[..., Crowd], manager: tuple[str, Manager]) -> None:
    """The manager hears ready, reloading, ready again and stopping, and in between that all is well."""
    name, systemd = manager
    servers = crowd("--processes", "1", env={"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "400000"})
    ready = systemd.hear("READY")

    assert str(servers.server.process.pid) == ready["MAINPID"]
    assert "application.py" in ready["STATUS"]

    def is_in_time() -> bool:
        beats = [systemd.hear("WATCHDOG") and time.monotonic() for _ in range(4)]
        return beats[-1] - beats[0] < 3 * 0.4

    # On a machine that does much else, the supervisor may not get the CPU when it should report.
    assert any(is_in_time() for _ in range(5))

    servers.server.signal(signal.SIGHUP)

    assert int(systemd.hear("RELOADING")["MONOTONIC_USEC"]) > 0
    assert "generation 2" in systemd.hear("READY")["STATUS"]

    servers.server.signal(signal.SIGTERM)

    assert "1" == systemd.hear("STOPPING")["STOPPING"]
    assert 0 == servers.server.wait()


@pytest.mark.parametrize("more", [[], ["--bind", "127.0.0.1:0"]], ids=["alone", "beside an address"])
@pytest.mark.parametrize("processes", ["0", "2"])
def test_sockets_from_outside(serve: Servers, processes: str, more: list[str]) -> None:
    """The server listens at the sockets of `LISTEN_FDS`, and serves connections that came before it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        early = socket.create_connection(("127.0.0.1", port))
        program = (
            "import os, sys\n"
            "os.dup2(int(sys.argv[1]), 3)\n"
            "os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1')\n"
            "os.execv(sys.executable, [sys.executable, '-m', 'adyton', *sys.argv[2:]])\n"
        )
        command = [sys.executable, "-c", program, str(listener.fileno()), "serve", str(APPLICATION)]
        server = serve.start([*command, "--processes", processes, *more], pass_fds=[listener.fileno()])
    with early:
        early.sendall(b"GET /wait HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")

        assert early.makefile("rb").read().endswith(b"waited")
    assert port == server.port
    assert b"waited" == client.fetch(("127.0.0.1", port), "/wait").body


@pytest.mark.parametrize("processes", ["0", "2"])
def test_socket_activation(serve: Servers, port: int, processes: str) -> None:
    """The server listens at a socket that systemd has opened, and serves the connection that started it."""
    activate = ["/usr/bin/systemd-socket-activate", f"--listen=127.0.0.1:{port}"]
    # The tool passes only the variables of its own environment that are named.
    kept = [f"--setenv={name}" for name in ("PATH", "HOME", "ADYTON_PROCESSES") if name in os.environ]
    answers: list[bytes] = []

    def ask() -> None:
        def connected() -> bool:
            with contextlib.suppress(OSError):
                answers.append(client.fetch(("127.0.0.1", port), "/wait").body)
            return bool(answers)

        assert until(connected)

    asking = threading.Thread(target=ask)
    asking.start()
    command = [*activate, *kept, *adyton("serve"), str(APPLICATION), "--processes", processes]
    server = serve.start([*command, "--control", "off"])
    asking.join()

    assert (port, [b"waited"]) == (server.port, answers)


def test_unit() -> None:
    """The example unit is right, as far as systemd can tell without the program that the unit names."""
    unit = Path(__file__).parents[2] / "deploy" / "adyton.service"
    command = ["/usr/bin/systemd-analyze", "verify", "--recursive-errors=no", str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    complaints = [line for line in done.stderr.splitlines() if "adyton" in line]

    assert complaints
    assert all("/srv/mysite/venv/bin/adyton is not executable" in line for line in complaints), complaints


def test_image(tmp_path: Path) -> None:
    """The example image is right, as far as can be told without building it: stages, files, flags, ports."""
    text = (Path(__file__).parents[2] / "deploy" / "Dockerfile").read_text(encoding="utf-8")
    comment = " ".join(line for line in text.splitlines() if line.startswith("#"))
    stages = set(re.findall(r"^FROM \S+ AS (\w+)$", text, re.MULTILINE))
    for line in re.findall(r"^COPY (.*)$", text, re.MULTILINE):
        first, *_ = line.split()
        if first.startswith("--from="):
            assert first.removeprefix("--from=") in stages
        else:
            assert first == "." or f"`{first}`" in comment, first
    found = [re.findall(rf"^{word} (.*)$", text, re.MULTILINE) for word in ("ENTRYPOINT", "CMD")]
    entry, command = (json.loads(words[0]) for words in found)
    folder = tmp_path / "mysite"
    folder.mkdir()
    (folder / "wsgi.py").write_text("def application(environ, start_response): ...\n", encoding="utf-8")
    checked = run("check", *command, cwd=tmp_path, env={"ADYTON_PROCESSES": ""})

    assert ["adyton", "serve"] == entry
    assert 0 == checked.returncode, checked.stderr
    assert "mysite.wsgi:application (WSGI): fine" in checked.stdout
    ports = [word.rpartition(":")[2] for word in command if word.startswith("0.0.0.0:")]
    assert f"\nEXPOSE {' '.join(ports)}\n" in text


def test_logs_of_another_user(tmp_path: Path) -> None:
    """Logs are made for the user that workers become, who may open them again; nobody else may read them."""
    if os.geteuid() != 0:
        assert "only root can" in run(*ALONE, "--user", "nobody").stderr
        return
    log, access = tmp_path / "error.log", tmp_path / "access.log"
    # No other user may enter the folder of this test, so the worker fails before it serves.
    done = run(*ALONE, "--user", "nobody", "--error-log", str(log), "--access-log", str(access))

    assert 0 != done.returncode
    for file in (log, access):
        assert (NOBODY, 0o640) == (file.stat().st_uid, file.stat().st_mode & 0o777)

    precious, link = tmp_path / "precious", tmp_path / "link"
    precious.write_text("precious", encoding="ascii")
    link.symlink_to(precious)
    os.link(precious, tmp_path / "hard")
    for planted in (link, tmp_path / "hard"):
        run(*ALONE, "--user", "nobody", "--access-log", str(planted))

        assert (0, "precious") == (precious.stat().st_uid, precious.read_text(encoding="ascii"))


@pytest.fixture
def privileged_port() -> Iterator[int]:
    """Give a port; if the tests run as root, a port that only root may listen at."""
    if os.geteuid() != 0:
        yield 0
        return
    with claimed_port(range(600, 1024)) as port:
        yield port


@pytest.mark.parametrize("group", [None, "daemon"])
def test_other_user(serve: Servers, tmp_path: Path, privileged_port: int, group: str | None) -> None:
    """Workers become another user for good, with its groups and none of root's; the supervisor stays root."""
    if os.geteuid() != 0:
        assert "only root can" in run(*ALONE, "--user", "nobody").stderr
        return
    control, port = tmp_path / "control.sock", privileged_port
    flags = ["--bind", f"127.0.0.1:{port}", "--processes", "1", "--control", str(control)]
    flags += ["--user", "nobody", "--umask", "027", *(["--group", group] if group else [])]
    command = ["setpriv", "--groups", "0,2,3", *adyton("serve", str(APPLICATION), *flags)]
    servers = Crowd(serve.start(where("755", closed_folders(APPLICATION), command), cwd=Path("/")), control)
    status = Path(f"/proc/{servers.pids()[0]}/status").read_text(encoding="ascii")
    gid = grp.getgrnam(group).gr_gid if group else pwd.getpwnam("nobody").pw_gid
    groups = re.search(r"^Groups:\t(.*)$", status, re.MULTILINE)

    assert port == servers.server.port
    assert 200 == servers.server.fetch("/who").status
    assert re.search(rf"^Uid:(\t{NOBODY}){{4}}$", status, re.MULTILINE), status
    assert re.search(rf"^Gid:(\t{gid}){{4}}$", status, re.MULTILINE), status
    assert groups
    assert set(os.getgrouplist("nobody", gid)) == {int(one) for one in groups[1].split()}
    assert "NoNewPrivs:\t1\n" in status
    assert re.search(r"^CapEff:\t0+$", status, re.MULTILINE)
    assert "Umask:\t0027\n" in status
    assert "Uid:\t0\t0" in Path(f"/proc/{servers.server.process.pid}/status").read_text(encoding="ascii")
    servers.order("reload")
    assert servers.settles(1)


def may_connect(path: Path, group: int) -> bool:
    """Tell whether a process of user `nobody`, with this group alone, can connect to a unix socket."""
    child = os.fork()
    if child == 0:
        refused = True
        try:
            os.setgroups([])
            os.setgid(group)
            os.setuid(NOBODY)
            with socket.socket(socket.AF_UNIX) as connection:
                refused = connection.connect_ex(str(path)) == errno.EACCES
        finally:
            # Whatever happens, this process ends: otherwise the tests would go on in it, too.
            os._exit(refused)
    return os.waitpid(child, 0)[1] == 0


def test_socket_of_a_group(serve: Servers, open_folder: Path) -> None:
    """A unix socket with rights for its group is open to a proxy in the workers' group, and to no others."""
    if os.geteuid() != 0:
        return  # only root can be somebody else
    path, group = open_folder / "socket", grp.getgrnam("daemon").gr_gid
    flags = ["--processes", "1", "--control", "off", "--user", "nobody", "--group", "daemon"]
    flags += ["--bind", f"unix:{path}", "--socket-mode", "660"]
    command = adyton("serve", str(APPLICATION), *flags)
    server = serve.start(where("755", closed_folders(APPLICATION), command), cwd=Path("/"))

    assert 200 == server.fetch("/who").status
    assert may_connect(path, group)
    assert not may_connect(path, grp.getgrnam("mail").gr_gid)


WHOSE = """
import os

def handler(request):
    return " ".join(os.environ.get(name, "-") for name in ("HOME", "USER", "LOGNAME"))
"""

AS_NOBODY = ["--reuid", str(NOBODY), "--regid", str(pwd.getpwnam("nobody").pw_gid)]

RAN_AS = [
    ([], ["nobody"], "{home} nobody nobody"),
    ([], ["nobody", "--env", "HOME=/elsewhere"], "/elsewhere nobody nobody"),
    ([], ["4000000000", "--group", "4000000000"], "/ - -"),
    # A process that runs as that user already keeps its variables.
    ([*AS_NOBODY, "--init-groups"], ["nobody"], "/root root -"),
    ([*AS_NOBODY, "--clear-groups"], ["nobody"], "/root root -"),
]


@pytest.mark.parametrize(("before", "user", "said"), RAN_AS, ids=repr)
def test_variables_of_the_other_user(
    serve: Servers, open_folder: Path, before: list[str], user: list[str], said: str
) -> None:
    """Workers that become another user have its home and name; workers of that user keep what they had."""
    if os.geteuid() != 0:
        return  # only root can be somebody else
    (open_folder / "whose.py").write_text(WHOSE, encoding="utf-8")
    flags = ["--bind", "127.0.0.1:0", "--processes", "1", "--control", "off", "--user", *user]
    command = ["setpriv", "--nnp", *before, *adyton("serve", str(open_folder / "whose.py"), *flags)]
    command = ["env", "-u", "LOGNAME", "HOME=/root", "USER=root", *command]
    server = serve.start(where("755", closed_folders(APPLICATION), command), cwd=Path("/"))

    assert said.format(home=pwd.getpwnam("nobody").pw_dir) == server.fetch().body.decode()


def test_root_that_may_not() -> None:
    """If root has lost the right to become another user, the message does not say that only root may."""
    if os.geteuid() != 0:
        return  # only root can lose this right
    command = ["setpriv", "--bounding-set=-setgid", *adyton(*ALONE, "--user", "nobody", "--control", "off")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment())

    assert 1 == done.returncode
    assert "a worker cannot become nobody: Operation not permitted" in done.stderr
    assert "only root" not in done.stderr


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Give a folder that everybody may enter, unlike pytest's own folders."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@pytest.mark.parametrize("static", [True, False])
def test_folder_that_is_not_for_others(open_folder: Path, static: bool) -> None:  # noqa: FBT001
    """If the other user may not read a folder, the message names it, and the server does not start."""
    if os.geteuid() != 0:
        return  # only root can be somebody else
    folder = open_folder / "static"
    folder.mkdir(mode=0o700)
    target = [str(APPLICATION), "--static", f"/static={folder}"] if static else [str(folder)]
    done = as_nobody("serve", *target, "--bind", "127.0.0.1:0", "--processes", "1")

    assert 2 == done.returncode
    assert f"the folder {folder} cannot be served: " in done.stderr
    assert "denied" in done.stderr
    assert "listening" not in done.stderr


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["app:application"], "nobody may not enter {folder}, where the module is looked for"),
        (["app:application", "--chdir", "{folder}"], "chdir: nobody may not enter {folder}"),
        (["app:application", "--python-path", "{folder}"], "python-path: nobody may not enter {folder}"),
    ],
)
def test_application_that_is_not_for_others(open_folder: Path, flags: list[str], sentence: str) -> None:
    """If the other user may not enter the application's folder, the message names the user and the folder."""
    if os.geteuid() != 0:
        return  # only root can be somebody else
    folder = open_folder / "closed"
    folder.mkdir(mode=0o700)
    (folder / "app.py").write_text("def application(environ, start_response): ...\n", encoding="utf-8")
    given = [flag.format(folder=folder) for flag in flags]
    done = as_nobody("serve", *given, "--bind", "127.0.0.1:0", "--processes", "1", cwd=folder)

    assert done.returncode in (2, 3)
    assert sentence.format(folder=folder) in done.stderr


@pytest.mark.parametrize(
    ("target", "flags", "sentence"),
    [
        ("closed/app.py", [], "closed/app.py cannot be looked at: Permission denied"),
        ("app.py", ["--static", "/s=closed/static"], "static: closed/static cannot be looked at: Permission"),
    ],
)
def test_what_may_not_be_looked_at(open_folder: Path, target: str, flags: list[str], sentence: str) -> None:
    """A file or folder inside a folder that may not be entered is not reported as missing."""
    (open_folder / "app.py").write_text("def application(environ, start_response): ...\n", encoding="utf-8")
    (open_folder / "closed").mkdir(mode=0)
    command = adyton("check", target, *flags)
    if os.geteuid() == 0:
        # Root may enter everything.
        drop = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
        command = where("755", closed_folders(APPLICATION), [*drop, *command])
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment(), cwd=open_folder
    )

    assert 2 == done.returncode
    assert sentence in done.stderr


def as_nobody(*arguments: str, cwd: Path = Path("/")) -> subprocess.CompletedProcess[str]:
    """Run `adyton arguments...` with workers of another user, who may enter the folders above the server."""
    command = where(
        "755", closed_folders(APPLICATION), adyton(*arguments, "--user", "nobody", "--control", "off")
    )
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, env=environment(), cwd=cwd
    )


def test_python_that_is_not_for_others() -> None:
    """If the other user may not read this Python, the message names it before anything is started."""
    if os.geteuid() != 0:
        return  # only root can make a namespace
    library = Path(os.__file__).resolve().parent
    command = where("700", [library.parent], adyton(*ALONE, "--user", "nobody"))
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment())

    assert 0 != done.returncode
    assert f"nobody may not read this Python, which is in {library}" in done.stderr


WRONG = [
    (["--user", "nobody-at-all"], 2, "--user: there is no user nobody-at-all"),
    (["--user", "nobody", "--group", "no-such-group"], 2, "--user: there is no group no-such-group"),
    (["--group", "daemon"], 2, "--group: it goes with --user"),
    (["--user", "nobody", "--processes", "0"], 2, "--user: only workers become another user"),
    (["--admin", "127.0.0.1:0", "--processes", "0"], 2, "--admin: it is for workers and their supervisor"),
    (["--preload", "--processes", "0"], 2, "with --processes 0 there are none"),
    (["--umask", "9"], 2, "write three octal digits"),
    (
        ["--control", "/nowhere/at/all.sock"],
        1,
        "for orders at /nowhere/at/all.sock: No such file or directory (os error 2) (setting --control)",
    ),
    (["--bind", "127.0.0.1:9", "--bind", "127.0.0.1:9"], 2, "bind: 127.0.0.1:9 is given twice"),
    (["--bind", "unix:s", "--admin", "unix:s"], 2, "admin: requests are served at unix:s already (bind)"),
    (["--admin", "192.0.2.1:80"], 1, "cannot listen at 192.0.2.1:80"),
    (["--min-processes", "2"], 2, "min-processes, processes and max-processes are 2, 1 and 1"),
    (["--processes", "many"], 2, "write auto, or a number from 0 to 1024"),
]


@pytest.mark.parametrize(("flags", "status", "sentence"), WRONG, ids=[" ".join(row[0]) for row in WRONG])
def test_wrong(flags: list[str], status: int, sentence: str) -> None:
    """Impossible settings are refused in one sentence, before anything is started."""
    done = run(*ALONE, *flags)

    assert status == done.returncode
    assert sentence in done.stderr
    assert 1 == len(done.stderr.splitlines()), done.stderr


@pytest.mark.parametrize("name", ["MAX_REQUESTS", "TOUCH_RELOAD", "NICE", "MEMORY_LIMIT"])
def test_without_workers(name: str) -> None:
    """With 0 processes, a setting that only workers have is refused."""
    flags = ["serve", str(APPLICATION), "--processes", "0", "--bind", "127.0.0.1:0", "--control", "off"]
    done = run(*flags, env={f"ADYTON_{name}": "7m" if name == "MEMORY_LIMIT" else "7"})

    assert 2 == done.returncode
    assert f"ADYTON_{name}: it is for workers and their supervisor, and with --processes 0" in done.stderr


def test_first_process(serve: Servers, tmp_path: Path) -> None:
    """As process 1 of a container, the server reaps orphaned processes, and stops when it is told to."""
    if os.geteuid() != 0:
        return  # only root can make a namespace
    program = tmp_path / "orphans.py"
    program.write_text(
        "import subprocess\n"
        "def handler(request):\n"
        "    if request.path == '/orphan':\n"
        "        subprocess.run(['sh', '-c', 'sleep 0.1 &'], check=True)\n"
        "    return subprocess.run(['ps', '-A', '-o', 'comm='], check=True, capture_output=True).stdout\n",
        encoding="utf-8",
    )
    flags = ["serve", str(program), "--bind", "127.0.0.1:0", "--processes", "1", "--control", "off"]
    command = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-m", "adyton", *flags]
    server = serve.start(command)
    for _ in range(5):
        server.fetch("/orphan")

    # A process that has ended and was not waited for is listed, too.
    assert until(lambda: b"sleep" not in server.fetch("/").body)
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
    os.kill(int(children.read_text(encoding="ascii")), signal.SIGTERM)

    assert 0 == server.wait()
