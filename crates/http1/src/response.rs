//! Response heads on an HTTP/1.1 connection: the status line, and the fields that say where the response ends.

use adyton_http::{BadResponse, BodySize, HeadFacts, Identity, ResponseHead, Version, check_status};

/// The facts of a request that its response depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The version that the client speaks.
    pub version: Version,
    /// Whether the method is HEAD, whose response has no body.
    pub is_head: bool,
    /// Whether the connection may stay open; cleared by a server that wants to close it.
    pub keep_alive: bool,
}

/// How the body that follows the head must be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyFraming {
    /// The body is not sent: no byte may follow the head.
    None,
    /// The body is sent as this many bytes; if they are not available, the connection must be cut.
    Length(u64),
    /// The body is sent in chunks, see [`crate::write_chunk_head`].
    Chunked,
    /// The body is sent as it is, and its end is the end of the connection.
    UntilClose,
}

/// The decisions of [`finish`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framed {
    /// How to send the body.
    pub framing: BodyFraming,
    /// Whether the connection stays open after the body.
    pub keep_alive: bool,
}

/// Begins a head: appends its status line to `out`. The line says HTTP/1.1 to every client (RFC 9110 section 6.2).
///
/// # Errors
///
/// The errors of [`check_status`].
#[inline]
pub fn begin<'o>(out: &'o mut Vec<u8>, status: u16, reason: &[u8]) -> Result<ResponseHead<'o>, BadResponse> {
    out.reserve(HEAD_BYTES_USUAL);
    if status == 200 && reason == b"OK" {
        out.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
    } else {
        write_status_line(out, status, reason)?;
    }
    Ok(ResponseHead::new(out, status))
}

/// Completes a head for a request with the facts `asked`: appends Date and Server unless the application has set them,
/// the length or coding of the body, a Connection field if one is needed, and the empty line.
#[inline]
pub fn finish(mut head: ResponseHead<'_>, asked: Asked, identity: &Identity<'_>, body: BodySize) -> Framed {
    head.identify(identity);
    let (out, facts) = head.into_parts();
    if let Some(length) = facts.length(body)
        && !facts.has_no_body(asked.is_head)
        && asked.keep_alive
        && !facts.closes()
        && asked.version == Version::Http11
    {
        // Usually no other field is needed.
        write_content_length(out, length, true);
        return Framed { framing: BodyFraming::Length(length), keep_alive: true };
    }
    let framing = write_framing(out, &facts, asked, body);
    let keep_alive = asked.keep_alive && !facts.closes() && framing != BodyFraming::UntilClose;
    // The status line says 1.1, so a client of 1.0 may also assume that the connection persists: the client must always
    // be told.
    out.extend_from_slice(match (keep_alive, asked.version) {
        (false, _) => b"Connection: close\r\n\r\n",
        (true, Version::Http10) => b"Connection: keep-alive\r\n\r\n",
        (true, Version::Http11) => b"\r\n",
    });
    Framed { framing, keep_alive }
}

/// Appends Content-Length or Transfer-Encoding if one is needed, RFC 9112 sections 6.1 to 6.3.
#[inline]
fn write_framing(out: &mut Vec<u8>, facts: &HeadFacts, asked: Asked, body: BodySize) -> BodyFraming {
    if facts.has_no_body(asked.is_head) {
        if let Some(length) = facts.length_without_body(body) {
            write_content_length(out, length, false);
        }
        return BodyFraming::None;
    }
    match (facts.length(body), asked.version) {
        (Some(length), _) => {
            write_content_length(out, length, false);
            BodyFraming::Length(length)
        }
        (None, Version::Http11) => {
            out.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
            BodyFraming::Chunked
        }
        (None, Version::Http10) => BodyFraming::UntilClose,
    }
}

/// Appends a Content-Length line, and the empty line if it `is_last`. The line is the name, `length` in decimal and a
/// line end; it is built from its end to its start, and then appended at once.
#[inline]
fn write_content_length(out: &mut Vec<u8>, length: u64, is_last: bool) {
    const NAME: &[u8; 16] = b"Content-Length: ";
    const DIGITS_MAX: usize = 20;

    let mut line = [0; NAME.len() + DIGITS_MAX + 4];
    let mut start = line.len() - 4;
    line[start..].copy_from_slice(b"\r\n\r\n");
    let end = if is_last { line.len() } else { line.len() - 2 };
    let mut left = length;
    loop {
        start -= 1;
        line[start] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    start -= NAME.len();
    line[start..start + NAME.len()].copy_from_slice(NAME);
    out.extend_from_slice(&line[start..end]);
}

/// Appends any status line other than `200 OK`.
fn write_status_line(out: &mut Vec<u8>, status: u16, reason: &[u8]) -> Result<(), BadResponse> {
    check_status(status, reason)?;
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(itoa::Buffer::new().format(status).as_bytes());
    // Without a reason, the space before it is still sent: RFC 9112 section 4.
    out.extend_from_slice(b" ");
    out.extend_from_slice(reason);
    out.extend_from_slice(b"\r\n");
    Ok(())
}

/// Room for a usual head, so that the buffer grows only once.
const HEAD_BYTES_USUAL: usize = 256;
