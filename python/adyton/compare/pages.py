"""The pages that are requested: their right bodies, and their paths on each kind of peer."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from adyton.compare.articles import ARTICLES, NAMES
from adyton.compare.own import LARGE, OWN
from adyton.compare.served.application import BODY, COMPUTED, rendered

if TYPE_CHECKING:
    from pathlib import Path

PICTURES = {f"picture-{number}.jpg": 10_000 * number for number in range(1, 7)}
"""The gallery: as many pictures as a browser requests at once, with their sizes in bytes."""
FILES = {"file.jpg": 350 * 1024, **PICTURES}


def noise(name: str, size: int) -> bytes:
    """Returns bytes that cannot be compressed, like those of pictures; the same name gives the same bytes."""
    return random.Random(name).randbytes(size)  # noqa: S311 - no secret


BODIES = {
    "hello": BODY,
    "page": rendered(ARTICLES),
    "wait": BODY,
    "pause": BODY,
    "upload": BODY,
    "compute": b"%d\n" % COMPUTED,
} | {name: noise(name, size) for name, size in FILES.items()}
BODIES |= {name: own.body for name, own in OWN.items()}
"""Bodies of right answers, byte by byte, by the name of the page."""

QUICK = {name: f"/{name}" for name in ("page", "wait", "pause", "upload", "compute")} | {"hello": "/"}
MOUNTED = {f"static {name}": f"/static/{name}" for name in FILES}
THROUGH_PYTHON = QUICK | {name: f"/files/{name}" for name in FILES}
PLACES: dict[str, dict[str, str]] = {
    "python": THROUGH_PYTHON,
    "wsgi": {name: own.path for name, own in OWN.items()},
    "asgi": THROUGH_PYTHON,
    "php": {"hello": "/hello.php", "page": "/page.php"},
    "hello": {"hello": "/"},
    "mount": MOUNTED,
    "static": MOUNTED | {"hello": "/static/hello.txt"},
}
"""The paths of the pages, by the entries of a peer's ``serves``.

``mount`` is a folder of files beside an application; ``wsgi`` stands for applications of single scenarios.
"""
USUAL = "application"
"""The module of the folder ``served`` that has the pages of all other scenarios."""


def body(page: str) -> bytes:
    """Returns the right body of a page, which is the same for every way of serving it."""
    return BODIES[page.removeprefix("static ")]


def application_of(page: str) -> str:
    """Returns the module of the folder ``served`` that has a page, on peers that serve it with Python."""
    return OWN[page].application if page in OWN else USUAL


def write_pages(served: Path, work: Path, application: str = USUAL) -> None:
    """Writes what peers serve: the programs and the database in ``app``, the files in ``files/static``.

    Peers serve ``app/application.py``: the usual application, or a loader for that of a scenario.
    """
    # Copied, because servers that run as another user must be able to read the folder.
    app = work / "app"
    shutil.copytree(served, app, ignore=shutil.ignore_patterns("__pycache__"))
    if application != USUAL:
        (app / "loader.py").replace(app / f"{USUAL}.py")
        (app / "chosen").write_text(application, "utf-8")
        told = [dict(zip(NAMES, article, strict=True)) for article in ARTICLES]
        (app / "articles.json").write_text(json.dumps(told), "utf-8")
    for file in app.iterdir():
        file.chmod(0o755)
    with closing(sqlite3.connect(app / "articles.db")) as database, database:
        database.execute("CREATE TABLE articles (number INTEGER PRIMARY KEY, name, price, text)")
        database.executemany("INSERT INTO articles VALUES (?, ?, ?, ?)", ARTICLES)
    static = work / "files" / "static"
    static.mkdir(parents=True)
    (static / "hello.txt").write_bytes(BODY)
    for name in FILES:
        (static / name).write_bytes(BODIES[name])
    if application == "streams":
        (static / "stream.bin").write_bytes(LARGE)
