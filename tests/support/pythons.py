"""Finds the Pythons of the gate's other environments, in which the server is installed, too.

An environment is `.cache/venv-VERSION`, followed by `-PROFILE` unless the profile is `ci`.
`tests/gate/steps.py` lists the environments; `tests/gate/environments.py` and `tests/gate/setup.py server`
make one by hand.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

FIRST = os.environ.get("ADYTON_TEST_FIRST", "3.11")
"""The version of Python with which all test folders are run."""


def version() -> str:
    """Return the version of this environment, as `3.13t`."""
    found = ENVIRONMENT.search(Path(sys.prefix).name)
    assert found, f"{sys.prefix} is no environment of tests/gate"
    return found[0]


def other() -> str:
    """Return another minor version of Python for which there is an environment; empty if there is none."""
    return os.environ.get("ADYTON_TEST_OTHER", FIRST if version() != FIRST else "3.13")


def python_of(wanted: str) -> Path:
    """Return the interpreter of a version's environment; fail if there is no such environment."""
    prefix = Path(sys.prefix)
    found = prefix.with_name(ENVIRONMENT.sub(wanted, prefix.name)) / "bin/python"
    assert found.exists(), f"{found} is missing: tests/gate/environments.py and setup.py make it"
    return found


ENVIRONMENT = re.compile(r"(?<=^venv-)[0-9.]+t?")
