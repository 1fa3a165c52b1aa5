"""Cases for the request line and the target: rules 1 to 8."""

from __future__ import annotations

from support.cases import Case, accepted, either, refused

END = b"\r\nHost: localhost\r\n\r\n"
LINE_BYTES_MAX = 8192
METHOD_BYTES_MAX = 32


def line(text: bytes) -> bytes:
    """Return a request with this request line and a Host."""
    return text + END


def get(target: bytes, host: bytes = b"localhost") -> bytes:
    """Return a GET for this target."""
    return b"GET " + target + b" HTTP/1.1\r\nHost: " + host + b"\r\n\r\n"


def long_target(line_bytes: int) -> bytes:
    """Return a target with which the whole line, CRLF included, has this length."""
    return b"/" + b"a" * (line_bytes - len(b"GET / HTTP/1.1\r\n"))


METHODS: list[Case] = [
    accepted(1, "GET", line(b"GET /a HTTP/1.1"), method="GET", target="/a"),
    accepted(1, "DELETE", line(b"DELETE /a HTTP/1.1"), method="DELETE"),
    accepted(1, "PATCH without body", line(b"PATCH /a HTTP/1.1"), method="PATCH", body=""),
    either(1, "lower case is another method", line(b"get / HTTP/1.1"), 501, method="get"),
    either(1, "mixed case is another method", line(b"Get / HTTP/1.1"), 501, method="Get"),
    either(1, "unknown", line(b"FROBNICATE / HTTP/1.1"), 501, method="FROBNICATE"),
    either(1, "all kinds of token", line(b"A!#$%&'*+-.^_`|~9 / HTTP/1.1"), 501),
    refused(1, "method with (", line(b"GE(T / HTTP/1.1")),
    refused(1, "method with @", line(b"G@T / HTTP/1.1")),
    refused(1, "method with NUL", line(b"G\0T / HTTP/1.1")),
    refused(1, "method with a colon", line(b"GET: / HTTP/1.1")),
    refused(1, "method not ASCII", line(b"G\xc3\x89T / HTTP/1.1")),
    refused(1, "no method", line(b" / HTTP/1.1")),
]

TARGETS: list[Case] = [
    accepted(2, "plain", get(b"/a/b?c=d&e"), path="/a/b", query="c=d&e", target="/a/b?c=d&e"),
    accepted(2, "question mark in query", get(b"/a?b?c"), path="/a", query="b?c"),
    accepted(2, "empty query", get(b"/a?"), path="/a", query=""),
    accepted(2, "percent", get(b"/%41%20b"), path="/A b", target="/%41%20b"),
    accepted(2, "odd but legal", get(b"/!$&'()*+,;=:@-._~"), path="/!$&'()*+,;=:@-._~"),
    refused(2, "space", get(b"/a b")),
    refused(2, "tab", get(b"/a\tb")),
    refused(2, "NUL", get(b"/a\0b")),
    refused(2, "control", get(b"/a\x01b")),
    refused(2, "escape", get(b"/a\x1bb")),
    refused(2, "DEL", get(b"/a\x7fb")),
    refused(2, "vertical tab", get(b"/a\x0bb")),
    refused(2, "raw latin-1", get(b"/caf\xe9")),
    refused(2, "raw UTF-8", get(b"/caf\xc3\xa9")),
    refused(2, "raw UTF-8 in the query", get(b"/?q=caf\xc3\xa9")),
    refused(2, "fragment", get(b"/a#b")),
    refused(2, "fragment in the query", get(b"/a?b#c")),
    refused(2, "bare CR", get(b"/a\rb")),
]

SPACES: list[Case] = [
    refused(3, "two spaces before the target", line(b"GET  / HTTP/1.1")),
    refused(3, "two spaces before the version", line(b"GET /  HTTP/1.1")),
    refused(3, "tab before the target", line(b"GET\t/ HTTP/1.1")),
    refused(3, "tab before the version", line(b"GET /\tHTTP/1.1")),
    refused(3, "vertical tab before the version", line(b"GET /\x0bHTTP/1.1")),
    refused(3, "form feed before the target", line(b"GET\x0c/ HTTP/1.1")),
    refused(3, "leading space", line(b" GET / HTTP/1.1")),
    refused(3, "trailing space", line(b"GET / HTTP/1.1 ")),
    refused(3, "trailing tab", line(b"GET / HTTP/1.1\t")),
    refused(3, "no target", line(b"GET HTTP/1.1")),
    refused(3, "empty target", line(b"GET  HTTP/1.1")),
    refused(3, "more words", line(b"GET / HTTP/1.1 more")),
    refused(3, "two targets", line(b"GET / /b HTTP/1.1")),
]

VERSIONS: list[Case] = [
    accepted(4, "1.1", line(b"GET / HTTP/1.1"), protocol="HTTP/1.1"),
    accepted(4, "1.2 is 1.1", line(b"GET / HTTP/1.2"), protocol="HTTP/1.1"),
    accepted(4, "1.0", line(b"GET / HTTP/1.0"), protocol="HTTP/1.0", closes=True),
    refused(4, "1.10", line(b"GET / HTTP/1.10")),
    refused(4, "lower case", line(b"GET / http/1.1")),
    refused(4, "no minor", line(b"GET / HTTP/1")),
    refused(4, "empty minor", line(b"GET / HTTP/1.")),
    refused(4, "no major", line(b"GET / HTTP/.1")),
    refused(4, "no dot", line(b"GET / HTTP/11")),
    refused(4, "comma", line(b"GET / HTTP/1,1")),
    refused(4, "sign", line(b"GET / HTTP/+1.1")),
    refused(4, "leading zero", line(b"GET / HTTP/01.1")),
    refused(4, "letters after", line(b"GET / HTTP/1.1x")),
    refused(4, "other name", line(b"GET / HTTQ/1.1")),
    refused(4, "only the name", line(b"GET / HTTP")),
    refused(4, "space in it", line(b"GET / HTTP /1.1")),
    refused(4, "0.9 spelt out", line(b"GET / HTTP/0.9"), 400, 505),
    refused(4, "2.0", line(b"GET / HTTP/2.0"), 505),
    refused(4, "3.0", line(b"GET / HTTP/3.0"), 505),
    refused(4, "9.9", line(b"GET / HTTP/9.9"), 505),
]

FORMS: list[Case] = [
    accepted(5, "absolute", get(b"http://localhost/a?b"), path="/a", query="b", host="localhost"),
    accepted(5, "absolute without path", get(b"http://localhost"), path="/"),
    accepted(5, "absolute, query without path", get(b"http://localhost?b"), query="b"),
    accepted(5, "absolute with port", get(b"http://localhost:8000/a", b"localhost:8000"), path="/a"),
    accepted(5, "absolute in capitals", get(b"HTTP://LOCALHOST/a"), path="/a"),
    accepted(5, "two slashes are a path", get(b"//localhost/a"), target="//localhost/a"),
    accepted(5, "authority is not Host", get(b"http://other/a"), path="/a", host="other"),
    accepted(5, "port is not Host's", get(b"http://localhost:1/a", b"localhost:2"), host="localhost:1"),
    accepted(
        5,
        "absolute in 1.0 without Host",
        b"GET http://a/b HTTP/1.0\r\n\r\n",
        path="/b",
        host="a",
        closes=True,
    ),
    refused(5, "absolute with a Host that is none", get(b"http://localhost/a", b"localhost/")),
    refused(5, "absolute with userinfo", get(b"http://me@localhost/a")),
    refused(5, "absolute without authority", get(b"http:///a")),
    refused(5, "other scheme", get(b"ftp://localhost/a")),
    refused(5, "absolute without Host", b"GET http://localhost/a HTTP/1.1\r\n\r\n"),
    refused(5, "relative", get(b"a/b")),
    refused(5, "only a query", get(b"?a")),
    refused(5, "authority without CONNECT", get(b"localhost:80")),
    refused(5, "asterisk without OPTIONS", get(b"*")),
    refused(5, "asterisk and more", line(b"OPTIONS *a HTTP/1.1")),
    Case(5, "asterisk with OPTIONS", line(b"OPTIONS * HTTP/1.1"), frozenset({200, 204}), closes=None),
    Case(
        5,
        "CONNECT",
        b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost:80\r\n\r\n",
        frozenset({405, 501}),
        closes=None,
    ),
    refused(5, "CONNECT with a path", line(b"CONNECT / HTTP/1.1"), 400, 405, 501),
    refused(5, "OPTIONS with an authority", line(b"OPTIONS localhost:80 HTTP/1.1")),
    Case(37, "TRACE", line(b"TRACE / HTTP/1.1"), frozenset({405, 501}), closes=None),
]

LIMITS: list[Case] = [
    accepted(6, "longest line", get(long_target(LINE_BYTES_MAX)), query=""),
    refused(6, "line too long", get(long_target(LINE_BYTES_MAX + 3)), 414),
    refused(6, "line much too long", get(long_target(6 * LINE_BYTES_MAX)), 414),
    refused(6, "line without an end", b"GET /" + b"a" * 2 * LINE_BYTES_MAX, 414),
    refused(6, "query too long", get(b"/?" + b"a" * LINE_BYTES_MAX), 414),
    either(6, "longest method", line(b"M" * METHOD_BYTES_MAX + b" / HTTP/1.1"), 501),
    refused(6, "method too long", line(b"M" * (METHOD_BYTES_MAX + 1) + b" / HTTP/1.1"), 400, 501),
    refused(6, "method without an end", b"M" * 4 * METHOD_BYTES_MAX, 400, 501),
]

BEFORE: list[Case] = [
    accepted(7, "one empty line before", b"\r\n" + get(b"/a"), path="/a"),
    refused(7, "two empty lines before", b"\r\n\r\n" + get(b"/a")),
    refused(7, "bare LF before", b"\n" + get(b"/a")),
    refused(7, "bare CR before", b"\r" + get(b"/a")),
    refused(7, "space before", b" \r\n" + get(b"/a")),
    refused(7, "HTTP/0.9", b"GET /\r\n"),
    refused(7, "HTTP/0.9 without a target", b"GET\r\n"),
    refused(7, "HTTP/0.9 with fields", line(b"GET /")),
]

TLS_HELLO = bytes.fromhex("16030100c8010000c40303") + bytes(range(64)) + b"\x00\x20\x13\x01"

OTHER_PROTOCOLS: list[Case] = [
    refused(8, "TLS", TLS_HELLO),
    refused(8, "TLS, first five bytes", TLS_HELLO[:5]),
    refused(8, "SSL 2", bytes.fromhex("802e0100020015000000100100")),
    refused(8, "HTTP/2 preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, 505),
    refused(8, "SSH", b"SSH-2.0-OpenSSH_9.6\r\n"),
    refused(8, "PROXY protocol", b"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n" + get(b"/")),
    refused(8, "a response", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    refused(8, "only zeros", b"\0" * 64),
    refused(8, "only 0xff", b"\xff" * 64),
]

CASES = METHODS + TARGETS + SPACES + VERSIONS + FORMS + LIMITS + BEFORE + OTHER_PROTOCOLS
