"""The pages of the scenario `frameworks` from Flask, with templates of Jinja2."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from flask import Flask, Response, render_template, request

ARTICLES = json.loads((Path(__file__).resolve().parent / "articles.json").read_text("utf-8"))

application = Flask(__name__)


@application.get("/hello")
def hello() -> str:
    """Returns a constant."""
    return "Hello World!"


@application.get("/page")
def page() -> str:
    """Renders a template."""
    text: str = render_template("articles.html", articles=ARTICLES)
    return text


@application.get("/json")
def message() -> dict[str, Any]:
    """Returns JSON."""
    return {"message": "Hello World!"}


@application.post("/form")
def form() -> Response:
    """Returns the fields of a form."""
    return Response(f"{request.form['name']}: {request.form['strings']} strings", mimetype="text/plain")
