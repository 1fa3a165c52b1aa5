"""A plain handler: `adyton serve examples/hello.py`, then open http://127.0.0.1:8000/?name=Ada."""

from html import escape

import adyton


def handler(request: adyton.Request) -> str:
    """Greet whoever the query string names."""
    name = request.query.get("name", "World")
    return f"<!doctype html><title>Hello</title><h1>Hello {escape(name)}!</h1>"
