"""A setting is in one file of rows: its field, default, help and check; a new one touches no other file."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

import pytest

from tidy.rust import blanked
from tidy.sources import Source, ending

ROWS = "crates/cli/src/rows/"
SETTINGS = "crates/cli/src/settings/typed.rs"

SECTION = re.compile(r"^impl<S: Has<(?P<name>\w+)>> Section<S> for (?P=name) \{$", re.MULTILINE)
FIELD = re.compile(r"^    pub (?P<name>\w+): ", re.MULTILINE)
ROW = re.compile(r"^        Row \{\n(?P<row>.*?)^        \},$", re.MULTILINE | re.DOTALL)
KNOWS = re.compile(r"adyton_cli::|crate::rows::")
STORED = re.compile(r"\.as_mut\(\)\s*\.(\w+)")


class Section(NamedTuple):
    """The settings of a file of rows."""

    path: str
    name: str
    fields: list[str]
    rows: dict[str, set[str]]
    """The fields that each row names, by the name of the row."""


def sections(sources: list[Source]) -> list[Section]:
    """Read the files of rows."""
    found = []
    for source in sources:
        if not source.path.startswith(ROWS) or source.path.endswith("/mod.rs"):
            continue
        name = next(SECTION.finditer(source.text))["name"]
        struct = source.text.partition(f"pub struct {name} {{\n")[2].partition("\n}\n")[0]
        rows = source.text.partition("const ROWS: ")[2].partition("\n    ];\n")[0]
        stored = {}
        for row in ROW.finditer(rows):
            stored[re.findall(r'^            name: "([\w-]+)",$', row["row"], re.MULTILINE)[0]] = set(
                STORED.findall(row["row"])
            )
        found.append(Section(source.path, name, FIELD.findall(struct), stored))
    return found


def complaints(sources: list[Source]) -> list[str]:
    """Find settings that are not in one file, and code elsewhere that would have to name each new one."""
    found = []
    all_sections = sections(sources)
    for section in all_sections:
        stored = [field for fields in section.rows.values() for field in fields]
        found += [
            f"{section.path}: the field {field} has {stored.count(field)} rows"
            for field in section.fields
            if stored.count(field) != 1
        ]
        found += [
            f"{section.path}: the row {row} stores {', '.join(sorted(fields)) or 'nothing'}"
            for row, fields in section.rows.items()
            if not is_stored(row, fields, section)
        ]
    found += [
        f"{source.path}: Settings has no section {section.name}"
        for source in sources
        for section in all_sections
        if source.path == SETTINGS and f": {section.name},\n" not in source.text
    ]
    places = tuple((section.name, section.path) for section in all_sections)
    return found + [told for source in sources for told in listings(source, places)]


def is_stored(row: str, fields: set[str], section: Section) -> bool:
    """Say whether a row stores one field, whose name begins like that of the row."""
    return len(fields) == 1 and all(
        field in section.fields and field.startswith(row.replace("-", "_")) for field in fields
    )


@cache
def listings(source: Source, places: tuple[tuple[str, str], ...]) -> list[str]:
    """Find where a file makes a section of all its fields, or takes one apart into all of them."""
    found: list[str] = []
    code = blanked(source.text)
    for name, path in places:
        named = rf"(?:adyton_cli|crate::rows::\w+)::(?:\{{[^}}]*)?\b{name}\b"
        if source.path == path or re.search(named, code):
            uses = re.finditer(rf"(?<!struct )(?<!for )\b{name} \{{([^{{}}]*)\}}", code)
            found += [
                f"{source.at(use.start())}: every field of {name} is named"
                for use in uses
                if ".." not in use[1]
            ]
    return found


@cache
def rust() -> list[Source]:
    """Return the sources of all crates that may know a section."""
    sources = [source for source in ending(".rs") if source.path.startswith("crates/")]
    return [source for source in sources if source.path.startswith(ROWS) or KNOWS.search(source.text)]


NEW_FIELD = "    pub new_setting_ms: u64,\n"
NEW_ROW = """        Row {
            name: "new-setting",
            kind: Kind::Number {
                unit: Unit::Duration,
                least: 0,
                most: 1_000,
                set: |settings, ms| settings.as_mut().new_setting_ms = ms,
            },
            default: "1s",
            example: "2s",
            help: "a setting that this test adds",
            detail: "It has no effect.",
            ..Self::ROW
        },
"""


def changed(path: str, *, field: str = "", row: str = "") -> list[Source]:
    """Return the sources with one file of rows changed: a field and a row are put before the first ones."""
    result = []
    for source in rust():
        text = source.text
        if source.path == path:
            name = next(SECTION.finditer(text))["name"]
            text = text.replace(f"pub struct {name} {{\n", f"pub struct {name} {{\n{field}", 1)
            text = text.replace("= &[\n        Row {", f"= &[\n{row}        Row {{", 1)
            assert len(text) == len(source.text) + len(field) + len(row)
        result.append(Source(source.path, text))
    return result


def test_a_setting_is_in_one_file() -> None:
    """Each field has one row, in its own file, and each row one field."""
    found = sections(rust())

    assert len(found) > 10
    assert sum(len(section.fields) for section in found) > 100
    assert [] == complaints(rust())


@pytest.mark.parametrize("section", sections(rust()), ids=lambda section: section.name)
def test_a_new_setting_touches_one_file(section: Section) -> None:
    """A field and its row, both added to one file, make no complaint; a field or a row alone does."""
    lonely_field = f"{section.path}: the field new_setting_ms has 0 rows"
    lonely_row = f"{section.path}: the row new-setting stores new_setting_ms"

    assert [] == complaints(changed(section.path, field=NEW_FIELD, row=NEW_ROW))
    assert [lonely_field] == complaints(changed(section.path, field=NEW_FIELD))
    assert [lonely_row] == complaints(changed(section.path, row=NEW_ROW))


# Code that a new field of `Caching` would break.
NAMES_ALL = [
    "use adyton_cli::{Caching, Settings};\nfn f() {\n    let Caching { cache_ms } = caching();\n}\n",
    "use crate::rows::caching::Caching;\nfn f() -> Caching {\n    Caching { cache_ms: None }\n}\n",
]
NAMES_SOME = [
    "use adyton_cli::Caching;\nfn f() {\n    let Caching { cache_ms, .. } = caching();\n}\n",
    "use crate::rows::caching::Caching;\nimpl Name for Caching {}\n",
    "struct Caching {}\nfn f() -> Caching {\n    Caching {}\n}\n",
]


@pytest.mark.parametrize("text", NAMES_ALL)
def test_code_that_names_every_field_is_found(text: str) -> None:
    """Code that names every setting is found, because each new setting would have to change it, too."""
    found = complaints([*rust(), Source("crates/x/src/lib.rs", text)])

    assert ["every field of Caching is named"] == [told.rpartition(": ")[2] for told in found]


@pytest.mark.parametrize("text", NAMES_SOME)
def test_code_that_names_some_fields_may_be(text: str) -> None:
    """Code may name the setting that it reads, and types elsewhere may have the name of a section."""
    assert [] == complaints([*rust(), Source("crates/x/src/lib.rs", text)])
