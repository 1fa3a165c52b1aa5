"""Finds things in Rust sources that rustfmt has formatted; says `path:line: what` for each.

Formatted code needs no parser: an item ends at the first closing brace that stands as far to the
right as the item's first word. Comments and literals are blanked before anything is looked for.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import takewhile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tidy.sources import Source

FUNCTION_LINES_MAX = 70

# Lines of the same statement that may stand between a reason and its `unsafe`.
REASON_LINES_MAX = 3

COMMENT = r"//[^\n]*|/\*.*?\*/"
LITERAL = r"""b?r(?P<hashes>\#*)".*?"(?P=hashes)|[bc]?"(?:\\.|[^"\\])*"|b?'(?:\\[^\n]|[^'\\\n])'"""
SKIPPED = re.compile(f"{COMMENT}|{LITERAL}", re.DOTALL | re.VERBOSE)
FUNCTION = re.compile(
    r'^(?P<indent> *)(?:pub(?:\([a-z: ]+\))? )?(?:(?:const|async|unsafe|extern +"[^"]*"|extern) +)*'
    r"fn (?P<name>\w+)",
    re.MULTILINE,
)
DOC = re.compile(r"^ *//[/!] ?(?P<line>.*)$")
# A sentence that begins with one of these words leans on the code below it, or on the sentence above.
LEANING = re.compile(r"(?:What|That|Those|These|The same|Who|It|So|One that|Such) ")
IMPL = re.compile(r"^(?P<indent> *)impl\b(?P<of>[^{;]*)\{", re.MULTILINE)
UNSAFE_USE = re.compile(r"\bunsafe\s*(?:\{|\(|impl\b|extern\s*(?:\"[^\"]*\"\s*)?\{)")
UNSAFE_FUNCTION = re.compile(r"\bunsafe (?:extern +(?:\"[^\"]*\" *)?)?fn (?P<name>\w+)")


def blanked(text: str) -> str:
    """Return the code alone: comments and literals become spaces, line ends and quotes stay."""

    def blank(match: re.Match[str]) -> str:
        kept = '"' if match[0].endswith('"') else " "
        inner = re.sub(r"[^\n]", " ", match[0])
        return kept + inner[1:-1] + kept if len(inner) > 1 else inner

    return SKIPPED.sub(blank, text)


def functions(source: Source) -> Iterator[tuple[str, int, int]]:
    """Yield name, first line and number of lines of every function with a body."""
    lines = blanked(source.text).split("\n")
    code = "\n".join(lines)
    for match in FUNCTION.finditer(code):
        first = code.count("\n", 0, match.start())
        signature = first
        while not re.search(r"[{};]\s*$", lines[signature]):
            signature += 1
        last = signature
        if lines[signature].rstrip().endswith("{"):
            closing = match["indent"] + "}"
            last += 1
            while lines[last].rstrip() != closing:
                last += 1
        elif lines[signature].rstrip().endswith(";"):
            continue
        yield match["name"], first + 1, last - first + 1


def own_type(of: str) -> str | None:
    """Return the path of the type in `impl<T> Type<T>`; none where a trait is implemented for it."""
    depth, plain = 0, ""
    for letter, before in zip(of, " " + of, strict=False):
        depth -= letter == ">" and before != "-"
        plain += letter if depth == 0 and letter not in "<>" else " "
        depth += letter == "<"
    words = plain.split()
    return words[0] if words and "for" not in words and re.fullmatch(r"[\w:]+", words[0]) else None


def methods(sources: Iterable[Source], of: str) -> dict[str, int]:
    """Count the methods of a type in each file that has any, without methods of traits."""
    found: Counter[str] = Counter()
    for source in sources:
        code = blanked(source.text)
        for match in IMPL.finditer(code):
            if own_type(match["of"]) == of:
                end = code.index(f"\n{match['indent']}}}", match.end())
                found[source.path] += len(FUNCTION.findall(code, match.end(), end))
    return dict(found)


def long_functions(sources: Iterable[Source]) -> list[str]:
    """Find functions that are longer than a screen."""
    return [
        f"{source.path}:{line}: {name} has {length} lines"
        for source in sources
        for name, line, length in functions(source)
        if length > FUNCTION_LINES_MAX
    ]


def _has_reason(lines: list[str], line: int) -> bool:
    """Say whether a comment with the reason ends at most some lines above."""
    if "// SAFETY: " in lines[line]:
        return True
    above = [text.lstrip() for text in reversed(lines[:line])]
    code = next((count for count, text in enumerate(above) if text.startswith("//")), len(above))
    if code > REASON_LINES_MAX:
        return False
    comment = takewhile(lambda text: text.startswith("//"), above[code:])
    return any(text.startswith("// SAFETY: ") for text in comment)


def unexplained_unsafe(sources: Iterable[Source]) -> list[str]:
    """Find unsafe blocks, impls and attributes without their reason."""
    found = []
    for source in sources:
        lines = source.text.split("\n")
        for match in UNSAFE_USE.finditer(blanked(source.text)):
            line = source.text.count("\n", 0, match.start())
            if not _has_reason(lines, line):
                found.append(f"{source.at(match.start())}: {match[0]} without a SAFETY comment")
    return found


def _documentation(lines: list[str], line: int) -> list[str]:
    """Return the comments and attributes above the item in `line`, the nearest first."""
    above = (text.strip() for text in reversed(lines[:line]))
    return list(takewhile(lambda text: text.startswith(("//", "#[")), above))


def _is_of_trait_impl(lines: list[str], line: int) -> bool:
    """Say whether the function in `line` implements a function that a trait declares."""
    indent = len(lines[line]) - len(lines[line].lstrip())
    for above in range(line - 1, -1, -1):
        text = lines[above]
        if text.strip() and len(text) - len(text.lstrip()) < indent:
            return bool(re.match(r"\s*(unsafe )?impl\b.* for ", text))
    return False


def unsafe_functions_without_duties(sources: Iterable[Source]) -> list[str]:
    """Find unsafe functions without the duties of their caller; a trait documents them for its impls."""
    told, untold = set(), []
    for source in sources:
        lines = source.text.split("\n")
        for match in UNSAFE_FUNCTION.finditer(blanked(source.text)):
            line = source.text.count("\n", 0, match.start())
            if "/// # Safety" in _documentation(lines, line):
                told.add(match["name"])
            else:
                name = match["name"] if _is_of_trait_impl(lines, line) else None
                untold.append((name, f"{source.at(match.start())}: {match[0]} without # Safety"))
    return [complaint for name, complaint in untold if name not in told]


def words(sources: Iterable[Source], pattern: str) -> list[str]:
    """Find code, not comments or literals, that matches."""
    return [
        f"{source.at(match.start())}: {match[0]}"
        for source in sources
        for match in re.finditer(pattern, blanked(source.text))
    ]


def without_sentence(sources: Iterable[Source]) -> list[str]:
    """Find files that do not begin with a sentence about themselves."""
    found = []
    for source in sources:
        documentation = re.match(r"(?://!.*\n)*", source.text)
        text = re.sub(r"^//! ?", "", documentation[0] if documentation else "", flags=re.MULTILINE)
        if not is_sentence(text.split("\n\n")[0]):
            found.append(f"{source.path}: does not begin with one sentence")
    return found


def is_sentence(text: str) -> bool:
    """Say whether a text is one sentence: a capital or a name, a full stop, and none before it."""
    return bool(re.fullmatch(r"[A-Z0-9`(](?:(?![.!?]\s+[A-Z]).)*\.\s*", text, re.DOTALL))


def leaning_docs(sources: Iterable[Source]) -> list[str]:
    """Find doc comments that do not begin with the thing or the verb."""
    found = []
    for source in sources:
        before = None
        for number, text in enumerate(source.text.splitlines(), 1):
            doc = DOC.match(text)
            if doc and not before and LEANING.match(doc["line"]):
                found.append(f"{source.path}:{number}: {doc['line']}")
            before = doc
    return found
