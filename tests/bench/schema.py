"""Checks JSON against the schemas in `docs/reference`, with the part of JSON Schema that they use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "docs" / "reference"
TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
KNOWN = {"$schema", "$defs", "$ref", "title", "description", "type", "const", "enum", "anyOf"} | {
    "properties",
    "required",
    "additionalProperties",
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "minimum",
}
"""The words that this module understands; a schema with another word is refused."""


def faults(value: object, name: str) -> list[str]:
    """Return the faults of a value by the schema of that name; nothing if there are none."""
    schema = json.loads((FOLDER / f"{name}.schema.json").read_text("utf-8"))
    return list(check(value, schema, schema, "$"))


def check(value: object, schema: dict[str, Any], root: dict[str, Any], place: str) -> list[str]:
    """Return the faults of a part of the value."""
    assert schema.keys() <= KNOWN, schema.keys() - KNOWN
    if "$ref" in schema:
        return check(value, root["$defs"][schema["$ref"].rpartition("/")[2]], root, place)
    if "anyOf" in schema:
        several = [check(value, each, root, place) for each in schema["anyOf"]]
        return [] if [] in several else several[0]
    types = schema.get("type", [])
    found = [f"{place}: {value!r} is no {types}"] if types and not is_of(value, types) else []
    if value != schema.get("const", value) or value not in schema.get("enum", [value]):
        found.append(f"{place}: {value!r} is another word")
    if isinstance(value, int | float) and value < schema.get("minimum", value):
        found.append(f"{place}: {value!r} is too small")
    if isinstance(value, dict):
        found += of_object(value, schema, root, place)
    if isinstance(value, list):
        found += of_array(value, schema, root, place)
    return found


def is_of(value: object, types: str | list[str]) -> bool:
    """Tell whether a value is of one of the types; true and false are no numbers."""
    names = [types] if isinstance(types, str) else types
    allowed = tuple(each for name in names for each in TYPES[name])
    return isinstance(value, allowed) and (not isinstance(value, bool) or "boolean" in names)


def of_object(value: dict[str, Any], schema: dict[str, Any], root: dict[str, Any], place: str) -> list[str]:
    """Return what is wrong with the members of an object."""
    properties, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    found = [f"{place}: {name} is missing" for name in schema.get("required", []) if name not in value]
    for name, member in value.items():
        if name in properties:
            found += check(member, properties[name], root, f"{place}.{name}")
        elif isinstance(others, dict):
            found += check(member, others, root, f"{place}.{name}")
        elif not others:
            found.append(f"{place}: {name} is one too many")
    return found


def of_array(value: list[Any], schema: dict[str, Any], root: dict[str, Any], place: str) -> list[str]:
    """Return what is wrong with the items of an array."""
    found = []
    if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
        found.append(f"{place}: {len(value)} items")
    first = schema.get("prefixItems", [])
    for number, item in enumerate(value):
        of_item = first[number] if number < len(first) else schema.get("items", {})
        found += check(item, of_item, root, f"{place}[{number}]")
    return found
