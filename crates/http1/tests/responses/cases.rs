//! Framing, lengths and the connection: rules 33 and 38 to 42.

use adyton_http::{BodySize, Version};
use adyton_http1::{Asked, BodyFraming, Framed, begin, finish};

use crate::{IDENTITY, KEEP, kept};

const CLOSE: Asked = Asked { keep_alive: false, ..KEEP };
const HEAD: Asked = Asked { is_head: true, ..KEEP };
const OLD: Asked = Asked { version: Version::Http10, is_head: false, keep_alive: false };
const OLD_KEEP: Asked = Asked { keep_alive: true, ..OLD };
const OLD_HEAD: Asked = Asked { is_head: true, ..OLD_KEEP };

/// Number of the rule, description; request, status, the application's fields, the body's size; the expected head
/// without the status line, Date and Server, and the expected decisions.
type Case = (&'static str, &'static str, Asked, u16, Fields, BodySize, &'static str, Framed);
type Fields = &'static [(&'static str, &'static str)];

const fn closed(framing: BodyFraming) -> Framed {
    Framed { framing, keep_alive: false }
}

const CASES: &[Case] = &[
    (
        "38",
        "nothing set",
        KEEP,
        200,
        &[],
        BodySize::Known(5),
        "Content-Length: 5\r\n\r\n",
        kept(BodyFraming::Length(5)),
    ),
    (
        "38",
        "fields stay in order and apart, without the blanks around their values",
        KEEP,
        200,
        &[("Set-Cookie", "a"), ("X", "\t b \tc "), ("set-cookie", "c")],
        BodySize::Known(5),
        "Set-Cookie: a\r\nX: b \tc\r\nset-cookie: c\r\nContent-Length: 5\r\n\r\n",
        kept(BodyFraming::Length(5)),
    ),
    (
        "38",
        "empty value",
        KEEP,
        200,
        &[("X", "")],
        BodySize::Known(0),
        "X: \r\nContent-Length: 0\r\n\r\n",
        kept(BodyFraming::Length(0)),
    ),
    ("39", "204", KEEP, 204, &[], BodySize::Known(0), "\r\n", kept(BodyFraming::None)),
    (
        "39",
        "204 of a length",
        KEEP,
        204,
        &[("Content-Length", "5")],
        BodySize::Known(5),
        "\r\n",
        kept(BodyFraming::None),
    ),
    ("39", "204 of unknown length", KEEP, 204, &[], BodySize::Unknown, "\r\n", kept(BodyFraming::None)),
    (
        "39",
        "204 to 1.0",
        OLD_KEEP,
        204,
        &[],
        BodySize::Unknown,
        "Connection: keep-alive\r\n\r\n",
        kept(BodyFraming::None),
    ),
    (
        "39",
        "205",
        KEEP,
        205,
        &[("Content-Length", "5")],
        BodySize::Known(5),
        "Content-Length: 0\r\n\r\n",
        kept(BodyFraming::None),
    ),
    ("39", "304", KEEP, 304, &[], BodySize::Known(0), "\r\n", kept(BodyFraming::None)),
    (
        "39",
        "304 of a length",
        KEEP,
        304,
        &[("Content-Length", "5")],
        BodySize::Unknown,
        "Content-Length: 5\r\n\r\n",
        kept(BodyFraming::None),
    ),
    ("39", "304 with a body", KEEP, 304, &[], BodySize::Known(5), "\r\n", kept(BodyFraming::None)),
    (
        "39",
        "HEAD, length of the application",
        HEAD,
        200,
        &[("Content-Length", "5")],
        BodySize::Known(0),
        "Content-Length: 5\r\n\r\n",
        kept(BodyFraming::None),
    ),
    (
        "39",
        "HEAD, length of the server",
        HEAD,
        200,
        &[],
        BodySize::Known(5),
        "Content-Length: 5\r\n\r\n",
        kept(BodyFraming::None),
    ),
    ("39", "HEAD, empty", HEAD, 200, &[], BodySize::Known(0), "\r\n", kept(BodyFraming::None)),
    ("39", "HEAD, unknown", HEAD, 200, &[], BodySize::Unknown, "\r\n", kept(BodyFraming::None)),
    (
        "39",
        "HEAD, 204",
        HEAD,
        204,
        &[("Content-Length", "5")],
        BodySize::Unknown,
        "\r\n",
        kept(BodyFraming::None),
    ),
    (
        "39",
        "HEAD of 1.0 needs no close",
        OLD_HEAD,
        200,
        &[],
        BodySize::Unknown,
        "Connection: keep-alive\r\n\r\n",
        kept(BodyFraming::None),
    ),
    (
        "40",
        "the application's length wins",
        KEEP,
        200,
        &[("content-length", "3")],
        BodySize::Known(5),
        "Content-Length: 3\r\n\r\n",
        kept(BodyFraming::Length(3)),
    ),
    (
        "40",
        "also over an unknown one",
        KEEP,
        200,
        &[("Content-Length", "3")],
        BodySize::Unknown,
        "Content-Length: 3\r\n\r\n",
        kept(BodyFraming::Length(3)),
    ),
    (
        "40",
        "equal lengths",
        KEEP,
        200,
        &[("Content-Length", "3"), ("Content-Length", "03")],
        BodySize::Unknown,
        "Content-Length: 3\r\n\r\n",
        kept(BodyFraming::Length(3)),
    ),
    (
        "40",
        "largest length",
        KEEP,
        200,
        &[("Content-Length", "18446744073709551615")],
        BodySize::Unknown,
        "Content-Length: 18446744073709551615\r\n\r\n",
        kept(BodyFraming::Length(u64::MAX)),
    ),
    (
        "41",
        "unknown length",
        KEEP,
        200,
        &[],
        BodySize::Unknown,
        "Transfer-Encoding: chunked\r\n\r\n",
        kept(BodyFraming::Chunked),
    ),
    (
        "41",
        "unknown length, then close",
        CLOSE,
        200,
        &[],
        BodySize::Unknown,
        "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
        closed(BodyFraming::Chunked),
    ),
    (
        "41",
        "unknown length in 1.0",
        OLD,
        200,
        &[],
        BodySize::Unknown,
        "Connection: close\r\n\r\n",
        closed(BodyFraming::UntilClose),
    ),
    (
        "41",
        "unknown length ends keep-alive in 1.0",
        OLD_KEEP,
        200,
        &[],
        BodySize::Unknown,
        "Connection: close\r\n\r\n",
        closed(BodyFraming::UntilClose),
    ),
    (
        "33",
        "close",
        CLOSE,
        200,
        &[],
        BodySize::Known(5),
        "Content-Length: 5\r\nConnection: close\r\n\r\n",
        closed(BodyFraming::Length(5)),
    ),
    (
        "33",
        "1.0",
        OLD,
        200,
        &[],
        BodySize::Known(5),
        "Content-Length: 5\r\nConnection: close\r\n\r\n",
        closed(BodyFraming::Length(5)),
    ),
    (
        "33",
        "1.0 with keep-alive",
        OLD_KEEP,
        200,
        &[],
        BodySize::Known(5),
        "Content-Length: 5\r\nConnection: keep-alive\r\n\r\n",
        kept(BodyFraming::Length(5)),
    ),
    (
        "33",
        "the application closes",
        KEEP,
        200,
        &[("connection", "Close")],
        BodySize::Known(5),
        "Content-Length: 5\r\nConnection: close\r\n\r\n",
        closed(BodyFraming::Length(5)),
    ),
    (
        "33",
        "the application closes in a list",
        KEEP,
        200,
        &[("connection", "X, close")],
        BodySize::Known(5),
        "Content-Length: 5\r\nConnection: close\r\n\r\n",
        closed(BodyFraming::Length(5)),
    ),
    (
        "42",
        "the application's Date",
        KEEP,
        200,
        &[("date", "now")],
        BodySize::Known(0),
        "date: now\r\nContent-Length: 0\r\n\r\n",
        kept(BodyFraming::Length(0)),
    ),
    (
        "42",
        "the application's Server",
        KEEP,
        200,
        &[("SERVER", "me")],
        BodySize::Known(0),
        "SERVER: me\r\nContent-Length: 0\r\n\r\n",
        kept(BodyFraming::Length(0)),
    ),
];

#[test]
fn cases() {
    for (rule, name, asked, status, fields, body, expected, framed) in CASES {
        let label = format!("rule {rule}, {name}");
        let (text, decided) = render(*asked, *status, fields, *body);
        assert_eq!(*framed, decided, "{label}");
        for name in ["\r\ndate:", "\r\nserver:"] {
            assert_eq!(1, text.to_ascii_lowercase().matches(name).count(), "{label}: {text}");
        }
        let rest =
            text.replace("Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n", "").replace("Server: Adyton\r\n", "");
        assert_eq!(format!("HTTP/1.1 {status} Reason\r\n{expected}"), rest, "{label}");
    }
}

/// Returns the head as it was written, and the decisions.
fn render(asked: Asked, status: u16, fields: Fields, body: BodySize) -> (String, Framed) {
    let mut out = Vec::new();
    let mut head = begin(&mut out, status, b"Reason").unwrap();
    for (name, value) in fields {
        head.field(name.as_bytes(), value.as_bytes()).unwrap();
    }
    let framed = finish(head, asked, &IDENTITY, body);
    (String::from_utf8(out).unwrap(), framed)
}
