"""A strict reader of HTTP/1.1 responses: any deviation from the standard is an error."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

HEAD_BYTES_MAX = 64 * 1024
"""Longest head of a response: no head of ours may be longer."""

BODYLESS = frozenset({204, 304})
SINGLETONS = frozenset(
    {
        "connection",
        "content-encoding",
        "content-length",
        "content-range",
        "content-type",
        "date",
        "etag",
        "last-modified",
        "location",
        "server",
        "transfer-encoding",
    }
)

STATUS_LINE = re.compile(rb"HTTP/1\.1 ([1-9][0-9]{2}) ([\t\x20-\x7e\x80-\xff]*)")
FIELD_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):(?: ([\x21-\x7e\x80-\xff][\t\x20-\xff]*)| ?)")
CHUNK_SIZE = re.compile(rb"[0-9A-Fa-f]{1,16}")
IMF_FIXDATE = re.compile(
    r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d "
    r"(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d\d:\d\d:\d\d GMT"
)


class MalformedError(AssertionError):
    """Raised when the server sends something that is not a correct HTTP/1.1 response."""


class NoResponseError(AssertionError):
    """Raised when the connection ends although a response is due."""


@dataclass
class Response:
    """One response as it came over the wire."""

    status: int
    reason: str
    fields: list[tuple[str, str]]
    body: bytes = b""
    framing: str = "none"
    """How the end of the body is known: `none`, `length`, `chunked` or `close`."""
    complete: bool = True
    """False if the connection ended before the end of the body."""
    interim: list[int] = field(default_factory=list)
    """Statuses of the 1xx responses that came before."""
    pieces: list[bytes] = field(default_factory=list)
    """The chunks of a chunked body."""

    def values(self, name: str) -> list[str]:
        """Return the values of every field called `name`, in order."""
        return [value for key, value in self.fields if key.lower() == name.lower()]

    def __getitem__(self, name: str) -> str:
        """Return the value of the one field called `name`."""
        (value,) = self.values(name)
        return value

    def __contains__(self, name: str) -> bool:
        """Tell whether there is a field called `name`."""
        return bool(self.values(name))

    @property
    def closing(self) -> bool:
        """Whether the server announced the end of the connection."""
        return any("close" in value.lower() for value in self.values("connection"))

    def json(self) -> Any:
        """Return the body, read as JSON."""
        return json.loads(self.body)


class Reader:
    """Reads responses from a stream of bytes; `more` returns b"" at the end of the stream."""

    def __init__(self, more: Callable[[], bytes]) -> None:
        """Start with an empty buffer."""
        self._more = more
        self.buffer = bytearray()
        self.ended = False

    def fill(self) -> bool:
        """Read once; tell whether anything came."""
        if self.ended:
            return False
        data = self._more()
        self.ended = not data
        self.buffer += data
        return bool(data)

    def response(self, method: str = "GET") -> Response:
        """Read one final response to a request with `method`, and the 1xx responses before it."""
        interim: list[int] = []
        while True:
            response = self._head()
            if response.status >= 200:
                break
            interim.append(response.status)
            if response.status == 101:
                break
        response.interim = interim
        self._body(response, method)
        return response

    def interim(self) -> int:
        """Read one 1xx response, which must be the next; return its status."""
        response = self._head()
        if response.status >= 200:
            raise MalformedError(f"1xx expected, not {response}")
        return response.status

    def _head(self) -> Response:
        while (end := self.buffer.find(b"\r\n\r\n")) < 0:
            if len(self.buffer) > HEAD_BYTES_MAX:
                raise MalformedError(f"endless head: {bytes(self.buffer[:200])!r}")
            if not self.fill():
                if self.buffer:
                    raise MalformedError(f"the head is cut: {bytes(self.buffer[:200])!r}")
                raise NoResponseError("closed without a response")
        lines = bytes(self.buffer[:end]).split(b"\r\n")
        del self.buffer[: end + 4]
        status_line = STATUS_LINE.fullmatch(lines[0])
        if not status_line:
            raise MalformedError(f"status line {lines[0]!r}")
        fields = [_field(line) for line in lines[1:]]
        response = Response(int(status_line[1]), status_line[2].decode("latin-1"), fields)
        _check(response)
        return response

    def _body(self, response: Response, method: str) -> None:
        if method == "HEAD" or response.status < 200 or response.status in BODYLESS:
            return
        if "transfer-encoding" in response:
            response.framing = "chunked"
            self._chunks(response)
        elif "content-length" in response:
            response.framing = "length"
            response.body, response.complete = self._exactly(int(response["content-length"]))
        else:
            response.framing = "close"
            while self.fill():
                pass
            response.body, self.buffer = bytes(self.buffer), bytearray()
            if not response.closing:
                raise MalformedError("a body until close without `Connection: close`")

    def _chunks(self, response: Response) -> None:
        while (line := self._line()) is not None:
            if not CHUNK_SIZE.fullmatch(line):
                raise MalformedError(f"chunk size {line!r}")
            size = int(line, 16)
            data, complete = self._exactly(size + 2)
            if not complete:
                response.body += data
                break
            if data[size:] != b"\r\n":
                raise MalformedError(f"a chunk ends with {data[size:]!r}")
            if size == 0:
                return
            response.pieces.append(data[:size])
            response.body += data[:size]
        response.complete = False

    def _line(self) -> bytes | None:
        while (end := self.buffer.find(b"\r\n")) < 0:
            if not self.fill():
                return None
        line = bytes(self.buffer[:end])
        del self.buffer[: end + 2]
        return line

    def _exactly(self, size: int) -> tuple[bytes, bool]:
        while len(self.buffer) < size and self.fill():
            pass
        data = bytes(self.buffer[:size])
        del self.buffer[:size]
        return data, len(data) == size


def _field(line: bytes) -> tuple[str, str]:
    match = FIELD_LINE.fullmatch(line)
    if not match or b"\x7f" in line or (match[2] or b"").endswith((b" ", b"\t")):
        raise MalformedError(f"field line {line!r}")
    return match[1].decode(), (match[2] or b"").decode("latin-1")


def _check(response: Response) -> None:
    """Check the requirements of RFC 9110 and 9112 for the head of any response."""
    for name in SINGLETONS:
        if len(response.values(name)) > 1:
            raise MalformedError(f"{name} more than once: {response.fields}")
    length, coding = response.values("content-length"), response.values("transfer-encoding")
    if length and not re.fullmatch(r"[0-9]+", length[0]):
        raise MalformedError(f"Content-Length {length[0]!r}")
    if length and coding:
        raise MalformedError("Content-Length and Transfer-Encoding together")
    if coding and coding != ["chunked"]:
        raise MalformedError(f"Transfer-Encoding {coding}")
    if (response.status < 200 or response.status == 204) and (length or coding):
        raise MalformedError(f"{response.status} with a framing field")
    if response.status == 304 and coding:
        raise MalformedError("304 with Transfer-Encoding")
    if 200 <= response.status < 500:
        dates = response.values("date")
        if not dates or not IMF_FIXDATE.fullmatch(dates[0]):
            raise MalformedError(f"Date {dates}")
        parsedate_to_datetime(dates[0])
