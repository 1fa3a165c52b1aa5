//! The outcomes of slow clients' requests.

use serde::{Deserialize, Serialize};

use crate::counting::latency::Latency;

/// Slow clients of one kind, and the outcomes of their requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlowSide {
    /// `readers`, `senders` or `uploads`.
    pub kind: &'static str,
    /// Number of clients.
    pub clients: u32,
    /// Pace at which each client reads or sends.
    pub bytes_per_second: u64,
    /// The clients' requests, those of the warm-up included.
    pub counts: SlowCounts,
    /// Times from connecting to the last byte of a right answer.
    pub right_times: Latency,
    /// Times from connecting to the end of the connection by the server.
    pub cut_off_times: Latency,
    /// The age of the oldest request that was under way at the end, in milliseconds.
    pub oldest_ms: u64,
}

/// Requests of slow clients by their outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowCounts {
    /// All requests: the sum of the other fields.
    pub begun: u64,
    /// Right answers.
    pub right: u64,
    /// Answers that are not right, or break a rule of HTTP.
    pub wrong: u64,
    /// Requests whose connection the server ended before the answer was whole, and requests that the server refused
    /// before they were whole.
    pub cut_off: u64,
    /// Connections that were not made.
    pub not_connected: u64,
    /// Requests without an outcome when the load ended.
    pub under_way: u64,
}
