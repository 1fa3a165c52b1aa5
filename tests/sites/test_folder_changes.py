"""Changes beneath folders count soon; meanwhile, nothing is served that is closed in both states."""

from __future__ import annotations

import ctypes
import os
import shutil
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from sites.conftest import BCRYPT, write
from sites.test_auth import PASSWORD, credentials
from sites.test_folders import OWN, WORDS, say
from support.server import until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.client import Connection
    from support.server import Server, Servers

FILE = f"""
[[sites]]
root = "public"

[[sites.routes]]
files = "."
may-set = {WORDS}
htaccess = {WORDS}
"""

HT = ".htaccess"
DENY = 'deny = ["127.0.0.1"]\n'
DENY_OTHERS = 'deny = ["192.0.2.1"]\n'
DENIED = "Require all denied\n"

OLD, NEW = "what is there first\n", "what comes later\n"

Answer = tuple[int, str]
"""A status, and the content of the file if it is answered."""

BEFORE: Answer = (200, OLD)
AFTER: Answer = (200, NEW)
CLOSED: Answer = (403, "")
ASKED: Answer = (401, "")
WRONG: Answer = (500, "")
ABSENT: Answer = (404, "")


@dataclass(frozen=True)
class Change:
    """A change of a folder `a`, and the right answers to `a/b/x.txt` before, during and after it."""

    name: str
    old: Answer
    new: Answer
    change: Callable[[Path], object]
    prepare: Callable[[Path], object] = lambda _: None
    between: frozenset[Answer] = frozenset()
    """Answers that are right between the steps of a change that has several."""
    target: str = "a/b/x.txt"
    user: str = ""


def exchange(one: Path, other: Path) -> None:
    """Exchange two files or folders in one step (renameat2)."""
    here, exchanges = -100, 2
    libc = ctypes.CDLL(None, use_errno=True)
    done = libc.renameat2(here, os.fsencode(one), here, os.fsencode(other), exchanges)
    assert done == 0, os.strerror(ctypes.get_errno())


def make(folder: Path, rules: str = "", content: str = NEW) -> Path:
    """Make a folder with the file `b/x.txt`, and with rules if any are given."""
    (folder / "b").mkdir(parents=True)
    (folder / "b/x.txt").write_text(content, encoding="utf-8")
    if rules:
        say(folder, rules)
    return folder


def steps(*each: Callable[[Path], object]) -> Callable[[Path], None]:
    """Return several steps as one."""

    def do(top: Path) -> None:
        for step in each:
            step(top)

    return do


def saying(text: str, folder: str = "a", name: str = OWN) -> Callable[[Path], None]:
    """Return the step that replaces a folder's file of settings, by a rename."""
    return lambda top: say(top / folder, text, name)


def putting(content: str, file: str = "a/b/x.txt") -> Callable[[Path], None]:
    """Return the step that replaces a file by another file, by a rename."""

    def put(top: Path) -> None:
        (top / "part").write_text(content, encoding="utf-8")
        (top / "part").rename(top / file)

    return put


def in_place(text: str, file: str = f"a/{OWN}") -> Callable[[Path], None]:
    """Return the step that overwrites a file, which keeps its inode."""

    def put(top: Path) -> None:
        with (top / file).open("r+", encoding="utf-8") as there:
            there.write(text)

    return put


def passwords(users: str) -> Callable[[Path], None]:
    """Return the step that replaces a file of passwords."""
    return putting("".join(f"{user}:{BCRYPT}\n" for user in users.split()), "a/.htpasswd")


def removed_and_returned(top: Path) -> None:
    """Take a file of settings away, and put it back."""
    (top / "a" / OWN).rename(top / "kept")
    (top / "kept").rename(top / "a" / OWN)


def linked(top: Path) -> None:
    """Replace a file of settings by a link to a file with the same text."""
    (top / "link").symlink_to(top / "a/same.toml")
    (top / "link").rename(top / "a" / OWN)


def swapped(rules: str) -> Callable[[Path], None]:
    """Return the step that exchanges `a` for another folder at once."""
    return lambda top: exchange(make(top / "other", rules), top / "a")


def moved_in(top: Path) -> None:
    """Move a folder with rules from outside into the served folder."""
    make(top.parent.parent / "outside" / top.name, DENY).rename(top / "c")


def linked_back(top: Path) -> None:
    """Rename a folder, and put a link to it in its place."""
    (top / "a").rename(top / "z")
    (top / "a").symlink_to("z")


def made_again(top: Path) -> None:
    """Remove a closed folder, and make a new folder with its name."""
    shutil.rmtree(top / "a")
    make(top / "other").rename(top / "a")


def linked_elsewhere(top: Path) -> None:
    """Replace a folder by a link to a closed folder, at once."""
    make(top / "other", DENY)
    (top / "link").symlink_to("other")
    exchange(top / "link", top / "a")


def unreadable(top: Path) -> None:
    """Make a file of settings unreadable for every user except root."""
    (top / "a" / OWN).chmod(0)


CLOSING = steps(saying(DENY))

CHANGES = [
    Change("written", BEFORE, CLOSED, saying(DENY)),
    Change("written-above", BEFORE, CLOSED, saying(DENY, ".")),
    Change("written-below", BEFORE, CLOSED, saying(DENY, "a/b")),
    Change("written-htaccess", BEFORE, CLOSED, saying(DENIED, name=HT)),
    Change("written-beside", BEFORE, CLOSED, saying(DENIED, name=HT), saying(DENY_OTHERS)),
    Change("removed", CLOSED, BEFORE, lambda top: (top / "a" / OWN).unlink(), CLOSING),
    Change("replaced", CLOSED, BEFORE, saying(DENY_OTHERS), CLOSING),
    Change("replaced-to-close", BEFORE, CLOSED, saying(DENY), saying(DENY_OTHERS)),
    Change("in-place", BEFORE, CLOSED, in_place(DENY), saying(DENY_OTHERS)),
    Change(
        "exchanged",
        CLOSED,
        BEFORE,
        lambda top: exchange(top / "a" / OWN, top / "other"),
        steps(CLOSING, putting(DENY_OTHERS, "other")),
    ),
    Change("returned", CLOSED, CLOSED, removed_and_returned, CLOSING, frozenset({BEFORE})),
    Change("unreadable", CLOSED, CLOSED if os.geteuid() == 0 else WRONG, unreadable, CLOSING),
    Change("linked", CLOSED, WRONG, linked, steps(CLOSING, putting(DENY, "a/same.toml"))),
    Change("wrong", CLOSED, WRONG, saying("deny = 1\n"), CLOSING),
    Change("mended", WRONG, CLOSED, saying(DENY), saying("deny = 1\n")),
    Change("grown", CLOSED, WRONG, saying(DENY + "#" * (64 << 10)), CLOSING),
    Change(
        "folder-of-settings",
        CLOSED,
        WRONG,
        lambda top: ((top / "a" / OWN).unlink(), (top / "a" / OWN).mkdir()),
        CLOSING,
        frozenset({BEFORE}),
    ),
    Change("parent-renamed", BEFORE, ABSENT, lambda top: (top / "a").rename(top / "z")),
    Change(
        "parent-renamed-there",
        ABSENT,
        CLOSED,
        lambda top: (top / "a").rename(top / "z"),
        CLOSING,
        target="z/b/x.txt",
    ),
    Change(
        "parent-removed", CLOSED, ABSENT, lambda top: shutil.rmtree(top / "a"), CLOSING, frozenset({BEFORE})
    ),
    Change("parent-made-again", CLOSED, AFTER, made_again, CLOSING, frozenset({ABSENT, BEFORE})),
    Change("parent-replaced-to-close", BEFORE, CLOSED, swapped(DENY)),
    Change("parent-replaced-to-open", CLOSED, AFTER, swapped(""), CLOSING),
    Change("parent-replaced-by-link", BEFORE, ABSENT, linked_elsewhere),
    Change("parent-replaced-by-link-back", BEFORE, ABSENT, linked_back),
    Change("parent-closed-and-linked-back", CLOSED, ABSENT, linked_back, CLOSING),
    Change("moved-in", ABSENT, CLOSED, moved_in, target="c/b/x.txt"),
    Change("closed-and-filled", BEFORE, CLOSED, steps(saying(DENY), putting(NEW))),
    Change("closed-above-and-filled", BEFORE, CLOSED, steps(saying(DENY, "."), putting(NEW))),
    Change(
        "closed-and-made",
        ABSENT,
        CLOSED,
        steps(saying(DENY), putting(NEW, "a/b/new.txt")),
        target="a/b/new.txt",
    ),
    Change(
        "emptied-and-opened",
        CLOSED,
        AFTER,
        steps(putting(NEW), lambda top: (top / "a" / OWN).unlink()),
        CLOSING,
    ),
    Change(
        "closed-and-indexed",
        BEFORE,
        CLOSED,
        steps(saying(DENY), putting(NEW, "a/b/index.html")),
        putting(OLD, "a/b/index.html"),
        target="a/b/",
    ),
    Change(
        "user-added",
        ASKED,
        BEFORE,
        passwords("bob ann"),
        steps(passwords("bob"), saying('auth = "basic:.htpasswd"\n')),
        user="ann",
    ),
    Change(
        "user-removed",
        BEFORE,
        ASKED,
        passwords("bob"),
        steps(passwords("bob ann"), saying('auth = "basic:.htpasswd"\n')),
        user="ann",
    ),
    Change(
        # While the file of passwords is missing, its last users still count (ADY221).
        "passwords-removed-and-made",
        BEFORE,
        ASKED,
        steps(lambda top: (top / "a/.htpasswd").unlink(), passwords("bob")),
        steps(passwords("ann"), saying('auth = "basic:.htpasswd"\n')),
        user="ann",
    ),
    Change("redirected", BEFORE, (307, ""), saying('[[redirects]]\npath = "b/"\nredirect = "/z"\n')),
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which each change has its own folder."""
    project = tmp_path_factory.mktemp("changes")
    (project / "outside").mkdir()
    for change in CHANGES:
        top = project / "public" / change.name
        make(top / "a", content=OLD)
        change.prepare(top)
    return project


@pytest.fixture(scope="module")
def server(serve_session: Servers, project: Path) -> Server:
    """Serve it."""
    return serve_session(write(project, FILE).name, cwd=project)


@pytest.fixture
def public(project: Path) -> Path:
    """Return the folder that is served."""
    return project / "public"


def ask(connection: Connection, change: Change) -> Answer:
    """Return what a client sees of a change."""
    fields = credentials(change.user, PASSWORD) if change.user else []
    answer = connection.get(f"/{change.name}/{change.target}", fields=fields)
    return answer.status, answer.body.decode() if answer.status == 200 else ""


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.name)
def test_change(server: Server, public: Path, change: Change) -> None:
    """A client that asks without a pause sees the old state, then the new state, and nothing else."""
    seen: list[Answer] = []
    is_done = threading.Event()

    def watch() -> None:
        with server.connect(lint_answers=False) as connection:
            while not is_done.is_set():
                seen.append(ask(connection, change))

    with server.connect(lint_answers=False) as connection:
        assert {change.old} == {ask(connection, change) for _ in range(3)}
        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            assert until(lambda: len(seen) > 10)
            change.change(public / change.name)
            assert until(lambda: ask(connection, change) == change.new), (seen[-1], server.log()[-2_000:])
        finally:
            is_done.set()
            watcher.join()
        assert {change.new} == {ask(connection, change) for _ in range(3)}
    assert set(seen) <= {change.old, change.new} | change.between


FOLDERS = 3_000


def test_thousands_of_folders(server: Server, public: Path) -> None:
    """Thousands of closed folders that appear at once are never served, whether made there or moved in."""
    outside = public.parent / "outside" / "many"
    for number in range(FOLDERS):
        make(outside / f"{number}", DENY)
    made = public / "made"
    made.mkdir()
    last: list[int] = []

    def build() -> None:
        for number in range(FOLDERS):
            folder = made / f"{number}"
            (folder / "b").mkdir(parents=True)
            (folder / OWN).write_text(DENY, encoding="utf-8")
            (folder / "b/x.txt").write_text(NEW, encoding="utf-8")
            last[:] = [number]

    builder = threading.Thread(target=build)
    builder.start()
    seen = set()
    try:
        with server.connect(lint_answers=False) as connection:
            while builder.is_alive():
                number = last[0] if last else 0
                for other in (number, number + 1, number + 2):
                    seen.add(connection.get(f"/made/{other}/b/x.txt").status)
            outside.rename(public / "many")
            moved = {connection.get(f"/many/{number}/b/x.txt").status for number in range(FOLDERS)}
    finally:
        builder.join()

    assert {403} == moved
    # Rules that are being written close their folder.
    assert seen <= {403, 404, 500}
