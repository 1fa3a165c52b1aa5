"""Rust sources keep to the shape that we agreed on; each finder is shown something to find."""

from __future__ import annotations

import pytest

from tidy import rust
from tidy.sources import Source, ending

RUST = ending(".rs")


def sample(text: str) -> list[Source]:
    """Make a repository of one file."""
    return [Source("sample.rs", text)]


def function(lines: int, indent: str = "") -> str:
    """Make a function of this many lines, in a form that is hard to count."""
    head = [
        "pub(crate) const unsafe fn long(",
        "    text: &str,",
        ") -> Result<(), Error>",
        "where",
        "{",
    ]
    body = [
        '    let brace = "',
        "}",
        '";',
        "    // }",
        "    let c = '}';",
        "    if c == '\"' {",
        "    }",
    ]
    filler = ["    let _ = 0;"] * (lines - len(head) - len(body) - 1)
    return "".join(f"{indent}{line}\n" for line in [*head, *body, *filler, "}"])


@pytest.mark.parametrize("indent", ["", "    ", "        "])
@pytest.mark.parametrize("lines", [13, 70, 71, 500])
def test_lines_are_counted(lines: int, indent: str) -> None:
    """Lines count from `fn` to the closing brace, whatever braces are in strings and comments."""
    source = sample("fn before() {}\n" + function(lines, indent) + "fn after() {\n}\n")

    assert [("before", 1, 1), ("long", 2, lines), ("after", 2 + lines, 2)] == list(rust.functions(source[0]))
    assert (lines > rust.FUNCTION_LINES_MAX) == bool(rust.long_functions(source))


def test_declarations_have_no_lines() -> None:
    """A trait's function without a body, a type of a function and a macro's word are not counted."""
    text = "trait T {\n    fn declared(&self)\n    where\n        Self: Sized;\n}\ntype F = unsafe fn(u8);\n"

    assert [] == list(rust.functions(sample(text)[0]))


def test_functions_fit_a_screen() -> None:
    """No function has more than 70 lines."""
    found = rust.long_functions(RUST)

    assert [] == found


UNEXPLAINED = [
    "fn f() {\n    unsafe { g() }\n}\n",
    "unsafe impl Send for T {}\n",
    'unsafe extern "C" {\n    fn f();\n}\n',
    "#[unsafe(no_mangle)]\nfn f() {}\n",
    "// SAFETY: too far above.\nfn f() {\n    a();\n    b();\n    c();\n    unsafe { g() }\n}\n",
    "// Safety: not the word.\nunsafe impl Send for T {}\n",
    "// SAFETY:\nunsafe impl Send for T {}\n",
]
EXPLAINED = [
    "// SAFETY: because.\nunsafe impl Send for T {}\n",
    "// SAFETY: because of\n// several things.\nunsafe impl Send for T {}\n",
    "// SAFETY: because.\nlet x =\n    f(|| {\n        unsafe { g() }\n",
    "// unsafe { g() }\n",
    'let text = "unsafe { g() }";\n',
    "/* unsafe { */\n",
    'fn f(g: unsafe extern "C" fn(u8)) {}\n',
]


@pytest.mark.parametrize("text", UNEXPLAINED)
def test_unexplained_unsafe_is_found(text: str) -> None:
    """Every form of unsafe needs its reason close above."""
    assert 1 == len(rust.unexplained_unsafe(sample(text)))


@pytest.mark.parametrize("text", EXPLAINED)
def test_explained_unsafe_is_passed(text: str) -> None:
    """A reason counts, also of several lines; comments and literals are no code."""
    assert [] == rust.unexplained_unsafe(sample(text))


def test_unsafe_has_its_reason() -> None:
    """Every unsafe block and impl says which duty it has and what meets it."""
    found = rust.unexplained_unsafe(RUST)

    assert [] == found


def test_missing_duties_are_found() -> None:
    """Unsafe functions need a section `# Safety`; a section in a trait serves the impls of the trait."""
    duties = "    /// Does.\n    ///\n    /// # Safety\n    ///\n    /// - Hold it.\n"
    declared = f"trait T {{\n{duties}    unsafe fn f(&self);\n}}\n"
    of_trait = "impl T for S {\n    unsafe fn f(&self) {}\n}\n"
    inherent = "impl S {\n    /// Does.\n    #[inline]\n    unsafe fn f(&self) {}\n}\n"
    callback = '/// Does.\npub unsafe extern "C" fn g() {}\n'

    assert [] == rust.unsafe_functions_without_duties(sample(declared + of_trait))
    for text in (
        of_trait,
        inherent,
        declared + inherent,
        callback,
        declared.replace("# Safety", ""),
    ):
        assert 1 == len(rust.unsafe_functions_without_duties(sample(text))), text


def test_unsafe_functions_tell_their_duties() -> None:
    """Every unsafe function says what its caller must see to."""
    found = rust.unsafe_functions_without_duties(RUST)

    assert [] == found


def test_missing_sentences_are_found() -> None:
    """A file begins with one sentence: not with none, not with two, not with an unfinished one."""
    for text in (
        "//! One: sentence, e.g. this\n//! one.\n//!\n//! And more. Of it.\n",
        "//! `x` it is.\n",
    ):
        assert [] == rust.without_sentence(sample(text))
    for text in ("", "use a;\n", "//! No end\n", "//! One. Two.\n", "//! one.\n", "\n//! Late.\n"):
        assert 1 == len(rust.without_sentence(sample(text))), text


def test_files_begin_with_their_sentence() -> None:
    """Every file says first what it is."""
    found = rust.without_sentence(RUST)

    assert [] == found


# Methods of the event loop, all about its own state: the steps of requests are functions that take it.
LOOP_METHODS_MAX = 30


def test_methods_are_counted() -> None:
    """Methods in every block of the type count, in every file, and none of another type or of a trait."""
    own = "impl Loop {\n    fn a(&self) {\n    }\n\n    pub(crate) fn b(&self) {\n    }\n}\n"
    other = "impl<'l> Other<'l> {\n    fn c(&self) {\n    }\n}\n"
    other += "impl Drop for Loop {\n    fn drop(&mut self) {\n    }\n}\n"
    sources = [Source("one.rs", own + other + own), Source("two.rs", own), Source("three.rs", other)]

    assert {"one.rs": 4, "two.rs": 2} == rust.methods(sources, "Loop")


def test_the_loop_stays_small() -> None:
    """The event loop has few methods, and all of them are in its own file."""
    found = rust.methods(RUST, "Loop")

    assert ["crates/server/src/event_loop/mod.rs"] == list(found)
    assert all(count <= LOOP_METHODS_MAX for count in found.values())


UNFINISHED = r"\b(?:todo|unimplemented|dbg)!|#\[ignore\b"


def test_unfinished_code_is_found() -> None:
    """Macros that stand for missing code are found, and so are tests that do not run."""
    text = 'todo!();\nunimplemented!();\ndbg!(x);\n#[ignore = "later"]\n// todo!()\nlet x = "dbg!";\n'

    assert [f"sample.rs:{line}" for line in (1, 2, 3, 4)] == [
        found.rsplit(": ", 1)[0] for found in rust.words(sample(text), UNFINISHED)
    ]


def test_code_is_finished() -> None:
    """Nothing is left for later, and every test runs."""
    found = rust.words(RUST, UNFINISHED)

    assert [] == found


def test_docs_begin_with_the_thing() -> None:
    """The first word of a doc comment is the thing or the verb, so that it is understood without the code."""
    text = "/// What waits.\n/// It is no first line.\nstruct A;\n\n    /// The queue. What waits.\nx"
    found = rust.leaning_docs(RUST)

    assert ["sample.rs:1: What waits."] == rust.leaning_docs(sample(text))
    assert [] == found
