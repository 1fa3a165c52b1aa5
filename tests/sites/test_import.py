"""Imported configurations: the result serves, and lets in no client that the original server refuses."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.server import run

if TYPE_CHECKING:
    from support.server import Server, Servers

NGINX = """
server {{
    listen 127.0.0.1:0;
    server_name shop.example;
    root {project}/public;
    location / {{ return 200 "shop\\n"; }}
    location /static/ {{ add_header X-Kept yes; expires 1h; }}
    location ^~ /static/secret/ {{ deny 127.0.0.0/8; }}
    location /old/ {{ rewrite ^/old/(.*)$ /new/$1 permanent; }}
    include more/*.conf;
}}
"""

UNIT = """
{{
    "listeners": {{"127.0.0.1:0": {{"pass": "routes"}}}},
    "routes": [
        {{"match": {{"uri": "/static/secret/*", "source": "!192.0.2.0/24"}}, "action": {{"return": 403}}}},
        {{"match": {{"uri": "/old/*"}}, "action": {{"return": 301, "location": "/new$request_uri"}}}},
        {{"action": {{"share": "{project}/public$uri", "fallback": {{"pass": "applications/shop"}}}}}}
    ],
    "applications": {{"shop": {{"type": "python 3", "path": "{project}", "module": "shop", "threads": 2}}}}
}}
"""

UWSGI = """
[uwsgi]
project = shop
chdir = {project}
module = %(project):application
http-socket = 127.0.0.1:0
static-map = /static=public/static
threads = 2
harakiri = 20
die-on-term = true
"""

GUNICORN = """
import os

wsgi_app = "shop:application"
bind = ["127.0.0.1:0"]
threads = 2
timeout = 20


def on_starting(server):
    raise SystemExit("this file must not be run")
"""

APACHE = """
Listen 127.0.0.1:0
<Directory />
    Require all denied
</Directory>
<VirtualHost *>
    ServerName shop.example
    Alias /static {project}/public/static
    WSGIScriptAlias / {project}/shop.py
    Redirect permanent /old /new
    <Directory {project}>
        Require all granted
    </Directory>
    <Directory {project}/public/static/secret>
        Require ip 192.0.2.0/24
    </Directory>
    <Location /static>
        Header set X-Kept yes
    </Location>
</VirtualHost>
"""

CASES = [
    (
        "nginx.conf",
        NGINX,
        [
            ("/", 200, "shop"),
            ("/static/site.css", 200, "p {}"),
            ("/static/secret/key.txt", 403, ""),
            ("/old/a?b", 301, "/new/a?b"),
            ("/more", 202, ""),
        ],
    ),
    (
        "unit.json",
        UNIT,
        [
            ("/a", 200, "shop 1"),
            ("/static/site.css", 200, "p {}"),
            ("/static/secret/key.txt", 403, ""),
            ("/old/a", 301, "/new/old/a"),
        ],
    ),
    ("uwsgi.ini", UWSGI, [("/a", 200, "shop 1"), ("/static/site.css", 200, "p {}")]),
    ("gunicorn.conf.py", GUNICORN, [("/a", 200, "shop 1")]),
    (
        "httpd.conf",
        APACHE,
        [
            ("/a", 200, "1"),
            ("/static/site.css", 200, "p {}"),
            ("/static/secret/key.txt", 403, ""),
            ("/old/a?b", 301, "/new/a?b"),
        ],
    ),
]


def write(project: Path, name: str, text: str) -> None:
    """Write a configuration, outside of the folder that has the file of sites."""
    (project / "etc/more").mkdir(parents=True, exist_ok=True)
    (project / "etc/more/a.conf").write_text("location = /more { return 202; }\n", encoding="utf-8")
    (project / "etc" / name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize(("name", "text", "answers"), CASES, ids=[case[0] for case in CASES])
def test_served(
    serve: Servers, project: Path, name: str, text: str, answers: list[tuple[str, int, str]]
) -> None:
    """An imported file has no mistakes, and answers as the other server would."""
    write(project, name, text.format(project=project))
    made = run("import", f"etc/{name}", "--output", "site.toml", cwd=project)
    assert (0, "") == (made.returncode, made.stdout), made.stderr

    checked = run("check", "site.toml", cwd=project)
    assert 0 == checked.returncode, checked.stderr
    server: Server = serve("site.toml", cwd=project)
    for target, status, words in answers:
        response = server.fetch(target, fields=[("Host", "shop.example")], lint_answers=False)
        told = f"{target}: {response}"

        assert status == response.status, told
        assert words in (response["Location"] if status == 301 else response.body.decode()), told


PROGRAM = """
Listen 127.0.0.1:0
DocumentRoot {project}/public
ScriptAlias /code/ "{project}/programs/code.cgi/"
RedirectMatch ^/code$ /code/
Alias /code-css "{project}/public/static/"
ScriptAlias /report {project}/programs/report.pl
RedirectMatch permanent ^/report$ /code/reports
<Directory "{project}/programs/">
   AllowOverride None
   Options ExecCGI FollowSymlinks
   Require all granted
</Directory>
"""
"""A program as Debian configures it for cgit."""


def test_programs(serve: Servers, project: Path) -> None:
    """A program answers all paths beneath its own, and the path itself is redirected."""
    write(project, "httpd.conf", PROGRAM.format(project=project))
    for name in ("code.cgi", "report.pl"):
        file = project / "programs" / name
        file.parent.mkdir(exist_ok=True)
        says = f'echo "Content-Type: text/plain"; echo; echo "{name} $PATH_INFO"'
        file.write_text(f"#!/bin/sh\n{says}\n", encoding="utf-8")
        file.chmod(0o755)
    made = run("import", "etc/httpd.conf", "-o", "site.toml", cwd=project)
    assert (0, "") == (made.returncode, made.stdout), made.stderr
    server = serve("site.toml", cwd=project)
    for target, status, words in [
        ("/code", 302, "/code/"),
        ("/code?a", 302, "/code/?a"),
        ("/code/", 200, "code.cgi /"),
        ("/code/a/b.css", 200, "code.cgi /a/b.css"),
        ("/code/code.cgi", 200, "code.cgi "),
        ("/code/code.cgi/x", 200, "code.cgi /x"),
        ("/code/code.cgix", 200, "code.cgi /code.cgix"),
        ("/code-css/site.css", 200, "p {}"),
        ("/report", 301, "/code/reports"),
        ("/report/x", 200, "report.pl /x"),
        ("/codes", 404, ""),
    ]:
        answer = server.fetch(target, lint_answers=False)
        said = answer["Location"] if status in {301, 302} else answer.body.decode().removesuffix("\n")

        assert status == answer.status, target
        assert said == words or status == 404, target


def test_fields(serve: Servers, project: Path) -> None:
    """Fields of answers are carried over."""
    write(project, "nginx.conf", NGINX.format(project=project))
    run("import", "etc/nginx.conf", "-o", "site.toml", cwd=project)
    response = serve("site.toml", cwd=project).fetch("/static/site.css")

    assert ["yes", "max-age=3600"] == [response["X-Kept"], response["Cache-Control"]]


def test_lost_restrictions(serve: Servers, project: Path) -> None:
    """A lost restriction is an error; if the user accepts the loss, its route refuses all requests."""
    text = f"""
server {{
    location / {{ return 200 "open"; }}
    location /static/ {{
        root {project}/public;
        auth_request /who;
    }}
}}
"""
    write(project, "nginx.conf", text)
    made = run("import", "etc/nginx.conf", "--output", "site.toml", cwd=project)
    lost = (
        "restriction lost: etc/nginx.conf:6: auth_request /who: "
        'here users come only from files of htpasswd; write auth = "basic:FILE" in the route'
    )
    assert (1, "") == (made.returncode, made.stdout)
    assert lost in made.stderr
    assert "--accept-losses" in made.stderr
    assert not (project / "site.toml").exists()

    made = run("import", "etc/nginx.conf", "--output", "site.toml", "--accept-losses", cwd=project)
    server = serve("site.toml", cwd=project)
    assert 0 == made.returncode
    assert lost in made.stderr
    assert "# - etc/nginx.conf:6: auth_request /who" in (project / "site.toml").read_text(encoding="utf-8")
    assert [200, 503] == [
        server.fetch(target, lint_answers=False).status for target in ("/", "/static/site.css")
    ]


def test_folders(serve: Servers, project: Path) -> None:
    """Rules of folders count at any depth, under the configured names, and only where they are allowed."""
    text = """
Listen 127.0.0.1:0
AccessFileName .rules .htaccess
DocumentRoot {project}/public
<Directory {project}/public>
    AllowOverride AuthConfig
</Directory>
<Directory {project}/public/quiet>
    AllowOverride None
</Directory>
"""
    write(project, "httpd.conf", text.format(project=project))
    for folder, name, rules in [
        ("a/b/c/d/e/f", ".htaccess", "Require all denied\n"),
        ("named", ".rules", "Require ip 192.0.2.1\n"),
        ("named", ".htaccess", "Require all granted\n"),
        ("quiet", ".htaccess", "Require all denied\n"),
    ]:
        (project / "public" / folder).mkdir(parents=True, exist_ok=True)
        (project / "public" / folder / name).write_text(rules, encoding="utf-8")
        (project / "public" / folder / "page.txt").write_text("page\n", encoding="utf-8")
    made = run("import", "etc/httpd.conf", "-o", "site.toml", cwd=project)
    assert 0 == made.returncode, made.stderr

    server = serve("site.toml", cwd=project)
    statuses = {
        folder: server.fetch(f"/{folder}/page.txt", lint_answers=False).status
        for folder in ("a/b/c/d/e/f", "named", "quiet")
    }
    assert {"a/b/c/d/e/f": 403, "named": 403, "quiet": 200} == statuses


def test_folders_without_end(project: Path) -> None:
    """If a link makes the folders a loop, their own settings cannot be found, which is a lost restriction."""
    text = "DocumentRoot {project}/public\n<Directory {project}>\nAllowOverride All\n</Directory>\n"
    write(project, "httpd.conf", text.format(project=project))
    (project / "public/back").symlink_to(project)
    made = run("import", "etc/httpd.conf", "-o", "site.toml", cwd=project)

    assert 1 == made.returncode
    assert "restriction lost: etc/httpd.conf:1: AllowOverride for /" in made.stderr
    assert ": the folders' own files, such as .htaccess, cannot be searched for\n" in made.stderr


PAGES = [
    (
        "httpd.conf",
        """
Listen 127.0.0.1:0
DocumentRoot {project}/public
ErrorDocument 403 /errors/no.html
ErrorDocument 404 /errors/no.html
ErrorDocument 500 /errors/absent.html
WSGIErrorOverride On
WSGIScriptAlias /app {project}/failing.py
<Location /static>
    Require ip 192.0.2.0/24
</Location>
""",
        [
            ("/none", 404, True),
            ("/static/site.css", 403, True),
            ("/app/404", 404, True),
            ("/app/410", 410, False),
        ],
    ),
    (
        "nginx.conf",
        """
server {{
    listen 127.0.0.1:0;
    root {project}/public;
    error_page 403 404 /errors/no.html;
    error_page 500 502 /absent.html;
    location /static/ {{ allow 192.0.2.0/24; deny all; }}
}}
""",
        [("/none", 404, True), ("/static/site.css", 403, True), ("/static/none", 403, True)],
    ),
]
FAILING = """
def application(environ, start_response):
    start_response(environ["PATH_INFO"][1:] + " So", [("Content-Type", "text/plain")])
    return [b"from the application"]
"""


@pytest.mark.parametrize(("name", "text", "answers"), PAGES, ids=[case[0] for case in PAGES])
def test_pages(
    serve: Servers, project: Path, name: str, text: str, answers: list[tuple[str, int, bool]]
) -> None:
    """Pages for errors are sent; a missing page is reported and left out."""
    write(project, name, text.format(project=project))
    (project / "failing.py").write_text(FAILING, encoding="utf-8")
    (project / "public/errors").mkdir()
    (project / "public/errors/no.html").write_text("<p>No such luck", encoding="utf-8")
    made = run("import", f"etc/{name}", "-o", "site.toml", cwd=project)
    assert 0 == made.returncode, made.stderr
    assert "absent.html, or it cannot be read" in made.stderr

    server = serve("site.toml", cwd=project)
    for target, status, has_page in answers:
        answer = server.fetch(target, lint_answers=False)

        assert (status, has_page) == (answer.status, b"No such luck" in answer.body), target


NGINX_USERS = """
server {{
    listen 127.0.0.1:0;
    auth_basic "Staff";
    auth_basic_user_file {project}/staff.htpasswd;
    root {project}/public;
    location / {{ }}
    location /open/ {{ auth_basic off; alias {project}/public/static/; }}
    location /static/secret/ {{ deny all; }}
    location /near/ {{ satisfy any; allow 127.0.0.1; deny all; alias {project}/public/static/; }}
    location /far/ {{ satisfy any; allow 192.0.2.1; deny all; alias {project}/public/static/; }}
    location /both/ {{ allow 192.0.2.1; deny all; alias {project}/public/static/; }}
}}
"""

APACHE_USERS = """
Listen 127.0.0.1:0
DocumentRoot {project}/public
Alias /open {project}/public/static
Alias /near {project}/public/static
Alias /far {project}/public/static
Alias /both {project}/public/static
WSGIScriptAlias /app {project}/shop.py
WSGICallableObject mounted
<Directory {project}>
    AuthType Basic
    AuthName Staff
    AuthUserFile {project}/staff.htpasswd
    AuthGroupFile {project}/groups
    Require valid-user
</Directory>
<Location /open>
    Require all granted
</Location>
<Location /static/secret>
    Require all denied
</Location>
<Location /near>
    Require ip 127.0.0.1
    Require user ann
</Location>
<Location /far>
    Require ip 192.0.2.1
    Require group staff
</Location>
<Location /both>
    <RequireAll>
        Require valid-user
        Require ip 192.0.2.1
    </RequireAll>
</Location>
<Location /app>
    Require all granted
</Location>
<Location /app/admin>
    Require group others
</Location>
"""

ASKED = [
    ("/static/site.css", [401, 200, 401]),
    ("/open/site.css", [200, 200, 200]),
    ("/static/secret/key.txt", [403, 403, 403]),
    ("/near/site.css", [200, 200, 200]),
    ("/far/site.css", [401, 200, 401]),
    ("/both/site.css", [403, 403, 403]),
]
"""Paths, with the statuses without a user, for the user, and for a wrong password."""


@pytest.mark.parametrize(
    ("name", "text", "more"),
    [
        ("nginx.conf", NGINX_USERS, []),
        ("httpd.conf", APACHE_USERS, [("/app/x", [200, 200, 200]), ("/app/admin/x", [401, 401, 401])]),
    ],
)
def test_users(
    serve: Servers, project: Path, name: str, text: str, more: list[tuple[str, list[int]]]
) -> None:
    """The imported file asks for passwords on the same paths, and lets in the same users."""
    write(project, name, text.format(project=project))
    (project / "groups").write_text("staff: ann bob\nothers: bob\n", encoding="utf-8")
    made = run("import", f"etc/{name}", "--output", "site.toml", cwd=project)
    assert (0, "") == (made.returncode, made.stdout), made.stderr

    server = serve("site.toml", cwd=project)
    users = [[], [("Authorization", basic("ann:correct horse"))], [("Authorization", basic("ann:wrong"))]]
    for target, statuses in [*ASKED, *more]:
        answers = [server.fetch(target, fields=fields, lint_answers=False) for fields in users]

        assert statuses == [answer.status for answer in answers], target
        if statuses[0] == 401:
            assert answers[0]["WWW-Authenticate"].startswith('Basic realm="Staff"')
    if more:
        assert b"/app|/x|/app/x" == server.fetch("/app/x", lint_answers=False).body


def basic(credentials: str) -> str:
    """Return the field `Authorization` for a name and a password."""
    return "Basic " + base64.b64encode(credentials.encode()).decode()


def test_output(project: Path) -> None:
    """An existing file is not replaced unless asked; without a file name the output is standard output."""
    write(project, "uwsgi.ini", UWSGI.format(project=project))
    (project / "site.toml").write_text("# mine\n", encoding="utf-8")
    kept = run("import", "etc/uwsgi.ini", "--output", "site.toml", cwd=project)
    assert 1 == kept.returncode
    assert "site.toml is there already; --replace writes over it" in kept.stderr
    assert "# mine\n" == (project / "site.toml").read_text(encoding="utf-8")

    made = run("import", "etc/uwsgi.ini", cwd=project)
    replaced = run("import", "etc/uwsgi.ini", "--output", "site.toml", "--replace", cwd=project)
    assert [0, 0] == [made.returncode, replaced.returncode]
    assert made.stdout == (project / "site.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("none.conf",), 2, "none.conf: No such file or directory"),
        (("wrong.conf",), 2, "wrong.conf: it cannot be told which server this configuration is for; say"),
        (("wrong.conf", "--from", "nginx"), 2, "wrong.conf:2: a ; is missing in front of this"),
        (("wrong.conf", "--from", "lighttpd"), 2, "choose nginx, unit, uwsgi, gunicorn or apache"),
        (("circle.conf", "--from", "nginx"), 2, "includes itself"),
        (("absent.conf", "--from", "nginx"), 2, "absent.conf:1: none.conf: there is no such file"),
        ((), 2, "the file is missing; the command is: adyton import FILE"),
        (("a", "b"), 2, "b is one argument too many"),
        (("a", "--all"), 2, "--all is not understood"),
    ],
)
def test_mistakes(project: Path, words: tuple[str, ...], status: int, said: str) -> None:
    """A file that cannot be imported is reported, with the place of the mistake."""
    for name, text in [
        ("wrong.conf", "what is this\n"),
        ("circle.conf", "include circle.conf;"),
        ("absent.conf", "include none.conf;"),
    ]:
        (project / name).write_text(text, encoding="utf-8")
    made = run("import", *words, cwd=project)

    assert (status, "") == (made.returncode, made.stdout)
    assert said in made.stderr


DOCS = Path(__file__).parents[2] / "docs"
EXAMPLE = re.compile(r"^```(\w+) (\S+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXAMPLES = [
    (name, text)
    for page in ("importing", "coming-from-nginx", "coming-from-apache", "coming-from-unit")
    for _, name, text in EXAMPLE.findall((DOCS / f"{page}.md").read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("name", "text"), EXAMPLES, ids=[name for name, _ in EXAMPLES])
def test_guide(project: Path, name: str, text: str) -> None:
    """Each configuration in the guide is imported without a lost restriction; the result has no mistakes."""
    (project / name).write_text(text.replace("/srv/shop", str(project)), encoding="utf-8")
    made = run("import", name, "--output", "site.toml", cwd=project)
    checked = run("check", "site.toml", cwd=project)

    assert 0 == made.returncode, made.stderr
    assert 0 == checked.returncode, checked.stderr
    assert 5 == len(EXAMPLES)


@pytest.mark.parametrize(
    ("server", "answers"),
    [
        ("nginx", {"/a": 200, "/static/site.css": 200, "/internal/": 403, "/staff/": 401, "/old/a": 301}),
        ("apache", {"/app/a": 200, "/static/site.css": 200, "/app/internal/": 403, "/app/staff/": 401}),
        ("unit", {"/a": 200, "/blog/a": 200, "/static/site.css": 200, "/admin/": 403}),
    ],
)
def test_coming_from(serve: Servers, project: Path, server: str, answers: dict[str, int]) -> None:
    """The file of sites on a page is the import of the page's configuration, and it serves unchanged."""
    page = (DOCS / f"coming-from-{server}.md").read_text(encoding="utf-8")
    _, name, text = EXAMPLE.findall(page)[0]
    shown = re.findall(r"^```toml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[0]
    (project / name).write_text(text, encoding="utf-8")
    made = run("import", name, cwd=project).stdout
    # The reader has to fill in the application behind a gateway.
    made = re.sub(r"respond = 503  # .*", 'app = "shop:application"', made)
    assert shown == made

    for folder in ("internal", "staff"):
        (project / "public" / folder).mkdir()
    (project / "site.toml").write_text(shown.replace("/srv/shop", str(project)), encoding="utf-8")
    served = serve("site.toml", cwd=project)
    assert answers == {target: served.fetch(target, lint_answers=False).status for target in answers}
