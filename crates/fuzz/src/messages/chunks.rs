//! A reference implementation of the chunk decoder: RFC 9112 section 7.1 line by line, on a stream that has come as a
//! whole.

use adyton_http1::Chunked;

use crate::text::{find, is_text, is_token, is_token_byte, split_once};

/// The outcome of decoding a stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The body, and how many bytes of the stream it took.
    Body(Vec<u8>, usize),
    /// The stream ends too early.
    Incomplete,
    /// The stream breaks a rule.
    Refused,
}

/// Panics unless the decoder has the same outcome as the reference.
pub(crate) fn check(stream: &[u8]) {
    let ours = decode(stream);
    let mut twin = naive(stream);
    if ours == Outcome::Refused && twin == Outcome::Incomplete {
        // The decoder refuses the first bad byte, the reference waits for the end of its line.
        twin = naive(&[stream, b"\r\n"].concat());
    }
    assert_eq!(twin, ours, "{}", crate::show(stream));
}

/// Decodes a stream that has come as a whole.
fn decode(stream: &[u8]) -> Outcome {
    let (mut chunked, mut body, mut at) = (Chunked::new(), Vec::new(), 0);
    while at < stream.len() && !chunked.is_done() {
        let Ok(decoded) = chunked.decode(&stream[at..]) else {
            assert!(chunked.decode(&stream[at..]).is_err(), "goes on behind a refusal");
            return Outcome::Refused;
        };
        assert!(decoded.consumed > 0 && decoded.data.end <= decoded.consumed, "no progress: {decoded:?}");
        body.extend_from_slice(&stream[at..][decoded.data]);
        at += decoded.consumed;
    }
    if chunked.is_done() { Outcome::Body(body, at) } else { Outcome::Incomplete }
}

fn naive(stream: &[u8]) -> Outcome {
    let (mut body, mut rest, mut extension_bytes) = (Vec::new(), stream, 0);
    loop {
        let Some(end) = find(rest, b"\r\n") else { return Outcome::Incomplete };
        let Some((size, extension)) = size_line(&rest[..end]) else { return Outcome::Refused };
        extension_bytes += extension;
        if extension > 256 || extension_bytes > 16 * 1024 {
            return Outcome::Refused;
        }
        rest = &rest[end + 2..];
        if size == 0 {
            return trailers(stream, rest, body);
        }
        let Some((data, behind)) = rest.split_at_checked(size) else { return Outcome::Incomplete };
        body.extend_from_slice(data);
        match behind {
            [b'\r', b'\n', behind @ ..] => rest = behind,
            [] | [_] => return Outcome::Incomplete,
            _ => return Outcome::Refused,
        }
    }
}

/// Reads the size in a line, and counts the bytes of its extensions.
fn size_line(line: &[u8]) -> Option<(usize, usize)> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let (size, extensions) = line.split_at(digits);
    let mut rest = extensions;
    while !rest.is_empty() {
        rest = behind_extension(rest)?;
    }
    let size = str::from_utf8(size).ok().filter(|size| size.len() <= 16)?;
    Some((usize::from_str_radix(size, 16).ok()?, extensions.len()))
}

/// Returns the bytes behind `";" name [ "=" ( token / quoted-string ) ]`.
fn behind_extension(extension: &[u8]) -> Option<&[u8]> {
    let token_of = |bytes: &[u8]| bytes.iter().take_while(|byte| is_token_byte(**byte)).count();
    let rest = extension.strip_prefix(b";")?;
    let (name, rest) = rest.split_at(token_of(rest));
    let (value, rest) = match rest {
        [b'=', b'"', quoted @ ..] => return behind_quoted(quoted).filter(|_| is_token(name)),
        [b'=', value @ ..] => value.split_at(token_of(value)),
        rest => (name, rest),
    };
    (is_token(name) && is_token(value)).then_some(rest)
}

fn behind_quoted(mut rest: &[u8]) -> Option<&[u8]> {
    loop {
        rest = match rest {
            [b'"', behind @ ..] => return Some(behind),
            [b'\\', byte, behind @ ..] if is_text(*byte) => behind,
            [byte, behind @ ..] if *byte != b'\\' && is_text(*byte) => behind,
            _ => return None,
        };
    }
}

fn trailers(stream: &[u8], section: &[u8], body: Vec<u8>) -> Outcome {
    let mut rest = section;
    for fields in 0.. {
        let Some(end) = find(rest, b"\r\n") else { return Outcome::Incomplete };
        let line = &rest[..end];
        rest = &rest[end + 2..];
        if section.len() - rest.len() > 4096 {
            return Outcome::Refused;
        }
        if line.is_empty() {
            return Outcome::Body(body, stream.len() - rest.len());
        }
        let is_good = |(name, value): (&[u8], &[u8])| {
            is_token(name) && !is_forbidden(name) && value.iter().all(|&byte| is_text(byte))
        };
        if fields == 32 || !split_once(line, b':').is_some_and(is_good) {
            break;
        }
    }
    Outcome::Refused
}

/// Whether a trailer field must not have this name (rule 25).
fn is_forbidden(name: &[u8]) -> bool {
    let name = String::from_utf8_lossy(name).to_ascii_lowercase();
    let names = "authorization cache-control connection cookie expect forwarded host if-match \
        if-modified-since if-none-match if-range if-unmodified-since keep-alive max-forwards \
        proxy-authorization proxy-connection range te trailer transfer-encoding upgrade";
    name.starts_with("content-") || names.split_ascii_whitespace().any(|other| other == name)
}
