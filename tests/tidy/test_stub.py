"""The stub describes the compiled module exactly: every name, with its kind and its parameters."""

from __future__ import annotations

import ast
import inspect
from types import BuiltinFunctionType, ModuleType, SimpleNamespace

import pytest
from adyton import _core

from tidy.sources import ending


class Empty:
    """A class that defines nothing."""


# Names that every class has without defining them; which names these are depends on the interpreter.
INHERITED = {*vars(object), *vars(Empty)}

Shape = dict[str, str]


def _is_shown(name: str) -> bool:
    """Say whether a name is public, or a special method that not every class has."""
    return not name.startswith("_") or (name.endswith("__") and name not in INHERITED)


def parameters(signature: inspect.Signature) -> str:
    """Write names, kinds and defaults, without `self`."""
    found = [parameter for name, parameter in signature.parameters.items() if name not in ("self", "type")]
    shown = []
    for parameter in found:
        default = "" if parameter.default is parameter.empty else "="
        shown.append(f"{parameter.kind.name.lower()} {parameter.name}{default}")
    return ", ".join(shown)


def shape_of_module(module: ModuleType | SimpleNamespace) -> Shape:
    """Describe the names of the compiled module."""
    shape: Shape = {}
    for name, value in vars(module).items():
        if name.startswith("_"):
            continue
        if isinstance(value, type):
            shape[name] = "class"
            for member, inner in vars(value).items():
                if _is_shown(member):
                    shape[f"{name}.{member}"] = _shape_of_member(inner)
        elif isinstance(value, BuiltinFunctionType):
            shape[name] = f"function({parameters(inspect.signature(value))})"
        else:
            shape[name] = type(value).__name__
    return shape


def _shape_of_member(member: object) -> str:
    if inspect.isgetsetdescriptor(member) or isinstance(member, property):
        return "property"
    if inspect.ismethoddescriptor(member) or inspect.isfunction(member):
        return f"method({parameters(inspect.signature(member))})"
    return type(member).__name__


def shape_of_stub(text: str) -> Shape:
    """Describe the names of the stub."""
    shape: Shape = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef):
            shape[node.name] = "class"
            for member in node.body:
                if isinstance(member, ast.FunctionDef) and _is_shown(member.name):
                    shape[f"{node.name}.{member.name}"] = _shape_of_definition(member, "method")
        elif isinstance(node, ast.FunctionDef):
            shape[node.name] = _shape_of_definition(node, "function")
    return shape


def _shape_of_definition(node: ast.FunctionDef, kind: str) -> str:
    if any(
        isinstance(decorator, ast.Name) and decorator.id == "property" for decorator in node.decorator_list
    ):
        return "property"
    # Run as a program: only names, kinds and defaults count, so the types are left out.
    bare = ast.parse(f"def {node.name}(): ...").body[0]
    assert isinstance(bare, ast.FunctionDef)
    bare.args = node.args
    for argument in ast.walk(bare):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    module = ast.fix_missing_locations(ast.Module([bare], []))
    names: dict[str, object] = {}
    exec(compile(module, "stub", "exec"), names)  # noqa: S102 - it is our own stub
    function = names[node.name]
    assert callable(function)
    return f"{kind}({parameters(inspect.signature(function))})"


SAMPLE = """
class C:
    @property
    def p(self) -> int: ...
    def m(self, a: int, /, b: int = 1, *, c: int) -> int: ...
    def __iter__(self) -> int: ...
"""


class C:
    """The class that the sample of a stub describes."""

    @property
    def p(self) -> int:
        """Return a number."""
        return 1

    def m(self, a: int, /, b: int = 1, *, c: int) -> int:
        """Return a number."""
        return a + b + c

    def __iter__(self) -> int:
        """Return a number."""
        return 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", ""),
        ("    @property\n", ""),
        ("def p", "def q"),
        ("a: int, /", "a: int"),
        ("b: int = 1", "b: int"),
        ("c: int", "d: int"),
        ("__iter__", "__next__"),
        ("class C", "class D"),
        ("\nclass C", "\ndef f() -> int: ...\nclass C"),
    ],
)
def test_differences_are_found(old: str, new: str) -> None:
    """A name, a kind or a parameter that differs is found; types are left to mypy."""
    module = SimpleNamespace(C=C)

    assert (old == new) == (shape_of_module(module) == shape_of_stub(SAMPLE.replace(old, new, 1)))


def test_stub_is_the_module() -> None:
    """Every public name is in both, with the same parameters."""
    (stub,) = ending("python/adyton/_core.pyi")
    module, described = shape_of_module(_core), shape_of_stub(stub.text)
    # A class that only Rust makes has a constructor that refuses to be called, which the stub leaves out.
    hidden = {name for name in module if name.endswith(".__new__") and name not in described}
    module = {name: shape for name, shape in module.items() if name not in hidden}
    for name in described:
        if name.endswith(".__new__"):
            described[name] = module.get(name, "missing")

    assert described == module
