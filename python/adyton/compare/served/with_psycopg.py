"""The pages of the scenario `database` by psycopg 3, with its pool of connections."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from psycopg_pool import ConnectionPool

if TYPE_CHECKING:
    from collections.abc import Iterable
    from wsgiref.types import StartResponse, WSGIEnvironment

SOCKET = (Path(__file__).resolve().parent / "socket").read_text("utf-8")
QUERY = "SELECT number, name, price FROM articles WHERE number = %s"
WAITING = "SELECT number, name, price, pg_sleep(0.001) FROM articles WHERE number = %s"
CONNECTIONS_MAX = 16
"""Connections of each process: as many as the threads of a server that can be told their number."""

pool = ConnectionPool(
    f"host={SOCKET} dbname=compare user=compare",
    min_size=1,
    max_size=CONNECTIONS_MAX,
    open=False,
    kwargs={"autocommit": True},
)
opening = threading.Lock()


def opened() -> ConnectionPool:
    """Returns the pool. Its threads start at the first request, because a server may fork before that."""
    if pool.closed:
        with opening:
            if pool.closed:
                pool.open()
    return pool


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answers for WSGI."""
    _, queries, *waits = environ["PATH_INFO"].split("/")
    lines = []
    with opened().connection() as connection:
        for wanted in range(1, int(queries) + 1):
            row = connection.execute(WAITING if waits else QUERY, (wanted,)).fetchone()
            lines.append(f"{row[0]} {row[1]} {row[2]}\n")
    body = "".join(lines).encode()
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]
