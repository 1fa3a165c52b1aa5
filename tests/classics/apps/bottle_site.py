"""A Bottle application: forms, uploads, signed cookies, a generator and files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import bottle

if TYPE_CHECKING:
    from collections.abc import Iterator

DATA = Path(os.environ["SITE_DATA"])
SECRET = "the same in each worker"  # noqa: S105 - protects no account

application = bottle.Bottle()


@application.get("/")
def visits() -> str:
    """Count the visits of a client, in a cookie that is signed."""
    count = int(bottle.request.get_cookie("visits", default="0", secret=SECRET)) + 1
    bottle.response.set_cookie("visits", str(count), secret=SECRET)
    return str(count)


@application.post("/form")
def form() -> str:
    """Say what stands in a form."""
    return f"{bottle.request.forms.name} said {bottle.request.forms.text}"


@application.post("/upload")
def upload() -> str:
    """Keep a file; say how many bytes it has."""
    sent = bottle.request.files.file
    sent.save(str(DATA), overwrite=True)
    return str((DATA / sent.filename).stat().st_size)


@application.get("/old")
def old() -> None:
    """Lead to the front page."""
    bottle.redirect("/")


@application.get("/files/<name>")
def get(name: str) -> bottle.HTTPResponse:
    """Send a file, or a part of it."""
    return bottle.static_file(name, root=DATA)


@application.get("/count")
def count() -> Iterator[str]:
    """Send a hundred lines, each an item of its own."""
    for number in range(100):
        yield f"{number}\n"


@application.get("/wrong")
def wrong() -> str:
    """Fail."""
    raise ValueError("as it was asked to")
