//! Response heads: what an application says, made into what may be sent.
//!
//! A head is written field by field into the caller's buffer. What decides where the response ends
//! (Content-Length, Transfer-Encoding, Connection) is held back and written by [`ResponseHead::finish`],
//! so that it always agrees with what will be sent.

use crate::bytes::{find_forbidden_in_value, is_token, number, trim};
use crate::framing::Options;
use crate::{BadResponse, Known, Version};

/// What a response has to know of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The version that the client speaks.
    pub version: Version,
    /// Whether the method is HEAD, to which no body is sent.
    pub is_head: bool,
    /// Whether the connection may live on; cleared by a server that wants to close it.
    pub keep_alive: bool,
}

/// Who answers, and when.
#[derive(Clone, Copy, Debug)]
pub struct Identity<'a> {
    /// An IMF-fixdate, RFC 9110 section 5.6.7.
    pub date: &'a [u8; 29],
    /// The value of Server; empty for no such field.
    pub server: &'a [u8],
    /// Whole lines of further fields, with their ends.
    pub lines: &'a [u8],
}

/// What the server knows of a body's length. The application's own Content-Length is believed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodySize {
    /// In bytes. For HEAD, 0 counts as unknown: many applications leave the body out themselves.
    Known(u64),
    /// Not before the last byte is made.
    Unknown,
}

/// How the body that follows the head must be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyFraming {
    /// Not at all: no byte may follow.
    None,
    /// So many bytes as they are; if they cannot be had, the connection must be cut.
    Length(u64),
    /// In chunks, see [`crate::write_chunk_head`].
    Chunked,
    /// As it is; closing the connection ends it.
    UntilClose,
}

/// What [`ResponseHead::finish`] decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framed {
    /// How to send the body.
    pub framing: BodyFraming,
    /// Whether the connection lives on behind the body.
    pub keep_alive: bool,
}

/// What has been seen of a response head; its bytes are where they were written.
///
/// With [`ResponseHead::pause`] and [`ResponseHead::resume`] a head is rendered when an application states it,
/// and completed when its body is known.
#[derive(Clone, Copy, Debug)]
pub struct HeadFacts {
    /// Its `keep_alive` is cleared when the application wants to close.
    asked: Asked,
    status: u16,
    content_length: Option<u64>,
    has_date: bool,
    has_server: bool,
    dropped: bool,
}

impl HeadFacts {
    /// The status, of three digits.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The application's own Content-Length.
    pub fn content_length(&self) -> Option<u64> {
        self.content_length
    }

    /// Whether a field of the application's was left out because it concerns the connection.
    pub fn dropped(&self) -> bool {
        self.dropped
    }
}

/// A field that was looked at once: it can be appended to other heads without another look.
#[derive(Clone, Copy, Debug)]
pub struct CheckedField {
    /// The line, up to `length`.
    line: [u8; CheckedField::LINE_BYTES_MAX],
    length: u8,
    /// What it says if it is a Content-Length: there is no line then.
    content_length: Option<u64>,
}

impl CheckedField {
    /// The longest line that is kept.
    pub const LINE_BYTES_MAX: usize = 63;
}

/// A response head that is being written.
#[derive(Debug)]
pub struct ResponseHead<'o> {
    out: &'o mut Vec<u8>,
    facts: HeadFacts,
}

impl<'o> ResponseHead<'o> {
    /// Appends the status line to `out`. It says HTTP/1.1 to every client, RFC 9110 section 6.2.
    ///
    /// # Errors
    ///
    /// The status is not of three digits or is a 1xx, or the reason holds a control byte.
    #[inline]
    pub fn begin(
        out: &'o mut Vec<u8>,
        asked: Asked,
        status: u16,
        reason: &[u8],
    ) -> Result<ResponseHead<'o>, BadResponse> {
        out.reserve(HEAD_BYTES_USUAL);
        if status == 200 && reason == b"OK" {
            out.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
        } else {
            write_status_line(out, status, reason)?;
        }
        let facts = HeadFacts {
            asked,
            status,
            content_length: None,
            has_date: false,
            has_server: false,
            dropped: false,
        };
        Ok(ResponseHead { out, facts })
    }

    /// Appends a field of the application's.
    ///
    /// Content-Length is held back for [`ResponseHead::finish`]. `close` in Connection is obeyed. Others
    /// that concern the connection are the server's business and left out, see [`ResponseHead::dropped`].
    ///
    /// # Errors
    ///
    /// The name is no token, the value holds a control byte other than HTAB, or Content-Length is no number
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
        // Blanks around a value are no part of it, RFC 9110 section 5.5.
        let value = trim(value);
        match known {
            Known::ContentLength => {
                let length = number(value).ok_or_else(|| BadResponse::content_length(value))?;
                return self.set_content_length(length);
            }
            Known::Date => self.facts.has_date = true,
            Known::Server => self.facts.has_server = true,
            Known::Connection => {
                let mut options = Options::default();
                options.read(value);
                self.facts.asked.keep_alive &= !options.close;
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

    /// Appends a field as [`ResponseHead::field`] does, and returns it for other heads; `None` for a field of the
    /// connection or the server, and for a long one.
    ///
    /// # Errors
    ///
    /// Those of [`ResponseHead::field`].
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
                // What concerns the connection was left out.
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
    /// It is a Content-Length that differs from an earlier one.
    #[inline]
    pub fn checked(&mut self, field: &CheckedField) -> Result<(), BadResponse> {
        if let Some(length) = field.content_length {
            return self.set_content_length(length);
        }
        self.out.extend_from_slice(&field.line[..usize::from(field.length)]);
        Ok(())
    }

    /// Appends whole field lines, each with its CRLF, that the server made itself. They are not looked at:
    /// none may be a field that [`ResponseHead::field`] treats in its own way.
    #[inline]
    pub fn raw(&mut self, rendered: &[u8]) {
        debug_assert!(rendered.is_empty() || rendered.ends_with(b"\r\n"), "field lines end in CRLF");
        self.out.extend_from_slice(rendered);
    }

    /// Whether a field of the application's was left out because it concerns the connection (RFC 9110 section
    /// 7.6.1); PEP 3333 forbids it to send those.
    #[inline]
    pub fn dropped(&self) -> bool {
        self.facts.dropped
    }

    /// The application's own Content-Length.
    #[inline]
    pub fn content_length(&self) -> Option<u64> {
        self.facts.content_length
    }

    /// Lets go of the buffer; the head can be completed later.
    #[inline]
    pub fn pause(self) -> HeadFacts {
        self.facts
    }

    /// Goes on with a head whose bytes so far are at the end of `out`. `keep_alive` is what the connection
    /// allows by now.
    #[inline]
    pub fn resume(out: &'o mut Vec<u8>, mut facts: HeadFacts, keep_alive: bool) -> ResponseHead<'o> {
        facts.asked.keep_alive &= keep_alive;
        ResponseHead { out, facts }
    }

    /// Whether a field of this name has been written behind the byte at `start` of the output.
    pub fn has(&self, start: usize, name: &[u8]) -> bool {
        let names = |line: &[u8]| {
            line.split_at_checked(name.len()).is_some_and(|(begins, rest)| {
                begins.eq_ignore_ascii_case(name) && rest.first() == Some(&b':')
            })
        };
        self.out.get(start..).is_some_and(|written| written.split(|&byte| byte == b'\n').any(names))
    }

    /// Completes the head: Date and Server unless the application set them, the length or coding of the body,
    /// the connection's fate, and the empty line.
    #[inline]
    pub fn finish(mut self, identity: &Identity<'_>, body: BodySize) -> Framed {
        if !self.facts.has_date {
            self.out.extend_from_slice(b"Date: ");
            self.out.extend_from_slice(identity.date);
            self.out.extend_from_slice(b"\r\n");
        }
        if !self.facts.has_server && !identity.server.is_empty() {
            self.out.extend_from_slice(b"Server: ");
            self.out.extend_from_slice(identity.server);
            self.out.extend_from_slice(b"\r\n");
        }
        self.out.extend_from_slice(identity.lines);
        let framing = self.write_framing(body);
        let keep_alive = self.facts.asked.keep_alive && framing != BodyFraming::UntilClose;
        // The status line says 1.1, so that a client of 1.0 may take persistence for granted too.
        self.out.extend_from_slice(match (keep_alive, self.facts.asked.version) {
            (false, _) => b"Connection: close\r\n\r\n",
            (true, Version::Http10) => b"Connection: keep-alive\r\n\r\n",
            (true, Version::Http11) => b"\r\n",
        });
        Framed { framing, keep_alive }
    }

    /// Appends Content-Length or Transfer-Encoding where one is due, RFC 9112 sections 6.1 to 6.3.
    #[inline]
    fn write_framing(&mut self, body: BodySize) -> BodyFraming {
        let length = match (self.facts.content_length, body) {
            (Some(length), _) | (None, BodySize::Known(length)) => Some(length),
            (None, BodySize::Unknown) => None,
        };
        if self.facts.asked.is_head || matches!(self.facts.status, 204 | 205 | 304) {
            self.write_length_without_body(body);
            return BodyFraming::None;
        }
        match (length, self.facts.asked.version) {
            (Some(length), _) => {
                self.write_content_length(length);
                BodyFraming::Length(length)
            }
            (None, Version::Http11) => {
                self.out.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
                BodyFraming::Chunked
            }
            (None, Version::Http10) => BodyFraming::UntilClose,
        }
    }

    /// The Content-Length of a response that has no body: what a GET would have got, if that is known.
    fn write_length_without_body(&mut self, body: BodySize) {
        let length = match (self.facts.status, self.facts.content_length, body) {
            // RFC 9110 section 15.3.6: a 205 has no content, and says so to HEAD and GET alike.
            (205, ..) => Some(0),
            // Never with a 204 (RFC 9110 section 8.6). The server's own body for a 304 is empty, which is not
            // what a GET would have got.
            (204, ..) | (304, None, _) | (_, None, BodySize::Known(0) | BodySize::Unknown) => None,
            (_, Some(length), _) | (_, None, BodySize::Known(length)) => Some(length),
        };
        if let Some(length) = length {
            self.write_content_length(length);
        }
    }

    fn write_content_length(&mut self, length: u64) {
        self.out.extend_from_slice(b"Content-Length: ");
        self.out.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
        self.out.extend_from_slice(b"\r\n");
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

/// Any status line but the usual one.
fn write_status_line(out: &mut Vec<u8>, status: u16, reason: &[u8]) -> Result<(), BadResponse> {
    match status {
        200..=999 => {}
        100..=199 => return Err(BadResponse::Informational { status }),
        _ => return Err(BadResponse::Status { status }),
    }
    if let Some(at) = find_forbidden_in_value(reason, 0) {
        return Err(BadResponse::Reason { byte: reason[at] });
    }
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(itoa::Buffer::new().format(status).as_bytes());
    // The space stays without a reason too, RFC 9112 section 4.
    out.extend_from_slice(b" ");
    out.extend_from_slice(reason);
    out.extend_from_slice(b"\r\n");
    Ok(())
}

/// A usual head fits, so that its buffer grows once.
const HEAD_BYTES_USUAL: usize = 256;
