"""`--reload` and `--touch-reload`: what changes on the disk is served, and a browser shows it."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from processes.conftest import APPLICATION
from real.browser import Browser
from support import client
from support.server import LISTENING, STOP_TIMEOUT_S, Log, adyton, environment, parse_address, run, until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from processes.conftest import Crowd

PAGE = """
import {module}

def handler(request):
    return "<!doctype html><title>" + {module}.TITLE + "</title>"
"""


def test_touched(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """A file that appears, and one that is changed, are a reload each."""
    touch = tmp_path / "touch"
    servers = crowd("--processes", "1", "--touch-reload", str(touch))
    touch.touch()

    assert until(lambda: "2" == servers.who()[3])

    touch.write_text("again", encoding="ascii")

    assert until(lambda: "3" == servers.who()[3])


@pytest.mark.parametrize("wrong", ["def handler(:\n", "import missing_module\n", "import wrong_module\n"])
def test_first_version_fails(tmp_path: Path, wrong: str) -> None:
    """A first version with a fault is shown, and waited for: the next one is served."""
    target, module = tmp_path / "page.py", tmp_path / "wrong_module.py"
    target.write_text(wrong, encoding="utf-8")
    module.write_text("TITLE = (\n", encoding="utf-8")
    command = adyton(
        "serve", str(target), "--reload", "--processes", "1", "--bind", "127.0.0.1:0", "--control", "off"
    )
    read_end, write_end = os.pipe()
    server = subprocess.Popen(command, stderr=write_end, env=environment())
    os.close(write_end)
    log = Log(read_end)
    try:
        log.wait_for("Error")
        log.wait_for("waiting until one of its files changes")
        if "wrong_module" in wrong:
            module.write_text("TITLE = 'right'\n", encoding="utf-8")
            log.wait_for("has no application")
            log.wait_for("waiting until one of its files changes", count=2)
        target.write_text("def handler(request):\n    return 'right'\n", encoding="utf-8")
        log.wait_for(LISTENING.pattern)
        (shown,) = LISTENING.findall(log.text())

        assert client.fetch(parse_address(shown), "/").body.startswith(b"right")
    finally:
        server.terminate()
        try:
            server.wait(STOP_TIMEOUT_S)
        finally:
            server.kill()


def test_browser(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """A change in a module that is imported shows on the page; a wrong one harms nothing."""
    target, module = tmp_path / "page.py", tmp_path / "texts.py"
    target.write_text(PAGE.format(module="texts"), encoding="utf-8")
    module.write_text("TITLE = 'first'\n", encoding="utf-8")
    servers = crowd("--processes", "1", "--reload", target=target)
    assert until(lambda: 1 == len(servers.pids()))
    browser = Browser(tmp_path / "profile")
    try:
        browser.open(f"http://127.0.0.1:{servers.server.port}/")

        assert "first" == browser.driver.title

        module.write_text("TITLE = 'wrong'(\n", encoding="utf-8")
        servers.server.wait_for_log("the new version does not start", timeout_s=10)

        assert b"first" in servers.server.fetch("/").body

        module.write_text("TITLE = 'second'\n", encoding="utf-8")

        assert until(lambda: "second" == browser.driver.title, 10)

        other = tmp_path / "more.py"
        other.write_text("TITLE = 'third'\n", encoding="utf-8")
        target.write_text(PAGE.format(module="more"), encoding="utf-8")

        assert until(lambda: "third" == browser.driver.title, 10)
    finally:
        browser.close()


WSGI = """
def application(environ, start_response):
    kind = environ["QUERY_STRING"]
    start_response("200 OK", [("Content-Type", kind), ("Content-Length", "4")])
    return [b"page"]
"""


def test_pages_only(crowd: Callable[..., Crowd], tmp_path: Path) -> None:
    """The script is in pages of HTML, and everything else is as the application made it."""
    target = tmp_path / "site.py"
    target.write_text(WSGI, encoding="utf-8")
    servers = crowd("--processes", "1", "--reload", target=target)

    assert b"page" == servers.server.fetch("/?text/plain").body
    page = servers.server.fetch("/?text/html").body
    assert page.startswith(b"page\n<script>")
    assert b"" == servers.server.fetch("/?text/html", method="HEAD").body
    assert b"1" == servers.server.fetch("/.adyton/generation").body


def test_not_in_production() -> None:
    """Where others could connect it is refused; and without it there is no script."""
    done = run("serve", str(APPLICATION), "--reload", "--bind", "0.0.0.0:0")

    assert 2 == done.returncode
    assert "reload: it is for development, and 0.0.0.0:0 can be reached from elsewhere" in done.stderr
