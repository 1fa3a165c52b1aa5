"""The real applications as running servers, and a browser to use them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from real.browser import Browser

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.server import Server, Servers

APPS = Path(__file__).resolve().parent.parent / "apps"
ROOT = APPS.parent.parent
PASSWORD = "only for this test"  # noqa: S105 - the account ends with the test

PATIENT = ("--queue-timeout", "10m")
"""Flags for slow pages: on a busy machine, requests may wait long, which is not tested here."""


def fill_django(data: Path) -> dict[str, str]:
    """Fill the database of the Django site, collect its static files; return the variables that it needs."""
    env = {
        "SITE_DATA": str(data),
        "DJANGO_SUPERUSER_USERNAME": "pythia",
        "DJANGO_SUPERUSER_EMAIL": "pythia@example.org",
        "DJANGO_SUPERUSER_PASSWORD": PASSWORD,
    }
    cover = data / "media" / "covers" / "pattern.svg"
    cover.parent.mkdir(parents=True)
    cover.write_bytes((ROOT / "examples/site/static/gallery/meander.svg").read_bytes())
    manage(env, "migrate")
    manage(env, "loaddata", "books")
    manage(env, "createsuperuser", "--noinput")
    manage(env, "collectstatic", "--noinput")
    return env


def manage(env: dict[str, str], *command: str, python: Path | None = None) -> None:
    """Run a management command of the Django site."""
    subprocess.run(
        [python or sys.executable, "manage.py", *command, "--verbosity", "0"],
        cwd=APPS / "django_site",
        env=os.environ | env,
        check=True,
    )


@pytest.fixture(scope="session")
def django_site(serve_session: Servers, tmp_path_factory: pytest.TempPathFactory) -> Server:
    """Serve the Django site with its database filled, an admin, and static files collected."""
    data = tmp_path_factory.mktemp("django")
    env = fill_django(data)
    return serve_session(
        "shelf.wsgi:application",
        *("--static", f"/static={data / 'static'}", "--static", f"/media={data / 'media'}"),
        *PATIENT,
        cwd=APPS / "django_site",
        env=env,
    )


@pytest.fixture(scope="session")
def flask_site(serve_session: Servers, tmp_path_factory: pytest.TempPathFactory) -> Server:
    """Serve the Flask site."""
    env = {"SITE_DATA": str(tmp_path_factory.mktemp("flask"))}
    return serve_session(APPS / "flask_site" / "app.py", *PATIENT, env=env)


@pytest.fixture(scope="session")
def falcon_site(serve_session: Servers, tmp_path_factory: pytest.TempPathFactory) -> Server:
    """Serve the Falcon service."""
    env = {"SITE_DATA": str(tmp_path_factory.mktemp("falcon"))}
    return serve_session(APPS / "falcon_site" / "app.py", *PATIENT, env=env)


@pytest.fixture(scope="session")
def example_site(serve_session: Servers, tmp_path_factory: pytest.TempPathFactory) -> Server:
    """Serve the example site as `make serve` does, with a guestbook of its own."""
    env = {"SITE_DATA": str(tmp_path_factory.mktemp("site"))}
    target, static = "examples/site/app.py", "/static=examples/site/static"
    return serve_session(target, "--static", static, *PATIENT, cwd=ROOT, env=env)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Start Chromium with a profile of its own."""
    browser = Browser(tmp_path_factory.mktemp("chromium"))
    try:
        yield browser
    finally:
        browser.close()
