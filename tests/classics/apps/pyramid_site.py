"""A Pyramid application: routes, forms, signed sessions, and a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pyramid.config import Configurator
from pyramid.httpexceptions import HTTPFound
from pyramid.response import FileResponse, Response
from pyramid.session import SignedCookieSessionFactory

if TYPE_CHECKING:
    from pyramid.request import Request


def visits(request: Request) -> Response:
    """Count the visits of a client."""
    request.session["visits"] = request.session.get("visits", 0) + 1
    return Response(str(request.session["visits"]))


def form(request: Request) -> Response:
    """Say what stands in a form."""
    return Response(f"{request.POST['name']} said {request.POST['text']}")


def upload(request: Request) -> Response:
    """Say how many bytes a file has."""
    return Response(str(len(request.POST["file"].file.read())))


def source(request: Request) -> FileResponse:
    """Send this file."""
    return FileResponse(Path(__file__), request, content_type="text/plain")


def old(_request: Request) -> HTTPFound:
    """Lead to the front page."""
    return HTTPFound("/")


with Configurator(session_factory=SignedCookieSessionFactory("the same in each worker")) as config:
    for view, path, options in (
        (visits, "/", {}),
        (form, "/form", {"request_method": "POST"}),
        (upload, "/upload", {"request_method": "POST"}),
        (source, "/source", {}),
        (old, "/old", {}),
    ):
        config.add_route(path, path)
        config.add_view(view, route_name=path, **options)
    application = config.make_wsgi_app()
