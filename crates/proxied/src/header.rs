//! A header of the PROXY protocol, of whatever version it is.

use std::net::SocketAddr;

/// Result of reading the first bytes of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// The beginning of a header: read again, from the start, when more has come.
    NeedMore,
    /// A header.
    Header {
        /// The number of its bytes; what the client sends begins behind them.
        bytes: usize,
        /// The client that the header tells of.
        client: Client,
    },
    /// No header, whatever may follow: the connection is to be closed. The text says why, for the log.
    Wrong(&'static str),
}

/// The client, as the proxy tells of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    /// The ends of the client's connection to the proxy.
    Addresses {
        /// The client's address.
        source: SocketAddr,
        /// The address that the client has connected to.
        destination: SocketAddr,
    },
    /// A client of whom the proxy tells nothing, or the proxy itself (a health check), or a client that came by a unix
    /// socket: the connection's own addresses stand.
    Unknown,
}
