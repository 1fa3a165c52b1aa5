"""The peers: one small file each, which says how it starts, what it serves, and what it needs."""

from __future__ import annotations

import contextlib
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adyton.compare.pages import PLACES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

HERE = Path(__file__).parent
SCRIPTS = Path(sys.executable).parent
"""Programs of Python packages stand beside the Python that they belong to."""
SYSTEM = {
    "python": sys.executable,
    "prefix": sys.prefix,
    "apache": "/usr/lib/apache2/modules",
}
"""Words in braces that are the same for every peer and every start."""
PROGRAMS: dict[str, str] = {}
"""Programs whose paths the command line gives."""
MERGED = ("files", "words", "asked")
"""Tables of a peer's file to which one that is like it adds."""


class PeerError(Exception):
    """A peer does not start, or does not answer."""


@dataclass(frozen=True)
class Peer:
    """One file of ``peers/``."""

    key: str
    """The name of its file, by which it is chosen."""
    name: str
    serves: tuple[str, ...]
    """Pages that it has, and where: names in ``pages.PLACES``."""
    start: str
    """The command line; words in braces are replaced."""
    version: str
    """A command line that prints the version."""
    beside: str = ""
    """A second program that has to run, such as the uWSGI behind nginx."""
    base: str = ""
    """Stands before the paths of all pages."""
    forks: bool = False
    """Whether each request has its own process, whose CPU time is counted nowhere when it has ended."""
    reload: str = ""
    """The signal at which its first process replaces all others, as `HUP`; empty: there is no such signal."""
    older: bool = False
    """Whether it is an older vintage of another peer: it takes part when named, and when one publishes."""
    quick: bool = False
    """Takes part even where there is no time for every mode of every server."""
    user: str = ""
    """The user that starts it, when we are root."""
    needs: tuple[str, ...] = ()
    """Programs that must be there."""
    modules: tuple[str, ...] = ()
    """Python modules that must be there."""
    paths: tuple[str, ...] = ()
    """Files that must be there."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Files that are written for it, by their names in its folder."""
    words: Mapping[str, str] = field(default_factory=dict)
    """Words in braces of its own."""
    asked: Mapping[str, str] = field(default_factory=dict)
    """Further words in braces of its own, with the command lines that print their values."""

    @property
    def places(self) -> dict[str, str]:
        """The paths of the pages that it has, by their names."""
        return {page: self.base + path for kind in self.serves for page, path in PLACES[kind].items()}

    @property
    def missing(self) -> str:
        """Programs, modules and files that it needs and that are missing; empty when it can run."""
        programs = [told_where(name) for name in self.needs if program(name) is None]
        modules = [name for name in self.modules if util.find_spec(name) is None]
        paths = [replaced(path, SYSTEM | dict(self.words)) for path in self.paths]
        return ", ".join(programs + modules + [path for path in paths if not Path(path).exists()])

    def lines(self) -> list[str]:
        """The command lines, in the order in which they are started."""
        return [self.beside, self.start] if self.beside else [self.start]

    def shown(self, sizes: Mapping[str, object]) -> str:
        """The command lines as they are told: with its sizes, and nothing of this machine in them."""
        usual = {"port": 8000, "work": ".", "files": "files", "closing": ""}
        text = replaced(" & ".join(self.lines()), {**usual, **self.words, **sizes})
        return text.replace("{python}", "python").replace("{app}/", "").replace("{app}", ".")

    def configuration(self) -> dict[str, str]:
        """The files that tell it what to do, by their names: its own, and the shared ones they include."""
        found, shared = dict(self.files), shared_files()
        texts = [*self.lines(), *found.values()]
        while more := {
            name: text
            for name, text in shared.items()
            if name not in found and any(name in each for each in texts)
        }:
            found |= more
            texts += more.values()
        return {name: text.lstrip("\n") for name, text in found.items()}


def shared_files() -> dict[str, str]:
    """Reads the configurations that peers share, by their names."""
    return {file.name: file.read_text("utf-8") for file in sorted((HERE / "shared").iterdir())}


def read_peers() -> list[Peer]:
    """Reads all files of ``peers/``, in the order of their names."""
    return [peer_of(file) for file in sorted((HERE / "peers").glob("*.toml"))]


def peer_of(file: Path) -> Peer:
    """Makes the peer of one file."""
    table = read(file)
    for name in ("serves", "needs", "modules", "paths"):
        table[name] = tuple(table.get(name, ()))
    return Peer(key=file.stem, **table)


def read(file: Path) -> dict[str, Any]:
    """Reads one file, and the one that it says it is like."""
    table = tomllib.loads(file.read_text("utf-8"))
    model = table.pop("like", None)
    if model is None:
        return table
    other = read(file.with_stem(model))
    # Each mode of a server says itself whether it is the one for which there is always time.
    other.pop("quick", None)
    merged = {name: other.get(name, {}) | table.get(name, {}) for name in MERGED}
    return other | table | merged


def program(name: str) -> str | None:
    """Returns where a program is: as the command line says, beside this Python, or on the path."""
    return shutil.which(PROGRAMS.get(name, name), path=str(SCRIPTS)) or shutil.which(PROGRAMS.get(name, name))


def told_where(name: str) -> str:
    """A program, and its path if the command line gives one."""
    return f"{name} ({PROGRAMS[name]})" if name in PROGRAMS else name


def programs_of(peers: Iterable[Peer]) -> set[str]:
    """Returns the names of all programs for which the command line may give a path."""
    lines = [line for peer in peers for line in (*peer.lines(), peer.version, *peer.asked.values())]
    first = {shlex.split(line)[0] for line in lines if line}
    return {name for name in first if "{" not in name}.union(*(peer.needs for peer in peers))


@contextlib.contextmanager
def told_if_lost(command: list[str]) -> Iterator[None]:
    """Raises :class:`PeerError` where a program cannot be executed: it is there, but what it needs is not."""
    try:
        yield
    except OSError as error:
        raise PeerError(f"{command[0]} cannot be run: {error.strerror}") from error


def output_of(line: str) -> subprocess.CompletedProcess[str]:
    """Runs a command line to its end.

    Raises :class:`PeerError` when it cannot be executed.
    """
    command = command_of(line, SYSTEM)
    with told_if_lost(command):
        return subprocess.run(  # noqa: S603 - from our own files
            command, capture_output=True, text=True, errors="replace", check=False
        )


def version_of(peer: Peer) -> str:
    """Returns the version that a peer tells of itself.

    Raises :class:`PeerError` when it cannot be asked.
    """
    done = output_of(peer.version)
    found = re.search(r"\d+\.\d+[\w.+~-]*", done.stdout + done.stderr)
    return found.group(0) if found else "unknown"


def words_of(peer: Peer) -> Iterator[tuple[str, str]]:
    """Yields the peer's own words, those that have to be asked for last.

    Raises :class:`PeerError` when a program does not tell one.
    """
    yield from ((name, replaced(text, SYSTEM)) for name, text in peer.words.items())
    for name, line in peer.asked.items():
        done = output_of(line)
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines()
            raise PeerError(f"`{line}` fails with status {done.returncode}: {' / '.join(said[-3:])}")
        yield name, done.stdout.strip()


def command_of(line: str, words: Mapping[str, object]) -> list[str]:
    """Splits a command line, with words in braces replaced, and finds its program."""
    command = [replaced(part, words) for part in shlex.split(line)]
    return [program(command[0]) or command[0], *command[1:]]


def replaced(text: str, words: Mapping[str, object]) -> str:
    """Replaces ``{port}`` and its like; other braces stay as they are."""
    pattern = r"\{(" + "|".join(words) + r")\}"
    return re.sub(pattern, lambda found: str(words[found.group(1)]), text)
