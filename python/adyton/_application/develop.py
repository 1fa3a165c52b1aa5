"""Adds the script of ``--reload``, in development only: pages load again when the application has changed.

A short script at the end of each HTML page asks the server once a second for the number of its version, and
loads the page again when the number has changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adyton._response import Response

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

#: Path at which the script asks for the number.
PATH = "/.adyton/generation"

_SCRIPT = b"""
<script>
(() => {
  let served = null;
  setInterval(async () => {
    try {
      const now = await (await fetch("%s", { cache: "no-store" })).text();
      if (served !== null && served !== now) location.reload();
      served = now;
    } catch { /* The server is away for a moment. */ }
  }, 1000);
})();
</script>
""" % PATH.encode("ascii")


def wrap(application: Callable[..., Any], kind: str, generation: int) -> Callable[..., Any]:
    """Returns the application with the script in its pages; ``kind`` is ``"wsgi"`` or ``"handler"``."""
    return _wsgi(application, generation) if kind == "wsgi" else _handler(application, generation)


def _wsgi(application: Callable[..., Any], generation: int) -> Callable[..., Any]:
    def wrapped(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ["PATH_INFO"] == PATH:
            start_response("200 OK", [("Content-Type", "text/plain")])
            return [str(generation).encode("ascii")]
        is_page = False

        def start(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:  # noqa: ANN401
            nonlocal is_page
            has_body = environ["REQUEST_METHOD"] != "HEAD" and not status.startswith(("1", "204", "304"))
            # Error pages get the script, too, so that they are replaced when the application is repaired.
            is_page = has_body and _is_page(headers)
            if is_page:
                headers[:] = [pair for pair in headers if pair[0].lower() != "content-length"]
            return start_response(status, headers, *more)

        body = application(environ, start)
        return _with_script(body, lambda: is_page)

    return wrapped


class _with_script:  # noqa: N801
    """The body of an answer, and behind it the script if the answer is a page."""

    def __init__(self, body: Any, is_page: Callable[[], bool]) -> None:  # noqa: ANN401
        self._body, self._is_page = body, is_page

    def __iter__(self) -> Iterator[bytes]:
        yield from self._body
        if self._is_page():
            yield _SCRIPT

    def close(self) -> None:
        close = getattr(self._body, "close", None)
        if close is not None:
            close()


def _handler(application: Callable[..., Any], generation: int) -> Callable[..., Any]:
    def handler(request: Any) -> Any:  # noqa: ANN401
        if request.path == PATH:
            return Response(str(generation).encode("ascii"), content_type="text/plain")
        answer = application(request)
        if isinstance(answer, str):
            return answer + _SCRIPT.decode("ascii")
        if isinstance(answer, Response) and answer.body:
            if isinstance(answer.body, str) and _is_page(answer.headers):
                answer.body += _SCRIPT.decode("ascii")
            elif isinstance(answer.body, bytes) and _is_page(answer.headers, unsaid=""):
                answer.body += _SCRIPT
        return answer

    return handler


def _is_page(headers: list[tuple[str, str]], unsaid: str = "text/html") -> bool:
    """Whether the headers belong to an HTML page; ``unsaid`` is the type if no header names one."""
    named = {name.lower(): value for name, value in headers}
    kind = named.get("content-type", unsaid).lower()
    return kind.startswith("text/html") and "content-encoding" not in named
