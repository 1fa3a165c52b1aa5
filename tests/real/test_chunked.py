"""Chunked bodies reach frameworks that look only at Content-Length; some tools send only such bodies."""

from __future__ import annotations

import hashlib
import os
import subprocess
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest

from real.conftest import APPS, PATIENT
from support.client import Connection, chunked, request

if TYPE_CHECKING:
    from pathlib import Path

    from support.http import Response
    from support.server import Server, Servers

CHUNKED = ("Transfer-Encoding", "chunked")
PYTHIA = ("Authorization", "Basic cHl0aGlhOng=")
"""Credentials of a user, for whom any password is accepted."""

SIZES = pytest.mark.parametrize("size", [0, 1, 100_000, 2_000_000])
"""Sizes: none, little, a body that stays in memory, and one that goes through a file."""

EVENT = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//tests//EN
BEGIN:VEVENT
UID:symposium
DTSTAMP:20260101T000000Z
DTSTART:20260102T180000Z
SUMMARY:Symposium
END:VEVENT
END:VCALENDAR
""".replace("\n", "\r\n")


def send(
    server: Server, target: str, data: bytes, *fields: tuple[str, str], method: str = "POST"
) -> Response:
    """Send a body in three chunks."""
    third = len(data) // 3
    pieces = filter(None, (data[:third], data[third : 2 * third], data[2 * third :]))
    head = request(target, method=method, fields=[CHUNKED, *fields])
    with Connection(server.address, lint_answers=False) as line:
        return line.ask(head + chunked(*pieces))


def told(data: bytes) -> dict[str, Any]:
    """Return a site's answer for a body that has reached it."""
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def sample(size: int) -> bytes:
    """Return bytes that are not all the same."""
    return (bytes(range(251)) * (size // 251 + 1))[:size]


@SIZES
def test_django(django_site: Server, size: int) -> None:
    """A chunked body is in `request.body`, which Django cuts at CONTENT_LENGTH."""
    assert told(sample(size)) == send(django_site, "/digest/", sample(size)).json()


def test_django_form(django_site: Server) -> None:
    """A chunked form is in `request.POST`."""
    fields = ("Content-Type", "application/x-www-form-urlencoded")

    assert {"god": "Ἀπόλλων"} == send(
        django_site, "/form/", urlencode({"god": "Ἀπόλλων"}).encode(), fields
    ).json()


def test_falcon(falcon_site: Server) -> None:
    """`get_media()` returns a chunked body, although Falcon takes a body without a length for empty."""
    saying = '{"text": "Γνῶθι σεαυτόν"}'.encode()
    added = send(falcon_site, "/sayings", saying, ("Content-Type", "application/json"))

    assert (201, "Γνῶθι σεαυτόν") == (added.status, added.json().get("text"))


@pytest.fixture(scope="module")
def bottle_site(serve_session: Servers) -> Server:
    """Serve the Bottle site."""
    return serve_session(APPS / "bottle_site" / "app.py", *PATIENT)


@SIZES
def test_bottle(bottle_site: Server, size: int) -> None:
    """A chunked body reaches Bottle, which would decode chunks itself if it saw the field for them."""
    assert told(sample(size)) == send(bottle_site, "/digest", sample(size)).json()


def test_bottle_form(bottle_site: Server) -> None:
    """A chunked form reaches Bottle, too."""
    fields = ("Content-Type", "application/x-www-form-urlencoded")

    assert {"a": "1", "b": "2"} == send(bottle_site, "/form", b"a=1&b=2", fields).json()


def test_radicale(serve: Servers, tmp_path: Path) -> None:
    """An event that is sent by a chunked PUT is in the calendar."""
    server = serve(APPS / "radicale_site" / "app.py", *PATIENT, env={"SITE_DATA": str(tmp_path / "data")})

    assert 201 == send(server, "/pythia/calendar/", b"", PYTHIA, method="MKCALENDAR").status

    kind = ("Content-Type", "text/calendar")
    put = send(server, "/pythia/calendar/symposium.ics", EVENT.encode(), kind, PYTHIA, method="PUT")

    assert 201 == put.status

    kept = server.fetch("/pythia/calendar/symposium.ics", fields=[PYTHIA], lint_answers=False)

    assert b"SUMMARY:Symposium" in kept.body


def git(*arguments: str | Path, cwd: Path) -> str:
    """Run git without the settings of whoever runs the tests."""
    names = {"NAME": "Pythia", "EMAIL": "pythia@example.org"}
    env = {f"GIT_{who}_{key}": value for who in ("AUTHOR", "COMMITTER") for key, value in names.items()}
    env |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"}
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=cwd, env=os.environ | env, check=False, capture_output=True, text=True)
    assert 0 == done.returncode, done.stderr
    return done.stdout + done.stderr


def test_git_push(serve: Servers, tmp_path: Path) -> None:
    """`git push` sends data that is larger than its buffer in chunks; the pushed commits can be cloned."""
    served, mine = tmp_path / "served.git", tmp_path / "mine"
    git("init", "--bare", "--initial-branch=main", served, cwd=tmp_path)
    git("init", "--initial-branch=main", mine, cwd=tmp_path)
    (mine / "noise").write_bytes(b"".join(hashlib.sha256(b"%d" % n).digest() for n in range(10_000)))
    git("add", "noise", cwd=mine)
    git("commit", "--message", "noise", cwd=mine)
    server = serve(APPS / "dulwich_site" / "app.py", *PATIENT, env={"SITE_DATA": str(served)})
    url = f"http://127.0.0.1:{server.port}/"

    told = git("-c", "http.postBuffer=65536", "push", "--verbose", url, "main", cwd=mine)

    assert "chunked" in told, "git has sent it in one piece"

    git("clone", url, "clone", cwd=tmp_path)

    assert (mine / "noise").read_bytes() == (tmp_path / "clone" / "noise").read_bytes()
