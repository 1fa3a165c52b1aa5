"""Applications that need one process: `adyton check` and the start recognise them, and no others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.server import run

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Servers

BEAKER = """
from beaker.middleware import SessionMiddleware
def page(environ, start_response):
    return []
application = SessionMiddleware(page, %s)
"""

CHERRYPY = """
import cherrypy
cherrypy.config.update({"environment": "embedded"})
class Root:
    @cherrypy.expose
    def index(self):
        return "here"
application = cherrypy.Application(Root(), "", {"/": {"tools.sessions.on": True, %s}})
"""

FLASK = """
from flask import Flask
from werkzeug.debug import DebuggedApplication
from werkzeug.middleware.proxy_fix import ProxyFix
app = Flask(__name__)
app.secret_key = "known"
"""

FLASK_SESSION = """
from cachelib import FileSystemCache, SimpleCache
from flask import Flask
from flask_session import Session
application = Flask(__name__)
application.config.update(SESSION_TYPE="cachelib", SESSION_CACHELIB=%s)
Session(application)
"""

DJANGO = """
from django.conf import settings
settings.configure(SECRET_KEY="known", SESSION_ENGINE="django.contrib.sessions.backends.%s")
from django.core.wsgi import get_wsgi_application
application = get_wsgi_application()
"""

DAV = """
import os
from wsgidav.wsgidav_app import WsgiDAVApp
application = WsgiDAVApp({
    "provider_mapping": {"/": os.getcwd()}, "simple_dc": {"user_mapping": {"*": True}},
    "lock_storage": %s, "property_manager": %s, "logging": {"enable": False}, "verbose": 0,
})
"""

NEEDS_ONE = {
    "debugger": (FLASK + "application = DebuggedApplication(app, evalex=True)", "Werkzeug's debugger"),
    "debugger, wrapped": (
        FLASK + "app.wsgi_app = DebuggedApplication(app.wsgi_app, evalex=True)\napplication = ProxyFix(app)",
        "Werkzeug's debugger",
    ),
    "cherrypy": (CHERRYPY % "", "CherryPy keeps sessions"),
    "cherrypy's tree": (
        CHERRYPY % "" + "cherrypy.tree.graft(application, '/shop')\n"
        "cherrypy.tree.mount(Root(), '/', {'/': {'tools.sessions.on': True}})\napplication = cherrypy.tree",
        "CherryPy keeps sessions",
    ),
    "django": (DJANGO % "cache", "Django keeps sessions"),
    "wsgidav's locks": (DAV % (True, False), "wsgidav keeps locks"),
    "wsgidav's properties": (DAV % (False, True), "wsgidav keeps properties"),
    "beaker": (BEAKER % {"session.type": "memory"}, "Beaker keeps sessions"),
    "flask-session": (FLASK_SESSION % "SimpleCache()", "Flask-Session keeps sessions"),
}
NEEDS_NOTHING = {
    "flask": FLASK + "application = ProxyFix(app)",
    "debugger without a console": FLASK + "application = DebuggedApplication(app)",
    "cherrypy": CHERRYPY % '"tools.sessions.storage_class": cherrypy.lib.sessions.FileSession',
    "cherrypy without sessions": CHERRYPY % "" + "application.config['/']['tools.sessions.on'] = False",
    "django": DJANGO % "signed_cookies",
    "wsgidav": DAV % (False, False),
    "beaker": BEAKER % {"session.type": "cookie", "session.validate_key": "known"},
    "flask-session": FLASK_SESSION % "FileSystemCache('sessions')",
    "attributes that fail": (
        "class Application:\n    def __getattr__(self, name):\n        raise ValueError(name)\n"
        "    def __call__(self, environ, start_response):\n        return []\napplication = Application()"
    ),
    "a circle": (
        "class Application:\n    def __call__(self, environ, start_response):\n        return []\n"
        "application = Application()\napplication.app = application"
    ),
}


def checked(folder: Path, text: str, *flags: str) -> str:
    """Return what `adyton check` says about an application, which must pass the check."""
    path = folder / "shop.py"
    path.write_text(text)
    done = run("check", f"{path}:application", "--interface", "wsgi", *flags, cwd=folder)

    assert 0 == done.returncode, done

    return done.stdout + done.stderr


@pytest.mark.parametrize("name", NEEDS_ONE)
def test_needs_one(tmp_path: Path, name: str) -> None:
    """`check` says what is in memory, and what to do; with one process it says nothing of this."""
    text, reason = NEEDS_ONE[name]
    said = checked(tmp_path, text, "--processes", "3")

    assert reason in said
    assert "--processes 1" in said
    assert "memory" not in checked(tmp_path, text, "--processes", "1")


def test_how_many(tmp_path: Path) -> None:
    """`--max-processes` above 1 warns, too; without workers there is no warning."""
    text, reason = NEEDS_ONE["beaker"]

    assert reason in checked(tmp_path, text, "--processes", "1", "--max-processes", "2")
    assert "memory" not in checked(tmp_path, text, "--processes", "0")


@pytest.mark.parametrize("name", NEEDS_NOTHING)
def test_needs_nothing(tmp_path: Path, name: str) -> None:
    """State that all workers share is no reason to warn."""
    assert "memory" not in checked(tmp_path, NEEDS_NOTHING[name], "--processes", "3")


@pytest.mark.parametrize("flags", [[], ["--preload"]], ids=["imported", "forked"])
def test_told_once(serve: Servers, tmp_path: Path, flags: list[str]) -> None:
    """At the start one worker warns for all of them."""
    path = tmp_path / "shop.py"
    path.write_text(NEEDS_ONE["cherrypy"][0])
    server = serve(path, "--processes", "3", *flags)
    server.wait_for_log("3 processes|workers")
    server.wait_for_log("CherryPy keeps sessions there")
    server.stop()

    assert 1 == server.log().count("CherryPy keeps sessions there")


HELD = {
    "flock": "import fcntl\nfile = open('held', 'w')\nfcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)",
    "Data.fs": "import ZODB\ndatabase = ZODB.DB('Data.fs')",
}


@pytest.mark.parametrize("name", HELD)
def test_locked(serve: Servers, tmp_path: Path, name: str) -> None:
    """A second worker warns if it finds a file locked by the first."""
    path = tmp_path / "shop.py"
    path.write_text(f"{HELD[name]}\ndef application(environ, start_response):\n    return []\n")
    server = serve(path, "--processes", "2", cwd=tmp_path)

    server.wait_for_log("another process has locked it; if that process is another worker of this server")


def test_listens_already(serve: Servers, tmp_path: Path, port: int) -> None:
    """A second worker warns if it cannot listen at an address because the first worker listens there."""
    path = tmp_path / "shop.py"
    path.write_text(
        f"import socket\nlistener = socket.create_server(('127.0.0.1', {port}))\n"
        "def application(environ, start_response):\n    return []\n"
    )

    server = serve(path, "--processes", "2")

    server.wait_for_log("another process listens at this address; if that process is another worker")


def test_nothing_is_imported(tmp_path: Path) -> None:
    """A check of a plain application imports none of the packages that are recognised."""
    text = (
        "import atexit, sys\ndef application(environ, start_response):\n    return []\n"
        "known = ('cherrypy', 'werkzeug', 'django', 'wsgidav', 'beaker', 'flask')\n"
        "atexit.register(lambda: print('imported', [name for name in known if name in sys.modules]))\n"
    )

    assert "imported []" in checked(tmp_path, text, "--processes", "3")
