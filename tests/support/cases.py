"""Test cases: the bytes of a request, and its allowed outcomes."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Case:
    """One request, and its allowed outcomes."""

    rule: int
    name: str
    data: bytes
    statuses: frozenset[int]
    closes: bool | None
    """Whether the connection must end after the answer; None: it may end or not."""
    told: dict[str, object] = field(default_factory=dict)
    """Values that the application must have seen, if it answered."""
    fields: dict[str, str | None] = field(default_factory=dict)
    """HTTP_ variables that the application must have seen; None: the variable must be absent."""

    def __str__(self) -> str:
        """Return the rule and the name as the id of the test."""
        return f"rule {self.rule}: {self.name}"


def refused(rule: int, name: str, data: bytes, *statuses: int) -> Case:
    """Make a case that gets an error and a close, and never reaches the application."""
    return Case(rule, name, data, frozenset(statuses or {400}), closes=True)


def accepted(
    rule: int,
    name: str,
    data: bytes,
    *,
    fields: dict[str, str | None] | None = None,
    closes: bool = False,
    **told: object,
) -> Case:
    """Make a case that the application answers, after which the connection goes on."""
    return Case(rule, name, data, frozenset({200}), closes, told, fields or {})


def either(rule: int, name: str, data: bytes, *statuses: int, **told: object) -> Case:
    """Make a case with a choice: an answer of the application, or one of these errors."""
    return Case(rule, name, data, frozenset({200, *statuses}), None, told)
