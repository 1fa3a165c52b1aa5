"""The pages of the scenario `frameworks` from Django, set up like a new project, but without a database."""

from __future__ import annotations

import json
from pathlib import Path

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

HERE = Path(__file__).resolve().parent
ARTICLES = json.loads((HERE / "articles.json").read_text("utf-8"))

settings.configure(
    ALLOWED_HOSTS=["127.0.0.1"],
    # As `django-admin startproject` writes them, except sessions, users and messages.
    MIDDLEWARE=[
        "django.middleware.security.SecurityMiddleware",
        "django.middleware.common.CommonMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.middleware.clickjacking.XFrameOptionsMiddleware",
    ],
    ROOT_URLCONF=__name__,
    SECRET_KEY="not a secret: it is served on the loopback while servers are compared",  # noqa: S106
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "DIRS": [HERE / "templates"]}],
)


def hello(_request: HttpRequest) -> HttpResponse:
    """Returns a constant."""
    return HttpResponse("Hello World!")


def page(request: HttpRequest) -> HttpResponse:
    """Renders a template."""
    return render(request, "articles.html", {"articles": ARTICLES})


def message(_request: HttpRequest) -> HttpResponse:
    """Returns JSON."""
    return JsonResponse({"message": "Hello World!"})


@csrf_exempt  # The client is no browser: it has no cookie and no token.
def form(request: HttpRequest) -> HttpResponse:
    """Returns the fields of a form."""
    text = f"{request.POST['name']}: {request.POST['strings']} strings"
    return HttpResponse(text, content_type="text/plain")


urlpatterns = [path("hello", hello), path("page", page), path("json", message), path("form", form)]
application = get_wsgi_application()
