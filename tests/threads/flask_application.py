"""A Flask application whose streams need the context of their request."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from flask import Flask, Response, g, request, stream_with_context

if TYPE_CHECKING:
    from collections.abc import Iterator

application = Flask(__name__)


@application.before_request
def remember() -> None:
    """Keep the id in Flask's `g`, which belongs to the request."""
    g.id = request.args["id"]


@application.get("/stream")
def stream() -> Response:
    """Stream the id from the request and from `g`, slowly."""

    def lines() -> Iterator[str]:
        for _ in range(int(request.args["items"])):
            yield f"{request.args['id']} {g.id} {request.path}\n"
            time.sleep(float(request.args["ms"]) / 1000)

    return Response(stream_with_context(lines()), mimetype="text/plain")


@application.get("/page")
def page() -> str:
    """Tell the id after a while."""
    time.sleep(float(request.args["ms"]) / 1000)
    return f"{request.args['id']} {g.id} {request.path}\n"
