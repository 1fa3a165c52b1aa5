"""The pages of the scenario `frameworks` from Pyramid, with its renderer for templates of Jinja2."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyramid.config import Configurator
from pyramid.response import Response

if TYPE_CHECKING:
    from pyramid.request import Request

HERE = Path(__file__).resolve().parent
ARTICLES = json.loads((HERE / "articles.json").read_text("utf-8"))


def hello(_request: Request) -> Response:
    """Returns a constant."""
    return Response("Hello World!")


def page(_request: Request) -> dict[str, Any]:
    """Returns the values for the template."""
    return {"articles": ARTICLES}


def message(_request: Request) -> dict[str, Any]:
    """Returns the value that becomes JSON."""
    return {"message": "Hello World!"}


def form(request: Request) -> str:
    """Returns the fields of a form."""
    return f"{request.POST['name']}: {request.POST['strings']} strings"


VIEWS = {
    "hello": (hello, None),
    "page": (page, "articles.html"),
    "json": (message, "json"),
    "form": (form, "string"),
}

with Configurator() as config:
    config.include("pyramid_jinja2")
    config.add_jinja2_renderer(".html")
    config.add_jinja2_search_path(str(HERE / "templates"), name=".html")
    for name, (view, renderer) in VIEWS.items():
        config.add_route(name, f"/{name}")
        config.add_view(view, route_name=name, renderer=renderer)
    application = config.make_wsgi_app()
