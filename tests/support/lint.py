"""Checks each kind of response in the tests with httplint, once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from httplint import HttpRequestLinter, HttpResponseLinter, levels

if TYPE_CHECKING:
    from support.client import Asked
    from support.http import Response

BODY_BYTES_MAX = 1 << 20
"""Longest body that is linted: a longer one only takes more time."""

CHANGING = {"date", "last-modified", "expires", "etag", "content-length", "location"}
"""Fields whose value differs between responses of one kind."""

BLAMES_THE_REQUEST = {"STATUS_URI_TOO_LONG", "STATUS_VERSION_NOT_SUPPORTED"}
"""Notes that only repeat what the status says: the request was wrong."""

MULTIPART_RANGE = "PARTIAL_WITHOUT_RANGE"
"""Note that is wrong for multipart/byteranges, which must not have the field (RFC 9110 section 15.3.7.2)."""

_seen: set[tuple[object, ...]] = set()
"""Kinds of responses that were found good; thousands of responses are of only some hundred kinds."""


def bad_notes(response: Response, asked: Asked) -> list[str]:
    """Return the notes of httplint about faults of `response`; empty if it has none."""
    if len(response.body) > BODY_BYTES_MAX or not response.complete or 101 in response.interim:
        return []
    shape = (
        asked.method,
        bool(asked.fields),
        response.status,
        *(value for name, value in response.fields if name.lower() not in CHANGING),
        *(name for name, _ in response.fields),
    )
    if shape in _seen:
        return []
    linter = HttpResponseLinter()
    linter.request = _request(asked)
    linter.is_head_response = asked.method == "HEAD"
    linter.process_response_topline(b"1.1", str(response.status).encode(), response.reason.encode("latin-1"))
    linter.process_headers([(name.encode(), value.encode("latin-1")) for name, value in response.fields])
    linter.feed_content(response.body)
    linter.finish_content(complete=True)
    excused = set(BLAMES_THE_REQUEST)
    if any(value.startswith("multipart/byteranges") for value in response.values("content-type")):
        excused.add(MULTIPART_RANGE)
    bad = [
        f"{note.subject}: {note.summary}"
        for note in linter.notes
        if note.level is levels.BAD and type(note).__name__ not in excused
    ]
    if not bad:
        _seen.add(shape)
    return bad


def _request(asked: Asked) -> HttpRequestLinter:
    request = HttpRequestLinter()
    request.process_request_topline(asked.method.encode(), asked.target.encode("latin-1"), b"1.1")
    request.process_headers(
        [(name.encode("latin-1"), value.encode("latin-1")) for name, value in asked.fields]
    )
    request.finish_content(complete=True)
    return request
