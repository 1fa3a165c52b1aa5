//! Scripts whose output goes to the client unparsed (`nph-`, RFC 3875 section 5): only the status is read, for the log.

use crate::head::{BadHead, shown};

/// The longest first line that the server waits for.
pub const FIRST_LINE_BYTES_MAX: usize = 4 << 10;

/// Returns the status in the status line at the beginning of an answer; `None` while the line is incomplete.
///
/// # Errors
///
/// [`BadHead::NoStatusLine`].
pub fn status_of(bytes: &[u8]) -> Result<Option<u16>, BadHead> {
    let wrong = || Err(BadHead::NoStatusLine(shown(bytes)));
    let Some(end) = memchr::memchr(b'\n', bytes) else {
        return if bytes.len() > FIRST_LINE_BYTES_MAX { wrong() } else { Ok(None) };
    };
    let Some(version) = bytes[..end].strip_prefix(b"HTTP/1.") else { return wrong() };
    let [b'0' | b'1', b' ', number @ ..] = version else { return wrong() };
    let number = number.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
    match number.and_then(|digits| digits.parse().ok()) {
        Some(status @ 200..=599) => Ok(Some(status)),
        _ => wrong(),
    }
}

#[cfg(test)]
mod tests {
    use super::{FIRST_LINE_BYTES_MAX, status_of};

    #[test]
    fn statuses() {
        for (text, expected) in [
            ("HTTP/1.1 200 OK\r\n", Some(Some(200))),
            ("HTTP/1.0 404\n", Some(Some(404))),
            ("HTTP/1.1 200 O", Some(None)),
            ("", Some(None)),
            ("HTTP/1.1 100 Continue\r\n", None),
            ("HTTP/2 200\r\n", None),
            ("Content-Type: text/html\r\n", None),
            ("HTTP/1.1 20\r\n", None),
        ] {
            assert_eq!(expected, status_of(text.as_bytes()).ok(), "{text:?}");
        }
        assert!(status_of(&vec![b'x'; FIRST_LINE_BYTES_MAX + 1]).is_err());
    }
}
