"""A page for load tools: as a WSGI application, and as a handler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adyton import Response

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = b"<p>know thyself</p>\n" * 50


def application(_environ: dict[str, Any], start_response: Callable[..., object]) -> list[bytes]:
    """Answer with the page."""
    start_response("200 OK", [("Content-Type", "text/html")])
    return [PAGE]


def handler(_request: object) -> Response:
    """Answer with the page."""
    return Response(PAGE, content_type="text/html")
