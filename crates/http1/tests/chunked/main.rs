//! Chunked bodies: each rule as cases, fed in every split, and generated input for the decoder and a simple reference.

#![allow(clippy::unwrap_used, reason = "an error here is a failed test")]

mod cases;
mod generated;
mod twin;

use adyton_http1::{CHUNK_END, Chunked, LAST_CHUNK, write_chunk_head};

/// The result of decoding a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    /// A body, and the number of bytes of the stream up to its end.
    Body(Vec<u8>, usize),
    /// More bytes are needed.
    Incomplete,
    /// The stream was refused.
    Refused,
}

/// Feeds `stream` whole, with a tail, byte by byte and in two pieces. Every shorter beginning must be incomplete.
fn check(label: &str, stream: &[u8], expected: &Outcome) {
    assert_eq!(*expected, decode(&[stream]), "{label}, whole");
    assert_eq!(
        *expected,
        decode(&[stream, b"GET / HTTP/1.1\r\n"].concat().chunks(7).collect::<Vec<_>>()),
        "{label}"
    );
    assert_eq!(*expected, decode(&stream.chunks(1).collect::<Vec<_>>()), "{label}, byte by byte");
    for at in 0..stream.len() {
        let (start, end) = stream.split_at(at);
        assert_eq!(*expected, decode(&[start, end]), "{label}, in two pieces at {at}");
        if matches!(expected, Outcome::Body(..)) {
            assert_eq!(Outcome::Incomplete, decode(&[start]), "{label}, cut off at {at}");
        }
    }
}

/// Decodes the pieces of a stream.
fn decode(pieces: &[&[u8]]) -> Outcome {
    let mut chunked = Chunked::new();
    let (mut body, mut consumed) = (Vec::new(), 0);
    for piece in pieces {
        let mut rest = *piece;
        while !rest.is_empty() && !chunked.is_done() {
            let Ok(decoded) = chunked.decode(rest) else {
                assert!(chunked.decode(b"0\r\n\r\n").is_err(), "once refused, always refused");
                return Outcome::Refused;
            };
            assert!(decoded.consumed > 0 && decoded.data.end <= decoded.consumed, "{decoded:?}");
            body.extend_from_slice(&rest[decoded.data]);
            rest = &rest[decoded.consumed..];
            consumed += decoded.consumed;
        }
    }
    if !chunked.is_done() {
        return Outcome::Incomplete;
    }
    let more = chunked.decode(b"0\r\n").unwrap();
    assert_eq!((0, true), (more.consumed, more.data.is_empty()), "no byte is consumed after the end");
    Outcome::Body(body, consumed)
}

#[test]
fn extensions_have_limits() {
    let of_chunk = |bytes: usize| format!("1;{}\r\nx\r\n0\r\n\r\n", "a".repeat(bytes - 1)).into_bytes();
    let body = of_chunk(256);
    check("rule 23, 256 bytes", &body, &Outcome::Body(b"x".to_vec(), body.len()));
    check("rule 23, 257 bytes", &of_chunk(257), &Outcome::Refused);

    let of_body = |chunks: usize| format!("1;{}\r\nx\r\n", "a".repeat(255)).repeat(chunks).into_bytes();
    assert_eq!(Outcome::Incomplete, decode(&[&of_body(64)]), "rule 23, 16 KiB in all");
    assert_eq!(Outcome::Refused, decode(&[&of_body(65)]), "rule 23, more");
    let and_one = [of_body(64), b"1;a\r\n".to_vec()].concat();
    assert_eq!(Outcome::Refused, decode(&[&and_one]), "rule 23, a little more");
}

#[test]
fn trailers_have_limits() {
    let of_bytes = |bytes: usize| format!("0\r\nA: {}\r\n\r\n", "b".repeat(bytes - 7)).into_bytes();
    let body = of_bytes(4096);
    assert_eq!(Outcome::Body(Vec::new(), body.len()), decode(&[&body]), "rule 25, 4 KiB");
    assert_eq!(Outcome::Refused, decode(&[&of_bytes(4097)]), "rule 25, more");

    let of_fields = |fields: usize| format!("0\r\n{}\r\n", "A: b\r\n".repeat(fields)).into_bytes();
    let body = of_fields(32);
    assert_eq!(Outcome::Body(Vec::new(), body.len()), decode(&[&body]), "rule 25, 32 fields");
    assert_eq!(Outcome::Refused, decode(&[&of_fields(33)]), "rule 25, more fields");
}

#[test]
fn the_largest_chunk_does_not_overflow() {
    let mut chunked = Chunked::default();
    let decoded = chunked.decode(b"ffffffffffffffff\r\nhello").unwrap();

    assert_eq!((23, 18..23), (decoded.consumed, decoded.data));
    assert!(!chunked.is_done());
}

/// The decoder reads the body that the encoder wrote.
#[test]
fn encoder_and_decoder_agree() {
    for bytes in [1, 9, 10, 15, 16, 255, 256, 4095, 65_536] {
        let body = vec![b'x'; bytes];
        let mut stream = Vec::new();
        write_chunk_head(&mut stream, bytes);
        assert_eq!(format!("{bytes:x}\r\n").into_bytes(), stream);

        stream.extend([&body, CHUNK_END, LAST_CHUNK].concat());
        assert_eq!(Outcome::Body(body, stream.len()), decode(&[&stream]));
    }
}
