"""Fetches one page many times over many connections, and compares every answer with the first."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from support.client import Asked, Connection, request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from support.client import Address
    from support.http import Response

CONNECTIONS = 64


@dataclass(frozen=True)
class Page:
    """A page to fetch, and the expected response."""

    target: str
    status: int = 200
    fields: tuple[tuple[str, str], ...] = ()
    mask: Callable[[bytes], bytes] = bytes
    """Blanks out parts of the body that differ in each response, such as a CSRF token."""


def fetch_many(address: Address, page: Page, count: int) -> Response:
    """Fetch `page` `count` times, with a request under way on every connection all the time.

    Returns the first response. A different response, an incomplete one, or a connection that is closed too
    early is an error.
    """
    asked = Asked("GET", page.target)
    data = request(page.target, fields=page.fields)
    with ExitStack() as stack:
        lines = [
            stack.enter_context(Connection(address, lint_answers=False))
            for _ in range(min(CONNECTIONS, count))
        ]
        for line in lines:
            line.send(data)
        first: Response | None = None
        expected: tuple[object, ...] = ()
        for number in range(count):
            line = lines[number % len(lines)]
            response = line.receive(asked)
            if first is None:
                first, expected = response, essence(response, page)
                assert page.status == first.status, first
            found = essence(response, page)
            assert expected == found, f"answer {number} of {page.target} is not the first, but {response}"
            if number + len(lines) < count:
                line.send(data)
        assert first is not None
        for line in lines:
            assert not line.reader.buffer, "bytes behind the last answer"
    return first


def essence(response: Response, page: Page) -> tuple[object, ...]:
    """Return the parts of a response that must not change."""
    kept = ("content-type", "content-length", "etag", "last-modified", "location", "vary")
    return (
        response.status,
        response.complete,
        response.closing,
        response.framing,
        [(name, response.values(name)) for name in kept],
        page.mask(response.body),
    )


def cookies(response: Response) -> str:
    """Return the cookies that a response sets, in the form of a Cookie field."""
    return pairs(value.partition(";")[0] for value in response.values("set-cookie"))


def pairs(found: Iterable[str]) -> str:
    """Join cookies to the value of a Cookie field."""
    return "; ".join(found)
