"""A handler with one path per way to answer; it keeps requests beyond their end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import adyton

if TYPE_CHECKING:
    from collections.abc import Iterator

kept: list[adyton.Request] = []
"""Earlier requests that were kept; no handler looked into them while they ran."""


def handler(request: adyton.Request) -> object:
    """Answer in the way that the path names."""
    return globals()["answer_" + request.path.strip("/").replace("-", "_")](request)


def tell(request: adyton.Request) -> str:
    """Tell all that a request can tell."""
    parts = [
        request.method,
        request.target,
        request.path,
        request.query_string,
        dict(request.query),
        request.query.getall("a"),
        dict(request.headers),
        request.headers.getall("accept"),
        request.cookies,
        request.body,
        request.remote,
        request.remote_port,
        request.scheme,
        request.host,
        request.version,
    ]
    return "\n".join(map(repr, parts))


def answer_str(request: adyton.Request) -> object:
    """Answer with text."""
    return tell(request)


def answer_bytes(request: adyton.Request) -> object:
    """Answer with more than a socket takes at once."""
    return request.path.encode() * 200_000


def answer_stream(request: adyton.Request) -> Iterator[bytes]:
    """Answer with items."""
    for size in (1, 100_000, 3):
        yield request.method.encode() * size


def answer_json(request: adyton.Request) -> object:
    """Answer with what came as JSON."""
    return adyton.Response.json(request.json())


def answer_cookies(request: adyton.Request) -> object:
    """Answer with fields and cookies."""
    response = adyton.Response(request.text, status=201, headers={"X-A": "\xe9"})
    response.set_cookie("a", "bc", max_age=5)
    response.delete_cookie("b")
    return response


def answer_file(request: adyton.Request) -> object:
    """Answer with a file."""
    del request
    return adyton.Response.file("large.bin", download_name="l\u00e4rge.bin")


def answer_redirect(request: adyton.Request) -> object:
    """Send the client elsewhere."""
    return adyton.Response.redirect("/str?from=" + request.method)


def answer_input(request: adyton.Request) -> object:
    """Read the body as a file."""
    return repr([request.input.read(5), len(request.input.read())])


def answer_keep(request: adyton.Request) -> object:
    """Keep the request."""
    kept.append(request)
    return "kept"


def answer_kept(request: adyton.Request) -> object:
    """Look into the kept requests in two ways; some attempts raise, because the requests have ended."""
    told = []
    for number, other in enumerate(kept):
        try:
            told.append(tell(other) if number % 2 else repr((other.json(), other.input.read())))
        except Exception as error:  # noqa: BLE001 - each refusal is an answer here
            told.append(str(error))
    kept.clear()
    return "\n".join(told) + request.path


def answer_abort(request: adyton.Request) -> object:
    """Give up with a status."""
    adyton.abort(418, request.path)


def answer_nothing(request: adyton.Request) -> object:
    """Answer with what makes no sense."""
    del request


def answer_failure(request: adyton.Request) -> object:
    """Fail."""
    raise ValueError(request.path)
