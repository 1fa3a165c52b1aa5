//! The client as trusted proxies tell of it, without I/O: the PROXY protocol, and the fields of requests.
//!
//! Behind a proxy all connections come from the proxy. It tells of its clients in front of the first request
//! ([`proxy_protocol::read`]), or in fields of each ([`Trust::told`]). Anyone can send either, so both are believed
//! only from proxies that the settings name, and a field that is not believed must not reach the application, which
//! could believe it.
//!
//! Proxies append to what they were sent. So a list is read from its end, where the nearest proxy has written, and no
//! further than to the first word that was not a trusted proxy's. Anything that a client makes up stands to the left of
//! it.

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
