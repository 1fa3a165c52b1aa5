"""A client on a raw socket: it sends any bytes that a test wants, and checks every response."""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Self

from support import lint
from support.http import NoResponseError, Reader, Response

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

Address = tuple[str, int] | str
"""Host and port, or the path of a unix socket; a path that begins with `@` is an abstract name."""

TIMEOUT_S = 40.0
"""Timeout for an answer, which no right answer reaches even on a busy machine."""

RECEIVE_BYTES = 256 * 1024
PIECES_MAX = 400
"""Most pieces in which a request is sent; a short request is sent byte by byte."""
PAUSE_S = 0.00005
"""Pause between two pieces, so that the server mostly reads each piece separately."""

BODY_METHODS = frozenset({"POST", "PUT", "PATCH"})


class Feed(Enum):
    """How the bytes of a case reach the server."""

    WHOLE = "whole"
    BYTEWISE = "bytewise"
    PIPELINED = "pipelined"
    """The bytes are sent together with a further request behind them."""


@dataclass
class Asked:
    """The facts of a request that are needed to read and judge its response."""

    method: str = "GET"
    target: str = "/"
    fields: list[tuple[str, str]] = field(default_factory=list)

    @classmethod
    def of(cls, data: bytes) -> Asked:
        """Read a request; a malformed request is read as far as possible."""
        head = data.lstrip(b"\r\n").partition(b"\r\n\r\n")[0].decode("latin-1")
        line, *rest = head.split("\r\n")
        method, target, *_ = [*line.split(" "), "", ""]
        pairs = (entry.partition(":") for entry in rest)
        return cls(
            method if method.isascii() and method.isalpha() else "GET",
            target if target.startswith("/") else "/",
            [(name, value.strip()) for name, _, value in pairs if name.replace("-", "").isalnum()],
        )


@dataclass
class Exchange:
    """All responses that came over one connection."""

    responses: list[Response]
    closed: bool
    """Whether the server closed the connection after the responses."""

    @property
    def statuses(self) -> list[int]:
        """Return the statuses in the order of the responses."""
        return [response.status for response in self.responses]


def request(
    target: str = "/",
    *,
    method: str = "GET",
    fields: Iterable[tuple[str, str]] = (),
    body: bytes | None = None,
    version: str = "1.1",
) -> bytes:
    """Return the bytes of a correct request; Host and Content-Length are added when missing."""
    lines = [f"{method} {target} HTTP/{version}"]
    pairs = list(fields)
    names = {name.lower() for name, _ in pairs}
    if "host" not in names:
        lines.append("Host: localhost")
    lines += [f"{name}: {value}" for name, value in pairs]
    if not names & {"content-length", "transfer-encoding"}:
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
        elif method in BODY_METHODS:
            lines.append("Content-Length: 0")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + (body or b"")


def chunked(*pieces: bytes, last: bytes = b"0\r\n\r\n") -> bytes:
    """Return a chunked body of these pieces."""
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + last


class Connection:
    """One connection, closed at the end of its `with`."""

    def __init__(
        self,
        address: Address,
        *,
        lint_answers: bool = True,
        receive_buffer_bytes: int = 0,
        source: str = "",
    ) -> None:
        """Connect, from `source`; `lint_answers=False` is for answers that are odd on purpose."""
        family = socket.AF_UNIX
        if not isinstance(address, str):
            family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self.socket = socket.socket(family)
        if receive_buffer_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        self.socket.settimeout(TIMEOUT_S)
        try:
            if source:
                self.socket.bind((source, 0))
            is_abstract = isinstance(address, str) and address.startswith("@")
            self.socket.connect(f"\0{address[1:]}" if is_abstract else address)
        except OSError:
            self.socket.close()
            raise
        if family != socket.AF_UNIX:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.reader = Reader(self._more)
        self.lint_answers = lint_answers
        self.was_reset = False

    def __enter__(self) -> Self:
        """Enter the `with`."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connection."""
        self.socket.close()

    def abort(self) -> None:
        """Close with a reset instead of a FIN."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def half_close(self) -> None:
        """Send a FIN and go on reading."""
        self.socket.shutdown(socket.SHUT_WR)

    def send(self, data: bytes) -> None:
        """Send all of `data` at once."""
        self.socket.sendall(data)

    def send_in_pieces(self, data: bytes) -> None:
        """Send `data` byte by byte, or in small pieces if it is long."""
        size = -(-len(data) // PIECES_MAX)
        for start in range(0, len(data), size):
            self.socket.sendall(data[start : start + size])
            time.sleep(PAUSE_S)

    def get(
        self,
        target: str = "/",
        *,
        method: str = "GET",
        fields: Iterable[tuple[str, str]] = (),
        body: bytes | None = None,
    ) -> Response:
        """Send one request and read its response."""
        return self.ask(request(target, method=method, fields=fields, body=body))

    def ask(self, data: bytes) -> Response:
        """Send the bytes of one request and read its response."""
        self.send(data)
        return self.receive(Asked.of(data))

    def receive(self, asked: Asked | str = "GET") -> Response:
        """Read one response; an incomplete response is returned with `complete` false."""
        if isinstance(asked, str):
            asked = Asked(asked)
        response = self.reader.response(asked.method)
        if self.lint_answers:
            bad = lint.bad_notes(response, asked)
            assert [] == bad, f"httplint: {bad} about {response}"
        return response

    def at_end(self) -> bool:
        """Wait until the server sends data or closes; tell whether it has closed."""
        return not self.reader.buffer and not self.reader.fill()

    def is_silent(self, seconds: float) -> bool:
        """Tell whether the server neither sends nor closes within these seconds."""
        if self.reader.buffer or self.reader.ended:
            return False
        self.socket.settimeout(seconds)
        try:
            self.reader.fill()
        except TimeoutError:
            return True
        finally:
            self.socket.settimeout(TIMEOUT_S)
        return False

    def _more(self) -> bytes:
        try:
            return self.socket.recv(RECEIVE_BYTES)
        except ConnectionResetError:
            self.was_reset = True
            return b""


def fetch(
    address: Address,
    target: str = "/",
    *,
    method: str = "GET",
    fields: Iterable[tuple[str, str]] = (),
    body: bytes | None = None,
    lint_answers: bool = True,
) -> Response:
    """Send one request over a new connection, read the response, and check that it is complete."""
    with Connection(address, lint_answers=lint_answers) as connection:
        response = connection.get(target, method=method, fields=fields, body=body)
    assert response.complete, response
    return response


def exchange(
    address: Address,
    data: bytes,
    feed: Feed = Feed.WHOLE,
    *,
    tail: bytes = b"",
    lint_answers: bool = True,
) -> Exchange:
    """Send `data`, then `tail` (pipelined: together); read until both are answered or the server closes.

    Without a tail, the server must close; with a tail, it may send two responses, or one and close.
    """
    asked = [Asked.of(data), Asked.of(tail)] if tail else [Asked.of(data)]
    responses: list[Response] = []
    with Connection(address, lint_answers=lint_answers) as connection:
        # A server that has closed may reset the connection for further data; the responses that it has sent
        # before can still be read.
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            if feed is Feed.PIPELINED:
                connection.send(data + tail)
            elif feed is Feed.BYTEWISE:
                connection.send_in_pieces(data)
            else:
                connection.send(data)
        try:
            responses.append(connection.receive(asked[0]))
            if tail:
                if feed is not Feed.PIPELINED:
                    with contextlib.suppress(ConnectionResetError, BrokenPipeError):
                        connection.send(tail)
                responses.append(connection.receive(asked[1]))
        except NoResponseError:
            return Exchange(responses, closed=True)
        closed = not tail and connection.at_end()
        return Exchange(responses, closed)
