//! Who a client is, as proxies that are trusted tell it: in fields of requests, or before the first one.
//!
//! Bytes go in, addresses come out. A field is believed if the client at the other end of the connection is trusted, and only
//! if it is among those that are named: a proxy that does not know a field hands on what the client has written there.

#![forbid(unsafe_code)]

mod forwarded;
mod node;
mod proxy_protocol;
mod trust;

pub use proxy_protocol::{HEADER_BYTES_MAX, Header, Origin, read_header};
pub use trust::{FIELDS, Told, Trust, TrustError};
