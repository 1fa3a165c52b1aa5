"""A folder of 100,000 files and 10,000 folders with settings of their own: the start, and the memory.

`many_folders.py --adyton ADYTON [-o FILE.md] [--folders N] [--rounds N]` prints a table. It needs root. The
large folder, the large folder without its settings, and an empty folder are served in turns, by a server
each. A file of each folder is requested, and each answer is compared: its field, which the folder's own
settings add, and its body. The server runs on CPU 0, and the client on CPU 1. Memory is that of all
processes; memory that several share counts once. The folders are in memory, in /dev/shm.
"""

from __future__ import annotations

import http.client
import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from measuring import START_S, Page, Server, await_start, parser_of, serving, spread

FILES_EACH = 10
"""Files in each folder, beside its settings."""
IN_ONE = 100
"""Number of folders in each folder of the top level."""
START_MAX_S = 2.0
MEMORY_MAX_MIB = 20.0
PORTS = {"empty": 18477, "many": 18478, "many, without their settings": 18479}
MANY = "many"
SHARED = Path("/dev/shm")  # noqa: S108 - for a temporary folder
"""Folders on a disk take minutes to write."""
BANNER = b"listening on"
SITE = """
[server]
bind = ["127.0.0.1:{port}"]
processes = 1
[[sites]]
[[sites.routes]]
files = "{folder}"
{may}
"""
FIELD = "X-Folder"
SETTINGS = f'headers = {{{{ {FIELD} = "{{number}}" }}}}\n'


@dataclass(frozen=True)
class Shot:
    """One start of a server, and the figures of its requests."""

    start_s: float
    """Time from the start to the banner."""
    fresh_mib: float
    """Memory when it has given its first answer."""
    memory_mib: float
    """Memory when all folders were asked for."""
    asked_s: float
    """Time that asking for all folders took."""


def place(number: int) -> str:
    """Return where a folder is."""
    return f"{number // IN_ONE}/{number % IN_ONE}"


def write(root: Path, folders: int) -> None:
    """Write the folders, and the files of sites."""
    for served in ("empty", MANY):
        (root / served).mkdir()
        (root / served / "index.txt").write_text("Hello, world!\n", encoding="ascii")
    for name, port in PORTS.items():
        served, _, without = name.partition(", ")
        site = SITE.format(port=port, folder=served, may="" if without else 'may-set = ["headers"]')
        (root / f"{port}.toml").write_text(site, encoding="ascii")
    for number in range(folders):
        folder = root / "many" / place(number)
        folder.mkdir(parents=True)
        (folder / ".adyton.toml").write_text(SETTINGS.format(number=number), encoding="ascii")
        for file in range(FILES_EACH):
            (folder / f"{file}.txt").write_text(f"{number} {file}\n", encoding="ascii")


def until_banner(server: Server, said: Path) -> float:
    """Wait until a server says that it listens; return the time, by the monotonic clock."""
    deadline = time.monotonic() + START_S
    while BANNER not in said.read_bytes():
        if server.process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(said.read_text("utf-8", "replace"))
        time.sleep(0.001)
    return time.monotonic()


def ask_all(port: int, folders: int, *, said: bool) -> None:
    """Request a file of each folder, and check the answers, and whether the folders' settings apply."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=START_S)
    for number in range(folders):
        file = number % FILES_EACH
        connection.request("GET", f"/{place(number)}/{file}.txt")
        response = connection.getresponse()
        answer = (response.status, response.headers[FIELD], response.read())
        if answer != (200, str(number) if said else None, f"{number} {file}\n".encode()):
            message = f"the file of folder {number} was answered wrongly: {answer}"
            raise RuntimeError(message)
    connection.close()


def measure(adyton: str, root: Path, name: str, folders: int) -> Shot:
    """Start a server, request a file of each folder from it, and end it."""
    port = PORTS[name]
    said = root / f"{port}.said"
    began = time.monotonic()
    with serving(f"folders-{port}", port, [adyton, "serve", root / f"{port}.toml"], 0, said) as server:
        start_s = until_banner(server, said) - began
        await_start(port, "/index.txt", b"Hello, world!\n")
        fresh_mib, since = server.memory_mib(), time.monotonic()
        ask_all(port, folders, said=name == MANY)
        return Shot(start_s, fresh_mib, server.memory_mib(), time.monotonic() - since)


def main() -> int:
    """Measure both in turns; return 1 if something is not as it must be."""
    parser = parser_of(__doc__)
    parser.add_argument("--folders", type=int, default=10_000)
    arguments = parser.parse_args()
    folders = arguments.folders
    page = Page("Many folders with settings of their own", arguments.adyton)
    page.say(f"- {folders:,} folders, {folders * FILES_EACH:,} files; {arguments.rounds} rounds")
    page.say("- figures are the median of the rounds (the least..the most)")
    os.sched_setaffinity(0, {1})
    found: dict[str, list[Shot]] = {name: [] for name in PORTS}
    with tempfile.TemporaryDirectory(dir=SHARED if SHARED.exists() else None) as name:
        root = Path(name)
        write(root, folders)
        for _ in range(arguments.rounds):
            for served, shots in found.items():
                asked = 0 if served == "empty" else folders
                shots.append(measure(arguments.adyton, root, served, asked))
    page.head("folder", "s until the banner", "MiB at first", "MiB when all were asked for", "s for that")
    for served, shots in found.items():
        page.row(
            served,
            spread([shot.start_s for shot in shots], ".2f"),
            spread([shot.fresh_mib for shot in shots], ".1f"),
            spread([shot.memory_mib for shot in shots], ".1f"),
            "" if served == "empty" else spread([shot.asked_s for shot in shots], ".2f"),
        )
    start_s = statistics.median(shot.start_s for shot in found[MANY])
    pairs = zip(found[MANY], found["empty"], strict=True)
    more_mib = [many.memory_mib - empty.memory_mib for many, empty in pairs]
    is_small = statistics.median(more_mib) <= MEMORY_MAX_MIB
    page.say("")
    page.must(f"{start_s:.2f} s until the banner are <= {START_MAX_S:g} s", kept=start_s <= START_MAX_S)
    page.must(
        f"{spread(more_mib, '.1f')} MiB above the empty folder are <= {MEMORY_MAX_MIB:g}", kept=is_small
    )
    page.write(arguments.output)
    return 0 if start_s <= START_MAX_S and is_small else 1


if __name__ == "__main__":
    sys.exit(main())
