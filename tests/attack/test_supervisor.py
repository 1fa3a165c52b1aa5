"""The supervisor under attack: signals in every order, and applications that die while they begin or end."""

from __future__ import annotations

import itertools
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from processes.conftest import is_alive
from support.server import PANIC, run, until

if TYPE_CHECKING:
    from support.server import Servers

HARMLESS = [signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH, signal.SIGCHLD, signal.SIGCONT]
ENDS = [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT]
ORDERS = [
    (*pair, end)
    for number, pair in enumerate(itertools.permutations(HARMLESS, 2))
    for end in [ENDS[number % len(ENDS)]]
    if number % 2
] + [
    (end, *pair)
    for end in ENDS
    for pair in [(signal.SIGHUP, end), (signal.SIGUSR1, signal.SIGHUP), (end, end)]
]

PLAIN = "import os\ndef handler(request):\n    return str(os.getpid())\n"


def descendants(pid: int) -> list[int]:
    """Return the children of a process."""
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(child) for child in text.split()]


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: "-".join(number.name for number in order))
def test_signals(serve: Servers, tmp_path: Path, order: tuple[signal.Signals, ...]) -> None:
    """Signals in any order, sent without a pause, end in a clean stop that leaves nothing behind."""
    target, control = tmp_path / "app.py", tmp_path / "control.sock"
    target.write_text(PLAIN, encoding="ascii")
    server = serve(f"{target}:handler", "--processes=2", f"--control={control}")
    assert 200 == server.fetch("/").status
    workers = descendants(server.process.pid)
    for number in order:
        server.signal(number)

    assert 0 == server.wait(), server.log()
    assert not PANIC.search(server.log())
    assert until(lambda: not any(map(is_alive, workers)))
    assert not control.exists()


BEGINNINGS = {
    "exits": ("import sys; sys.exit(0)", 3),
    "exits with a number": ("import sys; sys.exit(7)", 3),
    "exits with text": ("raise SystemExit('no luck')", 3),
    "is interrupted": ("raise KeyboardInterrupt", 3),
    "raises its own": ("class Own(BaseException): pass\nraise Own('own')", 3),
    "cannot be printed": ("class Own(Exception):\n    def __str__(self): raise ValueError\nraise Own", 3),
    "has no memory": ("raise MemoryError", 3),
    "recurses": ("def f(): f()\nf()", 3),
    "is no Python": ("def (", 3),
    "is no text": ("# coding: utf-16\n\\xff", 3),
    "has a NUL": ("a = 1\0", 3),
    "is empty": ("", 3),
    "has another name": ("other = 1", 3),
    "is None": ("handler = None", 3),
    "is a number": ("handler = 7", 3),
    "is a module": ("import os as handler", 3),
    "raises when looked at": ("def __getattr__(name): raise ValueError(name)", 3),
    "leaves at once": ("import os; os._exit(5)", None),
    "leaves at once, pleased": ("import os; os._exit(0)", None),
    "kills itself": ("import os; os.kill(os.getpid(), 9)", None),
    "ends itself": ("import os; os.kill(os.getpid(), 15)", None),
    "aborts": ("import os; os.abort()", None),
    "closes everything": ("import os; os.closerange(3, 1000)\nraise ValueError", None),
}
"""Code of the application; exit status (None: without workers the process's own, otherwise 1)."""


@pytest.mark.parametrize("processes", ["0", "1"])
@pytest.mark.parametrize("what", BEGINNINGS)
def test_bad_beginning(tmp_path: Path, what: str, processes: str) -> None:
    """A server whose application cannot begin ends by itself, says why, and leaves no socket."""
    text, status = BEGINNINGS[what]
    target, control = tmp_path / "app.py", tmp_path / "control.sock"
    target.write_text(text, encoding="latin-1")
    flags = ["--bind=127.0.0.1:0", f"--processes={processes}"]
    flags += [] if processes == "0" else [f"--control={control}"]
    done = run("serve", f"{target}:handler", *flags)

    assert done.returncode != 0 or what == "leaves at once, pleased"
    if processes != "0" or status is not None:
        # If the log is closed, too, a debug build aborts, and a release build fails as if the log were open.
        expected = {1, 3} if what == "closes everything" else {status or 1}
        assert done.returncode in expected, done.stderr
    assert "listening on" not in done.stderr
    assert "" == done.stdout
    assert what in {"aborts", "closes everything"} or not PANIC.search(done.stderr)
    assert "\x1b" not in done.stderr
    assert not control.exists()


ENDINGS = {
    "raises": "raise ValueError('at the end')",
    "exits": "raise SystemExit(5)",
    "is interrupted": "raise KeyboardInterrupt",
    "prints": "print('at the end')",
    "starts a program": "import subprocess; subprocess.run(['true'])",
    "closes its streams": "import sys; sys.stdout.close(); sys.stderr.close()",
    "forgets its streams": "import sys; sys.stdout = sys.stderr = None",
    "forgets its modules": "import sys; sys.modules.pop('threading', None)",
    "frees all": "import gc; gc.collect()",
    "changes the folder": "import os; os.chdir('/')",
}


@pytest.mark.parametrize("processes", ["0", "1"])
@pytest.mark.parametrize("what", ENDINGS)
def test_bad_ending(serve: Servers, tmp_path: Path, what: str, processes: str) -> None:
    """Handlers that an application runs at its end (atexit) do not change a clean stop."""
    target = tmp_path / "app.py"
    target.write_text(
        f"{PLAIN}import atexit\n@atexit.register\ndef end():\n    {ENDINGS[what]}\n", encoding="ascii"
    )
    server = serve(f"{target}:handler", f"--processes={processes}", "--control=off")
    assert 200 == server.fetch("/").status
    server.signal(signal.SIGTERM)

    assert 0 == server.wait(), server.log()
    assert not PANIC.search(server.log())
