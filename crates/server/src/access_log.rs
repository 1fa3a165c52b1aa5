//! The access log: one line per answer.

use std::net::SocketAddr;

use adyton_http1::Head;

/// One answer, as the log sees it.
pub struct Record<'r> {
    /// The client; `None` on unix sockets.
    pub peer: Option<SocketAddr>,
    /// The request's head; `None` when it could not be parsed.
    pub head: Option<&'r Head>,
    /// What the head's positions point into.
    pub bytes: &'r [u8],
    /// The status sent.
    pub status: u16,
    /// Body bytes sent.
    pub body_bytes: u64,
    /// From the head's arrival to the answer's last byte, in microseconds; 0 unless
    /// [`AccessLog::wants_duration`].
    pub duration_us: u64,
}

/// An open access log.
pub struct AccessLog {}

impl AccessLog {
    /// Whether its format has the duration, which costs two looks at the clock.
    pub fn wants_duration(&self) -> bool {
        false
    }

    /// Adds one line.
    pub fn record(&mut self, _record: &Record<'_>) {}

    /// Tells the time, once per wait of the loop, and writes what has waited long enough. Says in how
    /// many milliseconds it wants to be told again; `None` when nothing is held back.
    pub fn tick(&mut self, _now_ms: u64) -> Option<u32> {
        None
    }

    /// Writes everything held back.
    pub fn flush(&mut self) {}
}
