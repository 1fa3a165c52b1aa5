//! A request head: read once, checked once, and kept as offsets.
//!
//! The lines are read one after the other, each within a window as long as the line's limit. A line that is longer than
//! its window is refused; if the input ends inside a line, more bytes are needed. Then the fields that say where the
//! request ends and to whom it goes are checked together, because they can contradict each other.

use core::ops::Deref;

use adyton_http::{Known, Method, RequestHead, Version, authority};

use crate::field_line::{self, BARE_CR};
use crate::framing::{Framing, Options, content_length, only_chunked};
use crate::refusal::Stop;
use crate::request_line::{self, BARE_LF};
use crate::{Asked, Limits, Refusal};

/// One request head, as offsets into the input of [`Head::parse`]: the request itself, to which this type dereferences,
/// and the facts that concern the connection.
///
/// The value is used for one request after another: only its list of fields is on the heap. Before the first
/// [`Parsed::Complete`], and after any other result, its content is harmless but has no meaning.
#[derive(Clone, Debug)]
pub struct Head {
    request: RequestHead,
    framing: Framing,
    keep_alive: bool,
    expects_continue: bool,
    bytes: usize,
    last: Last,
}

/// The last complete head, and the limits under which it was read: an equal head need not be read again under these
/// limits. Clients that keep their connection open often repeat their request.
#[derive(Clone, Debug, Default)]
struct Last {
    /// The head; empty if there is none, or if it was longer than [`LAST_BYTES_MAX`].
    bytes: Vec<u8>,
    limits: Limits,
    /// Number of heads that were read because they did not equal the last one.
    reads: u64,
}

impl Last {
    #[inline]
    fn is_at_start_of(&self, input: &[u8], limits: &Limits) -> bool {
        !self.bytes.is_empty() && input.starts_with(&self.bytes) && self.limits == *limits
    }
}

/// Whether the input of [`Head::parse`] holds a whole head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// A whole head that breaks no rule.
    Complete,
    /// The beginning of a head, which may become a whole one.
    Partial,
}

impl Head {
    /// Returns a value for the first request.
    pub fn new() -> Head {
        Head {
            request: RequestHead::new(),
            framing: Framing::None,
            keep_alive: false,
            expects_continue: false,
            bytes: 0,
            last: Last::default(),
        }
    }

    /// Parses one request head at the start of `input`; further bytes may follow the head. Does not allocate if a head
    /// with as many fields was parsed before.
    ///
    /// # Errors
    ///
    /// The request breaks a rule: answer [`Refusal::status`], close the connection, and parse nothing more of it. A
    /// head that can no longer become valid is refused before its end has come.
    pub fn parse(&mut self, input: &[u8], limits: &Limits) -> Result<Parsed, Refusal> {
        if self.last.is_at_start_of(input, limits) {
            return Ok(Parsed::Complete);
        }
        self.last.bytes.clear();
        self.last.reads += 1;
        let window = clip(input, limits.head_bytes());
        match self.read(window, limits) {
            Ok(bytes) => {
                self.bytes = bytes;
                if bytes <= LAST_BYTES_MAX {
                    self.last.bytes.extend_from_slice(&input[..bytes]);
                    self.last.limits = *limits;
                }
                Ok(Parsed::Complete)
            }
            Err(Stop::Refused(refusal)) => Err(refusal),
            Err(Stop::Short) if input.len() >= limits.head_bytes() => Err(HEAD_TOO_LONG),
            Err(Stop::Short) => Ok(Parsed::Partial),
        }
    }

    /// Whether [`Head::parse`] can give a new result after `new_bytes` have come, which are the last of `total` bytes
    /// of this head. Without this check, a client that sends byte by byte would cost quadratic time.
    ///
    /// A new result is possible for the first bytes, at every line end, and if a limit may be passed. Limits are
    /// checked every [`LOOK_EVERY_BYTES`], so a line is refused at most that many bytes after its limit. While a head
    /// is still short, it is parsed for each new byte, which costs little.
    #[inline]
    pub fn worth_parsing(new_bytes: &[u8], total: usize, limits: &Limits) -> bool {
        let before = total.saturating_sub(new_bytes.len());
        before == 0
            || total <= LOOK_ALWAYS_BYTES
            || before / LOOK_EVERY_BYTES != total / LOOK_EVERY_BYTES
            || total >= limits.head_bytes()
            || memchr::memchr(b'\n', new_bytes).is_some()
    }

    /// Whether the last, unfinished line of `input` is longer than its limit: then `input` should be parsed, and will
    /// be refused.
    pub fn passes_line_limit(input: &[u8], limits: &Limits) -> bool {
        match memchr::memrchr(b'\n', input) {
            Some(at) => input.len() - at - 1 > limits.field_bytes_max,
            None => input.len() > limits.line_bytes_max,
        }
    }

    /// Returns the number of heads that were read: as long as this number stays, the head is the same.
    #[inline]
    pub fn reads(&self) -> u64 {
        self.last.reads
    }

    /// Length of the head in bytes, from the start of the input to the end of the empty line.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns how the body is delimited.
    #[inline]
    pub fn framing(&self) -> Framing {
        self.framing
    }

    /// Whether the client may send more requests: by default in 1.1, on demand in 1.0; `close` takes precedence.
    #[inline]
    pub fn keep_alive(&self) -> bool {
        self.keep_alive
    }

    /// Whether the client waits for a `100 Continue` before it sends the body.
    #[inline]
    pub fn expects_continue(&self) -> bool {
        self.expects_continue
    }

    /// Returns the facts of this request that its response depends on.
    #[inline]
    pub fn asked(&self) -> Asked {
        Asked {
            version: self.request.version,
            is_head: self.request.method == Method::Head,
            keep_alive: self.keep_alive,
        }
    }

    /// Reads the head in `input` and returns its length.
    fn read(&mut self, input: &[u8], limits: &Limits) -> Result<usize, Stop> {
        let start = skip_empty_line(input)?;
        let window = clip(input, start.saturating_add(limits.line_bytes_max).saturating_add(CRLF_BYTES));
        let cut = window.len() < input.len();
        let next = request_line::read(&mut self.request, window, start)
            .map_err(|stop| stop.or_too_long(cut, LINE_TOO_LONG))?;
        let end = self.read_fields(input, next, limits)?;
        self.settle_host(input)?;
        self.settle_body(input)?;
        self.settle_connection(input);
        Ok(end)
    }

    /// Reads the field lines from `at` to the empty line and returns where the body starts.
    fn read_fields(&mut self, input: &[u8], mut at: usize, limits: &Limits) -> Result<usize, Stop> {
        self.request.fields.clear();
        loop {
            match input.get(at) {
                Some(b'\r') => return end_of_head(input, at),
                Some(b' ' | b'\t') => return Err(FOLDED.into()),
                Some(b'\n') => return Err(BARE_LF.into()),
                Some(_) => {}
                None => return Err(Stop::Short),
            }
            if self.request.fields.as_slice().len() >= limits.fields() {
                return Err(TOO_MANY_FIELDS.into());
            }
            let window = clip(input, at.saturating_add(limits.field_bytes_max).saturating_add(CRLF_BYTES));
            let cut = window.len() < input.len();
            let (field, next) =
                field_line::read(window, at).map_err(|stop| stop.or_too_long(cut, FIELD_TOO_LONG))?;
            if self.request.fields.has_any(field.known.bit() & SINGLETONS) {
                return Err(REPEATED.into());
            }
            self.request.fields.push(field);
            at = next;
        }
    }

    /// Finds the host that the request goes to, RFC 9112 section 3.2 and RFC 9110 section 7.2.
    ///
    /// If the target has a host, that host replaces the value of the Host field (RFC 9112 section 3.2.2): whoever reads
    /// the field later finds the target's host.
    fn settle_host(&mut self, input: &[u8]) -> Result<(), Refusal> {
        let request = &mut self.request;
        let named = request.fields.first(Known::Host);
        match named {
            Some(host) if authority::read(host.of(input)).is_none() => return Err(BAD_HOST),
            None if request.version == Version::Http11 => return Err(NO_HOST),
            _ => {}
        }
        let Some(host) = request.host else {
            request.host = named;
            return Ok(());
        };
        match named {
            // CONNECT names the other end of the tunnel both in the target and in Host, and the two must agree.
            Some(named) if request.method == Method::Connect => {
                let is_same = host.of(input).eq_ignore_ascii_case(named.of(input));
                return if is_same { Ok(()) } else { Err(OTHER_HOST) };
            }
            _ => request.fields.replace(Known::Host, host),
        }
        Ok(())
    }

    /// Determines where the body ends (RFC 9112 section 6.3), and whether the client waits for `100 Continue` before it
    /// sends the body (RFC 9110 section 10.1.1).
    fn settle_body(&mut self, input: &[u8]) -> Result<(), Refusal> {
        self.framing = match (
            self.request.fields.first(Known::TransferEncoding),
            self.request.fields.first(Known::ContentLength),
        ) {
            (None, None) => Framing::None,
            (None, Some(length)) => Framing::Length(content_length(length.of(input))?),
            (Some(_), Some(_)) => return Err(TWO_FRAMINGS),
            (Some(_), None) if self.request.version == Version::Http10 => return Err(CODING_ON_1_0),
            (Some(coding), None) => {
                only_chunked(coding.of(input))?;
                Framing::Chunked
            }
        };
        self.expects_continue = false;
        if let Some(expectation) = self.request.fields.first(Known::Expect) {
            if !expectation.of(input).eq_ignore_ascii_case(b"100-continue") {
                return Err(UNKNOWN_EXPECTATION);
            }
            let has_body = !matches!(self.framing, Framing::None | Framing::Length(0));
            self.expects_continue = has_body && self.request.version == Version::Http11;
        }
        Ok(())
    }

    /// Decides whether the connection persists, RFC 9112 section 9.3.
    fn settle_connection(&mut self, input: &[u8]) {
        self.keep_alive = self.request.version == Version::Http11;
        if self.request.fields.has(Known::Connection) {
            let mut options = Options::default();
            self.request.fields.all(Known::Connection).for_each(|value| options.read(value.of(input)));
            self.keep_alive = !options.close && (self.keep_alive || options.keep_alive);
        }
    }
}

impl Deref for Head {
    type Target = RequestHead;

    #[inline]
    fn deref(&self) -> &RequestHead {
        &self.request
    }
}

impl Default for Head {
    fn default() -> Head {
        Head::new()
    }
}

/// Returns the first `bytes` bytes of `input`, or all of it if it is shorter.
#[inline]
fn clip(input: &[u8], bytes: usize) -> &[u8] {
    input.get(..bytes).unwrap_or(input)
}

/// Returns where the request line starts: old clients send a CRLF after a body (RFC 9112 section 2.2).
#[inline]
fn skip_empty_line(input: &[u8]) -> Result<usize, Stop> {
    match input {
        [] | [b'\r'] => Err(Stop::Short),
        [b'\r', b'\n', ..] => Ok(CRLF_BYTES),
        [b'\r', ..] => Err(BARE_CR.into()),
        [b'\n', ..] => Err(BARE_LF.into()),
        _ => Ok(0),
    }
}

/// Returns where the body starts; an empty line at `at` must end the head.
#[inline]
fn end_of_head(input: &[u8], at: usize) -> Result<usize, Stop> {
    match input.get(at + 1) {
        Some(b'\n') => Ok(at + CRLF_BYTES),
        Some(_) => Err(BARE_CR.into()),
        None => Err(Stop::Short),
    }
}

/// Longest head that is kept for comparison. A longer one is read each time, because keeping it would cost too much
/// memory for the time saved.
const LAST_BYTES_MAX: usize = 2048;

/// Length of a line end.
const CRLF_BYTES: usize = 2;

/// How many bytes of an endless line come between two checks of [`Head::worth_parsing`]: 64 checks in the longest head.
const LOOK_EVERY_BYTES: usize = 1024;

/// Length up to which a head is parsed whenever bytes come. A client that sends byte by byte costs some 50 µs in all.
const LOOK_ALWAYS_BYTES: usize = 512;

/// Fields that are answered 400 if they are repeated. RFC 9110 section 5.3 forbids repeating a field that is not
/// defined as a list: if two values differ, two parties on the way may believe different ones. Transfer-Encoding and
/// Expect are lists, but only lists of one element are accepted here. Origin is in the set because of RFC 6454 section
/// 7.3.
const SINGLETONS: u128 = Known::Authorization.bit()
    | Known::ContentLength.bit()
    | Known::ContentLocation.bit()
    | Known::ContentRange.bit()
    | Known::ContentType.bit()
    | Known::Expect.bit()
    | Known::From.bit()
    | Known::Host.bit()
    | Known::IfModifiedSince.bit()
    | Known::IfRange.bit()
    | Known::IfUnmodifiedSince.bit()
    | Known::MaxForwards.bit()
    | Known::Origin.bit()
    | Known::ProxyAuthorization.bit()
    | Known::Range.bit()
    | Known::Referer.bit()
    | Known::TransferEncoding.bit()
    | Known::UserAgent.bit();

const LINE_TOO_LONG: Refusal = Refusal::new(414, "The request line is longer than this server takes.");
const FIELD_TOO_LONG: Refusal = Refusal::new(431, "A field is longer than this server takes.");
const HEAD_TOO_LONG: Refusal = Refusal::new(431, "The request head is longer than this server takes.");
const TOO_MANY_FIELDS: Refusal = Refusal::new(431, "The request has more fields than this server takes.");
const FOLDED: Refusal = Refusal::bad("A field line begins with whitespace: folding is no longer allowed.");
const REPEATED: Refusal = Refusal::bad("A field that may stand only once is repeated.");
const NO_HOST: Refusal = Refusal::bad("An HTTP/1.1 request must have a Host field.");
const BAD_HOST: Refusal = Refusal::bad("The Host field is not one host with or without a port.");
const OTHER_HOST: Refusal = Refusal::bad("The Host field names another host than the request-target.");
const TWO_FRAMINGS: Refusal = Refusal::bad("Content-Length and Transfer-Encoding contradict each other.");
const CODING_ON_1_0: Refusal = Refusal::bad("HTTP/1.0 has no Transfer-Encoding.");
const UNKNOWN_EXPECTATION: Refusal = Refusal::new(417, "The only expectation known here is 100-continue.");
