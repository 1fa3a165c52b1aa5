"""The environment of a CGI script, name by name, compared with Apache, and with nginx and fcgiwrap."""

from __future__ import annotations

import shutil
from base64 import b64encode
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl

from originals.beside import FORM, Ask
from originals.conftest import PASSWORD
from originals.scripts import Programs, behind_nginx, ours_to_run
from support.client import chunked
from support.server import claimed_port

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from support.client import Address
    from support.server import Servers

SAY = "/cgi-bin/say.cgi"

ANN = ("Authorization", "Basic " + b64encode(f"ann:{PASSWORD}".encode()).decode())

PATHS = [SAY, f"{SAY}/", f"{SAY}/a/b", f"{SAY}?a=b&c", f"{SAY}/a/b?c=d", f"{SAY}?"]

ASKS = [
    *(Ask(path) for path in PATHS),
    *(Ask(path, "HEAD", fields=(("X-Two", "1"),)) for path in PATHS[2:4]),
    *(Ask(path, "POST", fields=(FORM,), body=b"e=f") for path in PATHS),
    Ask(SAY, "POST", body=b""),
    Ask(SAY, "POST", fields=(("Transfer-Encoding", "chunked"),), body=chunked(b"ab", b"c")),
    Ask(SAY, "PUT", body=b"x" * 100_000),
    Ask(SAY, "DELETE"),
    Ask(SAY, "OPTIONS"),
    Ask(SAY, version="1.0"),
    # Queries and paths, plain and escaped.
    Ask(f"{SAY}?a+b%20c"),
    Ask(f"{SAY}?-d"),
    Ask(f"{SAY}/a%20b/%C3%BC%FF%2B+%26?%C3%BC%20=+"),
    Ask(f"{SAY}/%25%32%30"),
    Ask("/cgi-bin/%73ay.cgi/%61"),
    Ask(f"{SAY}//a//b"),
    Ask(f"{SAY}/;a=b?c?d"),
    # Fields.
    Ask(SAY, fields=(("X-Two", "1"), ("x-two", "2"), ("X-Empty", ""), ("X-Blank", " a  b\t"))),
    Ask(SAY, fields=(("Cookie", "a=b"), ("Cookie", "c=d"))),
    Ask(SAY, fields=(("Accept", "a/b, c/d;q=0.5"), ("Accept-Language", "de"), ("User-Agent", "e (f)"))),
    Ask(SAY, fields=(("Proxy", "http://evil.example"), ("X_Under_Score", "1"), ("X-Under_Score", "2"))),
    Ask(SAY, fields=(("Content-Type", "text/plain"), ("X.Dot", "1"), ("X-Latin", "\u00fc"))),
    Ask(
        SAY, fields=(("Connection", "close, X-Own"), ("X-Own", "1"), ("Keep-Alive", "5"), ("TE", "trailers"))
    ),
    Ask(SAY, fields=(("Proxy-Authorization", ANN[1]), ("Proxy-Connection", "close"))),
    Ask(SAY, fields=(("If-None-Match", '"a"'), ("X-Forwarded-Proto", "https"))),
    Ask(SAY, fields=(ANN,)),
    Ask("/staff/say.cgi/a?b", fields=(ANN,)),
    Ask(SAY, host="other.example"),
    Ask(SAY, host="SHOP.Example:8080"),
]

ON_APACHE = [
    Ask("/cgi-bin/local.cgi/a?b=c"),
    Ask("/cgi-bin/local.cgi", "POST", fields=(FORM,), body=b"e=f"),
]
"""Requests for Apache only: nginx has no local redirects."""


class Row(NamedTuple):
    """A difference: our value, the values of the others, and the reason."""

    name: str
    ours: str
    apache: str
    nginx: str
    why: str

    def line(self) -> str:
        """Return it as a line of the guide's table."""
        return f"| `{self.name}` | {self.ours} | {self.apache} | {self.nginx} | {self.why} |"


REDIRECTED = "REDIRECT_…"
"""Stands for all names with this beginning: Apache has one for each variable of the redirected request."""

AS_HERE = "as here"
NOT = "not there"

DIFFERENCES = [
    Row("SERVER_SOFTWARE", "`Adyton/…`", "`Apache/…`", "`nginx/…`", "each its own"),
    Row(
        "SERVER_NAME",
        "the host that was asked for",
        AS_HERE,
        "the first `server_name`",
        "scripts make links of it",
    ),
    Row(
        "SERVER_PORT",
        "the port of the listener",
        "that of the field `Host`, else 80",
        AS_HERE,
        "RFC 3875 section 4.1.15",
    ),
    Row(
        "REMOTE_HOST",
        "the address",
        NOT,
        NOT,
        "no name is looked up, and the address stands for it (section 4.1.9)",
    ),
    Row("REMOTE_USER", "the user, if there is one", AS_HERE, "empty, if there is none", "section 4.1.11"),
    Row("AUTH_TYPE", "`Basic` or `Digest`, with a user", AS_HERE, NOT, "section 4.1.1"),
    Row("PATH_INFO", "not there if it is empty", AS_HERE, "empty", "section 4.1.5 allows both"),
    Row("PATH_TRANSLATED", "not there without `PATH_INFO`", AS_HERE, "the root", "section 4.1.6"),
    Row(
        "CONTENT_LENGTH",
        "the length, also of chunks",
        "not there with chunks",
        "empty without a body",
        "a script reads so many bytes",
    ),
    Row(
        "CONTENT_TYPE",
        "not there if not sent",
        "also of a POST before a local redirect",
        "empty if not sent",
        "section 4.1.3",
    ),
    Row(
        "REQUEST_URI",
        "the path that the script answers",
        "before a local redirect, the first one",
        AS_HERE,
        "links are made of it",
    ),
    Row(
        REDIRECTED,
        "`REDIRECT_STATUS`, if a route runs files by the end of their names",
        "the variables before a local redirect",
        "`REDIRECT_STATUS`",
        "`php-cgi` needs that one",
    ),
    Row("HTTP_HOST", "as sent", AS_HERE, "without the port, in small letters", "links need the port"),
    Row(
        "HTTP_AUTHORIZATION",
        "unless the route asks for a password",
        NOT,
        "there",
        "scripts may ask for passwords themselves",
    ),
    Row(
        "HTTP_COOKIE", "several fields are joined by `; `", "by `, `", "one of them", "RFC 6265 section 4.2.1"
    ),
    Row("HTTP_X_TWO", "several fields are joined by `, `", AS_HERE, "one of them", "RFC 9110 section 5.3"),
    Row(
        "HTTP_X_BLANK",
        "without the blanks around it",
        AS_HERE,
        "a tab at its end stays",
        "RFC 9110 section 5.5",
    ),
    Row("HTTP_PROXY", NOT, NOT, "there", "programs take it for their proxy (CVE-2016-5385)"),
    Row("HTTP_PROXY_AUTHORIZATION", NOT, NOT, "there", "it is a password for somebody else"),
    Row("HTTP_CONNECTION", NOT, "there", "there", "the connection is the server's business"),
    Row("HTTP_KEEP_ALIVE", NOT, "there", "there", "the field is about the connection, too"),
    Row("HTTP_TE", NOT, "there", "there", "the field is about the connection, too"),
    Row("HTTP_TRANSFER_ENCODING", NOT, "there", "there", "the body is whole, and not in chunks any more"),
    Row("HTTP_CONTENT_LENGTH", NOT, NOT, "there", "`CONTENT_LENGTH` has it (section 4.1.18)"),
    Row("HTTP_CONTENT_TYPE", NOT, NOT, "there", "`CONTENT_TYPE` has it"),
    Row(
        "PATH",
        "`/usr/local/bin:/usr/bin:/bin`",
        "the server's",
        "fcgiwrap's",
        "scripts find the same programs, whichever user starts the server",
    ),
    Row(
        "OF_ITS_OWN",
        NOT,
        NOT,
        "all of fcgiwrap's environment",
        "it may hold secrets; `cgi-environment` names what scripts need",
    ),
    Row("SERVER_ADMIN", "from `cgi-environment`", "there", AS_HERE, "Apache's own"),
    Row("SERVER_SIGNATURE", NOT, "there", NOT, "Apache's own"),
    Row("CONTEXT_PREFIX", NOT, "there", NOT, "Apache's own"),
    Row("CONTEXT_DOCUMENT_ROOT", NOT, "there", NOT, "Apache's own"),
    Row("DOCUMENT_URI", NOT, NOT, "there", "nginx's own"),
    Row("FCGI_ROLE", NOT, NOT, "there", "FastCGI's own"),
    Row(
        "(arguments)",
        "none",
        "the words of a query without `=`",
        AS_HERE,
        "`?-x` would change what an interpreter does (CVE-2012-1823)",
    ),
]

ONLY = {
    ("apache", "CONTENT_LENGTH"): "chunked",
    ("apache", "CONTENT_TYPE"): "local.cgi",
    ("apache", "REQUEST_URI"): "local.cgi",
    ("apache", REDIRECTED): "local.cgi",
    ("nginx", "HTTP_HOST"): "SHOP.Example",
}
"""Variables that differ only for some requests, and a word that these requests contain."""

GUIDE = Path(__file__).parents[2] / "docs/cgi.md"

MEASURED = {"REMOTE_PORT": "each connection has its own", "LD_LIBRARY_PATH": "the one of who runs the tests"}
"""Variables that say nothing about servers."""


def told(ask: Ask, address: Address) -> dict[str, str]:
    """Return the variables that a script gets with a request, by their names."""
    assert not isinstance(address, str)
    response = ask.response(address)
    assert 200 == response.status, f"{ask}\n  {response}"
    pairs = parse_qsl(response["X-Said"], keep_blank_values=True, strict_parsing=True, encoding="latin-1")
    port = str(address[1])
    return {
        REDIRECTED if name.startswith("REDIRECT_") else name: "its port" if value == port else value
        for name, value in pairs
        if name not in MEASURED
    }


Found = dict[tuple[str, str], list[str]]
"""For each server and name, the requests for which the value differs from ours."""


def differences(asks: Iterable[Ask], peers: Mapping[str, Address], ours: Address) -> Found:
    """Send all requests, and return the variables of the other servers that differ from ours."""
    found: Found = defaultdict(list)
    for ask in asks:
        mine = told(ask, ours)
        for peer, address in peers.items():
            theirs = told(ask, address)
            for name in {*mine, *theirs}:
                if mine.get(name) != theirs.get(name):
                    said = f"{theirs.get(name)!r}\n  ours: {mine.get(name)!r}"
                    found[peer, name].append(f"{ask!r:.300}\n  {said}")
    return found


def test_environment(serve: Servers, folder: Path, port: int) -> None:
    """Variables of the table differ between the servers; all others have the same value on each server."""
    scripts = ours_to_run(folder)
    shutil.copytree(scripts, folder / "staff")
    programs = Programs(folder, {"/cgi-bin/": scripts, "/staff/": folder / "staff"})
    ours = programs.on_ours(serve)
    with claimed_port() as other, programs.on_apache(port) as original, behind_nginx(folder, other) as nginx:
        found = differences(ASKS, {"apache": original.address, "nginx": nginx}, ours)
        for key, asks in differences(ON_APACHE, {"apache": original.address}, ours).items():
            found[key] += asks
    told_of = {
        (peer, row.name)
        for row in DIFFERENCES
        for peer, said in (("apache", row.apache), ("nginx", row.nginx))
        if said not in (AS_HERE, row.ours)
    }

    unknown = [f"{key}: {found[key][0]}" for key in sorted(found.keys() - told_of)]
    unknown += [f"{key}: {ask}" for key, word in ONLY.items() for ask in found[key] if word not in ask]
    equal = [f"{key} is the same" for key in sorted(told_of - found.keys())]

    assert not unknown + equal, "\n".join(unknown + equal)


def test_the_guide() -> None:
    """The table of the guide has these differences."""
    section = (
        GUIDE.read_text(encoding="utf-8").partition("\n## Beside Apache and nginx\n")[2].partition("\n## ")[0]
    )
    rows = [line for line in section.splitlines() if line.startswith("| `")]

    assert [row.line() for row in DIFFERENCES] == rows
