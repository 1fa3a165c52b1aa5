"""The plain handler of examples/hello.py: its source on a page, and the same function called live.

`adyton serve examples/hello.py` runs the handler without any WSGI around it. This site is a WSGI application,
so `EnvironRequest` gives the handler the few attributes of a request that it reads.
"""

from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import parse_qsl
from wsgiref.types import WSGIEnvironment

import hello as example
from pages import Reply, page, template

if TYPE_CHECKING:
    import adyton

SOURCE = Path(example.__file__).read_text("utf-8")


class EnvironRequest:
    """As much of `adyton.Request` as examples/hello.py reads, made from a WSGI environ."""

    def __init__(self, environ: WSGIEnvironment) -> None:
        """Take method, path and query from `environ`."""
        self.method: str = environ["REQUEST_METHOD"]
        self.path: str = environ["PATH_INFO"].encode("latin-1").decode("utf-8", "replace")
        # The first value of a name counts, so it must be the last to enter the dict.
        pairs = parse_qsl(environ["QUERY_STRING"], keep_blank_values=True)
        self.query = dict(reversed(pairs))


def hello(environ: WSGIEnvironment) -> Reply:
    """Answer with the handler's text for this request, without a page around it."""
    request = cast("adyton.Request", EnvironRequest(environ))
    return Reply(example.handler(request).encode())


def show(_environ: WSGIEnvironment) -> Reply:
    """Show the page about handlers."""
    return page("/handler", "A plain handler", template("handler", source=SOURCE))
