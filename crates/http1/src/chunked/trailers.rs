//! Trailer fields, RFC 9112 section 7.1.2: checked and dropped, never merged into the head.

use adyton_http::Known;
use adyton_http::bytes::{is_forbidden_in_value, is_token_byte};

use crate::Refusal;

/// A place in the trailer section.
#[derive(Clone, Debug, Default)]
pub(super) struct Trailers {
    state: TrailerState,
    bytes: usize,
    fields: usize,
    /// The beginning of the name of the present field.
    name: [u8; NAME_BYTES_KEPT],
    name_bytes: usize,
}

/// The part of the trailer section that was read last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum TrailerState {
    /// A whole line.
    #[default]
    Line,
    /// A byte of a name.
    Name,
    /// The colon, or a byte of a value.
    Value,
    /// The CR of a field line.
    FieldCr,
    /// The CR of the empty line.
    LastCr,
}

impl Trailers {
    /// Reads one byte, and returns whether it is the last one of the section.
    pub(super) fn is_end_behind(&mut self, byte: u8) -> Result<bool, Refusal> {
        self.bytes += 1;
        if self.bytes > BYTES_MAX {
            return Err(TRAILERS_TOO_LONG);
        }
        self.state = match (self.state, byte) {
            (TrailerState::Line, b'\r') => TrailerState::LastCr,
            (TrailerState::LastCr, b'\n') => return Ok(true),
            (TrailerState::Line, _) if is_token_byte(byte) => self.start_name(byte)?,
            (TrailerState::Name, _) if is_token_byte(byte) => self.keep(byte),
            (TrailerState::Name, b':') => self.check_name()?,
            (TrailerState::Value, b'\r') => TrailerState::FieldCr,
            (TrailerState::Value, _) if !is_forbidden_in_value(byte) => TrailerState::Value,
            (TrailerState::FieldCr, b'\n') => TrailerState::Line,
            _ => return Err(BAD_TRAILER),
        };
        Ok(false)
    }

    fn start_name(&mut self, byte: u8) -> Result<TrailerState, Refusal> {
        self.fields += 1;
        if self.fields > FIELDS_MAX {
            return Err(TRAILERS_TOO_LONG);
        }
        self.name_bytes = 0;
        Ok(self.keep(byte))
    }

    fn keep(&mut self, byte: u8) -> TrailerState {
        if let Some(place) = self.name.get_mut(self.name_bytes) {
            *place = byte;
            self.name_bytes += 1;
        }
        TrailerState::Name
    }

    fn check_name(&self) -> Result<TrailerState, Refusal> {
        if is_forbidden(&self.name[..self.name_bytes]) { Err(FORBIDDEN) } else { Ok(TrailerState::Value) }
    }
}

/// Whether a field of this name must not come after the body (RFC 9110 section 6.5.1): framing, routing,
/// authentication, conditions and content format are decided before the body is read.
fn is_forbidden(name: &[u8]) -> bool {
    const CONTENT: &[u8] = b"content-";
    let is_content = name.get(..CONTENT.len()).is_some_and(|start| start.eq_ignore_ascii_case(CONTENT));
    is_content
        || matches!(
            Known::find(name),
            Known::Authorization
                | Known::CacheControl
                | Known::Connection
                | Known::Cookie
                | Known::Expect
                | Known::Forwarded
                | Known::Host
                | Known::IfMatch
                | Known::IfModifiedSince
                | Known::IfNoneMatch
                | Known::IfRange
                | Known::IfUnmodifiedSince
                | Known::KeepAlive
                | Known::MaxForwards
                | Known::ProxyAuthorization
                | Known::ProxyConnection
                | Known::Range
                | Known::Te
                | Known::Trailer
                | Known::TransferEncoding
                | Known::Upgrade
        )
}

/// Bytes of a name that are kept. The longest forbidden name has 19 bytes, so a longer name than this is not forbidden.
const NAME_BYTES_KEPT: usize = 24;

/// The most bytes of the whole section: enough for a checksum or two and a signature.
const BYTES_MAX: usize = 4096;

/// The most fields of the whole section.
const FIELDS_MAX: usize = 32;

const BAD_TRAILER: Refusal = Refusal::bad("A trailer field is malformed.");
const FORBIDDEN: Refusal = Refusal::bad("A trailer field has a name that may stand only in a head.");
const TRAILERS_TOO_LONG: Refusal = Refusal::bad("The trailer section is too long.");
