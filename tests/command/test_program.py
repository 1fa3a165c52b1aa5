"""`adyton.serve` from a program."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from support.server import environment

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Servers

WSGI = """
import adyton

def app(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"from a program"]

"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Return the path of a program to be written."""
    return tmp_path / "program.py"


@pytest.mark.parametrize(
    "call",
    [
        'adyton.serve(app, bind="127.0.0.1:0")',
        'adyton.serve(app, bind=["127.0.0.1:0"], keep_alive_timeout="5s", backlog=10)',
        'adyton.serve(app, host="127.0.0.1", port=0, merge_slashes=True, interface="wsgi")',
    ],
)
def test_serves(serve: Servers, program: Path, call: str) -> None:
    """A program serves its application, and its call returns after SIGTERM."""
    program.write_text(f"{WSGI}{call}\nprint('came back', flush=True)\n", encoding="utf-8")
    server = serve.start([sys.executable, program])

    assert b"from a program" == server.fetch().body

    server.stop()

    assert "came back" in server.log()


def test_handler_and_static(serve: Servers, program: Path, tmp_path: Path) -> None:
    """Handlers and static files work from a program, too."""
    (tmp_path / "file.txt").write_bytes(b"file")
    program.write_text(
        "import adyton\n"
        f"files = {{'/s': {str(tmp_path)!r}}}\n"
        "adyton.serve(lambda request: request.path, bind='127.0.0.1:0', static=files)\n",
        encoding="utf-8",
    )
    server = serve.start([sys.executable, program])

    assert b"/lambda" == server.fetch("/lambda").body
    assert b"file" == server.fetch("/s/file.txt").body


def test_interrupt(serve: Servers, program: Path) -> None:
    """The call returns after Ctrl-C as well; the program ends as it wants."""
    program.write_text(f"{WSGI}adyton.serve(app, bind='127.0.0.1:0')\n", encoding="utf-8")
    server = serve.start([sys.executable, program])
    server.signal(signal.SIGINT)

    assert server.wait() in {0, 130, -signal.SIGINT}


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("adyton.serve(app, keep_alive_tiemout=5)", "keep_alive_timeout"),
        ("adyton.serve(app, bind='nonsense')", "HOST:PORT"),
        ("adyton.serve(app, backlog='many')", "backlog"),
        ("adyton.serve(app, bind='127.0.0.1:0', temp_dir='no/such')", "--temp-dir"),
        ("adyton.serve(5, bind='127.0.0.1:0')", "int"),
        ("adyton.serve()", ""),
        ("adyton.serve(app, bind='1.2.3.4:0')", "1.2.3.4"),
    ],
)
def test_wrong_arguments(program: Path, call: str, said: str) -> None:
    """A wrong argument is an exception that the program can catch, with a clear sentence."""
    program.write_text(
        f"{WSGI}try:\n    {call}\nexcept (TypeError, ValueError, OSError) as error:\n"
        "    print('caught', error)\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, program],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert 0 == done.returncode, done.stderr
    assert "caught" in done.stdout
    assert said in done.stdout


def test_import_is_cheap() -> None:
    """Importing the package starts nothing and imports little."""
    code = "import sys; before = set(sys.modules); import adyton; print(len(set(sys.modules) - before))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )

    assert int(done.stdout) < 30
