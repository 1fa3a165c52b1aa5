"""Folders' own settings that try more than their site allows, or try to open a folder that a parent closes.

Each row is a folder with its files, a request, and the exact answer. One server answers all rows.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from sites.conftest import BCRYPT, write
from sites.test_auth import PASSWORD, credentials

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from support.client import Response
    from support.server import Server, Servers

ALL = ("allow", "auth", "headers", "cache-control", "errors", "redirect")

HIDDEN = "the secret of this folder"

HT, OWN = ".htaccess", ".adyton.toml"


def site_of_words() -> str:
    """Return a site: a folder with all permissions, one for each missing permission, some closed folders."""
    lines = ['[[sites]]\nroot = "public"\n']
    for name, words in [("all", ALL), *((f"no-{word}", tuple(w for w in ALL if w != word)) for word in ALL)]:
        lines.append(f'[[sites.routes]]\npath = "/{name}/"\nfiles = "{name}"\n')
        lines.append(
            f"may-set = {list(words)}\nhtaccess = {list(words)}\nheaders = {{ X-Route = 'route' }}\n"
        )
    words = f"may-set = {list(ALL)}\nhtaccess = {list(ALL)}\n"
    for name, closed in [
        ("denied", 'deny = ["127.0.0.0/8", "::1"]\n'),
        ("asked", 'auth = "basic:staff.htpasswd"\n'),
        ("own-alone", None),
        ("off", None),
    ]:
        says = {"own-alone": f"may-set = {list(ALL)}\n", "off": ""}.get(name, words)
        lines.append(f'[[sites.routes]]\npath = "/{name}/"\nfiles = "{name}"\n{says}{closed or ""}')
    return "\n".join(lines)


@dataclass(frozen=True)
class Row:
    """A folder, a request for something in it, and its answer."""

    name: str
    files: Mapping[str, object]
    status: int
    target: str = "x.txt"
    route: str = "all"
    user: str = ""
    log: str = ""
    fields: Mapping[str, str | None] = field(default_factory=dict)
    """Fields of the answer; a field whose value is `None` must be absent."""

    @property
    def path(self) -> str:
        """The path of the folder."""
        return f"/{self.route}/{self.name}"


def fifo(path: Path) -> None:
    """Put a FIFO at this path."""
    os.mkfifo(path)


def folder(path: Path) -> None:
    """Put a folder at this path."""
    path.mkdir()


def link(target: str) -> Callable[[Path], None]:
    """Return a function that puts a link to `target` at a path."""
    return lambda path: path.symlink_to(target)


def sparse(text: str, size: int) -> Callable[[Path], None]:
    """Return a function that writes a file of this size, which begins with `text` and ends in zeros."""

    def make(path: Path) -> None:
        path.write_text(text, encoding="utf-8")
        os.truncate(path, size)

    return make


DENIED = "Require all denied\n"
GRANTED = "Require all granted\n"
ASKED = "AuthType Basic\nAuthName Staff\nAuthUserFile {project}/staff.htpasswd\nRequire valid-user\n"


def ht(name: str, text: object, status: int, target: str = "x.txt", **more: object) -> Row:
    """Return a row of one `.htaccess`."""
    return Row(f"ht-{name}", {HT: text}, status, target, **more)  # type: ignore[arg-type]


def own(name: str, text: object, status: int, target: str = "x.txt", **more: object) -> Row:
    """Return a row of one `.adyton.toml`."""
    return Row(f"own-{name}", {OWN: text}, status, target, **more)  # type: ignore[arg-type]


def below(name: str, outer: str, inner: str, status: int, **more: object) -> Row:
    """Return a row of two folders, with a request for the inner one."""
    return Row(f"below-{name}", {HT: outer, f"sub/{HT}": inner}, status, "sub/x.txt", **more)  # type: ignore[arg-type]


WORDS = [
    ht("word-require-ip", "Require ip 127.0.0.1\n", 500, route="no-allow", log='htaccess = ["allow"]'),
    ht(
        "word-require-not",
        "<RequireAll>\nRequire all granted\nRequire not ip 192.0.2.1\n</RequireAll>\n",
        500,
        route="no-allow",
    ),
    ht("word-denied", DENIED, 500, route="no-allow"),
    ht("word-deny", "Order allow,deny\nAllow from all\nDeny from 192.0.2.1\n", 500, route="no-allow"),
    ht("word-order", "Order deny,allow\nDeny from all\nAllow from 127.0.0.1\n", 500, route="no-allow"),
    ht("word-files", f"<Files y.txt>\n{DENIED}</Files>\n", 500, route="no-allow"),
    ht("word-granted", GRANTED, 200, route="no-allow"),
    ht("word-auth", ASKED, 500, route="no-auth", log='htaccess = ["auth"]'),
    ht("word-header", "Header set X-A b\n", 500, route="no-headers", log='htaccess = ["headers"]'),
    ht("word-header-unset", "Header unset X-Route\n", 500, route="no-headers"),
    ht("word-header-add", "Header add X-A b\n", 500, route="no-headers"),
    ht(
        "word-expires",
        'ExpiresDefault "access plus 1 day"\n',
        500,
        route="no-cache-control",
        log='htaccess = ["cache-control"]',
    ),
    ht(
        "word-redirect",
        "Redirect /no-redirect/ht-word-redirect/y /z\n",
        500,
        route="no-redirect",
        log='htaccess = ["redirect"]',
    ),
    ht("word-gone", "Redirect gone /no-redirect/ht-word-gone/y\n", 500, route="no-redirect"),
    ht("word-match", "RedirectMatch 301 ^/y$ /z\n", 500, route="no-redirect"),
    own(
        "word-allow",
        'allow = ["127.0.0.1"]\n',
        500,
        route="no-allow",
        log='would have to allow it with "allow"',
    ),
    own("word-deny", 'deny = ["192.0.2.1"]\n', 500, route="no-allow"),
    own("word-auth", 'auth = "basic:.htpasswd"\n', 500, route="no-auth"),
    own("word-satisfy", 'auth-satisfy = "any"\n', 500, route="no-auth"),
    own("word-users", 'auth-users = "ann"\n', 500, route="no-auth"),
    own("word-headers", "headers = { X-A = 'b' }\n", 500, route="no-headers"),
    own("word-remove", 'remove-headers = ["X-Route"]\n', 500, route="no-headers"),
    own("word-add", "add-headers = { X-A = 'b' }\n", 500, route="no-headers"),
    own("word-cache", 'cache-control = "no-store"\n', 500, route="no-cache-control"),
    own("word-errors", "error-pages = { 404 = 'index.html' }\n", 500, route="no-errors"),
    own("word-redirects", '[[redirects]]\npath = "y"\nredirect = "/z"\n', 500, route="no-redirect"),
]
"""Settings that the site does not allow in folders: they close the folder."""

SPELLINGS = [
    ht("capitals", "REQUIRE ALL DENIED\n", 403),
    ht("mixed", "rEqUiRe aLL dEnIeD\n", 403),
    ht("blanks", " \t Require \t all  denied \t\n", 403),
    ht("quotes", "Require \"all\" 'denied'\n", 403),
    ht(
        "section-capitals",
        "<FILES X.TXT>\nRequire all granted\n</FILES>\n<FiLeS x.txt>\nRequire all denied\n</fIlEs>\n",
        403,
    ),
    ht("old-capitals", "ORDER ALLOW,DENY\nDENY FROM ALL\n", 403),
    ht("granted-and-more", "Require all granted denied\n", 500),
    ht("granted-comment", "Require all granted # denied\n", 500),
    ht("neither", "Require all maybe\n", 500),
    ht("all-alone", "Require all\n", 500),
    ht("require-alone", "Require\n", 500),
    ht("ip-alone", "Require ip\n", 403),
    ht("ip-list", "Require ip 127.0.0.1,192.0.2.1\n", 500),
    ht("ip-zero", "Require ip 127.0.0.1/33\n", 500),
    ht("host", "Require host localhost\n", 500),
    ht("env", "SetEnvIf X-A b let\nRequire env let\n", 500),
    ht("expr", "Require expr true\n", 500),
    ht("order-odd", "Order maybe\nAllow from all\n", 500),
    ht("order-spaced", "Order allow, deny\nAllow from all\n", 500),
    ht("allow-env", "Order deny,allow\nDeny from all\nAllow from env=let\n", 403),
    ht("deny-host", "Order allow,deny\nAllow from all\nDeny from localhost\n", 500),
    ht("satisfy-odd", f"{ASKED}Satisfy maybe\n", 500),
    ht("quoted-name", '"Require" all denied\n', 500),
    ht("no-break-space", "Require\u00a0all\u00a0granted\n", 500, log="this is not known here"),
    ht("wide-space", f"{DENIED}\u3000Require all granted\n", 500),
    ht("misspelled", "Requir all granted\n", 500, log="this is not known here"),
    ht("unknown", "Nonsense on\n", 500, log="ht-unknown/.htaccess:1: Nonsense on: this is not known here"),
    ht(
        "unknown-later",
        "# fine\n\nHeader set X-A b\nNonsense\n",
        500,
        log="ht-unknown-later/.htaccess:4: Nonsense",
    ),
    ht(
        "unknown-in-files",
        "<Files y>\nNonsense\n</Files>\n",
        500,
        log="ht-unknown-in-files/.htaccess:2: Nonsense",
    ),
    ht(
        "unknown-in-any",
        "<RequireAny>\nNonsense\nRequire all granted\n</RequireAny>\n",
        500,
        log=":2: Nonsense",
    ),
    ht(
        "unknown-section", "<Nonsense>\nRequire all granted\n</Nonsense>\n", 500, log="this is not known here"
    ),
    ht("unknown-passed", "<IfModule mod_nonsense.c>\nNonsense\n</IfModule>\n", 200),
    ht("continued", "Require all \\\ndenied\n", 403),
    ht("continued-name", "Req\\\nuire all denied\n", 403),
    ht("continued-crlf", "Require all \\\r\ndenied\r\n", 403),
    ht("continued-end", "Require all denied\\", 403),
    ht("continued-comment", "# Require all denied \\\nRequire all denied\n", 200),
    ht("continued-blank", "Require all \\ \ndenied\n", 500),
    ht("continued-often", "Require \\\n" * 5_000 + "all denied\n", 500),
    ht("comment-behind", "Header set X-A b # c\n", 200),
    ht("long-line", f"Header set X-A {'b' * 60_000}\n", 200),
    ht("long-list", "Require ip " + "192.0.2.1 " * 6_000 + "\n", 403),
    ht("long-name", "R" * 60_000 + "\n", 500),
    ht("long-file", f"{GRANTED}{'#' * 65_536}\n", 500, log="larger than 65536 bytes"),
    ht("many-lines", "# a line\n" * 7_000 + DENIED, 403),
    ht(
        "many-redirects",
        "".join(f"Redirect /all/ht-many-redirects/{n} /z\n" for n in range(1_200)) + DENIED,
        403,
    ),
    ht("many-files", "".join(f"<Files {n}.b>\n{DENIED}</Files>\n" for n in range(900)) + DENIED, 403),
    ht("sparse", sparse(GRANTED, 1 << 30), 500, log="larger than 65536 bytes"),
    own("sparse", sparse("\n", 1 << 30), 500, log="larger than 65536 bytes"),
    ht("empty", "", 200),
    ht("mark", f"\ufeff{DENIED}", 500),
    ht("mark-comment", "\ufeff# comment\n", 500),
    ht("mark-later", f"# comment\n\ufeff{GRANTED}", 500),
    ht("utf-16", DENIED.encode("utf-16"), 500),
    ht("latin", b"# \xe9\n", 500),
    ht("nul", b"Require all granted\0\n", 500, log="ht-nul/.htaccess:1: a control character"),
    ht(
        "nul-later",
        b"Header set X-A b\nRequire all \0granted\n",
        500,
        log="ht-nul-later/.htaccess:2: a control character",
    ),
    ht("nul-comment", b"# \0\n", 500),
    ht("return", b"Require all denied\rRequire all granted\n", 500, log="a control character"),
    ht("returns", b"Require all granted\r\r\n", 500),
    ht("mac", b"Require all granted\r", 200),
    ht("escape", "Require all granted \x1b[2J\n", 500),
    ht("feed", "Require all granted\x0c\n", 500),
    ht("tab-is-a-blank", "Require\tall\tdenied\n", 403),
    ht("next-line", "Require all granted\u0085\n", 500),
    own("mark", "\ufeffheaders = { X-A = 'b' }\n", 200),
    own("nul", b"headers = { X-A = 'b\0' }\n", 500),
    own("return", b"# a\rdeny = ['127.0.0.1']\n", 500),
    own("latin", b"# \xe9\n", 500),
]
"""Spellings of rules: each holds, or closes the folder."""

MISPLACED = [
    ht(f"misplaced-{number}", text, 500, log="this directive belongs in the server's own file")
    for number, text in enumerate(
        [
            "DocumentRoot /\n",
            "Alias /all/z /etc\n",
            "ScriptAlias /cgi-bin /bin\n",
            "AliasMatch ^/z/(.*)$ /etc/$1\n",
            "WSGIScriptAlias /z /tmp/z.wsgi\n",
            "WSGIDaemonProcess z user=root\n",
            f"<Directory />\n{GRANTED}</Directory>\n",
            f"<DirectoryMatch .*>\n{GRANTED}</DirectoryMatch>\n",
            f"<Location /all>\n{GRANTED}</Location>\n",
            f"<LocationMatch .*>\n{GRANTED}</LocationMatch>\n",
            f"<VirtualHost *>\n{GRANTED}</VirtualHost>\n",
            "<Proxy *>\n</Proxy>\n",
            "ProxyPass / http://127.0.0.1:1/\n",
            "AllowOverride All\n",
            "AccessFileName x.txt\n",
            "ServerName other.example\n",
            "Listen 80\n",
            "User root\n",
            "ErrorLog /tmp/z\n",
            "CustomLog /tmp/z common\n",
            "LoadModule z_module /tmp/z.so\n",
            "Include /etc/passwd\n",
            "IncludeOptional /etc/passwd\n",
            "Define Z /etc\n",
            "ServerRoot /etc\n",
            "RewriteMap z prg:/bin/true\n",
            "PythonImport os z\n",
            f"<Files y>\n<Directory />\n{GRANTED}</Directory>\n</Files>\n",
            "<IfModule mod_alias.c>\nAlias /all/z /etc\n</IfModule>\n",
        ]
    )
]
"""Directives that are only valid in the server's own file, not in a folder's."""

CODE = [
    ht("sethandler", "SetHandler cgi-script\n", 403),
    ht("sethandler-status", "SetHandler server-status\n", 503),
    ht("python-handler", "PythonAccessHandler os\n", 500),
    ht("python-fixup", "PythonFixupHandler os\n", 500),
    ht("wsgi-access", "WSGIAccessScript /tmp/z.wsgi\n", 500),
    ht(
        "wsgi-auth",
        "AuthType Basic\nAuthBasicProvider wsgi\nWSGIAuthUserScript /z.wsgi\nRequire valid-user\n",
        500,
    ),
    ht("perl", "PerlAccessHandler z\n", 500),
    ht("lua", "LuaHookAccessChecker z.lua z\n", 500),
    ht("action", "Action text/plain /bin/true\n", 500),
    ht("includes", "Options +Includes\nSetOutputFilter INCLUDES\n", 500),
    ht("rewrite-proxy", "RewriteEngine on\nRewriteRule ^x http://127.0.0.1:1/ [P]\n", 500),
    ht("rewrite-away", "RewriteEngine on\nRewriteRule ^x.txt$ /denied/x.txt [L]\n", 500),
    ht("rewrite-refuse", "RewriteEngine on\nRewriteRule ^x - [F]\n", 500),
    ht("macro", "Use Z\n", 500),
    own("auth-python", 'auth = "basic-python:os:system"\n', 500),
    own("auth-program", 'auth-group-python = "os:system"\n', 500),
    own("app", 'app = "os:system"\n', 500),
    own("handler", 'handler = "os:system"\n', 500),
    own("files", 'files = "/etc"\n', 500),
    own("root", 'root = "/"\n', 500),
    own("routes", '[[routes]]\nfiles = "/"\n', 500),
    own("sites", '[[sites]]\nroot = "/"\n', 500),
    own("may-set", 'may-set = ["allow"]\n', 500),
    own("htaccess", 'htaccess = ["allow"]\n', 500),
    own("symlinks", "static-symlinks = true\n", 500),
    own("listing", "static-listing = true\n", 500),
    own("trusted", 'trusted-proxies = ["127.0.0.1"]\n', 500),
    own("user", 'user = "root"\n', 500),
    own("include", 'include = "/etc/passwd"\n', 500),
]
"""Rows in which no folder may run code, or serve files outside of itself."""

SECTIONS = [
    ht("files", f"<Files x.txt>\n{DENIED}</Files>\n", 403),
    ht("files-other", f"<Files x.txt>\n{DENIED}</Files>\n", 200, "y.txt"),
    ht("files-below", f"<Files x.txt>\n{DENIED}</Files>\n", 403, "sub/x.txt"),
    ht("files-behind", f"<Files x.txt>\n{DENIED}</Files>\n", 403, "%78.txt"),
    ht("files-slashes", f"<Files x.txt>\n{DENIED}</Files>\n", 403, "/x.txt"),
    ht("files-index", f"<Files index.html>\n{DENIED}</Files>\n", 403, ""),
    ht("files-granted", f"<Files x.txt>\n{GRANTED}</Files>\n{DENIED}", 403),
    ht("files-match", f'<FilesMatch "\\.txt$">\n{DENIED}</FilesMatch>\n', 403),
    ht("files-match-all", f"<FilesMatch .>\n{DENIED}</FilesMatch>\n", 500),
    ht("files-pattern", f"<Files x*>\n{DENIED}</Files>\n", 500),
    ht("files-tilde", f"<Files ~ ^x>\n{DENIED}</Files>\n", 500),
    ht("files-users", f"<Files x.txt>\n{ASKED}</Files>\n", 403),
    ht("files-ip", "<Files x.txt>\nRequire ip 192.0.2.1\n</Files>\n", 500),
    ht("files-alone", f"<Files>\n{DENIED}</Files>\n", 500),
    ht("limit", f"<Limit GET>\n{DENIED}</Limit>\n", 500),
    ht("limit-post", f"<Limit POST>\n{DENIED}</Limit>\n", 500),
    ht("limit-granted", f"{DENIED}<Limit GET>\n{GRANTED}</Limit>\n", 500),
    ht("limit-except", f"<LimitExcept GET>\n{DENIED}</LimitExcept>\n", 500),
    ht("if", f'<If "true">\n{GRANTED}</If>\n', 500),
    ht("else", f'<If "true">\n{GRANTED}</If>\n<Else>\n{DENIED}</Else>\n', 500),
    ht("if-module", f"<IfModule mod_authz_core.c>\n{DENIED}</IfModule>\n", 403),
    ht("if-no-module", f"<IfModule !mod_authz_core.c>\n{DENIED}</IfModule>\n", 200),
    ht("if-strange-module", f"<IfModule mod_strange.c>\n{DENIED}</IfModule>\n", 500),
    ht("if-no-strange-module", f"<IfModule !mod_strange.c>\n{DENIED}</IfModule>\n", 403),
    ht("if-define", f"<IfDefine X>\n{DENIED}</IfDefine>\n", 500),
    ht("if-not-define", f"<IfDefine !X>\n{GRANTED}</IfDefine>\n", 500),
    ht("if-version", f"<IfVersion >= 2.4>\n{DENIED}</IfVersion>\n", 403),
    ht("if-file", f"<IfFile /etc/passwd>\n{DENIED}</IfFile>\n", 500),
    ht("nest", "<IfModule mod_dir.c>\n" * 30 + DENIED + "</IfModule>\n" * 30, 403),
    ht("nest-too-deep", "<IfModule mod_dir.c>\n" * 1_000 + DENIED + "</IfModule>\n" * 1_000, 500),
    ht("nest-any", "<RequireAny>\n" * 20 + GRANTED + "</RequireAny>\n" * 20 + "", 200),
    ht("all-of", "<RequireAll>\nRequire all granted\nRequire not ip 127.0.0.1\n</RequireAll>\n", 403),
    ht("any-of", "<RequireAny>\nRequire ip 192.0.2.1\nRequire ip 192.0.2.2\n</RequireAny>\n", 403),
    ht("none-of", "<RequireNone>\nRequire ip 127.0.0.1\n</RequireNone>\n", 403),
    ht("nest-none", f"<RequireNone>\n{GRANTED}</RequireNone>\n", 500),
    ht("crossed", f"<Files x.txt>\n<IfModule mod_dir.c>\n</Files>\n</IfModule>\n{GRANTED}", 500),
    ht("no-end", f"<Files y.txt>\n{GRANTED}", 500),
    ht("no-start", f"</Files>\n{GRANTED}", 500),
    ht("no-bracket", f"<Files y.txt\n{GRANTED}</Files>\n", 500),
    ht("quote", 'Header set X-A "b\n', 500),
    own("nest", "headers = " + "[" * 30_000 + "]" * 30_000 + "\n", 500),
    own("nest-tables", ".".join(["a"] * 30_000) + " = 1\n", 500),
    own("twice", "deny = []\ndeny = ['127.0.0.1']\n", 500),
    own("type", "deny = 1\n", 500),
]
"""Sections and conditions."""

PARENTS = [
    below("granted", DENIED, GRANTED, 403),
    below("allow", "Order allow,deny\nDeny from all\n", "Order allow,deny\nAllow from all\n", 403),
    below("satisfy", DENIED, f"{GRANTED}Satisfy any\n", 403),
    below("satisfy-asked", ASKED, "Satisfy any\nOrder allow,deny\nAllow from all\n", 401),
    below("granted-asked", ASKED, GRANTED, 401),
    below("none-asked", ASKED, "AuthType None\nRequire all granted\n", 401),
    below("merging", DENIED, f"AuthMerging Off\n{GRANTED}", 403),
    below("files", f"<Files x.txt>\n{DENIED}</Files>\n", f"<Files x.txt>\n{GRANTED}</Files>\n", 403),
    below("redirect", DENIED, "Redirect /all/below-redirect/sub/x.txt /z\n", 403),
    below("redirect-asked", ASKED, "Redirect /all/below-redirect-asked/sub/x.txt /z\n", 401),
    below(
        "redirect-files",
        f"<Files x.txt>\n{DENIED}</Files>\n",
        "Redirect /all/below-redirect-files/sub/x.txt /z\n",
        403,
        fields={"Location": None},
    ),
    below("wrong", "Nonsense\n", GRANTED, 500),
    below("own-users", ASKED, "AuthUserFile {folder}/sub/.mine\nRequire valid-user\n", 500),
    Row("below-other-form", {HT: DENIED, f"sub/{OWN}": 'allow = ["127.0.0.1"]\n'}, 403, "sub/x.txt"),
    Row(
        "below-own",
        {OWN: 'deny = ["127.0.0.1"]\n', f"sub/{OWN}": 'allow = ["127.0.0.1"]\nauth-satisfy = "any"\n'},
        500,
        "sub/x.txt",
    ),
    Row("beside", {HT: GRANTED, OWN: 'deny = ["127.0.0.1"]\n'}, 403),
    Row("beside-too", {OWN: 'allow = ["127.0.0.1"]\n', HT: DENIED}, 403),
    ht("closed", GRANTED, 403, route="denied"),
    ht("closed-satisfy", f"{GRANTED}Satisfy any\n", 403, route="denied"),
    own("closed", 'allow = ["127.0.0.1"]\n', 403, route="denied"),
    ht("closed-redirect", "Redirect /denied/ht-closed-redirect/x.txt /z\n", 403, route="denied"),
    ht("asked", f"{GRANTED}Satisfy any\n", 401, route="asked"),
    ht("asked-in", GRANTED, 200, route="asked", user="ann"),
    own("asked", 'allow = ["127.0.0.1"]\n', 401, route="asked"),
    ht("off", DENIED, 200, route="off"),
    own("off", "nonsense", 200, route="off"),
    ht("own-alone", DENIED, 200, route="own-alone"),
    own("own-alone", 'deny = ["127.0.0.1"]\n', 403, route="own-alone"),
]
"""Folders that their parent has closed: they stay closed, whatever their own file says."""


def users(name: str, file: str, status: int, **more: object) -> Row:
    """Return a row of a folder that asks for a password from a file."""
    text = f"AuthType Basic\nAuthName A\nAuthUserFile {file}\nRequire valid-user\n"
    return ht(f"users-{name}", text, status, **more)


USERS = [
    users("fine", "{project}/staff.htpasswd", 401),
    users("fine-ann", "{project}/staff.htpasswd", 200, user="ann"),
    users("fine-eve", "{project}/staff.htpasswd", 401, user="eve"),
    users("relative", "staff.htpasswd", 500),
    users("climbing", "../../../staff.htpasswd", 500, log="write the absolute path"),
    users("own", ".htpasswd", 500, log="write the absolute path"),
    users("zeros", "/dev/zero", 500, log="it is no regular file"),
    users("null", "/dev/null", 500),
    users("folder", "/etc", 500),
    users("missing", "/nothing/here", 500),
    users("stdin", "/dev/stdin", 500),
    users("memory", "/proc/self/mem", 500),
    users("environment", "/proc/self/environ", 500),
    users("fifo", "{project}/fifo", 500, log="it is no regular file"),
    users("large", "{project}/large", 500),
    users("served", "{folder}/x.txt", 500, log="it would be served"),
    users("served-by-link", "{folder}/.link", 500, log="it would be served"),
    users("link", "{project}/link.htpasswd", 401),
    users("loop", "{project}/loop", 500),
    users("variable", "${HOME}/.htpasswd", 500),
    users("program", "|/bin/true", 500),
    own("users-outside", 'auth = "basic:{project}/staff.htpasswd"\n', 500),
    own("users-climbing", 'auth = "basic:../../../staff.htpasswd"\n', 500),
    own("users-link", 'auth = "basic:.out"\n', 500, log="it leads out of the folder"),
    own("users-served", 'auth = "basic:x.txt"\n', 500),
    own("users-fifo", 'auth = "basic:.fifo"\n', 500),
    own("users-fine", 'auth = "basic:.htpasswd"\n', 200, user="ann"),
    own("pages-outside", "error-pages = {{ 404 = '../../../secret.html' }}\n", 500, "none"),
    own("pages-top", "error-pages = {{ 404 = '{project}/secret.html' }}\n", 500, "none"),
    own("pages-link", "error-pages = {{ 404 = 'out.html' }}\n", 500, "none"),
    own("pages-hidden", "error-pages = {{ 404 = '.htpasswd' }}\n", 500, "none"),
]
"""Rows in which a folder's file names other files."""


def page(name: str, words: str, status: int = 500, **more: object) -> Row:
    """Return a row in which an `ErrorDocument` names a page of its folder, or something else."""
    folder = f"/{more.get('route', 'all')}/ht-pages-{name}"
    return ht(f"pages-{name}", f"ErrorDocument {words.replace('FOLDER', folder)}\n", status, "none", **more)


PAGES = [
    page("hidden", "404 FOLDER/.htpasswd", log="sent as it is"),
    page("hidden-html", "404 FOLDER/.x/y.html", 404),
    page("link", "404 FOLDER/out.html", log="symbolic links are not followed"),
    page("program", "404 FOLDER/x.cgi", log="sent as it is"),
    page("source", "404 FOLDER/x.php"),
    page("outside", "404 /all/x.html", log="whose path begins with /all/ht-pages-outside/"),
    page("beside", "404 FOLDER-x/x.html"),
    page("climbing", "404 FOLDER/../../../secret.html"),
    page("climbing-far", "404 FOLDER/../../../../../../etc/passwd.html", 404),
    page("top", "404 {project}/secret.html"),
    page("double", "404 //a.example/x.html"),
    page("escaped", "404 FOLDER/%2e%2e/x.html", log="without escapes"),
    page("query", "404 FOLDER/index.html?x"),
    page("itself", "404 FOLDER/", log="whose path begins with"),
    page("folder", "404 FOLDER/sub"),
    page("url", "404 https://a.example/x", log="an error is not a redirect"),
    page("url-asked", "401 https://a.example/x"),
    page("script", "404 javascript:alert(1)"),
    page("words", "404 not here", log="in quotes"),
    page("status-alone", "404"),
    page("status-fine", "200 FOLDER/index.html", log="from 400 to 599"),
    page("status-odd", "4e2 sorry"),
    page("status-large", "99999999999 sorry"),
    page("variable", '404 "%{HTTP_HOST}"', log="variables"),
    page("quote", '404 "sorry'),
    page("word", "404 sorry", route="no-errors", log='htaccess = ["errors"]'),
    page("word-default", "404 default", route="no-errors"),
    page("absent", "404 FOLDER/none.html", 404, log="there is no such file"),
    page("absent-folder", "404 FOLDER/none/none.html", 404, log="there is no such file"),
    page("absent-in-file", "404 FOLDER/x.txt/none.html", 404),
    page("default", "404 default", 404),
    page("text", "404 sorry", 404),
    *(
        Row(
            f"pages-guarded-{number}",
            {HT: f"ErrorDocument 404 /all/pages-guarded-{number}/sub/index.html\n", f"sub/{name}": text},
            500,
            "none",
            log="may keep clients from the page",
        )
        for number, (name, text) in enumerate(
            [(HT, DENIED), (OWN, 'deny = "all"\n'), (HT, link("x")), (OWN, fifo)]
        )
    ),
]
"""Pages for errors: none shows a file that its folder hides."""


def leading(name: str, target: str, status: int, location: str | None = None) -> list[Row]:
    """Return two rows in which a folder redirects to a target, one for each form of settings."""
    told = {"Location": location, "Set-Cookie": None}
    route = f"/all/ht-leads-{name}"
    return [
        ht(f"leads-{name}", f"Redirect {route}/x.txt {target}\n", status, fields=told),
        own(
            f"leads-{name}",
            f"[[redirects]]\npath = 'x.txt'\nredirect = '{target}'\n",
            500 if status != 302 else 307,
            fields=told,
        ),
    ]


LEADING = [
    *leading("script", "javascript:alert(1)", 503),
    *leading("script-slashes", "javascript://a.example/alert(1)", 503),
    *leading("file", "file:///etc/passwd", 503),
    *leading("data", "data:text/html,x", 503),
    *leading("host", "//evil.example/", 503),
    *leading("backslash", "/\\evil.example", 503),
    *leading("relative", "evil.example", 503),
    *leading("https", "https://other.example/", 302, "https://other.example/"),
    *leading("path", "/z", 302, "/z"),
    ht(
        "leads-crlf",
        'Redirect /all/ht-leads-crlf/x.txt "/z\\r\\nSet-Cookie: a=b"\n',
        503,
        fields={"Set-Cookie": None},
    ),
    ht(
        "leads-escaped",
        "Redirect /all/ht-leads-escaped/x.txt /z%0d%0aSet-Cookie:a\n",
        200,
        fields={"Set-Cookie": None},
    ),
    own(
        "leads-crlf",
        '[[redirects]]\npath = "x.txt"\nredirect = "/z\\r\\nSet-Cookie: a=b"\n',
        500,
        fields={"Set-Cookie": None},
    ),
    ht("leads-elsewhere", "Redirect /denied /z\n", 200),
    ht("leads-all", "Redirect / https://other.example/\n", 302),
    ht("leads-one", "Redirect 301 /all/z\n", 301, fields={"Location": "/all/z"}),
    ht("field-crlf", 'Header set X-A "b\\r\\nSet-Cookie: a=b"\n', 200, fields={"Set-Cookie": None}),
    ht("field-newline", 'Header set X-A "b\nSet-Cookie: a=b"\n', 500),
    ht("field-name", "Header set X-A:Set-Cookie b\n", 200, fields={"Set-Cookie": None, "X-A": None}),
    ht("field-length", "Header set Content-Length 1\n", 200),
    ht("field-coding", "Header set Transfer-Encoding chunked\n", 200, fields={"Transfer-Encoding": None}),
    own("field-crlf", 'headers = { X-A = "b\\r\\nSet-Cookie: a=b" }\n', 500, fields={"Set-Cookie": None}),
    own("field-nul", 'headers = { X-A = "b\\u0000" }\n', 500),
    own("field-name", 'headers = { "X-A: b\\r\\nX-B" = "c" }\n', 500, fields={"X-B": None}),
    own("field-length", "headers = { Content-Length = '1' }\n", 500),
    own("field-coding", "headers = { Transfer-Encoding = 'chunked' }\n", 500),
    own("field-cache", 'cache-control = "no-store\\r\\nSet-Cookie: a=b"\n', 500, fields={"Set-Cookie": None}),
    ht("realm", f'{ASKED}AuthName "A\\", Basic realm=\\"B"\n', 401),
]
"""Rules that redirect, and rules for the fields of answers."""

KINDS = [
    *(
        Row(f"kind-{form}-link", {form: link("fine"), "fine": ""}, 500, log="no regular file")
        for form in (HT, OWN)
    ),
    *(Row(f"kind-{form}-loop", {form: link(form)}, 500) for form in (HT, OWN)),
    *(Row(f"kind-{form}-outside", {form: link("/etc/passwd")}, 500) for form in (HT, OWN)),
    *(Row(f"kind-{form}-nothing", {form: link("none")}, 500) for form in (HT, OWN)),
    *(Row(f"kind-{form}-device", {form: link("/dev/zero")}, 500) for form in (HT, OWN)),
    *(Row(f"kind-{form}-fifo", {form: fifo}, 500) for form in (HT, OWN)),
    *(Row(f"kind-{form}-folder", {form: folder}, 500) for form in (HT, OWN)),
    Row("kind-link-to-folder", {"there/y.txt": HIDDEN, "here": link("there")}, 404, "here/y.txt"),
    Row("kind-link-to-file", {"there.txt": HIDDEN, "here.txt": link("there.txt")}, 404, "here.txt"),
    Row("kind-link-out", {"here": link("../../denied")}, 404, "here/x.txt"),
    Row("kind-link-to-rules", {"rules.txt": link(HT), HT: GRANTED}, 404, "rules.txt"),
]
"""Files of settings that are links, or not regular files."""

ITSELF = [
    Row(
        f"itself-{number}",
        {HT: f"# {HIDDEN}\n", OWN: f"# {HIDDEN}\n", f"sub/{HT}": f"# {HIDDEN}\n"},
        status,
        target,
    )
    for number, (target, status) in enumerate(
        [
            (".htaccess", 404),
            (".adyton.toml", 404),
            (".htpasswd", 404),
            ("sub/.htaccess", 404),
            ("%2ehtaccess", 404),
            ("%2Ehtaccess", 404),
            (".%68taccess", 404),
            (".htaccess/", 404),
            (".htaccess/x", 404),
            ("/.htaccess", 404),
            ("x.txt/.htaccess", 404),
            (".HTACCESS", 404),
            (".htaccess.", 404),
            (".htaccess%20", 404),
            (".htaccess~", 404),
            (".htaccess;x", 404),
            (".htaccess?x", 404),
            (".htaccess%00", 400),
            (".htaccess%00.txt", 400),
            ("./.htaccess", 400),
            ("sub/../.htaccess", 400),
            ("sub/%2e%2e/.htaccess", 400),
            ("sub/..%2f.htaccess", 400),
            ("sub%2f.htaccess", 404),
            ("sub%5c.htaccess", 404),
            ("sub\\.htaccess", 400),
            ("%252ehtaccess", 404),
            ("%c0%aehtaccess", 404),
            (".htaccess::$DATA", 404),
        ]
    )
]
"""Requests for the files of settings themselves, in all spellings."""

ROWS = [*WORDS, *SPELLINGS, *MISPLACED, *CODE, *SECTIONS, *PARENTS, *USERS, *PAGES, *LEADING, *KINDS, *ITSELF]


def build(project: Path, row: Row) -> None:
    """Make the folder of a row."""
    place = project / "public" / row.route / row.name
    for beneath in ("", "sub"):
        (place / beneath).mkdir(parents=True)
        for name in ("x.txt", "y.txt", "index.html"):
            (place / beneath / name).write_text(HIDDEN, encoding="utf-8")
    (place / ".htpasswd").write_text(f"ann:{BCRYPT}\n", encoding="utf-8")
    (place / ".link").symlink_to("x.txt")
    (place / ".out").symlink_to(project / "staff.htpasswd")
    (place / "out.html").symlink_to(project / "secret.html")
    os.mkfifo(place / ".fifo")
    for name, content in row.files.items():
        file = place / name
        file.parent.mkdir(exist_ok=True)
        if callable(content):
            content(file)
        elif isinstance(content, bytes):
            file.write_bytes(content)
        else:
            text = str(content).replace("{project}", str(project)).replace("{folder}", str(place))
            file.write_bytes(text.replace("{{", "{").replace("}}", "}").encode())


@pytest.fixture(scope="module")
def server(serve_session: Servers, tmp_path_factory: pytest.TempPathFactory) -> Server:
    """Serve the folders of all rows."""
    project = tmp_path_factory.mktemp("attack")
    (project / "staff.htpasswd").write_text(f"ann:{BCRYPT}\n", encoding="utf-8")
    (project / "secret.html").write_text(HIDDEN, encoding="utf-8")
    (project / "link.htpasswd").symlink_to("staff.htpasswd")
    (project / "loop").symlink_to("loop")
    os.mkfifo(project / "fifo")
    sparse("", 1 << 40)(project / "large")
    for row in ROWS:
        build(project, row)
    for name in ("denied", "asked", "own-alone", "off"):
        (project / "public" / name / "x.txt").write_text(HIDDEN, encoding="utf-8")
    return serve_session(write(project, site_of_words()).name, cwd=project)


def ask(server: Server, row: Row, method: str = "GET") -> Response:
    """Return the answer to the request of a row."""
    fields = credentials(row.user, PASSWORD) if row.user else []
    return server.fetch(f"{row.path}/{row.target}", method=method, fields=fields, lint_answers=False)


def test_there_are_many_rows() -> None:
    """Each row has a name of its own."""
    names = [row.name for row in ROWS]

    assert len(set(names)) == len(names)
    assert len(names) > 100


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_attack(server: Server, row: Row) -> None:
    """Each folder gives the same answer to every request and method, without any hidden content."""
    for method in ("GET", "HEAD", "GET"):
        answer = ask(server, row, method)

        assert row.status == answer.status, (method, answer.body[:200], told(server, row))
        assert method == "HEAD" or (row.status == 200) == (HIDDEN.encode() in answer.body)
        for name, value in row.fields.items():
            assert ([] if value is None or answer.status >= 400 else [value]) == answer.values(name), name
    refusals = {200: {405}, 302: {302}, 307: {307}}.get(row.status, {row.status, 405})
    assert ask(server, row, "POST").status in refusals
    if row.log:
        assert row.log in told(server, row)


def told(server: Server, row: Row) -> str:
    """Return the lines of the log about the folder of a row."""
    return "\n".join(line for line in server.log().splitlines() if f"{row.path}/" in line)


def test_the_server_goes_on(server: Server) -> None:
    """After all these settings, the server still serves another folder."""
    assert server.fetch("/off/x.txt", lint_answers=False).status == 200
    assert server.fetch("/denied/x.txt", lint_answers=False).status == 403
