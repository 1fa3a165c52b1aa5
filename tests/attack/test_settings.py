"""Wrong settings of every kind, from each place, are refused with a sentence that names the setting."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from attack.settings import keyword, values_of, variable
from support.server import environment, run

PROGRAM = Path(__file__).with_name("settings.py")
ROW = re.compile(r"^ +(?:-\w, )?(--[a-z][a-z0-9-]+)(?:\[=(on\|off)\]| ([A-Za-z|:=-]+))(?:$|  )", re.MULTILINE)
NAMED = {"flag": str, "variable": variable, "keyword": keyword}
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202e]")
LENGTH_MAX = 900
"""Limit of a sentence's length: a long value comes from the user, a long explanation would be our fault."""


def rows() -> list[tuple[str, str]]:
    """Return each setting's flag with its shape, as the help shows it."""
    return [(name, on_off or shape) for name, on_off, shape in ROW.findall(run("help", "serve").stdout)]


@pytest.mark.parametrize("source", NAMED)
def test_wrong_values(source: str) -> None:
    """Each value is refused with exit status 2 by a sentence that names the setting as it was given."""
    # An empty variable counts as absent, and a comma may separate several values of a variable.
    cases = [
        (source, name, value)
        for name, shape in rows()
        for value in values_of(name, shape)
        if source != "variable" or (value and "," not in value)
    ]
    done = subprocess.run(
        [sys.executable, PROGRAM],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        env=environment({"ADYTON_PROCESSES": ""}),
        timeout=60,
        check=True,
    )
    answers = json.loads(done.stdout)
    wrong = [
        (case, status, said)
        for case, (status, said) in zip(cases, answers, strict=True)
        if (status, said[:8]) != (2, "adyton: ")
        or (source != "keyword" and said.count("\n") != 1)
        or NAMED[source](case[1]) not in said
        # A program shows the text of an exception as it likes.
        or (source != "keyword" and CONTROL.search(said.removesuffix("\n")))
        or len(said) > LENGTH_MAX
    ]

    assert 1000 < len(cases)
    assert [] == wrong
    assert "" == done.stderr
