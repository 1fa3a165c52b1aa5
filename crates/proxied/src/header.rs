//! A header of the PROXY protocol, of either version.

use std::net::SocketAddr;

/// Result of reading the first bytes of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// The beginning of a header: read again, from the start, when more bytes have come.
    NeedMore,
    /// A header.
    Header {
        /// The number of its bytes; the client's own bytes begin behind them.
        bytes: usize,
        /// The client that the header names.
        client: Client,
    },
    /// No header, whatever may follow: the connection is to be closed. The text says why, for the log.
    Wrong(&'static str),
}

/// The client, as the proxy describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    /// The ends of the client's connection to the proxy.
    Addresses {
        /// The client's address.
        source: SocketAddr,
        /// The address that the client has connected to.
        destination: SocketAddr,
    },
    /// A client about which the proxy says nothing, or the proxy itself (a health check), or a client that came by a
    /// unix socket: the connection's own addresses apply.
    Unknown,
}
