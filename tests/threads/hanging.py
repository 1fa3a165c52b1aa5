"""Requests that take longer than they may, each in its own way."""

from __future__ import annotations

import itertools
import os
import threading
import time
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

import adyton
from application import HOLD_S_MAX, PLAIN, add, application, keep_interpreter, note

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from wsgiref.types import StartResponse, WSGIEnvironment

    from application import Query

__all__ = ["application", "handler"]


def hang() -> None:
    """Hang in Python: in many short sleeps."""
    end = time.monotonic() + HOLD_S_MAX
    while time.monotonic() < end:
        time.sleep(0.001)  # here it hangs


def hang_computing() -> None:
    """Hang without a pause."""
    end = time.monotonic() + HOLD_S_MAX
    while time.monotonic() < end:
        pass


def hang_in_c(fifo: str) -> None:
    """Hang in one system call, until the other end of the FIFO is opened; then go on in Python for ever."""
    os.close(os.open(fifo, os.O_RDONLY))
    hang()


def hang_holding(fifo: str) -> None:
    """Hang in one call that keeps the interpreter, until the other end of the FIFO is opened."""
    keep_interpreter(fifo)
    hang()


@add("hang")
def hangs(environ: WSGIEnvironment, start_response: StartResponse, query: Query) -> Iterable[bytes]:
    """Hang; note what is raised, and whether `finally` runs."""
    name = query["name"]
    note(name, [threading.current_thread().name])
    try:
        if query["by"] == "computing":
            hang_computing()
        elif query["by"] == "c":
            hang_in_c(query["fifo"])
        elif query["by"] == "holding":
            hang_holding(query["fifo"])
        else:
            hang()
    except Exception as error:
        note(name, f"Exception: {error!r}")
        raise
    except BaseException as error:
        note(name, type(error).__module__ + "." + type(error).__qualname__)
        if "catch" in query:
            status = "200 OK" if query["catch"] == "200" else "503 Service Unavailable"
            start_response(status, [PLAIN])
            return [b"caught"]
        raise
    finally:
        note(name, "finally")
    del environ
    start_response("200 OK", [PLAIN])
    return [b"not hung"]


@add("hang-midway")
def hangs_midway(environ: WSGIEnvironment, start_response: StartResponse, query: Query) -> Iterable[bytes]:
    """Hang after some of the answer is sent."""
    del environ
    start_response("200 OK", [PLAIN])

    def items() -> Iterator[bytes]:
        try:
            yield b"begun"
            hang()
        finally:
            note(query["name"], "finally")

    return items()


@add("hang-at-the-end")
def hangs_at_the_end(
    environ: WSGIEnvironment, start_response: StartResponse, query: Query
) -> Iterable[bytes]:
    """Hang while the rest of an answer is closed."""
    del environ
    start_response("200 OK", [PLAIN])

    def items() -> Iterator[bytes]:
        try:
            while True:
                yield bytes(1 << 16)
        finally:
            note(query["name"], "closed")
            try:
                if query["by"] == "c":
                    hang_in_c(query["fifo"])
                hang()
            except BaseException as error:
                note(query["name"], type(error).__qualname__)
                raise

    return items()


@add("ticks")
def ticks(environ: WSGIEnvironment, start_response: StartResponse, query: Query) -> Iterable[bytes]:
    """Give an item every so many ms, by an iterable or by `write()`; without a count, for ever."""
    del environ
    write = start_response("200 OK", [PLAIN])
    numbers = range(int(query["count"])) if "count" in query else itertools.count()

    def items() -> Iterator[bytes]:
        for _ in numbers:
            time.sleep(float(query["ms"]) / 1e3)
            yield b"tick"

    if query["way"] == "items":
        return items()
    for item in items():
        write(item)
    return []


@add("hang-started")
def hangs_started(environ: WSGIEnvironment, start_response: StartResponse, query: Query) -> Iterable[bytes]:
    """Hang after `start_response`, when nothing can have been sent."""
    del environ, query
    start_response("200 OK", [PLAIN, ("X-Lost", "with the answer")])
    hang()
    return [b"not hung"]


@add("near")
def near(environ: WSGIEnvironment, start_response: StartResponse, query: Query) -> Iterable[bytes]:
    """Take about as long as a request may: in steps, so that the exception can come anywhere."""
    del environ
    end = time.perf_counter() + float(query["us"]) / 1e6
    while time.perf_counter() < end:
        pass
    start_response("200 OK", [PLAIN])
    return [b"near"]


@add("busy")
def busy(environ: WSGIEnvironment, start_response: StartResponse, query: Query) -> Iterable[bytes]:
    """Take some hundred steps, in any of which a late exception would be raised."""
    del environ
    total = 0
    for number in range(300):
        total += number
    start_response("200 OK", [PLAIN])
    return [b"busy%d" % total, query["id"].encode()]


def handler(request: adyton.Request) -> str:
    """Hang as a handler; with `catch` answer all the same."""
    try:
        hang()
    except adyton.RequestTimeout:
        if "catch" in dict(parse_qsl(request.query_string)):
            return "caught"
        raise
    return "not hung"
