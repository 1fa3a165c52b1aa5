//! HTTP/1.1 without I/O: bytes in, events out.
//!
//! A request head is parsed into [`Head`], a scratch of offsets into the caller's buffer; a body in chunks goes
//! through [`Chunked`]; a response head is written by [`ResponseHead`], and what a client has to know of one is read
//! by [`Received`]. All check the rules of RFC 9110 and RFC 9112 once, at the edge, so that nothing behind them has
//! to look again.
//!
//! Absent on purpose: sockets, clocks, Python, and any decision about what to answer. `Upgrade` is not
//! followed, so that a request which asks for it is answered as if it had not.

#![forbid(unsafe_code)]

mod authority;
mod bad_response;
mod bytes;
mod chunked;
mod field;
mod framing;
mod head;
mod known;
mod limits;
mod method;
mod received;
mod refusal;
mod request_line;
mod response;
mod span;
mod status;
mod target;

pub use bad_response::BadResponse;
pub use chunked::{CHUNK_END, Chunked, Decoded, LAST_CHUNK, write_chunk_head};
pub use field::Field;
pub use framing::Framing;
pub use head::{Head, Parsed};
pub use known::Known;
pub use limits::{FIELDS_MAX, Limits, METHOD_BYTES_MAX};
pub use method::Method;
pub use received::Received;
pub use refusal::Refusal;
pub use request_line::Version;
pub use response::{Asked, BodyFraming, BodySize, CheckedField, Framed, HeadFacts, Identity, ResponseHead};
pub use span::Span;
pub use status::reason_phrase;
