"""Configurations of other servers: what is made of them serves, and is never more open than they are."""

from __future__ import annotations

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
    """Write a configuration, in a folder that is not that of the file of sites."""
    (project / "etc/more").mkdir(parents=True, exist_ok=True)
    (project / "etc/more/a.conf").write_text("location = /more { return 202; }\n", encoding="utf-8")
    (project / "etc" / name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize(("name", "text", "answers"), CASES, ids=[case[0] for case in CASES])
def test_served(
    serve: Servers, project: Path, name: str, text: str, answers: list[tuple[str, int, str]]
) -> None:
    """What is imported is checked without a mistake, and answers as the other server would."""
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


def test_fields(serve: Servers, project: Path) -> None:
    """Fields are carried over."""
    write(project, "nginx.conf", NGINX.format(project=project))
    run("import", "etc/nginx.conf", "-o", "site.toml", cwd=project)
    response = serve("site.toml", cwd=project).fetch("/static/site.css")

    assert ["yes", "max-age=3600"] == [response["X-Kept"], response["Cache-Control"]]


def test_lost_restrictions(serve: Servers, project: Path) -> None:
    """A restriction that is lost is an error; if it is accepted, its route refuses."""
    text = f"""
server {{
    location / {{ return 200 "open"; }}
    location /static/ {{
        root {project}/public;
        auth_basic "Staff";
    }}
}}
"""
    write(project, "nginx.conf", text)
    made = run("import", "etc/nginx.conf", "--output", "site.toml", cwd=project)
    lost = (
        "restriction lost: etc/nginx.conf:6: auth_basic Staff: "
        'passwords are not carried over yet; write auth = "basic:FILE" there'
    )
    assert (1, "") == (made.returncode, made.stdout)
    assert lost in made.stderr
    assert "--accept-losses" in made.stderr
    assert not (project / "site.toml").exists()

    made = run("import", "etc/nginx.conf", "--output", "site.toml", "--accept-losses", cwd=project)
    server = serve("site.toml", cwd=project)
    assert 0 == made.returncode
    assert lost in made.stderr
    assert "# - etc/nginx.conf:6: auth_basic Staff" in (project / "site.toml").read_text(encoding="utf-8")
    assert [200, 403] == [
        server.fetch(target, lint_answers=False).status for target in ("/", "/static/site.css")
    ]


def test_output(project: Path) -> None:
    """A file that is there is kept, unless it may be replaced; without a name it goes to standard output."""
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
        (("wrong.conf",), 2, "wrong.conf: whose configuration this is cannot be seen; say --from"),
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
    """What cannot be imported is told, with its place."""
    for name, text in [
        ("wrong.conf", "what is this\n"),
        ("circle.conf", "include circle.conf;"),
        ("absent.conf", "include none.conf;"),
    ]:
        (project / name).write_text(text, encoding="utf-8")
    made = run("import", *words, cwd=project)

    assert (status, "") == (made.returncode, made.stdout)
    assert said in made.stderr


GUIDE = (Path(__file__).parents[2] / "docs/importing.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```(\w+) (\S+)\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("name", "text"), [example[1:] for example in EXAMPLES])
def test_guide(project: Path, name: str, text: str) -> None:
    """Each configuration of the guide is imported, losing no restriction, and what it becomes is right."""
    (project / name).write_text(text.replace("/srv/shop", str(project)), encoding="utf-8")
    made = run("import", name, "--output", "site.toml", cwd=project)
    checked = run("check", "site.toml", cwd=project)

    assert 0 == made.returncode, made.stderr
    assert 0 == checked.returncode, checked.stderr
    assert 5 == len(EXAMPLES)
