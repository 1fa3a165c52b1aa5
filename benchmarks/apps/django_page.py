"""A Django project in one file: a page that says which process answers."""

from __future__ import annotations

import os

import django
from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpRequest, HttpResponse
from django.urls import path

settings.configure(
    ALLOWED_HOSTS=["*"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    INSTALLED_APPS=[
        "django.contrib.admin",
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.messages",
        "django.contrib.sessions",
        "django.contrib.staticfiles",
    ],
    MIDDLEWARE=["django.middleware.security.SecurityMiddleware", "django.middleware.common.CommonMiddleware"],
    ROOT_URLCONF=__name__,
    SECRET_KEY="measured, not kept",  # noqa: S106
)
django.setup()


def who(_: HttpRequest) -> HttpResponse:
    """Answers with the number of the process."""
    return HttpResponse(str(os.getpid()), content_type="text/plain")


urlpatterns = [path("", who)]
application = WSGIHandler()
