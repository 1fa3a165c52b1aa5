//! Fields that frame the body and decide whether the connection stays open, RFC 9112 sections 6 and 9.

use adyton_http::bytes::{is_token, number, trim};

use crate::Refusal;

/// How the body of a request is delimited, RFC 9112 section 6.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// No body: neither Content-Length nor Transfer-Encoding is in the head.
    None,
    /// A body of this many bytes, which may be 0.
    Length(u64),
    /// A body in chunks, see [`crate::Chunked`].
    Chunked,
}

/// Reads the value of Content-Length: `1*DIGIT`; a list is refused, even one of equal numbers.
pub(crate) fn content_length(value: &[u8]) -> Result<u64, Refusal> {
    number(value).ok_or(BAD_LENGTH)
}

/// Checks that the value of Transfer-Encoding is `chunked` and nothing else.
///
/// A value is malformed if it is not a list of codings, or does not have chunked exactly once, at its end. Other
/// codings in the list are well-formed but unknown here (RFC 9112 section 6.1); no coding is skipped.
pub(crate) fn only_chunked(value: &[u8]) -> Result<(), Refusal> {
    if value.eq_ignore_ascii_case(b"chunked") {
        return Ok(());
    }
    let mut codings = value.split(|&byte| byte == b',').map(coding_name);
    let last = codings.next_back().unwrap_or_default();
    let good_before = codings.all(|coding| is_token(coding) && !coding.eq_ignore_ascii_case(b"chunked"));
    if good_before && is_token(last) { Err(UNKNOWN_CODING) } else { Err(BAD_CODING) }
}

/// The name of one element of Transfer-Encoding, without its parameters.
fn coding_name(coding: &[u8]) -> &[u8] {
    trim(coding.split(|&byte| byte == b';').next().unwrap_or_default())
}

/// The options about keep-alive in the Connection fields; both may be set.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    pub(crate) close: bool,
    pub(crate) keep_alive: bool,
}

impl Options {
    /// Adds the options in `value`, a comma-separated list.
    pub(crate) fn read(&mut self, value: &[u8]) {
        for option in value.split(|&byte| byte == b',').map(trim) {
            self.close |= option.eq_ignore_ascii_case(b"close");
            self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
    }
}

const BAD_LENGTH: Refusal = Refusal::bad("Content-Length is not one number.");
const BAD_CODING: Refusal =
    Refusal::bad("Transfer-Encoding must be a list that has chunked once, at its end.");
const UNKNOWN_CODING: Refusal = Refusal::new(501, "The only transfer coding known here is chunked.");
