"""Settings as in production: no debugging, static files collected, everything kept in SITE_DATA."""

import os
from pathlib import Path

DATA = Path(os.environ["SITE_DATA"])

SECRET_KEY = "not a secret: this site runs in tests only, on loopback"  # noqa: S105 - see the value
DEBUG = False
ALLOWED_HOSTS = ["127.0.0.1", ".localhost"]
ROOT_URLCONF = "shelf.urls"
WSGI_APPLICATION = "shelf.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
TIME_ZONE = "UTC"
LOGIN_REDIRECT_URL = "/private/"

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "books",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": DATA / "shelf.sqlite3"}}

STATIC_URL = "/static/"
STATIC_ROOT = DATA / "static"
MEDIA_URL = "/media/"
MEDIA_ROOT = DATA / "media"
