"""The parts of a request that are mappings; the server makes each when a program first reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping


class _Pairs(Mapping[str, str]):
    """Names and values in order; a name may occur several times, and indexing returns its first value."""

    __slots__ = ("_pairs",)

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self._pairs = pairs

    @staticmethod
    def _key(name: str) -> str:
        return name

    def getall(self, name: str) -> list[str]:
        """Every value of ``name``, in order; empty if there is none."""
        key = self._key(name)
        return [value for other, value in self._pairs if self._key(other) == key]

    def __getitem__(self, name: str) -> str:
        key = self._key(name)
        for other, value in self._pairs:
            if self._key(other) == key:
                return value
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(self._key(name) for name, _ in self._pairs))

    def __len__(self) -> int:
        return len({self._key(name) for name, _ in self._pairs})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._pairs!r})"


class Params(_Pairs):
    """The parameters of a query."""

    __slots__ = ()


class Headers(_Pairs):
    """The fields of a request; names without regard to case (RFC 9110 section 5.1)."""

    __slots__ = ()

    @staticmethod
    def _key(name: str) -> str:
        return name.lower()


def parse_cookies(field: str) -> dict[str, str]:
    """Returns the cookies of a ``Cookie`` field (RFC 6265 section 5.4); of equal names the first counts."""
    cookies: dict[str, str] = {}
    for pair in field.split(";"):
        name, equals, value = pair.strip().partition("=")
        if equals:
            cookies.setdefault(name.rstrip(), value.strip().strip('"'))
    return cookies


def decode(body: bytes, content_type: str) -> str:
    """Returns ``body`` as text in the charset of ``content_type`` (RFC 9110 section 8.3.2), else UTF-8.

    Invalid bytes become U+FFFD. A charset that Python does not know counts as UTF-8.
    """
    for parameter in content_type.split(";")[1:]:
        name, _, value = parameter.strip().partition("=")
        if name.lower() == "charset":
            try:
                return body.decode(value.strip('"'), "replace")
            except (LookupError, UnicodeError):
                break
    return body.decode("utf-8", "replace")
