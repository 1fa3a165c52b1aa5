"""Finds parameters of Rust functions that are tuples; says `path:line: what` for each.

Values that travel together have names: a struct says at the call which number is which. Lists of tuples,
arrays and functions that take tuples are no tuples, and closures may take apart the tuples of iterators.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tidy.rust import FUNCTION, blanked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tidy.sources import Source

# A tuple of two things or more; `()` and `(T)` are none.
TUPLE = re.compile(r"\(.+,.+\)", re.DOTALL)
LENT = re.compile(r"^(?:&|'\w+\s|mut\s|\s)+")


def _parts(code: str, start: int) -> tuple[list[str], int]:
    """Return the parts between the commas of the bracket that opens at `start`, and the offset behind it."""
    depth, begun, parts = 0, start + 1, []
    for at in range(start, len(code)):
        letter = code[at]
        if letter in "([{<":
            depth += 1
        elif letter in ")]}" or (letter == ">" and code[at - 1] not in "-="):
            depth -= 1
        if depth == 0 or (depth == 1 and letter == ","):
            parts.append(code[begun:at].strip())
            begun = at + 1
        if depth == 0:
            return [part for part in parts if part], at + 1
    raise ValueError(f"a bracket that does not close: {code[start : start + 40]}")


def _parameters(code: str) -> Iterator[tuple[int, str, str]]:
    """Yield the offset and the name of each function in blanked code, once with each of its parameters."""
    for match in FUNCTION.finditer(code):
        at = match.end()
        if code[at] == "<":
            at = _parts(code, at)[1]
        for parameter in _parts(code, at)[0]:
            yield match.start("name"), match["name"], parameter


def _is_tuple(kind: str) -> bool:
    """Say whether a type or a pattern is a tuple."""
    return bool(TUPLE.fullmatch(kind))


def tuple_parameters(sources: Iterable[Source]) -> list[str]:
    """Find parameters that are tuples, including borrowed tuples and tuples that a pattern takes apart."""
    found = []
    for source in sources:
        for offset, function, parameter in _parameters(blanked(source.text)):
            pattern, _, kind = parameter.partition(":")
            if any(_is_tuple(LENT.sub("", text.strip())) for text in (pattern, kind)):
                shown = " ".join(parameter.split())
                found.append(f"{source.at(offset)}: {function} takes a tuple, {shown}")
    return found
