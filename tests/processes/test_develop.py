"""`--reload` and `--touch-reload`: changed files are served, and a browser shows them."""

from __future__ import annotations

import os
import re
import site
import subprocess
import sys
import sysconfig
import time
import venv
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from processes.conftest import APPLICATION
from real.browser import Browser
from support import client
from support.server import LISTENING, STOP_TIMEOUT_S, Log, adyton, environment, parse_address, run, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from processes.conftest import Crowd

PAGE = """
import {module}

def handler(request):
    return "<!doctype html><title>" + {module}.TITLE + "</title>"
"""


def rewrite(file: Path, text: str) -> None:
    """Replace a file's text at once: no reader finds only a part of the new text."""
    whole = file.with_suffix(".new")
    whole.write_text(text, encoding="utf-8")
    whole.replace(file)


def test_touched(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """A file that appears causes a reload, and so does a file that changes."""
    touch = tmp_path / "touch"
    servers = crowd("--processes", "1", "--touch-reload", str(touch))
    touch.touch()

    assert until(lambda: "2" == servers.who()[3])

    touch.write_text("again", encoding="ascii")

    assert until(lambda: "3" == servers.who()[3])


FAILING_HOOK = """
import adyton

@adyton.hooks.on_worker_start
def start(worker):
    raise ValueError("wrong")

def handler(request):
    return "wrong"
"""

WRONG = {
    "syntax": "def handler(:\n",
    "missing": "import missing_module\n",
    "module": "import wrong_module\n",
    "hook": FAILING_HOOK,
}

RIGHT = "def handler(request):\n    return 'right'\n"

WAITS = "waiting until one of its files changes"


@contextmanager
def developing(target: Path, *flags: str, python: Path = Path(sys.executable)) -> Iterator[Log]:
    """Serve a file that may be wrong, and end the server afterwards."""
    always = ["--reload", "--processes", "1", "--bind", "127.0.0.1:0", "--control", "off"]
    read_end, write_end = os.pipe()
    command = [str(python), *adyton("serve", str(target), *always, *flags)[1:]]
    server = subprocess.Popen(command, stderr=write_end, env=environment())
    os.close(write_end)
    try:
        yield Log(read_end)
    finally:
        server.terminate()
        try:
            server.wait(STOP_TIMEOUT_S)
        finally:
            server.kill()


def assert_serves_right(log: Log) -> None:
    """Check that the right version is served at last."""
    log.wait_for(LISTENING.pattern)
    (shown,) = LISTENING.findall(log.text())

    assert client.fetch(parse_address(shown), "/").body.startswith(b"right")


@pytest.mark.parametrize("flags", [[], ["--preload"]], ids=["import", "preload"])
@pytest.mark.parametrize("wrong", WRONG)
def test_first_version_fails(tmp_path: Path, wrong: str, flags: list[str]) -> None:
    """If the first version fails, its fault is shown, and the next version is waited for and served."""
    target, module = tmp_path / "page.py", tmp_path / "wrong_module.py"
    target.write_text(WRONG[wrong], encoding="utf-8")
    module.write_text("TITLE = (\n", encoding="utf-8")
    with developing(target, *flags) as log:
        log.wait_for(r"^(\w*Error): ")
        log.wait_for(WAITS)
        if wrong == "module":
            rewrite(module, "TITLE = 'right'\n")
            log.wait_for("has no application")
            log.wait_for(WAITS, count=2)
        rewrite(target, RIGHT)
        assert_serves_right(log)


SLOW = """
import pathlib, time

pathlib.Path({begun!r}).touch()
while not pathlib.Path({goes_on!r}).exists():
    time.sleep(0.005)
raise ValueError("slow and wrong")
"""


@pytest.mark.parametrize("flags", [[], ["--preload"]], ids=["import", "preload"])
def test_changed_while_it_fails(tmp_path: Path, flags: list[str]) -> None:
    """If a file changes while a version fails to start, the new version is tried without a further change."""
    target, begun, goes_on = tmp_path / "page.py", tmp_path / "begun", tmp_path / "goes_on"
    target.write_text(WRONG["syntax"], encoding="utf-8")
    with developing(target, *flags) as log:
        log.wait_for(WAITS)
        rewrite(target, SLOW.format(begun=str(begun), goes_on=str(goes_on)))
        assert until(begun.exists)
        rewrite(target, RIGHT)
        log.wait_for(r"page\.py has changed", count=2)
        goes_on.touch()
        assert_serves_right(log)


HESITATES = """
import os, time
from pathlib import Path
Path(__file__ + ".seen").touch()
while os.path.exists(__file__ + ".hold"):
    time.sleep(0.01)

def handler(request):
    return "wrong"
"""


@pytest.mark.parametrize("flags", [[], ["--preload"]], ids=["import", "preload"])
def test_changed_while_it_is_imported(tmp_path: Path, flags: list[str]) -> None:
    """A file that is saved while its first version is imported is served in its new version."""
    target = tmp_path / "page.py"
    hold, seen = Path(f"{target}.hold"), Path(f"{target}.seen")
    hold.touch()
    target.write_text(HESITATES, encoding="utf-8")
    with developing(target, *flags) as log:
        assert until(seen.exists)
        rewrite(target, RIGHT)
        hold.unlink()
        log.wait_for(rf"{re.escape(str(target))} has changed")
        log.wait_for("generation 2 serves")
        assert_serves_right(log)


def test_application_in_its_environment(tmp_path: Path) -> None:
    """An application in the folder of its virtual environment is watched, unlike installed packages."""
    place = tmp_path / "project"
    venv.create(place, symlinks=True)
    packages = sysconfig.get_path("purelib", vars={"base": str(place), "platbase": str(place)})
    (Path(packages) / "tests.pth").write_text("\n".join(site.getsitepackages()), encoding="utf-8")
    target = place / "page.py"
    target.write_text("def handler(request):\n    return 'wrong'\n", encoding="utf-8")
    with developing(target, python=place / "bin" / "python") as log:
        log.wait_for(LISTENING.pattern)
        rewrite(target, RIGHT)
        log.wait_for("generation 2 serves")
        assert_serves_right(log)


def test_browser(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """A change in an imported module shows on the page; a change that fails leaves the page as it was."""
    target, module = tmp_path / "page.py", tmp_path / "texts.py"
    target.write_text(PAGE.format(module="texts"), encoding="utf-8")
    module.write_text("TITLE = 'first'\n", encoding="utf-8")
    servers = crowd("--processes", "1", "--reload", target=target)
    assert until(lambda: 1 == len(servers.pids()))
    browser = Browser(tmp_path / "profile")
    try:
        browser.open(f"http://127.0.0.1:{servers.server.port}/")

        assert "first" == browser.driver.title

        def is_noticed() -> bool:
            rewrite(module, "TITLE = 'wrong'(\n")
            time.sleep(0.1)
            return "texts.py has changed" in servers.server.log()

        # A module is watched from the first look that finds it imported.
        assert until(is_noticed)
        servers.server.wait_for_log("the new version does not start")

        assert b"first" in servers.server.fetch("/").body

        rewrite(module, "TITLE = 'second'\n")

        assert until(lambda: "second" == browser.driver.title)

        other = tmp_path / "more.py"
        other.write_text("TITLE = 'third'\n", encoding="utf-8")
        rewrite(target, PAGE.format(module="more"))

        assert until(lambda: "third" == browser.driver.title)
    finally:
        browser.close()


WSGI = """
def application(environ, start_response):
    kind, status = environ["QUERY_STRING"], environ["PATH_INFO"][1:] or "200 OK"
    start_response(status, [("Content-Type", kind), ("Content-Length", "4")])
    return [b"page"]
"""

HANDLER = """
from adyton import Response

def handler(request):
    kind = request.query_string or None
    return Response({"/text": "page", "/bytes": b"page"}[request.path], 404, content_type=kind)
"""


def test_pages_only(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """The reloading script is added to pages of HTML; all other answers are as the application made them."""
    target = tmp_path / "site.py"
    target.write_text(WSGI, encoding="utf-8")
    servers = crowd("--processes", "1", "--reload", target=target)

    assert b"page" == servers.server.fetch("/?text/plain").body
    page = servers.server.fetch("/?text/html").body
    assert page.startswith(b"page\n<script>")
    assert servers.server.fetch("/500%20Oops?Text/HTML").body.startswith(b"page\n<script>")
    assert b"" == servers.server.fetch("/?text/html", method="HEAD").body
    assert b"1" == servers.server.fetch("/.adyton/generation").body


def test_pages_of_handlers(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """A handler's page of HTML may be text or bytes; bytes without a content type do not count as HTML."""
    target = tmp_path / "site.py"
    target.write_text(HANDLER, encoding="utf-8")
    servers = crowd("--processes", "1", "--reload", target=target)

    assert b"page" == servers.server.fetch("/bytes").body
    assert b"page" == servers.server.fetch("/text?text/plain").body
    assert servers.server.fetch("/text").body.startswith(b"page\n<script>")
    assert servers.server.fetch("/bytes?text/html").body.startswith(b"page\n<script>")


@pytest.mark.parametrize(
    ("bind", "why"),
    [
        ("0.0.0.0:0", "0.0.0.0:0 can be reached from elsewhere"),
        ("unix:/tmp/site.sock", "unix:/tmp/site.sock is for a server in front"),
    ],
)
def test_not_in_production(bind: str, why: str) -> None:
    """`--reload` is refused at an address that others could reach, directly or through a server in front."""
    done = run("serve", str(APPLICATION), "--reload", "--bind", bind)

    assert 2 == done.returncode
    assert f"reload: it is for development, and {why}" in done.stderr


RAISES = {
    "handler": "def handler(request):\n    return 1 / 0\n",
    "wsgi": "def application(environ, start_response):\n    return 1 / 0\n",
    "body": "def application(environ, start_response):\n"
    "    start_response('200 OK', [])\n    yield b'x'\n    1 / 0\n",
}


@pytest.mark.parametrize("kind", RAISES)
def test_traceback_in_development(crowd: Callable[..., Crowd], tmp_path: Path, kind: str) -> None:
    """A traceback begins in the application, and not in the code that `--reload` puts around it."""
    target = tmp_path / "site.py"
    target.write_text(RAISES[kind], encoding="utf-8")
    server = crowd("--processes", "1", "--reload", target=target).server
    with server.connect() as connection:
        connection.send(client.request())
        log = server.wait_for_log("ZeroDivisionError: division by zero")

    assert f'Traceback (most recent call last):\n  File "{target}", line ' in log
    assert "_application" not in log


def test_not_as_a_service() -> None:
    """`--reload` is refused in a service, too, for example in a unit file that was copied with its flags."""
    words = ("serve", str(APPLICATION), "--reload", "--bind", "127.0.0.1:0")
    managed = run(*words, env={"NOTIFY_SOCKET": "/run/systemd/notify"})
    dropped = run(*words, "--user", "nobody")

    as_unit = ["sh", "-c", 'SYSTEMD_EXEC_PID=$$ exec "$@"', "unit", *adyton(*words)]
    simple = subprocess.run(
        as_unit, env=environment(), capture_output=True, text=True, check=False, timeout=60
    )

    assert (2, 2, 2) == (managed.returncode, dropped.returncode, simple.returncode)
    assert "reload: it is for development, and systemd has started this" in simple.stderr
    assert "reload: it is for development, and a service manager has started this" in managed.stderr
    assert "reload: it is for development, and --user is for services" in dropped.stderr
