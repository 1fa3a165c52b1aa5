"""The guestbook: a form, a list, and a SQLite database that is created when it is first needed."""

import os
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs
from wsgiref.types import WSGIEnvironment

from pages import Reply, error, page, template

FORM_BYTES_MAX = 16 * 1024  # Far above what the two fields can hold, however they are encoded.
NAME_CHARS_MAX = 60
MESSAGE_CHARS_MAX = 1000
ENTRIES_KEPT_MAX = 1000  # A public guestbook must not fill the disk.
ENTRIES_SHOWN_MAX = 50
SCHEMA = """
CREATE TABLE IF NOT EXISTS entry (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    message TEXT NOT NULL,
    signed_s INTEGER NOT NULL DEFAULT (unixepoch())
)
"""


class Entry(NamedTuple):
    """One signature; `signed_s` is in seconds since 1970."""

    name: str
    message: str
    signed_s: int


def answer(environ: WSGIEnvironment) -> Reply:
    """Show the guestbook, or sign it and send the browser back to look at it."""
    if environ["REQUEST_METHOD"] != "POST":
        return show(entries())
    # A form on another site must not sign in the name of somebody who only looks at that site.
    if environ.get("HTTP_SEC_FETCH_SITE", "same-origin") not in {"same-origin", "none"}:
        return error("403 Forbidden", "This form was sent from another site.")
    form = environ["wsgi.input"].read(FORM_BYTES_MAX + 1)
    if len(form) > FORM_BYTES_MAX:
        return error("413 Content Too Large", "That is too long for a guestbook.")
    fields = {key: values[0].strip() for key, values in parse_qs(form.decode("utf-8", "replace")).items()}
    name, message = fields.get("name", ""), fields.get("message", "")
    if not name or not message:
        return show(entries(), "Please give both a name and a message.", "422 Unprocessable Content")
    sign(name[:NAME_CHARS_MAX], message[:MESSAGE_CHARS_MAX])
    # 303, so that reloading the list does not sign again (RFC 9110, section 15.4.4).
    return Reply(b"", "303 See Other", (("Location", "/guestbook"),))


def show(signed: list[Entry], problem: str = "", status: str = "200 OK") -> Reply:
    """Show the form and the newest entries."""
    listed = "".join(
        template(
            "entry",
            name=name,
            message=message,
            time=moment.isoformat(),
            date=f"{moment:%-d %B %Y, %H:%M} UTC",
        )
        for name, message, signed_s in signed
        for moment in [datetime.fromtimestamp(signed_s, UTC)]
    )
    notice = template("problem", problem=problem) if problem else ""
    limits = {"name_chars_max": NAME_CHARS_MAX, "message_chars_max": MESSAGE_CHARS_MAX}
    raw = {"entries": listed or template("nobody"), "notice": notice}
    main = template("guestbook", raw=raw, **limits)
    return page("/guestbook", "Guestbook", main, status)


def entries() -> list[Entry]:
    """Return the newest entries, the last one first."""
    with closing(database()) as db:
        rows = db.execute(
            "SELECT name, message, signed_s FROM entry ORDER BY id DESC LIMIT ?",
            (ENTRIES_SHOWN_MAX,),
        )
        return [Entry(*row) for row in rows]


def sign(name: str, message: str) -> None:
    """Add one entry, and delete the oldest entries beyond the number that is kept."""
    with closing(database()) as db, db:
        db.execute("INSERT INTO entry (name, message) VALUES (?, ?)", (name, message))
        db.execute("DELETE FROM entry WHERE id <= (SELECT max(id) FROM entry) - ?", (ENTRIES_KEPT_MAX,))


def database() -> sqlite3.Connection:
    """Open a connection for one request, so that no connection is shared between threads."""
    folder = Path(os.environ.get("SITE_DATA") or Path(__file__).resolve().parent / "data")
    folder.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(folder / "guestbook.sqlite3")
    db.execute(SCHEMA)
    return db
