//! Response heads: each rule as cases.

#![allow(clippy::unwrap_used, reason = "an error here is a failed test")]

mod cases;

use adyton_http::{BadResponse, BodySize, CheckedField, Identity, ResponseHead, Version, reason_phrase};
use adyton_http1::{Asked, BodyFraming, Framed, begin, finish};

const DATE: &[u8; 29] = b"Sun, 06 Nov 1994 08:49:37 GMT";
const IDENTITY: Identity<'_> = Identity { date: DATE, server: b"Server: Adyton\r\n", lines: b"" };

const KEEP: Asked = Asked { version: Version::Http11, is_head: false, keep_alive: true };

const fn kept(framing: BodyFraming) -> Framed {
    Framed { framing, keep_alive: true }
}

#[test]
fn a_whole_head() {
    let mut out = b"before".to_vec();
    let mut head = begin(&mut out, 200, b"OK").unwrap();
    head.field(b"Content-Type", b"text/plain").unwrap();
    head.raw(b"ETag: \"a\"\r\nVary: Accept\r\n");
    assert_eq!((None, false), (head.content_length(), head.dropped()));
    head.field(b"Content-Length", b"12").unwrap();
    assert_eq!(Some(12), head.content_length());
    finish(head, KEEP, &IDENTITY, BodySize::Unknown);

    let expected = "beforeHTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nETag: \"a\"\r\nVary: Accept\r\n\
        Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nServer: Adyton\r\nContent-Length: 12\r\n\r\n";
    assert_eq!(expected, String::from_utf8(out).unwrap());
}

/// A field that was checked for one head has the same effect in another head. A field that affects more than its own
/// line is not kept, and so is checked each time.
#[test]
fn checked_once() {
    let long = "x".repeat(CheckedField::LINE_BYTES_MAX - "A: \r\n".len());
    let longer = format!("{long}x");
    let cases: &[(&str, &str, bool)] = &[
        ("Content-Type", " text/plain ", true),
        ("X-Empty", "", true),
        ("content-length", "12", true),
        ("A", &long, true),
        ("A", &longer, false),
        ("Date", "now", false),
        ("Server", "mine", false),
        ("Connection", "close", false),
        ("TE", "trailers", false),
    ];
    for &(name, value, is_kept) in cases {
        let [mut first, mut second] = [Vec::new(), Vec::new()];
        let mut head = begin(&mut first, 200, b"OK").unwrap();
        let checked = head.check(name.as_bytes(), value.as_bytes()).unwrap();
        finish(head, KEEP, &IDENTITY, BodySize::Unknown);

        assert_eq!(is_kept, checked.is_some(), "{name}: {value}");
        let Some(checked) = checked else { continue };
        let mut head = begin(&mut second, 200, b"OK").unwrap();
        head.checked(&checked).unwrap();
        finish(head, KEEP, &IDENTITY, BodySize::Unknown);

        assert_eq!(String::from_utf8(first).unwrap(), String::from_utf8(second).unwrap());
    }
}

#[test]
fn checked_once_is_not_believed_twice() {
    let mut out = Vec::new();
    let mut head = begin(&mut out, 200, b"OK").unwrap();
    let twelve = head.check(b"Content-Length", b"12").unwrap().unwrap();
    let mut head = begin(&mut out, 200, b"OK").unwrap();
    head.field(b"Content-Length", b"13").unwrap();

    assert_eq!(Err(BadResponse::ContentLengths { first: 13, second: 12 }), head.checked(&twelve));
    assert!(head.check(b"X", b"a\nb").is_err());
}

/// A head that is begun in one buffer and completed in another is equal to a head written in one buffer.
#[test]
fn a_paused_head_goes_on() {
    let mut rendered = Vec::new();
    let mut head = begin(&mut rendered, 201, b"Created").unwrap();
    head.field(b"Content-Length", b"3").unwrap();
    head.field(b"Date", b"now").unwrap();
    head.field(b"TE", b"trailers").unwrap();
    let facts = head.pause();
    assert_eq!((201, Some(3), true), (facts.status(), facts.content_length(), facts.dropped()));

    for (keep_alive, ending) in [(true, "\r\n"), (false, "Connection: close\r\n\r\n")] {
        let mut out = rendered.clone();
        let framed = finish(
            ResponseHead::resume(&mut out, facts),
            Asked { keep_alive, ..KEEP },
            &IDENTITY,
            BodySize::Unknown,
        );
        assert_eq!(Framed { framing: BodyFraming::Length(3), keep_alive }, framed);

        let start = "HTTP/1.1 201 Created\r\nDate: now\r\nServer: Adyton\r\nContent-Length: 3\r\n";
        assert_eq!(format!("{start}{ending}"), String::from_utf8(out).unwrap());
    }
}

/// If the application closes the connection, resuming the head does not change that.
#[test]
fn resuming_does_not_reopen() {
    let mut out = Vec::new();
    let mut head = begin(&mut out, 200, b"OK").unwrap();
    head.field(b"Connection", b"close").unwrap();
    let facts = head.pause();
    let framed = finish(ResponseHead::resume(&mut out, facts), KEEP, &IDENTITY, BodySize::Known(1));

    assert_eq!(Framed { framing: BodyFraming::Length(1), keep_alive: false }, framed);
}

/// Rule 42: a server without a name sends no Server field.
#[test]
fn no_server() {
    let mut out = Vec::new();
    let head = begin(&mut out, 404, b"").unwrap();
    finish(head, KEEP, &Identity { date: DATE, server: b"", lines: b"" }, BodySize::Known(0));

    let expected = "HTTP/1.1 404 \r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(expected, String::from_utf8(out).unwrap());
}

/// Rule 38: no status line can be split in two, and no 1xx is sent as the answer to a request.
#[test]
fn bad_status_lines() {
    for (status, reason, expected) in [
        (99, &b"R"[..], BadResponse::Status { status: 99 }),
        (0, b"R", BadResponse::Status { status: 0 }),
        (1000, b"R", BadResponse::Status { status: 1000 }),
        (100, b"Continue", BadResponse::Informational { status: 100 }),
        (199, b"R", BadResponse::Informational { status: 199 }),
        (200, b"O\rK", BadResponse::Reason { byte: b'\r' }),
        (200, b"O\nK", BadResponse::Reason { byte: b'\n' }),
        (200, b"O\0K", BadResponse::Reason { byte: 0 }),
        (200, b"OK\x7f", BadResponse::Reason { byte: 0x7f }),
    ] {
        assert_eq!(Some(expected), begin(&mut Vec::new(), status, reason).err());
    }
    for (status, reason) in [(200, &b"All\tis \xe9"[..]), (999, b""), (200, b"")] {
        assert!(begin(&mut Vec::new(), status, reason).is_ok());
    }
}

/// Rule 38: no field can be split in two, and no part of a bad field is written.
#[test]
fn bad_fields() {
    let name = |name: &str, byte| BadResponse::FieldName { name: name.to_owned(), byte };
    let value = |byte| BadResponse::FieldValue { name: "X".to_owned(), byte };
    for (field, text, expected) in [
        (&b""[..], &b"a"[..], name("", None)),
        (b"X Y", b"a", name("X Y", Some(b' '))),
        (b"X:", b"a", name("X:", Some(b':'))),
        (b"X\r\nY", b"a", name("X\\r\\nY", Some(b'\r'))),
        (b"Content\rLength", b"1", name("Content\\rLength", Some(b'\r'))),
        (b"X\xe9", b"a", name("X\\xe9", Some(0xe9))),
        (b"X", b"a\r\nY: b", value(b'\r')),
        (b"X", b"a\nY: b", value(b'\n')),
        (b"X", b"\0", value(0)),
        (b"X", b"12345678\x7f", value(0x7f)),
        (b"Content-Length", b"", BadResponse::ContentLength { value: String::new() }),
        (b"Content-Length", b"-1", BadResponse::ContentLength { value: "-1".to_owned() }),
        (b"Content-Length", b"1\xe9", BadResponse::ContentLength { value: "1\\xe9".to_owned() }),
        (
            b"Content-Length",
            b"18446744073709551616",
            BadResponse::ContentLength { value: "18446744073709551616".to_owned() },
        ),
        (b"content-length", b"8", BadResponse::ContentLengths { first: 7, second: 8 }),
    ] {
        let mut out = Vec::new();
        let mut head = begin(&mut out, 200, b"OK").unwrap();
        head.field(b"Content-Length", b"7").unwrap();
        assert_eq!(Err(expected), head.field(field, text));
        assert_eq!("HTTP/1.1 200 OK\r\n", String::from_utf8(out).unwrap());
    }
}

/// The log line names the field, the byte and the remedy.
#[test]
fn messages() {
    let fault = |name: &[u8], value: &[u8]| {
        let mut out = Vec::new();
        let mut head = begin(&mut out, 200, b"OK").unwrap();
        head.field(name, value).unwrap_err().to_string()
    };

    assert_eq!(
        "the value of the field X holds the byte 0x0a; remove control characters",
        fault(b"X", b"a\nb")
    );
    assert_eq!("the field name \"X Y\" holds the byte 0x20; use a token of RFC 9110", fault(b"X Y", b""));
    assert_eq!("a field name is empty; give it a name", fault(b"", b""));
    let expected = "the Content-Length \"+1\" is not a number; set the body's length in bytes";
    assert_eq!(expected, fault(b"Content-Length", b"+1"));
}

/// Fields of the application that concern the connection are left out, because they are the server's business.
#[test]
fn hop_by_hop_fields_are_dropped() {
    for (name, value) in [
        ("Connection", "keep-alive"),
        ("connection", "X, closed"),
        ("Keep-Alive", "timeout=5"),
        ("Proxy-Connection", "close"),
        ("TE", "trailers"),
        ("Trailer", "X"),
        ("Transfer-Encoding", "chunked"),
        ("UPGRADE", "h2c"),
    ] {
        let mut out = Vec::new();
        let mut head = begin(&mut out, 200, b"OK").unwrap();
        head.field(name.as_bytes(), value.as_bytes()).unwrap();
        assert!(head.dropped(), "{name}");

        let framed = finish(head, KEEP, &IDENTITY, BodySize::Known(0));
        assert_eq!(kept(BodyFraming::Length(0)), framed, "{name}");
        assert!(!String::from_utf8(out).unwrap().contains(value), "{name}");
    }
}

#[test]
fn reason_phrases() {
    assert_eq!("OK", reason_phrase(200));
    assert_eq!("Not Found", reason_phrase(404));
    assert_eq!("Request Header Fields Too Large", reason_phrase(431));
    assert_eq!("HTTP Version Not Supported", reason_phrase(505));
    for unknown in [0, 99, 299, 418, 499, 599, 600] {
        assert_eq!("", reason_phrase(unknown));
    }
}
