"""Fields and PROXY headers about clients count if a trusted proxy sends them; else they are hidden."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from sites.conftest import write
from support.client import request
from support.server import run

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Servers

FILE = """
[server]
trusted-proxies = ["127.0.0.1", "10.0.0.0/8"]
trusted-fields = ["X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Script-Name"]
access-log = "access.log"

[[sites]]
[[sites.routes]]
app = "shop:proxied"

[[sites.routes]]
path = "/handler/"
handler = "shop:proxied_handler"

[[sites.routes]]
path = "/near/"
app = "shop:proxied"
allow = "192.0.2.0/24"

[[sites.routes]]
path = "/blog/"
app = "shop:proxied"
mount = true
"""

SAID = [
    ("X-Forwarded-For", "6.6.6.6, 192.0.2.7, 10.1.1.1"),
    ("X-Forwarded-Proto", "https"),
    ("X-Forwarded-Host", "shop.example"),
    ("X-Script-Name", "/front"),
    ("X-Real-IP", "6.6.6.6"),
    ("X-Scheme", "ftp"),
    ("X-Mine", "mine"),
]

TOLD = {
    "REMOTE_ADDR": "192.0.2.7",
    "REMOTE_PORT": None,
    "wsgi.url_scheme": "https",
    "HTTPS": "on",
    "HTTP_HOST": "shop.example",
    "SCRIPT_NAME": "/front",
    "HTTP_X_FORWARDED_FOR": "192.0.2.7, 10.1.1.1",
    "HTTP_X_FORWARDED_PROTO": "https",
    "HTTP_X_REAL_IP": None,
    "HTTP_X_SCHEME": None,
    "HTTP_X_MINE": "mine",
}
"""Variables that an application gets for the fields of a trusted proxy."""


def test_trusted(serve: Servers, project: Path) -> None:
    """The word of a trusted proxy about a client counts for applications, handlers, rules and logs."""
    server = serve(write(project, FILE), cwd=project)
    told = server.fetch("/", fields=SAID, lint_answers=False).json()
    handler = server.fetch("/handler/", fields=SAID, lint_answers=False).json()

    assert TOLD.items() <= told.items()
    assert ["192.0.2.7", 0, "https", "shop.example"] == handler[:4]
    assert "192.0.2.7, 10.1.1.1" == handler[4]["x-forwarded-for"]
    assert "x-real-ip" not in handler[4]
    assert [200, 403] == [
        server.fetch("/near/", fields=fields, lint_answers=False).status for fields in (SAID, SAID[1:])
    ]
    mounted = server.fetch("/blog/x", fields=SAID, lint_answers=False).json()
    assert ["/front/blog", "/x"] == [mounted["SCRIPT_NAME"], mounted["PATH_INFO"]]
    plain = server.fetch("/", lint_answers=False).json()
    assert ["127.0.0.1", "http", None] == [
        plain[key] for key in ("REMOTE_ADDR", "wsgi.url_scheme", "HTTP_X_FORWARDED_FOR")
    ]
    server.stop()
    clients = [line.split()[0] for line in (project / "access.log").read_text(encoding="utf-8").splitlines()]
    assert ["192.0.2.7", "192.0.2.7", "192.0.2.7", "127.0.0.1", "192.0.2.7", "127.0.0.1"] == clients


def test_not_trusted(serve: Servers, project: Path) -> None:
    """From untrusted clients, no field that a proxy could send about a client reaches the application."""
    server = serve(write(project, FILE.replace('"127.0.0.1", ', "")), cwd=project)
    told = server.fetch("/", fields=SAID, lint_answers=False).json()

    hidden = dict.fromkeys(key for key in TOLD if key.startswith("HTTP_X_")) | {"HTTP_X_MINE": "mine"}
    assert hidden.items() <= told.items()
    assert ["127.0.0.1", "http", ""] == [
        told[key] for key in ("REMOTE_ADDR", "wsgi.url_scheme", "SCRIPT_NAME")
    ]


def header(version: int, client: str) -> bytes:
    """Return a header of the PROXY protocol for a client at port 4711."""
    if version == 1:
        return f"PROXY TCP4 {client} 198.51.100.1 4711 80\r\n".encode()
    addresses = socket.inet_aton(client) + socket.inet_aton("198.51.100.1") + b"\x12\x67\x00\x50"
    return b"\r\n\r\n\0\r\nQUIT\n\x21\x11" + len(addresses).to_bytes(2, "big") + addresses


@pytest.mark.parametrize("version", [1, 2])
def test_proxy_protocol(serve: Servers, project: Path, version: int) -> None:
    """A connection begins with a PROXY header, in any pieces; a connection without it is refused."""
    server = serve("shop:proxied", "--trusted-proxies=127.0.0.1", "--proxy-protocol", cwd=project)
    said = header(version, "192.0.2.7")
    for in_pieces in (False, True):
        with server.connect(lint_answers=False) as connection:
            (connection.send_in_pieces if in_pieces else connection.send)(said + request("/"))
            first, second = connection.receive(), connection.get("/", fields=[("X-Forwarded-For", "6.6.6.6")])

            for answer in (first, second):
                told = answer.json()
                assert ["192.0.2.7", "4711"] == [told["REMOTE_ADDR"], told["REMOTE_PORT"]]
                # The client behind the proxy is not trusted.
                assert told["HTTP_X_FORWARDED_FOR"] is None
    for wrong in (request("/"), said[:10] + b"x" * 100, b"PROXY TCP4 a b 1 2\r\n"):
        with server.connect(lint_answers=False) as connection:
            connection.send(wrong)

            assert 400 == connection.receive().status
            assert connection.at_end()


def test_wrong_settings(project: Path) -> None:
    """A setting that needs another setting is a mistake without it, and so are unknown names."""
    for arguments, words in [
        (["--proxy-protocol"], "proxy-protocol: it goes with trusted-proxies"),
        (["--trusted-fields=X-Real-IP"], "trusted-fields: it goes with trusted-proxies"),
        (["--trusted-proxies=10.0.0.0/33"], "such an address has 32 bits"),
        (["--trusted-fields=X-Forward-For"], "write one of Forwarded, X-Forwarded-For, "),
        (["--forwarded-allow-ips=*"], "--trusted-proxies"),
    ]:
        done = run("check", "shop:proxied", *arguments, cwd=project)

        assert 2 == done.returncode, arguments
        assert words in done.stderr
