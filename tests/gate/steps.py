"""Steps of each level: `check` before a commit, `test` before anything lands, `soak` before a release.

A step is a list of jobs that run side by side; the first step with a failure is the last one.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import setup
from pool import SIDE_BY_SIDE, Job
from setup import CACHE, FREE_THREADED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

PYTHONS = os.environ.get("PYTHONS", "3.11 3.12 3.13 3.13t").split()
FIRST = PYTHONS[0]
OTHER = "3.11" if FIRST == "3.13" else "3.13"
"""The Python that one of the groups of tests/real runs with beside the first one, if PYTHONS has it."""
JUNIT = CACHE / "junit"

QUICK = ("rules", "attack", "static", "wsgi", "handlers", "free_threaded", "harness", "leaks")
"""Folders whose tests wait for nothing."""
EVERY_PYTHON = ("wsgi", "handlers", "free_threaded", "leaks")
"""Folders in which the interpreter and its C API decide the answers."""
TWO_PYTHONS = ("threads",)
"""Folders in which the interpreter's lock matters: they run with a Python that has it, and one without."""
OF_SOCKETS = tuple(f"tests/threads/test_{name}.py" for name in ("overload", "readers", "uploads"))
"""Files of these folders that depend on clients, and on no lock: one Python is enough except in `soak`."""
ONE_PYTHON = (
    "bench",
    "processes",
    "sites",
    "compare",
    "attack",
    "real",
    "logs",
    "command",
    "hostile",
    "tune",
    "originals",
    "rules",
    "static",
    "harness",
)
"""Folders about code in Rust, and about programs as a whole; folders that take longest come first."""
FIRST_PYTHON = ("classics",)
"""Folders whose packages only the first Python has: they take minutes, and some have parts in C."""
FIRST_REQUIREMENTS = ("tests/classics/requirements.txt", "tests/originals/requirements.txt")
"""Packages that only the first Python has."""
OF_SITE = "docs/requirements.txt"
"""Packages of the site of the guide, which the first Python makes."""
ALL_FOLDERS = ("tests/tidy/requirements.txt", "tests/apps/requirements.txt", "tests/real/requirements.txt")
"""Packages of Pythons with which all folders are run."""
ANY_THREADS = (
    "wsgi",
    "handlers",
    "free_threaded",
    "leaks",
    "attack",
    "real",
    "hostile",
    "logs",
    "rules",
    "static",
)
"""Folders whose servers do not choose their threads, and whose answers depend on them."""
ONE_THREAD = ("wsgi", "handlers")
"""Folders whose answers are the same if only one thread enters the application."""

# httplint needs Brotli, which turns the lock on in the tests' free-threaded interpreter, but not in a server
# of ours.
BROTLI = "ignore:The global interpreter lock (GIL) has been enabled to load module '_brotli':RuntimeWarning"


@dataclass(frozen=True)
class Step:
    """Jobs, what they are for, and how many of them run at once."""

    title: str
    jobs: Sequence[Job]
    side_by_side: int = SIDE_BY_SIDE
    recorded: bool = False
    """Whether its last result is written into tests/soak.md."""
    second_try: bool = False
    """Whether a test that failed is run once more, alone, when all jobs have ended."""


def check() -> Iterator[Step]:
    """Yield all quick steps, with one Python: some minutes the first time, one minute later on."""
    yield from prepare([FIRST], "ci")
    yield from first_server()
    yield Step("folders that wait for nothing", [suite(folder, FIRST) for folder in QUICK])


def test() -> Iterator[Step]:
    """Yield all steps that a change has to pass: 25 minutes at most from nothing, on two cores."""
    yield Step("Debian packages", [part("debian")])
    yield from prepare([FIRST], "ci", *FIRST_REQUIREMENTS, beside=[loom(), documentation()])
    yield Step("what others take of this clone", [dependencies("keep")])
    # The build of the server leaves a CPU idle: its last crate is one unit of code.
    yield from first_server(packages(version, "ci", ()) for version in reversed(PYTHONS[1:]))
    yield Step("all folders, the budget", [budget(), *suites()], second_try=True)


def soak() -> Iterator[Step]:
    """Yield hours of work: release builds, all folders and Pythons, sanitizer, long tests and fuzzing."""
    yield Step("Debian packages", [part("debian")])
    yield from prepare(PYTHONS, "release", *FIRST_REQUIREMENTS, beside=[documentation()])
    # One at a time: crates that do not know Python are built once for all of them.
    yield Step("server", [server(version, "release") for version in PYTHONS], side_by_side=1)
    yield Step("Python: format, lints, types; tidy", list(lints("release")))
    for version in PYTHONS:
        first = FIRST_PYTHON if version == FIRST else ()
        folders = dict.fromkeys((*TWO_PYTHONS, *ONE_PYTHON, *EVERY_PYTHON, *first))
        jobs = [suite(folder, version, "release") for folder in folders]
        jobs += [suite(folder, version, "release", threads=2) for folder in ANY_THREADS]
        yield Step(f"all folders, release build, Python {version}", jobs, recorded=True)
    yield Step("long tests, release build", list(long_suites()), recorded=True)
    sanitizer = Job("ThreadSanitizer", ["tests/sanitize"], hanging_after_s=7200)
    yield Step("ThreadSanitizer", [sanitizer], recorded=True)
    yield Step("fuzzing", [fuzzing()], recorded=True)


def prepare(
    versions: Sequence[str], profile: str, *of_first: str, beside: Iterable[Job] = ()
) -> Iterator[Step]:
    """Set up Pythons; format, lint and test what needs no server.

    `of_first` are requirements that only the first Python has.
    """
    jobs = [packages(version, profile, of_first) for version in reversed(versions)]
    taken = dependencies("take")
    rest = (replace(job, needs=taken.name) for job in (*rust(), *beside))
    yield Step("Pythons and their packages; Rust: format, lints, tests", [taken, *jobs, *rest])


def packages(version: str, profile: str, of_first: Sequence[str]) -> Job:
    """Return the job that makes the environment of a Python, with the packages that its tests import."""
    wanted = (OF_SITE, *of_first) if version == FIRST else ()
    if version == FIRST or profile != "ci":
        wanted = (*ALL_FOLDERS, *wanted)
    elif version == FREE_THREADED:
        wanted = ("tests/threads/requirements.txt",)
    elif version == OTHER:
        wanted = ("tests/apps/requirements.txt",)
    words = [version, profile, "tests/requirements.txt", *wanted]
    return Job(f"packages {version} {profile}", [sys.executable, "tests/gate/environments.py", *words])


def first_server(beside: Iterable[Job] = ()) -> Iterator[Step]:
    """Build the server for the first Python, and meanwhile check the Python code."""
    yield Step("server; Python: format, lints, types; tidy", [server(FIRST, "ci"), *lints("ci"), *beside])


def server(version: str, profile: str, needs: str = "") -> Job:
    """Return the job that builds the server for a Python, and installs it where its tests run."""
    options = setup.UNOPTIMISED if profile == "ci" and version != FIRST else ()
    return part("server", version, profile, *options, needs=needs)


def part(*words: str, needs: str = "") -> Job:
    """Return a part of the set-up, named by its first words."""
    return Job(" ".join(words[:3]), [sys.executable, "tests/gate/setup.py", *words], needs=needs)


def dependencies(what: str) -> Job:
    """Return the job that takes or keeps the dependencies that all clones share (`dependencies.py`)."""
    command = [sys.executable, "tests/gate/dependencies.py", what, FIRST]
    return Job(f"{what} Rust's dependencies", command)


def rust() -> Iterator[Job]:
    """Return the jobs of Cargo's checks, with the profile that the tests' servers are built with."""
    yield Job("rustfmt", ["cargo", "fmt", "--check"])
    variables = setup.cargo_environment(FIRST)
    # One profile for both, so that programs that run while Cargo builds (build scripts, procedural macros)
    # are built once.
    built = ["--quiet", "--profile", "ci", *setup.UNOPTIMISED, "--workspace"]
    yield Job("clippy", ["cargo", "clippy", *built, "--all-targets", "--", "-D", "warnings"], variables)
    yield Job("cargo test", ["cargo", "test", *built], variables)


def documentation() -> Job:
    """Return the build of all doc comments, private ones included: each of their links leads somewhere."""
    # With the profile of `rust`, so that no dependency is built again.
    built = ["--quiet", "--profile", "ci", *setup.UNOPTIMISED, "--workspace", "--no-deps"]
    variables = {**setup.cargo_environment(FIRST), "RUSTDOCFLAGS": "-D warnings"}
    return Job("cargo doc", ["cargo", "doc", *built, "--document-private-items"], variables)


def lints(profile: str) -> Iterator[Job]:
    """Return the jobs that check the Python code, and the jobs that check all code against our rules."""
    bin_folder = setup.python(FIRST, profile).parent
    folders = ["python", "tests", "examples", "benchmarks", "changes", "docs/conf.py"]
    yield Job("ruff check", [str(bin_folder / "ruff"), "check", *folders])
    yield Job("ruff format", [str(bin_folder / "ruff"), "format", "--check", *folders])
    yield Job("mypy", [str(bin_folder / "mypy")])
    yield site(profile)
    yield suite("tidy", FIRST, profile)


def site(profile: str) -> Job:
    """Return the check of the guide's site: each link leads somewhere, and each page is in the navigation.

    For a release, the site is written as well. Otherwise nothing is written, and the tables of records are
    left out: that takes a third of the time.
    """
    how = ["-b", "html"] if profile == "release" else ["-b", "dummy", "-t", "headings"]
    strict = ["-q", "-E", "--fail-on-warning", "--keep-going", "-d", str(CACHE / f"site-{profile}-pages")]
    command = [str(setup.python(FIRST, profile)), "-m", "sphinx", *how, *strict]
    return Job("site", [*command, "-c", "docs", ".", str(CACHE / f"site-{profile}")])


def suites() -> Iterator[Job]:
    """Return the folders of tests, the slowest first, and the servers of the other Pythons.

    Servers are built one after another: Cargo would make each build in the same folder wait for the last.
    """
    longest, *others = (suite(folder, FIRST) for folder in ONE_PYTHON)
    servers: list[Job] = []
    for version in sorted(PYTHONS, key=(FREE_THREADED, OTHER, *PYTHONS).index):
        if version != FIRST:
            servers.append(server(version, "ci", servers[-1].name if servers else ""))
    yield longest
    yield from servers[:1]
    free = [version for version in PYTHONS if version == FREE_THREADED][:1]
    for folder in TWO_PYTHONS:
        yield suite(folder, FIRST)
        yield from (suite(folder, version, without=OF_SOCKETS) for version in free if version != FIRST)
    yield from servers[1:]
    yield from others
    yield from (suite(folder, FIRST) for folder in FIRST_PYTHON)
    for version in PYTHONS:
        yield from (suite(folder, version) for folder in EVERY_PYTHON)
    yield from (suite(folder, FIRST, threads=1) for folder in ONE_THREAD)


def suite(
    folder: str,
    version: str,
    profile: str = "ci",
    threads: int = 0,
    marks: str = "not long",
    without: Sequence[str] = (),
) -> Job:
    """Return the job of a folder, except some files; servers have this many threads (0: their default)."""
    name = f"{folder} {version}" + (f" --threads {threads}" if threads else "")
    name += " (long)" if marks == "long" else ""
    report = JUNIT / f"{name.replace(' ', '-')}.xml"
    failures = report.with_suffix(".failures")
    command = [str(setup.python(version, profile)), "-m", "pytest", "-q", "-W", BROTLI, "-m", marks]
    command += [f"--junitxml={report}", f"--failures={failures}"]
    command += [*(f"--ignore={file}" for file in without), f"tests/{folder}"]
    built = version
    if folder == "real" and OTHER in PYTHONS:
        built = OTHER
    # Some servers are built in the same step as their tests run.
    is_beside = profile == "ci" and (built != FIRST or folder == "tidy")
    needs = server(built, profile).name if is_beside else ""
    variables = {
        "ADYTON_TEST_THREADS": str(threads or ""),
        "ADYTON_TEST_FIRST": FIRST,
        "ADYTON_TEST_OTHER": other_than(version),
    }
    return Job(name, command, variables, needs=needs, failures=failures)


def other_than(version: str) -> str:
    """Return the Python that a group of tests/real runs with beside this one; empty: there is none."""
    return FIRST if version != FIRST else OTHER if OTHER in PYTHONS else ""


def budget() -> Job:
    """Return the count of instructions that a request costs: a number that no load changes."""
    return Job("budget", [str(setup.python(FIRST, "ci")), "benchmarks/budget/run.py", "--build", "ci"])


def loom() -> Job:
    """Return the model of the hand-over, in every order of threads that the memory model allows."""
    variables = {"RUSTFLAGS": "--cfg loom", "CARGO_TARGET_DIR": str(CACHE / "loom")}
    return Job("loom", ["cargo", "test", "--quiet", "--release", "-p", "adyton-crew"], variables)


def fuzzing() -> Job:
    """Return the fuzz targets, each for ten minutes, or for $FUZZ_SECONDS."""
    return Job("fuzz", ["fuzz/run", os.environ.get("FUZZ_SECONDS", "600")], hanging_after_s=36_000)


def long_suites() -> Iterator[Job]:
    """Return the long jobs: threads and stress with every Python, other jobs with one that has the lock."""
    version = [version for version in PYTHONS if version != FREE_THREADED or version == FIRST][-1]
    for folder in ("memory", "leaks", "hostile", "processes", "real", "bench", "sites"):
        yield suite(folder, version, "release", marks="long")
    yield from (suite(folder, FIRST, "release", marks="long") for folder in FIRST_PYTHON)
    for folder in ("threads", "stress"):
        yield from (suite(folder, version, "release", marks="long") for version in PYTHONS)
