//! One field line of a head, RFC 9112 section 5.

use adyton_http::bytes::{find_forbidden_in_value, is_blank, is_plain_byte, is_token_byte};
use adyton_http::{Field, Known, Span};

use crate::Refusal;
use crate::refusal::Stop;
use crate::request_line::BARE_LF;

/// Reads the field line at `start`; returns the field and where the next line starts.
#[inline]
pub(crate) fn read(input: &[u8], start: usize) -> Result<(Field, usize), Stop> {
    let Some(length) = memchr::memchr(b':', &input[start..]) else { return Err(no_colon(input, start)) };
    let colon = start + length;
    let name = &input[start..colon];
    let known = Known::find(name);
    // Every known name is a token.
    let plain = known != Known::Other || check_name(name)?;
    let mut value_start = colon + 1;
    while input.get(value_start).is_some_and(|&byte| is_blank(byte)) {
        value_start += 1;
    }
    let line_end = find_forbidden_in_value(input, value_start).ok_or(Stop::Short)?;
    let [b'\r', b'\n', ..] = input[line_end..] else { return Err(bad_end(&input[line_end..])) };
    let mut value_end = line_end;
    while value_end > value_start && is_blank(input[value_end - 1]) {
        value_end -= 1;
    }
    let (name, value) = (Span::new(start, colon), Span::new(value_start, value_end));
    Ok((Field { name, value, known, plain }, line_end + 2))
}

/// Whether `name`, the bytes before the colon, is plain; a name that is not a token is refused.
fn check_name(name: &[u8]) -> Result<bool, Refusal> {
    if !name.is_empty() && name.iter().all(|&byte| is_plain_byte(byte)) {
        return Ok(true);
    }
    match name.iter().find(|&&byte| !is_token_byte(byte)) {
        None if name.is_empty() => Err(NO_NAME),
        None => Ok(false),
        Some(b'\r' | b'\n') => Err(NO_COLON),
        Some(b' ' | b'\t') => Err(BLANK_IN_NAME),
        Some(_) => Err(BAD_NAME),
    }
}

#[cold]
fn no_colon(input: &[u8], start: usize) -> Stop {
    match input[start..].iter().find(|&&byte| !is_token_byte(byte)) {
        None | Some(b'\r') if !input[start..].contains(&b'\n') => Stop::Short,
        Some(b' ' | b'\t') => BLANK_IN_NAME.into(),
        None | Some(b'\r' | b'\n') => NO_COLON.into(),
        Some(_) => BAD_NAME.into(),
    }
}

/// Returns the refusal of a value that does not end in CRLF, or asks for more bytes.
#[cold]
fn bad_end(rest: &[u8]) -> Stop {
    match rest {
        [b'\r'] => Stop::Short,
        [b'\n', ..] => BARE_LF.into(),
        [b'\r', ..] => BARE_CR.into(),
        _ => BAD_VALUE.into(),
    }
}

const NO_NAME: Refusal = Refusal::bad("A field has no name.");
const NO_COLON: Refusal = Refusal::bad("A field line has no colon.");
const BLANK_IN_NAME: Refusal = Refusal::bad("A field has whitespace in its name or before its colon.");
const BAD_NAME: Refusal = Refusal::bad("A field name holds a byte that no name may hold.");
const BAD_VALUE: Refusal = Refusal::bad("A field value holds a control byte.");
pub(crate) const BARE_CR: Refusal = Refusal::bad("A CR stands without LF.");
