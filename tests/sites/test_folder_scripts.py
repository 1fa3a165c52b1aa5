"""Folders that have their files run: which files run, which variables they get, and no source is sent."""

from __future__ import annotations

import gzip
import shutil
import threading
from typing import TYPE_CHECKING

import pytest

from sites.conftest import BCRYPT, write
from sites.scripts import variables
from sites.test_auth import PASSWORD, credentials
from support.client import chunked, fetch, request
from support.server import run, until

if TYPE_CHECKING:
    from pathlib import Path

    from support.client import Response
    from support.server import Server, Servers

FILE = """
[[sites]]
root = "public"

[[sites.routes]]
files = "."
cgi-interpreters = ["/bin/sh", "/usr/bin/perl"]
cgi-environment = ["LANG=C"]
may-set = {may}
{more}
"""

MAY = '["cgi", "auth", "allow", "headers", "errors", "redirect"]'

OWN = ".adyton.toml"

SOURCE = b"TOP SECRET"
"""Text that is in the source of each program, and in none of their answers."""

SAY_ALL = f"""#!/bin/sh
# {SOURCE.decode()}
printf 'Content-Type: text/plain\\r\\n\\r\\n'; env; echo "cwd=$PWD args=$#"; cat
"""

PERL = f"""#!/usr/bin/perl
# {SOURCE.decode()}
print "Content-Type: text/plain\\r\\n\\r\\n", "perl of $ENV{{SCRIPT_NAME}}|", $ENV{{PATH_INFO}} // "";
"""


@pytest.fixture
def public(project: Path) -> Path:
    """Return a folder with programs and other files in three levels."""
    public = project / "public"
    for name in ("tools", "tools/in", "tools/in/deep", "plain"):
        (public / name).mkdir()
        program(public / name / "say.cgi", SAY_ALL)
        program(public / name / "text.sh", SAY_ALL, mode=0o644)
        (public / name / "page.html").write_text(f"<p>{name}", encoding="utf-8")
    program(public / "tools/say.pl", PERL, mode=0o644)
    return public


def program(file: Path, text: str, mode: int = 0o755) -> Path:
    """Write a program, all at once."""
    part = file.with_name(".part")
    part.write_text(text, encoding="utf-8")
    part.chmod(mode)
    return part.replace(file)


def say(folder: Path, text: str, name: str = OWN) -> None:
    """Replace the settings of a folder, by a rename."""
    part = folder / ".part"
    part.write_text(text, encoding="utf-8")
    part.replace(folder / name)


def start(serve: Servers, project: Path, may: str = MAY, more: str = "") -> Server:
    """Serve the folder."""
    return serve(write(project, FILE.format(may=may, more=more)).name, cwd=project)


def get(server: Server, target: str, **how: object) -> Response:
    """Return the answer to a request; check that it contains no source of a program."""
    response = server.fetch(target, lint_answers=False, **how)  # type: ignore[arg-type]

    assert SOURCE not in response.body, target

    return response


def shown(server: Server, target: str) -> str:
    """Return the outcome of a request: the name of the program that ran, or else the status."""
    response = get(server, target)
    if response.status != 200:
        return str(response.status)
    if response.body.startswith(b"perl of "):
        return response.body.decode()
    found = variables(response)
    return f"{found['SCRIPT_NAME']}|{found.get('PATH_INFO', '')}" if "SCRIPT_NAME" in found else "sent"


def test_what_a_program_is_told(serve: Servers, project: Path, public: Path) -> None:
    """A program gets the variables of a route's program, with the site's folder as its document root."""
    say(public / "tools", "cgi = true\n")
    server = start(serve, project)
    body = b"name=value"
    response = get(server, "/tools/say.cgi/a%20b/c?x=%31", method="POST", body=body)
    found = variables(response)

    assert 200 == response.status
    assert response.body.endswith(f"cwd={public}/tools args=0\n".encode() + body)
    for name, value in {
        "DOCUMENT_ROOT": str(public),
        "GATEWAY_INTERFACE": "CGI/1.1",
        "LANG": "C",
        "PATH_INFO": "/a b/c",
        "PATH_TRANSLATED": f"{public}/a b/c",
        "QUERY_STRING": "x=%31",
        "REQUEST_METHOD": "POST",
        "REQUEST_URI": "/tools/say.cgi/a%20b/c?x=%31",
        "SCRIPT_FILENAME": f"{public}/tools/say.cgi",
        "SCRIPT_NAME": "/tools/say.cgi",
    }.items():
        assert value == found.get(name), name


RULES = [
    ("cgi = true", "/tools/say.cgi", "/tools/say.cgi|"),
    ("cgi = true", "/tools/say.cgi/x/y", "/tools/say.cgi|/x/y"),
    ("cgi = true", "/tools/say.cgi/", "/tools/say.cgi|/"),
    ("cgi = true", "/tools//say.cgi//x", "/tools/say.cgi|/x"),
    ("cgi = true", "/tools/s%61y.cgi", "/tools/say.cgi|"),
    ("cgi = true", "/tools%2Fsay.cgi%2Fx", "/tools/say.cgi|/x"),
    ("cgi = true", "/tools/in/say.cgi", "/tools/in/say.cgi|"),
    ("cgi = true", "/tools/in/deep/say.cgi", "/tools/in/deep/say.cgi|"),
    ("cgi = true", "/plain/page.html", "sent"),
    ("cgi = true", "/tools/page.html", "sent"),
    ("cgi = true", "/tools/page.html/x", "404"),
    ("cgi = true", "/tools/text.sh", "403"),
    ("cgi = true", "/tools/text.sh/x", "403"),
    ("cgi = true", "/tools/say.pl", "403"),
    ("cgi = true", "/tools/none.cgi", "404"),
    ("cgi = true", "/tools/in", "404"),
    ("cgi = true", "/tools/.adyton.toml", "404"),
    ('cgi = { "*.pl" = "/usr/bin/perl" }', "/tools/say.pl", "perl of /tools/say.pl|"),
    ('cgi = { "*.pl" = "/usr/bin/perl" }', "/tools/say.pl/x", "perl of /tools/say.pl|/x"),
    ('cgi = { "*.pl" = "/usr/bin/perl" }', "/tools/say.PL", "404"),
    ('cgi = { "*.pl" = "/usr/bin/perl" }', "/tools/page.html", "sent"),
    ('cgi = { "*.sh" = "/bin/sh" }', "/tools/text.sh", "/tools/text.sh|"),
    ('cgi = { "*.sh" = "/bin/sh" }', "/tools/in/text.sh/y", "/tools/in/text.sh|/y"),
    ('cgi = { "*.SH" = "/bin/sh" }', "/tools/text.sh", "/tools/text.sh|"),
]


@pytest.mark.parametrize("may", [MAY, '["cgi"]'])
def test_which_files_are_run(serve: Servers, project: Path, public: Path, may: str) -> None:
    """Names decide which files are run; a path behind a name goes to the program; other files are sent."""
    server = start(serve, project, may)
    for rule in dict.fromkeys(rule for rule, *_ in RULES):
        say(public / "tools", rule)
        for target, expected in [(target, expected) for other, target, expected in RULES if other == rule]:
            assert until(lambda target=target, expected=expected: ran(server, target) == expected), (
                rule,
                target,
                ran(server, target),
            )


def ran(server: Server, target: str) -> str:
    """Return the outcome of a request; its answer may be a source, because rules are changing."""
    response = server.fetch(target, lint_answers=False)
    if SOURCE in response.body:
        return "source"
    return shown(server, target)


LEAKS = [
    "/tools/say.cgi",
    "/tools/say.cgi.gz",
    "/tools/say.cgi.br",
    "/tools/text.sh",
    "/tools/text.sh.gz",
    "/tools/text.sh/",
    "/tools/text.sh/page.html",
    "/tools//text.sh",
    "/tools/./text.sh",
    "/tools/../tools/text.sh",
    "/tools/%74ext.sh",
    "/tools/text.sh%00.html",
    "/tools/text.sh%00",
    "/tools/text.sh%20",
    "/tools/text.sh;x",
    "/tools/text.sh?x",
    "/tools\\text.sh",
    "/tools/text%2Esh",
    "/tools%2ftext.sh",
    "/tools/in/../text.sh",
    "/tools/TEXT.SH",
    "/tools/Upper.SH",
    "/tools/odd",
    "/tools/odd.unknown",
    "/tools/",
    "/tools",
    "/tools/copy.sh.txt.sh",
]


ASKED = [
    ("GET", []),
    ("GET", [("Accept-Encoding", "gzip, br, zstd"), ("Accept", "text/html")]),
    ("GET", [("Range", "bytes=0-100")]),
    ("GET", [("If-None-Match", '"x"'), ("If-Range", "x")]),
    ("POST", []),
    ("PUT", []),
    ("OPTIONS", []),
    ("TRACE", []),
]

BY_ENDS = 'cgi = { "*.sh" = "/bin/sh", "*.cgi" = "/bin/sh" }'


@pytest.mark.parametrize(
    ("rule", "more"),
    [
        ("cgi = true", ""),
        ("cgi = true", "static-listing = true\n"),
        ("cgi = true", 'static-fallback = "tools/text.sh"\nstatic-listing = true\n'),
        ("cgi = true", 'compress = true\nstatic-fallback = "tools/page.html"\n'),
        (BY_ENDS, ""),
        (BY_ENDS, 'compress = true\nstatic-fallback = "tools/text.sh"\n'),
    ],
)
def test_no_source_is_sent(serve: Servers, project: Path, public: Path, rule: str, more: str) -> None:
    """No spelling, method or field makes the server send the source of a program."""
    # If endings decide, files without such an ending are no programs.
    others = () if rule == BY_ENDS else ("odd", "odd.unknown")
    for name in ("Upper.SH", "copy.sh.txt.sh", *others):
        program(public / "tools" / name, SAY_ALL, mode=0o644)
    for name in ("say.cgi", "text.sh"):
        data = (public / "tools" / name).read_bytes()
        (public / "tools" / f"{name}.gz").write_bytes(gzip.compress(data))
        (public / "tools" / f"{name}.br").write_bytes(data)
    say(public / "tools", rule)
    server = start(serve, project, more=more)
    for target in LEAKS:
        for method, fields in ASKED:
            body = b"x" if method in {"POST", "PUT"} else None
            response = server.fetch(target, method=method, fields=fields, body=body, lint_answers=False)
            text = response.body
            text = gzip.decompress(text) if text.startswith(b"\x1f\x8b") else text

            assert SOURCE not in text, (target, method, fields)


def test_inheritance(serve: Servers, project: Path, public: Path) -> None:
    """Rules of a folder count for the folders inside, which can add rules or cancel them."""
    say(public / "tools", 'cgi = { "*.cgi" = "/bin/sh" }\n')
    say(public / "tools/in", 'cgi = { "*.sh" = "/bin/sh" }\n')
    say(public / "tools/in/deep", "cgi = false\n")
    server = start(serve, project)
    for target, expected in [
        ("/tools/say.cgi", "/tools/say.cgi|"),
        ("/tools/in/say.cgi", "/tools/in/say.cgi|"),
        ("/tools/in/text.sh", "/tools/in/text.sh|"),
        ("/plain/page.html", "sent"),
    ]:
        assert expected == shown(server, target), target
    for target in ("/tools/in/deep/say.cgi", "/tools/in/deep/text.sh", "/plain/say.cgi", "/tools/text.sh"):
        assert SAY_ALL.encode() == server.fetch(target, lint_answers=False).body, target


def test_what_folders_say_counts_for_programs(serve: Servers, project: Path, public: Path) -> None:
    """Passwords, addresses, redirects of folders count before a program runs; fields count in its answer."""
    (public / "tools/.htpasswd").write_text(f"ann:{BCRYPT}\n", encoding="utf-8")
    rule = 'cgi = true\nauth = "basic:.htpasswd"\nheaders = { X-Folder = "tools" }\n'
    say(public / "tools", rule + '[[redirects]]\npath = "old.cgi"\nredirect = "/tools/say.cgi"\n')
    say(public / "tools/in", 'deny = ["127.0.0.1"]\n')
    server = start(serve, project)
    named = credentials("ann", PASSWORD)
    response = get(server, "/tools/say.cgi/x", fields=named)
    found = variables(response)

    assert (200, "ann", "Basic") == (response.status, found["REMOTE_USER"], found["AUTH_TYPE"])
    assert ["tools"] == response.values("X-Folder")
    assert "HTTP_AUTHORIZATION" not in found
    assert [401, 401] == [get(server, target).status for target in ("/tools/say.cgi", "/tools/say.cgi/x")]
    assert 403 == get(server, "/tools/in/say.cgi", fields=named).status
    assert 307 == get(server, "/tools/old.cgi", fields=named).status
    assert 200 == get(server, "/tools/say.cgi", fields=named, method="POST", body=b"x" * 100_000).status


def test_an_index_that_is_run(serve: Servers, project: Path, public: Path) -> None:
    """A file that answers for its folder, or for missing files, is run if its name says so."""
    program(public / "tools/app.cgi", SAY_ALL)
    say(public / "tools", "cgi = true\n")
    server = start(serve, project, more='static-fallback = "tools/app.cgi"\n')
    response = get(server, "/tools/nothing/here", fields=[("Accept", "text/html")])

    assert "/tools/app.cgi" == variables(response)["SCRIPT_NAME"]


@pytest.mark.parametrize(
    ("rule", "may", "mistake"),
    [
        ("cgi = true", '["headers"]', "cgi may not be set in a folder here"),
        ("scripts = true", MAY, "scripts may not be set in a folder here"),
        ("cgi = 3", MAY, "cgi = 3: write true, false, or programs for suffixes of names, as *.pl"),
        ('cgi = "cgi-bin"', MAY, "cgi = cgi-bin: write true, false, or programs"),
        ('cgi = { "*.sh" = "sh" }', MAY, "write the absolute path of a program"),
        (
            'cgi = { "*.py" = "/usr/bin/env" }',
            MAY,
            "cgi: *.py: the site would have to allow /usr/bin/env with cgi-interpreters",
        ),
        (
            'cgi = { "*.html" = "/bin/sh" }',
            MAY,
            "cgi: *.html: files with such names are sent; choose another end",
        ),
        ('cgi = [true, "*.sh=/bin/sh"]', MAY, "true and false stand alone"),
        ('error-pages = { 404 = "say.cgi" }', MAY, "error-pages: 404=say.cgi: no such file is sent where"),
        ("cgi = {}", MAY, "cgi = {}: an empty list says neither all nor none"),
    ],
)
def test_mistakes_close_a_folder(
    serve: Servers, project: Path, public: Path, rule: str, may: str, mistake: str
) -> None:
    """A folder that sets something without permission is closed, with a log line; others are served."""
    say(public / "tools", rule)
    server = start(serve, project, may)
    for target in ("/tools/say.cgi", "/tools/page.html", "/tools/in/say.cgi"):
        assert 500 == get(server, target).status, target

    assert 200 == get(server, "/plain/page.html").status
    assert mistake in server.wait_for_log("ADY225")
    assert "tools/.adyton.toml" in server.log()


def test_a_folder_that_begins_and_stops(serve: Servers, project: Path, public: Path) -> None:
    """A change counts within a second; a folder closed before it stops running files shows no source."""
    server = start(serve, project)
    folder = public / "plain"
    for _ in range(3):
        say(folder, "cgi = true\n")

        assert until(lambda: ran(server, "/plain/say.cgi") == "/plain/say.cgi|")

        say(folder, 'deny = ["all"]\n')
        assert until(lambda: shown(server, "/plain/say.cgi") == "403")
        say(folder, 'cgi = true\ndeny = ["all"]\n')
        assert until(lambda: shown(server, "/plain/say.cgi") == "403")


def test_a_program_that_comes_with_its_rule(serve: Servers, project: Path, public: Path) -> None:
    """A program that is added after its rule is never sent, even if its folder was checked just before."""
    server = start(serve, project)
    for number in range(30):
        folder = public / f"new{number % 3}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / "page.html").write_text("<p>", encoding="utf-8")

        assert 200 == get(server, f"/{folder.name}/page.html").status

        say(folder, "cgi = true\n")
        program(folder / f"say{number}.cgi", SAY_ALL)

        assert f"/{folder.name}/say{number}.cgi|" == shown(server, f"/{folder.name}/say{number}.cgi")


def test_a_body_in_chunks(serve: Servers, project: Path, public: Path) -> None:
    """A program gets the whole of a chunked body, with its length."""
    say(public / "tools", "cgi = true\n")
    server = start(serve, project)
    with server.connect() as connection:
        fields = [("Transfer-Encoding", "chunked")]
        connection.send(request("/tools/say.cgi", method="POST", fields=fields) + chunked(b"one", b"two"))
        response = connection.receive("POST")

    assert response.body.endswith(b"onetwo")
    assert "6" == variables(response)["CONTENT_LENGTH"]


def test_a_command_line(serve: Servers, project: Path, public: Path) -> None:
    """A folder on a command line can allow settings of its folders, too."""
    say(public / "tools", "cgi = true\n")
    server = serve(str(public), "--may-set", "cgi", cwd=project)

    assert "/tools/say.cgi|/x" == shown(server, "/tools/say.cgi/x")
    assert str(public) == variables(get(server, "/tools/say.cgi"))["DOCUMENT_ROOT"]


@pytest.mark.parametrize("flags", [(), ("--stream-body",)], ids=["", "stream"])
def test_bodies_for_programs_alone(
    serve: Servers, project: Path, public: Path, flags: tuple[str, ...]
) -> None:
    """A file that is no program is answered before its body has come; a program gets all of the body."""
    say(public / "tools", "cgi = true\n")
    server = serve(write(project, FILE.format(may=MAY, more="")).name, *flags, cwd=project)
    fields = [("Content-Length", "6")]
    for target in ("/tools/page.html", "/tools/page.html/x", "/plain/say.cgi", "/plain/", "/none"):
        with server.connect(lint_answers=False) as connection:
            connection.send(request(target, method="POST", fields=fields))

            assert 405 == connection.receive("POST").status, target
    for target in ("/tools/say.cgi", "/tools/in/deep/say.cgi/x"):
        with server.connect() as connection:
            connection.send(request(target, method="POST", fields=fields))
            # When the server has answered another client, it has read this head, too.
            assert 200 == get(server, "/plain/page.html").status
            connection.send(b"onetwo")

            assert connection.receive("POST").body.endswith(b"onetwo"), target


def test_a_rule_that_comes_with_a_body(serve: Servers, project: Path, pages: Path) -> None:
    """A file that becomes a program while a request for it is under way gets the request's body."""
    server = start(serve, project, PAGES)
    with server.connect() as connection:
        connection.send(request("/plain/say.cgi", method="POST", fields=[("Content-Length", "6")]))
        assert 200 == get(server, "/plain/page.html").status
        say(pages / "plain", "cgi = true\n")
        assert until(lambda: b"SCRIPT_NAME" in server.fetch("/plain/say.cgi").body)
        connection.send(b"onetwo")
        response = connection.receive("POST")

    assert response.body.endswith(b"onetwo")
    assert "6" == variables(response)["CONTENT_LENGTH"]


@pytest.mark.parametrize("flag", ["--may-set", "--htaccess"])
def test_a_command_line_without_pages(project: Path, public: Path, flag: str) -> None:
    """A folder on a command line cannot have Python pages; `check` and the start say why, with a remedy."""
    for command in ("check", "serve"):
        refused = run(command, str(public), flag, "scripts", cwd=project)

        assert 2 == refused.returncode, command
        assert "a command line has one at most; write a file of sites" in refused.stderr


def test_check(project: Path, public: Path) -> None:
    """`check` accepts the keys, and names keys without effect."""
    assert public.is_dir()
    file = write(project, FILE.format(may='["headers"]', more=""))
    found = run("check", file.name, cwd=project)

    assert "cgi-interpreters: it has no effect here" in found.stdout + found.stderr


PAGES = '["scripts", "cgi", "auth", "allow", "headers", "redirect"]'

HANDLER = """
# TOP SECRET
def handler(request):
    return "handler " + request.path
"""

WSGI = """
# TOP SECRET
def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    names = ("SCRIPT_NAME", "PATH_INFO", "SCRIPT_FILENAME")
    return ["|".join(environ.get(name, "") for name in names).encode()]
"""


def wrote(file: Path, text: str) -> None:
    """Write a page, all at once."""
    program(file, text, mode=0o644)


@pytest.fixture
def pages(public: Path) -> Path:
    """Return the folder of `public`, with Python files added."""
    for name in ("tools", "tools/in", "tools/in/deep", "plain"):
        wrote(public / name / "hello.py", HANDLER)
        wrote(public / name / "page.wsgi", WSGI)
    wrote(public / "tools/in/index.py", WSGI)
    wrote(public / "tools/_private.py", WSGI)
    wrote(public / "tools/broken.py", "# TOP SECRET\n1 / 0\n")
    return public


def text(server: Server, target: str) -> str:
    """Return the outcome of a request: the text of an answer, or else the status."""
    response = get(server, target)
    return response.body.decode() if response.status == 200 else str(response.status)


def test_pages(serve: Servers, project: Path, pages: Path) -> None:
    """Python files in the folder, and in folders inside it, are pages; an index answers for its folder."""
    say(pages / "tools", "scripts = true\n")
    say(pages / "tools/in/deep", "scripts = false\n")
    server = start(serve, project, PAGES)
    folder = f"{pages}/tools"
    for target, expected in [
        ("/tools/hello.py", "handler /tools/hello.py"),
        ("/tools/hello.py/x", "handler /tools/hello.py/x"),
        ("/tools/page.wsgi", f"/tools/page.wsgi||{folder}/page.wsgi"),
        ("/tools/page.wsgi/x/y", f"/tools/page.wsgi|/x/y|{folder}/page.wsgi"),
        ("/tools//p%61ge.wsgi/x", f"/tools/page.wsgi|/x|{folder}/page.wsgi"),
        ("/tools/in/page.wsgi", f"/tools/in/page.wsgi||{folder}/in/page.wsgi"),
        ("/tools/in/", f"/tools/in|/|{folder}/in/index.py"),
        ("/tools/in", "308"),
        ("/tools/page.html", "<p>tools"),
        ("/tools/_private.py", "404"),
        ("/tools/none.py", "404"),
        ("/tools/none.py/x", "404"),
        ("/tools/broken.py", "500"),
        ("/tools/PAGE.WSGI", "404"),
        ("/tools/page.wsgi.gz", "404"),
        ("/tools/", "404"),
        ("/tools/in/deep/page.wsgi", "404"),
        ("/tools/in/deep/page.html", "<p>tools/in/deep"),
        ("/plain/page.wsgi", "404"),
        ("/plain/hello.py", "404"),
    ]:
        assert expected == text(server, target), target


def test_pages_beside_programs(serve: Servers, project: Path, pages: Path) -> None:
    """A folder may have programs and pages: its Python files are pages then."""
    say(pages / "tools", "scripts = true\ncgi = true\n")
    server = start(serve, project, PAGES)

    assert "/tools/say.cgi|/x" == shown(server, "/tools/say.cgi/x")
    assert "handler /tools/hello.py" == text(server, "/tools/hello.py")
    assert "403" == text(server, "/tools/text.sh")


def test_a_page_changes(serve: Servers, project: Path, pages: Path) -> None:
    """A changed page answers with its new version, a broken page with its old one; a new file is a page."""
    say(pages / "tools", "scripts = true\n")
    server = start(serve, project, PAGES)
    for number in range(3):
        wrote(
            pages / "tools/hello.py", f'# TOP SECRET\ndef handler(request):\n    return "version {number}"\n'
        )

        assert f"version {number}" == text(server, "/tools/hello.py")

    wrote(pages / "tools/hello.py", "# TOP SECRET\n(\n")

    assert "version 2" == text(server, "/tools/hello.py")

    wrote(pages / "tools/new.py", HANDLER)

    assert "handler /tools/new.py" == text(server, "/tools/new.py")


def test_what_folders_say_counts_for_pages(serve: Servers, project: Path, pages: Path) -> None:
    """A folder's rules guard a page, and change fields of its answer; a large body arrives whole."""
    (pages / "tools/.htpasswd").write_text(f"ann:{BCRYPT}\n", encoding="utf-8")
    say(pages / "tools", 'scripts = true\nauth = "basic:.htpasswd"\nheaders = { X-Folder = "tools" }\n')
    wrote(
        pages / "tools/length.py", 'def handler(request):\n    return f"{request.user} {len(request.body)}"\n'
    )
    server = start(serve, project, PAGES)
    named = credentials("ann", PASSWORD)

    assert 401 == get(server, "/tools/length.py").status
    response = get(server, "/tools/length.py", fields=named, method="POST", body=b"x" * 300_000)
    assert (200, b"ann 300000") == (response.status, response.body)
    assert ["tools"] == response.values("X-Folder")


def test_pages_begin_and_stop(serve: Servers, project: Path, pages: Path) -> None:
    """A change of the rule counts within a second, and no source is sent in either state."""
    server = start(serve, project, PAGES)
    for rule, expected in [
        ("true", "handler /plain/hello.py"),
        ("false", "404"),
        ("true", "handler /plain/hello.py"),
    ]:
        say(pages / "plain", f"scripts = {rule}\n")

        assert until(lambda expected=expected: text(server, "/plain/hello.py") == expected)


def test_pages_and_groups(project: Path, public: Path) -> None:
    """Pages run where files are served; it is a mistake if the site's applications run in a group."""
    assert public.is_dir()
    group = '[groups.shop]\nprocesses = 1\n[[sites.routes]]\npath = "/app/"\napp = "shop:application"\n'
    text = FILE.format(may='["scripts"]', more="").replace("[[sites]]", '[[sites]]\ngroup = "shop"')
    file = write(project, text + group)
    found = run("check", file.name, cwd=project)

    assert found.returncode != 0
    assert "run in the group shop" in found.stdout + found.stderr


ADD = "Options +ExecCGI\nAddHandler cgi-script .cgi .pl\n"
"""Lines with which most `.htaccess` files have programs run."""

APACHE = [
    (ADD, "", "/tools/say.cgi", "/tools/say.cgi|"),
    (ADD, "", "/tools/say.cgi/x", "/tools/say.cgi|/x"),
    (ADD, "", "/tools/Upper.CGI", "/tools/Upper.CGI|"),
    (ADD, "", "/tools/in/deep/say.cgi", "/tools/in/deep/say.cgi|"),
    (ADD, "", "/tools/say.pl", "403"),
    (ADD, "", "/tools/say.cgi.txt", "403"),
    (ADD, "", "/tools/say.cgi.old/x", "403"),
    (ADD, "", "/tools/page.html", "sent"),
    (ADD, "", "/tools/text.sh", "source"),
    (ADD, "RemoveHandler .cgi", "/tools/say.cgi", "/tools/say.cgi|"),
    (ADD, "RemoveHandler .cgi", "/tools/in/say.cgi", "source"),
    (ADD, "Options -ExecCGI", "/tools/in/say.cgi", "403"),
    (ADD, "Options -ExecCGI", "/tools/in/page.html", "sent"),
    (ADD, "Options Indexes", "/tools/in/say.cgi", "403"),
    (ADD, "SetHandler default-handler", "/tools/in/say.cgi", "source"),
    (ADD, "SetHandler none", "/tools/in/say.cgi", "/tools/in/say.cgi|"),
    ("AddHandler cgi-script .cgi", "", "/tools/say.cgi", "403"),
    ("AddHandler cgi-script .cgi", "Options +ExecCGI", "/tools/in/say.cgi", "/tools/in/say.cgi|"),
    ("Options +ExecCGI", "AddHandler cgi-script cgi", "/tools/in/say.cgi", "/tools/in/say.cgi|"),
    ("Options +ExecCGI", "AddHandler cgi-script cgi", "/tools/say.cgi", "source"),
    ("options +execcgi\naddhandler CGI-Script .CGI", "", "/tools/say.cgi", "/tools/say.cgi|"),
    (
        "<IfModule mod_mime.c>\nOptions +ExecCGI\nAddHandler cgi-script .cgi\n</IfModule>",
        "",
        "/tools/say.cgi",
        "/tools/say.cgi|",
    ),
    ("Options +ExecCGI\nSetHandler cgi-script", "", "/tools/say.cgi", "/tools/say.cgi|"),
    ("Options +ExecCGI\nSetHandler cgi-script", "", "/tools/page.html", "403"),
    ("Options +ExecCGI\nSetHandler cgi-script", "", "/tools/text.sh", "403"),
    (
        "Options +ExecCGI\nSetHandler cgi-script",
        "RemoveHandler .cgi",
        "/tools/in/say.cgi",
        "/tools/in/say.cgi|",
    ),
    ("Options +ExecCGI\nSetHandler cgi-script", "SetHandler none", "/tools/in/page.html", "sent"),
    ("SetHandler cgi-script", "", "/tools/say.cgi", "403"),
    ("Options +ExecCGI\nAddHandler wsgi-script .wsgi", "", "/tools/page.wsgi/x", "page /tools/page.wsgi|/x"),
    ("Options +ExecCGI\nAddHandler wsgi-script .wsgi", "", "/tools/hello.py", "404"),
    ("Options +ExecCGI\nAddHandler wsgi-script .wsgi .py", "", "/tools/hello.py", "handler /tools/hello.py"),
    ("AddHandler wsgi-script .wsgi", "", "/tools/page.wsgi", "403"),
    ("Options +ExecCGI\nSetHandler wsgi-script", "", "/tools/page.wsgi", "page /tools/page.wsgi|"),
    ("Options +ExecCGI\nSetHandler wsgi-script", "", "/tools/page.html", "403"),
    ("Options +ExecCGI\nSetHandler wsgi-script", "SetHandler none", "/tools/in/page.wsgi", "404"),
    ("Options +ExecCGI\nAddHandler wsgi-script .app", "", "/tools/page.html", "500"),
    ("AddHandler mod_python .py\nPythonHandler x", "", "/tools/page.html", "500"),
    ("AddHandler application/x-httpd-php .php", "", "/tools/page.html", "500"),
    ("SetHandler server-parsed", "", "/tools/page.html", "500"),
    ("Options +ExecCGI\nAddHandler cgi-script .html", "", "/tools/page.html", "500"),
    ('<Files "say.cgi">\nSetHandler cgi-script\n</Files>', "", "/tools/say.cgi", "closed"),
    ('<FilesMatch "\\.cgi$">\nSetHandler cgi-script\n</FilesMatch>', "", "/tools/say.cgi", "closed"),
    ('<If "true">\nSetHandler cgi-script\n</If>', "", "/tools/say.cgi", "closed"),
    ("AddType application/x-httpd-cgi .cgi", "", "/tools/say.cgi", "closed"),
]


def of_apache(server: Server, target: str, expected: str) -> bool:
    """Tell whether a request was answered as expected."""
    response = server.fetch(target, lint_answers=False)
    if expected == "closed":
        return response.status in {403, 500}
    if expected == "source":
        return SOURCE in response.body
    if expected.startswith("page "):
        return response.body.decode().startswith(expected.removeprefix("page "))
    if expected.startswith("handler "):
        return response.body.decode() == expected
    return SOURCE not in response.body and shown(server, target) == expected


@pytest.fixture
def apache(pages: Path) -> Path:
    """Return the folder of `pages`, with copies of programs."""
    program(pages / "tools/Upper.CGI", SAY_ALL)
    for name in ("say.cgi.txt", "say.cgi.old"):
        program(pages / "tools" / name, SAY_ALL)
    return pages


def test_files_of_apache(serve: Servers, project: Path, apache: Path) -> None:
    """Handlers in an `.htaccess` count as in Apache, and never send more."""
    more = 'htaccess = ["cgi", "scripts"]\n'
    server = start(serve, project, more=more)
    for outer, inner in dict.fromkeys((outer, inner) for outer, inner, *_ in APACHE):
        say(apache / "tools", f"{outer}\n", ".htaccess")
        say(apache / "tools/in", f"{inner}\n", ".htaccess")
        for target, expected in [(row[2], row[3]) for row in APACHE if row[:2] == (outer, inner)]:
            assert until(lambda target=target, expected=expected: of_apache(server, target, expected)), (
                outer,
                inner,
                target,
                expected,
                server.fetch(target, lint_answers=False),
            )


@pytest.mark.parametrize(
    ("words", "text", "target"),
    [
        ('["headers"]', ADD, "/tools/say.cgi"),
        ('["scripts"]', ADD, "/tools/say.cgi"),
        ('["cgi"]', "Options +ExecCGI\nAddHandler wsgi-script .wsgi\n", "/tools/page.wsgi"),
    ],
)
def test_files_of_apache_that_may_not(
    serve: Servers, project: Path, apache: Path, words: str, text: str, target: str
) -> None:
    """If the site does not allow it, a folder that has its files run is closed."""
    say(apache / "tools", text, ".htaccess")
    server = start(serve, project, more=f"htaccess = {words}\n")

    assert [500, 500] == [get(server, path).status for path in (target, "/tools/page.html")]
    assert "tools/.htaccess" in server.wait_for_log("ADY225")


def test_route_tells_the_files_of_folders(project: Path, public: Path) -> None:
    """`adyton route` names the files of settings on the way, and says that files are run."""
    say(public, 'headers = { X-All = "1" }\n')
    say(public / "tools", 'scripts = true\ncgi = { "*.pl" = "/usr/bin/perl" }\n')
    say(public / "tools", "AddHandler cgi-script .cgi\n", ".htaccess")
    say(public / "tools/in", "cgi = 7\n")
    file = write(project, FILE.format(may=PAGES, more='htaccess = ["cgi"]\n'))
    for target, lines in [
        ("/plain/page.html", ["as public/.adyton.toml says"]),
        (
            "/tools/say.pl/x",
            [
                "as public/.adyton.toml says",
                "as public/tools/.adyton.toml says: *.pl is run by /usr/bin/perl, Python files are pages",
                "as public/tools/.htaccess says",
            ],
        ),
        (
            "/tools/in/say.cgi",
            ["as public/tools/in/.adyton.toml says, which is wrong, so it is answered 500"],
        ),
    ]:
        told = run("route", file.name, "GET", target, cwd=project)
        found = [line.strip() for line in told.stdout.splitlines() if " says" in line]

        assert lines == found[-len(lines) :], told.stdout


def test_check_takes_the_words(project: Path, public: Path) -> None:
    """A file of sites that allows `cgi` and `scripts` is valid, whichever Python files are in the folder."""
    wrote(public / "plain/broken.py", "(\n")
    file = write(project, FILE.format(may=PAGES, more='htaccess = ["cgi", "scripts"]\n'))
    checked = run("check", file.name, cwd=project)

    assert 0 == checked.returncode, checked.stdout + checked.stderr


def test_a_rule_that_is_written_in_its_place(serve: Servers, project: Path, public: Path) -> None:
    """If an editor empties a file of settings before it writes it again, no program is sent in between."""
    rule = public / "tools" / OWN
    rule.write_text("cgi = true\n", encoding="utf-8")
    server = start(serve, project)
    is_over = threading.Event()

    def rewrite() -> None:
        while not is_over.is_set():
            rule.write_text("cgi = true\n", encoding="utf-8")

    writer = threading.Thread(target=rewrite)
    writer.start()
    try:
        statuses = {get(server, "/tools/text.sh").status for _ in range(300)}
    finally:
        is_over.set()
        writer.join()

    assert statuses <= {403, 500}
    assert until(lambda: shown(server, "/tools/text.sh") == "403")


BOUND = """
[groups.shop]
processes = 1
env = {{ MARK = "of the group" }}

[[sites]]
hosts = ["door.example"]
[[sites.routes]]
respond = 404

[[sites]]
hosts = ["shop.example"]
bind = ["127.0.0.1:0"]
root = "public"
cgi-environment = ["MARK"]

[[sites.routes]]
files = "."
may-set = {may}

[[sites.routes]]
path = "/app/"
app = "shop:application"
group = "shop"
"""


def test_a_group_with_an_address(serve: Servers, project: Path, pages: Path) -> None:
    """If a group answers a whole site, programs and pages of the site's folders run in the group."""
    say(pages / "tools", "scripts = true\ncgi = true\n")
    wrote(pages / "tools/mark.py", 'import os\ndef handler(request):\n    return os.environ["MARK"]\n')
    file = write(project, BOUND.format(may=PAGES))
    server = serve(file.name, "--processes=1", cwd=project, listeners=2)
    shop = server.addresses[1]
    page, program = (fetch(shop, f"/tools/{name}", lint_answers=False) for name in ("mark.py", "say.cgi"))

    assert (200, b"of the group") == (page.status, page.body)
    assert "of the group" == variables(program)["MARK"]
    assert run("check", "--processes=1", file.name, cwd=project).returncode == 0
