"""Python sources keep to the shape that we agreed on; each finder is shown something to find."""

from __future__ import annotations

import inspect
import re

import adyton
import pytest

from tidy import python_code
from tidy.sources import Source, ending

PYTHON = ending(".py")
PACKAGE = [source for source in PYTHON if source.path.startswith("python/")]
STUB = ending("_core.pyi")


def sample(text: str) -> list[Source]:
    """Make a repository of one file."""
    return [Source("sample.py", text)]


@pytest.mark.parametrize(("lines", "found"), [(2, 0), (70, 0), (71, 1)])
@pytest.mark.parametrize("head", ["def f():", "async def f():", "@decorated\n@twice\ndef f():"])
def test_lines_are_counted(head: str, lines: int, found: int) -> None:
    """Lines of a function count from `def` to the last line of the body."""
    text = head + "\n    pass" * (lines - 1) + "\n\n\nafter = 1\n"

    assert found == len(python_code.long_functions(sample(text)))


def test_functions_fit_a_screen() -> None:
    """No function has more than 70 lines."""
    found = python_code.long_functions(PYTHON)

    assert [] == found


def test_missing_sentences_are_found() -> None:
    """A file begins with one sentence, which may follow a shebang."""
    for text in ('"""A sentence."""\n', '#!/bin/sh\n"""A long\nsentence.\n\nMore. Of it.\n"""\n'):
        assert [] == python_code.without_sentence(sample(text))
    for text in ("", "import os\n", '"""No end"""\n', '"""One. Two."""\n', '"""\n\nTwo. Late.\n"""\n'):
        assert 1 == len(python_code.without_sentence(sample(text))), text


def test_files_begin_with_their_sentence() -> None:
    """Every file says first what it is."""
    found = python_code.without_sentence(PYTHON)

    assert [] == found


def test_missing_docstrings_are_found() -> None:
    """Missing docstrings of public functions, classes and methods are found."""
    text = "def f(): ...\nclass C:\n    def m(self): ...\n    def _p(self): ...\nclass _D:\n    m = f\n"
    found = python_code.undocumented(sample(text))

    assert ["f", "C", "m"] == [complaint.split()[1] for complaint in found]


def test_public_names_are_documented() -> None:
    """Everything public in the package has a docstring, what Rust makes included."""
    found = python_code.undocumented(PACKAGE)
    public = [(name, getattr(adyton, name)) for name in adyton.__all__]
    for name, value in public[:]:
        if inspect.isclass(value):
            members = {member: inner for member, inner in vars(value).items() if member[0] != "_"}
            slots = {member for member, inner in members.items() if inspect.ismemberdescriptor(inner)}
            public += [(f"{name}.{member}", members[member]) for member in set(members) - slots]

            # Data cannot have a docstring: the docstring of its class describes it.
            assert slots <= set(re.findall(r"\w+", value.__doc__ or ""))

    assert [] == found
    assert [] == [name for name, value in public if not inspect.getdoc(value)]


@pytest.mark.parametrize(
    "text",
    [
        "def f(): ...",
        "def f(a) -> int: ...",
        "def f(*a) -> int: ...",
        "def f(**a) -> int: ...",
        "def f(a: int, /, b) -> int: ...",
        "def f(*, self) -> int: ...",
        "class C:\n    def f(self, a): ...",
    ],
)
def test_missing_annotations_are_found(text: str) -> None:
    """Missing annotations of results and of every kind of argument are found."""
    assert 1 == len(python_code.unannotated(sample(text)))


def test_annotations_are_complete() -> None:
    """Every function of the package and of its stub has all its types."""
    whole = "class C:\n    def f(self, a: int, /, *b: int, c: int = 1, **d: int) -> None: ...\n"
    found = python_code.unannotated(PACKAGE + STUB)

    assert [] == python_code.unannotated(sample(whole))
    assert [] == found


def test_skipped_tests_are_found() -> None:
    """Tests skipped by a mark, by a call, or for a failed import, are found."""
    text = (
        "@pytest.mark.skipif(x)\ndef f():\n    pytest.skip('')\n    unittest.skip\npytest.importorskip('x')\n"
    )

    assert 4 == len(python_code.skipped_tests(sample(text)))


def test_every_test_runs() -> None:
    """No test is left out or allowed to fail."""
    found = python_code.skipped_tests(source for source in PYTHON if source.path.startswith("tests/"))

    assert [] == found


def test_docstrings_begin_with_the_thing() -> None:
    """The first word of a docstring is the thing or the verb, so that it is understood without the code."""
    text = '"""Things. What waits."""\n\n\ndef f():\n    """That of f."""\n\n\nclass C:\n    """C."""\n'
    found = python_code.leaning_docstrings(PYTHON)

    assert ["sample.py: That of f."] == python_code.leaning_docstrings(sample(text))
    assert [] == found
