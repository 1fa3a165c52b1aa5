"""`tests/land` must move main to a commit that has passed the gate, and to nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

LAND = Path(__file__).resolve().parents[1] / "land"


class Repository:
    """A repository whose gate passes if `verdict` in it says "pass"."""

    def __init__(self, folder: Path) -> None:
        """Make it, with one commit on main and the branch `next` checked out."""
        self.folder = folder
        (folder / "tests").mkdir(parents=True)
        shutil.copy(LAND, folder / "tests/land")
        (folder / ".ci").mkdir()
        gate = 'echo "== all folders"\ncat said\n[ "$(cat verdict)" = pass ]\n'
        (folder / ".ci/run").write_text(gate, encoding="utf-8")
        (folder / ".gitignore").write_text("/.cache/\n", encoding="utf-8")
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit("pass")
        self.git("switch", "--quiet", "--create", "next")

    def git(self, *words: str) -> str:
        """Run git as somebody; return what it says."""
        who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
        command = ["git", *who, *words]
        done = subprocess.run(command, cwd=self.folder, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, verdict: str, said: str = "") -> str:
        """Commit what the gate will say, and how it will end; return the commit's name."""
        (self.folder / "verdict").write_text(verdict, encoding="utf-8")
        (self.folder / "said").write_text(said, encoding="utf-8")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", verdict)
        return self.git("rev-parse", "HEAD")

    def land(self) -> tuple[int, str]:
        """Land HEAD, and wait; return the status of the wait, and what it says."""
        assert self.run().returncode == 0
        waited = self.run("wait")
        return waited.returncode, waited.stdout

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run `tests/land`."""
        command = ["tests/land", *words]
        return subprocess.run(command, cwd=self.folder, check=False, capture_output=True, text=True)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """Return a repository with a gate."""
    return Repository(tmp_path / "project")


def test_passed(repository: Repository) -> None:
    """Main must become the commit that has passed; a test that needed a second try must be named."""
    wanted = repository.commit("pass", "sites 3.11: sites/test_a.py::test_b: passed at the second try\n")
    status, said = repository.land()

    assert (0, wanted) == (status, repository.git("rev-parse", "main"))
    assert (
        f"main is now {wanted[:9]}\nsites 3.11: sites/test_a.py::test_b: passed at the second try\n" in said
    )
    assert "HEAD has 0 commits more" in said


def test_failed(repository: Repository) -> None:
    """Main must stay where it is, and the failed tests must be named."""
    before = repository.git("rev-parse", "main")
    repository.commit("fail", "-- sites 3.11: FAILED in 3 s, with 2 s of CPU time\n")
    status, said = repository.land()

    assert (1, before) == (status, repository.git("rev-parse", "main"))
    assert "-- sites 3.11: FAILED in 3 s" in said
    assert "HEAD has 1 commits more" in said


def test_other_work_on_main(repository: Repository) -> None:
    """Main must not lose commits that it has got meanwhile."""
    repository.commit("pass")
    repository.git("switch", "--quiet", "main")
    before = repository.commit("pass", "other\n")
    repository.git("switch", "--quiet", "next")
    status, said = repository.land()

    assert (1, before) == (status, repository.git("rev-parse", "main"))
    assert "merge main, and land again" in said


def test_main_is_checked_out(repository: Repository) -> None:
    """Main must not be moved while it is checked out."""
    repository.git("switch", "--quiet", "main")
    before = repository.git("rev-parse", "main")
    status, said = repository.land()

    assert (1, before) == (status, repository.git("rev-parse", "main"))
    assert "git switch -c next" in said


def test_one_at_a_time(repository: Repository) -> None:
    """A second gate must be refused while one runs, and `status` must tell that one runs."""
    pipe = repository.folder / ".cache/go"
    pipe.parent.mkdir()
    os.mkfifo(pipe)
    (repository.folder / ".ci/run").write_text(f"echo == waits\ncat {pipe}\n", encoding="utf-8")
    wanted = repository.commit("pass")

    assert repository.run().returncode == 0
    second = repository.run()
    assert second.returncode == 2
    assert "a gate runs already" in second.stderr
    assert "a gate runs since" in repository.run("status").stdout
    pipe.write_text("go\n", encoding="utf-8")
    assert repository.run("wait").returncode == 0
    assert wanted == repository.git("rev-parse", "main")
