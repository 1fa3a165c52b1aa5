"""Paths that wait, compute, stream, hang and count, each as its query says.

A request *holds* until a file exists, its flag, so that tests decide when the request ends. No request holds
for ever.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import json
import os
import random
import sqlite3
import threading
import time
from contextvars import ContextVar
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import parse_qsl

import adyton

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType
    from wsgiref.types import InputStream, StartResponse, WSGIEnvironment

    Query = dict[str, str]
    Answer = Callable[[WSGIEnvironment, StartResponse, Query], Iterable[bytes]]

PLAIN = ("Content-Type", "text/plain; charset=utf-8")
BYTES = ("Content-Type", "application/octet-stream")
HOLD_S_MAX = 60.0
"""A time that is longer than any client waits: a request that holds so long is left from a failed test."""
POLL_S = 0.001
COMPUTE_S = 0.02
"""Time to compute that is longer than the interpreter's switch interval.

A thread that gives up the interpreter more often than that, and takes it back before another thread has
woken, never hears that other threads wait.
"""
LIBC = ctypes.PyDLL(None)
"""The C library; a function that is called in it keeps the interpreter's lock."""
NOISE = random.Random(1).randbytes(6 << 20)

paths: dict[str, Answer] = {}
variable: ContextVar[str] = ContextVar("variable", default="nothing")
local = threading.local()
notes: dict[str, list[Any]] = {}
"""The events that were noted under each name, for tests to read."""
naps_ms: dict[str, float] = {}
"""Durations of the endpoints of `/learn`."""
barriers: dict[str, threading.Barrier] = {}
lock = threading.Lock()


class Inside:
    """Counts the threads that are in the application, and remembers them."""

    def __init__(self) -> None:
        """Start with no thread."""
        self.now = 0
        self.most = 0
        self.threads: dict[str, list[bool]] = {}
        self.ids: set[int] = set()

    def __enter__(self) -> Self:
        """Count the calling thread."""
        thread = threading.current_thread()
        kind = [thread.daemon, thread is threading.main_thread(), type(thread) is threading.Thread]
        with lock:
            self.now += 1
            self.most = max(self.most, self.now)
            self.threads[thread.name] = kind
            self.ids.add(threading.get_native_id())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Count it no more."""
        with lock:
            self.now -= 1

    def take(self) -> dict[str, Any]:
        """Return the greatest count and the threads, and begin anew."""
        with lock:
            told = {"most": self.most, "threads": self.threads, "ids": sorted(self.ids)}
            self.most, self.threads, self.ids = self.now, {}, set()
        return told


inside = Inside()


class Counted:
    """An iterable that counts the threads inside it."""

    def __init__(self, items: Iterable[bytes]) -> None:
        """Iterate over `items`."""
        self._inner = items
        self._items = iter(items)

    def __iter__(self) -> Iterator[bytes]:
        """Return the iterator."""
        return self

    def __next__(self) -> bytes:
        """Return the next item."""
        with inside:
            return next(self._items)

    def close(self) -> None:
        """Close the iterable."""
        with inside:
            if close := getattr(self._inner, "close", None):
                close()


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Choose by the first segment of the path; lists and files are returned as they are."""
    chosen = paths["/" + environ["PATH_INFO"].split("/")[1]]
    with inside:
        answer = chosen(environ, start_response, dict(parse_qsl(environ["QUERY_STRING"])))
    whole = isinstance(answer, list | type(environ["wsgi.file_wrapper"](BytesIO())))
    return answer if whole else Counted(answer)


def pieces(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Give one item again and again, and count nothing; set a length if the query gives one."""
    query = dict(parse_qsl(environ["QUERY_STRING"]))
    promise = [("Content-Length", query["length"])] if "length" in query else []
    start_response("200 OK", [BYTES, *promise])
    return itertools.repeat(bytes(int(query["size"])), int(query["items"]))


def handler(request: adyton.Request) -> object:
    """Hold when there is a flag; stream step by step on `/steps`, hang on `/hang`."""
    query = {name: value for name, value in parse_qsl(request.query_string) if value}
    if request.path == "/counters":
        return adyton.Response.json(adyton.counters())
    if request.path == "/steps":
        return step_by_step(query)
    if request.path == "/hang":
        time.sleep(HOLD_S_MAX / 3)
    if "flag" in query:
        hold(query["flag"], query.get("id", ""))
    return "handled" + query.get("id", "")


def add(name: str) -> Callable[[Answer], Answer]:
    """Register an answer under `/name`."""

    def register(answer: Answer) -> Answer:
        paths["/" + name] = answer
        return answer

    return register


def say(start_response: StartResponse, told: Any) -> Iterable[bytes]:
    """Answer with JSON."""
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps(told).encode()]


def note(name: str, what: Any) -> None:
    """Keep what happened under `name`."""
    with lock:
        notes.setdefault(name, []).append(what)


def pattern(size: int, seed: int = 0) -> bytes:
    """Return a body in which no part is like another; bodies of neighbouring seeds differ, too."""
    start = seed % 4096
    return (b"%07x." % seed + NOISE[start : start + size])[:size]


def compute(seconds: float, clock: Callable[[], float] = time.perf_counter) -> None:
    """Compute in pure Python for so many seconds, by this clock."""
    end = clock() + seconds
    while clock() < end:
        pass


def linger(query: Query) -> None:
    """Sleep or compute for as many milliseconds as the query says, or use that much CPU time."""
    seconds = float(query.get("ms", "0")) / 1000
    if query.get("by") == "computing":
        compute(seconds)
    elif query.get("by") == "working":
        compute(seconds, time.thread_time)
    elif seconds:
        time.sleep(seconds)


def hold(flag: str, name: str = "", *, computing: bool = False) -> None:
    """Make a file that says that the hold has begun, and hold until the flag exists."""
    Path(f"{flag}.{name}.started").touch()
    end = time.monotonic() + HOLD_S_MAX
    while not os.path.exists(flag) and time.monotonic() < end:  # noqa: PTH110 - ten times as fast
        if computing:
            compute(COMPUTE_S)
        else:
            time.sleep(POLL_S)


@add("hello")
def hello(environ: WSGIEnvironment, start_response: StartResponse, query: Query) -> Iterable[bytes]:
    """Answer at once."""
    del environ
    start_response("200 OK", [PLAIN])
    return [b"hello", query.get("id", "").encode()]


@add("hold")
def held(environ: WSGIEnvironment, start_response: StartResponse, query: Query) -> Iterable[bytes]:
    """Answer when the flag is there."""
    del environ
    hold(query["flag"], query.get("id", ""), computing=query.get("by") == "computing")
    start_response("200 OK", [PLAIN])
    return [b"held" + query.get("id", "").encode()]


@add("c-call")
def c_call(environ: WSGIEnvironment, start_response: StartResponse, query: Query) -> Iterable[bytes]:
    """Make one call into C that keeps the interpreter to itself; files say when it begins and ends."""
    del environ
    Path(query["flag"] + "..started").touch()
    keep_interpreter(query["fifo"])
    Path(query["flag"] + ".done").touch()
    start_response("200 OK", [PLAIN])
    return [b"called"]


def keep_interpreter(fifo: str) -> None:
    """Keep the interpreter in one call, until another process opens the other end of the FIFO."""
    os.close(LIBC.open(os.fsencode(fifo), os.O_RDONLY))


@add("linger")
def lingering(environ: WSGIEnvironment, start_response: StartResponse, query: Query) -> Iterable[bytes]:
    """Answer after a while; note the id."""
    del environ
    linger(query)
    if "note" in query:
        note(query["note"], query.get("id"))
    start_response("200 OK", [PLAIN])
    return [b"lingered", query.get("id", "").encode()]


@add("meet")
def meet(environ: WSGIEnvironment, start_response: StartResponse, query: Query) -> Iterable[bytes]:
    """Answer when as many requests of this name as the query says are here at the same time."""
    del environ
    with lock:
        barrier = barriers.setdefault(query["name"], threading.Barrier(int(query["n"])))
    linger(query)
    barrier.wait(HOLD_S_MAX / 3)
    start_response("200 OK", [PLAIN])
    return [b"met"]


@add("answer")
def answer_of_kind(environ: WSGIEnvironment, start_response: StartResponse, query: Query) -> Iterable[bytes]:
    """Answer in one of many ways, early or late."""
    linger(query)
    kind, size, seed = query["kind"], int(query.get("size", "100")), int(query.get("seed", "0"))
    body = pattern(size, seed)
    if kind == "empty":
        start_response("204 No Content", [])
        return []
    if kind == "raise":
        raise RuntimeError("expected")
    if kind == "length":
        start_response("200 OK", [BYTES, ("Content-Length", str(size))])
        return iter([body])
    write = start_response("200 OK", [BYTES])
    if kind == "one":
        return [body]
    if kind == "list":
        return [body[:10], b"", body[10:]]
    if kind == "generator":
        return (body[start : start + 50_000] for start in range(0, size, 50_000))
    if kind == "late generator":
        return late_items(body, query)
    if kind == "write":
        write(body[:10])
        linger(query)
        write(body[10:])
        return []
    if kind == "file":
        return environ["wsgi.file_wrapper"](BytesIO(body))  # type: ignore[no-any-return]
    raise LookupError(kind)


def late_items(body: bytes, query: Query) -> Iterator[bytes]:
    """Yield three parts, each of which takes its time."""
    third = max(1, -(-len(body) // 3))
    for start in range(0, len(body), third):
        linger(query)
        yield body[start : start + third]


@add("endless")
def endless(environ: WSGIEnvironment, start_response: StartResponse, query: Query) -> Iterable[bytes]:
    """Yield as fast as can be, until the flag is there."""
    del environ
    start_response("200 OK", [BYTES])
    return items_until(query["flag"], b"x" * int(query["size"]))


def items_until(flag: str, item: bytes) -> Iterator[bytes]:
    """Yield the item again and again."""
    Path(flag + "..started").touch()
    end = time.monotonic() + HOLD_S_MAX
    while not os.path.exists(flag) and time.monotonic() < end:  # noqa: PTH110 - ten times as fast
        yield item
    Path(flag + ".done").touch()


@add("burst")
def burst(environ: WSGIEnvironment, start_response: StartResponse, query: Query) -> Iterable[bytes]:
    """Yield as fast as can be for a while, then hold, again and again."""
    del environ
    start_response("200 OK", [BYTES])
    return bursts(query)


def bursts(query: Query) -> Iterator[bytes]:
    """Yield dots, and the number of each burst at its end."""
    for number in range(int(query["n"])):
        end = time.perf_counter() + float(query["ms"]) / 1000
        while time.perf_counter() < end:
            yield b"."
        yield b"<%d>" % number
        hold(f"{query['flag']}.{number}")


@add("fresh")
def fresh(environ: WSGIEnvironment, start_response: StartResponse, query: Query) -> Iterable[bytes]:
    """Yield items that are new objects each, or return them as a list whose length is known."""
    del environ
    size, count = int(query["size"]), int(query["items"])
    items = (bytes([number % 256]) * size for number in range(count))
    if query["as"] == "list":
        start_response("200 OK", [BYTES, ("Content-Length", str(count * size))])
        return list(items)
    start_response("200 OK", [BYTES])
    return items


@add("steps")
def steps(environ: WSGIEnvironment, start_response: StartResponse, query: Query) -> Iterable[bytes]:
    """Yield, and hold before each next item until its own flag is there."""
    del environ
    linger(query)
    start_response("200 OK", [PLAIN])
    return step_by_step(query)


def step_by_step(query: Query) -> Iterator[bytes]:
    """Yield the number of each step."""
    for number in range(int(query["n"])):
        if number:
            hold(f"{query['flag']}.{number}", computing=query.get("by") == "computing")
        yield b"<%d>" % number


class SlowClose:
    """An iterable whose `close` holds."""

    def __init__(self, flag: str) -> None:
        """Hold for this flag."""
        self._flag = flag

    def __iter__(self) -> Iterator[bytes]:
        """Yield one item."""
        yield b"closes slowly"

    def close(self) -> None:
        """Hold."""
        hold(self._flag)


@add("slow-close")
def slow_close(environ: WSGIEnvironment, start_response: StartResponse, query: Query) -> Iterable[bytes]:
    """Answer at once, and take time to close."""
    del environ
    start_response("200 OK", [PLAIN])
    return SlowClose(query["flag"])


@add("slow-end")
def slow_end(environ: WSGIEnvironment, start_response: StartResponse, query: Query) -> Iterable[bytes]:
    """Give a body of a known length; wait before its last byte, and again before the iteration ends."""
    del environ
    size = int(query["size"])
    start_response("200 OK", [BYTES, ("Content-Length", str(size))])
    yield bytes(size - 1)
    linger(query)
    yield b"."
    linger(query)


@add("write-steps")
def write_steps(environ: WSGIEnvironment, start_response: StartResponse, query: Query) -> Iterable[bytes]:
    """Write the number of each step with `write`."""
    del environ
    linger(query)
    write = start_response("200 OK", [PLAIN])
    for item in step_by_step(query):
        write(item)
    return []


@add("variables")
def variables(environ: WSGIEnvironment, start_response: StartResponse, query: Query) -> Iterable[bytes]:
    """Set a context variable and a thread-local, and yield their values at each item."""
    del environ
    variable.set(query["id"])
    local.value = query["id"]
    start_response("200 OK", [PLAIN])
    return variables_by_item(query, threading.get_ident())


def variables_by_item(query: Query, thread: int) -> Iterator[bytes]:
    """Yield a line for each item: the variable, the thread-local, and whether the thread is the same."""
    pad = "." * int(query.get("pad", "0"))
    for _ in range(int(query["items"])):
        same = threading.get_ident() == thread
        yield f"{variable.get()} {local.value} {same}{pad}\n".encode()
        linger(query)


@add("context")
def context(environ: WSGIEnvironment, start_response: StartResponse, query: Query) -> Iterable[bytes]:
    """Set a context variable, yield its value at each item, change it, and note its value at the end."""
    del environ
    variable.set(f"{query['id']}.0")
    start_response("200 OK", [PLAIN])

    def items() -> Iterator[bytes]:
        try:
            for number in range(int(query["items"])):
                yield variable.get().encode() + b"." * int(query["pad"]) + b"\n"
                variable.set(f"{query['id']}.{number + 1}")
        finally:
            note(query["id"], variable.get())

    return items()


@add("sqlite")
def sqlite_rows(environ: WSGIEnvironment, start_response: StartResponse, query: Query) -> Iterable[bytes]:
    """Stream rows of a database that only the thread which opened it may use."""
    del environ
    start_response("200 OK", [PLAIN])
    return rows(query)


def rows(query: Query) -> Iterator[bytes]:
    """Open, fill, read row by row, close."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("create table numbers (number)")
        for number in range(int(query["items"])):
            connection.execute("insert into numbers values (?)", (number,))
            yield b"%d in\n" % number
            linger(query)
        for (number,) in connection.execute("select number from numbers order by number"):
            yield b"%d out\n" % number


class Pour:
    """An iterator that notes each item it is asked for, its close, and its errors."""

    def __init__(self, query: Query) -> None:
        """Pour as the query says."""
        self._name = query["name"]
        self._left = int(query["items"])
        self._item = b"x" * int(query.get("size", "65536"))
        self._query = query

    def __iter__(self) -> Self:
        """Return the iterator."""
        return self

    def __next__(self) -> bytes:
        """Return the next item."""
        if not self._left:
            raise StopIteration
        self._left -= 1
        note(self._name, "item")
        linger(self._query)
        return self._item

    def close(self) -> None:
        """Note that it was called."""
        note(self._name, "close")


@add("pour")
def pour(environ: WSGIEnvironment, start_response: StartResponse, query: Query) -> Iterable[bytes]:
    """Stream a lot."""
    del environ
    start_response("200 OK", [BYTES])
    return Pour(query)


@add("pour-generator")
def pour_generator(environ: WSGIEnvironment, start_response: StartResponse, query: Query) -> Iterable[bytes]:
    """Pour from a generator that notes which exceptions reach it."""
    del environ
    start_response("200 OK", [BYTES])

    def items() -> Iterator[bytes]:
        poured = Pour(query)
        try:
            while item := next(poured, b""):
                yield item
        except BaseException as error:
            note(query["name"], type(error).__name__)
            raise
        finally:
            poured.close()

    return items()


@add("pour-write")
def pour_write(environ: WSGIEnvironment, start_response: StartResponse, query: Query) -> Iterable[bytes]:
    """Pour with `write`, and note what it raises."""
    del environ
    write = start_response("200 OK", [BYTES])
    poured = Pour(query)
    try:
        for item in poured:
            write(item)
    except OSError:
        note(query["name"], "OSError")
        if "raise" in query:
            raise
    finally:
        poured.close()
    return []


@add("notes")
def tell_notes(environ: WSGIEnvironment, start_response: StartResponse, query: Query) -> Iterable[bytes]:
    """Tell what was noted under a name."""
    del environ
    with lock:
        told = list(notes.get(query["name"], []))
    return say(start_response, told)


@add("count")
def tell_count(environ: WSGIEnvironment, start_response: StartResponse, query: Query) -> Iterable[bytes]:
    """Tell how much was noted under a name."""
    del environ
    with lock:
        count = len(notes.get(query["name"], []))
    return say(start_response, count)


@add("inside")
def tell_inside(environ: WSGIEnvironment, start_response: StartResponse, query: Query) -> Iterable[bytes]:
    """Tell which threads were inside since the last request for this page."""
    del environ, query
    return say(start_response, inside.take())


@add("environ")
def tell_environ(environ: WSGIEnvironment, start_response: StartResponse, query: Query) -> Iterable[bytes]:
    """Tell one variable of the environ."""
    return say(start_response, environ[query["name"]])


@add("counters")
def tell_counters(environ: WSGIEnvironment, start_response: StartResponse, query: Query) -> Iterable[bytes]:
    """Tell the server's counters."""
    del environ, query
    return say(start_response, adyton.counters())


@add("learn")
def learn(environ: WSGIEnvironment, start_response: StartResponse, query: Query) -> Iterable[bytes]:
    """Take as long as was set for the second segment of the path."""
    endpoint = environ["PATH_INFO"].split("/")[2]
    if "set" in query:
        naps_ms[endpoint] = float(query["set"])
    # `get` would spin for 20 ms beside a busy program: in free-threaded Python 3.13 it takes the lock of the
    # dictionary, and takes it again when another thread has made the value.
    nap_ms = naps_ms[endpoint] if endpoint in naps_ms else 0.0  # noqa: SIM401
    if nap_ms:
        time.sleep(nap_ms / 1000)
    start_response("200 OK", [PLAIN])
    return [endpoint.encode()]


@add("upload")
def upload(environ: WSGIEnvironment, start_response: StartResponse, query: Query) -> Iterable[bytes]:
    """Read the body as the query says, noting each part, and echo it."""
    name, stream = query["name"], environ["wsgi.input"]
    note(name, "called")
    try:
        if query["how"] == "lines":
            parts = []
            while part := stream.readline():
                note(name, part.decode("latin-1"))
                parts.append(part)
        elif query["how"] == "nothing":
            parts = [b"unread"]
        elif query["how"] == "elsewhere":
            begun = threading.Event()
            threading.Thread(target=read_elsewhere, args=(name, stream, begun), daemon=True).start()
            begun.wait()
            time.sleep(0.1)
            parts = [b"unread"]
        else:
            parts = [stream.read()]
    except OSError:
        note(name, "OSError")
        raise
    start_response("200 OK", [BYTES])
    return [b"".join(parts)]


def read_elsewhere(name: str, stream: InputStream, begun: threading.Event) -> None:
    """Read a body, and note how that ended."""
    begun.set()
    try:
        note(name, stream.read().decode())
    except (OSError, RuntimeError) as error:
        note(name, type(error).__name__)


@add("thread")
def start_thread(environ: WSGIEnvironment, start_response: StartResponse, query: Query) -> Iterable[bytes]:
    """Start a timer, a thread that fails, or a thread that goes on after the answer."""
    del environ
    flag = query.get("flag", "")
    if query["what"] == "timer":
        threading.Timer(0.05, Path(flag).touch).start()
    elif query["what"] == "failing":
        threading.Thread(target=fail, name="failing").start()
    else:
        threading.Thread(target=outlive, args=(flag,), daemon=query["what"] == "daemon").start()
    start_response("200 OK", [PLAIN])
    return [b"started"]


def fail() -> None:
    """Fail in a thread of the application's own."""
    raise RuntimeError("in a thread of its own")


def outlive(flag: str) -> None:
    """Hold until the flag is there, then say that it is done."""
    hold(flag, "thread")
    Path(flag + ".done").touch()


@add("hook")
def set_hook(environ: WSGIEnvironment, start_response: StartResponse, query: Query) -> Iterable[bytes]:
    """Set a hook that notes threads that fail, or set the interpreter's own hook again."""
    del environ

    def hook(arguments: threading.ExceptHookArgs) -> None:
        note(query["name"], [arguments.thread.name if arguments.thread else "", str(arguments.exc_value)])

    threading.excepthook = hook if query["set"] == "ours" else threading.__excepthook__
    start_response("200 OK", [PLAIN])
    return [b"set"]


def tick(file: str) -> None:
    """Add a byte to a file again and again."""
    with Path(file).open("ab", buffering=0) as stream:
        while True:
            stream.write(b".")
            time.sleep(0.005)


def publish_counters(file: str) -> None:
    """Write the server's counters to a file, at first and whenever somebody writes to the pipe beside it.

    So a test can read the counters while no request is answered, and the thread of an idle server uses no
    CPU. The thread opens no file object: free-threaded Python 3.13 gives up the CPU eighty times before it
    has closed a file object, because each critical section that is taken a second time by its owner spins
    first. Beside a busy program, closing takes long.
    """
    # The pipe is opened for both directions, so that it has no end when a writer closes it.
    asked = os.open(file + ".asked", os.O_RDWR)
    for turn in itertools.count():
        told = {"turn": turn, **adyton.counters()}
        descriptor = os.open(file + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.write(descriptor, json.dumps(told).encode())
        os.close(descriptor)
        os.replace(file + ".new", file)  # noqa: PTH105
        os.read(asked, 4096)


for _setting, _target in (("TICKS", tick), ("COUNTERS", publish_counters)):
    if _setting in os.environ:
        threading.Thread(target=_target, args=(os.environ[_setting],), daemon=True).start()
