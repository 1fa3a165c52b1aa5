//! HTTP/1.1 without I/O: bytes in, events out.
//!
//! A codec on `adyton-http`: [`Head`] parses the head of a request, [`begin`] and [`finish`] frame the head
//! of a response, and [`Chunked`] reads a body in chunks; [`Received`] parses the head of a response for a
//! client. All check the rules of RFC 9110 and RFC 9112 once, at the edge, so that nothing behind them has to
//! look again.
//!
//! Absent on purpose: sockets, clocks, Python, and any decision about what to answer. `Upgrade` is not
//! followed: a request that asks for it is answered as if it had not.

#![forbid(unsafe_code)]

mod chunked;
mod field_line;
mod framing;
mod head;
mod limits;
mod received;
mod refusal;
mod request_line;
mod request_target;
mod response;

pub use chunked::{CHUNK_END, Chunked, Decoded, LAST_CHUNK, write_chunk_head};
pub use framing::Framing;
pub use head::{Head, Parsed};
pub use limits::{FIELDS_MAX, Limits, METHOD_BYTES_MAX};
pub use received::{Oddities, Received};
pub use refusal::Refusal;
pub use response::{Asked, BodyFraming, Framed, begin, finish};
