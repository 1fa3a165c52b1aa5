"""The example site of `make serve`: one WSGI application in plain Python, without a framework.

Serve it from the root of the checkout with

    adyton serve examples/site/app.py --static /static=examples/site/static

Adyton sends what lies under /static itself; everything else comes here.
"""

import os
import platform
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from wsgiref.types import StartResponse, WSGIEnvironment

# The modules of the site lie beside this file, so Python finds them; the handler is one folder above.
sys.path.append(str(Path(__file__).resolve().parent.parent))

import gallery
import guestbook
import handlers
from pages import Reply, error, page, template


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Find the page for the path, and answer with it."""
    reply = respond(environ)
    start_response(
        reply.status,
        [
            ("Content-Type", "text/html; charset=utf-8"),
            ("Content-Length", str(len(reply.body))),
            ("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'"),
            ("Referrer-Policy", "no-referrer"),
            ("X-Content-Type-Options", "nosniff"),
            *reply.headers,
        ],
    )
    return [reply.body]


def respond(environ: WSGIEnvironment) -> Reply:
    """Choose the reply to one request: a page, or the reason why there is none."""
    path, method = environ["PATH_INFO"], environ["REQUEST_METHOD"]
    if path not in PAGES:
        return error("404 Not Found", "There is no such page here.")
    allowed, answer = PAGES[path]
    if method not in allowed:
        reply = error("405 Method Not Allowed", f"This page answers {', '.join(allowed)} only.")
        return reply.with_header("Allow", ", ".join(allowed))
    return answer(environ)


def front(environ: WSGIEnvironment) -> Reply:
    """Show what Adyton is, what can be seen here, and facts about this very request."""
    facts = {
        "Server": environ["SERVER_SOFTWARE"],
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "Process": f"{os.getpid()}: the server and this application are one",
        "Protocol": environ["SERVER_PROTOCOL"],
        "Your address": f"{environ['REMOTE_ADDR']}, port {environ['REMOTE_PORT']}",
        "Raw target": environ["REQUEST_URI"],
    }
    rows = "".join(template("fact", name=name, value=value) for name, value in facts.items())
    return page("/", "Adyton", template("front", raw={"facts": rows}))


def icon(_environ: WSGIEnvironment) -> Reply:
    """Send browsers to the icon: pages that name none, such as the handler's, make them ask for this path."""
    return Reply(b"", "301 Moved Permanently", (("Location", "/static/icon.svg"),))


READ = ("GET", "HEAD")
PAGES: dict[str, tuple[tuple[str, ...], Callable[[WSGIEnvironment], Reply]]] = {
    "/": (READ, front),
    "/favicon.ico": (READ, icon),
    "/handler": (READ, handlers.show),
    "/hello": (READ, handlers.hello),
    "/guestbook": ((*READ, "POST"), guestbook.answer),
    "/gallery": (READ, gallery.show),
}
