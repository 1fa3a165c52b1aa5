//! What is logged of an answer.

use std::net::SocketAddr;

use adyton_http1::Head;
use adyton_log::request::RequestId;

/// One answer, as the log sees it.
pub struct Record<'r> {
    /// The client; `None` on unix sockets.
    pub peer: Option<SocketAddr>,
    /// The request's head; `None` when it could not be parsed.
    pub head: Option<&'r Head>,
    /// What the head's positions point into. Without a head: what came in its place, perhaps nothing.
    pub bytes: &'r [u8],
    /// The status sent.
    pub status: u16,
    /// Body bytes sent.
    pub body_bytes: u64,
    /// From the head's arrival to the answer's last byte, in microseconds.
    pub duration_us: u64,
    /// What the request is called in all logs.
    pub id: &'r RequestId,
}
