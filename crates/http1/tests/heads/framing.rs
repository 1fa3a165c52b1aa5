//! Cases: framing of the body, and whether the connection stays open, rules 19 to 35.

use crate::feed::{Case, check};

#[test]
fn bodies() {
    BODIES.iter().for_each(check);
}

#[test]
fn connections() {
    CONNECTION.iter().for_each(check);
}

const BODIES: &[Case] = &[
    (
        "19",
        "both framings",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "400",
    ),
    (
        "19",
        "both in 1.0",
        b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",
        "400",
    ),
    ("20", "length", b"POST / HTTP/1.0\r\nContent-Length: 42\r\n\r\n", "Post / ? Http10 - Length(42) close"),
    ("20", "zero", b"POST / HTTP/1.0\r\nContent-Length: 0\r\n\r\n", "Post / ? Http10 - Length(0) close"),
    (
        "20",
        "leading zeros",
        b"POST / HTTP/1.0\r\nContent-Length: 007\r\n\r\n",
        "Post / ? Http10 - Length(7) close",
    ),
    (
        "20",
        "largest",
        b"POST / HTTP/1.0\r\nContent-Length: 18446744073709551615\r\n\r\n",
        "Post / ? Http10 - Length(18446744073709551615) close",
    ),
    ("20", "overflow", b"POST / HTTP/1.0\r\nContent-Length: 18446744073709551616\r\n\r\n", "400"),
    ("20", "overflow by a digit", b"POST / HTTP/1.0\r\nContent-Length: 184467440737095516150\r\n\r\n", "400"),
    ("20", "plus", b"POST / HTTP/1.0\r\nContent-Length: +1\r\n\r\n", "400"),
    ("20", "minus", b"POST / HTTP/1.0\r\nContent-Length: -1\r\n\r\n", "400"),
    ("20", "hexadecimal", b"POST / HTTP/1.0\r\nContent-Length: 0x1\r\n\r\n", "400"),
    ("20", "underscore", b"POST / HTTP/1.0\r\nContent-Length: 1_0\r\n\r\n", "400"),
    ("20", "space inside", b"POST / HTTP/1.0\r\nContent-Length: 1 0\r\n\r\n", "400"),
    ("20", "empty", b"POST / HTTP/1.0\r\nContent-Length:\r\n\r\n", "400"),
    ("20", "list", b"POST / HTTP/1.0\r\nContent-Length: 1, 1\r\n\r\n", "400"),
    ("20", "equal twice", b"POST / HTTP/1.0\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", "400"),
    ("20", "different twice", b"POST / HTTP/1.0\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "400"),
    (
        "21",
        "chunked",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        "Post / ? Http11 a Chunked keep",
    ),
    (
        "21",
        "any case",
        b"POST / HTTP/1.1\r\nHost: a\r\ntransfer-encoding:\tCHUNKED \r\n\r\n",
        "Post / ? Http11 a Chunked keep",
    ),
    ("21", "in 1.0", b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "400"),
    ("21", "another coding", b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", "501"),
    (
        "21",
        "another before chunked",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "501",
    ),
    ("21", "identity", b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n", "501"),
    ("21", "parameter", b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked;a=b\r\n\r\n", "501"),
    ("21", "prefix", b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n", "501"),
    (
        "21",
        "chunked is not last",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n",
        "400",
    ),
    (
        "21",
        "chunked twice",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n",
        "400",
    ),
    (
        "21",
        "two fields",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
        "400",
    ),
    ("21", "empty element", b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: ,chunked\r\n\r\n", "400"),
    (
        "21",
        "empty element at the end",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked,\r\n\r\n",
        "400",
    ),
    ("21", "empty", b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n\r\n", "400"),
    ("21", "quoted", b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \"chunked\"\r\n\r\n", "400"),
    ("21", "vertical tab", b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \x0bchunked\r\n\r\n", "400"),
    ("26", "no framing is no body", b"POST / HTTP/1.1\r\nHost: a\r\n\r\n", "Post / ? Http11 a None keep"),
    ("27", "body of GET", b"GET / HTTP/1.0\r\nContent-Length: 3\r\n\r\n", "Get / ? Http10 - Length(3) close"),
    (
        "30",
        "expects",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nExpect: 100-Continue\r\n\r\n",
        "Post / ? Http11 a Length(1) keep expects",
    ),
    (
        "30",
        "expects before chunks",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n",
        "Post / ? Http11 a Chunked keep expects",
    ),
    (
        "30",
        "not in 1.0",
        b"POST / HTTP/1.0\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n",
        "Post / ? Http10 - Length(1) close",
    ),
    (
        "30",
        "not without a body",
        b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n",
        "Post / ? Http11 a None keep",
    ),
    (
        "30",
        "not with an empty body",
        b"PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n",
        "Put / ? Http11 a Length(0) keep",
    ),
    ("30", "unknown", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nExpect: b\r\n\r\n", "417"),
    (
        "30",
        "known and unknown",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nExpect: 100-continue, b\r\n\r\n",
        "417",
    ),
    ("30", "empty", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nExpect:\r\n\r\n", "417"),
];

const CONNECTION: &[Case] = &[
    ("33", "close", b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "Get / ? Http11 a None close"),
    (
        "33",
        "close in a list",
        b"GET / HTTP/1.1\r\nHost: a\r\nConnection: b,\tCLOSE ,c\r\n\r\n",
        "Get / ? Http11 a None close",
    ),
    (
        "33",
        "part of a word",
        b"GET / HTTP/1.1\r\nHost: a\r\nConnection: closed, not close\r\n\r\n",
        "Get / ? Http11 a None keep",
    ),
    (
        "33",
        "keep-alive in 1.0",
        b"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
        "Get / ? Http10 - None keep",
    ),
    (
        "33",
        "keep-alive in a list",
        b"GET / HTTP/1.0\r\nConnection: keep-alive, b\r\n\r\n",
        "Get / ? Http10 - None keep",
    ),
    (
        "33",
        "close wins",
        b"GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, close\r\n\r\n",
        "Get / ? Http11 a None close",
    ),
    (
        "33",
        "close wins over another field",
        b"GET / HTTP/1.0\r\nConnection: close\r\nConnection: keep-alive\r\n\r\n",
        "Get / ? Http10 - None close",
    ),
    (
        "35",
        "Upgrade is not followed",
        b"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        "Get / ? Http11 a None keep",
    ),
];
