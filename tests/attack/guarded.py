"""Attacks on the rules of a file of sites: requests, and their statuses; no answer has the secret."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass

from support.client import request

SECRET = "Rosebud"  # noqa: S105 - a word that only guarded content contains
PASSWORD = "correct horse"  # noqa: S105 - of a test

SITES = """
[server]
trusted-proxies = ["127.0.0.2", "10.0.0.0/8"]
trusted-fields = ["X-Forwarded-For", "X-Forwarded-Host"]

[[sites]]
hosts = ["a.example", "*.a.example"]
root = "public"
deny-paths = ["*.bak", "/kept/", "/alias/none/"]
rewrite = ["/alias/ -> /private/", "/to.bak -> /open.txt", "^/raw/(.*)$ -> /{1}"]

[[sites.routes]]
files = "."
static-fallback = "fallback.html"

[[sites.routes]]
path = ["/fallback.html", "/exact.txt", "/near/index.html"]
files = "."
auth = "basic:staff"

[[sites.routes]]
path = "/private/"
files = "private"
auth = "basic:staff"

[[sites.routes]]
path = "/private/open/"
files = "private/open"
auth = "off"

[[sites.routes]]
path = "*.key"
respond = 403

[[sites.routes]]
path = "/internal/"
files = "private"
internal = true

[[sites.routes]]
path = "/house/"
files = "house"
auth = "basic:staff"
allow = "127.0.0.0/8"
auth-satisfy = "any"

[[sites.routes]]
path = "/house/index.html"
files = "."
auth = "basic:staff"

[[sites.routes]]
path = "/far/"
files = "private"
allow = ["192.0.2.0/24", "fd00::/8"]

[[sites.routes]]
path = "/either/"
files = "private"
auth = "basic:staff"
allow = "192.0.2.0/24"
auth-satisfy = "any"

[[sites.routes]]
path = "/both/"
files = "private"
auth = "basic:staff"
allow = "192.0.2.0/24"

[[sites.routes]]
path = "/users/"
files = "private"
auth = "basic:staff"
auth-users = "nobody"

[[sites.routes]]
path = "/app/"
app = "guarded:application"
auth = "basic:staff"
mount = true

[[sites.routes]]
path = "/app/open/"
app = "guarded:echo"
auth = "off"

[[sites.routes]]
path = "/write/"
methods = ["PUT", "DELETE"]
app = "guarded:application"
auth = "basic:staff"

[[sites.routes]]
path = "/sends/"
app = "guarded:sends"
internal-redirects = true

[[sites.routes]]
path = "/shared/"
app = "guarded:application"
allow = "127.0.0.3"
cache = "1h"

[[sites.routes]]
path = "/cgi-bin/"
cgi = "cgi-bin"

[[sites.routes]]
path = ["/cgi-bin/a.sh", "/cgi-bin/deep/a.sh"]
respond = 403

[[sites.routes]]
path = "/end"
respond = 204

[[sites]]
hosts = ["b.example", "[::1]"]
root = "public/private"

[[sites.routes]]
files = "."
deny = ["0.0.0.0/0", "::/0"]

[[sites]]
hosts = "pages.example"
root = "public"

[[sites.routes]]
scripts = "pages"
auth = "basic:staff"

[[sites.routes]]
path = ["*status.py", "/a.py/public"]
scripts = "pages"

[[sites]]
hosts = "folders.example"
root = "folders"
htaccess = ["allow", "redirect"]
may-set = ["auth", "allow", "redirect"]

[[sites.routes]]
files = "."
scripts = "."
try = ["files", "scripts"]
static-fallback = "app.html"

[[sites.routes]]
path = "/plain/"
files = "plain"
scripts = "plain"
try = ["files", "scripts"]

[[sites.routes]]
path = "/run/"
files = "run"
cgi = { folder = "run", "*.sh" = "/bin/sh" }
try = ["files", "cgi"]
"""

APPLICATION = f"""
def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain"), ("X-Said", "{SECRET}")])
    return [b"{SECRET} ", environ["PATH_INFO"].encode("latin-1")]


def echo(environ, start_response):
    environ["wsgi.input"].read()
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"open"]


def sends(environ, start_response):
    start_response("200 OK", [("X-Accel-Redirect", environ["QUERY_STRING"])])
    return []
"""

PAGE = f"def handler(request):\n    return '{SECRET}'\n"
SCRIPT = f"#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n{SECRET}'\n"


def refusing(names: str) -> str:
    """Return the text of an `.htaccess` that denies files of these names to everybody."""
    return f'<Files "{names}">\nRequire all denied\n</Files>\n'


FILES = {
    **dict.fromkeys(
        (
            *(
                "public/fallback.html",
                "public/exact.txt",
                "public/near/index.html",
                "public/house/index.html",
            ),
            *("public/private/index.html", "public/private/data.txt", "public/private/data.txt.gz"),
            *("public/private/data.txt.br", "public/private/.htpasswd", "public/private/a b.txt"),
            *("public/old.bak", "public/old.bak.gz", "public/kept/index.html", "public/kept/x.txt"),
            *("public/door.key", "public/deep/door.key", "public/.adyton.toml", "public/.git/config"),
            *("folders/app.html", "folders/outer/inner/index.html", "folders/outer/inner/x.html"),
            "folders/kept/x.txt",
        ),
        SECRET,
    ),
    **dict.fromkeys(("public/open.txt", "public/private/open/x.txt", "folders/open.txt"), "open"),
    **dict.fromkeys(
        (
            *("public/pages/a.py", "public/pages/index.py", "public/pages/sub/index.py"),
            *("public/pages/sub/a.wsgi", "folders/plain/tool.py", "folders/plain/index.py"),
        ),
        PAGE,
    ),
    "public/pages/status.py": "def handler(request):\n    return 'open'\n",
    **dict.fromkeys(("public/cgi-bin/a.sh", "public/cgi-bin/deep/a.sh", "folders/run/a.sh"), SCRIPT),
    "folders/.htaccess": refusing("app.html"),
    "folders/plain/.htaccess": refusing("*.py"),
    "folders/run/.htaccess": refusing("*.sh"),
    "folders/outer/.htaccess": refusing("*.html"),
    "folders/outer/inner/.adyton.toml": '[[redirects]]\npath = "index.html"\nredirect = "/open.txt"\n',
    "folders/kept/.adyton.toml": 'deny = ["127.0.0.0/8"]\n',
}
"""Files in the project, beside its application and its passwords."""

END = request("/end", fields=[("Host", "a.example")])
"""A request behind each attack: it is answered 204 if the connection goes on."""


@dataclass(frozen=True)
class Attack:
    """Data that a client sends over a connection, and the statuses that it gets."""

    name: str
    data: bytes
    statuses: tuple[int, ...]
    source: str = ""
    """The client's address; empty: an address of its own, from which no password has been guessed."""

    def __str__(self) -> str:
        """Return the id of the test."""
        return self.name


def basic(said: str | bytes) -> tuple[str, str]:
    """Return the field with a name and a password."""
    raw = said.encode() if isinstance(said, str) else said
    return ("Authorization", "Basic " + b64encode(raw).decode())


def asks(
    target: str,
    *statuses: int,
    host: str = "a.example",
    method: str = "GET",
    fields: tuple[tuple[str, str], ...] = (),
    source: str = "",
) -> Attack:
    """Make an attack that is one request."""
    told = " ".join([method, target if len(target) < 60 else target[:60], host, *map(": ".join, fields)])
    name = told if len(told) < 160 else told[:160]
    return Attack(name, request(target, method=method, fields=[("Host", host), *fields]), statuses, source)


def sent(name: str, data: bytes, *statuses: int, source: str = "") -> Attack:
    """Make an attack of bytes."""
    return Attack(name, data, statuses, source)


INDEXES = [
    asks(target, status)
    for target, status in [
        ("/private/", 401), ("/private/?", 401), ("/private//", 401), ("/%70rivate%2F", 401), ("/near/", 401),
        ("/near//", 401), ("//near/", 401), ("/near/?index.html", 401), ("/near/index.html/", 404),
        ("/near/index.html%2F", 404), ("/near/index%2ehtml", 401), ("/near/index.html;a", 404),
        ("/near/index.html%00", 400), ("/near/INDEX.HTML", 404), ("/near/index.html.gz", 404),
        ("/house/", 401), ("/house//", 401), ("/house/index.html", 401), ("/kept/", 403), ("/kept", 403),
        ("/kept/none", 403), ("/raw/near/", 401), ("/raw/private/", 401), ("/raw//private/", 401),
        ("/raw/raw/private/", 401), ("/alias/", 401), ("/alias/none/x", 403), ("/alias//data.txt", 401),
        ("/alias%2fdata.txt", 401), ("/raw/kept/x.txt", 403), ("/raw/%2e%2e/private/data.txt", 400),
        ("/raw/%252e%252e/private/data.txt", 404), ("/raw/old.bak", 403), ("/to.bak", 403),
        ("/deep/none/page", 401), ("/none", 401), ("/exact.txt/x", 401), ("/exact.txt/none", 401),
    ]
]  # fmt: skip
"""Indexes, fallbacks, and paths that are changed."""

SPELLINGS = [
    asks(target, status)
    for target, status in [
        ("/exact.txt", 401), ("/%65xact.txt", 401), ("/exact%2Etxt", 401), ("//exact.txt", 401),
        ("/exact.txt/", 404), ("/exact.txt//", 404), ("/exact.txt%2f", 404), ("/exact.txt?a=/open.txt", 401),
        ("/exact.txt%3fa", 404), ("/exact.txt%23", 404), ("/exact.txt%", 400), ("/exact.txt%2", 400),
        ("/exact.txt%zz", 400), ("/exact.txt%u002e", 400), ("/%2565xact.txt", 404), ("/exact.txt%2500", 404),
        ("/exact.txt%0a", 404), ("/exact.txt%0d%0a", 404), ("/exact.txt%09", 404), ("/exact.txt%20", 404),
        ("/exact.txt.", 404), ("/exact.txt%2e", 404), ("/exact.txt~", 404), ("/exact.txt:", 404),
        ("/exact.txt,v", 404), ("/exact.txt;jsessionid=1", 404), ("/;/exact.txt", 404),
        ("/x;a=b/../exact.txt", 400), ("/./exact.txt", 400), ("/%2e/exact.txt", 400), ("/%2e%2fexact.txt",
        400),
        ("/open.txt/../exact.txt", 400), ("/open.txt/%2e%2e/exact.txt", 400), ("/.%2e/exact.txt", 400),
        ("/..;/exact.txt", 404), ("/.../exact.txt", 404), ("/%c0%ae/exact.txt", 404),
        ("/%c0%2e/exact.txt", 404), ("/%e0%80%af/exact.txt", 404), ("/%c0%afexact.txt", 404),
        ("/%ef%bc%8fexact.txt", 404), ("/%5cexact.txt", 404), ("/\\exact.txt", 400), ("/%00/exact.txt", 400),
        ("/private/data.txt", 401), ("/private/data.txt.gz", 401), ("/private/data.txt.br", 401),
        ("/private/a%20b.txt", 401), ("/private/a+b.txt", 401), ("/private/.htpasswd", 401),
        ("/private/open/../data.txt", 400), ("/private/open/..%2fdata.txt", 400),
        ("/private/open/%252e%252e/data.txt", 404), ("/private/open//../data.txt", 400),
        ("/private/open/.../data.txt", 404), ("/private/open%2f%2e%2e%2fdata.txt", 400),
        ("/private/open", 404), ("/private/open%00/data.txt", 401), ("/private%5copen/data.txt", 404),
        ("/private;/data.txt", 404), ("/private%20/data.txt", 404), ("/PRIVATE/data.txt", 404),
        ("/private./data.txt", 404), ("/privat%C3%A9/data.txt", 404), ("/internal/data.txt", 404),
        ("/%69nternal//data.txt", 404), ("/internal", 404), ("/door.key", 403), ("/deep/door.key", 403),
        ("/door.ke%79", 403), ("//deep//door.key", 403), ("/door.key?x", 403), ("/door.key/", 404),
        ("/old.bak", 403), ("/old.bak/", 403), ("/old.bak/x", 403), ("/old.bak.gz", 403), ("/old.ba%6b", 403),
        ("/old.bak.gz/", 404), ("/old.bak%00", 400), ("/.adyton.toml", 404), ("/%2eadyton.toml", 404),
        ("/.git/config", 404), ("/app", 401), ("/app/x", 401), ("/app//open/x", 200), ("/app/open/../x", 400),
        ("/app/open/%2e%2e/x", 400), ("/app/open/..%2fx", 400), ("/app/open%2f..%2fx", 400), ("/app;/open/x",
        401),
        ("/app/;/open/x", 401), ("/app/open;/x", 401), ("/%61pp/%6fpen%2e/x", 401), ("/app/open%5c..%5cx",
        401),
        ("/app/OPEN/x", 401),
    ]
]  # fmt: skip
"""Ways to write a path: a guarded path is guarded in each of them, and any other path does not exist."""

BEHIND_NAMES = [
    asks(target, status, host=host)
    for host, target, status in [
        ("a.example", "/cgi-bin/a.sh", 403), ("a.example", "/cgi-bin/a.sh/x", 403),
        ("a.example", "/cgi-bin/a.sh//", 403), ("a.example", "/cgi-bin/%61.sh%2fx", 403),
        ("a.example", "/cgi-bin/deep/a.sh/x/y.sh", 403), ("a.example", "/cgi-bin/deep//a.sh/", 403),
        ("a.example", "/raw/cgi-bin/a.sh/x", 403), ("a.example", "/cgi-bin/a.sh;x", 404),
        ("pages.example", "/a.py", 401), ("pages.example", "/a.py/x", 401),
        ("pages.example", "/", 401), ("pages.example", "/sub/", 401), ("pages.example", "/sub/a.wsgi/x", 401),
        ("pages.example", "/a.py/status.py", 401), ("pages.example", "/a.py/x/status.py", 401),
        ("pages.example", "//a.py//%73tatus.py", 401), ("pages.example", "/sub/a.wsgi/status.py", 401),
        ("pages.example", "/a.py/public", 401), ("pages.example", "/%61.py%2fpublic", 401),
        ("pages.example", "/status.py", 200), ("pages.example", "/status.py/status.py", 200),
        ("folders.example", "/open.txt", 200), ("folders.example", "/app.html", 403),
        ("folders.example", "/none/page", 403), ("folders.example", "/none", 403),
        ("folders.example", "/", 403),
        ("folders.example", "/plain/tool.py", 403), ("folders.example", "/plain/tool.py/", 403),
        ("folders.example", "/plain/tool.py/x", 403), ("folders.example", "/plain/tool%2epy//x", 403),
        ("folders.example", "/plain/tool.py%2fx.txt", 403), ("folders.example", "/plain/", 403),
        ("folders.example", "//plain//", 403), ("folders.example", "/plain/index.py/x", 403),
        ("folders.example", "/outer/inner/", 403), ("folders.example", "/outer/inner/x.html", 403),
        ("folders.example", "/outer/inner//", 403), ("folders.example", "/outer/inner/index.html", 403),
        ("folders.example", "/kept/x.txt", 403), ("folders.example", "/kept%2fx.txt", 403),
        ("folders.example", "/kept/none.py/x", 403),
        ("folders.example", "/.htaccess", 404), ("folders.example", "/kept/.adyton.toml", 403),
        ("folders.example", "/run/a.sh", 403), ("folders.example", "/run/a.sh/x", 403),
        ("folders.example", "/run//a.s%68/", 403),
    ]
]  # fmt: skip
"""Paths behind the name of a script, indexes of folders, and files that a folder refuses."""

METHODS = [
    *(
        asks("/private/data.txt", 401, method=method)
        for method in ["HEAD", "OPTIONS", "PUT", "PATCH", "get", "Get", "PROPFIND", "X", "TRACE", "COPY"]
    ),
    *(asks("/app/x", 401, method=method) for method in ["HEAD", "OPTIONS", "get", "TRACE", "SEARCH"]),
    asks("/near/", 401, method="HEAD"), asks("/none", 401, method="HEAD"), asks("/near/", 405, method="POST"),
    asks("/internal/data.txt", 404, method="OPTIONS"), asks("/write/x", 401, method="PUT"),
    asks("/write/x", 501, method="put"), asks("/write/x", 405, method="POST"), asks("/write/x", 401),
    asks("/write/x", 405, method="POST", fields=(("X-HTTP-Method-Override", "PUT"),)),
    asks("/write/x", 405, method="POST", fields=(("X-HTTP-Method", "DELETE"), ("X-Method-Override", "PUT"))),
    asks("/write/x?_method=PUT", 405, method="POST"),
    *(
        asks("/private/data.txt", 401, fields=((name, value),))
        for name, value in [
            ("Range", "bytes=0-1"), ("Range", "bytes=0-0,2-2"), ("If-None-Match", "*"), ("If-Match", '"x"'),
            ("If-Modified-Since", "Fri, 31 Dec 9999 23:59:59 GMT"), ("If-Range", '"x"'),
            ("If-Unmodified-Since", "Thu, 01 Jan 1970 00:00:00 GMT"), ("Accept-Encoding", "gzip, br"),
            ("Accept-Encoding", "identity;q=0"), ("Accept", "x/y"), ("X-Original-URL", "/open.txt"),
            ("X-Rewrite-URL", "/open.txt"), ("X-Accel-Redirect", "/internal/data.txt"), ("X-Sendfile", "/x"),
            ("Location", "/internal/data.txt"), ("Destination", "/open.txt"), ("Upgrade", "h2c"),
            ("Cookie", "REMOTE_USER=ann"), ("Remote-User", "ann"), ("X-Remote-User", "ann"),
            ("X-Forwarded-User", "ann"), ("X-Authenticated-User", "ann"), ("Proxy-Authorization",
            "Basic YTpi"),
            ("Expect", "100-continue"), ("Cache-Control", "only-if-cached"),
        ]
    ),
    asks("/open.txt", 200, fields=(("X-Original-URL", "/private/data.txt"), ("X-Rewrite-URL", "/exact.txt"))),
    asks("/app/open/x", 200, fields=(("X-HTTP-Method-Override", "DELETE"), ("X-Script-Name", "/app"))),
    asks("/sends/?/private/data.txt", 401), asks("/sends/?/near/", 401), asks("/sends/?/door.key", 403),
    asks("/sends/?/old.bak", 403), asks("/sends/?/far/data.txt", 403),
    asks("/sends/?/private/open/..%2fdata.txt", 400), asks("/sends/?//internal/data.txt", 500),
]  # fmt: skip
"""Methods, and fields that other servers believe or that ask for parts of a file."""

NO_HOST = "HTTP/1.0\r\n\r\n"

HOSTS = [
    *(
        asks("/data.txt", 403, host=host)
        for host in ["b.example", "B.Example", "b.example.", "b.example:80", "b.example.:", "[::1]",
        "[::1]:8"]
    ),
    *(
        asks("/private/data.txt", 401, host=host)
        for host in [
            "a.example", "x.a.example", ".a.example", "c.example", "b.example.c", "%62.example", "127.0.0.1",
            "localhost", "[0:0:0:0:0:0:0:1]", "xb.example", "b.example..", "_", "a" * 250,
        ]
    ),
    *(
        asks("/private/data.txt", 400, host=host)
        for host in [
            "", "a.example, b.example", "a@b.example", "a.example/", "[::1", "a.example:x", "a.example:99999",
            "a.example\\", "a.example#", "a b",
        ]
    ),
    asks("/private/data.txt", 400, fields=(("Host", "a.example"),)),
    *(
        asks(target, status, host=host)
        for target, host, status in [
            ("http://b.example/data.txt", "a.example", 403), ("HTTP://B.EXAMPLE/data.txt", "a.example", 403),
            ("http://b.example:1/data.txt", "a.example", 403), ("http://b.example", "a.example", 403),
            ("http://b.example?x", "a.example", 403), ("https://b.example//data.txt", "a.example", 403),
            ("http://a.example/private/data.txt", "b.example", 401), ("http://a.example/alias/", "b.example",
            401),
            ("http://a.example/near/", "b.example", 401), ("http://[::1]/data.txt", "a.example", 403),
            ("http://x@b.example/data.txt", "a.example", 400), ("ftp://a.example/exact.txt", "a.example",
            400),
            ("http:///exact.txt", "a.example", 400), ("http:/exact.txt", "a.example", 400),
            ("a.example/exact.txt", "a.example", 400), ("exact.txt", "a.example", 400), ("*", "b.example",
            400),
            ("//b.example/data.txt", "a.example", 404),
        ]
    ),
    asks("*", 403, host="b.example", method="OPTIONS"),
    asks("b.example:80", 403, host="b.example:80", method="CONNECT"),
    sent("HTTP/1.0 without a host", f"GET /private/data.txt {NO_HOST}".encode(), 401),
    sent("HTTP/1.0 with the host in its target", f"GET http://b.example/data.txt {NO_HOST}".encode(), 403),
    sent("HTTP/0.9", b"GET /private/data.txt\r\n\r\n", 400),
    sent("HTTP/1.0 to an index", f"GET /near/ {NO_HOST}".encode(), 401),
]  # fmt: skip
"""Hosts, and targets that name them."""

ADDRESSES = [
    *(
        asks(target, status, fields=fields)
        for target, status in [("/far/data.txt", 403), ("/both/data.txt", 403), ("/either/data.txt", 401)]
        for fields in [
            (("X-Forwarded-For", "192.0.2.1"),), (("Forwarded", "for=192.0.2.1"),), (("X-Real-IP",
            "192.0.2.1"),),
            (("X-Client-IP", "192.0.2.1"), ("Client-IP", "192.0.2.1"), ("True-Client-IP", "192.0.2.1")),
        ]
    ),
    *(
        asks("/far/data.txt", 403, fields=tuple(("X-Forwarded-For", value) for value in values),
        source="127.0.0.2")
        for values in [
            [], ["192.0.2.1, 127.0.0.1"], ["192.0.2.1, 6.6.6.6"], ["192.0.2.1", "6.6.6.6"],
            ["192.0.2.1,, 6.6.6.6,"],
            ["192.0.2.1, x"], ["192.0.2.1, unknown"], ["192.0.2.1.", ""], ["0300.0.2.1"], ["192.0.2.01"],
            ["192.0.513"], ["fd00::1, 6.6.6.6, 10.1.1.1"], ["[fd00::1"], ["fd00::1%1"], ["192.0.2.1 6.6.6.6"],
            ["6.6.6.6, 10.0.0.1", "10.9.9.9"], ["192.0.2.1/24"], ["192.0.2.1;6.6.6.6"], ['"192.0.2.1"'],
            ["::ffff:6.6.6.6"],
        ]
    ),
    asks("/far/data.txt", 403, fields=(("Forwarded", "for=192.0.2.1"),), source="127.0.0.2"),
    asks("/far/data.txt", 403, fields=(("X-Real-IP", "192.0.2.1"),), source="127.0.0.2"),
    asks("/far/data.txt", 403, fields=(("X_Forwarded_For", "192.0.2.1"),), source="127.0.0.2"),
    asks("/data.txt", 403, host="b.example", fields=(("X-Forwarded-Host", "a.example"),), source="127.0.0.2"),
    asks("/private/data.txt", 401, fields=(("X-Forwarded-Host", "c.example"),), source="127.0.0.2"),
    sent("a PROXY line that nobody is to send", b"PROXY TCP4 192.0.2.1 1.1.1.1 1 2\r\n" + END, 400),
    sent("a PROXY header that nobody is to send", b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0" + END, 400),
    asks("/shared/", 403), asks("/shared/", 403, fields=(("X-Forwarded-For", "127.0.0.3"),)),
    asks("/shared/", 403, method="HEAD"), asks("//shared/", 403), asks("/shared/?", 403),
]  # fmt: skip
"""Addresses that a client makes up: sent directly (then no field is believed), and by way of a proxy."""

RIGHT = f"ann:{PASSWORD}"

PASSWORDS = [
    *(
        asks("/private/data.txt", 401, fields=(basic(said),))
        for said in [
            "ann:", ":", f":{PASSWORD}", f"ann :{PASSWORD}", f" ann:{PASSWORD}", f"ANN:{PASSWORD}",
            f"ann:{PASSWORD} ",
            f"ann:{PASSWORD}\n", f"ann:{PASSWORD}\0", f"ann\0:{PASSWORD}", f"ann::{PASSWORD}",
            f"ann:x:{PASSWORD}",
            "ann:$2y$05$abcdefghijklmnopqrstuuHNbAKRhpaujgo33bRWs.NLUTJO3lOy2", f"*:{PASSWORD}",
            f"a%6en:{PASSWORD}",
            f"#ann:{PASSWORD}", f"nobody:{PASSWORD}", "ann", "", b"ann:\xff\xfe",
            f"ann:{PASSWORD}" + "x" * 900,
            f"ann{chr(0xFE00)}:{PASSWORD}",
        ]
    ),
    *(
        asks("/private/data.txt", 401, fields=(("Authorization", value),))
        for value in [
            "Basic", "Basic =", basic(RIGHT)[1] + "=", basic(RIGHT)[1] + ",", basic(RIGHT)[1][:-1],
            "Basic realm=x",
            basic(RIGHT)[1].replace("Basic ", "Basic\t"), basic(RIGHT)[1].replace("Basic ", "Basic: "),
            basic(RIGHT)[1].replace("Basic ", ""), basic(RIGHT)[1].replace("Basic", "Digest"),
            basic(RIGHT)[1].replace("Basic", "Negotiate"), "Basic " + RIGHT,
            basic(RIGHT)[1] + " " + basic(RIGHT)[1],
            f'Digest username="ann", realm="protected", nonce="", uri="/", response="{"0" * 32}"',
        ]
    ),
    asks("/private/data.txt", 400, fields=(basic(RIGHT), basic(RIGHT))),
    asks("/private/data.txt", 400, fields=(basic("ann:x"), basic(RIGHT))),
    asks("/private/data.txt", 401, fields=(("Proxy-Authorization", basic(RIGHT)[1]),)),
    asks("/private/data.txt", 401, fields=(("X-Authorization", basic(RIGHT)[1]),)),
    asks("/private/data.txt", 401, fields=(("Authorization-", basic(RIGHT)[1]),)),
    asks("/users/data.txt", 401, fields=(basic(RIGHT),)), asks("/users/", 401, fields=(basic(RIGHT),)),
    asks("/both/data.txt", 403, fields=(basic(RIGHT),)), asks("/far/data.txt", 403, fields=(basic(RIGHT),)),
    asks("/old.bak", 403, fields=(basic(RIGHT),)), asks("/internal/data.txt", 404, fields=(basic(RIGHT),)),
    asks("/private/.htpasswd", 404, fields=(basic(RIGHT),)),
]  # fmt: skip
"""Passwords that are malformed, of an unknown user, or not for this place."""

GUARDED = request("/private/data.txt", fields=[("Host", "a.example")])
OPEN = request("/open.txt", fields=[("Host", "a.example")])
OTHER = request("/data.txt", fields=[("Host", "b.example")])


def posted(body: bytes, *lines: str, target: str = "/app/open/x") -> bytes:
    """Return a POST with these lines and this body."""
    head = [f"POST {target} HTTP/1.1", "Host: a.example", *lines, "", ""]
    return "\r\n".join(head).encode() + body


SEQUENCES = [
    sent("open, guarded, open", OPEN + GUARDED + OPEN, 200, 401, 200),
    sent("two sites by turns", OPEN + OTHER + GUARDED + OTHER, 200, 403, 401, 403),
    sent("guarded behind a body that has it", posted(GUARDED, f"Content-Length: {len(GUARDED)}"), 200),
    sent("guarded in a chunk", posted(b"%x\r\n%b\r\n0\r\n\r\n" % (len(GUARDED), GUARDED),
                                      "Transfer-Encoding: chunked"), 200),
    sent("guarded behind a chunked body", posted(b"0\r\n\r\n", "Transfer-Encoding: chunked") + GUARDED, 200,
    401),
    sent("guarded in trailers", posted(b"0\r\nX: y\r\n" + GUARDED, "Transfer-Encoding: chunked"), 400),
    sent("two lengths", posted(GUARDED, "Content-Length: 0", f"Content-Length: {len(GUARDED)}"), 400),
    sent("a length and chunks", posted(b"0\r\n\r\n" + GUARDED, "Content-Length: 5",
    "Transfer-Encoding: chunked"), 400),
    sent("chunks of another name", posted(b"0\r\n\r\n" + GUARDED, "Transfer-Encoding: xchunked"), 501),
    sent("guarded with a body that is none", posted(GUARDED, "Content-Length: 0",
    target="/private/data.txt"), 401, 401),
    sent("a body that is not read", posted(GUARDED, "Content-Length: 100000", target="/private/data.txt"),
    401),
    sent("a password, then none", request("/app/x", fields=[("Host", "a.example"),
    basic("ann:no")]) + GUARDED, 401, 401),
    sent("a name in lower case, and a fold",
    b"GET /private/data.txt HTTP/1.1\r\nHost: a.example\r\n X: y\r\n\r\n", 400),
    sent("bare line feeds", b"GET /open.txt HTTP/1.1\nHost: a.example\n\n" + GUARDED, 400),
    sent("a request in a field", b"GET /open.txt HTTP/1.1\r\nHost: a.example\r\nX: y\r" + GUARDED, 400),
    sent("a blank before the target", b"GET  /private/data.txt HTTP/1.1\r\nHost: a.example\r\n\r\n", 400),
    sent("a tab before the target", b"GET\t/private/data.txt HTTP/1.1\r\nHost: a.example\r\n\r\n", 400),
    sent("a NUL in the target", b"GET /private\0/data.txt HTTP/1.1\r\nHost: a.example\r\n\r\n", 400),
    sent("a fragment", b"GET /private/data.txt#/open.txt HTTP/1.1\r\nHost: a.example\r\n\r\n", 400),
    sent("two targets", b"GET /open.txt /private/data.txt HTTP/1.1\r\nHost: a.example\r\n\r\n", 400),
]  # fmt: skip
"""Several requests on a connection, and bytes that another server would take for a request."""

ATTACKS = [
    *INDEXES, *SPELLINGS, *BEHIND_NAMES, *METHODS, *HOSTS, *ADDRESSES, *PASSWORDS, *SEQUENCES,
]  # fmt: skip

DIGEST_SITES = """
[[sites]]
root = "public"

[[sites.routes]]
files = "private"
auth = "digest:digests"
auth-realm = "Staff"

[[sites.routes]]
path = "/other/"
files = "private"
auth = "digest:digests"
auth-realm = "Other"

[[sites.routes]]
path = "/nobody/"
files = "private"
auth = "digest:digests"
auth-realm = "Staff"
auth-users = "nobody"
"""

DIGESTS: list[tuple[str, dict[str, str | None], str, str]] = [
    *(
        (f"{changes}", changes, "/data.txt", "GET")
        for changes in [
            {"realm": "Other"}, {"realm": ""}, {"realm": None}, {"realm": "staff"}, {"nonce": ""},
            {"nonce": None},
            {"nonce": "0" * 56}, {"nonce": "0123456789abcdef" * 3 + "01234567"}, {"nonce": "x"}, {"uri": "/"},
            {"uri": "*"}, {"uri": ""}, {"uri": None}, {"uri": "/data.txt?"}, {"uri": "/data.txt/"},
            {"uri": "//data.txt"}, {"uri": "/%64ata.txt"}, {"uri": "http://localhost/data.txt"},
            {"uri": "/open/x.txt"},
            {"nc": "00000000"}, {"nc": "0"}, {"nc": "1"}, {"nc": "000000001"}, {"nc": "-0000001"},
            {"nc": "0x000001"},
            {"nc": ""}, {"nc": None}, {"nc": "0000000g"}, {"qop": "auth-int"}, {"qop": None}, {"qop": ""},
            {"qop": "auth,auth-int"}, {"cnonce": None}, {"algorithm": "MD5-sess"},
            {"algorithm": "SHA-512-256"},
            {"algorithm": "none"}, {"algorithm": ""}, {"algorithm": "MD4"}, {"username": ""},
            {"username": None},
            {"username": "Ann"}, {"username": "ann "}, {"username": "nobody"}, {"username": "ann:Staff"},
            {"username*": "UTF-8''ann"}, {"username": None, "username*": "UTF-8''an%6F"},
            {"username": None, "username*": "ISO-8859-1''ann"}, {"userhash": "true"}, {"response": ""},
            {"response": None}, {"response": "0" * 32}, {"response": "0" * 64}, {"response": "x" * 4_000},
            {"password": ""}, {"password": "correct"}, {"password": "none"}, {"hash": "0" * 32}, {"hash": ""},
        ]
    ),
    ("another target", {}, "/index.html", "GET"),
    ("the index of the target", {"uri": "/index.html"}, "/", "GET"),
    ("a target that is spelled otherwise", {}, "/%64ata.txt", "GET"),
    ("a target with a query", {}, "/data.txt?x", "GET"),
    ("another method", {}, "/data.txt", "HEAD"),
    ("a method that is not known", {}, "/data.txt", "get"),
    ("another realm's place", {"uri": "/other/data.txt"}, "/other/data.txt", "GET"),
    ("another rule's place", {"uri": "/nobody/data.txt"}, "/nobody/data.txt", "GET"),
]  # fmt: skip
"""Changes to a right digest, and the request that is sent with the changed digest: each is refused."""
