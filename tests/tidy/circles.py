"""Finds files that import each other in a circle, in Rust crates and in Python packages.

Rust sources are read as rustfmt has formatted them, without comments, literals and code for tests only. Every
path counts as an import, in `use` and elsewhere. A path leads to the file that defines the name: if another
file only passes the name on with `use`, that `use` is followed.

An `impl` block in another file than its type counts both ways: it imports the type, and the file of the
type imports it, because code that has the type can call the methods of the block.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from tidy.rust import IMPL, blanked, own_type

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from tidy.sources import Source

# Two files may import each other: the file of a type and the file of code that makes it, for example.
CIRCLE_FILES_MAX = 2

Graph = dict[str, set[str]]
"""The files that each file imports."""

Path = tuple[str, ...]
"""The names of a path through modules, from the root of its crate or package on."""

# The attribute of an item, or of a whole file, that is compiled for tests only, and further attributes.
FOR_TESTS = re.compile(
    r"^(?P<indent> *)#!?\[cfg\((?:test|all\(test\b[^\n]*)\)\]\n(?:(?P=indent)#\[[^\n]*\n)*", re.MULTILINE
)
USE = re.compile(r"^(?P<indent> *)(?:pub(?:\([a-z]+\))? )?use (?P<tree>[^;]+);", re.MULTILINE)
INLINE_MODULE = re.compile(r"^(?P<indent> *)(?:pub(?:\([a-z]+\))? )?mod (?P<name>\w+) \{$", re.MULTILINE)
PATH = re.compile(r"(?<![\w:])\w+(?:::\w+)+")


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the largest groups of files that all reach each other, without groups of a single file."""
    reached = {file: _reach(graph, file) for file in graph}
    found = []
    left = set(graph)
    for file in sorted(graph):
        if file in left:
            group = {other for other in reached[file] & left if file in reached[other]} | {file}
            left -= group
            if len(group) > 1:
                found.append(sorted(group))
    return found


def _reach(graph: Mapping[str, set[str]], start: str) -> set[str]:
    """Return the files that `start` imports, the files that these import, and so on."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = graph.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found


def complaints(graph: Mapping[str, set[str]]) -> list[str]:
    """Describe each circle that is too large: its files, and which of them each imports."""
    return [
        f"a circle of {len(circle)} files:"
        + "".join(f"\n  {file} imports {', '.join(sorted(graph[file] & set(circle)))}" for file in circle)
        for circle in circles(graph)
        if len(circle) > CIRCLE_FILES_MAX
    ]


class RustFile(NamedTuple):
    """One file of a crate."""

    path: str
    uses: list[tuple[Path, Path]]
    """Each path behind the module in which it stands: that of the file, or a module within the file."""
    brought: dict[str, Path]
    """The names that `use` declarations bring into the file's own module, with their paths."""
    extends: list[tuple[Path, Path]]
    """Each `impl` block without a trait: the module in which it stands, and the path of its type."""


Modules = dict[Path, RustFile]
"""The files of a crate, each under the path of its module."""


def rust_imports(sources: Iterable[Source], spread: Collection[str] = ()) -> dict[str, Graph]:
    """Return the graph of each crate, by its folder; methods of types in `spread` count in one direction."""
    return {crate: _rust_graph(modules, spread) for crate, modules in _crates(sources).items()}


def _crates(sources: Iterable[Source]) -> dict[str, Modules]:
    """Return the files of each crate, by its folder."""
    crates: dict[str, Modules] = defaultdict(dict)
    for source in sources:
        crate, is_of_crate, below = source.path.partition("/src/")
        if is_of_crate:
            names = below.removesuffix(".rs").split("/")
            module = tuple(name for name in names if name not in ("lib", "main", "mod"))
            crates[crate][module] = _rust_file(source, module)
    return crates


def _rust_file(source: Source, module: Path) -> RustFile:
    code = without_tests(blanked(source.text))
    inner = _inline_modules(code)

    def around(at: int) -> Path:
        return module + tuple(name for begin, end, name in inner if begin < at < end)

    uses, brought = [], {}
    for match in USE.finditer(code):
        for path, name in _leaves(match["tree"]):
            uses.append((around(match.start()), path))
            if not match["indent"]:
                brought[name] = path
    elsewhere = USE.sub(lambda use: " " * len(use[0]), code)
    uses += [(around(match.start()), tuple(match[0].split("::"))) for match in PATH.finditer(elsewhere)]
    of = [(around(match.start()), own_type(match["of"])) for match in IMPL.finditer(code)]
    extends = [(here, tuple(path.split("::"))) for here, path in of if path]
    return RustFile(source.path, uses, brought, extends)


def _rust_graph(modules: Modules, spread: Collection[str]) -> Graph:
    graph: Graph = {}
    for file in modules.values():
        targets = {_defining(modules, here, path) for here, path in file.uses}
        graph[file.path] = {target for target in targets if target and target != file.path}
    for _, target, path in _extensions(modules, spread):
        graph[target].add(path)
    return graph


def spread_types(sources: Iterable[Source]) -> set[str]:
    """Return the names of types with methods in other files than their own."""
    return {name for modules in _crates(sources).values() for name, _, _ in _extensions(modules, ())}


def _extensions(modules: Modules, spread: Collection[str]) -> Iterator[tuple[str, str, str]]:
    """Yield each type with methods in another file than its own, its file, and the other file."""
    for file in modules.values():
        for here, path in file.extends:
            brought = file.brought.get(path[0]) if path[0] != "crate" else None
            target = _defining(modules, here, brought + path[1:] if brought else path)
            if target and target != file.path and path[-1] not in spread:
                yield path[-1], target, file.path


def without_tests(code: str) -> str:
    """Remove code that is compiled for tests only; of a file that is marked as such, remove everything."""
    while match := FOR_TESTS.search(code):
        if "#![" in match[0]:
            return ""
        end = re.compile(rf"^{match['indent']}\S[^\n]*[;,}}]$|^{match['indent']}\}}", re.MULTILINE)
        last = end.search(code, match.end())
        code = code[: match.start()] + code[last.end() if last else len(code) :]
    return code


def _inline_modules(code: str) -> list[tuple[int, int, str]]:
    """Return where each module that is written out in a file begins and ends, the outer ones first."""
    found = []
    for match in INLINE_MODULE.finditer(code):
        end = code.find(f"\n{match['indent']}}}", match.end())
        found.append((match.end(), end, match["name"]))
    return found


def _leaves(tree: str) -> Iterator[tuple[Path, str]]:
    """Yield the paths of a tree such as `a::{b, c::{self, d as e}}`, and the name of each."""
    head, brace, rest = tree.strip().partition("{")
    if not brace:
        written, _, alias = head.partition(" as ")
        names = tuple(name.strip() for name in written.split("::"))
        if names[-1] == "self" and len(names) > 1:
            names = names[:-1]
        yield names, alias.strip() or names[-1]
        return
    prefix = tuple(name.strip() for name in head.split("::") if name.strip())
    for part in _parts(rest[: rest.rindex("}")]):
        for path, name in _leaves(part):
            if path == ("self",):
                yield prefix, prefix[-1] if name == "self" else name
            else:
                yield prefix + path, name


def _parts(inner: str) -> Iterator[str]:
    """Split the text between braces at its commas, except those inside further braces."""
    depth, begin = 0, 0
    for at, letter in enumerate(inner):
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            yield inner[begin:at]
            begin = at + 1
    if inner[begin:].strip():
        yield inner[begin:]


def _from_root(modules: Modules, here: Path, path: Path) -> Path | None:
    """Return a path of a module, resolved from the crate's root; none if it leads out of the crate."""
    first, rest = path[0], path[1:]
    if first == "crate":
        return rest
    if first == "self":
        return here + rest
    if first == "super":
        return _from_root(modules, here[:-1], rest) if rest[:1] == ("super",) else here[:-1] + rest
    return here + path if (*here, first) in modules else None


def _defining(modules: Modules, here: Path, path: Path) -> str | None:
    """Return the file that defines the item that a path names, if that file belongs to this crate."""
    seen = set()
    while (here, path) not in seen:
        seen.add((here, path))
        full = _from_root(modules, here, path)
        if full is None:
            return None
        depth = 0
        while full[: depth + 1] in modules and depth < len(full):
            depth += 1
        here, rest = full[:depth], full[depth:]
        if here not in modules:
            return None
        passed_on = modules[here].brought.get(rest[0]) if rest else None
        if passed_on is None:
            return modules[here].path
        path = passed_on + rest[1:]
    return None


def python_imports(sources: Iterable[Source]) -> dict[str, Graph]:
    """Return the graph of each folder at the root of the repository, by its name."""
    folders: dict[str, dict[str, Source]] = defaultdict(dict)
    for source in sources:
        folder, _, below = source.path.partition("/")
        names = below.removesuffix(".py").split("/")
        folders[folder][".".join(names[:-1] if names[-1] == "__init__" else names)] = source
    return {folder: _python_graph(modules) for folder, modules in folders.items()}


def _python_graph(modules: Mapping[str, Source]) -> Graph:
    graph: Graph = {}
    for name, source in modules.items():
        is_package = source.path.endswith("/__init__.py")
        package = name if is_package else name.rpartition(".")[0]
        found = set()
        for target in _python_targets(ast.parse(source.text), package):
            places = [target, target.rpartition(".")[0]]
            if package not in modules:
                # A script can import the files beside it.
                places += [f"{package}.{place}" for place in places]
            place = next((place for place in places if place in modules), None)
            if place is not None:
                found.add(modules[place].path)
        graph[source.path] = found - {source.path}
    return graph


def _python_targets(tree: ast.Module, package: str) -> Iterator[str]:
    """Yield everything that a file imports, each name with its module before it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names = package.split(".")
            above = names[: len(names) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)
