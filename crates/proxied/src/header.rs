//! What a header of the PROXY protocol says, of whatever version it is.

use std::net::SocketAddr;

/// What the first bytes of a connection are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// The beginning of a header: read again, from the start, when more has come.
    NeedMore,
    /// A header.
    Header {
        /// How many bytes it has; what the client sends begins behind them.
        bytes: usize,
        /// Who the client is.
        client: Client,
    },
    /// No header, whatever may follow: the connection is to be closed. The text says why, for the log.
    Wrong(&'static str),
}

/// Who the client is, as the proxy says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    /// The ends of the client's connection to the proxy.
    Addresses {
        /// Where the client is.
        source: SocketAddr,
        /// Where it has connected to.
        destination: SocketAddr,
    },
    /// The proxy does not say, or speaks for itself (a health check), or its client came by a unix socket: the
    /// connection's own addresses stand.
    Unknown,
}
