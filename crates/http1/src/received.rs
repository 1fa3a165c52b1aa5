//! Parses the head of a response for a client: RFC 9112 sections 4 and 6.3.
//!
//! Keeps only the facts that tell a client where the response ends and whether it is valid. All lines are checked as
//! strictly as in a request, so that a faulty server is noticed. Faults that clients usually tolerate are accepted, and
//! reported as [`Oddities`].

use adyton_http::Known;
use adyton_http::bytes::number;

use crate::framing::{Options, only_chunked};
use crate::refusal::Stop;
use crate::{BodyFraming, Refusal, field_line};

/// The facts in the head of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// The status code, from 100 to 999. If it is below 200, the response is an interim one, and another head follows.
    pub status: u16,
    /// How the body that follows is delimited.
    pub framing: BodyFraming,
    /// The value of Content-Length, even if no body follows, as in responses to HEAD.
    pub length: Option<u64>,
    /// Whether the server accepts further requests on this connection.
    pub keep_alive: bool,
    /// Length of the head in bytes, the empty line included.
    pub bytes: usize,
    /// The rules that the head breaks but that clients tolerate.
    pub oddities: Oddities,
}

/// Broken rules that clients tolerate in a head. A proxy that passes on a response must refuse it instead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Oddities {
    /// A line ends in LF without CR; a recipient may accept that as a line end (RFC 9112 section 2.2).
    pub bare_lf: bool,
    /// Both Content-Length and Transfer-Encoding are there; Transfer-Encoding then takes precedence (RFC 9112 section
    /// 6.3).
    pub two_framings: bool,
}

/// The longest head that is read: as much as curl takes.
const HEAD_BYTES_MAX: usize = 300 << 10;

/// Length of `HTTP/1.1 200`, the shortest status line, without its line end (many servers leave out the space after
/// it).
const STATUS_LINE_BYTES_MIN: usize = 12;

impl Received {
    /// Parses one head at the start of `input`, which is the response to a HEAD request if `to_head`; `None` if the
    /// head is not complete yet.
    ///
    /// # Errors
    ///
    /// The head breaks a rule: nothing after it on this connection can be trusted.
    pub fn parse(input: &[u8], to_head: bool) -> Result<Option<Received>, Refusal> {
        match read(input, to_head) {
            Ok(received) if received.bytes > HEAD_BYTES_MAX => Err(TOO_LONG),
            Ok(received) => Ok(Some(received)),
            Err(Stop::Short) if input.len() >= HEAD_BYTES_MAX => Err(TOO_LONG),
            Err(Stop::Short) => Ok(None),
            Err(Stop::Refused(refusal)) => Err(refusal),
        }
    }
}

/// The values of the relevant fields, as far as they were read.
#[derive(Default)]
struct Gathered {
    length: Option<u64>,
    chunked: bool,
    options: Options,
    oddities: Oddities,
}

fn read(input: &[u8], to_head: bool) -> Result<Received, Stop> {
    let mut gathered = Gathered::default();
    let (is_1_1, status, mut at) = status_line(input, &mut gathered.oddities)?;
    let end = loop {
        match input.get(at..) {
            Some([b'\r', b'\n', ..]) => break at + 2,
            Some([b'\n', ..]) => {
                gathered.oddities.bare_lf = true;
                break at + 1;
            }
            None | Some([] | [b'\r']) => return Err(Stop::Short),
            Some([b' ' | b'\t', ..]) => return Err(FOLDED.into()),
            Some(_) => {}
        }
        at = gathered.field(input, at)?;
    };
    let framing = gathered.framing(status, to_head);
    let stays = !gathered.options.close && (is_1_1 || gathered.options.keep_alive);
    let keep_alive = stays && framing != BodyFraming::UntilClose;
    let (length, oddities) = (gathered.length, gathered.oddities);
    Ok(Received { status, framing, length, keep_alive, bytes: end, oddities })
}

/// Returns whether the version is HTTP/1.1, the status, and the offset of the first field.
fn status_line(input: &[u8], oddities: &mut Oddities) -> Result<(bool, u16, usize), Stop> {
    let known = input.len().min(b"HTTP/1.".len());
    if input[..known] != b"HTTP/1."[..known] {
        return Err(NO_HTTP.into());
    }
    let Some(end) = memchr::memchr(b'\n', input) else { return Err(Stop::Short) };
    let line = input[..end].strip_suffix(b"\r").unwrap_or_else(|| {
        oddities.bare_lf = true;
        &input[..end]
    });
    let (Some(version @ (b'0' | b'1')), Some(b' '), Some(digits)) =
        (line.get(7), line.get(8), line.get(9..12))
    else {
        return Err(BAD_LINE.into());
    };
    let status = number(digits).and_then(|number| u16::try_from(number).ok()).filter(|status| *status >= 100);
    if line.len() > STATUS_LINE_BYTES_MIN && line[STATUS_LINE_BYTES_MIN] != b' ' {
        return Err(BAD_LINE.into());
    }
    Ok((*version == b'1', status.ok_or(BAD_LINE)?, end + 1))
}

impl Gathered {
    /// Reads the field whose line begins at `start`; returns the offset of the next line.
    fn field(&mut self, input: &[u8], start: usize) -> Result<usize, Stop> {
        let line_end = memchr::memchr(b'\n', &input[start..]).map(|length| start + length);
        if let Some(end) = line_end.filter(|end| input[end - 1] != b'\r') {
            // A line that ends in LF alone is read as if it ended in CRLF, so that one parser serves both.
            let line = [&input[start..end], b"\r\n"].concat();
            let (field, _) = field_line::read(&line, 0)?;
            self.oddities.bare_lf = true;
            self.add(field.known, field.value.of(&line))?;
            return Ok(end + 1);
        }
        let (field, next) = field_line::read(input, start)?;
        self.add(field.known, field.value.of(input))?;
        Ok(next)
    }

    fn add(&mut self, known: Known, value: &[u8]) -> Result<(), Refusal> {
        match known {
            Known::ContentLength => {
                let length = number(value).ok_or(BAD_LENGTH)?;
                if self.length.is_some_and(|earlier| earlier != length) {
                    return Err(BAD_LENGTH);
                }
                self.length = Some(length);
            }
            Known::TransferEncoding => {
                only_chunked(value).map_err(|_| BAD_CODING)?;
                self.chunked = true;
            }
            Known::Connection => self.options.read(value),
            _ => {}
        }
        Ok(())
    }

    /// Decides how the body is framed, by the steps of RFC 9112 section 6.3 in their order.
    fn framing(&mut self, status: u16, to_head: bool) -> BodyFraming {
        self.oddities.two_framings = self.chunked && self.length.is_some();
        if to_head || status < 200 || status == 204 || status == 304 {
            return BodyFraming::None;
        }
        match (self.chunked, self.length) {
            (true, _) => BodyFraming::Chunked,
            (false, Some(length)) => BodyFraming::Length(length),
            (false, None) => BodyFraming::UntilClose,
        }
    }
}

const NO_HTTP: Refusal = Refusal::bad("The answer is not HTTP/1.");
const BAD_LINE: Refusal = Refusal::bad("The status line is malformed.");
const BAD_LENGTH: Refusal = Refusal::bad("Content-Length is not one number.");
const BAD_CODING: Refusal = Refusal::bad("Transfer-Encoding is not chunked alone.");
const FOLDED: Refusal = Refusal::bad("A field is folded over two lines.");
const TOO_LONG: Refusal = Refusal::bad("The head of the answer is longer than 300 KiB.");
