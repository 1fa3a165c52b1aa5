"""PostgreSQL for the scenario that queries a database: made in a folder of its own, started, and ended."""

from __future__ import annotations

import contextlib
import os
import pwd
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from adyton._command import uninterrupted
from adyton._processes import stop
from adyton._runs import environment
from adyton.compare.articles import ARTICLES
from adyton.compare.peers import PeerError, program
from adyton.compare.running import seated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from adyton.compare.scenarios import Scenario

DEBIAN = Path("/usr/lib/postgresql")
"""Folder in which Debian has a folder for each version, with its programs in `bin`."""
USERS = ("postgres", "nobody")
"""PostgreSQL refuses to run as root: if we are root, the first of these users that exists runs it."""
NAME = "compare"
"""Name of the database, and of its user."""
START_S = 60.0
LOOK_S = 0.01
"""Time between two checks whether the database has started."""
CONNECTIONS_MAX = 1000
"""Most connections at once: each thread of a server may keep one, and Apache has 150 threads in a process."""
INSTALL = "PostgreSQL is not installed: `apt-get install postgresql`"


@dataclass(frozen=True)
class Database:
    """A database that runs, or the reason why it does not."""

    socket: Path | None = None
    """The folder of its socket."""
    leaders: frozenset[int] = frozenset()
    """Leaders of the sessions that its processes are in."""
    why_not: str = ""
    """Why there is no database, and what to do."""


@contextlib.contextmanager
def database_of(scenario: Scenario, cpus: frozenset[int]) -> Iterator[Database]:
    """Runs the database that a scenario needs on these CPUs; gives instructions if PostgreSQL is missing."""
    with contextlib.ExitStack() as stack:
        database = Database()
        if any(load.needs_database for load in scenario.loads):
            try:
                with seated(cpus):
                    database = stack.enter_context(running_database())
            except (PeerError, OSError) as error:
                database = Database(why_not=str(error))
        yield database


def postgres() -> Path | None:
    """Returns the newest server program that is installed; the other programs are in the same folder."""
    found = [path for path in DEBIAN.glob("*/bin/postgres") if path.parent.parent.name.isdigit()]
    on_path = program("postgres")
    newest = max(found, key=lambda path: int(path.parent.parent.name), default=None)
    return newest or (Path(on_path).resolve() if on_path else None)


@contextlib.contextmanager
def running_database() -> Iterator[Database]:
    """Runs PostgreSQL with the articles in it during the block, for every user who can reach its socket.

    Raises :class:`PeerError` when it does not start.
    """
    server = postgres()
    if server is None:
        raise PeerError(INSTALL)
    with tempfile.TemporaryDirectory(prefix="adyton-postgres-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        before = as_another_user(folder)
        make(server, folder, before)
        # No data is written while servers are compared, so no data has to survive a crash.
        command = [*before, str(server), "-D", str(folder / "data"), "-k", str(folder), "-h", ""]
        command += ["-c", f"max_connections={CONNECTIONS_MAX}"]
        with (folder / "said").open("wb") as said, uninterrupted():
            process = subprocess.Popen(  # noqa: S603 - of the system
                command, cwd=folder, env=environment(), stdout=said, stderr=said, start_new_session=True
            )
        try:
            wait_until_ready(process, folder)
            yield Database(folder, frozenset({process.pid}))
        finally:
            # Not SIGTERM, after which PostgreSQL waits for clients that are still connected.
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(START_S)
            stop(process)


def as_another_user(folder: Path) -> list[str]:
    """Gives a folder to a user who is not root; returns the words that make a command run as that user."""
    if os.geteuid():
        return []
    for user in USERS:
        with contextlib.suppress(KeyError):
            found = pwd.getpwnam(user)
            os.chown(folder, found.pw_uid, found.pw_gid)
            ids = [f"--reuid={found.pw_uid}", f"--regid={found.pw_gid}"]
            return ["setpriv", *ids, "--clear-groups"]
    raise PeerError(
        f"PostgreSQL refuses to be run by root, and there is none of the users {', '.join(USERS)}"
    )


def make(server: Path, folder: Path, before: list[str]) -> None:
    """Makes the database: its owner cannot connect, and the user who connects may only read the articles."""
    data = folder / "data"
    initdb = [str(server.with_name("initdb")), "-D", str(data), "--no-sync", "--locale=C", "--encoding=UTF8"]
    asked([*before, *initdb], folder)
    (data / "pg_hba.conf").write_text(f"local {NAME} {NAME} trust\n", "utf-8")
    alone = [*before, str(server), "--single", "-D", str(data)]
    asked([*alone, "postgres"], folder, f"CREATE ROLE {NAME} LOGIN", f"CREATE DATABASE {NAME}")
    rows = ", ".join(f"({number}, {quoted(name)}, {price})" for number, name, price, _ in ARTICLES)
    asked(
        [*alone, NAME],
        folder,
        "CREATE TABLE articles (number integer PRIMARY KEY, name text NOT NULL, price integer NOT NULL)",
        f"INSERT INTO articles VALUES {rows}",  # noqa: S608 - the SQL is our own
        f"GRANT SELECT ON articles TO {NAME}",
    )


def quoted(text: str) -> str:
    """Returns a text as a string literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def asked(command: list[str], folder: Path, *statements: str) -> None:
    """Runs a program of PostgreSQL to its end, with SQL statements as its input."""
    told = "".join(f"{statement}\n" for statement in statements)
    done = subprocess.run(  # noqa: S603 - of the system
        command, input=told, cwd=folder, env=environment(), capture_output=True, text=True, check=False
    )
    # In single-user mode the server prints errors of SQL, and ends with status 0 nevertheless.
    if done.returncode or "ERROR:" in done.stderr:
        said = done.stderr.strip().splitlines()
        raise PeerError(f"PostgreSQL cannot be set up: {' / '.join(said[-3:])}")


def wait_until_ready(process: subprocess.Popen[bytes], folder: Path) -> None:
    """Waits until PostgreSQL serves: the last line of a file says so."""
    deadline = time.monotonic() + START_S
    state = folder / "data" / "postmaster.pid"
    while not (state.exists() and state.read_text("utf-8").splitlines()[-1:] == ["ready   "]):
        if process.poll() is not None or time.monotonic() > deadline:
            said = (folder / "said").read_text("utf-8", "replace").strip().splitlines()
            raise PeerError(f"PostgreSQL does not start: {' / '.join(said[-3:])}")
        time.sleep(LOOK_S)
