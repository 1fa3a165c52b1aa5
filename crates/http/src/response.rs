//! Response heads: turns an application's status and fields into lines that may be sent.
//!
//! A head is gathered field by field, as lines in the caller's buffer. The fields that decide where the response ends
//! (Content-Length, Transfer-Encoding, Connection) are left to the codec that frames the response, so that they always
//! agree with the body that will be sent.

use crate::bytes::{find_forbidden_in_value, is_token, number, trim};
use crate::{BadResponse, Known};

/// The fields by which the server identifies itself, and the date.
#[derive(Clone, Copy, Debug)]
pub struct Identity<'a> {
    /// An IMF-fixdate, RFC 9110 section 5.6.7.
    pub date: &'a [u8; 29],
    /// The line of the Server field, with its line end; empty if the field is not sent.
    pub server: &'a [u8],
    /// Whole lines of further fields, with their line ends.
    pub lines: &'a [u8],
}

/// The length of a body as far as the server knows it. The application's own Content-Length takes precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodySize {
    /// The length in bytes. For HEAD, 0 counts as unknown: many applications leave out the body themselves.
    Known(u64),
    /// The length is not known before the last byte is made.
    Unknown,
}

/// Facts about a response head, as far as it was written; its bytes stay in the buffer.
///
/// With [`ResponseHead::pause`] and [`ResponseHead::resume`], a head is written when the application gives it and
/// completed when its body is known.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate fact about the head")]
pub struct HeadFacts {
    status: u16,
    content_length: Option<u64>,
    closes: bool,
    has_date: bool,
    has_server: bool,
    dropped: bool,
}

impl HeadFacts {
    /// The status, which has three digits.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The application's own Content-Length.
    pub fn content_length(&self) -> Option<u64> {
        self.content_length
    }

    /// Whether a field of the application was left out because it concerns the connection.
    pub fn dropped(&self) -> bool {
        self.dropped
    }

    /// Whether the application wants the connection to end.
    pub fn closes(&self) -> bool {
        self.closes
    }

    /// Whether no byte of a body may follow: the response answers HEAD (`to_head`), or has a status without a body (RFC
    /// 9110 section 6.4.1).
    #[inline]
    pub fn has_no_body(&self, to_head: bool) -> bool {
        to_head || matches!(self.status, 204 | 205 | 304)
    }

    /// The length of the body that follows, if it is known.
    #[inline]
    pub fn length(&self, body: BodySize) -> Option<u64> {
        match (self.content_length, body) {
            (Some(length), _) | (None, BodySize::Known(length)) => Some(length),
            (None, BodySize::Unknown) => None,
        }
    }

    /// Returns the Content-Length of a response without a body: the length that a GET would have got, if it is known.
    pub fn length_without_body(&self, body: BodySize) -> Option<u64> {
        match (self.status, self.content_length, body) {
            // RFC 9110 section 15.3.6: a 205 has no content, and its Content-Length says so to HEAD and GET alike.
            (205, ..) => Some(0),
            // A 204 never has a Content-Length (RFC 9110 section 8.6). The body that the server makes for a 304 is
            // empty, and so does not tell the length that a GET would have got.
            (204, ..) | (304, None, _) | (_, None, BodySize::Known(0) | BodySize::Unknown) => None,
            (_, Some(length), _) | (_, None, BodySize::Known(length)) => Some(length),
        }
    }
}

/// A field that was checked once and can be appended to other heads without another check.
#[derive(Clone, Copy, Debug)]
pub struct CheckedField {
    /// The field line, in the first `length` bytes.
    line: [u8; CheckedField::LINE_BYTES_MAX],
    length: u8,
    /// The value of a Content-Length field, which is kept here and not as a line.
    content_length: Option<u64>,
}

impl CheckedField {
    /// The longest line that can be kept for other heads.
    pub const LINE_BYTES_MAX: usize = 63;
}

/// A response head that is being gathered: its fields are lines at the end of a buffer.
#[derive(Debug)]
pub struct ResponseHead<'o> {
    out: &'o mut Vec<u8>,
    facts: HeadFacts,
}

impl<'o> ResponseHead<'o> {
    /// Begins a head after the status line that a codec has written into `out`; [`check_status`] must allow `status`.
    #[inline]
    pub fn new(out: &'o mut Vec<u8>, status: u16) -> ResponseHead<'o> {
        let facts = HeadFacts {
            status,
            content_length: None,
            closes: false,
            has_date: false,
            has_server: false,
            dropped: false,
        };
        ResponseHead { out, facts }
    }

    /// Appends a field of the application.
    ///
    /// Content-Length is not written but noted, see [`HeadFacts::length`]. `close` in Connection is obeyed. Other
    /// fields that concern the connection are left out, because they are the server's business: see
    /// [`ResponseHead::dropped`].
    ///
    /// # Errors
    ///
    /// The name is not a token, the value holds a control character other than HTAB, or Content-Length is not a number
    /// or differs from an earlier one.
    #[inline]
    pub fn field(&mut self, name: &[u8], value: &[u8]) -> Result<(), BadResponse> {
        let known = Known::find(name);
        if known == Known::Other && !is_token(name) {
            return Err(BadResponse::field_name(name));
        }
        if let Some(at) = find_forbidden_in_value(value, 0) {
            return Err(BadResponse::field_value(name, value[at]));
        }
        // Blanks around a value do not belong to it, RFC 9110 section 5.5.
        let value = trim(value);
        match known {
            Known::ContentLength => {
                let length = number(value).ok_or_else(|| BadResponse::content_length(value))?;
                return self.set_content_length(length);
            }
            Known::Date => self.facts.has_date = true,
            Known::Server => self.facts.has_server = true,
            Known::Connection => {
                let mut options = value.split(|&byte| byte == b',').map(trim);
                self.facts.closes |= options.any(|option| option.eq_ignore_ascii_case(b"close"));
                self.facts.dropped |= !value.eq_ignore_ascii_case(b"close");
                return Ok(());
            }
            Known::KeepAlive
            | Known::ProxyConnection
            | Known::Te
            | Known::Trailer
            | Known::TransferEncoding
            | Known::Upgrade => {
                self.facts.dropped = true;
                return Ok(());
            }
            _ => {}
        }
        self.out.reserve(name.len() + value.len() + 4);
        self.out.extend_from_slice(name);
        self.out.extend_from_slice(b": ");
        self.out.extend_from_slice(value);
        self.out.extend_from_slice(b"\r\n");
        Ok(())
    }

    /// Appends a field as [`ResponseHead::field`] does, and returns it for use in other heads; `None` if the field
    /// concerns the connection or the server, or is too long.
    ///
    /// # Errors
    ///
    /// The errors of [`ResponseHead::field`].
    pub fn check(&mut self, name: &[u8], value: &[u8]) -> Result<Option<CheckedField>, BadResponse> {
        let start = self.out.len();
        self.field(name, value)?;
        let mut checked =
            CheckedField { line: [0; CheckedField::LINE_BYTES_MAX], length: 0, content_length: None };
        match Known::find(name) {
            Known::ContentLength => checked.content_length = self.facts.content_length,
            Known::Date | Known::Server => return Ok(None),
            _ => {
                let appended = &self.out[start..];
                // The line is empty if the field concerns the connection and was left out.
                let Some(line) = checked.line.get_mut(..appended.len()).filter(|line| !line.is_empty())
                else {
                    return Ok(None);
                };
                line.copy_from_slice(appended);
                checked.length = u8::try_from(appended.len()).unwrap_or(0);
            }
        }
        Ok(Some(checked))
    }

    /// Appends a field that was checked for another head.
    ///
    /// # Errors
    ///
    /// The field is a Content-Length that differs from an earlier one.
    #[inline]
    pub fn checked(&mut self, field: &CheckedField) -> Result<(), BadResponse> {
        if let Some(length) = field.content_length {
            return self.set_content_length(length);
        }
        self.out.extend_from_slice(&field.line[..usize::from(field.length)]);
        Ok(())
    }

    /// Appends whole field lines, each with its CRLF, that the server itself has made. They are not checked, and must
    /// not be fields that [`ResponseHead::field`] treats specially.
    #[inline]
    pub fn raw(&mut self, rendered: &[u8]) {
        debug_assert!(rendered.is_empty() || rendered.ends_with(b"\r\n"), "field lines end in CRLF");
        self.out.extend_from_slice(rendered);
    }

    /// Whether a field of the application was left out because it concerns the connection (RFC 9110 section 7.6.1); PEP
    /// 3333 forbids applications to send such fields.
    #[inline]
    pub fn dropped(&self) -> bool {
        self.facts.dropped
    }

    /// The application's own Content-Length.
    #[inline]
    pub fn content_length(&self) -> Option<u64> {
        self.facts.content_length
    }

    /// Appends Date and Server, unless the application has set them, and the lines of further fields.
    #[inline]
    pub fn identify(&mut self, identity: &Identity<'_>) {
        if !self.facts.has_date {
            let mut line = *b"Date:                              \r\n";
            line[b"Date: ".len()..][..identity.date.len()].copy_from_slice(identity.date);
            self.out.extend_from_slice(&line);
        }
        if !self.facts.has_server {
            self.out.extend_from_slice(identity.server);
        }
        self.out.extend_from_slice(identity.lines);
    }

    /// Takes the head apart, for the codec that completes it.
    #[inline]
    pub fn into_parts(self) -> (&'o mut Vec<u8>, HeadFacts) {
        (self.out, self.facts)
    }

    /// Releases the buffer; [`ResponseHead::resume`] goes on with the head later.
    #[inline]
    pub fn pause(self) -> HeadFacts {
        self.facts
    }

    /// Goes on with a paused head, whose bytes so far are at the end of `out`.
    #[inline]
    pub fn resume(out: &'o mut Vec<u8>, facts: HeadFacts) -> ResponseHead<'o> {
        ResponseHead { out, facts }
    }

    /// Whether a field of this name was written after offset `start` of the output.
    pub fn has(&self, start: usize, name: &[u8]) -> bool {
        let names = |line: &[u8]| {
            line.split_at_checked(name.len()).is_some_and(|(begins, rest)| {
                begins.eq_ignore_ascii_case(name) && rest.first() == Some(&b':')
            })
        };
        self.out.get(start..).is_some_and(|written| written.split(|&byte| byte == b'\n').any(names))
    }

    fn set_content_length(&mut self, length: u64) -> Result<(), BadResponse> {
        match self.facts.content_length {
            Some(first) if first != length => Err(BadResponse::ContentLengths { first, second: length }),
            _ => {
                self.facts.content_length = Some(length);
                Ok(())
            }
        }
    }
}

/// Checks the status and the reason of a status line.
///
/// # Errors
///
/// The status does not have three digits or is a 1xx, or the reason holds a control character.
pub fn check_status(status: u16, reason: &[u8]) -> Result<(), BadResponse> {
    match status {
        200..=999 => {}
        100..=199 => return Err(BadResponse::Informational { status }),
        _ => return Err(BadResponse::Status { status }),
    }
    match find_forbidden_in_value(reason, 0) {
        Some(at) => Err(BadResponse::Reason { byte: reason[at] }),
        None => Ok(()),
    }
}
