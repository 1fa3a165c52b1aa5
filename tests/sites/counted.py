"""An application that counts its calls, and answers as the query says."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

if TYPE_CHECKING:
    from collections.abc import Iterator

CALLS: Counter[str] = Counter()
LOCK = threading.Lock()
GATE = threading.Event()


def calls(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    """Answer with the number of calls for the path in the query; `open` opens the gate for waiting calls."""
    query = parse_qs(environ["QUERY_STRING"])
    if "open" in query:
        GATE.set()
    start_response("200 OK", [("Content-Type", "text/plain")])
    with LOCK:
        return [str(CALLS[query.get("path", [""])[0]]).encode()]


def broken(first: bytes) -> Iterator[bytes]:
    """Yield one piece, and fail."""
    yield first
    raise RuntimeError


def application(environ: dict[str, Any], start_response: Any) -> Any:
    """Answer with the number of the call for this path, in the way that the query says.

    `f` are fields and `s` is the status of the answer; `size` is the length of its padding, and `in` its
    number of pieces; `see` names variables to show. From call number `wait` on, calls wait until the gate is
    open; from call number `broken` on, calls fail. `fail` says whether to fail before or inside the answer.
    """
    query = parse_qs(environ["QUERY_STRING"])
    path = environ["PATH_INFO"]
    with LOCK:
        CALLS[path] += 1
        number = CALLS[path]
    environ["wsgi.input"].read()
    if number >= int(query.get("wait", ["1000000"])[0]):
        GATE.wait(30)
    if query.get("fail") == ["before"] or number >= int(query.get("broken", ["1000000"])[0]):
        raise RuntimeError
    seen = [str(environ.get(name)) for name in query.get("see", [])]
    text = " ".join([str(number), *seen]) + "\n" + "x" * int(query.get("size", ["0"])[0])
    pieces = int(query.get("in", ["1"])[0])
    fields = [("Content-Type", "text/plain")]
    fields += [tuple(field.split(": ", 1)) for field in query.get("f", [])]
    start_response(query.get("s", ["200 OK"])[0], fields)
    if query.get("fail") == ["inside"]:
        return broken(text.encode())
    if pieces > 1:
        return (text.encode() for text in [text, *["more\n"] * (pieces - 1)])
    return [text.encode()]
