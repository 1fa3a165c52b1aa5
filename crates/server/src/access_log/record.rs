//! What is logged of an answer.

use std::net::SocketAddr;

use adyton_http::Request;
use adyton_log::request::RequestId;

/// One answer, as the log sees it.
pub struct Record<'r> {
    /// The client; `None` on unix sockets.
    pub peer: Option<SocketAddr>,
    /// The request; `None` when its head could not be parsed.
    pub request: Option<Request<'r>>,
    /// What came in place of a request, perhaps nothing.
    pub refused: &'r [u8],
    /// The site that has answered, by its first name; `None` if it has none.
    pub site: Option<&'r str>,
    /// Who has asked, if the server knows.
    pub user: Option<&'r str>,
    /// The status sent.
    pub status: u16,
    /// Body bytes sent.
    pub body_bytes: u64,
    /// From the head's arrival to the answer's last byte, in microseconds.
    pub duration_us: u64,
    /// What the request is called in all logs.
    pub id: &'r RequestId,
}
