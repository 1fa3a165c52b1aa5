"""Small WSGI applications, one per path: `good` ones keep to PEP 3333, `broken` ones do not."""

from __future__ import annotations

import io
import json
import logging
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from wsgiref.validate import validator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

PLAIN = ("Content-Type", "text/plain; charset=utf-8")
HOLD_S_MAX = 60.0
"""Time that is longer than a client waits."""
DATA = bytes(range(256)) * 4096
"""1 MiB in which neighbouring bytes differ."""

good: dict[str, WSGIApplication] = {}
broken: dict[str, WSGIApplication] = {}
closed: list[str] = []
"""Names of the iterables that were closed, in order, until `/closed` is asked."""
noted: list[str] = []
"""Words that applications want to tell later, until `/noted` is asked."""


def add(where: dict[str, WSGIApplication], name: str) -> Callable[[WSGIApplication], WSGIApplication]:
    """Register an application under `/name`."""

    def register(application: WSGIApplication) -> WSGIApplication:
        where["/" + name] = application
        return application

    return register


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Choose by the first segment of the path."""
    name = "/" + environ["PATH_INFO"].split("/")[1]
    chosen = good.get(name) or broken.get(name) or not_found
    return chosen(environ, start_response)


def validated(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Choose by the first segment of the path; good applications are behind the library's validator."""
    name = "/" + environ["PATH_INFO"].split("/")[1]
    if name in good:
        return validator(good[name])(environ, start_response)
    return application(environ, start_response)


def not_found(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answer for paths that no application has."""
    start_response("404 Not Found", [PLAIN])
    return [environ["PATH_INFO"].encode("latin-1")]


def say(start_response: StartResponse, told: Any) -> Iterable[bytes]:
    """Answer with JSON."""
    body = json.dumps(told).encode()
    start_response("200 OK", [("Content-Type", "application/json")])
    return [body]


class Closing:
    """An iterable that notes its own `close`."""

    def __init__(self, name: str, items: Iterable[bytes]) -> None:
        """Iterate over `items`."""
        self._name = name
        self._items = iter(items)

    def __iter__(self) -> Iterator[bytes]:
        """Return the iterator."""
        return self

    def __next__(self) -> bytes:
        """Return the next item."""
        return next(self._items)

    def close(self) -> None:
        """Note that it was called."""
        closed.append(self._name)


@add(good, "")
def root(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answer with one short item."""
    del environ
    start_response("200 OK", [PLAIN])
    return [b"hello, world"]


@add(good, "closed")
def tell_closed(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Tell which iterables were closed, and forget it."""
    del environ
    told = list(closed)
    closed.clear()
    return say(start_response, told)


@add(good, "noted")
def tell_noted(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Tell what was noted, and forget it."""
    del environ
    told = list(noted)
    noted.clear()
    return say(start_response, told)


@add(good, "environ")
def tell_environ(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Tell the environ; of values that JSON cannot hold, tell the type."""
    told = {
        name: value if isinstance(value, str | bool | int | tuple) else f"<{type(value).__name__}>"
        for name, value in environ.items()
    }
    wrong = [name for name in environ if type(name) is not str]
    return say(start_response, {"type": str(type(environ)), "wrong": wrong, "environ": told})


@add(good, "changes")
def change_environ(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Change the environ, and tell what an earlier request has left in it."""
    told = {name: value for name, value in environ.items() if name.startswith("left.")}
    environ["left.behind"] = "by an earlier request"
    environ["SERVER_NAME"] = "changed"
    environ["HTTP_HOST"] = "changed"
    return say(start_response, told)


@add(good, "read")
def read_body(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Read the body as the query says, `read=5&readline=-1`, and tell each result."""
    stream = environ["wsgi.input"]
    told: list[Any] = []
    for step in environ["QUERY_STRING"].split("&"):
        name, _, value = step.partition("=")
        result = _step(stream, name, int(value) if value else None)
        told.append(_text(result))
    return say(start_response, told)


def _step(stream: IO[bytes], name: str, size: int | None) -> bytes | list[bytes]:
    if name == "iterate":
        return list(stream)
    if name == "next":
        return next(iter(stream), b"")
    method = getattr(stream, name)
    result: bytes | list[bytes] = method() if size is None else method(size)
    return result


def _text(result: bytes | list[bytes]) -> str | list[str]:
    if isinstance(result, list):
        return [line.decode("latin-1") for line in result]
    return result.decode("latin-1")


@add(good, "echo")
def echo(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Send the body back as it is; it is read in pieces of an odd size."""
    pieces = []
    while piece := environ["wsgi.input"].read(7777):
        pieces.append(piece)
    assert environ["wsgi.input"].read(1) == b""
    assert environ["wsgi.input"].read(1) == b""
    body = b"".join(pieces)
    start_response("200 OK", [("Content-Type", "application/octet-stream")])
    return [body]


@add(broken, "errors-as-stderr")
def use_errors_as_stderr(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Use wsgi.errors as libraries use sys.stderr, which PEP 3333 does not promise."""
    errors: Any = environ["wsgi.errors"]
    print("printed", "there", file=errors, flush=True)
    logger = logging.getLogger("to-wsgi-errors")
    logger.handlers[:] = [logging.StreamHandler(errors)]
    logger.warning("logged there")
    written = errors.buffer.write("bytes \u20ac\n".encode())
    errors.buffer.write(memoryview(b"no text: \xff\n"))
    errors.buffer.flush()
    told = [written, errors.isatty(), errors.encoding, errors.errors, errors.writable(), errors.closed]
    start_response("200 OK", [PLAIN])
    return [repr(told).encode()]


@add(broken, "input-by-name")
def read_input_by_name(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Read with sizes given by name."""
    body: Any = environ["wsgi.input"]
    read = [body.read(size=2), body.readline(size=2), body.readlines(hint=1), body.read(size=-1)]
    start_response("200 OK", [PLAIN])
    return [repr(read).encode()]


@add(good, "errors")
def write_errors(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Write to the log in every way."""
    errors = environ["wsgi.errors"]
    errors.write("written \u00e9\u20ac\n")
    errors.writelines(["several ", "pieces\n"])
    errors.flush()
    return root(environ, start_response)


@add(good, "list")
def answer_list(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answer with a list of items, some of them empty."""
    del environ
    start_response("200 OK", [PLAIN])
    return [b"", b"one ", b"", b"two ", b"three", b""]


@add(good, "tuple")
def answer_tuple(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answer with a tuple."""
    del environ
    start_response("200 OK", [PLAIN])
    return (b"one ", b"two")


@add(good, "empty")
def answer_empty(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answer with no item at all."""
    del environ
    start_response("200 OK", [PLAIN])
    return []


@add(good, "generator")
def answer_generator(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Call start_response only when the first item is asked for."""
    del environ
    start_response("200 OK", [PLAIN])
    yield b"one "
    yield b""
    yield b"two"


@add(good, "empty-first")
def empty_first(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Give empty items before the first item with data."""
    del environ
    start_response("200 OK", [PLAIN])
    return Closing("empty-first", [b"", b"", b"late"])


@add(good, "many")
def answer_many(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answer with as many small items as the query says."""
    start_response("200 OK", [PLAIN])
    return (b"%d\n" % number for number in range(int(environ["QUERY_STRING"])))


@add(good, "large")
def answer_large(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answer with one item of as many MiB as the query says."""
    start_response("200 OK", [("Content-Type", "application/octet-stream")])
    return [DATA * int(environ["QUERY_STRING"])]


@add(good, "pour")
def answer_pour(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Stream as many MiB as the query says, piece by piece, and note each piece that is asked for."""
    count = int(environ["QUERY_STRING"])
    start_response("200 OK", [("Content-Type", "application/octet-stream")])

    def pieces() -> Iterator[bytes]:
        for number in range(count):
            noted.append(str(number))
            yield DATA

    return Closing("pour", pieces())


@add(good, "bodyless")
def answer_bodyless(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answer with a status that has no body."""
    start_response(environ["QUERY_STRING"].replace("+", " "), [("X-Kept", "yes"), ("ETag", '"a"')])
    return []


@add(good, "length")
def answer_length(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Set the Content-Length itself."""
    del environ
    start_response("200 OK", [PLAIN, ("Content-Length", "12")])
    return Closing("length", [b"hello, ", b"world"])


@add(good, "status")
def answer_status(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answer with the status of the query."""
    start_response(environ["QUERY_STRING"].replace("%20", " "), [PLAIN])
    return [b"body"]


@add(good, "fields")
def answer_fields(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Set fields of many kinds."""
    del environ
    start_response(
        "200 OK",
        [
            PLAIN,
            ("Set-Cookie", "a=1"),
            ("Set-Cookie", "b=2"),
            ("X-Order", "1"),
            ("x-order", "2"),
            ("X-Latin", "caf\xe9 \xff"),
            ("X-Empty", ""),
            ("Vary", "Accept"),
            ("Vary", "Cookie"),
        ],
    )
    return [b"fields"]


@add(good, "own")
def answer_own(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Set the fields that the server sets, too."""
    del environ
    start_response("200 OK", [PLAIN, ("Date", "Thu, 01 Jan 2026 00:00:00 GMT"), ("Server", "mine")])
    return [b"own"]


@add(good, "write")
def use_write(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Use the old `write`, and return more."""
    del environ
    write = start_response("200 OK", [PLAIN])
    write(b"written ")
    write(b"")
    write(b"twice ")
    return [b"returned"]


@add(good, "replaces")
def replace_answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Replace the answer with an error before anything was sent."""
    del environ
    start_response("200 OK", [PLAIN, ("X-First", "yes"), ("Content-Length", "5")])
    try:
        raise ValueError("after start_response")
    except ValueError:
        start_response("503 Service Unavailable", [PLAIN, ("X-Second", "yes")], sys.exc_info())
    return [b"replaced"]


@add(good, "closing")
def answer_closing(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answer with an iterable that notes its close."""
    start_response("200 OK", [PLAIN])
    return Closing(environ["QUERY_STRING"], [b"one ", b"two"])


@add(good, "file")
def answer_file(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Send DATA from a real file, from an offset, perhaps with a Content-Length from the query."""
    offset, _, length = environ["QUERY_STRING"].partition(",")
    stream = NotingFile("file")
    stream.seek(int(offset))
    fields = [("Content-Type", "application/octet-stream")]
    if length:
        fields.append(("Content-Length", length))
    start_response("200 OK", fields)
    wrapped: Iterable[bytes] = environ["wsgi.file_wrapper"](stream, 8192)
    return wrapped


@add(good, "memory")
def answer_memory(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Send DATA from a file-like object without a descriptor."""
    stream = NotingMemory("memory")
    stream.seek(int(environ["QUERY_STRING"]))
    start_response("200 OK", [("Content-Type", "application/octet-stream")])
    wrapped: Iterable[bytes] = environ["wsgi.file_wrapper"](stream)
    return wrapped


@add(good, "seekable")
def tell_seekable(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Tell for which file-like objects the wrapper is seekable."""

    class Bare:
        read = None

    class Seeking(Bare):
        seek = None

    class Stream(io.RawIOBase):
        """A stream of `io`, which always has `seek`; `seekable` says whether that works."""

    stand: list[Any] = [io.BytesIO(), Seeking(), Stream(), Bare()]
    return say(start_response, [str(environ["wsgi.file_wrapper"](each).seekable()) for each in stand])


class NotingFile(io.FileIO):
    """A file with DATA in it that notes its close."""

    def __init__(self, name: str) -> None:
        """Make the file, which loses its name at once."""
        with tempfile.NamedTemporaryFile() as file:
            Path(file.name).write_bytes(DATA)
            super().__init__(file.name)
        self._noted = name

    def close(self) -> None:
        """Note that it was called."""
        if not self.closed:
            closed.append(self._noted)
        super().close()


class NotingMemory(io.BytesIO):
    """DATA in memory that notes its close."""

    def __init__(self, name: str) -> None:
        """Hold DATA."""
        super().__init__(DATA)
        self._noted = name

    def close(self) -> None:
        """Note that it was called."""
        if not self.closed:
            closed.append(self._noted)
        super().close()


@add(good, "slowly")
def answer_slowly(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Send an item, wait until the file of the query exists, send another one."""
    flag = Path(environ["QUERY_STRING"])
    start_response("200 OK", [PLAIN])

    def items() -> Iterator[bytes]:
        yield b"first"
        deadline = time.monotonic() + HOLD_S_MAX
        while not flag.exists() and time.monotonic() < deadline:
            time.sleep(0.005)
        yield b"second" if flag.exists() else b"too late"

    return Closing("slowly", items())


@add(good, "write-slowly")
def write_slowly(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Write an item with `write`, wait until the query's file exists, and write another item."""
    flag = Path(environ["QUERY_STRING"])
    write = start_response("200 OK", [PLAIN])
    write(b"first")
    deadline = time.monotonic() + HOLD_S_MAX
    while not flag.exists() and time.monotonic() < deadline:
        time.sleep(0.005)
    write(b"second" if flag.exists() else b"too late")
    return []


# From here on: applications that break the rules.


@add(broken, "raises")
def raises(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Raise before anything else."""
    del environ, start_response
    raise RuntimeError("raised-before-start")


@add(broken, "raises-after-start")
def raises_after(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Raise after start_response."""
    del environ
    start_response("200 OK", [PLAIN, ("X-Lost", "yes")])
    raise RuntimeError("raised-after-start")


@add(broken, "raises-at-first")
def raises_at_first(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Raise when the first item is asked for."""
    del environ
    start_response("200 OK", [PLAIN])

    def items() -> Iterator[bytes]:
        yield b""
        raise RuntimeError("raised-at-first")

    return Closing("raises-at-first", items())


@add(broken, "raises-midway")
def raises_midway(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Raise after data; the query may give a Content-Length."""
    length = environ["QUERY_STRING"]
    start_response("200 OK", [PLAIN, *([("Content-Length", length)] if length else [])])

    def items() -> Iterator[bytes]:
        yield b"sent "
        yield b"before"
        raise RuntimeError("raised-midway")

    return Closing("raises-midway", items())


@add(broken, "raises-in-close")
def raises_in_close(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Raise in close."""
    del environ
    start_response("200 OK", [PLAIN])

    class Items(Closing):
        def close(self) -> None:
            super().close()
            raise RuntimeError("raised-in-close")

    return Items("raises-in-close", [b"all ", b"sent"])


@add(broken, "exits")
def exits(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Try to leave the program."""
    del environ, start_response
    sys.exit("exit-in-request")


@add(broken, "interrupts")
def interrupts(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Raise KeyboardInterrupt."""
    del environ, start_response
    raise KeyboardInterrupt("interrupt-in-request")


@add(broken, "never-starts")
def never_starts(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Return data without start_response."""
    del environ, start_response
    return Closing("never-starts", [b"data"])


@add(broken, "never-starts-empty")
def never_starts_empty(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Return nothing without start_response."""
    del environ, start_response
    return []


@add(broken, "returns")
def returns(environ: WSGIEnvironment, start_response: StartResponse) -> Any:
    """Return something that is no iterable of bytes."""
    start_response("200 OK", [PLAIN])
    values: dict[str, Any] = {
        "none": None,
        "int": 5,
        "str": "text",
        "strs": ["text"],
        "ints": [1, 2],
        "bytearray": [bytearray(b"x")],
        "memoryview": [memoryview(b"x")],
        "nones": [None],
        "object": object(),
    }
    return values[environ["QUERY_STRING"]]


@add(broken, "second-item")
def second_item(environ: WSGIEnvironment, start_response: StartResponse) -> Any:
    """Give text after bytes."""
    del environ
    start_response("200 OK", [PLAIN])
    return Closing("second-item", [b"bytes", "text"])  # type: ignore[list-item]


@add(broken, "start")
def start(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Call start_response wrongly, and note what it raised."""
    calls: dict[str, Callable[[], object]] = _wrong_calls(start_response)
    name = environ["QUERY_STRING"]
    try:
        calls[name]()
    except Exception as error:
        noted.append(f"{name}: {type(error).__name__}")
        start_response("200 OK", [PLAIN], sys.exc_info())
        return [b"refused"]
    return [b"taken"]


def _wrong_calls(call: Any) -> dict[str, Callable[[], object]]:
    def fields(*pairs: Any) -> Callable[[], object]:
        return lambda: call("200 OK", [PLAIN, *pairs])

    def status(value: Any) -> Callable[[], object]:
        return lambda: call(value, [PLAIN])

    return {
        "status-int": status(200),
        "status-bytes": status(b"200 OK"),
        "status-none": status(None),
        "status-short": status("20"),
        "status-empty": status(""),
        "status-letters": status("OK 200"),
        "status-long": status("2000 OK"),
        "status-newline": status("200 OK\r\nX-Evil: yes"),
        "status-nul": status("200 O\0K"),
        "status-not-latin": status("200 \u20ac"),
        "fields-none": lambda: call("200 OK", None),
        "fields-dict": lambda: call("200 OK", {"X-A": "b"}),
        "fields-tuple": lambda: call("200 OK", (PLAIN,)),
        "fields-missing": lambda: call("200 OK"),
        "field-list": fields(["X-A", "b"]),
        "exc-info-list": lambda: call("200 OK", [PLAIN], [None, None, None]),
        "exc-info-short": lambda: call("200 OK", [PLAIN], (None,)),
        "field-one": fields(("X-A",)),
        "field-three": fields(("X-A", "b", "c")),
        "field-str": fields("ab"),
        "name-int": fields((1, "b")),
        "name-bytes": fields((b"X-A", "b")),
        "name-empty": fields(("", "b")),
        "name-space": fields(("X A", "b")),
        "name-colon": fields(("X-A:", "b")),
        "name-newline": fields(("X-A: b\r\nX-Evil", "yes")),
        "name-nul": fields(("X-\0", "b")),
        "name-not-latin": fields(("X-\u20ac", "b")),
        "name-latin": fields(("X-\xe9", "b")),
        "value-int": fields(("X-A", 1)),
        "value-bytes": fields(("X-A", b"b")),
        "value-none": fields(("X-A", None)),
        "value-newline": fields(("X-A", "b\r\nX-Evil: yes")),
        "value-lf": fields(("X-A", "b\nX-Evil: yes")),
        "value-cr": fields(("X-A", "b\rX-Evil: yes")),
        "value-nul": fields(("X-A", "b\0")),
        "value-control": fields(("X-A", "b\x01")),
        "value-not-latin": fields(("X-A", "\u20ac")),
        "exc-info-not-tuple": lambda: call("200 OK", [PLAIN], ValueError()),
        "keyword": lambda: call("200 OK", [PLAIN], wrong=None),
        "length-letters": fields(("Content-Length", "x")),
        "length-negative": fields(("Content-Length", "-1")),
        "length-plus": fields(("Content-Length", "+1")),
        "length-empty": fields(("Content-Length", "")),
        "length-list": fields(("Content-Length", "1, 1")),
        "length-two": fields(("Content-Length", "1"), ("Content-Length", "2")),
    }


@add(broken, "start-twice")
def start_twice(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Call start_response twice before output, without exc_info: at once, after an error, in a generator."""
    start_response("200 OK", [PLAIN, ("X-First", "yes")])
    if environ["QUERY_STRING"] == "replaced":
        try:
            raise LookupError("an error of the application")
        except LookupError:
            start_response("202 Accepted", [PLAIN, ("X-First", "no")], sys.exc_info())

    def again() -> None:
        try:
            start_response("203 Again", [PLAIN, ("X-Second", "yes")])
        except Exception as error:
            noted.append(f"{type(error).__name__}: {error}")

    def items() -> Iterator[bytes]:
        yield b""
        again()
        yield b"once"

    if environ["QUERY_STRING"] == "generator":
        return items()
    again()
    return [b"once"]


@add(broken, "write-in-thread")
def write_in_thread(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Call `write` on another thread, before and after something was written."""
    del environ
    write = start_response("200 OK", [PLAIN])

    def other() -> None:
        try:
            write(b"from another thread")
        except Exception as error:
            noted.append(f"{type(error).__name__}: {error}")

    for piece in (b"one ", b"two "):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        write(piece)
    return [b"three"]


@add(broken, "start-after-data")
def start_after_data(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Call start_response after data without exc_info."""
    del environ
    start_response("200 OK", [PLAIN])
    yield b"data"
    try:
        start_response("500 Error", [PLAIN])
    except Exception as error:
        noted.append(type(error).__name__)
        raise


@add(broken, "reraises")
def reraises(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Call start_response after data with exc_info, which raises the exception again."""
    del environ
    start_response("200 OK", [PLAIN])
    yield b"data"
    try:
        raise LookupError("to-be-raised-again")
    except LookupError:
        try:
            start_response("500 Error", [PLAIN], sys.exc_info())
        except Exception as error:
            noted.append(f"{type(error).__name__}: {error}")
            raise


@add(broken, "start-after-request")
def start_after_request(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Keep start_response, write and the input; `?use` tells which exceptions they raise later."""
    if environ["QUERY_STRING"] == "use":
        call, write, stream = kept
        told = []
        for attempt in (
            lambda: call("200 OK", [PLAIN]),
            lambda: write(b"x"),
            stream.read,
        ):
            try:
                attempt()
            except Exception as error:
                told.append(type(error).__name__)
            else:
                told.append("nothing")
        return say(start_response, told)
    write = start_response("200 OK", [PLAIN])
    kept[:] = [start_response, write, environ["wsgi.input"]]
    return [b"kept"]


kept: list[Any] = []
"""Objects that `/start-after-request` has kept from its first request."""


@add(broken, "too-much")
def too_much(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Send more than the Content-Length says, in one item or in several."""
    start_response("200 OK", [PLAIN, ("Content-Length", "5")])
    items = [b"hello, world"] if environ["QUERY_STRING"] == "one" else [b"hel", b"lo, ", b"world"]
    return Closing("too-much", items)


@add(broken, "too-little")
def too_little(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Send less than the Content-Length says."""
    del environ
    start_response("200 OK", [PLAIN, ("Content-Length", "50")])
    return Closing("too-little", [b"hello"])


@add(broken, "spaces")
def spaces(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Set values with white space in them and around them; the validator dislikes tabs."""
    del environ
    start_response("200 OK", [PLAIN, ("X-Tab", "a\tb"), ("X-Around", " \t a b\t ")])
    return [b"spaces"]


@add(broken, "informational")
def informational(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answer with a 1xx."""
    start_response(environ["QUERY_STRING"] + " Something", [PLAIN])
    return [b""]


@add(broken, "hop-by-hop")
def hop_by_hop(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Set the fields that belong to the server."""
    del environ
    start_response(
        "200 OK",
        [
            PLAIN,
            ("Connection", "X-Evil"),
            ("Keep-Alive", "timeout=1"),
            ("Transfer-Encoding", "chunked"),
            ("Upgrade", "websocket"),
            ("Trailer", "X-A"),
            ("TE", "trailers"),
            ("Proxy-Connection", "close"),
            ("X-Kept", "yes"),
        ],
    )
    return [b"hop"]


@add(broken, "body-with-204")
def body_with_204(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Send a body with a status that allows none."""
    start_response(environ["QUERY_STRING"] + " Status", [PLAIN, ("Content-Length", "5")])
    return Closing("body-with-204", [b"hello"])


@add(broken, "file-longer")
def file_longer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Send a file with a Content-Length that is larger than the file."""
    stream = NotingFile("file")
    length = str(len(DATA) + 1000)
    start_response("200 OK", [PLAIN, ("Content-Length", length)])
    wrapped: Iterable[bytes] = environ["wsgi.file_wrapper"](stream)
    return wrapped


@add(broken, "file-raises")
def file_raises(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Send a file-like object that raises when read."""

    class Broken(io.RawIOBase):
        def read(self, size: int = -1, /) -> bytes:
            raise OSError(f"disk-is-broken {size}")

    start_response("200 OK", [PLAIN])
    wrapped: Iterable[bytes] = environ["wsgi.file_wrapper"](Broken())
    return wrapped


@add(broken, "headers-set-in-generator")
def start_in_generator(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Call start_response only after a first, empty item."""
    del environ
    yield b""
    start_response("200 OK", [PLAIN])
    yield b"started late"
