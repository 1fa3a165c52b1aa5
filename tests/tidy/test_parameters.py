"""Functions take structs and single values, and no tuples; the finder is shown something to find."""

from __future__ import annotations

import pytest

from tidy.parameters import tuple_parameters
from tidy.sources import Source, ending

TUPLES = [
    "fn f((a, b): (u32, u64)) {}\n",
    "fn f(&self, first: u8, &(a, b): &(u32, u64)) {}\n",
    "fn f(pair: &'a mut (u32, u64)) {}\n",
    "fn f<T: Fn(u8) -> u8>(pair: (T, Vec<(u8, u8)>)) {}\n",
    "fn f(\n    (\n        a,\n        b,\n    ): (u32, u64),\n) {\n}\n",
    "trait T {\n    fn f(&self, pair: (u32, u64));\n}\n",
    "type Pair = (u32, u64);\nfn f((a, b): Pair) {}\n",
    'pub unsafe extern "C" fn f(pair: (u32, u64)) {}\n',
]

OTHERS = [
    "fn f(pairs: &[(u32, u64)], names: [(u8, u8); 3], all: Vec<(u8, u8)>) {}\n",
    "fn f(unit: (), one: (u8), maybe: Option<(u8, u8)>) {}\n",
    "fn f(use_it: impl Fn((u8, u8)) -> (u8, u8), plain: fn(u8, u8) -> u8) {}\n",
    "fn f([a, b]: [u8; 2], Pair { a, b }: Pair, Two(a, b): Two) -> (u8, u8) {\n    g(|(a, b)| a)\n}\n",
    '// fn f((a, b): (u8, u8)) {}\nconst A: &str = "fn f((a, b): (u8, u8)) {}";\n',
]


def sample(text: str) -> list[Source]:
    """Make a repository of one file."""
    return [Source("sample.rs", text)]


@pytest.mark.parametrize("text", TUPLES)
def test_tuples_are_found(text: str) -> None:
    """A tuple is found as a type and as a pattern, wherever it stands among the parameters."""
    found = tuple_parameters(sample(text))

    assert 1 == len(found)
    assert " f takes a tuple, " in found[0]


@pytest.mark.parametrize("text", OTHERS)
def test_others_are_passed(text: str) -> None:
    """Lists of tuples, functions, arrays, structs and closures are no tuples."""
    assert [] == tuple_parameters(sample(text))


def test_parameters_have_names() -> None:
    """Values that travel together are a struct, or several parameters."""
    assert [] == tuple_parameters(ending(".rs"))
