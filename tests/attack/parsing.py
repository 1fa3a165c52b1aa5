"""Attacks on the parser: bytes, the statuses of their answers in order, and the requests that get through."""

from __future__ import annotations

from dataclasses import dataclass

from support.client import request

SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
"""Bytes behind each attack: a server that reads them as a request has lost the framing."""
AFTER = request("/after")
OK, BAD = 200, 400


@dataclass(frozen=True)
class Attack:
    """The bytes of one connection, after which the client closes its sending half."""

    name: str
    data: bytes
    statuses: tuple[int, ...]
    seen: tuple[str, ...] = ()
    """Methods and targets that reach the application, in order."""

    def __str__(self) -> str:
        """Return the id of the test."""
        return self.name


def refused(name: str, data: bytes, status: int = BAD) -> Attack:
    """Make an attack that gets one error, after which nothing is read as a request."""
    return Attack(name, data + SMUGGLED, (status,))


def taken(name: str, data: bytes, *seen: str) -> Attack:
    """Make an attack that is valid after all: it is answered, and so is the request behind it."""
    return Attack(name, data + AFTER, (OK,) * (len(seen) + 1), (*seen, "GET /after"))


def post(*lines: bytes, body: bytes = b"", start: bytes = b"POST / HTTP/1.1") -> bytes:
    """Return a request with these field lines, Host, no other field, and this body."""
    return b"\r\n".join([start, b"Host: localhost", *lines, b"", b""]) + body


def get(target: bytes, host: bytes = b"localhost") -> bytes:
    """Return a GET with a target as it is."""
    return b"GET " + target + b" HTTP/1.1\r\nHost: " + host + b"\r\n\r\n"


CHUNKS = b"5\r\nhello\r\n0\r\n\r\n"
CHUNKED = b"Transfer-Encoding: chunked"

LENGTHS = [
    refused(f"length {value!r}", post(b"Content-Length:" + value, body=b"hello"))
    for value in [
        b"+0", b" 5;q=1", b" 5#", b" 5\xa0", b"\xa05", b" \xef\xbc\x95", b" 5 ,", b",5", b" 5,0", b" 0,5",
        b" 5\t5", b" 5\t\t0", b" 0b101", b" 0o5", b" 5L", b" 5h", b" 5.", b" .5", b" 5e", b" (5)",
        b" 5 (five)", b" '5'", b" NaN", b" inf", b" -18446744073709551611", b" --5", b" \xe2\x88\x925",
        b" 5\x85", b" 5%20", b" %35", b" 5\\r\\n", b" 5=", b" 5:5", b" 5/5", b" 5*1", b" 1_0", b" 1'0",
        b" ,", b" ;", b" null",
    ]
] + [
    refused(f"length of {value}", post(b"Content-Length: %d" % value, body=b"hello"), 413)
    for value in [1 << 31, 1 << 32, (1 << 32) + 5, (1 << 53) + 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]
] + [
    taken(f"{zeros} zeros before the length",
          post(b"Content-Length: " + b"0" * zeros + b"5", body=b"hello"), "POST /")
    for zeros in (1, 18, 19, 20, 64)
]  # fmt: skip

TWO_LENGTHS = [
    refused(f"{first!r} and {second!r}", post(first, second, body=b"hello"))
    for first, second in [
        (b"Content-Length: 5", b"content-length: 5"),
        (b"Content-Length: 5", b"CONTENT-LENGTH: 0"),
        (b"Content-Length: 0", b"Content-Length: 5"),
        (b"Content-Length: 5", b"Content-Length:"),
        (b"Content-Length:", b"Content-Length: 5"),
        (b"Content-Length: 5", b"Content-Length : 0"),
        (b"Content-Length: 5", b"Content-Length\t: 0"),
        (b"Content-Length: 5", b" Content-Length: 0"),
        (b"Content-Length: 5", b"\tContent-Length: 0"),
        (b"Content-Length: 5", b"Transfer-Encoding: identity"),
        (b"Content-Length: 5", b"transfer-encoding:chunked"),
        (b"Content-Length: 5", b"Transfer-Encoding:"),
        (b"Content-Length: 5", b"Transfer-Encoding:\tchunked"),
        (b"Content-Length: 5", b"Transfer-Encoding : chunked"),
        (b"Content-Length: 5", b"Transfer-Encoding"),
        (b"Content-Length: 5", b"X: y\rTransfer-Encoding: chunked"),
        (b"Content-Length: 5", b"X: y\nTransfer-Encoding: chunked"),
        (b"Content-Length: 5", b"X: y\r\r\nTransfer-Encoding: chunked"),
        (b"Content-Length: 5", b"X:\0\r\nTransfer-Encoding: chunked"),
        (b"Content-Length: 5", b": \r\nTransfer-Encoding: chunked"),
        (b"Content-Length: 5", b"\0Transfer-Encoding: chunked"),
        (b"Content-Length: 5", b"Transfer-Encoding\0: chunked"),
        (b"Content-Length: 5", b"Transfer\xadEncoding: chunked"),
    ]
]  # fmt: skip

HARMLESS = [
    taken(f"{line!r} frames nothing", post(b"Content-Length: 5", line, body=b"hello"), "POST /")
    for line in [
        b"Content_Length: 0", b"Content-Length-: 0", b"X-Content-Length: 0", b"Content.Length: 0",
        b"Transfer_Encoding: chunked", b"Transfer-Encoding_: chunked", b"X-Transfer-Encoding: chunked",
        b"Transfer-Encodings: chunked", b"TransferEncoding: chunked", b"TE: trailers", b"TE: chunked",
        b"Trailer: Content-Length", b"Connection: Content-Length", b"Connection: Transfer-Encoding",
        b"Connection: Host", b"Connection: keep-alive, Content-Length", b"Content-Encoding: gzip",
        b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABkAAQAAP__", b"X: Transfer-Encoding: chunked",
        b"X-HTTP-Method-Override: CONNECT", b"Keep-Alive: timeout=-1", b"Accept:", b"X: \xff\xfe",
    ]
]  # fmt: skip

CODINGS = [
    refused(f"coding {value!r}", post(b"Transfer-Encoding:" + value, body=CHUNKS), status)
    for value, status in [
        (b" chunked\0", BAD), (b" \x0cchunked", BAD), (b" chunked\x7f", BAD), (b" chunked\r", BAD),
        (b" ,", BAD), (b" chunked\xa0", BAD), (b" chun\xe2\x84\xaaed", BAD), (b" chunked,chunked", BAD),
        (b" chunked=", BAD), (b" chunked/1.1", BAD), (b" chunked, identity", BAD),
        (b" chunked chunked", BAD), (b" chunked\tx", BAD), (b" \\chunked", BAD), (b" chunked;", 501),
        (b" x-chunked", 501), (b" deflate,chunked", 501), (b" 1", 501), (b" trailers", 501),
        (b" 'chunked'", 501),
    ]
] + [
    refused(f"coding in {name}", post(*lines, body=CHUNKS), status)
    for name, lines, status in [
        ("two fields, the second empty", [CHUNKED, b"Transfer-Encoding:"], BAD),
        ("two fields, the first empty", [b"Transfer-Encoding:", CHUNKED], BAD),
        ("two fields of other case", [CHUNKED, b"TRANSFER-ENCODING: chunked"], BAD),
        ("two fields far apart", [CHUNKED, *[b"X-%d: y" % n for n in range(50)], b"transfer-encoding: x"],
         BAD),
        ("a folded line", [b"Transfer-Encoding:", b" chunked"], BAD),
        ("a line folded after it", [CHUNKED, b" , identity"], BAD),
    ]
]  # fmt: skip

CHUNK_LINES = [
    refused(f"chunk {line!r}", post(CHUNKED, body=line + b"hello\r\n0\r\n\r\n"))
    for line in [
        b"5\r\n\r\n", b"05 \r\n", b"5\x0b\r\n", b"5\x0c\r\n", b"5\xa0\r\n", b"5\r\r\n", b"\n5\r\n",
        b"\r\n5\r\n", b"5;\r\n", b"5; \r\n", b"5;a\x0b=b\r\n", b"5;a=b;\r\n", b'5;a="\r\n',
        b'5;a="b\\\r\n', b'5;a="\r\n"\r\n', b'5;a="\\\0"\r\n', b"5;a=b c\r\n", b"5;\xff\r\n",
        b"5;a=\xff\r\n", b"5,5\r\n", b"5.0\r\n", b"5h\r\n", b"0x05\r\n", b"\\x5\r\n", b"5#\r\n", b"5:\r\n",
        b"5=\r\n", b"-0\r\n", b"+0\r\n", b"00000000000000005\r\n", b"G\r\n", b"\xef\xbc\x95\r\n",
        b"\xd9\xa5\r\n", b"five\r\n", b"'5'\r\n", b"5\t;a\t=b\x01\r\n",
    ]
] + [
    refused("the last chunk " + repr(line), post(CHUNKED, body=b"5\r\nhello\r\n" + line))
    for line in [
        b"0\n\r\n", b"0\r\r\n\r\n", b"0 \r\n\r\n", b"-0\r\n\r\n", b"0x0\r\n\r\n", b"0;\r\n\r\n",
        b"0\r\n\n", b"0\r\n\r\r\n", b"0\r\n \r\n\r\n", b"0\r\n\tX: y\r\n\r\n", b"0\r\nX: y\r\n z\r\n\r\n",
        b"0\r\nX\r\n\r\n", b"0\r\nX : y\r\n\r\n", b"0\r\nX: \0\r\n\r\n", b"0\r\nX: y\n\r\n",
        b"0\r\n\0: y\r\n\r\n", b"0\r\n: y\r\n\r\n", b"00000000000000000\r\n\r\n",
    ]
]  # fmt: skip

EXTENSION_BYTES_MAX = 256


def extended(size: int) -> bytes:
    """Return a request whose first chunk has an extension of `size` bytes."""
    return post(CHUNKED, body=b"5;" + b"a" * (size - 1) + b"\r\nhello\r\n0\r\n\r\n")


EXTENSIONS = [
    taken(f"an extension of {size} bytes", extended(size), "POST /")
    for size in (2, 3, 100, EXTENSION_BYTES_MAX - 1, EXTENSION_BYTES_MAX)
] + [
    refused(f"an extension of {size} bytes", extended(size))
    for size in (EXTENSION_BYTES_MAX + 1, EXTENSION_BYTES_MAX + 2, 4095, 4096, 4097, 65536)
]

LINES = [
    refused(f"method of {size} letters", b"G" * size + b" / HTTP/1.1\r\nHost: localhost\r\n\r\n", 501)
    for size in (33, 64, 100, 4096)
] + [
    taken(f"method of {size} letters", post(start=b"M" * size + b" / HTTP/1.1"), "M" * size + " /")
    for size in (1, 2, 31, 32)
] + [
    refused(f"line {line!r}", line + b"\r\nHost: localhost\r\n\r\n", status)
    for line, status in [
        (b"GET / HTTP/0.0", 505), (b"GET / HTTP/0.1", 505), (b"GET / HTTP/1.1\0", BAD),
        (b"GET / HTTP/1.\xb9", BAD), (b"GET / HTTP/1.1 HTTP/1.1", BAD), (b"GET / HTTP/1.1\t", BAD),
        (b"GET\0/ HTTP/1.1", BAD), (b"GET / HTTP/1.1;", BAD), (b"GET / HTTP/11.1", BAD),
        (b"GET / HTTP/2", BAD), (b"GET / HTTPS/1.1", BAD), (b"GET / ICY/1.1", BAD),
        (b"GET / RTSP/1.0", BAD), (b"GET / SIP/2.0", BAD), (b"GET / http/1.1", BAD), (b"GET / H", BAD),
        (b"GET / HTTP/", BAD), (b"GET / 1.1", BAD), (b"GET / ", BAD), (b"GET  / HTTP/1.1", BAD),
        (b" GET / HTTP/1.1", BAD), (b"GET:/ HTTP/1.1", BAD), (b"GET,POST / HTTP/1.1", BAD),
        (b"G\xc9T / HTTP/1.1", BAD), (b"GET\x0b/ HTTP/1.1", BAD), (b"GET /\x0bHTTP/1.1", BAD),
        (b"GET /\xa0HTTP/1.1", BAD), (b"/ GET HTTP/1.1", BAD), (b"\xef\xbb\xbfGET / HTTP/1.1", BAD),
        (b"HTTP/1.1 200 OK", BAD), (b"GET / HTTP/1.1\r", BAD),
    ]
]  # fmt: skip

TARGETS = [
    refused(f"target {target!r}", get(target), status)
    for target, status in [
        (b"/\0", BAD), (b"/a\x7f", BAD), (b"/\x80", BAD), (b"/\xc0\xae\xc0\xae/", BAD), (b"/a#b", BAD),
        (b"#", BAD), (b"http:/localhost/", BAD), (b"http:localhost", BAD),
        (b"http://localhost:80:80/", BAD), (b"http://localhost:65536/", BAD), (b"http://[::1/", BAD),
        (b"http://user:pass@localhost/", BAD), (b"http://localhost@evil/", BAD),
        (b"http://evil@localhost/", BAD), (b"http://localhost\\@evil/", BAD),
        (b"http://local host/", BAD),
        (b"gopher://localhost/", BAD), (b"file:///etc/passwd", BAD), (b"javascript:alert(1)", BAD),
        (b"..", BAD), (b"\\", BAD), (b"%2f", BAD), (b"*/", BAD), (b"**", BAD), (b"@localhost", BAD),
        (b"localhost", BAD),
    ]
] + [
    taken(f"target {target!r}", get(target), f"GET {target.decode()}")
    for target in [
        b"/%00", b"/%", b"/%zz", b"/%e", b"/%c0%ae%c0%ae/", b"/..", b"/../../etc/passwd",
        b"//evil.example/%2e%2e", b"/?" + b"a" * 4000, b"/" + b"%41" * 2000, b"/;a=b", b"/?a?b?c", b"/@",
        b"/:80", b"/a\\b", b"/|", b"/{}", b"/`", b"/<script>", b"/'\"", b"/^", b"/[]", b"/?\\r\\n",
        b"/%0d%0aX-Evil:%20yes", b"/?%0d%0aSet-Cookie:a=b", b"/*",
    ]
] + [
    # The host of the target takes the place of `Host` (RFC 9112 section 3.2.2): nobody sees two hosts.
    taken(f"target {target!r}", get(target), f"GET {target.decode()}")
    for target in [
        b"http://localhost:/", b"http://localhost%00/", b"http://localhost%2fevil/", b"http://localhost.evil/",
        b"https://localhost:1/",
    ]
]  # fmt: skip

HOSTS = [
    refused(f"host {host!r}", get(b"/", host))
    for host in [
        b"localhost\0", b"localhost\x80", b"localhost, localhost", b"localhost evil", b"localhost:+80",
        b"localhost:0x50", b"localhost:99999", b"localhost:8 0", b"[]", b"[::1%25eth0]", b"[v1.x]",
        b"[::ffff:1.2.3.4", b"localhost/..", b"../localhost", b"@localhost", b"localhost@", b"local|host",
        b"local^host", b"local`id`host", b"<script>", b"{{7*7}}", b"localhost\\evil", b"localhost#",
        b"localhost?", b"\xe2\x80\xaelocalhost", b"localhost%", b"localhost%0",
    ]
] + [
    # Odd, but a valid reg-name (RFC 3986 section 3.2.2): an application has its own list of hosts for it.
    taken(f"host {host!r}", get(b"/", host), "GET /")
    for host in [b"localhost%00", b"localhost;evil", b"'localhost'", b"$(id)", b"*", b"a&b=c", b"[::1]:"]
]  # fmt: skip

OTHERS = [
    Attack("a thousand requests at once", request("/a") * 1000, (OK,) * 1000, ("GET /a",) * 1000),
    Attack(
        "a bad one after a hundred",
        request("/a") * 100 + b"\0" + SMUGGLED,
        (OK,) * 100 + (BAD,),
        ("GET /a",) * 100,
    ),
    Attack("nothing", b"", ()),
    Attack("an empty line", b"\r\n", ()),
    Attack("half a request line", b"GET / HT", ()),
    Attack("half a head", b"GET / HTTP/1.1\r\nHost: localhost\r\n", ()),
    Attack("half a body", post(b"Content-Length: 9", body=b"hello"), ()),
    Attack("half a chunk", post(CHUNKED, body=b"5\r\nhel"), ()),
    Attack("no last chunk", post(CHUNKED, body=b"5\r\nhello\r\n"), ()),
    Attack("no end of the trailers", post(CHUNKED, body=b"0\r\nX: y\r\n"), ()),
    Attack("HTTP/0.9", b"GET /\r\n", (BAD,)),
    Attack("HTTP/0.9 with a bare LF", b"GET /\n", (BAD,)),
    Attack(
        "HTTP/2 preface behind a request",
        request("/a") + b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        (OK, BAD),
        ("GET /a",),
    ),
    Attack(
        "TLS behind a request",
        request("/a") + b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        (OK, BAD),
        ("GET /a",),
    ),
    Attack(
        "OPTIONS * with a body",
        post(b"Content-Length: 5", body=b"hello", start=b"OPTIONS * HTTP/1.1") + AFTER,
        (204, OK),
        ("GET /after",),
    ),
    Attack(
        "close in the middle",
        post(b"Connection: close", start=b"GET /a HTTP/1.1") + SMUGGLED,
        (OK,),
        ("GET /a",),
    ),
    Attack(
        "close in capitals",
        post(b"Connection: CLOSE", start=b"GET /a HTTP/1.1") + SMUGGLED,
        (OK,),
        ("GET /a",),
    ),
    Attack(
        "close in a list",
        post(b"Connection: a,, close ,b", start=b"GET /a HTTP/1.1") + SMUGGLED,
        (OK,),
        ("GET /a",),
    ),
    Attack(
        "close in a second field",
        post(b"Connection: keep-alive", b"Connection: close", start=b"GET /a HTTP/1.1") + SMUGGLED,
        (OK,),
        ("GET /a",),
    ),
    Attack("1.0 in the middle", b"GET /a HTTP/1.0\r\n\r\n" + SMUGGLED, (OK,), ("GET /a",)),
    Attack(
        "1.0 that is kept",
        b"GET /a HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n" + AFTER,
        (OK, OK),
        ("GET /a", "GET /after"),
    ),
]

ATTACKS = [
    *LENGTHS, *TWO_LENGTHS, *HARMLESS, *CODINGS, *CHUNK_LINES, *EXTENSIONS, *LINES, *TARGETS, *HOSTS, *OTHERS
]  # fmt: skip
