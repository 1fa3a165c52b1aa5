//! Bodies of responses: each framing fed whole, byte by byte and in every two pieces, with another response behind it.

use adyton_http1::{BodyFraming, ReceivedBody};

/// The next response on the connection, of which the body must take nothing.
const NEXT: &[u8] = b"HTTP/1.1 204 No Content\r\n\r\n";

/// Feeds pieces; returns the body, the number of bytes that it took, and the reader.
fn fed(framing: BodyFraming, pieces: &[&[u8]]) -> Option<(Vec<u8>, usize, ReceivedBody)> {
    let (mut reader, mut body, mut taken) = (ReceivedBody::new(framing), Vec::new(), 0);
    for piece in pieces {
        let mut rest = *piece;
        while !rest.is_empty() && !reader.is_complete() {
            let decoded = reader.read(rest).ok()?;
            assert!(decoded.consumed > 0 && decoded.data.end <= decoded.consumed, "{decoded:?}");
            body.extend_from_slice(&rest[decoded.data]);
            rest = &rest[decoded.consumed..];
            taken += decoded.consumed;
        }
    }
    assert_eq!(body.len() as u64, reader.bytes());
    assert_eq!(framing, reader.framing());
    Some((body, taken, reader))
}

/// Checks that `stream` is a whole body, however it is cut, and that each beginning of it is none.
fn check(framing: BodyFraming, stream: &[u8], expected: &[u8]) {
    let followed = [stream, NEXT].concat();
    let each: Vec<&[u8]> = followed.chunks(1).collect();
    for pieces in [&[&*followed][..], &each] {
        let (body, taken, reader) = fed(framing, pieces).unwrap();
        assert_eq!((expected, stream.len()), (&*body, taken), "{framing:?}");
        assert!(reader.is_complete() && reader.is_complete_at_close(), "{framing:?}");
    }
    for at in 0..stream.len() {
        let (start, end) = stream.split_at(at);
        let (body, taken, _) = fed(framing, &[start, end]).unwrap();
        assert_eq!((expected, stream.len()), (&*body, taken), "{framing:?}, in two pieces at {at}");

        let (_, _, reader) = fed(framing, &[start]).unwrap();
        assert!(!reader.is_complete() && !reader.is_complete_at_close(), "{framing:?}, cut off at {at}");
    }
}

#[test]
fn bodies() {
    check(BodyFraming::None, b"", b"");
    check(BodyFraming::Length(0), b"", b"");
    check(BodyFraming::Length(5), b"hello", b"hello");
    check(BodyFraming::Chunked, b"0\r\n\r\n", b"");
    check(BodyFraming::Chunked, b"5\r\nhello\r\n3;a=b\r\n yo\r\n0\r\nX-Sum: 1\r\n\r\n", b"hello yo");
}

/// A body without a length ends with the connection, and not before.
#[test]
fn a_body_until_the_close() {
    for stream in [&b""[..], b"hello"] {
        let (body, taken, reader) = fed(BodyFraming::UntilClose, &[stream]).unwrap();
        assert_eq!((stream, stream.len()), (&*body, taken));
        assert!(!reader.is_complete() && reader.is_complete_at_close());
    }
}

/// A chunked body that breaks a rule is refused, and is complete at no time.
#[test]
fn a_refused_body() {
    for stream in ["x", "5\nhello", "5\r\nhelloo", "-1\r\n", "10000000000000000\r\n"] {
        let mut reader = ReceivedBody::new(BodyFraming::Chunked);
        let mut rest = stream.as_bytes();
        let refused = loop {
            match reader.read(rest) {
                Ok(decoded) if decoded.consumed > 0 => rest = &rest[decoded.consumed..],
                other => break other.is_err(),
            }
        };
        assert!(refused && !reader.is_complete() && !reader.is_complete_at_close(), "{stream:?}");
    }
}

/// The longest length does not overflow: it is a body that never ends.
#[test]
fn the_longest_length() {
    let (_, taken, reader) = fed(BodyFraming::Length(u64::MAX), &[b"hello"]).unwrap();
    assert_eq!((5, false), (taken, reader.is_complete()));
}
