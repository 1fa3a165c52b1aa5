"""Our server answers with an imported file like the file's own server, which runs beside ours."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from originals.conftest import PASSWORD, USER, Ask, apache, express, imported, nginx, uwsgi

if TYPE_CHECKING:
    from collections.abc import Callable

    from originals.conftest import Original
    from support.server import Servers

ANN, BOB, WRONG = f"ann:{PASSWORD}", f"bob:{PASSWORD}", "ann:wrong"

NGINX = """
{user}
pid {folder}/logs/pid;
events {{ }}
http {{
    include /etc/nginx/mime.types;
    access_log off;
    server {{
        listen 127.0.0.1:{port};
        server_name shop.example;
        root {folder}/public;
        location / {{ try_files $uri $uri/ =404; }}
        location /static/ {{ alias {folder}/static/; expires 1h; }}
        location /list/ {{ autoindex on; }}
        location /staff/ {{ auth_basic "Staff"; auth_basic_user_file {folder}/users; }}
        location /near/ {{
            satisfy any; allow 127.0.0.1; deny all;
            auth_basic "Staff"; auth_basic_user_file {folder}/users;
            alias {folder}/static/;
        }}
        location /far/ {{
            satisfy any; allow 192.0.2.1; deny all;
            auth_basic "Far"; auth_basic_user_file {folder}/users;
            alias {folder}/static/;
        }}
        location /closed/ {{ deny all; alias {folder}/static/; }}
        location /read/ {{ limit_except GET {{ deny all; }} alias {folder}/static/; }}
        location /old/ {{ return 301 http://new.example$request_uri; }}
        location /older/ {{ rewrite ^/older/(.*)$ /page.html permanent; }}
        location = /health {{ return 200 "fine"; default_type text/plain; }}
        location ~ /\\.ht {{ deny all; }}
    }}
    server {{
        listen 127.0.0.1:{port};
        server_name other.example *.other.example;
        location / {{ return 204; }}
    }}
}}
"""

FILES = [
    Ask("/"),
    Ask("/index.html"),
    Ask("/page.html"),
    Ask("/app.js"),
    Ask("/none.html"),
    Ask("/sub"),
    Ask("/sub/"),
    Ask("/sub/none"),
    Ask("/.htpasswd", differ=(403, 404)),
    Ask("/page.html", "HEAD"),
    Ask("/%70age.html"),
    Ask("//page.html"),
]


def of_users(path: str, file: str) -> list[Ask]:
    """Return requests for a protected folder: without a user, of two users, and with a wrong password."""
    return [Ask(f"{path}{file}", user=user) for user in ("", ANN, BOB, WRONG)]


ON_NGINX = [
    *FILES,
    Ask("/static/site.css"),
    Ask("/static/none"),
    Ask("/list/", is_list=True),
    *of_users("/staff/", "plan.txt"),
    *of_users("/near/", "site.css"),
    *of_users("/far/", "site.css"),
    Ask("/closed/site.css"),
    Ask("/read/site.css"),
    Ask("/read/site.css", "DELETE"),
    Ask("/old/a?b=c"),
    Ask("/older/x"),
    Ask("/health"),
    Ask("/", host="other.example"),
    Ask("/", host="a.other.example"),
    Ask("/page.html", host="unknown.example"),
]


def compare(
    start: Callable[[Path, Path, int], Original],
    serve: Servers,
    folder: Path,
    configuration: tuple[str, str],
    asks: list[Ask],
    port: int,
    app: str = "",
) -> None:
    """Start the original and the imported server, and compare their answers."""
    name, text = configuration
    file, other = folder / name, folder / "imported" / name
    other.parent.mkdir()
    user = f"User {USER}\nGroup {USER}" if os.geteuid() == 0 else ""
    # An `nginx.conf` without a user is not imported.
    users = ("", f"user {USER};") if start is nginx else (user, "")
    file.write_text(text.format(folder=folder, port=port, user=users[0]), encoding="utf-8")
    other.write_text(text.format(folder=folder, port=0, user=users[1]), encoding="utf-8")
    compare_files(start, serve, folder, (file, other), asks, port, app)


def compare_files(
    start: Callable[[Path, Path, int], Original],
    serve: Servers,
    folder: Path,
    files: tuple[Path, Path],
    asks: list[Ask],
    port: int,
    app: str = "",
) -> None:
    """Start the first file's server, import and serve the second file, and compare the answers."""
    address = imported(serve, folder, files[1], app)
    with start(folder, files[0], port) as original:
        different = [said for ask in asks if (said := ask.compare(original.address, address))]

    assert not different, "\n".join(different)


def test_nginx(serve: Servers, folder: Path, port: int) -> None:
    """An imported file answers like nginx: files, folders, passwords, redirects, hosts."""
    compare(nginx, serve, folder, ("nginx.conf", NGINX), ON_NGINX, port)


PROXIED = """
{user}
pid {folder}/logs/pid;
events {{ }}
http {{
    include /etc/nginx/mime.types;
    access_log off;
    set_real_ip_from 127.0.0.1;
    real_ip_header X-Forwarded-For;
    real_ip_recursive on;
    server {{
        listen 127.0.0.1:{port};
        server_name shop.example;
        root {folder}/public;
        error_page 403 404 /page.html;
        location /static/ {{ allow 192.0.2.0/24; deny all; alias {folder}/static/; }}
    }}
}}
"""

ON_PROXIED = [
    Ask("/page.html"),
    Ask("/none.html"),
    Ask("/static/site.css"),
    Ask("/static/site.css", forwarded="192.0.2.1"),
    Ask("/static/site.css", forwarded="198.51.100.1"),
    Ask("/static/site.css", forwarded="192.0.2.1, 198.51.100.1"),
    Ask("/static/site.css", forwarded="198.51.100.1, 192.0.2.1"),
    Ask("/static/site.css", forwarded="192.0.2.1, 127.0.0.1"),
]


def test_nginx_proxied(serve: Servers, folder: Path, port: int) -> None:
    """An imported file believes a proxy about addresses, and sends error pages, like nginx."""
    compare(nginx, serve, folder, ("nginx.conf", PROXIED), ON_PROXIED, port)


IN_FRONT = """
{user}
pid {folder}/logs/pid;
events {{ }}
http {{
    include /etc/nginx/mime.types;
    access_log off;
    upstream shop {{ server 127.0.0.1:UPSTREAM fail_timeout=0; }}
    server {{
        listen 127.0.0.1:{port} default_server;
        return 444;
    }}
    server {{
        listen 127.0.0.1:{port};
        server_name shop.example;
        client_max_body_size 4G;
        keepalive_timeout 5;
        root {folder}/media;
        location = /favicon.ico {{ access_log off; log_not_found off; }}
        location /static/ {{ root {folder}; }}
        location / {{ try_files $uri @shop; }}
        location @shop {{
            proxy_set_header Host $http_host;
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
            proxy_redirect off;
            proxy_pass http://shop;
        }}
        error_page 500 502 503 504 /500.html;
        location = /500.html {{ root {folder}/public; }}
    }}
}}
"""

ON_IN_FRONT = [
    Ask("/"),
    Ask("/a/b?c=d"),
    Ask("/a", "POST", body=b"1=2"),
    Ask("/static/site.css"),
    Ask("/static/none"),
    Ask("/photo.txt"),
    # A page of a folder, which `try_files $uri` leaves to the application.
    Ask("/sub/", differ=(200, 200)),
    Ask("/sub/index.html"),
    Ask("/favicon.ico"),
]


def test_nginx_in_front(serve: Servers, folder: Path, port: int) -> None:
    """An application behind nginx, with files beside it, answers alike when our server runs it."""
    (folder / "media/sub").mkdir(parents=True)
    (folder / "media/photo.txt").write_text("photo\n", encoding="utf-8")
    (folder / "media/sub/index.html").write_text("<p>Photos", encoding="utf-8")
    app = f"{folder}/shop/wsgi.py"
    upstream = serve(app, cwd=folder).port
    configuration = ("nginx.conf", IN_FRONT.replace("UPSTREAM", str(upstream)))
    compare(nginx, serve, folder, configuration, ON_IN_FRONT, port, app)


MODULES = """
ServerRoot /usr/lib/apache2
{user}
PidFile {folder}/logs/pid
ErrorLog {folder}/logs/error.log
Listen 127.0.0.1:{port}
ServerName shop.example
TypesConfig /etc/mime.types
LoadModule mpm_event_module modules/mod_mpm_event.so
LoadModule access_compat_module modules/mod_access_compat.so
LoadModule alias_module modules/mod_alias.so
LoadModule auth_basic_module modules/mod_auth_basic.so
LoadModule auth_digest_module modules/mod_auth_digest.so
LoadModule authn_core_module modules/mod_authn_core.so
LoadModule authn_file_module modules/mod_authn_file.so
LoadModule authz_core_module modules/mod_authz_core.so
LoadModule authz_groupfile_module modules/mod_authz_groupfile.so
LoadModule authz_host_module modules/mod_authz_host.so
LoadModule authz_user_module modules/mod_authz_user.so
LoadModule autoindex_module modules/mod_autoindex.so
LoadModule dir_module modules/mod_dir.so
LoadModule headers_module modules/mod_headers.so
LoadModule mime_module modules/mod_mime.so
LoadModule wsgi_module modules/mod_wsgi.so
WSGISocketPrefix {folder}/logs/wsgi
"""

APACHE = """
DocumentRoot {folder}/public
Alias /near {folder}/static
Alias /far {folder}/static
Alias /both {folder}/static
Alias /anybody {folder}/static
Alias /old-and-new {folder}/static
Alias /old {folder}/static
Alias /digest {folder}/static
Alias /editors {folder}/static
Redirect permanent /moved /page.html
Redirect permanent /away http://new.example/
Redirect temp /further/ http://new.example/further/
Redirect gone /gone
RedirectMatch 302 ^/older/(.*)$ /sub/$1
<Directory />
    Require all denied
</Directory>
<Directory {folder}>
    AuthType Basic
    AuthName "Staff"
    AuthUserFile {folder}/users
    AuthGroupFile {folder}/groups
    Require all granted
</Directory>
<Directory {folder}/public/list>
    Options +Indexes
</Directory>
<FilesMatch "^\\.ht">
    Require all denied
</FilesMatch>
<Directory {folder}/public/staff>
    Require valid-user
</Directory>
<Location /near>
    Require ip 127.0.0.1
    Require user ann
</Location>
<Location /far>
    Require ip 192.0.2.1
    Require user bob
</Location>
<Location /both>
    <RequireAll>
        Require ip 192.0.2.1
        Require valid-user
    </RequireAll>
</Location>
<Location /anybody>
    Require all granted
    Require valid-user
</Location>
<Location /old-and-new>
    Require all denied
    Order allow,deny
    Allow from all
</Location>
<Location /old>
    Order deny,allow
    Deny from all
    Allow from 192.0.2.1
    Require valid-user
    Satisfy any
</Location>
<Location /digest>
    AuthType Digest
    AuthName "Digest"
    AuthUserFile {folder}/digests
    Require valid-user
</Location>
<Location /editors>
    Require group editors
</Location>
<Location /page.html>
    <LimitExcept GET>
        Require valid-user
    </LimitExcept>
</Location>
"""

ON_APACHE = [
    *FILES,
    Ask("/list/", is_list=True),
    Ask("/sub/index.html"),
    Ask("/moved"),
    Ask("/moved?a=b"),
    Ask("/away"),
    # The target of Apache has two slashes in front of the rest.
    Ask("/away/a/b?c", differ=(301, 301)),
    Ask("/further/a"),
    Ask("/gone"),
    Ask("/gone/x"),
    Ask("/older/none"),
    Ask("/page.html", "POST", body=b""),
    Ask("/digest/site.css"),
    Ask("/old-and-new/site.css"),
    *(
        ask
        for path in ("/near", "/far", "/both", "/anybody", "/old", "/editors")
        for ask in of_users(f"{path}/", "site.css")
    ),
    *of_users("/staff/", "plan.txt"),
    *of_users("/staff/", "none"),
]


def test_apache(serve: Servers, folder: Path, port: int) -> None:
    """An imported file answers like Apache: files, passwords, access rules in both forms, redirects."""
    compare(apache, serve, folder, ("httpd.conf", MODULES + APACHE), ON_APACHE, port)


MORE_APACHE = """
LoadModule cgid_module modules/mod_cgid.so
LoadModule remoteip_module modules/mod_remoteip.so
ScriptSock {folder}/logs/cgid
DocumentRoot {folder}/public
<Directory {folder}>
    Require all granted
</Directory>
RemoteIPHeader X-Forwarded-For
RemoteIPInternalProxy 127.0.0.1
ErrorDocument 404 /page.html
ErrorDocument 403 "Not you"
AliasMatch ^/(static|still)/(.*)$ {folder}/static/$2
AliasMatch ^/robots\\.txt$ {folder}/static/robots.txt
RedirectMatch 301 ^/(old|older)/(.*)$ /sub/$1/$2
RedirectMatch gone ^/(lost|gone)(/.*)?$
ScriptAlias /program {folder}/programs/program.cgi
ScriptAliasMatch ^/programs/(.*)$ {folder}/programs/$1
WSGIScriptAliasMatch ^/(blog)(?=/|$) {folder}/blog/$1.py
<Location /still>
    Require ip 192.0.2.0/24
</Location>
<Location /program>
    Require all granted
</Location>
"""

PROGRAM = """#!/bin/sh
printf 'Content-Type: text/plain\\n\\n%s|%s|%s|%s' "$0" "$PATH_INFO" "$QUERY_STRING" "$REMOTE_ADDR"
"""

ON_MORE_APACHE = [
    Ask("/page.html"),
    Ask("/none.html"),
    Ask("/static/site.css"),
    Ask("/static/none"),
    Ask("/robots.txt"),
    Ask("/robots.txt/x"),
    Ask("/old/a?b=c"),
    Ask("/older/a"),
    Ask("/oldest/a"),
    Ask("/lost"),
    Ask("/gone/a"),
    Ask("/going"),
    Ask("/program"),
    Ask("/program?a=b"),
    Ask("/program/x/y?z"),
    Ask("/program/other.cgi"),
    Ask("/program", forwarded="192.0.2.1"),
    Ask("/programs/program.cgi/x"),
    Ask("/programs/other.cgi"),
    Ask("/programs/none"),
    Ask("/blog"),
    Ask("/blog/x/y?z"),
    Ask("/blogger"),
    Ask("/still/site.css"),
    Ask("/still/site.css", forwarded="192.0.2.1"),
    Ask("/still/site.css", forwarded="198.51.100.1"),
    Ask("/still/site.css", forwarded="192.0.2.1, 198.51.100.1"),
    Ask("/still/site.css", forwarded="198.51.100.1, 192.0.2.1"),
]


def test_apache_patterns(serve: Servers, folder: Path, port: int) -> None:
    """An imported file answers like Apache: patterns, programs, error pages, addresses from a proxy."""
    (folder / "programs").mkdir()
    for name in ("program.cgi", "other.cgi"):
        (folder / "programs" / name).write_text(PROGRAM, encoding="utf-8")
        (folder / "programs" / name).chmod(0o755)
    configuration = ("httpd.conf", MODULES + MORE_APACHE)
    compare(apache, serve, folder, configuration, ON_MORE_APACHE, port)


MOD_WSGI = """
DocumentRoot {folder}/public
<Directory {folder}>
    Require all granted
</Directory>
WSGIDaemonProcess shop threads=5 home={folder}/shop
WSGIProcessGroup shop
WSGIApplicationGroup %{{GLOBAL}}
Alias /robots.txt {folder}/static/robots.txt
Alias /static/ {folder}/static/
WSGIScriptAlias /blog {folder}/blog/blog.py callable-object=app
WSGIScriptAlias / {folder}/shop/wsgi.py
<Location /blog/admin>
    AuthType Basic
    AuthName "Blog"
    AuthUserFile {folder}/users
    Require user ann
</Location>
"""

ON_MOD_WSGI = [
    Ask("/"),
    Ask("/a/b?c=d"),
    Ask("/a", "POST", body=b"1=2"),
    Ask("/%C3%A4/b"),
    Ask("/%2F", differ=(404, 200)),
    Ask("/blog"),
    Ask("/blog/"),
    Ask("/blog/x/y?z"),
    Ask("/blogger"),
    Ask("/static/site.css"),
    Ask("/static/none"),
    Ask("/robots.txt"),
    *of_users("/blog/admin/", "x"),
]


def test_mod_wsgi(serve: Servers, folder: Path, port: int) -> None:
    """Applications at the root and beneath a path answer as with mod_wsgi, with files and passwords."""
    compare(apache, serve, folder, ("httpd.conf", MODULES + MOD_WSGI), ON_MOD_WSGI, port)


def set_up(folder: Path, port: int, *options: str) -> tuple[Path, Path]:
    """Have `mod_wsgi-express` write its files; return its configuration, and a copy for our port."""
    root, ours = folder / "express", folder / "imported" / "express"
    who = ["--user", USER, "--group", USER] if os.geteuid() == 0 else []
    words = ["setup-server", "--host", "127.0.0.1", "--port", str(port), "--server-root", str(root)]
    words += ["--working-directory", str(folder / "shop"), "--locale", "C.UTF-8", *who, *options]
    program = Path(sys.executable).with_name("mod_wsgi-express")
    made = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, check=False)
    assert 0 == made.returncode, made.stdout + made.stderr
    for place in (root, *root.iterdir()):
        # Apache writes there, and it may run as another user than the tests.
        place.chmod(0o777 if place.is_dir() else place.stat().st_mode | 0o444)
    shutil.copytree(root, ours)
    file = ours / "httpd.conf"
    text = file.read_text(encoding="utf-8").replace(f"127.0.0.1:{port}", "127.0.0.1:0")
    text = text.replace("User ${MOD_WSGI_USER}\n", "").replace("Group ${MOD_WSGI_GROUP}\n", "")
    text = text.replace(f"_default_:{port}>", "_default_:0>").replace(str(root), str(ours))
    file.write_text(text, encoding="utf-8")
    return root / "httpd.conf", file


EXPRESS = [
    "--document-root",
    "public",
    "--directory-index",
    "index.html",
    "--processes",
    "2",
    "--threads",
    "3",
]
EXPRESS += ["--url-alias", "/static", "static", "--url-alias", "/robots.txt", "static/robots.txt"]
EXPRESS += ["--access-log", "--compress-responses"]

ON_EXPRESS = [
    Ask("/"),
    Ask("/a/b?c=d"),
    Ask("/a", "POST", body=b"1=2"),
    Ask("/%C3%A4/b"),
    Ask("/page.html"),
    Ask("/page.html", "HEAD"),
    Ask("/app.js"),
    Ask("/none.html"),
    Ask("/static/site.css"),
    Ask("/static/none"),
    Ask("/static/"),
    Ask("/robots.txt"),
    Ask("/robots.txt/x", differ=(404, 200)),
    Ask("/handler.wsgi"),
    Ask("/.htpasswd", differ=(200, 200)),
    Ask("/", host="other.example"),
]


@pytest.mark.parametrize(
    ("options", "asks"),
    [
        ([], [Ask("/"), Ask("/a/b?c=d"), Ask("/a", "POST", body=b"1=2"), Ask("/httpd.conf")]),
        (
            EXPRESS,
            ON_EXPRESS,
        ),
        (
            ["--document-root", "public", "--mount-point", "/sub", "--directory-index", "index.html"],
            [Ask("/"), Ask("/sub/x/y?z"), Ask("/sub/index.html"), Ask("/page.html"), Ask("/none")],
        ),
    ],
    ids=["plain", "files", "mounted"],
)
def test_mod_wsgi_express(
    serve: Servers, folder: Path, port: int, options: list[str], asks: list[Ask]
) -> None:
    """Imported files of `mod_wsgi-express setup-server` answer like the server that they start."""
    files = set_up(folder, port, *options, "shop/wsgi.py")
    compare_files(express, serve, folder, files, asks, port)


def test_mod_wsgi_express_module(serve: Servers, folder: Path, port: int) -> None:
    """An application that is given by its module and its name in the module answers alike."""
    options = ["--application-type", "module", "--callable-object", "app", "wsgi"]
    asks = [Ask("/"), Ask("/a/b?c=d"), Ask("/a", "POST", body=b"1=2")]
    compare_files(express, serve, folder, set_up(folder, port, *options), asks, port)


UWSGI = """
[uwsgi]
http-socket = 127.0.0.1:{port}
chdir = {folder}/shop
master = true
processes = 1
threads = 2
static-map = /static={folder}/static
manage-script-name = true
mount = /=wsgi.py
mount = /blog={folder}/blog/blog.py
need-app = true
die-on-term = true
disable-logging = true
"""

ON_UWSGI = [
    Ask("/"),
    Ask("/a/b?c=d"),
    Ask("/a", "POST", body=b"1=2"),
    Ask("/blog/x?y"),
    Ask("/static/site.css"),
]


def test_uwsgi(serve: Servers, folder: Path, port: int) -> None:
    """Applications at two paths, and files beside them, answer as with uWSGI."""
    compare(uwsgi, serve, folder, ("uwsgi.ini", UWSGI), ON_UWSGI, port)


def debian(folder: Path, name: str, port: int, changes: dict[str, str]) -> tuple[Path, Path]:
    """Copy a package's installed configuration twice: once at `port`, and once at port 0 for our server."""
    copies = []
    for copy, number in [(folder / name, port), (folder / "imported" / name, 0)]:
        shutil.copytree(f"/etc/{name}", copy)
        for file in copy.rglob("*"):
            if not file.is_file():
                continue
            text = file.read_text(encoding="utf-8", errors="surrogateescape")
            for before, after in changes.items():
                text = text.replace(before, after.format(folder=folder, copy=copy, port=number))
            file.write_text(text, encoding="utf-8", errors="surrogateescape")
        copies.append(copy)
    return copies[0], copies[1]


def without_user(file: Path) -> None:
    """Remove the user and group of a server: our server runs as the user who runs the tests."""
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith(("User ", "Group "))]
    file.write_text("".join(kept), encoding="utf-8")


ON_DEBIAN = [
    Ask("/"),
    Ask("/index.html"),
    Ask("/none"),
    Ask("/none/"),
    Ask("/index.html/", differ=(404, 404)),
    Ask("/.htaccess", differ=(403, 404)),
    Ask("/", "HEAD"),
    Ask("/", host="other.example"),
]


OF_APACHE = {
    "mods": "access_compat alias auth_basic authn_core authn_file authz_core authz_host authz_user autoindex "
    "deflate dir env filter mime mpm_event negotiation reqtimeout setenvif status",
    "conf": "charset localized-error-pages other-vhosts-access-log security serve-cgi-bin",
    "sites": "000-default",
}
"""Parts that Debian's Apache has enabled by itself, by their kind."""


def as_installed(copy: Path) -> None:
    """Enable what Debian's Apache has enabled by itself, and nothing that other packages have enabled."""
    for kind, names in OF_APACHE.items():
        shutil.rmtree(copy / f"{kind}-enabled")
        (copy / f"{kind}-enabled").mkdir()
        for name in names.split():
            for part in (copy / f"{kind}-available").glob(f"{name}.*"):
                shutil.copy(part, copy / f"{kind}-enabled" / part.name)


def test_debian_apache(serve: Servers, folder: Path, port: int) -> None:
    """The configuration that Debian's Apache is installed with answers alike when it is imported."""
    theirs, ours = debian(
        folder,
        "apache2",
        port,
        {
            "\nListen 80\n": "\nListen 127.0.0.1:{port}\n",
            "<VirtualHost *:80>": "<VirtualHost *:{port}>",
            "export APACHE_RUN_USER=": "# ",
            "export APACHE_RUN_GROUP=": "# ",
            "/var/log/apache2": "{folder}/logs",
        },
    )
    asks = [
        *ON_DEBIAN,
        Ask("/icons/text.gif"),
        # A folder without a page and without a list.
        Ask("/icons/", differ=(403, 404)),
        # The status page has no counterpart here.
        Ask("/server-status", differ=(200, 503)),
        Ask("/cgi-bin/none"),
    ]
    files = (theirs / "apache2.conf", ours / "apache2.conf")
    without_user(files[1])
    for copy in (theirs, ours):
        as_installed(copy)
    compare_files(apache, serve, folder, files, asks, port)


def test_debian_nginx(serve: Servers, folder: Path, port: int) -> None:
    """The configuration that Debian's nginx is installed with answers alike when it is imported."""
    theirs, ours = debian(
        folder,
        "nginx",
        port,
        {
            "/etc/nginx/": "{copy}/",
            "listen 80 default": "listen 127.0.0.1:{port} default",
            "\tlisten [::]:80 default_server;\n": "",
            "/run/nginx.pid": "{folder}/logs/pid",
            "/var/log/nginx": "{folder}/logs",
        },
    )
    asks = [*ON_DEBIAN, Ask("/index.nginx-debian.html")]
    files = (theirs / "nginx.conf", ours / "nginx.conf")
    compare_files(nginx, serve, folder, files, [ask for ask in asks if ask.target != "/.htaccess"], port)
