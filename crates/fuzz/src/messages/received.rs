//! Answers as a client reads them: in pieces they are read like the same answer in one piece.

use adyton_http1::{BodyFraming, Received, ReceivedBody};

/// Panics unless every beginning of `input` has the outcome of the whole, or asks for more.
pub(crate) fn check(input: &[u8], to_head: bool) {
    let whole = Received::parse(input, to_head);
    if let Ok(Some(head)) = whole {
        let text = &input[..head.bytes];
        let is_strict = text.ends_with(b"\r\n\r\n") && !head.oddities.bare_lf;
        let is_odd = head.oddities.bare_lf && (text.ends_with(b"\n\n") || text.ends_with(b"\n\r\n"));
        assert!(is_strict || is_odd, "{}", crate::show(input));
        assert!((100..1000).contains(&head.status), "{}", crate::show(input));
        assert!(!(head.keep_alive && head.framing == BodyFraming::UntilClose), "{}", crate::show(input));
        assert!(!to_head || head.framing == BodyFraming::None, "{}", crate::show(input));
        check_body(head.framing, &input[head.bytes..]);
    }
    for end in 0..input.len() {
        match Received::parse(&input[..end], to_head) {
            Ok(None) => {}
            other => assert_eq!(whole, other, "{}: {}", end, crate::show(input)),
        }
    }
}

/// Panics unless a body that comes byte by byte is the body that comes at once, and ends at the same byte.
fn check_body(framing: BodyFraming, input: &[u8]) {
    let each: Vec<&[u8]> = input.chunks(1).collect();
    let (whole, pieces) = (body_of(framing, &[input]), body_of(framing, &each));
    assert_eq!(whole, pieces, "{framing:?}: {}", crate::show(input));
}

/// Returns the body in these pieces of a stream, the number of bytes that it takes, and whether it is complete; `None`
/// if it is refused.
fn body_of(framing: BodyFraming, pieces: &[&[u8]]) -> Option<(Vec<u8>, usize, bool)> {
    let (mut reader, mut body, mut taken) = (ReceivedBody::new(framing), Vec::new(), 0);
    for piece in pieces {
        let mut rest = *piece;
        while !rest.is_empty() && !reader.is_complete() {
            let decoded = reader.read(rest).ok()?;
            assert!(decoded.consumed > 0, "{framing:?}: nothing is consumed of {}", crate::show(rest));
            body.extend_from_slice(&rest[decoded.data]);
            rest = &rest[decoded.consumed..];
            taken += decoded.consumed;
        }
    }
    Some((body, taken, reader.is_complete()))
}
