"""The pages of the scenario `database` by psycopg2, with a connection for each thread."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg2

if TYPE_CHECKING:
    from collections.abc import Iterable
    from wsgiref.types import StartResponse, WSGIEnvironment

SOCKET = (Path(__file__).resolve().parent / "socket").read_text("utf-8")
QUERY = "SELECT number, name, price FROM articles WHERE number = %s"
WAITING = "SELECT number, name, price, pg_sleep(0.001) FROM articles WHERE number = %s"

own = threading.local()


def connection() -> Any:  # noqa: ANN401 - psycopg2 has no types
    """Returns the thread's connection, which stays open from one request to the next."""
    if not hasattr(own, "connection"):
        own.connection = psycopg2.connect(host=SOCKET, dbname="compare", user="compare")
        own.connection.autocommit = True
    return own.connection


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answers for WSGI."""
    _, queries, *waits = environ["PATH_INFO"].split("/")
    lines = []
    with connection().cursor() as cursor:
        for wanted in range(1, int(queries) + 1):
            cursor.execute(WAITING if waits else QUERY, (wanted,))
            row = cursor.fetchone()
            lines.append(f"{row[0]} {row[1]} {row[2]}\n")
    body = "".join(lines).encode()
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]
