//! The client as trusted proxies describe it, without I/O: the PROXY protocol, and the fields of requests.
//!
//! Behind a proxy all connections come from the proxy. The proxy describes its clients in front of the first request
//! ([`proxy_protocol::read`]), or in fields of each request ([`Trust::told`]). Anyone can send such a header or such
//! fields, so both are believed only from proxies that the settings name. A field that is not believed must not reach
//! the application, which could believe it.
//!
//! Proxies append to the fields that they receive. So a list is read from its end, where the nearest proxy has written,
//! and no further than the first element that does not name a trusted proxy. Anything that a client makes up stands to
//! the left of that element.

#![forbid(unsafe_code)]

mod address;
pub mod forwarded;
mod header;
mod list;
pub mod proxy_protocol;
mod told;
mod trust;
mod v1;
mod v2;
mod x_forwarded;

pub use address::NodeAddress;
pub use told::Told;
pub use trust::{FieldError, Trust};
