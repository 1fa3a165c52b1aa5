"""What each level runs: `check` before a commit, `test` before anything lands, `soak` before a release.

A step is a list of jobs that run side by side; the first step with a failure is the last one.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import setup
from pool import SIDE_BY_SIDE, Job
from setup import CACHE, FREE_THREADED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

PYTHONS = os.environ.get("PYTHONS", "3.11 3.12 3.13 3.13t").split()
FIRST = PYTHONS[0]
JUNIT = CACHE / "junit"

QUICK = ("rules", "attack", "static", "wsgi", "handlers", "free_threaded", "harness", "leaks")
"""Folders that wait for nothing."""
EVERY_PYTHON = ("wsgi", "handlers", "free_threaded", "leaks")
"""Folders in which the interpreter and its C API decide the answers."""
TWO_PYTHONS = ("processes", "threads")
"""Folders in which the interpreter's lock decides: a Python that has it, and one that has not."""
ONE_PYTHON = (
    "bench",
    "compare",
    "attack",
    "real",
    "tune",
    "hostile",
    "logs",
    "command",
    "sites",
    "rules",
    "static",
    "harness",
)
"""Folders about what is written in Rust, and about programs as a whole; those that take longest first."""
FIRST_PYTHON = ("classics",)
"""Folders whose packages only the first Python has: they take minutes, and some have parts in C."""
FIRST_REQUIREMENTS = "tests/classics/requirements.txt"
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
"""Folders whose answers are the same where one thread enters the application."""

# httplint needs Brotli, which turns the lock on in a free-threaded interpreter: not a server of ours.
BROTLI = "ignore:The global interpreter lock (GIL) has been enabled to load module '_brotli':RuntimeWarning"


@dataclass(frozen=True)
class Step:
    """Jobs, what they are for, and how many of them run at once."""

    title: str
    jobs: Sequence[Job]
    side_by_side: int = SIDE_BY_SIDE
    recorded: bool = False
    """Whether tests/soak.md tells how it went last."""


def check() -> Iterator[Step]:
    """Everything that is quick, with one Python: some minutes the first time, one later on."""
    yield from prepare([FIRST], "ci")
    yield Step("folders that wait for nothing", [*(suite(folder, FIRST) for folder in QUICK), fuzz_targets()])


def test() -> Iterator[Step]:
    """Everything that a change has to pass: 25 minutes at most from nothing, on two cores."""
    yield Step("Debian packages", [part("debian")])
    yield from prepare(PYTHONS, "ci", FIRST_REQUIREMENTS)
    yield Step(
        "all folders, the budget, and the hand-over in every order (loom)", [*suites(), budget(), loom()]
    )
    # All targets together have two minutes of one core.
    yield Step("fuzzing", [fuzzing(6)])


def soak() -> Iterator[Step]:
    """What takes hours: release builds, all folders with all Pythons, long tests, sanitizer, long fuzzing."""
    yield Step("Debian packages", [part("debian")])
    yield from prepare(PYTHONS, "release", FIRST_REQUIREMENTS)
    for version in PYTHONS:
        first = FIRST_PYTHON if version == FIRST else ()
        folders = dict.fromkeys((*TWO_PYTHONS, *ONE_PYTHON, *EVERY_PYTHON, *first))
        jobs = [suite(folder, version, "release") for folder in folders]
        jobs += [suite(folder, version, "release", threads=2) for folder in ANY_THREADS]
        yield Step(f"all folders, release build, Python {version}", jobs, recorded=True)
    yield Step("long tests, release build", list(long_suites()), recorded=True)
    sanitizer = Job("ThreadSanitizer", ["tests/sanitize"], hanging_after_s=7200)
    yield Step("ThreadSanitizer", [sanitizer], recorded=True)
    yield Step("fuzzing", [fuzzing(600)], recorded=True)


def prepare(versions: Sequence[str], profile: str, *of_first: str) -> Iterator[Step]:
    """Set up all Pythons; format, lint and test what needs no server; build the server for each.

    `of_first` are requirements that the first Python has alone.
    """
    jobs = [
        part("packages", version, profile, *(of_first if version == FIRST else ()))
        for version in reversed(versions)
    ]
    yield Step("Pythons and their packages; Rust: format, lints, tests", [*jobs, *rust()])
    # One at a time: what does not know Python is built once for all of them.
    yield Step("server", [part("server", version, profile) for version in versions], side_by_side=1)
    yield Step("Python: format, lints, types; tidy", list(lints(versions, profile)))


def part(*words: str) -> Job:
    """Return a part of the set-up."""
    return Job(" ".join(words), [sys.executable, "tests/gate/setup.py", *words])


def rust() -> Iterator[Job]:
    """Return what Cargo checks, with the profile that the tests' servers are built with."""
    yield Job("rustfmt", ["cargo", "fmt", "--check"])
    variables = setup.cargo_environment(FIRST)
    lint = ["cargo", "clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"]
    yield Job("clippy", lint, variables)
    yield Job("cargo test", ["cargo", "test", "--quiet", "--profile", "ci", "--workspace"], variables)


def fuzz_targets() -> Job:
    """Return the check of what the other levels compile when they run it: a workspace of its own."""
    targets = ["cargo", "check", "--quiet", "--manifest-path", "fuzz/Cargo.toml"]
    return Job("fuzz targets compile", targets, {"CARGO_TARGET_DIR": str(CACHE / "fuzz")})


def lints(versions: Iterable[str], profile: str) -> Iterator[Job]:
    """Return what checks the Python code, and what holds all code to its promises."""
    version = [version for version in versions if version != FREE_THREADED or version == FIRST][-1]
    bin_folder = setup.python(version, profile).parent
    folders = ["python", "tests", "examples", "benchmarks"]
    yield Job("ruff check", [str(bin_folder / "ruff"), "check", *folders])
    yield Job("ruff format", [str(bin_folder / "ruff"), "format", "--check", *folders])
    yield Job("mypy", [str(bin_folder / "mypy")])
    yield suite("tidy", FIRST, profile)


def suites() -> Iterator[Job]:
    """Return the folders of tests, those that take longest first: the last to end has nothing beside it."""
    longest, *others = (suite(folder, FIRST) for folder in ONE_PYTHON)
    yield longest
    free = [version for version in PYTHONS if version == FREE_THREADED][:1]
    for folder in TWO_PYTHONS:
        yield from (suite(folder, version) for version in dict.fromkeys([*free, FIRST]))
    yield from others
    yield from (suite(folder, FIRST) for folder in FIRST_PYTHON)
    for version in PYTHONS:
        yield from (suite(folder, version) for folder in EVERY_PYTHON)
    yield from (suite(folder, FIRST, threads=1) for folder in ONE_THREAD)


def suite(folder: str, version: str, profile: str = "ci", threads: int = 0, marks: str = "not long") -> Job:
    """Return the job that runs a folder; its servers have so many threads (0: their default)."""
    name = f"{folder} {version}" + (f" --threads {threads}" if threads else "")
    name += " (long)" if marks == "long" else ""
    report = JUNIT / f"{name.replace(' ', '-')}.xml"
    command = [str(setup.python(version, profile)), "-m", "pytest", "-q", "-W", BROTLI, "-m", marks]
    command += [f"--junitxml={report}", f"tests/{folder}"]
    return Job(name, command, {"ADYTON_TEST_THREADS": str(threads or "")})


def budget() -> Job:
    """Return the count of instructions that a request costs: a number that no load changes."""
    return Job("budget", [str(setup.python(FIRST, "ci")), "benchmarks/budget/run.py", "--build", "ci"])


def loom() -> Job:
    """Return the model of the hand-over, in every order of threads that the memory model allows."""
    variables = {"RUSTFLAGS": "--cfg loom", "CARGO_TARGET_DIR": str(CACHE / "loom")}
    return Job("loom", ["cargo", "test", "--quiet", "--release", "-p", "adyton-crew"], variables)


def fuzzing(seconds: int) -> Job:
    """Return the fuzz targets, each for so long, or for $FUZZ_SECONDS."""
    return Job("fuzz", ["fuzz/run", os.environ.get("FUZZ_SECONDS", str(seconds))], hanging_after_s=36_000)


def long_suites() -> Iterator[Job]:
    """Return the tests that take minutes each: stress with every Python, the others with one that locks."""
    version = [version for version in PYTHONS if version != FREE_THREADED or version == FIRST][-1]
    for folder in ("memory", "leaks", "hostile", "processes", "real"):
        yield suite(folder, version, "release", marks="long")
    yield from (suite(folder, FIRST, "release", marks="long") for folder in FIRST_PYTHON)
    yield from (suite("stress", version, "release", marks="long") for version in PYTHONS)
