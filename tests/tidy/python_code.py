"""Finds things in Python sources; says `path:line: what` for each."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tidy.rust import FUNCTION_LINES_MAX, LEANING, is_sentence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tidy.sources import Source

Function = ast.FunctionDef | ast.AsyncFunctionDef
Documented = Function | ast.ClassDef


def long_functions(sources: Iterable[Source]) -> list[str]:
    """Find functions that are longer than a screen; decorators do not count, inner functions do."""
    return [
        f"{source.path}:{node.lineno}: {node.name} has {lines} lines"
        for source in sources
        for node in ast.walk(ast.parse(source.text))
        if isinstance(node, Function)
        and (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES_MAX
    ]


def without_sentence(sources: Iterable[Source]) -> list[str]:
    """Find files that do not begin with a sentence about themselves."""
    found = []
    for source in sources:
        documentation = ast.get_docstring(ast.parse(source.text)) or ""
        if not is_sentence(documentation.split("\n\n")[0]):
            found.append(f"{source.path}: does not begin with one sentence")
    return found


def _public(node: ast.Module | ast.ClassDef) -> Iterator[Documented]:
    """Yield the classes and functions that others may use, with those inside public classes."""
    for child in node.body:
        if isinstance(child, Documented) and not child.name.startswith("_"):
            yield child
            if isinstance(child, ast.ClassDef):
                yield from _public(child)


def undocumented(sources: Iterable[Source]) -> list[str]:
    """Find public classes and functions without a docstring."""
    return [
        f"{source.path}:{node.lineno}: {node.name} has no docstring"
        for source in sources
        for node in _public(ast.parse(source.text))
        if not ast.get_docstring(node)
    ]


def leaning_docstrings(sources: Iterable[Source]) -> list[str]:
    """Find docstrings that do not begin with the thing or the verb."""
    return [
        f"{source.path}: {documentation.partition(chr(10))[0]}"
        for source in sources
        for node in ast.walk(ast.parse(source.text))
        if isinstance(node, ast.Module | Documented)
        and LEANING.match(documentation := ast.get_docstring(node) or "")
    ]


def _is_annotated(node: Function) -> bool:
    arguments = node.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    if named and named[0].arg in ("self", "cls") and named[0] not in arguments.kwonlyargs:
        del named[0]
    rest = [argument for argument in (arguments.vararg, arguments.kwarg) if argument]
    return node.returns is not None and all(argument.annotation for argument in named + rest)


def unannotated(sources: Iterable[Source]) -> list[str]:
    """Find functions whose arguments or result have no type."""
    return [
        f"{source.path}:{node.lineno}: {node.name} lacks an annotation"
        for source in sources
        for node in ast.walk(ast.parse(source.text))
        if isinstance(node, Function) and not _is_annotated(node)
    ]


def skipped_tests(sources: Iterable[Source]) -> list[str]:
    """Find tests that may not run, or may fail."""
    names = {"skip", "skipif", "skipIf", "skipUnless", "importorskip", "xfail", "expectedFailure"}
    return [
        f"{source.path}:{node.lineno}: {node.attr}"
        for source in sources
        for node in ast.walk(ast.parse(source.text))
        if isinstance(node, ast.Attribute) and node.attr in names
    ]
