"""The pages of the scenario `frameworks` from Bottle, with its own templates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bottle import Bottle, request, response, template

HERE = Path(__file__).resolve().parent
ARTICLES = json.loads((HERE / "articles.json").read_text("utf-8"))
TEMPLATES = [str(HERE / "templates")]

application = Bottle()


@application.get("/hello")
def hello() -> str:
    """Returns a constant."""
    return "Hello World!"


@application.get("/page")
def page() -> str:
    """Renders a template."""
    text: str = template("articles.tpl", articles=ARTICLES, template_lookup=TEMPLATES)
    return text


@application.get("/json")
def message() -> dict[str, Any]:
    """Returns JSON."""
    return {"message": "Hello World!"}


@application.post("/form")
def form() -> str:
    """Returns the fields of a form."""
    response.content_type = "text/plain"
    return f"{request.forms['name']}: {request.forms['strings']} strings"
