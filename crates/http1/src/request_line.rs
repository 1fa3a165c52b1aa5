//! The request line: method, target and version, RFC 9112 section 3.

use adyton_http::bytes::{find_outside_target, is_token_byte};
use adyton_http::{Method, RequestHead, Span, Version};

use crate::Refusal;
use crate::limits::METHOD_BYTES_MAX;
use crate::refusal::Stop;
use crate::request_target::RequestTarget;

/// Reads the line at `start` into `request`, and returns where the next line starts. Afterwards the host of `request`
/// is the host of the target.
#[inline]
pub(crate) fn read(request: &mut RequestHead, input: &[u8], start: usize) -> Result<usize, Stop> {
    let method_end = read_method(input, start)?;
    request.method = Method::of(&input[start..method_end]);
    request.method_span = Span::new(start, method_end);
    let target_start = method_end + 1;
    let target_end = find_outside_target(input, target_start).ok_or(Stop::Short)?;
    if input[target_end] != b' ' || target_end == target_start {
        return Err(not_a_target(input, target_end));
    }
    let next;
    (request.version, next) = read_version(input, start, target_end + 1)?;
    let target = RequestTarget::read(input, target_start, target_end, request.method)?;
    request.target = target.whole;
    (request.path, request.query, request.host) = (target.path, target.query, target.authority);
    Ok(next)
}

/// Returns where the method ends; a space follows it.
#[inline]
fn read_method(input: &[u8], start: usize) -> Result<usize, Stop> {
    let name = input.get(start..).ok_or(Stop::Short)?;
    match name.iter().take(METHOD_BYTES_MAX + 1).position(|&byte| !is_token_byte(byte)) {
        Some(length @ 1..) if name[length] == b' ' => Ok(start + length),
        Some(length) => Err(not_a_method(name, length)),
        None if name.len() > METHOD_BYTES_MAX => Err(METHOD_TOO_LONG.into()),
        None => Err(Stop::Short),
    }
}

/// Reads the version at `start`, which ends the line that began at `line_start`; returns the version and where the next
/// line starts.
#[inline]
fn read_version(input: &[u8], line_start: usize, start: usize) -> Result<(Version, usize), Stop> {
    match &input[start..] {
        [b'H', b'T', b'T', b'P', b'/', b'1', b'.', b'1', b'\r', b'\n', ..] => {
            Ok((Version::Http11, start + 10))
        }
        _ if input[line_start..].starts_with(b"PRI * HTTP/2.0") => Err(HTTP2_PREFACE.into()),
        rest => odd_version(rest).map(|version| (version, start + 10)),
    }
}

/// Reads any version other than a complete `HTTP/1.1`.
#[cold]
fn odd_version(rest: &[u8]) -> Result<Version, Stop> {
    let version = rest.get(..8).ok_or_else(|| match memchr::memchr(b'\n', rest) {
        Some(_) => NO_VERSION.into(),
        None => Stop::Short,
    })?;
    let (b"HTTP/", [major, b'.', minor]) = version.split_at(5) else { return Err(NO_VERSION.into()) };
    if !major.is_ascii_digit() || !minor.is_ascii_digit() {
        return Err(NO_VERSION.into());
    }
    match &rest[8..] {
        [] | [b'\r'] => return Err(Stop::Short),
        [b'\r', b'\n', ..] => {}
        [b'\n', ..] => return Err(BARE_LF.into()),
        _ => return Err(NO_VERSION.into()),
    }
    match (major, minor) {
        (b'1', b'0') => Ok(Version::Http10),
        (b'1', _) => Ok(Version::Http11),
        (b'0', _) => Err(OLD_VERSION.into()),
        _ => Err(NEW_VERSION.into()),
    }
}

/// Returns the refusal of a method that is empty or does not end in a space.
#[cold]
fn not_a_method(name: &[u8], length: usize) -> Stop {
    let refusal = match name[length] {
        0x16 | 0x80 if length == 0 => TLS,
        b'\r' | b'\n' if length == 0 => EMPTY_LINES,
        b'\r' | b'\n' => NO_VERSION,
        b' ' | b'\t' => BAD_BLANK,
        _ => BAD_METHOD,
    };
    refusal.into()
}

/// Returns the refusal of a target that is empty or does not end in a space.
#[cold]
fn not_a_target(input: &[u8], end: usize) -> Stop {
    let refusal = match &input[end..] {
        [b'\r'] => return Stop::Short,
        [b'\r', b'\n', ..] => NO_VERSION,
        [b'\n', ..] => BARE_LF,
        [b' ' | b'\t', ..] => BAD_BLANK,
        _ => BAD_TARGET,
    };
    refusal.into()
}

const TLS: Refusal = Refusal::bad("This looks like TLS, but the port speaks plain HTTP.");
const HTTP2_PREFACE: Refusal = Refusal::bad("This is HTTP/2 without TLS, but the port speaks HTTP/1.1.");
const EMPTY_LINES: Refusal = Refusal::bad("More than one empty line stands before the request.");
const BAD_BLANK: Refusal = Refusal::bad("The request line must have exactly two single spaces.");
const BAD_METHOD: Refusal = Refusal::bad("The method holds a byte that no method may hold.");
const METHOD_TOO_LONG: Refusal = Refusal::new(501, "The method is longer than any known method.");
const BAD_TARGET: Refusal =
    Refusal::bad("The request-target holds a control, a fragment or a byte that is not ASCII.");
const NO_VERSION: Refusal = Refusal::bad("The request line must end in HTTP/1.1 and one CRLF.");
const OLD_VERSION: Refusal = Refusal::new(505, "HTTP versions before 1.0 are not supported.");
const NEW_VERSION: Refusal = Refusal::new(505, "This port speaks HTTP/1.1 and HTTP/1.0.");
pub(crate) const BARE_LF: Refusal = Refusal::bad("A line ends in LF without CR.");
