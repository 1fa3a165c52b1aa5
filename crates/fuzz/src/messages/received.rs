//! Heads of answers as a client reads them: a head in pieces is read like the same head in one piece.

use adyton_http1::{BodyFraming, Received};

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
    }
    for end in 0..input.len() {
        match Received::parse(&input[..end], to_head) {
            Ok(None) => {}
            other => assert_eq!(whole, other, "{}: {}", end, crate::show(input)),
        }
    }
}
