"""An environment that one clone has made is copied by another, whose scripts must run in the copy."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"

METADATA = "Metadata-Version: 2.1\nName: where\nVersion: 1\n"
WHEEL = "Wheel-Version: 1.0\nGenerator: none\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
FILES = {
    "where.py": "import sys\ndef main():\n    print(sys.prefix)\n",
    "where-1.dist-info/METADATA": METADATA,
    "where-1.dist-info/WHEEL": WHEEL,
    "where-1.dist-info/entry_points.txt": "[console_scripts]\nwhere = where:main\n",
    "where-1.dist-info/RECORD": "",
    # A module among the programs, as Bottle has one.
    "where-1.data/scripts/there.py": "#!python\nimport where\nwhere.main()\n",
}

DRIVER = """
import sys
from pathlib import Path
from environments import keep, take

print(take(*map(Path, sys.argv[1:])))
keep(*map(Path, sys.argv[1:]))
"""


class Clone:
    """A clone that needs one package."""

    def __init__(self, folder: Path) -> None:
        """Make it."""
        self.folder = folder
        self.cache = folder.parent / "cache"
        self.environment = folder / f".cache/venv-{PYTHON}"
        (folder / "tests/gate").mkdir(parents=True)
        for name in ("setup.py", "environments.py", "kept.py"):
            shutil.copy(ROOT / "tests/gate" / name, folder / "tests/gate")
        with zipfile.ZipFile(folder / "where-1-py3-none-any.whl", "w") as wheel:
            for name, text in FILES.items():
                wheel.writestr(name, text)
        (folder / "requirements.txt").write_text("./where-1-py3-none-any.whl\n", encoding="utf-8")

    def set_up(self) -> str:
        """Make the environment; return the output."""
        command = [sys.executable, "tests/gate/environments.py", PYTHON, "ci", "requirements.txt"]
        variables = {**os.environ, "XDG_CACHE_HOME": str(self.cache), "PIP_NO_INDEX": "1"}
        done = subprocess.run(
            command, cwd=self.folder, env=variables, check=True, capture_output=True, text=True
        )
        return done.stdout

    def says(self) -> str:
        """Return which environment the script of the package runs in."""
        script = [self.environment / "bin/where"]
        return subprocess.run(script, check=True, capture_output=True, text=True).stdout.strip()

    def kept(self) -> list[Path]:
        """Return the folders that are kept for all clones."""
        return sorted(self.cache.glob("adyton/venv-*/"))


def test_second_clone(tmp_path: Path) -> None:
    """A second clone must have a copy with scripts of its own, which shares nothing with the first."""
    first, second = (Clone(tmp_path / name) for name in ("first", "second"))
    first.set_up()
    [copy] = first.kept()
    mark = copy / f"venv/lib/python{PYTHON}/site-packages/mark"
    mark.touch()
    second.set_up()

    assert (copy / "venv/bin/__pycache__").is_dir()
    assert (second.environment / mark.relative_to(copy / "venv")).exists()
    assert [str(first.environment), str(second.environment)] == [first.says(), second.says()]

    shutil.rmtree(first.folder)
    shutil.rmtree(second.cache)

    assert str(second.environment) == second.says()


def test_no_cache(tmp_path: Path) -> None:
    """A cache that cannot be written to is no failure: nothing is taken, and nothing kept."""
    cache = tmp_path / "cache"
    cache.write_text("a file", encoding="utf-8")
    command = [sys.executable, "-c", DRIVER, str(cache / "adyton/venv-a"), str(tmp_path)]
    variables = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    done = subprocess.run(
        command, cwd=ROOT / "tests/gate", env=variables, check=True, capture_output=True, text=True
    )

    assert "is not used: " in done.stdout
    assert "False" in done.stdout.splitlines()
    assert "is not kept for other clones: " in done.stdout
