//! The facts about an answer that the access log can write.

use std::net::SocketAddr;

use adyton_http::Request;
use adyton_log::request::RequestId;

/// One answer and its request, as the log sees them.
pub struct Record<'r> {
    /// The client; `None` on unix sockets.
    pub peer: Option<SocketAddr>,
    /// The request; `None` when its head could not be parsed.
    pub request: Option<Request<'r>>,
    /// The bytes that came in place of a request, perhaps none.
    pub refused: &'r [u8],
    /// The site that has answered, by its first name; `None` if it has none.
    pub site: Option<&'r str>,
    /// The user who sent the request, if the server knows.
    pub user: Option<&'r str>,
    /// The status sent.
    pub status: u16,
    /// Body bytes sent.
    pub body_bytes: u64,
    /// Time from the head's arrival to the answer's last byte, in microseconds.
    pub duration_us: u64,
    /// The id of the request, the same in all logs.
    pub id: &'r RequestId,
}
