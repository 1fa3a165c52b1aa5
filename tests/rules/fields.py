"""Cases for the header section: rules 9 to 17."""

from __future__ import annotations

from support.cases import Case, accepted, refused

FIELD_BYTES_MAX = 8192
HEAD_BYTES_MAX = 65536
FIELDS_MAX = 100


def with_lines(*lines: bytes) -> bytes:
    """Return a GET with a Host field followed by these lines."""
    return b"\r\n".join([b"GET / HTTP/1.1", b"Host: localhost", *lines, b"", b""])


def with_host(value: bytes) -> bytes:
    """Return a GET with this value of Host."""
    return b"GET / HTTP/1.1\r\nHost: " + value + b"\r\n\r\n"


def numbered(count: int, size: int = 0) -> list[bytes]:
    """Return this many different fields, each with a value of `size` bytes."""
    return [b"X-%d: %b" % (number, b"v" * size) for number in range(count)]


LINE_ENDS: list[Case] = [
    refused(9, "bare LF everywhere", b"GET / HTTP/1.1\nHost: localhost\n\n"),
    refused(9, "bare LF after the request line", b"GET / HTTP/1.1\nHost: localhost\r\n\r\n"),
    refused(9, "bare LF after a field", b"GET / HTTP/1.1\r\nHost: localhost\nX-A: b\r\n\r\n"),
    refused(9, "bare LF after the last field", b"GET / HTTP/1.1\r\nHost: localhost\n\r\n"),
    refused(9, "bare LF as the empty line", b"GET / HTTP/1.1\r\nHost: localhost\r\n\n"),
    refused(9, "bare CR between fields", with_lines(b"X-A: b\rX-C: d")),
    refused(9, "bare CR at the end of a value", with_lines(b"X-A: b\r")),
    refused(9, "bare CR after the request line", b"GET / HTTP/1.1\rHost: localhost\r\n\r\n"),
    refused(9, "bare CR before a name", with_lines(b"\rX-A: b")),
    refused(9, "CR instead of the empty line", b"GET / HTTP/1.1\r\nHost: localhost\r\n\rX"),
]

NAMES: list[Case] = [
    refused(10, "space before the colon", with_lines(b"X-A : b")),
    refused(10, "tab before the colon", with_lines(b"X-A\t: b")),
    refused(10, "space before the colon of Host", b"GET / HTTP/1.1\r\nHost : localhost\r\n\r\n"),
    refused(10, "space before the colon of a length", with_lines(b"Content-Length : 5")),
    refused(11, "empty name", with_lines(b": b")),
    refused(11, "no colon", with_lines(b"garbage")),
    refused(11, "space in the name", with_lines(b"X A: b")),
    refused(11, "parenthesis", with_lines(b"X(A): b")),
    refused(11, "at sign", with_lines(b"X@A: b")),
    refused(11, "slash", with_lines(b"X/A: b")),
    refused(11, "quote", with_lines(b'X"A: b')),
    refused(11, "NUL", with_lines(b"X\0A: b")),
    refused(11, "DEL", with_lines(b"X\x7fA: b")),
    refused(11, "latin-1", with_lines(b"X-\xe9: b")),
    refused(11, "UTF-8", with_lines(b"X-\xc3\xa9: b")),
    accepted(11, "odd but legal", with_lines(b"X!#$%&'*+.^`|~: b", b"X-A: c"), fields={"HTTP_X_A": "c"}),
    refused(12, "folded with a space", with_lines(b"X-A: b", b" c")),
    refused(12, "folded with a tab", with_lines(b"X-A: b", b"\tc")),
    refused(12, "folded with a field", with_lines(b"X-A: b", b" X-C: d")),
    refused(12, "folded empty", with_lines(b"X-A: b", b" ")),
    refused(12, "folded length", with_lines(b"Content-Length:", b" 5")),
    refused(12, "folded before the first", b"GET / HTTP/1.1\r\n X: y\r\nHost: localhost\r\n\r\n"),
    refused(12, "tab before the first", b"GET / HTTP/1.1\r\n\tX: y\r\nHost: localhost\r\n\r\n"),
]

VALUES: list[Case] = [
    refused(13, "NUL", with_lines(b"X-A: b\0c")),
    refused(13, "control 1", with_lines(b"X-A: b\x01c")),
    refused(13, "control 8", with_lines(b"X-A: b\x08c")),
    refused(13, "vertical tab", with_lines(b"X-A: b\x0bc")),
    refused(13, "form feed", with_lines(b"X-A: b\x0cc")),
    refused(13, "escape", with_lines(b"X-A: b\x1bc")),
    refused(13, "unit separator", with_lines(b"X-A: b\x1fc")),
    refused(13, "DEL", with_lines(b"X-A: b\x7fc")),
    accepted(13, "tab inside", with_lines(b"X-A: b\tc"), fields={"HTTP_X_A": "b\tc"}),
    accepted(13, "spaces inside", with_lines(b"X-A: b  c"), fields={"HTTP_X_A": "b  c"}),
    accepted(13, "white space around", with_lines(b"X-A: \t b \t"), fields={"HTTP_X_A": "b"}),
    accepted(13, "no white space", with_lines(b"X-A:b"), fields={"HTTP_X_A": "b"}),
    accepted(13, "empty", with_lines(b"X-A:"), fields={"HTTP_X_A": ""}),
    accepted(13, "only white space", with_lines(b"X-A: \t "), fields={"HTTP_X_A": ""}),
    accepted(13, "latin-1", with_lines(b"X-A: caf\xe9"), fields={"HTTP_X_A": "caf\xe9"}),
    accepted(13, "UTF-8", with_lines(b"X-A: \xc3\xa9\xff"), fields={"HTTP_X_A": "\xc3\xa9\xff"}),
    accepted(13, "colons", with_lines(b"X-A: :b:c:"), fields={"HTTP_X_A": ":b:c:"}),
    accepted(13, "name in any case", with_lines(b"x-a: b"), fields={"HTTP_X_A": "b"}),
]

SIZES: list[Case] = [
    accepted(14, "long field", with_lines(b"X-A: " + b"b" * (FIELD_BYTES_MAX - 10)), path="/"),
    refused(14, "field too long", with_lines(b"X-A: " + b"b" * FIELD_BYTES_MAX), 431),
    refused(14, "name too long", with_lines(b"X" * (FIELD_BYTES_MAX + 1) + b": b"), 431),
    refused(14, "field without an end", with_lines(b"X-A: " + b"b" * FIELD_BYTES_MAX)[:-4], 431),
    refused(14, "cookie too long", with_lines(b"Cookie: a=" + b"b" * FIELD_BYTES_MAX), 431),
    accepted(14, "large head", with_lines(*numbered(60, 1000)), path="/"),
    refused(14, "head too large", with_lines(*numbered(90, 800)), 431),
    refused(14, "head without an end", with_lines(*numbered(90, 800))[:-2], 431),
    accepted(14, "many fields", with_lines(*numbered(FIELDS_MAX - 1)), path="/"),
    refused(14, "too many fields", with_lines(*numbered(FIELDS_MAX)), 431),
    refused(14, "far too many fields", with_lines(*numbered(4000)), 431),
]

HOSTS: list[Case] = [
    refused(15, "none on 1.1", b"GET / HTTP/1.1\r\n\r\n"),
    refused(15, "none on 1.1 with fields", b"GET / HTTP/1.1\r\nX-A: b\r\n\r\n"),
    refused(15, "none on 1.2", b"GET / HTTP/1.2\r\n\r\n"),
    accepted(15, "none on 1.0", b"GET / HTTP/1.0\r\n\r\n", closes=True, host=None),
    refused(15, "two", with_lines(b"Host: localhost")),
    refused(15, "two, different", with_lines(b"Host: other")),
    refused(15, "two, in another case", with_lines(b"HOST: localhost")),
    refused(15, "two on 1.0", b"GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n"),
    refused(15, "list", with_host(b"a, b")),
    refused(15, "list without a space", with_host(b"a,b")),
    refused(15, "empty", with_host(b"")),
    refused(15, "only white space", with_host(b" \t ")),
    refused(15, "space inside", with_host(b"a b")),
    refused(15, "path", with_host(b"a/b")),
    refused(15, "query", with_host(b"a?b")),
    refused(15, "fragment", with_host(b"a#b")),
    refused(15, "userinfo", with_host(b"me@a")),
    refused(15, "scheme", with_host(b"http://a")),
    refused(15, "backslash", with_host(b"a\\b")),
    refused(15, "angle brackets", with_host(b"<a>")),
    refused(15, "quote", with_host(b'a"b')),
    refused(15, "only a port", with_host(b":80")),
    refused(15, "port with letters", with_host(b"a:8o")),
    refused(15, "port with a sign", with_host(b"a:-1")),
    refused(15, "port out of range", with_host(b"a:65536")),
    refused(15, "two ports", with_host(b"a:80:80")),
    refused(15, "IPv6 without brackets", with_host(b"::1")),
    refused(15, "IPv6 without the end", with_host(b"[::1")),
    refused(15, "IPv6 and letters", with_host(b"[::1]a")),
    refused(15, "IPv6 with letters", with_host(b"[::g]")),
    refused(15, "raw UTF-8", with_host(b"caf\xc3\xa9.example")),
    accepted(15, "name and port", with_host(b"example.org:80"), host="example.org:80"),
    accepted(15, "capitals", with_host(b"EXAMPLE.org"), host="EXAMPLE.org"),
    accepted(15, "final dot", with_host(b"example.org."), host="example.org."),
    accepted(15, "IPv4", with_host(b"127.0.0.1:8000"), host="127.0.0.1:8000"),
    accepted(15, "IPv6", with_host(b"[::1]:8000"), host="[::1]:8000"),
    accepted(15, "underscore", with_host(b"a_b.example"), host="a_b.example"),
]

REPEATED: list[Case] = [
    refused(16, f"two {name.decode()}", with_lines(name + b": " + value, name + b": " + value))
    for name, value in [
        (b"Authorization", b"Basic bWU6bWU="),
        (b"Content-Length", b"0"),
        (b"Content-Type", b"text/plain"),
        (b"Transfer-Encoding", b"chunked"),
    ]
] + [
    accepted(16, "lists are joined", with_lines(b"X-A: b", b"X-A: c"), fields={"HTTP_X_A": "b, c"}),
    accepted(
        16,
        "cookies are joined",
        with_lines(b"Cookie: a=b", b"Cookie: c=d"),
        fields={"HTTP_COOKIE": "a=b; c=d"},
    ),
]

SHADOWS: list[Case] = [
    accepted(
        17,
        "underscore does not become a dash",
        with_lines(b"X_Forwarded_For: 1.2.3.4"),
        fields={"HTTP_X_FORWARDED_FOR": None},
    ),
    accepted(
        17,
        "underscore does not shadow the dash",
        with_lines(b"X-Forwarded-For: 5.6.7.8", b"X_Forwarded_For: 1.2.3.4"),
        fields={"HTTP_X_FORWARDED_FOR": "5.6.7.8"},
    ),
    accepted(
        17,
        "underscore first does not shadow the dash",
        with_lines(b"X_Forwarded-For: 1.2.3.4", b"X-Forwarded-For: 5.6.7.8"),
        fields={"HTTP_X_FORWARDED_FOR": "5.6.7.8"},
    ),
    accepted(
        17,
        "dots do not become underscores",
        with_lines(b"X.Forwarded.For: 1.2.3.4"),
        fields={"HTTP_X_FORWARDED_FOR": None, "HTTP_X.FORWARDED.FOR": None},
    ),
    accepted(17, "httpoxy", with_lines(b"Proxy: evil"), fields={"HTTP_PROXY": None}),
    accepted(
        17,
        "content type and length have no HTTP_",
        with_lines(b"Content-Type: a/b", b"Content-Length: 0"),
        fields={"HTTP_CONTENT_TYPE": None, "HTTP_CONTENT_LENGTH": None},
    ),
    accepted(
        17,
        "underscore length frames nothing",
        with_lines(b"Content_Length: 5"),
        body="",
    ),
    accepted(
        17,
        "underscore coding frames nothing",
        with_lines(b"Transfer_Encoding: chunked"),
        body="",
    ),
]

CASES = LINE_ENDS + NAMES + VALUES + SIZES + HOSTS + REPEATED + SHADOWS
