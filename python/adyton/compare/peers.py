"""The peers: one small file each, which says how the peer starts, what it serves, and what it needs."""

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
"""Folder of this Python, in which the programs of its packages are, too."""
SYSTEM = {
    "python": sys.executable,
    "prefix": sys.prefix,
    "apache": "/usr/lib/apache2/modules",
}
"""Values of words in braces that are equal for every peer and every start."""
PROGRAMS: dict[str, str] = {}
"""Programs whose paths the command line gives."""
MERGED = ("files", "words", "asked")
"""Tables of the peer that it is `like`, to which a peer adds; its other keys replace inherited keys."""


class PeerError(Exception):
    """Raised when a peer does not start, or does not answer."""


@dataclass(frozen=True)
class Peer:
    """One file of ``peers/``."""

    key: str
    """The name of its file, by which it is chosen."""
    name: str
    serves: tuple[str, ...]
    """Kinds of pages that the peer has: names in ``pages.PLACES``, which has their paths."""
    start: str
    """The command line; words in braces are replaced."""
    version: str
    """A command line that prints the version."""
    beside: str = ""
    """A second program that has to run, such as the uWSGI behind nginx."""
    base: str = ""
    """Prefix of the paths of all pages."""
    forks: bool = False
    """Whether each request has its own process, whose CPU time cannot be read anywhere after its end."""
    reload: str = ""
    """The signal, such as `HUP`, at which its first process replaces all others; empty if it has none."""
    older: bool = False
    """Whether it is an older vintage of another peer: it takes part only if named, or with ``--publish``."""
    quick: bool = False
    """Whether it takes part even if there is no time for every mode of every server."""
    user: str = ""
    """The user that starts it, when we are root."""
    needs: tuple[str, ...] = ()
    """Programs that must be installed."""
    modules: tuple[str, ...] = ()
    """Python modules that must be installed."""
    paths: tuple[str, ...] = ()
    """Files that must exist."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Files that are written for it, by their names in its folder."""
    words: Mapping[str, str] = field(default_factory=dict)
    """Values of the peer's own words in braces."""
    asked: Mapping[str, str] = field(default_factory=dict)
    """Command lines that print the values of further words in braces, by these words."""

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
        """The command lines as the page shows them: with the peer's sizes, without paths of this machine."""
        usual = {"port": 8000, "work": ".", "files": "files", "closing": ""}
        text = replaced(" & ".join(self.lines()), {**usual, **self.words, **sizes})
        return text.replace("{python}", "python").replace("{app}/", "").replace("{app}", ".")

    def configuration(self) -> dict[str, str]:
        """The configuration files by their names: the peer's own, and the shared files that they include."""
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
    """Reads the file of a peer, and the file of the other peer that its key `like` names."""
    table = tomllib.loads(file.read_text("utf-8"))
    model = table.pop("like", None)
    if model is None:
        return table
    other = read(file.with_stem(model))
    # `quick` is not inherited: each mode of a server says for itself whether it takes part in quick
    # comparisons.
    other.pop("quick", None)
    merged = {name: other.get(name, {}) | table.get(name, {}) for name in MERGED}
    return other | table | merged


def program(name: str) -> str | None:
    """Returns the path of a program: as given on the command line, beside this Python, or on ``PATH``."""
    return shutil.which(PROGRAMS.get(name, name), path=str(SCRIPTS)) or shutil.which(PROGRAMS.get(name, name))


def told_where(name: str) -> str:
    """Returns the name of a program, with its path if the command line gives one."""
    return f"{name} ({PROGRAMS[name]})" if name in PROGRAMS else name


def programs_of(peers: Iterable[Peer]) -> set[str]:
    """Returns the names of all programs for which the command line may give a path."""
    lines = [line for peer in peers for line in (*peer.lines(), peer.version, *peer.asked.values())]
    first = {shlex.split(line)[0] for line in lines if line}
    return {name for name in first if "{" not in name}.union(*(peer.needs for peer in peers))


@contextlib.contextmanager
def told_if_lost(command: list[str]) -> Iterator[None]:
    """Raises :class:`PeerError` if a program cannot be executed, as when its interpreter is missing."""
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
    """Returns the version that a peer prints.

    Raises :class:`PeerError` when its program cannot be executed.
    """
    done = output_of(peer.version)
    found = re.search(r"\d+\.\d+[\w.+~-]*", done.stdout + done.stderr)
    return found.group(0) if found else "unknown"


def words_of(peer: Peer) -> Iterator[tuple[str, str]]:
    """Yields the peer's own words in braces with their values; words whose values a program prints come last.

    Raises :class:`PeerError` when such a program fails.
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
    """Replaces words in braces such as ``{port}``; all other braces stay as they are."""
    pattern = r"\{(" + "|".join(words) + r")\}"
    return re.sub(pattern, lambda found: str(words[found.group(1)]), text)
