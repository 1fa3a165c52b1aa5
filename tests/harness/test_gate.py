"""The gate itself: a test that fails twice fails; a test that passes at the second try is named."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]

DRIVER = """
import json, sys
from pathlib import Path
from pool import Job, together
from second_try import second_tries, told

command, failures = json.loads(sys.argv[1]), Path(sys.argv[2])
jobs = [Job("inner", command, failures=failures)]
results = second_tries(jobs, together(jobs))
print(json.dumps([results[0].passed, told(results)]))
"""

BY_CHANCE = """
@pytest.mark.parametrize("name", ["a b", "[c]::d"])
def test_by_chance(name):
    assert seen(name)

def test_right():
    assert not seen("right")  # run twice, it would fail
"""
ALWAYS = """
def test_by_chance():
    assert seen("first")

def test_wrong():
    assert False
"""
TEARDOWN = """
@pytest.fixture(scope="module")
def server():
    yield
    assert seen("teardown")

def test_first(server):
    pass

def test_last(server):
    pass
"""
COLLECTION = "assert seen('collection')\n"
MANY = """
@pytest.mark.parametrize("number", range(11))
def test_by_chance(number):
    assert seen(str(number))
"""

SEEN = """
from pathlib import Path
import pytest

def seen(name):
    mark = Path({marks!r}) / name
    was_there = mark.exists()
    mark.touch()
    return was_there
"""


@pytest.mark.parametrize(
    ("tests", "named"),
    [
        pytest.param(
            BY_CHANCE,
            ["inner/test_it.py::test_by_chance[a b]", "inner/test_it.py::test_by_chance[[c]::d]"],
            id="by chance",
        ),
        pytest.param(ALWAYS, None, id="always"),
        pytest.param(TEARDOWN, ["(the whole folder, because a teardown failed)"], id="teardown"),
        pytest.param(COLLECTION, None, id="collection"),
        pytest.param(MANY, None, id="too many for chance"),
    ],
)
def test_second_try(tmp_path: Path, tests: str, named: list[str] | None) -> None:
    """A test that fails is run once more, alone; if it passes then, `named` is its name, else None."""
    inner = tmp_path / "tests/inner"
    inner.mkdir(parents=True)
    (tmp_path / "marks").mkdir()
    (inner.parent / "pytest.ini").write_text(
        f"[pytest]\naddopts = --import-mode=importlib\npythonpath = {TESTS}\n"
    )
    (inner.parent / "conftest.py").write_text((TESTS / "conftest.py").read_text(encoding="utf-8"))
    (inner / "test_it.py").write_text(SEEN.format(marks=str(tmp_path / "marks")) + tests)
    failures = tmp_path / "lists/inner.failures"
    command = [sys.executable, "-m", "pytest", "-q", f"--failures={failures}", str(inner)]
    driver = [sys.executable, "-c", DRIVER, json.dumps(command), str(failures)]
    done = subprocess.run(driver, cwd=TESTS / "gate", capture_output=True, text=True, check=True)
    told = [f"inner: {name}: passed at the second try" for name in named or ()]

    assert [named is not None, "\n".join(told)] == json.loads(done.stdout.splitlines()[-1])
