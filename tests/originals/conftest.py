"""Starts the servers whose configurations are imported, and sends them and our server the same requests."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
from base64 import b64encode
from hashlib import md5
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

import pytest

from support.server import STOP_TIMEOUT_S, run, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from subprocess import Popen

    from support.server import Servers

USER = "www-data"
"""User that Apache runs as if root starts it, because Apache refuses to run as root."""

APPLICATION = '''
"""An application that says which it is, and what it was asked."""


CALLED = "shop"


def application(environ, start_response):
    """Answer with its own name, and how the server has split the path."""
    told = [environ.get(name, "") for name in ("REQUEST_METHOD", "SCRIPT_NAME", "PATH_INFO", "QUERY_STRING")]
    told += [environ.get("REMOTE_USER", "-"), environ["wsgi.input"].read().decode()]
    start_response("200 OK", [("Content-Type", "text/plain"), ("X-From", "application")])
    return ["|".join([CALLED, *told]).encode()]


app = application
'''

PASSWORD = "correct horse"  # noqa: S105 - of a test
APR1 = "$apr1$abcdefgh$sIQmFnT1CuEXAsyjuXjUX/"
"""The password, hashed as `openssl passwd -apr1` does: Apache and nginx know it."""

PROCESSES = re.compile(r"^processes = (\d+)", re.MULTILINE)
OWNERS = re.compile("^(?:user|group) = .*\n", re.MULTILINE)
JAVASCRIPT = re.compile("^application/(x-)?javascript$")


@pytest.fixture
def folder() -> Iterator[Path]:
    """Make a folder that every user may read, with a page, files, applications and passwords in it."""
    with tempfile.TemporaryDirectory(prefix="adyton-originals-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        for place, text in {
            "public/index.html": "<p>Home\n",
            "public/page.html": "<p>A page\n",
            "public/app.js": "let a;\n",
            "public/sub/index.html": "<p>Sub\n",
            "public/list/a.txt": "a\n",
            "public/.htpasswd": "secret\n",
            "public/staff/plan.txt": "plan\n",
            "static/site.css": "p {}\n",
            "static/robots.txt": "User-agent: *\n",
            "shop/wsgi.py": APPLICATION,
            "blog/blog.py": APPLICATION.replace('"shop"', '"blog"'),
            "users": f"ann:{APR1}\nbob:{APR1}\n",
            "digests": f"ann:Digest:{md5(f'ann:Digest:{PASSWORD}'.encode()).hexdigest()}\n",  # noqa: S324
            "groups": "editors: bob\n",
            "logs/.keep": "",
        }.items():
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / place).write_text(text, encoding="utf-8")
        yield folder


class Original:
    """A server that runs until its `with` block ends."""

    def __init__(self, command: list[str], port: int, env: dict[str, str] | None = None) -> None:
        """Start the server."""
        self.address = ("127.0.0.1", port)
        self.output = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed with the server
        self.process: Popen[str] = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self.output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(env or {})},
            text=True,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        """Wait for the server."""
        assert until(lambda: self.listens() or self.process.poll() is not None), self.told()
        assert self.process.poll() is None, self.told()
        return self

    def listens(self) -> bool:
        """Tell whether it takes connections."""
        with socket.socket() as client:
            return client.connect_ex(self.address) == 0

    def told(self) -> str:
        """Return what it has written."""
        self.output.seek(0)
        return self.output.read()

    def __exit__(self, *_: object) -> None:
        """Stop it."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_TIMEOUT_S)
        finally:
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
            self.output.close()


def nginx(folder: Path, file: Path, port: int) -> Original:
    """Start nginx."""
    assert folder.is_dir()
    return Original([program("nginx"), "-e", "stderr", "-c", str(file), "-g", "daemon off;"], port)


def apache(folder: Path, file: Path, port: int) -> Original:
    """Start Apache, with the variables of Debian's own start."""
    variables = {name: str(folder / "logs") for name in ("RUN_DIR", "LOCK_DIR", "LOG_DIR")}
    variables |= {"RUN_USER": USER, "RUN_GROUP": USER, "PID_FILE": str(folder / "logs/pid")}
    env = {f"APACHE_{name}": value for name, value in variables.items()}
    command = [program("apache2"), "-d", str(file.parent), "-f", str(file), "-DFOREGROUND"]
    return Original(command, port, env)


def express(folder: Path, file: Path, port: int) -> Original:
    """Start Apache as `mod_wsgi-express` does, by the program that was written beside `file`."""
    assert folder.is_dir()
    command = ["bash", str(file.parent / "apachectl"), "-DFOREGROUND"]
    if os.geteuid() == 0:
        # Other users may not read a Python of root's own, and Apache refuses to be root.
        who = ["setpriv", "--reuid", USER, "--regid", USER, "--clear-groups"]
        command = [*who, "--inh-caps", "+dac_override", "--ambient-caps", "+dac_override", *command]
    return Original(command, port)


def uwsgi(folder: Path, file: Path, port: int) -> Original:
    """Start uWSGI."""
    assert folder.is_dir()
    return Original([program("uwsgi"), "--plugin", "python3", "--ini", str(file)], port)


def program(name: str) -> str:
    """Find a program, also in the folder of the administrator's programs."""
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    assert found, f"{name} is not installed: python3 tests/gate/setup.py debian"
    return found


class Answer(NamedTuple):
    """Parts of a response that both servers must give alike."""

    status: int
    location: str
    type: str
    challenges: list[str]
    body: bytes


def answer(response: http.client.HTTPResponse, port: int) -> Answer:
    """Take from a response the parts that do not depend on the server."""
    location = response.getheader("Location", "")
    here = re.compile(rf"^http://[^/]*:{port}(?=/|$)|^http://(127\.0\.0\.1|shop\.example)(:\d+)?(?=/)")
    body, is_page = response.read(), response.status == http.HTTPStatus.OK
    media = response.getheader("Content-Type", "").partition(";")[0].lower() if is_page else ""
    challenges = [
        f"{scheme.lower()} {realm}"
        for scheme, realm in re.findall(r'(\w+) realm="([^"]*)"', response.getheader("WWW-Authenticate", ""))
    ]
    return Answer(
        response.status,
        here.sub("", location),
        JAVASCRIPT.sub("text/javascript", media),
        challenges[:1],
        body if is_page else b"",
    )


class Ask(NamedTuple):
    """A request."""

    target: str
    method: str = "GET"
    user: str = ""
    host: str = "shop.example"
    body: bytes | None = None
    forwarded: str = ""
    """The address that a proxy says a client has."""
    is_list: bool = False
    """Whether the response is the list of a folder: each server has its own form."""
    differ: tuple[int, int] | None = None
    """Statuses that differ on purpose: the other server's, and ours."""

    def answer(self, address: tuple[str, int]) -> Answer:
        """Send it."""
        connection = http.client.HTTPConnection(*address, timeout=60)
        connection.putrequest(self.method, self.target, skip_host=True, skip_accept_encoding=True)
        connection.putheader("Host", self.host)
        connection.putheader("Connection", "close")
        if self.user:
            connection.putheader("Authorization", "Basic " + b64encode(self.user.encode()).decode())
        if self.forwarded:
            connection.putheader("X-Forwarded-For", self.forwarded)
        if self.body is not None:
            connection.putheader("Content-Length", str(len(self.body)))
        connection.endheaders(self.body)
        with contextlib.closing(connection), connection.getresponse() as response:
            found = answer(response, address[1])
        return found._replace(body=b"") if self.is_list else found

    def compare(self, theirs: tuple[str, int], ours: tuple[str, int]) -> str:
        """Send it to both; return the differences that are not expected."""
        answers = [self.answer(theirs), self.answer(ours)]
        if self.differ is not None:
            is_right = self.differ == (answers[0].status, answers[1].status)
        else:
            is_right = answers[0] == answers[1]
        return "" if is_right else "\n  ".join(map(str, [self, *answers]))


def imported(serve: Servers, folder: Path, file: Path, app: str = "") -> tuple[str, int]:
    """Import and serve a configuration, with `app` in the place of a gateway; return the server's address."""
    made = run("import", str(file), "--output", "site.toml", cwd=folder)
    assert 0 == made.returncode, made.stderr
    # Our server runs as the user who runs the tests.
    text = OWNERS.sub("", (folder / "site.toml").read_text(encoding="utf-8"))
    (folder / "site.toml").write_text(text, encoding="utf-8")
    if app:
        assert text.count("\nrespond = 503  #") == 1, text
        text = text.replace("\nrespond = 503  #", f'\napp = "{app}"  #')
        (folder / "site.toml").write_text(text, encoding="utf-8")
    # Tests have one process, unless they say otherwise.
    processes = [word for number in PROCESSES.findall(text) for word in ("--processes", number)]
    checked = run("check", "site.toml", *processes, cwd=folder)
    assert 0 == checked.returncode, checked.stderr
    # The tests look for the banner on standard error, not in an error log that the file names.
    return "127.0.0.1", serve("site.toml", "--error-log", "-", *processes, cwd=folder).port
