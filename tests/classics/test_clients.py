"""Clients that other people wrote (git, hg, litmus, twine, pip, calendars, Trac), each against its server."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from classics.conftest import CLIENT_TIMEOUT_S, DEFAULT_PROCESSES, Visitor
from support.client import Connection, chunked, request

if TYPE_CHECKING:
    from classics.conftest import Sites
    from support.http import Response
    from support.server import Servers

BIN = Path(sys.executable).parent
LARGE_BYTES = 3_000_000
"""More than git sends in one piece (1 MiB, http.postBuffer), so that git sends the data in chunks."""


def run(*command: str | Path, cwd: Path, **variables: str) -> str:
    """Run a client, which must succeed; return its output."""
    env = {**os.environ, "HOME": str(cwd), "GIT_TERMINAL_PROMPT": "0", "HGPLAIN": "1", **variables}
    done = subprocess.run(
        command,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=CLIENT_TIMEOUT_S,
        check=False,
    )

    assert 0 == done.returncode, (command, done.stdout)

    return done.stdout


def git(folder: Path, *words: str) -> str:
    """Run git in a folder."""
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main"]
    return run("git", *who, *words, cwd=folder)


@pytest.mark.parametrize("size", [1000, LARGE_BYTES], ids=["small", "chunked"])
def test_git(site: Sites, tmp_path: Path, size: int) -> None:
    """A repository pushed to dulwich can be cloned, also when its pack is sent chunked."""
    origin = tmp_path / "origin"
    git(tmp_path, "init", "--bare", str(origin))
    url = site("git_site", REPOSITORY=str(origin)).url
    git(tmp_path, "clone", url, "first")
    first = tmp_path / "first"
    data = os.urandom(size)
    (first / "data.bin").write_bytes(data)
    git(first, "add", ".")
    git(first, "commit", "--message", "data")
    git(first, "push", "origin", "HEAD:refs/heads/main")
    git(tmp_path, "clone", "--branch", "main", url, "second")

    assert data == (tmp_path / "second" / "data.bin").read_bytes()
    assert git(first, "rev-parse", "HEAD") == git(origin, "rev-parse", "main")


@pytest.mark.parametrize("size", [1000, LARGE_BYTES])
def test_hg(site: Sites, tmp_path: Path, size: int) -> None:
    """A repository pushed to hgweb can be cloned."""
    hg, origin, first = BIN / "hg", tmp_path / "origin", tmp_path / "first"
    run(hg, "init", str(origin), cwd=tmp_path)
    (origin / ".hg" / "hgrc").write_text("[web]\nallow_push = *\npush_ssl = false\n")
    visitor = site("hg_site", REPOSITORY=str(origin))
    run(hg, "clone", visitor.url, str(first), cwd=tmp_path)
    data = os.urandom(size)
    (first / "data.bin").write_bytes(data)
    run(hg, "commit", "--addremove", "--user", "ada", "--message", "data", cwd=first)
    run(hg, "push", cwd=first)
    run(hg, "clone", visitor.url, str(tmp_path / "second"), cwd=tmp_path)

    assert data == (tmp_path / "second" / "data.bin").read_bytes()
    assert "ada" in visitor.get("/log")


def litmus(visitor: Visitor, folder: Path, tests: str) -> str:
    """Run some of litmus' suites; return what it says."""
    return run("litmus", "--keep-going", f"{visitor.url}/", cwd=folder, TESTS=tests)


def test_webdav(site: Sites, tmp_path: Path) -> None:
    """With several workers, wsgidav serves files and folders as litmus expects."""
    said = litmus(site("dav_site"), tmp_path, "basic copymove http")

    assert 3 == len(re.findall(r"100\.0%", said)), said


def test_webdav_in_memory(site: Sites, tmp_path: Path) -> None:
    """With one worker, wsgidav keeps locks and properties in memory as litmus expects it."""
    said = litmus(site("dav_site", "--processes", "1"), tmp_path, "props locks")

    assert 2 == len(re.findall(r"100\.0%", said)), said


def wheel(folder: Path) -> Path:
    """Make a package for pip in `folder`; return its file."""
    files = {
        "oracle.py": 'SAYING = "know thyself"\n',
        "oracle-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: oracle\nVersion: 1.0\n",
        "oracle-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = []
    path = folder / "oracle-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
            rows.append(f"{name},sha256={digest},{len(text)}\n")
        archive.writestr("oracle-1.0.dist-info/RECORD", "".join(rows) + "oracle-1.0.dist-info/RECORD,,\n")
    return path


def test_package_index(site: Sites, tmp_path: Path) -> None:
    """A package that twine uploads to pypiserver is in the index for each worker, and pip downloads it."""
    sent = wheel(tmp_path)
    visitor = site("index_site")
    run(
        *(BIN / "twine", "upload", "--non-interactive", "--disable-progress-bar"),
        *("--repository-url", f"{visitor.url}/", "--username", "ada", "--password", "ada", sent),
        cwd=tmp_path,
    )
    for _ in range(10):
        assert sent.name in visitor.get("/simple/oracle/")
    run(
        *(BIN / "pip", "download", "--no-deps", "--no-cache-dir", "--isolated", "--dest", "got"),
        *("--index-url", f"{visitor.url}/simple/", "oracle"),
        cwd=tmp_path,
    )

    assert sent.read_bytes() == (tmp_path / "got" / sent.name).read_bytes()


EVENT = "\r\n".join(
    (
        *("BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//test//test//EN", "BEGIN:VEVENT", "UID:{uid}"),
        *("DTSTAMP:20260101T000000Z", "DTSTART:20260102T000000Z", "SUMMARY:Symposion at Agathon's"),
        *("END:VEVENT", "END:VCALENDAR", ""),
    )
)
PROPFIND = b'<propfind xmlns="DAV:"><prop><getetag/></prop></propfind>'


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_calendar(serve: Servers, tmp_path: Path, framing: str) -> None:
    """Events that a calendar's client puts into Radicale are there for all workers."""
    config = tmp_path / "radicale.conf"
    config.write_text(f"[auth]\ntype = none\n[storage]\nfilesystem_folder = {tmp_path / 'store'}\n")
    server = serve("radicale:application", env=DEFAULT_PROCESSES | {"RADICALE_CONFIG": str(config)})
    who = ("Authorization", "Basic " + base64.b64encode(b"ada:").decode())

    def ask(method: str, target: str, body: bytes = b"", *fields: tuple[str, str]) -> Response:
        return server.fetch(target, method=method, fields=[who, *fields], body=body, lint_answers=False)

    def put(uid: int) -> Response:
        place, event = f"/ada/calendar/{uid}.ics", EVENT.format(uid=uid).encode()
        kind = ("Content-Type", "text/calendar")
        if framing == "length":
            return ask("PUT", place, event, kind)
        head = request(place, method="PUT", fields=[who, kind, ("Transfer-Encoding", "chunked")])
        with Connection(server.address, lint_answers=False) as line:
            return line.ask(head + chunked(event[:100], event[100:]))

    assert 201 == ask("MKCALENDAR", "/ada/calendar/").status
    for uid in range(5):
        answer = put(uid)
        assert 201 == answer.status, answer
    for _ in range(10):
        listed = ask("PROPFIND", "/ada/calendar/", PROPFIND, ("Depth", "1"))
        assert 207 == listed.status
        assert 5 == listed.body.count(b".ics</href>"), listed.body
    assert b"Agathon" in ask("GET", "/ada/calendar/3.ics").body
    assert 200 == ask("DELETE", "/ada/calendar/3.ics").status
    assert 404 == ask("GET", "/ada/calendar/3.ics").status


def test_trac(serve: Servers, tmp_path: Path) -> None:
    """Every visitor sees a ticket that was filed with Trac, and the pages of Trac's wiki."""
    project = tmp_path / "project"
    run(BIN / "trac-admin", str(project), "initenv", "Delphi", "sqlite:db/trac.db", cwd=tmp_path)
    variables = DEFAULT_PROCESSES | {"TRAC_ENV": str(project)}
    run(
        *(BIN / "trac-admin", str(project), "permission", "add", "anonymous", "TICKET_CREATE", "WIKI_CREATE"),
        cwd=tmp_path,
    )
    visitor = Visitor(serve("trac.web.main:dispatch_request", env=variables))

    assert "Delphi" in visitor.get("/wiki")

    visitor.get("/newticket")
    page = visitor.post(
        "/newticket",
        {
            "__FORM_TOKEN": visitor.cookie("trac_form_token"),
            "field_summary": "The tripod wobbles",
            "field_description": "Since the earthquake.",
            "field_reporter": "pythia",
            "field_type": "defect",
            "field_status": "new",
            "submit": "Create",
        },
    )

    assert "The tripod wobbles" in page

    for _ in range(10):
        assert "The tripod wobbles" in visitor.another().get("/ticket/1")
        assert "WikiFormatting" in visitor.another().get("/wiki/TracGuide")
    assert 404 == visitor.ask("/ticket/2")[0]


@pytest.mark.long
def test_wagtail(serve: Servers, tmp_path: Path) -> None:
    """An editor of a new Wagtail site logs in, and every visitor sees the site's pages."""
    run(BIN / "wagtail", "start", "delphi", cwd=tmp_path)
    folder = tmp_path / "delphi"
    account = {
        "DJANGO_SUPERUSER_USERNAME": "pythia",
        "DJANGO_SUPERUSER_EMAIL": "pythia@example.org",
        "DJANGO_SUPERUSER_PASSWORD": "only for this test",
    }
    run(sys.executable, "manage.py", "migrate", "--verbosity", "0", cwd=folder)
    run(sys.executable, "manage.py", "createsuperuser", "--noinput", cwd=folder, **account)
    settings = {"DJANGO_SETTINGS_MODULE": "delphi.settings.dev"}
    visitor = Visitor(serve("delphi.wsgi:application", cwd=folder, env=DEFAULT_PROCESSES | settings))

    assert "Welcome" in visitor.get("/")

    token = re.search('csrfmiddlewaretoken" value="([^"]+)"', visitor.get("/admin/login/"))

    assert token

    form = {"username": "pythia", "password": account["DJANGO_SUPERUSER_PASSWORD"], "next": "/admin/"}
    page = visitor.post("/admin/login/", form | {"csrfmiddlewaretoken": token[1]})

    assert "Dashboard" in page

    for _ in range(10):
        assert "Welcome" in visitor.another().get("/")
        assert "Dashboard" in visitor.get("/admin/")
        assert "Dashboard" not in visitor.another().get("/admin/")
