"""A client on a raw socket that takes answers apart byte by byte: what a benchmark is worth rests on it."""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass

TIMEOUT_S = 10.0
"""For one answer; a server that takes longer is not being measured but waited for."""
RECEIVE_BYTES = 1 << 20


class WrongAnswerError(Exception):
    """The server did not answer with exactly what was to be expected."""


@dataclass(frozen=True)
class Expected:
    """What a server must answer: status 200, this body, and these fields among others."""

    path: str
    body: bytes
    fields: tuple[tuple[str, str], ...] = ()


def request(path: str, *, close: bool = False) -> bytes:
    """Returns the bytes of a GET request; with `close` it is to be the connection's last."""
    end = "Connection: close\r\n\r\n" if close else "\r\n"
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{end}".encode("ascii")


def connect(port: int) -> socket.socket:
    """Opens a connection to a local server."""
    return socket.create_connection(("127.0.0.1", port), TIMEOUT_S)


def check(port: int, expected: Expected, *, times: int = 1, close: bool = False) -> None:
    """Sends `times` requests in one piece and compares every byte of every body.

    Raises `WrongAnswerError` on a difference, on bytes that nobody asked for, and, with `close`, when the
    server keeps the connection; `OSError` when there is no answer.
    """
    with connect(port) as connection:
        connection.sendall(request(expected.path, close=close) * times)
        rest = b""
        for _ in range(times):
            rest = read_answer(connection, expected, rest)
        if rest or (close and connection.recv(1)):
            raise WrongAnswerError("more bytes than were asked for")
        if not close and is_closed(connection):
            raise WrongAnswerError("the connection was closed after the answer")


def read_answer(connection: socket.socket, expected: Expected, data: bytes = b"") -> bytes:
    """Reads one answer, of which `data` has already come; returns the bytes behind it."""
    head, _, data = read_until(connection, data, b"\r\n\r\n").partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    if not status.startswith("HTTP/1.1 200"):
        raise WrongAnswerError(f"{expected.path} was answered {status!r}")
    fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    for name, value in expected.fields:
        if fields.get(name) != value:
            raise WrongAnswerError(f"field {name} is {fields.get(name)!r}, not {value!r}")
    if not re.fullmatch(r"\d+", fields.get("content-length", "")):
        raise WrongAnswerError("an answer of known length came without Content-Length")
    length = int(fields["content-length"])
    while len(data) < length:
        data += receive(connection)
    if data[:length] != expected.body:
        raise WrongAnswerError(f"the body of {expected.path} is not what was to be expected")
    return data[length:]


def read_until(connection: socket.socket, data: bytes, end: bytes) -> bytes:
    """Reads on from `data` until `end` is in it."""
    while end not in data:
        data += receive(connection)
    return data


def receive(connection: socket.socket) -> bytes:
    """Receives what there is; the end of the connection is an error here."""
    data = connection.recv(RECEIVE_BYTES)
    if not data:
        raise WrongAnswerError("the connection ended within an answer")
    return data


def is_closed(connection: socket.socket) -> bool:
    """Tells whether the other side has ended the connection, or sent what nobody asked for."""
    connection.settimeout(0)
    try:
        connection.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    finally:
        connection.settimeout(TIMEOUT_S)
    return True
