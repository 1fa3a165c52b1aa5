"""The pages of the scenario `frameworks` from Falcon, with a template of Jinja2, as in Flask."""

from __future__ import annotations

import json
from pathlib import Path

import falcon
from jinja2 import Environment, FileSystemLoader

HERE = Path(__file__).resolve().parent
ARTICLES = json.loads((HERE / "articles.json").read_text("utf-8"))
TEMPLATES = Environment(loader=FileSystemLoader(HERE / "templates"), autoescape=True)


class Hello:
    """The page with a constant."""

    def on_get(self, _request: falcon.Request, response: falcon.Response) -> None:
        """Answers."""
        response.content_type = falcon.MEDIA_TEXT
        response.text = "Hello World!"


class Page:
    """The page from a template."""

    def on_get(self, _request: falcon.Request, response: falcon.Response) -> None:
        """Answers."""
        response.content_type = falcon.MEDIA_HTML
        response.text = TEMPLATES.get_template("articles.html").render(articles=ARTICLES)


class Message:
    """The page with JSON."""

    def on_get(self, _request: falcon.Request, response: falcon.Response) -> None:
        """Answers."""
        response.media = {"message": "Hello World!"}


class Form:
    """The page with the fields of a form."""

    def on_post(self, request: falcon.Request, response: falcon.Response) -> None:
        """Answers."""
        sent = request.get_media()
        response.content_type = falcon.MEDIA_TEXT
        response.text = f"{sent['name']}: {sent['strings']} strings"


application = falcon.App()
for path, resource in {"/hello": Hello(), "/page": Page(), "/json": Message(), "/form": Form()}.items():
    application.add_route(path, resource)
