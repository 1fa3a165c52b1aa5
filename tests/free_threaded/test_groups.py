"""A group whose own Python has no interpreter lock (GIL), beside a server whose Python has it."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from free_threaded.test_lock import APPLICATION, AS_BUILT, NOT_FORCED
from processes.conftest import is_alive
from support.asking import asking
from support.control import states, workers
from support.pythons import FIRST, python_of
from support.server import until

if TYPE_CHECKING:
    from support.server import Servers

FILE = """
[server]
processes = 1
threads = 2
control = "control.sock"

[groups.free]
python = "{python}"
processes = 1
threads = 4

[[sites]]
[[sites.routes]]
app = "application.py"
[[sites.routes]]
path = "/free/"
app = "application.py"
group = "free"
"""

OF_FILE = {"ADYTON_PROCESSES": "", "ADYTON_THREADS": ""}
"""Empty variables, so that the file of sites sets the numbers of processes and threads."""


def test_group_beside_the_first_python(serve: Servers, tmp_path: Path) -> None:
    """The server runs with the gate's first Python, the group with this test's; each has its own lock."""
    shutil.copy(APPLICATION, tmp_path)
    file = tmp_path / "site.toml"
    file.write_text(FILE.format(python=sys.executable), encoding="utf-8")
    command = [python_of(FIRST), "-m", "adyton", "serve", file, "--bind", "127.0.0.1:0"]
    server = serve.start(command, cwd=tmp_path, env=NOT_FORCED | OF_FILE)
    control = tmp_path / "control.sock"
    assert until(lambda: states(control) == {"free": "serving"}), server.log()
    of_server = "off" if FIRST.endswith("t") else "on"

    with server.connect() as client:
        for _ in range(3):
            assert [of_server, AS_BUILT] == [client.get(path).body.decode() for path in ("/", "/free/")]
    with asking(server, "/") as asked:
        (pid,) = workers(control, "free")
        os.kill(pid, signal.SIGKILL)
        assert until(lambda: not is_alive(pid))
        assert AS_BUILT == server.fetch("/free/").body.decode()
    assert [] == asked.wrong
    (successor,) = workers(control, "free")
    assert pid != successor
    python = Path(f"/proc/{successor}/exe").resolve()
    assert Path(sys.executable).resolve() == python
