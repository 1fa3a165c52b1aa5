//! HTTP/1.1 without I/O: bytes in, events out.
//!
//! A codec for `adyton-http`: [`Head`] parses the head of a request, [`begin`] and [`finish`] frame the head of a
//! response, [`Chunked`] decodes a chunked body, and [`Received`] and [`ReceivedBody`] read a response for a
//! client. All of them check the rules of RFC 9110 and RFC 9112 once, on arrival, so that later code need not check again.
//!
//! | file | holds |
//! | --- | --- |
//! | `head` | the head of a request: parsed, or refused as too long or malformed |
//! | `request_line`, `request_target`, `field_line` | the lines of such a head |
//! | `limits`, `refusal` | limits of a head, and reasons to refuse a head, as plain values |
//! | `framing`, `chunked` | where a body ends, and its chunks |
//! | `response` | the head of a response, written |
//! | `received`, `received_body` | the head and the body of a response, as a client reads them |
//!
//! Absent on purpose: sockets, clocks, Python, and any decision about the answer. `Upgrade` is ignored: a request with
//! it is answered as if it had no such field.

#![forbid(unsafe_code)]

mod chunked;
mod field_line;
mod framing;
mod head;
mod limits;
mod received;
mod received_body;
mod refusal;
mod request_line;
mod request_target;
mod response;

pub use chunked::{CHUNK_END, Chunked, Decoded, LAST_CHUNK, write_chunk_head};
pub use framing::Framing;
pub use head::{Head, Parsed};
pub use limits::{FIELDS_MAX, Limits, METHOD_BYTES_MAX};
pub use received::{Oddities, Received};
pub use received_body::ReceivedBody;
pub use refusal::Refusal;
pub use response::{Asked, BodyFraming, Framed, begin, finish};
