"""Cases for the framing of request bodies: rules 19 to 27."""

from __future__ import annotations

from support.cases import Case, accepted, refused
from support.client import chunked

CHUNKED = b"Transfer-Encoding: chunked"
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
"""A body that looks like a request; it must never be answered as one."""


def post(*lines: bytes, body: bytes = b"", start: bytes = b"POST / HTTP/1.1") -> bytes:
    """Return a POST with these field lines, followed by the body as given."""
    return b"\r\n".join([start, b"Host: localhost", *lines, b"", b""]) + body


def coded(value: bytes) -> bytes:
    """Return a POST with this Transfer-Encoding and a correct chunked body."""
    return post(b"Transfer-Encoding: " + value, body=chunked(b"hello"))


def length(value: bytes) -> bytes:
    """Return a POST with this Content-Length and a body of five bytes."""
    return post(b"Content-Length: " + value, body=b"hello")


def stream(body: bytes) -> bytes:
    """Return a POST with Transfer-Encoding: chunked, followed by the body as given."""
    return post(CHUNKED, body=body)


BOTH: list[Case] = [
    refused(19, "length, then coding", post(b"Content-Length: 5", CHUNKED, body=b"0\r\n\r\n")),
    refused(19, "coding, then length", post(CHUNKED, b"Content-Length: 5", body=b"0\r\n\r\n")),
    refused(
        19,
        "length covers the chunks",
        post(b"Content-Length: 5", CHUNKED, body=b"0\r\n\r\n" + SMUGGLED),
    ),
    refused(19, "length 0", post(b"Content-Length: 0", CHUNKED, body=b"0\r\n\r\n")),
    refused(
        19,
        "unknown coding and length",
        post(b"Transfer-Encoding: x", b"Content-Length: 5"),
        400,
        501,
    ),
]

LENGTHS: list[Case] = [
    accepted(20, "plain", length(b"5"), body="hello", length="5"),
    accepted(20, "zero", post(b"Content-Length: 0"), body=""),
    accepted(20, "leading zeros", length(b"0005"), body="hello"),
    accepted(20, "white space around", length(b" \t5\t "), body="hello"),
    accepted(
        20,
        "body is not a request",
        post(b"Content-Length: %d" % len(SMUGGLED), body=SMUGGLED),
        body=SMUGGLED.decode(),
    ),
    refused(20, "plus", length(b"+5")),
    refused(20, "minus", length(b"-5")),
    refused(20, "minus zero", length(b"-0")),
    refused(20, "hexadecimal", length(b"0x5")),
    refused(20, "underscore", length(b"0_5")),
    refused(20, "list of equals", length(b"5, 5")),
    refused(20, "list without space", length(b"5,5")),
    refused(20, "comma at the end", length(b"5,")),
    refused(20, "empty", length(b"")),
    refused(20, "blank", length(b"  ")),
    refused(20, "two numbers", length(b"5 5")),
    refused(20, "decimal", length(b"5.0")),
    refused(20, "exponent", length(b"5e0")),
    refused(20, "quoted", length(b'"5"')),
    refused(20, "letters", length(b"five")),
    refused(20, "Arabic digit", length("\u0665".encode())),
    refused(20, "latin-1 superscript", length(b"\xb2")),
    refused(20, "above 64 bits", length(b"18446744073709551621"), 400, 413),
    refused(20, "far above 64 bits", length(b"9" * 100), 400, 413),
    refused(20, "equal duplicates", post(b"Content-Length: 5", b"Content-Length: 5", body=b"hello")),
    refused(20, "duplicates", post(b"Content-Length: 5", b"Content-Length: 6", body=b"hello!")),
    refused(20, "bad on GET", post(b"Content-Length: x", start=b"GET / HTTP/1.1")),
]

CODINGS: list[Case] = [
    accepted(21, "chunked", coded(b"chunked"), body="hello"),
    accepted(21, "in capitals", coded(b"CHUNKED"), body="hello"),
    accepted(21, "mixed case", coded(b"Chunked"), body="hello"),
    accepted(21, "white space around", coded(b" \tchunked\t "), body="hello"),
    *(
        refused(21, name, coded(value), 400, 501)
        for name, value in [
            ("gzip", b"gzip"),
            ("identity", b"identity"),
            ("gzip, chunked", b"gzip, chunked"),
            ("chunked, gzip", b"chunked, gzip"),
            ("chunked twice", b"chunked, chunked"),
            ("identity, chunked", b"identity, chunked"),
            ("comma before", b", chunked"),
            ("comma after", b"chunked,"),
            ("empty", b""),
            ("blank", b" "),
            ("letter before", b"xchunked"),
            ("letter after", b"chunkedx"),
            ("space inside", b"chun ked"),
            ("parameter", b"chunked;q=1"),
            ("quoted", b'"chunked"'),
            ("semicolon", b"chunked;"),
        ]
    ),
    refused(21, "control before", coded(b"\x0bchunked")),
    refused(21, "two fields", post(CHUNKED, CHUNKED, body=chunked(b"hello")), 400, 501),
    refused(21, "identity, then chunked", post(b"Transfer-Encoding: identity", CHUNKED), 400, 501),
    refused(21, "on HTTP/1.0", post(CHUNKED, start=b"POST / HTTP/1.0", body=chunked(b"hello"))),
    refused(
        21,
        "on HTTP/1.0 with keep-alive",
        post(CHUNKED, b"Connection: keep-alive", start=b"POST / HTTP/1.0", body=chunked(b"hello")),
    ),
]

CHUNK_SIZES: list[Case] = [
    accepted(22, "one chunk", stream(b"5\r\nhello\r\n0\r\n\r\n"), body="hello", length="5"),
    accepted(22, "two chunks", stream(b"2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"), body="hello"),
    accepted(22, "empty", stream(b"0\r\n\r\n"), body=""),
    accepted(22, "zeros at the end", stream(b"5\r\nhello\r\n0000\r\n\r\n"), body="hello"),
    accepted(22, "lower hex", stream(b"a\r\n0123456789\r\n0\r\n\r\n"), body="0123456789"),
    accepted(22, "upper hex", stream(b"A\r\n0123456789\r\n0\r\n\r\n"), body="0123456789"),
    accepted(22, "sixteen digits", stream(b"0" * 15 + b"5\r\nhello\r\n0\r\n\r\n"), body="hello"),
    accepted(22, "CRLF is data", stream(b"4\r\n\r\n\r\n\r\n0\r\n\r\n"), body="\r\n\r\n"),
    accepted(22, "data is not a request", stream(chunked(SMUGGLED)), body=SMUGGLED.decode()),
    *(
        refused(22, name, stream(body), 400)
        for name, body in [
            ("seventeen digits", b"0" * 16 + b"5\r\nhello\r\n0\r\n\r\n"),
            ("endless digits", b"0" * 4000),
            ("plus", b"+5\r\nhello\r\n0\r\n\r\n"),
            ("minus", b"-5\r\nhello\r\n0\r\n\r\n"),
            ("0x", b"0x5\r\nhello\r\n0\r\n\r\n"),
            ("underscore", b"0_5\r\nhello\r\n0\r\n\r\n"),
            ("space before", b" 5\r\nhello\r\n0\r\n\r\n"),
            ("space after", b"5 \r\nhello\r\n0\r\n\r\n"),
            ("tab after", b"5\t\r\nhello\r\n0\r\n\r\n"),
            ("no size", b"\r\nhello\r\n0\r\n\r\n"),
            ("not hex", b"g\r\nhello\r\n0\r\n\r\n"),
            ("NUL after", b"5\0\r\nhello\r\n0\r\n\r\n"),
            ("bare LF after the size", b"5\nhello\r\n0\r\n\r\n"),
            ("bare CR after the size", b"5\rhello\r\n0\r\n\r\n"),
            ("two CR after the size", b"5\r\r\nhello\r\n0\r\n\r\n"),
            ("bare LF after the data", b"5\r\nhello\n0\r\n\r\n"),
            ("bare LF after the last size", b"5\r\nhello\r\n0\n\r\n"),
            ("bare LF at the end", b"5\r\nhello\r\n0\r\n\n"),
            ("bare LF everywhere", b"5\nhello\n0\n\n"),
        ]
    ),
    refused(22, "largest size", stream(b"f" * 16 + b"\r\nhello"), 400, 413),
    refused(22, "size with the top bit", stream(b"8" + b"0" * 15 + b"\r\nhello"), 400, 413),
]

EXTENSIONS: list[Case] = [
    *(
        accepted(23, name, stream(b"5" + value + b"\r\nhello\r\n0\r\n\r\n"), body="hello")
        for name, value in [
            ("name", b";a"),
            ("name and value", b";a=b"),
            ("quoted value", b';a="b c"'),
            ("quoted semicolon", b';a="b;c"'),
            ("quoted pair", b';a="b\\"c"'),
            ("two", b";a=b;c=d"),
        ]
    ),
    accepted(23, "on the last chunk", stream(b"5\r\nhello\r\n0;a=b\r\n\r\n"), body="hello"),
    *(
        refused(23, name, stream(b"5" + value + b"\r\nhello\r\n0\r\n\r\n"))
        for name, value in [
            ("no name", b";"),
            ("no name, but a value", b";=b"),
            ("no value", b";a="),
            ("two semicolons", b";;a"),
            ("open quote", b';a="b'),
            ("text after a quote", b';a="b"c'),
            ("NUL", b";a=b\0"),
            ("control", b";a=b\x01"),
            ("control in quotes", b';a="b\x01"'),
            ("bare CR", b";a=b\rc"),
            ("bare LF", b";a=b\nc"),
            ("bare CR in quotes", b';a="b\rc"'),
            ("bare LF in quotes", b';a="b\nc"'),
            ("no semicolon", b"a=b"),
            ("too long", b";a=" + b"b" * 300),
            ("far too long", b";a=" + b"b" * 20000),
        ]
    ),
    refused(23, "too many in all", stream((b"1;a=" + b"b" * 240 + b"\r\nx\r\n") * 80 + b"0\r\n\r\n")),
    refused(23, "without an end", stream(b"5;a=" + b"b" * 5000)),
]

DATA: list[Case] = [
    *(
        refused(24, name, stream(body))
        for name, body in [
            ("more data than said", b"5\r\nhello!\r\n0\r\n\r\n"),
            ("less data than said", b"6\r\nhello\r\n0\r\n\r\n"),
            ("no CRLF after the data", b"5\r\nhello0\r\n\r\n"),
            ("CR only after the data", b"5\r\nhello\r0\r\n\r\n"),
            ("spaces after the data", b"5\r\nhello  \r\n0\r\n\r\n"),
            ("empty line after the data", b"5\r\nhello\r\n\r\n0\r\n\r\n"),
        ]
    ),
]

TRAILERS: list[Case] = [
    accepted(
        25,
        "dropped",
        stream(b"5\r\nhello\r\n0\r\nX-A: b\r\n\r\n"),
        body="hello",
        fields={"HTTP_X_A": None},
    ),
    accepted(
        25,
        "do not join the header",
        post(CHUNKED, b"X-A: b", body=b"5\r\nhello\r\n0\r\nX-A: c\r\n\r\n"),
        fields={"HTTP_X_A": "b"},
    ),
    *(
        Case(
            25,
            f"forbidden {name.decode()}",
            stream(b"5\r\nhello\r\n0\r\n" + name + b": " + value + b"\r\n\r\n"),
            frozenset({200, 400}),
            closes=None,
            told={"body": "hello", "host": "localhost"},
            fields={"HTTP_COOKIE": None, "HTTP_AUTHORIZATION": None},
        )
        for name, value in [
            (b"Content-Length", b"3"),
            (b"Transfer-Encoding", b"chunked"),
            (b"Host", b"other"),
            (b"Authorization", b"Basic bWU6bWU="),
            (b"Cookie", b"a=b"),
            (b"Content-Type", b"text/plain"),
            (b"Content-Encoding", b"gzip"),
        ]
    ),
    *(
        refused(25, name, stream(b"5\r\nhello\r\n0\r\n" + lines + b"\r\n"), 400, 431)
        for name, lines in [
            ("no colon", b"garbage\r\n"),
            ("empty name", b": b\r\n"),
            ("space before the colon", b"X-A : b\r\n"),
            ("folded", b"X-A: b\r\n c\r\n"),
            ("bare LF", b"X-A: b\n"),
            ("bare CR", b"X-A: b\rX-C: d\r\n"),
            ("NUL", b"X-A: b\0\r\n"),
            ("too many", b"".join(b"X-%d: v\r\n" % number for number in range(300))),
            ("too long", b"X-A: " + b"b" * 70000 + b"\r\n"),
        ]
    ),
    refused(25, "without an end", stream(b"0\r\n" + b"X-A: b\r\n" * 20000), 400, 431),
]

NO_FRAMING: list[Case] = [
    accepted(26, "POST without framing", post(), body="", method="POST"),
    accepted(26, "PUT without framing", post(start=b"PUT / HTTP/1.1"), body="", method="PUT"),
    accepted(26, "POST on 1.0 without framing", post(start=b"POST / HTTP/1.0"), body="", closes=True),
    *(
        accepted(
            27,
            f"{method} with a body",
            post(
                b"Content-Length: %d" % len(SMUGGLED),
                body=SMUGGLED,
                start=method.encode() + b" / HTTP/1.1",
            ),
            body=SMUGGLED.decode(),
            method=method,
        )
        for method in ["GET", "DELETE", "OPTIONS"]
    ),
    accepted(
        27,
        "GET with chunks",
        post(CHUNKED, body=chunked(SMUGGLED), start=b"GET / HTTP/1.1"),
        body=SMUGGLED.decode(),
    ),
    *(
        Case(
            27,
            f"{name} that nobody reads",
            post(*lines, body=body, start=b"GET /unread HTTP/1.1"),
            frozenset({200}),
            closes=None,
            told={"path": "/unread"},
        )
        for name, lines, body in [
            ("body", [b"Content-Length: %d" % len(SMUGGLED)], SMUGGLED),
            ("chunks", [CHUNKED], chunked(SMUGGLED)),
        ]
    ),
]

CASES = BOTH + LENGTHS + CODINGS + CHUNK_SIZES + EXTENSIONS + DATA + TRAILERS + NO_FRAMING
