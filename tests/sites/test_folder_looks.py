"""Folders with settings cost no system call per request: they are checked twice a second, and read once."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import time
from collections import Counter
from typing import TYPE_CHECKING

from sites.conftest import write
from sites.test_folders import OWN, WORDS, say
from support.server import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.server import Servers

FILE = f"""
[[sites]]
root = "public"

[[sites.routes]]
path = "/plain/"
files = "plain"

[[sites.routes]]
path = "/folders/"
files = "folders"
may-set = {WORDS}
htaccess = {WORDS}
"""

HEADERS = "headers = { X-Folder = 'yes' }\n"
REQUESTS = 200
LOOK_EVERY_S = 0.5
"""Interval at which folders are checked; a result counts until the next check."""

OLD_S = 0.1
"""Age below which a file can change again without a new time of change."""

LEVELS = 4
"""The folder of the route, and three in it."""


@contextlib.contextmanager
def traced(pid: int, log: Path, *flags: str) -> Iterator[None]:
    """Write the system calls of a process to a file."""
    command = ["strace", "-f", "-p", str(pid), "-o", str(log), *flags]
    tracer = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert tracer.stderr is not None
    try:
        assert "attached" in tracer.stderr.readline()
        yield
    finally:
        tracer.send_signal(signal.SIGINT)
        tracer.communicate(timeout=60)


def calls(log: Path) -> Counter[str]:
    """Return how often each system call was made."""
    return Counter(
        re.findall(r"^\d+ +(\w+)\(", log.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
    )


def test_no_call_per_request(serve: Servers, project: Path) -> None:
    """A file beneath folders with settings costs the calls of any other file, except checks of folders."""
    for top in ("plain", "folders"):
        folder = project / "public" / top
        for name in (".", "a", "b", "c"):
            folder /= name
            folder.mkdir()
            say(folder, HEADERS)
        (folder / "x.txt").write_text("x\n", encoding="utf-8")
    assert until(lambda: time.time() - (folder / "x.txt").stat().st_ctime > OLD_S)
    server = serve(write(project, FILE).name, "--processes=0", cwd=project)
    counts, seconds = {}, 0.0
    for top in ("plain", "folders"):
        target = f"/{top}/a/b/c/x.txt"
        log = project / f"{top}.strace"
        with server.connect(lint_answers=False) as connection:
            assert 200 == connection.get(target).status
            with traced(server.process.pid, log):
                begun = time.monotonic()
                for _ in range(REQUESTS):
                    assert 200 == connection.get(target).status
                seconds = max(seconds, time.monotonic() - begun)
        counts[top] = calls(log)
    stats = [counts[top].pop("newfstatat", 0) for top in ("plain", "folders")]
    looks = int(seconds / LOOK_EVERY_S) + 2
    # A check looks at the root, at each folder, and at two files of settings in each folder.
    each = 1 + LEVELS * 3 + 1

    # Other threads make a few calls from time to time.
    others = REQUESTS // 10
    for name in counts["plain"] | counts["folders"]:
        assert abs(counts["folders"][name] - counts["plain"][name]) <= others, (name, counts)
    assert counts["folders"]["openat2"] == 0
    assert REQUESTS <= stats[0] <= REQUESTS + others
    assert stats[1] <= stats[0] + looks * each + others


FOLDERS = 10_000


def test_each_folder_is_read_once(serve: Servers, project: Path) -> None:
    """Ten thousand folders that get one request each are read once each, and so are their parents."""
    top = project / "public/folders"
    for number in range(FOLDERS):
        folder = top / f"{number // 100}" / f"{number}"
        folder.mkdir(parents=True)
        (folder / OWN).write_text(HEADERS, encoding="utf-8")
        (folder / "x.txt").write_text("x\n", encoding="utf-8")
    for folder in (top, *(top / f"{number}" for number in range(FOLDERS // 100))):
        (folder / OWN).write_text(HEADERS, encoding="utf-8")
    (project / "public/plain").mkdir()
    server = serve(write(project, FILE).name, "--processes=0", cwd=project)
    log = project / "opened.strace"
    with (
        traced(server.process.pid, log, "-e", "trace=openat,openat2"),
        server.connect(lint_answers=False) as connection,
    ):
        for number in range(FOLDERS):
            answer = connection.get(f"/folders/{number // 100}/{number}/x.txt")
            assert (200, ["yes"]) == (answer.status, answer.values("X-Folder"))
    opened = Counter(re.findall(r'"([^"]*\.adyton\.toml)"', log.read_text(encoding="utf-8")))

    assert FOLDERS + FOLDERS // 100 + 1 == len(opened)
    assert {1} == set(opened.values())
