"""Applications that break rules in every way, one per path; `OUTCOMES` says what becomes of each answer."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import types
from collections import namedtuple
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

PLAIN = ("Content-Type", "text/plain")
Start = Any
"""`start_response`, which these applications misuse."""


@dataclass(frozen=True)
class Outcome:
    """The answer that the client gets."""

    status: int
    body: bytes | None = None
    """None: anything."""
    complete: bool = True
    said: str = ""
    """The text that the log must have, as a regular expression."""


applications: dict[str, Callable[[dict[str, Any], Start], Any]] = {}
OUTCOMES: dict[str, Outcome] = {}
FAILED = Outcome(500, said="Error: ")
EXACT = Outcome(500, said=r"TypeError: .* \(PEP 3333\)")
"""Outcome for subclasses of the types that PEP 3333 names: their methods could return anything."""


def add(path: str, outcome: Outcome, answer: Callable[[dict[str, Any], Start], Any]) -> None:
    """Register an application."""
    assert path not in OUTCOMES, path
    applications["/" + path] = answer
    OUTCOMES["/" + path] = outcome


def application(environ: dict[str, Any], start_response: Start) -> Any:
    """Choose by the path."""
    if environ["PATH_INFO"] == "/":
        start_response("200 OK", [PLAIN])
        return [str(os.getpid()).encode()]
    return applications[environ["PATH_INFO"]](environ, start_response)


# Exceptions of every kind, at every place.


class UnprintableError(Exception):
    """An exception whose `__str__` fails."""

    def __str__(self) -> str:
        """Fail."""
        raise ValueError("no str")

    __repr__ = __str__


class OwnBase(BaseException):
    """A BaseException that is no Exception."""


class UnprintableBase(BaseException):
    """An exception that raises SystemExit when its text is asked for."""

    def __str__(self) -> str:
        """Leave."""
        raise SystemExit("str")


def looped() -> Exception:
    """Return an exception that is its own cause."""
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    return first


def deep() -> Exception:
    """Return an exception with a long chain of causes."""
    error = ValueError("0")
    for number in range(3000):
        outer = ValueError(str(number))
        outer.__cause__ = error
        error = outer
    return error


def recurse() -> Any:
    """Recurse for ever."""
    return recurse()


EXCEPTIONS: dict[str, Callable[[], BaseException]] = {
    "memory": MemoryError,
    "recursion": RecursionError,
    "generator-exit": GeneratorExit,
    "stop-async": StopAsyncIteration,
    "exit-0": lambda: SystemExit(0),
    "exit-none": SystemExit,
    "exit-object": lambda: SystemExit(object()),
    "interrupt": KeyboardInterrupt,
    "base": lambda: OwnBase("own"),
    "cancelled": asyncio.CancelledError,
    "unprintable": UnprintableError,
    "unprintable-base": UnprintableBase,
    "pipe": lambda: BrokenPipeError(32, "Broken pipe"),
    "blocking": lambda: BlockingIOError(11, "again"),
    "timeout": TimeoutError,
    "group": lambda: ExceptionGroup("several", [ValueError("a"), ExceptionGroup("b", [OSError("c")])]),
    "base-group": lambda: BaseExceptionGroup("several", [KeyboardInterrupt(), SystemExit(3)]),
    "long": lambda: ValueError("x" * (1 << 20)),
    "surrogate": lambda: ValueError("\udcff\ud800"),
    "controls": lambda: ValueError("\x1b[31mred\x1b[0m\r\n\0\x07"),
    "syntax": lambda: SyntaxError("bad", ("file\n.py", 10**9, -1, "text\n")),
    "decode": lambda: UnicodeDecodeError("utf-8", b"\xff" * 1000, 0, 1, "bad"),
    "looped": looped,
    "deep": deep,
    "import": lambda: ImportError("no", name="\0", path="\udcff"),
    "notes": lambda: noted(ValueError("with notes")),
}


def noted(error: ValueError) -> ValueError:
    """Give an exception notes that are no text."""
    error.__notes__ = [1, None, "\ud800"]  # type: ignore[attr-defined,list-item]
    return error


class Items:
    """An iterable that raises where it is told to."""

    def __init__(self, place: str, make: Callable[[], BaseException]) -> None:
        """Raise at `place`."""
        self.place, self.make, self.count = place, make, 0

    def __iter__(self) -> Items:
        """Return itself."""
        if self.place == "iter":
            raise self.make()
        return self

    def __next__(self) -> bytes:
        """Give two items."""
        self.count += 1
        if self.place == "next" and self.count == 1:
            raise self.make()
        if self.place == "later" and self.count == 2:
            raise self.make()
        if self.count > 2:
            raise StopIteration
        return b"x" * 70_000

    def close(self) -> None:
        """End."""
        if self.place == "close":
            raise self.make()


def raising(place: str, make: Callable[[], BaseException]) -> Callable[[dict[str, Any], Start], Any]:
    """Return an application that raises at `place`."""

    def answer(environ: dict[str, Any], start_response: Start) -> Any:
        del environ
        if place == "call":
            raise make()
        write = start_response("200 OK", [PLAIN])
        if place == "written":
            write(b"x" * 70_000)
            raise make()
        return Items(place, make)

    return answer


PLACES = {
    "call": Outcome(500),
    "iter": Outcome(500),
    "next": Outcome(500),
    "later": Outcome(200, b"x" * 70_000, complete=False),
    "written": Outcome(200, b"x" * 70_000, complete=False),
    "close": Outcome(200, b"x" * 140_000),
}
for _place, _outcome in PLACES.items():
    for _name, _make in EXCEPTIONS.items():
        add(f"{_place}-{_name}", _outcome, raising(_place, _make))


# Iterables that lie.


def returning(make: Callable[[], Any]) -> Callable[[dict[str, Any], Start], Any]:
    """Return an application that answers with what `make` returns."""

    def answer(environ: dict[str, Any], start_response: Start) -> Any:
        del environ
        start_response("200 OK", [PLAIN])
        return make()

    return answer


class Lying:
    """An iterable that claims a wrong length."""

    def __init__(self, length: Any, items: Iterable[Any] = (b"one", b"two")) -> None:
        """Claim `length`."""
        self.length, self.items = length, items

    def __len__(self) -> Any:
        """Lie."""
        if isinstance(self.length, BaseException):
            raise self.length
        return self.length

    def __iter__(self) -> Iterator[Any]:
        """Return the real items."""
        return iter(self.items)


class ListOfOthers(list[Any]):
    """A list whose iterator gives other items."""

    def __iter__(self) -> Iterator[Any]:
        """Return others."""
        return iter([b"other"])


class TupleOfOthers(tuple[Any, ...]):
    """A tuple whose iterator gives other items."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        """Return others."""
        return iter([b"other"])

    def __len__(self) -> int:
        """Lie."""
        return 7


class Octets(bytes):
    """Bytes that claim a wrong length and other content."""

    def __len__(self) -> int:
        """Lie."""
        return 99

    def __bytes__(self) -> bytes:
        """Lie."""
        return b"lie"


class Sequence:
    """An iterable by the old protocol only, `__getitem__`."""

    def __getitem__(self, index: int) -> bytes:
        """Return three items."""
        return [b"a", b"b", b"c"][index]


class Closeless:
    """An iterable whose `close` may be no usable method."""

    def __init__(self, close: Any) -> None:
        """Keep the `close`."""
        self.close = close

    def __iter__(self) -> Iterator[bytes]:
        """Return one item."""
        return iter([b"item"])


class RaisingAttribute:
    """An iterable whose `close` raises when it is looked up."""

    def __iter__(self) -> Iterator[bytes]:
        """Return one item."""
        return iter([b"item"])

    def __getattr__(self, name: str) -> Any:
        """Fail."""
        raise OSError(name)


def growing() -> list[bytes]:
    """Return a list that its own items change."""
    items: list[Any] = []

    class Grows(bytes):
        def __len__(self) -> int:
            items.clear()
            return super().__len__()

    items.extend([Grows(b"a"), Grows(b"b"), b"c"])
    return items


def yielding(*items: Any) -> Callable[[], Any]:
    """Return a generator function."""

    def items_of() -> Iterator[Any]:
        yield from items

    return items_of


def exhausted() -> Any:
    """Return a generator that has ended."""
    done = yielding(b"gone")()
    list(done)
    return done


async def coroutine() -> bytes:
    """Never run."""
    return b"never"


async def async_items() -> Any:
    """Never run."""
    yield b"never"


def closed_coroutine() -> Any:
    """Return a closed coroutine: Python does not warn that nobody has awaited it."""
    made = coroutine()
    made.close()
    return made


for _name, _outcome, _make in [
    ("len-0", Outcome(200, b"onetwo"), lambda: Lying(0)),
    ("len-1", Outcome(200, b"onetwo"), lambda: Lying(1)),
    ("len-9", Outcome(200, b"onetwo"), lambda: Lying(9)),
    ("len-negative", Outcome(200, b"onetwo"), lambda: Lying(-1)),
    ("len-huge", Outcome(200, b"onetwo"), lambda: Lying(1 << 70)),
    ("len-text", Outcome(200, b"onetwo"), lambda: Lying("two")),
    ("len-raises", Outcome(200, b"onetwo"), lambda: Lying(ValueError("len"))),
    ("len-exits", Outcome(200, b"onetwo"), lambda: Lying(SystemExit(1))),
    ("len-1-of-none", Outcome(200, b""), lambda: Lying(1, [])),
    ("list-of-others", Outcome(200, b"other"), lambda: ListOfOthers([b"a", b"b"])),
    ("tuple-of-others", Outcome(200, b"other"), lambda: TupleOfOthers([b"a", b"b"])),
    ("octets", EXACT, lambda: [Octets(b"real")]),
    ("octets-large", EXACT, lambda: [Octets(b"r" * 20_000)]),
    ("octets-two", EXACT, lambda: [Octets(b"real"), Octets(b"real")]),
    ("growing", EXACT, growing),
    ("sequence", Outcome(200, b"abc"), Sequence),
    ("set", Outcome(200, b"a"), lambda: {b"a"}),
    ("dict", Outcome(200, b"a"), lambda: {b"a": 1}),
    ("exhausted", Outcome(200, b""), exhausted),
    ("map", Outcome(200, b"ab"), lambda: map(bytes, [b"a", b"b"])),
    ("zip", FAILED, lambda: zip([b"a"], [b"b"], strict=True)),
    ("bytes", Outcome(500), lambda: b"text"),
    ("bytes-empty", Outcome(200, b""), lambda: b""),
    ("text-empty", Outcome(200, b""), lambda: ""),
    ("true", FAILED, lambda: True),
    ("type", FAILED, lambda: dict),
    ("module", FAILED, lambda: sys),
    ("function", FAILED, lambda: print),
    ("coroutine", FAILED, closed_coroutine),
    ("async-generator", FAILED, async_items),
    ("exception", FAILED, lambda: ValueError("returned")),
    ("start-text", FAILED, yielding("text")),
    ("start-none", FAILED, yielding(None)),
    ("start-list", FAILED, yielding([b"a"])),
    ("start-exception", FAILED, yielding(ValueError("yielded"))),
    ("start-float", FAILED, yielding(1.5)),
    ("start-empty-then-text", FAILED, yielding(b"", b"", "text")),
    ("large-then-text", Outcome(200, b"x" * 70_000, complete=False), yielding(b"x" * 70_000, "text")),
    ("large-then-none", Outcome(200, b"x" * 70_000, complete=False), yielding(b"x" * 70_000, None)),
    ("close-none", Outcome(200, b"item"), lambda: Closeless(None)),
    ("close-text", Outcome(200, b"item"), lambda: Closeless("close")),
    ("close-wants-more", Outcome(200, b"item"), lambda: Closeless(lambda one: one)),
    ("close-returns", Outcome(200, b"item"), lambda: Closeless(lambda: [1])),
    ("close-cannot-be-had", Outcome(200, b"item"), RaisingAttribute),
    ("many-empty", Outcome(200, b""), lambda: [b""] * 100_000),
    ("many-single", Outcome(200, b"x" * 100_000), lambda: [b"x"] * 100_000),
    ("many-yielded", Outcome(200, b"x" * 20_000), yielding(*[b"x"] * 20_000)),
    ("namespace", FAILED, types.SimpleNamespace),
]:
    add(f"returns-{_name}", _outcome, returning(_make))


# Arguments of start_response and write.


def starting(*arguments: Any, body: Any = (b"body",)) -> Callable[[dict[str, Any], Start], Any]:
    """Return an application that gives these arguments to start_response and lets it raise."""

    def answer(environ: dict[str, Any], start_response: Start) -> Any:
        del environ
        start_response(*arguments)
        return body

    return answer


class Text(str):
    """Text that claims to be another text."""

    __slots__ = ()

    def __str__(self) -> str:
        """Lie."""
        return "lie\r\nX-Evil: yes"

    def encode(self, *_: Any, **__: Any) -> bytes:
        """Lie."""
        return b"lie\r\nX-Evil: yes"


class ShrinkingFields(list[Any]):
    """A list that claims to have many fields."""

    def __len__(self) -> int:
        """Lie."""
        return 1 << 40


Pair = namedtuple("Pair", "name value")  # noqa: PYI024 (old code has these)

for _name, _outcome, _arguments in [
    ("status-text", Outcome(200, b"body"), (Text("200 OK"), [PLAIN])),
    ("field-text", Outcome(200, b"body"), ("200 OK", [(Text("X-A"), Text("b"))])),
    ("field-pair", EXACT, ("200 OK", [Pair("X-A", "b")])),
    ("fields-subclass", EXACT, ("200 OK", ShrinkingFields([PLAIN]))),
    ("fields-generator", FAILED, ("200 OK", (pair for pair in [PLAIN]))),
    ("fields-text", FAILED, ("200 OK", "X-A: b")),
    ("fields-nested", FAILED, ("200 OK", [[PLAIN]])),
    ("status-099", FAILED, ("099 Low", [PLAIN])),
    ("status-000", FAILED, ("000 Null", [PLAIN])),
    ("status-negative", FAILED, ("-20 OK", [PLAIN])),
    ("status-digits", FAILED, ("\u0662\u0660\u0660 OK", [PLAIN])),
    ("status-space", FAILED, (" 200 OK", [PLAIN])),
    ("status-tab", FAILED, ("200\tOK", [PLAIN])),
    ("status-vertical", FAILED, ("200 O\x0bK", [PLAIN])),
    ("status-escape", FAILED, ("200 \x1b[31m", [PLAIN])),
    ("status-lf", FAILED, ("200 OK\n", [PLAIN])),
    ("status-cr", FAILED, ("200 OK\r", [PLAIN])),
    ("status-surrogate", FAILED, ("200 \udcff", [PLAIN])),
    ("status-999", Outcome(999, b"body"), ("999 Odd", [PLAIN])),
    ("status-long", Outcome(200, b"body"), ("200 " + "x" * 10_000, [PLAIN])),
    ("name-surrogate", FAILED, ("200 OK", [("X-\udcff", "b")])),
    ("name-pseudo", FAILED, ("200 OK", [(":status", "404")])),
    ("name-tab", FAILED, ("200 OK", [("X-A\t", "b")])),
    ("name-del", FAILED, ("200 OK", [("X-\x7f", "b")])),
    ("name-comma", FAILED, ("200 OK", [("X-A,X-B", "b")])),
    ("name-long", Outcome(200, b"body"), ("200 OK", [("X" * 5000, "b")])),
    ("value-surrogate", FAILED, ("200 OK", [("X-A", "\udcff")])),
    ("value-folded", FAILED, ("200 OK", [("X-A", "b\r\n c")])),
    ("value-lf-end", FAILED, ("200 OK", [("X-A", "b\n")])),
    ("value-del", FAILED, ("200 OK", [("X-A", "b\x7f")])),
    ("value-escape", FAILED, ("200 OK", [("X-A", "\x1b]0;title\x07")])),
    ("value-next-line", Outcome(200, b"body"), ("200 OK", [("X-A", "b\x85c")])),
    ("value-float", FAILED, ("200 OK", [("X-A", 1.5)])),
    ("value-list", FAILED, ("200 OK", [("X-A", ["b"])])),
    ("value-true", FAILED, ("200 OK", [("X-A", True)])),
    ("length-spaces", Outcome(200, b"body"), ("200 OK", [("Content-Length", " 4 ")])),
    ("length-zeros", Outcome(200, b"body"), ("200 OK", [("Content-Length", "0004")])),
    ("length-lf", FAILED, ("200 OK", [("Content-Length", "4\n")])),
    ("length-huge", FAILED, ("200 OK", [("Content-Length", "9" * 30)])),
    ("length-hex", FAILED, ("200 OK", [("Content-Length", "0x4")])),
    ("length-float", FAILED, ("200 OK", [("Content-Length", "4.0")])),
    ("length-underscore", FAILED, ("200 OK", [("Content-Length", "0_4")])),
    ("length-arabic", FAILED, ("200 OK", [("Content-Length", "\u0664")])),
    ("length-superscript", FAILED, ("200 OK", [("Content-Length", "\xb2")])),
    ("length-twice", Outcome(200, b"body"), ("200 OK", [("Content-Length", "4"), ("content-length", "4")])),
    ("no-arguments", FAILED, ()),
    ("four-arguments", FAILED, ("200 OK", [PLAIN], None, None)),
    ("exc-info-empty", FAILED, ("200 OK", [PLAIN], ())),
    ("exc-info-text", FAILED, ("200 OK", [PLAIN], "error")),
    ("exc-info-nones", Outcome(200, b"body"), ("200 OK", [PLAIN], (None, None, None))),
    ("exc-info-types", Outcome(200), ("200 OK", [PLAIN], (ValueError, None, None))),
    ("fields-many", Outcome(200, b"body"), ("200 OK", [(f"X-{n}", "y") for n in range(500)])),
    ("value-long", Outcome(200, b"body"), ("200 OK", [("X-A", "y" * 40_000)])),
    ("chunked-itself", Outcome(200, b"body"), ("200 OK", [("Transfer-Encoding", "chunked"), PLAIN])),
    ("date-itself", Outcome(200, b"body"), ("200 OK", [("Date", "Thu, 01 Jan 1970 00:00:00 GMT"), PLAIN])),
]:
    add(f"starts-{_name}", _outcome, starting(*_arguments))


def writing(*items: Any, fields: Any = (PLAIN,), then: Any = (b"end",)) -> Any:
    """Return an application that gives these items to write."""

    def answer(environ: dict[str, Any], start_response: Start) -> Any:
        del environ
        write = start_response("200 OK", list(fields))
        for item in items:
            write(item)
        return then

    return answer


for _name, _outcome, _answer in [
    ("text", FAILED, writing("text")),
    ("none", FAILED, writing(None)),
    ("int", FAILED, writing(65)),
    ("list", FAILED, writing([b"a"])),
    ("array", FAILED, writing(bytearray(b"a"))),
    ("view", FAILED, writing(memoryview(b"a"))),
    ("octets", EXACT, writing(Octets(b"real"))),
    ("nothing", Outcome(200, b"end"), writing(b"", b"", b"")),
    ("many", Outcome(200, b"x" * 30_000 + b"end"), writing(*[b"x"] * 30_000)),
    ("large-then-text", Outcome(200, b"x" * 70_000, complete=False), writing(b"x" * 70_000, "text")),
    ("past-the-length", Outcome(200, b"abc"), writing(b"abc", fields=[("Content-Length", "3")])),
    ("all-of-the-length", Outcome(200, b"abc"), writing(b"abc", fields=[("Content-Length", "3")], then=[])),
    ("then-none", Outcome(200, b"abc", complete=False), writing(b"abc", then=None)),
    ("then-text", Outcome(200, b"abc", complete=False), writing(b"abc", then="text")),
]:
    add(f"writes-{_name}", _outcome, _answer)


# Odd uses of objects that the server hands out.


def _clear_environ(environ: dict[str, Any], start_response: Start) -> Any:
    environ.clear()
    start_response("200 OK", [PLAIN])
    return [b"cleared"]


def _fill_environ(environ: dict[str, Any], start_response: Start) -> Any:
    for name in list(environ):
        environ[name] = object()
    environ[1] = environ  # type: ignore[index]
    start_response("200 OK", [PLAIN])
    return [b"filled"]


def _fields_changed_later(environ: dict[str, Any], start_response: Start) -> Any:
    del environ
    fields: list[Any] = [PLAIN]
    start_response("200 OK", fields)
    fields[:] = [("X-Evil\r\n", None)] * 1000
    return [b"kept"]


def _start_from_a_thread(environ: dict[str, Any], start_response: Start) -> Any:
    del environ
    thread = threading.Thread(target=start_response, args=("200 OK", [PLAIN]))
    thread.start()
    thread.join()
    return [b"from a thread"]


def _write_from_a_thread(environ: dict[str, Any], start_response: Start) -> Any:
    del environ
    write = start_response("200 OK", [PLAIN])
    thread = threading.Thread(target=write, args=(b"from a thread",))
    thread.start()
    thread.join()
    return []


def _read_from_threads(environ: dict[str, Any], start_response: Start) -> Any:
    threads = [threading.Thread(target=environ["wsgi.input"].read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    start_response("200 OK", [PLAIN])
    return [b"read"]


def _start_in_close(environ: dict[str, Any], start_response: Start) -> Any:
    del environ
    start_response("200 OK", [PLAIN])
    return Closeless(lambda: start_response("500 Late", [PLAIN]))


def _write_in_close(environ: dict[str, Any], start_response: Start) -> Any:
    del environ
    write = start_response("200 OK", [PLAIN])
    return Closeless(lambda: write(b"late"))


def _write_in_next(environ: dict[str, Any], start_response: Start) -> Any:
    del environ
    write = start_response("200 OK", [PLAIN])

    def items() -> Iterator[bytes]:
        yield b"one "
        write(b"two ")
        yield b"three"

    return items()


def _start_again_in_next(environ: dict[str, Any], start_response: Start) -> Any:
    del environ
    start_response("200 OK", [PLAIN])

    def items() -> Iterator[bytes]:
        yield b""
        try:
            raise ValueError("late, but not too late")
        except ValueError:
            start_response("503 Replaced", [PLAIN], sys.exc_info())
        yield b"replaced"

    return items()


def _deep_recursion(environ: dict[str, Any], start_response: Start) -> Any:
    del environ, start_response
    return recurse()


def _call_itself(environ: dict[str, Any], start_response: Start) -> Any:
    if environ.get("depth", 0) < 100:
        return _call_itself(environ | {"depth": environ.get("depth", 0) + 1}, start_response)
    start_response("200 OK", [PLAIN])
    return [b"deep"]


def _start_many_times(environ: dict[str, Any], start_response: Start) -> Any:
    del environ
    for number in range(1000):
        try:
            raise ValueError(str(number))
        except ValueError:
            start_response(f"{200 + number % 100} Status", [("X-Number", str(number))], sys.exc_info())
    start_response("200 OK", [PLAIN], (ValueError, ValueError(), None))
    return [b"at last"]


def _errors_misused(environ: dict[str, Any], start_response: Start) -> Any:
    for value in (None, 1, b"bytes", ["list"]):
        try:
            environ["wsgi.errors"].write(value)
        except TypeError:
            continue
        raise AssertionError(value)
    environ["wsgi.errors"].write("\udcff\x1b[31m\0 " * 10)
    environ["wsgi.errors"].write("x" * (1 << 20))
    start_response("200 OK", [PLAIN])
    return [b"refused"]


def _input_misused(environ: dict[str, Any], start_response: Start) -> Any:
    stream = environ["wsgi.input"]
    for size in ("5", 1.5, b"", [], 1 << 80, -(1 << 80)):
        for method in (stream.read, stream.readline, stream.readlines):
            try:
                method(size)
            except (TypeError, OverflowError, ValueError):
                continue
            raise AssertionError((size, method))
    start_response("200 OK", [PLAIN])
    return [b"refused"]


def _wrapper_misused(environ: dict[str, Any], start_response: Start) -> Any:
    for arguments in ((), (1, 2, 3)):
        try:
            environ["wsgi.file_wrapper"](*arguments)
        except TypeError:
            continue
        raise AssertionError(arguments)
    start_response("200 OK", [PLAIN])
    return [b"refused"]


for _name, _outcome, _answer in [
    ("clear-environ", Outcome(200, b"cleared"), _clear_environ),
    ("fill-environ", Outcome(200, b"filled"), _fill_environ),
    ("fields-changed-later", Outcome(200, b"kept"), _fields_changed_later),
    ("start-from-a-thread", Outcome(200, b"from a thread"), _start_from_a_thread),
    ("write-from-a-thread", Outcome(200, b"", said="or on another thread: only"), _write_from_a_thread),
    ("read-from-threads", Outcome(200, b"read"), _read_from_threads),
    ("start-in-close", Outcome(200, b"item"), _start_in_close),
    ("write-in-close", Outcome(200), _write_in_close),
    ("write-in-next", Outcome(200, b"one two three"), _write_in_next),
    ("start-again-in-next", Outcome(503, b"replaced"), _start_again_in_next),
    ("deep-recursion", Outcome(500, said="RecursionError"), _deep_recursion),
    ("call-itself", Outcome(200, b"deep"), _call_itself),
    ("start-many-times", Outcome(200, b"at last"), _start_many_times),
    ("errors-misused", Outcome(200, b"refused"), _errors_misused),
    ("input-misused", Outcome(200, b"refused"), _input_misused),
    ("wrapper-misused", Outcome(200, b"refused"), _wrapper_misused),
]:
    add(_name, _outcome, _answer)


# Files that lie.


class OddFile:
    """A file-like object with methods of its own."""

    def __init__(self, **methods: Any) -> None:
        """Have these methods."""
        for name, method in methods.items():
            setattr(self, name, method)


def once(item: Any) -> Callable[[int], Any]:
    """Return a `read` that gives one item, and then the end of the file."""
    items = [item]
    return lambda _size: items.pop() if items else b""


def wrapping(make: Callable[[], Any], *sizes: Any) -> Callable[[dict[str, Any], Start], Any]:
    """Return an application that sends what `make` opens."""

    def answer(environ: dict[str, Any], start_response: Start) -> Any:
        start_response("200 OK", [PLAIN])
        return environ["wsgi.file_wrapper"](make(), *sizes)

    return answer


def no_fileno() -> int:
    """Fail, like a file that has no descriptor."""
    raise OSError("none")


for _name, _outcome, _answer in [
    ("reads-text", FAILED, wrapping(lambda: OddFile(read=once("text")))),
    ("reads-none", Outcome(500), wrapping(lambda: OddFile(read=once(None)))),
    ("reads-int", FAILED, wrapping(lambda: OddFile(read=once(7)))),
    (
        "reads-more-than-asked",
        Outcome(200, b"x" * 9999),
        wrapping(lambda: OddFile(read=once(b"x" * 9999)), 10),
    ),
    ("fileno-text", Outcome(200, b"ok"), wrapping(lambda: OddFile(read=once(b"ok"), fileno=lambda: "3"))),
    ("fileno-negative", Outcome(200, b"ok"), wrapping(lambda: OddFile(read=once(b"ok"), fileno=lambda: -1))),
    ("fileno-huge", Outcome(200, b"ok"), wrapping(lambda: OddFile(read=once(b"ok"), fileno=lambda: 1 << 80))),
    ("fileno-closed", Outcome(200, b"ok"), wrapping(lambda: OddFile(read=once(b"ok"), fileno=lambda: 9999))),
    ("fileno-raises", Outcome(200, b"ok"), wrapping(lambda: OddFile(read=once(b"ok"), fileno=no_fileno))),
    ("size-0", Outcome(200, b"ok"), wrapping(lambda: OddFile(read=once(b"ok")), 0)),
    ("size-negative", Outcome(200, b"ok"), wrapping(lambda: OddFile(read=once(b"ok")), -5)),
    ("no-read", FAILED, wrapping(OddFile)),
    (
        "directory",
        Outcome(200, b""),
        wrapping(lambda: OddFile(read=once(b""), fileno=lambda: os.open("/", 0))),
    ),
]:
    add(f"file-{_name}", _outcome, _answer)
