"""No more than two files of a crate or of a Python package import each other in a circle."""

from __future__ import annotations

import pytest

from tidy import circles
from tidy.sources import Source, ending


def crate(**texts: str) -> list[Source]:
    """Make a crate; two underscores in a name stand for the slash behind a folder."""
    return [Source(f"crates/x/src/{name.replace('__', '/')}.rs", text) for name, text in texts.items()]


def folder(**texts: str) -> list[Source]:
    """Make a folder of Python files, likewise."""
    return [Source(f"python/{name.replace('__', '/')}.py", text) for name, text in texts.items()]


def test_circles_are_found() -> None:
    """Each circle is found once, with all its files, and without files that only lead to it or from it."""
    graph = {"a": {"b"}, "b": {"c", "out"}, "c": {"a"}, "in": {"a"}, "out": set(), "d": {"e"}, "e": {"d"}}

    assert [["a", "b", "c"], ["d", "e"]] == circles.circles(graph)


def test_a_circle_of_two_is_none() -> None:
    """Two files may know each other; three may not, and the complaint names the imports."""
    two = {"a": {"b"}, "b": {"a"}, "c": {"a"}}
    three = {"a": {"b"}, "b": {"c", "d"}, "c": {"a", "b"}, "d": set()}
    told = "a circle of 3 files:\n  a imports b\n  b imports c\n  c imports a, b"

    assert [] == circles.complaints(two)
    assert [told] == circles.complaints(three)


# Ways in which `c.rs` may import `A`, which `a.rs` defines.
RUST_IMPORTS = [
    "use crate::a::A;",
    "use super::a::A;",
    "pub(crate) use crate::{b, a::{self, A as Other}};",
    "use crate::{\n    a,\n    b,\n};",
    "use crate::a::*;",
    "use crate::A;",
    "use crate::inner::Again;",
    "fn f(a: &crate::a::A) {}",
    "fn f() {\n    use crate::a::A;\n}",
    "fn f() {\n    super::a::f();\n}",
    "mod inside {\n    use super::super::a::A;\n}",
    "impl crate::A for C {}",
]
NO_RUST_IMPORTS = [
    "// use crate::a::A;",
    "/// As [`A`](crate::a::A).",
    'const WORDS: &str = "use crate::a::A;";',
    "use std::a::A;",
    "mod a {}\nuse self::a::A;",
    "use crate::d::a;",
    "#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}",
    "#[cfg(all(test, not(loom)))]\nmod tests {\n    use crate::a::A;\n}",
    "impl C {\n    #[cfg(test)]\n    fn f(\n        a: crate::a::A,\n    ) {\n    }\n}",
    "#[cfg(test)]\nuse crate::a::A;",
]


def crate_with(text: str) -> list[Source]:
    """Make a crate in which `a.rs` imports `b.rs`, and `b.rs` imports `c.rs`, which has this text."""
    return crate(
        lib="mod a;\nmod b;\nmod c;\nmod d;\nmod inner;\npub use a::A;\n",
        a="use crate::b::B;\n",
        b="fn f() {\n    crate::c::f();\n}\n",
        c=f"{text}\n",
        d="pub fn a() {}\n",
        inner__mod="mod deep;\npub use deep::Again;\n",
        inner__deep="pub use crate::A as Again;\n",
    )


@pytest.mark.parametrize("text", RUST_IMPORTS)
def test_rust_circles_are_found(text: str) -> None:
    """A circle is found whatever its third import looks like, and through whatever file the name comes."""
    graph = circles.rust_imports(crate_with(text))["crates/x"]

    assert "crates/x/src/a.rs" in graph["crates/x/src/c.rs"]
    assert [3] == [len(circle) for circle in circles.circles(graph)]
    assert 1 == len(circles.complaints(graph))


@pytest.mark.parametrize("text", NO_RUST_IMPORTS)
def test_what_is_no_import_makes_no_circle(text: str) -> None:
    """Comments, literals, tests, and names that are only equal make no circle."""
    graph = circles.rust_imports(crate_with(text))["crates/x"]

    assert [] == circles.circles(graph)


def test_parents_count() -> None:
    """A file that its children import is in a circle if it uses them; a re-export does not count as a use."""
    child, other = "use super::Shared;\n", "use super::one::One;\n"
    parent = "mod one;\nmod two;\npub use one::One;\n"
    uses = parent + "pub struct Shared(two::Two);\n"
    close = "use super::two::Two;\n" + child

    def count(mod: str, one: str) -> list[int]:
        sources = crate(lib="mod p;\n", p__mod=mod, p__one=one, p__two=other)
        return [len(circle) for circle in circles.circles(circles.rust_imports(sources)["crates/x"])]

    assert [] == count(parent, "pub struct One;\n")
    assert [3] == count(uses, close)


# Ways in which `c.rs` may have methods of `A`, which `a.rs` defines.
RUST_EXTENSIONS = [
    "use crate::a::A;\nimpl A {\n    fn c(&self) {}\n}",
    "use super::a::A as B;\nimpl B {\n    fn c(&self) {}\n}",
    "use crate::a::A;\nimpl<'a, T: Fn() -> u8> A<'a, T>\nwhere\n    T: Copy,\n{\n    fn c(&self) {}\n}",
    "impl crate::a::A<'_> {\n    fn c(&self) {}\n}",
]
NO_RUST_EXTENSIONS = [
    "use crate::a::A;\nimpl Drop for A {\n    fn drop(&mut self) {}\n}",
    "use crate::a::A;\nimpl<T> From<A> for T {\n    fn from(_: A) -> T {}\n}",
    "use crate::a::A;\nstruct C;\nimpl C {\n    fn c(&self, _: A) {}\n}",
]


def crate_of_type(text: str) -> list[Source]:
    """Make a crate in which `b.rs` has methods of `A`, and `c.rs` has this text."""
    b = "use crate::a::A;\nimpl A {\n    fn b(&self) {\n        self.c();\n    }\n}\n"
    return crate(lib="mod a;\nmod b;\nmod c;\n", a="pub struct A;\n", b=b, c=f"{text}\n")


@pytest.mark.parametrize("text", RUST_EXTENSIONS)
def test_methods_in_other_files_count(text: str) -> None:
    """Two files with methods of one type can call each other through it, whatever they import."""
    sources = crate_of_type(text)
    graph = circles.rust_imports(sources)["crates/x"]

    assert [["crates/x/src/a.rs", "crates/x/src/b.rs", "crates/x/src/c.rs"]] == circles.circles(graph)
    assert 1 == len(circles.complaints(graph))
    assert [] == circles.circles(circles.rust_imports(sources, {"A", "B"})["crates/x"])
    assert "A" in circles.spread_types(sources)


@pytest.mark.parametrize("text", NO_RUST_EXTENSIONS)
def test_methods_of_traits_and_in_one_other_file_are_no_circle(text: str) -> None:
    """Methods of a trait, which code names to use it, and methods in one other file make no circle."""
    graph = circles.rust_imports(crate_of_type(text))["crates/x"]

    assert [] == circles.complaints(graph)


# Ways in which `c.py` may import `p/a.py`.
PYTHON_IMPORTS = [
    "from p.a import A",
    "from p import a",
    "import p.a",
    "from .a import A",
    "from . import a",
    "from ..p import a",
    "def f():\n    from p.a import A",
    "if TYPE_CHECKING:\n    from p.a import A",
    "try:\n    import p.a as other\nexcept ImportError:\n    pass",
]


@pytest.mark.parametrize("text", PYTHON_IMPORTS)
def test_python_circles_are_found(text: str) -> None:
    """A circle is found wherever its imports stand, and whatever they look like."""
    sources = folder(p____init__="", p__a="from p.b import B", p__b="from p import c", p__c=text)
    sources[0] = Source("python/p/__init__.py", "")
    graph = circles.python_imports(sources)["python"]

    assert {"python/p/a.py"} == graph["python/p/c.py"]
    assert [3] == [len(circle) for circle in circles.circles(graph)]


def test_scripts_find_what_is_beside_them() -> None:
    """A folder that is no package is on the path of its own scripts."""
    texts = {"one": "import two", "two": "from three import f", "three": "import one"}
    sources = [Source(f"tests/gate/{name}.py", text) for name, text in texts.items()]

    assert [3] == [len(circle) for circle in circles.circles(circles.python_imports(sources)["tests"])]


CRATES = [source for source in ending(".rs") if source.path.startswith("crates/")]

# Types with methods in several files, which call each other through the type. No type may be added.
SPREAD = {
    "Document",
    "Guard",
    "Reader",
    "Reply",
    "Report",
    "Settings",
    "Site",
    "SiteRoute",
    "Sites",
    "Supervisor",
}


def test_rust_files_import_one_way() -> None:
    """No circle of imports in a crate has more than two files."""
    graphs = circles.rust_imports(CRATES, SPREAD)
    found = [complaint for graph in graphs.values() for complaint in circles.complaints(graph)]

    assert len(graphs) > 1
    assert not found, "\n".join(found)


def test_types_of_the_list_are_spread() -> None:
    """Each type of the list still has methods in other files."""
    assert set() == SPREAD - circles.spread_types(CRATES)


def test_python_files_import_one_way() -> None:
    """No circle of imports in the package, in the tests, or in another folder has more than two files."""
    graphs = circles.python_imports(ending(".py"))
    found = [complaint for graph in graphs.values() for complaint in circles.complaints(graph)]

    assert {"python", "tests"} < set(graphs)
    assert not found, "\n".join(found)
