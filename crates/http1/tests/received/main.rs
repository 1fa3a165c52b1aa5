//! Heads of responses, parsed as by a client: each whole, byte by byte, and with more bytes after it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends at its first surprise")]

mod bodies;

use adyton_http1::{BodyFraming, Oddities, Received};

/// Parses every beginning of `head`, which must need more bytes, and then the whole head, alone and with bytes after
/// it.
fn feed(head: &str, to_head: bool) -> Result<(u16, BodyFraming, bool), &'static str> {
    let head = head.replace('\n', "\r\n");
    for end in 0..head.len() {
        match Received::parse(&head.as_bytes()[..end], to_head) {
            Ok(None) => {}
            Ok(Some(_)) => panic!("complete after {end} bytes: {head:?}"),
            Err(refusal) => return Err(refusal.reason),
        }
    }
    let whole = Received::parse(head.as_bytes(), to_head).map_err(|refusal| refusal.reason)?.unwrap();
    let followed = format!("{head}HTTP/1.1 500 X\r\n\r\n");
    assert_eq!(Some(whole), Received::parse(followed.as_bytes(), to_head).unwrap());
    assert_eq!(head.len(), whole.bytes);
    Ok((whole.status, whole.framing, whole.keep_alive))
}

#[test]
fn what_delimits_the_body() {
    use BodyFraming::{Chunked, Length, None, UntilClose};
    let cases = [
        ("HTTP/1.1 200 OK\nContent-Length: 12\n\n", false, (200, Length(12), true)),
        ("HTTP/1.1 200 OK\nContent-Length: 12\nContent-Length: 12\n\n", false, (200, Length(12), true)),
        ("HTTP/1.1 200 OK\nContent-Length: 12\n\n", true, (200, None, true)),
        ("HTTP/1.1 200\nContent-Length: 0\n\n", false, (200, Length(0), true)),
        ("HTTP/1.1 200 \ncontent-length:0\n\n", false, (200, Length(0), true)),
        ("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n", false, (200, Chunked, true)),
        ("HTTP/1.1 200 OK\n\n", false, (200, UntilClose, false)),
        ("HTTP/1.1 304 Not Modified\nContent-Length: 12\n\n", false, (304, None, true)),
        ("HTTP/1.1 204 No Content\n\n", false, (204, None, true)),
        ("HTTP/1.1 100 Continue\n\n", false, (100, None, true)),
        (
            "HTTP/1.1 502 Bad Gateway\nConnection: close\nContent-Length: 1\n\n",
            false,
            (502, Length(1), false),
        ),
        ("HTTP/1.0 200 OK\nContent-Length: 1\n\n", false, (200, Length(1), false)),
        ("HTTP/1.0 200 OK\nConnection: Keep-Alive\nContent-Length: 1\n\n", false, (200, Length(1), true)),
        (
            "HTTP/1.0 200 OK\nConnection: keep-alive, close\nContent-Length: 1\n\n",
            false,
            (200, Length(1), false),
        ),
    ];
    for (head, to_head, expected) in cases {
        assert_eq!(Ok(expected), feed(head, to_head), "{head:?}");
    }
}

#[test]
fn what_is_refused() {
    let cases = [
        ("SSH-2.0-OpenSSH\n\n", "The answer is not HTTP/1."),
        ("HTTP/2 200\n\n", "The answer is not HTTP/1."),
        ("HTTP/1.2 200 OK\n\n", "The status line is malformed."),
        ("HTTP/1.1 20 OK\n\n", "The status line is malformed."),
        ("HTTP/1.1 099 OK\n\n", "The status line is malformed."),
        ("HTTP/1.1 2000\n\n", "The status line is malformed."),
        ("HTTP/1.1 200 OK\nContent-Length: 1\nContent-Length: 2\n\n", "Content-Length is not one number."),
        ("HTTP/1.1 200 OK\nContent-Length: 1, 1\n\n", "Content-Length is not one number."),
        ("HTTP/1.1 200 OK\nTransfer-Encoding: gzip\n\n", "Transfer-Encoding is not chunked alone."),
        ("HTTP/1.1 200 OK\nA: b\n c\n\n", "A field is folded over two lines."),
        ("HTTP/1.1 200 OK\nno colon\n\n", "A field has whitespace in its name or before its colon."),
    ];
    for (head, reason) in cases {
        assert_eq!(Err(reason), feed(head, false), "{head:?}");
    }
}

/// Heads with tolerated faults are read, however they are split.
#[test]
fn what_is_overlooked() {
    use BodyFraming::{Chunked, Length, None};
    let bare = Oddities { bare_lf: true, two_framings: false };
    let two = Oddities { bare_lf: false, two_framings: true };
    let both = Oddities { bare_lf: true, two_framings: true };
    let cases = [
        ("HTTP/1.1 200 OK\nContent-Length: 12\n\n", Length(12), bare),
        ("HTTP/1.1 200 OK\nContent-Length: 12\r\n\r\n", Length(12), bare),
        ("HTTP/1.1 200 OK\r\nContent-Length: 12\n\r\n", Length(12), bare),
        ("HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\n", Length(12), bare),
        ("HTTP/1.1 304\n\n", None, bare),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", Chunked, two),
        ("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\nContent-Length: 1\n\n", Chunked, both),
        ("HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n", Length(12), Oddities::default()),
    ];
    for (head, framing, oddities) in cases {
        for end in 0..head.len() {
            assert_eq!(Ok(Option::None), Received::parse(&head.as_bytes()[..end], false), "{end}: {head:?}");
        }
        let followed = format!("{head}body\n\n");
        let received = Received::parse(followed.as_bytes(), false).unwrap().unwrap();
        assert_eq!((head.len(), framing, oddities), (received.bytes, received.framing, received.oddities));
    }
}

/// A fault in a line is refused, whether the line ends in CRLF or in LF.
#[test]
fn what_is_refused_with_bare_lf() {
    for line in ["A : b", "no colon", "Content-Length: twelve", "A: b\x01", "A: b\rc", ": b"] {
        let reasons = ["\n", "\r\n"].map(|ending| {
            let head = format!("HTTP/1.1 200 OK{ending}{line}{ending}{ending}");
            Received::parse(head.as_bytes(), false).unwrap_err().reason
        });
        assert_eq!(reasons[0], reasons[1], "{line:?}");
    }
}

/// A head of 100 KiB is read; a head that never ends is refused.
#[test]
fn how_long_a_head_may_be() {
    let long = format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(17_000));
    assert_eq!(long.len(), Received::parse(long.as_bytes(), false).unwrap().unwrap().bytes);
    let endless = format!("HTTP/1.1 200 OK\r\n{}", "A: b\r\n".repeat(52_000));
    let reason = Received::parse(endless.as_bytes(), false).unwrap_err().reason;
    assert_eq!("The head of the answer is longer than 300 KiB.", reason);
    let ended = format!("{endless}\r\n");
    assert_eq!(reason, Received::parse(ended.as_bytes(), false).unwrap_err().reason);
}
