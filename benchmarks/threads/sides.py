"""The servers of these benchmarks: Adyton, and what people use today so that no page stops another."""

from __future__ import annotations

import client
import servers
from generator import Page
from servers import Spec

THREADS = 64
HELLO = Page("/hello", b"Hello World!")
SLOW = Page("/slow", b"slow")
STATIC = Page("/static/small.txt", servers.SMALL.body)
EXPECTED = client.Expected(HELLO.path, HELLO.body, (("content-type", "text/plain"),))

PEERS = ("gunicorn", "granian", "mod_wsgi")
"""What the names of peers begin with."""
WORKERS, WORKERS_MANY = 640, 2304
"""Connections that Apache works on at once: more than the case has, or its queue would be measured."""


def adyton(name: str, threads: int, more: str = "", *, app: str = "threads_wsgi") -> Spec:
    """Returns Adyton with so many threads."""
    where = f"benchmarks/apps/{app}.py --processes 0 --bind 127.0.0.1:{{port}}"
    command = f"adyton serve {where} --threads {threads} {more}"
    return Spec(name, command.strip(), expected_of(app))


def peers(app: str = "threads_wsgi", *, suffix: str = "", workers: int = WORKERS) -> tuple[Spec, ...]:
    """Returns the peers, each with 64 threads in one process."""
    return (gunicorn(app, suffix), granian(app, suffix), mod_wsgi(app, suffix, workers))


def gunicorn(app: str, suffix: str = "", more: str = "") -> Spec:
    """Returns gunicorn with its worker of threads."""
    command = (
        f"gunicorn --workers 1 --worker-class gthread --threads {THREADS} --worker-connections 4096 "
        "--backlog 4096 --keep-alive 75 --http-parser fast --worker-tmp-dir /dev/shm --no-control-socket "
        "--log-level warning --bind 127.0.0.1:{port} --chdir benchmarks/apps "
        f"{more}{app}:application"
    )
    return Spec(f"gunicorn gthread{suffix}", command, expected_of(app))


def granian(app: str, suffix: str = "") -> Spec:
    """Returns granian, which serves static files by itself."""
    command = (
        f"granian --interface wsgi --http 1 --no-ws --workers 1 --blocking-threads {THREADS} "
        "--runtime-mode mt --backlog 4096 --log-level warning --static-path-route /static "
        "--static-path-mount {work}/files --working-dir benchmarks/apps --port {port} "
        f"{app}:application"
    )
    return Spec(f"granian{suffix}", command, expected_of(app))


def mod_wsgi(app: str, suffix: str = "", workers: int = WORKERS) -> Spec:
    """Returns Apache with mod_wsgi's daemon; Apache serves static files by itself."""
    program = "python benchmarks/peers/run_apache.py {port} {work}"
    command = f"{program} {app} --threads {THREADS} --workers {workers}"
    return Spec(f"mod_wsgi daemon{suffix}", command, expected_of(app))


def expected_of(app: str) -> client.Expected:
    """Returns what an application answers when it is looked at."""
    return servers.WSGI if app == "hello_wsgi" else EXPECTED


STATIC_FILES = "--static /static={work}/files"
ADYTON = adyton("adyton", THREADS)
