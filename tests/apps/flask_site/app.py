"""A Flask site: upload and download of files, a stream, and a page made from rows of SQL."""

import functools
import hashlib
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from flask import Flask, Response, abort, redirect, render_template, request, send_from_directory
from werkzeug.utils import secure_filename
from werkzeug.wrappers import Response as BaseResponse

DATA = Path(os.environ["SITE_DATA"])
STREAM_ITEMS = 4
STREAM_PAUSE_S = 0.3
REPORT_ROWS = 60

app = Flask(__name__)


@app.get("/")
def front() -> str:
    """Show the form for an upload, and what has been uploaded."""
    return render_template("front.html", names=sorted(path.name for path in DATA.iterdir()))


@app.post("/upload")
def upload() -> BaseResponse:
    """Keep a file, and go back to the list."""
    file = request.files["file"]
    name = secure_filename(file.filename or "")
    if not name:
        abort(400)
    file.save(DATA / name)
    return redirect("/", code=303)


@app.get("/files/<name>")
def download(name: str) -> Response:
    """Send a file back; Werkzeug hands it to `wsgi.file_wrapper`."""
    return send_from_directory(DATA, name, as_attachment=True)


@app.post("/digest")
def digest() -> dict[str, object]:
    """Read a body piece by piece, of any length and framing, and answer with its hash and length."""
    found, size = hashlib.sha256(), 0
    while piece := request.stream.read(65536):
        found.update(piece)
        size += len(piece)
    return {"sha256": found.hexdigest(), "bytes": size}


@app.get("/stream")
def stream() -> Response:
    """Send lines with a pause after each; each line is the monotonic time in seconds at which it was made."""

    def lines() -> Iterator[str]:
        for _ in range(STREAM_ITEMS):
            yield f"{time.monotonic()}\n"
            time.sleep(STREAM_PAUSE_S)

    return Response(lines(), mimetype="text/plain")


@app.get("/report")
def report() -> str:
    """Render a page of some 7 KB from rows that were read from the database before."""
    return render_template("report.html", rows=rows())


@functools.cache
def rows() -> list[tuple[int, str, int]]:
    """Make a table of oracles, and read it back sorted."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE TABLE oracle (id INTEGER PRIMARY KEY, asked TEXT, drachmas INTEGER)")
        db.executemany(
            "INSERT INTO oracle (asked, drachmas) VALUES (?, ?)",
            [(f"question {i} of <Thebes> & Argos", i * 37 % 101) for i in range(REPORT_ROWS)],
        )
        return db.execute("SELECT id, asked, drachmas FROM oracle ORDER BY drachmas, id").fetchall()
