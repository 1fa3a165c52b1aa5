"""Targets that can be served, and messages for others: imports, exit statuses, tracebacks."""

from __future__ import annotations

import re
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.server import run

if TYPE_CHECKING:
    from support.server import Servers

TARGETS = [
    ("package.wsgi:application", b"package.wsgi:application"),
    ("package.wsgi", b"package.wsgi:application"),
    ("package.nested:Holder.app", b"nested"),
    ("package/wsgi.py", b"package.wsgi:application"),
    ("./package/wsgi.py:application", b"package.wsgi:application"),
    ("all_three", b"application"),
    ("all_three.py", b"application"),
    ("all_three.py:app", b"app"),
    ("all_three.py:handler", b"handler"),
    ("app_only.py", b"app"),
    ("handler_only.py", b"handler"),
    ("dashed-name.py", b"dashed"),
    ("json.py", b"shadows"),
]


@pytest.mark.parametrize(("target", "body"), TARGETS)
def test_target(serve: Servers, project: Path, target: str, body: bytes) -> None:
    """Modules, attributes and files in the current folder are served."""
    assert body == serve(target, cwd=project).fetch().body


@pytest.mark.parametrize("target", [target for target, _ in TARGETS])
def test_check(project: Path, target: str) -> None:
    """`check` imports the target, says what it found, and serves nothing."""
    done = run("check", target, cwd=project)

    assert 0 == done.returncode, done.stderr
    said = done.stdout + done.stderr
    assert ("handler" if "handler" in target else "WSGI") in said
    assert "listening" not in said


def test_check_folder(project: Path) -> None:
    """A folder can be checked as well."""
    (project / "public").mkdir()

    for folder in ("public", "./public/", "."):
        assert 0 == run("check", folder, cwd=project).returncode


def test_absolute_file(serve: Servers, project: Path) -> None:
    """A file elsewhere finds the modules beside it."""
    (project / "uses.py").write_text("from app_only import app\n", encoding="utf-8")

    assert b"app" == serve(project / "uses.py").fetch().body


def test_factory(serve: Servers, project: Path) -> None:
    """With `--factory`, the target is called, and the application that it returns is served."""
    assert b"made" == serve("made:create_app", "--factory", cwd=project).fetch().body


def test_chdir_and_python_path(serve: Servers, project: Path, tmp_path: Path) -> None:
    """`--python-path` is relative to the folder of `--chdir`, and modules are looked for there first."""
    library = tmp_path / "library"
    library.mkdir()
    (library / "extra.py").write_text("VALUE = b'from the library'\n", encoding="utf-8")
    (project / "uses_extra.py").write_text(
        "import extra\n"
        "def application(environ, start_response):\n"
        "    start_response('200 OK', [('Content-Type', 'text/plain')])\n"
        "    return [extra.VALUE]\n",
        encoding="utf-8",
    )
    server = serve("uses_extra", "--chdir", str(project), "--python-path", "library", cwd=Path("/"))

    assert b"from the library" == server.fetch().body


FAILURES = [
    ("raises.py", "RuntimeError: at import", "raises.py"),
    ("raises", "RuntimeError: at import", "raises.py"),
    ("raises:application", "RuntimeError: at import", "raises.py"),
    ("imports", "No module named 'no_such_module_of_ours'", "imports.py"),
    ("imports_raises", "RuntimeError: at import", "imports_raises.py"),
    ("syntax.py", "SyntaxError", "syntax.py"),
    ("syntax", "SyntaxError", "syntax.py"),
    ("no_such_module", "No module named 'no_such_module'", ""),
    ("package.missing", "No module named 'package.missing'", ""),
    ("exits.py", "not today", ""),
]


@pytest.mark.parametrize("command", ["serve", "check"])
@pytest.mark.parametrize(("target", "said", "file"), FAILURES)
def test_failing_import(project: Path, command: str, target: str, said: str, file: str) -> None:
    """A failing import gives exit status 3, and the application's own traceback without our frames."""
    done = run(command, target, cwd=project)

    assert 3 == done.returncode, done.stderr
    assert said in done.stderr
    assert file in done.stderr
    for ours in (
        "adyton/_application/",
        "adyton/__main__.py",
        "_core",
        "runpy",
        "importlib",
        "panicked",
    ):
        assert ours not in done.stderr
    # The message says where a module was looked for only if the settings name that module.
    assert (target == "no_such_module") == ("--python-path" in done.stderr)
    if said.startswith("RuntimeError"):
        assert done.stderr.startswith("Traceback (most recent call last):\n")
        assert "in fail" in done.stderr
    assert "" == done.stdout


def test_exit_at_import(project: Path) -> None:
    """A module that exits without a message still says why nothing is served."""
    done = run("serve", "exits_zero.py", cwd=project)

    assert 3 == done.returncode
    assert done.stderr.strip()


def test_failing_factory(project: Path) -> None:
    """A factory that fails counts as a failing import."""
    done = run("serve", "factory_raises:create_app", "--factory", cwd=project)

    assert 3 == done.returncode
    assert "LookupError: in the factory" in done.stderr
    assert "adyton/_application/" not in done.stderr


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("none_at_all.py", "handler"),
        ("none_at_all", "application"),
        ("not_callable.py", "int"),
        ("package.wsgi:aplication", "did you mean application"),
        ("package.nested:Holder.ap", "app"),
        ("app_only.py:nothing_like_it", "nothing_like_it"),
    ],
)
def test_not_in_the_module(project: Path, target: str, said: str) -> None:
    """A module without the application gets one sentence, exit status 3."""
    done = run("serve", target, cwd=project)

    assert 3 == done.returncode
    assert said in done.stderr
    assert 1 == len(done.stderr.strip().splitlines())
    assert done.stderr.startswith("adyton: ")


@pytest.mark.parametrize("target", ["missing.py", "missing.py:app", "./missing", "missing/folder/"])
def test_missing_target(project: Path, target: str) -> None:
    """A file or folder that does not exist is refused like a wrong setting."""
    done = run("serve", target, cwd=project)

    assert 2 == done.returncode
    assert "missing" in done.stderr
    assert 1 == len(done.stderr.strip().splitlines())


def test_script() -> None:
    """The command `adyton` is there beside `python -m adyton`."""
    assert (Path(sysconfig.get_path("scripts")) / "adyton").exists()
    done = run("--version")

    assert 0 == done.returncode
    assert done.stdout.startswith("adyton ")


ASGI = "async def app(scope, receive, send):\n    pass\n"
FRAMEWORK = "class {0}:\n    def __call__(self, *args):\n        pass\n{0}.__module__ = {1!r}\n"

UNFIT = {
    "asgi": (ASGI, "ASGI"),
    "asgi_object": (
        "class App:\n    async def __call__(self, scope, receive, send):\n        pass\napp = App()\n",
        "ASGI",
    ),
    "asgi_two": ("class app:\n    def __init__(self, scope):\n        pass\n", "ASGI"),
    "asgi_plain": ("def app(scope, receive, send):\n    pass\n", "ASGI"),
    "fastapi": (
        FRAMEWORK.format("FastAPI", "fastapi.applications") + "class Mine(FastAPI): pass\napp = Mine()\n",
        "ASGI application of FastAPI",
    ),
    "django": (
        FRAMEWORK.format("ASGIHandler", "django.core.handlers.asgi") + "app = ASGIHandler()\n",
        "get_wsgi_application",
    ),
    "async_handler": ("async def handler(request):\n    return 'x'\n", "async def"),
    "async_items": ("async def handler(request):\n    yield b'x'\n", "async def"),
    "async_wsgi": ("async def app(environ, start_response):\n    return []\n", "async def"),
    "async_partial": (
        "import functools\nasync def f(db, request):\n    return 'x'\nhandler = functools.partial(f, 1)\n",
        "async def",
    ),
    "maker": ("def app():\n    return len\n", "--factory"),
    "maker_default": ("def app(config=None):\n    return len\n", "--factory"),
    "maker_named": ("def create_app(config=None, debug=False):\n    pass\napp = create_app\n", "--factory"),
    "maker_class": ("class app:\n    def __init__(self):\n        pass\n", "--factory"),
    "three": ("def app(environ, start_response, more):\n    pass\n", "takes 3 arguments"),
    "by_name": ("def app(environ, start_response, *, more):\n    pass\n", "wants more by name"),
    "two_handler": ("def handler(environ, start_response):\n    pass\n", "--interface wsgi"),
}


@pytest.mark.parametrize("name", UNFIT)
def test_what_cannot_run_is_refused(project: Path, name: str) -> None:
    """A target that could answer no request ends the command with one sentence, before the banner."""
    text, said = UNFIT[name]
    (project / f"{name}.py").write_text(text, encoding="utf-8")

    for command in ("check", "serve"):
        done = run(command, f"{name}.py", "--port", "0", cwd=project)

        assert 3 == done.returncode, done.stderr
        assert said in done.stderr
        assert "Traceback" not in done.stderr


FIT = {
    "starred": ("def app(*args, **kwargs):\n    return WSGI(*args)\n", "WSGI"),
    "class_of_items": (
        (
            "class app:\n    def __init__(self, environ, start_response):\n"
            "        self.items = WSGI(environ, start_response)\n"
            "    def __iter__(self):\n        return iter(self.items)\n"
        ),
        "WSGI",
    ),
    "generator": (
        "def app(environ, start_response):\n    yield from WSGI(environ, start_response)\n",
        "WSGI",
    ),
    "partial": (
        (
            "from functools import partial\ndef f(x, environ, start_response):\n"
            "    return WSGI(environ, start_response)\napp = partial(f, 1)\n"
        ),
        "WSGI",
    ),
    "partial_handler": (
        "from functools import partial\ndef f(request, db):\n    return 'fit'\napp = partial(f, db=1)\n",
        "handler",
    ),
    "wraps_async": (
        (
            "import asyncio, functools\nasync def f(request):\n    return 'fit'\n"
            "@functools.wraps(f)\ndef handler(request):\n    return asyncio.run(f(request))\n"
        ),
        "handler",
    ),
}


@pytest.mark.parametrize("name", FIT)
def test_what_can_run_is_served(serve: Servers, project: Path, name: str) -> None:
    """A target that can be called with the arguments of WSGI or a handler is served with that interface."""
    text, kind = FIT[name]
    answer = "def WSGI(environ, start_response):\n    start_response('200 OK', [])\n    return [b'fit']\n"
    (project / f"{name}.py").write_text(answer + text, encoding="utf-8")

    assert f"({kind})" in run("check", f"{name}.py", cwd=project).stdout
    assert b"fit" == serve(f"{name}.py", cwd=project).fetch().body


PATCHED = [
    ("gevent.monkey", "saved", ("_gevent_own", "socket", "_thread", "threading"), "socket, threading"),
    ("eventlet.patcher", "already_patched", ("thread", "socket"), "socket, thread"),
    ("gevent.monkey", "saved", ("socket",), ""),
    ("gevent.other", "saved", ("threading",), ""),
]


@pytest.mark.parametrize(("module", "attribute", "patched", "named"), PATCHED)
@pytest.mark.parametrize(
    ("threads", "meaning"), [("1", "only while a request waits"), ("4", "may wait for ever")]
)
def test_patched_threads_are_told(
    serve: Servers,
    project: Path,
    module: str,
    attribute: str,
    patched: tuple[str, ...],
    named: str,
    threads: str,
    meaning: str,
) -> None:
    """The log names patches of gevent and eventlet, and calls that may fail, without importing either."""
    text = (
        "import sys, types\n"
        f"module = sys.modules[{module!r}] = types.ModuleType({module!r})\n"
        f"module.{attribute} = dict.fromkeys({patched!r})\n"
        "def handler(request):\n    return str(sorted({'gevent', 'eventlet'} & set(sys.modules)))\n"
    )
    (project / "patched.py").write_text(text, encoding="utf-8")
    server = serve("patched.py", "--threads", threads, cwd=project)
    said = re.findall("ADY344 warning: (gevent|eventlet) has patched ([a-z, ]*): (.*)", server.log())

    assert b"[]" == server.fetch().body
    assert bool(named) == bool(said)
    for library, names, rest in said:
        assert (module.partition(".")[0], named) == (library, names)
        assert meaning in rest
        own = {"gevent": "subprocess may fail", "eventlet": "--request-timeout does not end such a wait"}
        assert [library] * (threads == "4") == [name for name, fails in own.items() if fails in rest]


@pytest.mark.parametrize("threads", ["1", "4"])
def test_threads_that_the_application_made_greenlets(serve: Servers, project: Path, threads: str) -> None:
    """An application may replace the functions that start threads, as gevent and eventlet do.

    A greenlet would run only when another greenlet gives way to it. None does here, so this one never runs.
    """
    (project / "patched.py").write_text(
        (
            "import threading, _thread\n"
            "def start(*args, **kwargs):\n    return 1\n"
            "for module in (threading, _thread):\n"
            "    for name in ('_start_new_thread', '_start_joinable_thread', 'start_new_thread'):\n"
            "        if hasattr(module, name):\n            setattr(module, name, start)\n"
            "def handler(request):\n    return 'served'\n"
        ),
        encoding="utf-8",
    )
    server = serve("patched.py", "--threads", threads, cwd=project)

    assert b"served" == server.fetch().body
    server.stop()
