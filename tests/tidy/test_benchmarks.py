"""The benchmarks, which take too long to be run by tests, can at least be begun."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tidy.sources import ROOT

SITES = ("around", "cgi", "cgi_beside", "groups", "many_folders", "pages_beside")
SCRIPTS = ("budget/run.py", "generators/run.py", *(f"sites/{name}.py" for name in SITES))


@pytest.mark.parametrize("script", SCRIPTS)
def test_begins(script: str) -> None:
    """Each script finds everything that it imports, and has a help."""
    command = (sys.executable, ROOT / "benchmarks" / script, "--help")
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    assert (0, "") == (done.returncode, done.stderr)
    assert "usage:" in done.stdout
