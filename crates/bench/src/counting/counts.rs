//! Counts: requests by their outcome, seconds, connections, and requests by what was asked for.

use adyton_http1::Oddities;
use serde::{Deserialize, Serialize};

use crate::counting::latency::Times;

/// Requests by their outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Requests that were under way at any time of the measurement: requests that were sent within it, requests that
    /// could not be sent because the server took no connection, and requests that were under way when it began. If the
    /// number of requests is given, requests that were under way at the beginning do not count.
    pub sent: u64,
    /// Answers that are right in all that is checked.
    pub right: u64,
    /// Answers with a status that is not right.
    pub wrong_status: u64,
    /// Answers with a right status and a wrong body; in an answer to HEAD, a wrong length.
    pub wrong_body: u64,
    /// Requests whose connection could not be made, was cut, or carried bytes that are not HTTP.
    pub connection_error: u64,
    /// Requests that were given up because the answer took too long.
    pub timeout: u64,
    /// Requests without an outcome when the measurement ended.
    pub in_flight: u64,
}

impl Counts {
    /// Returns the number of all outcomes, requests under way included. It equals `sent`, unless this program has a
    /// mistake.
    pub fn outcomes(&self) -> u64 {
        self.settled() + self.in_flight
    }

    /// Returns the number of all outcomes, without the requests under way.
    pub(crate) fn settled(&self) -> u64 {
        self.right + self.wrong()
    }

    /// Returns the number of requests that went wrong.
    pub fn wrong(&self) -> u64 {
        self.wrong_status + self.wrong_body + self.connection_error + self.timeout
    }

    /// Adds the counts of another thread.
    pub(crate) fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.right += other.right;
        self.wrong_status += other.wrong_status;
        self.wrong_body += other.wrong_body;
        self.connection_error += other.connection_error;
        self.timeout += other.timeout;
        self.in_flight += other.in_flight;
    }
}

/// Resources that this program itself ran out of; the server is not to blame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnLimits {
    /// Connections that were not made for want of a descriptor.
    pub descriptors: u64,
    /// Connections that were not made for want of a local port.
    pub ports: u64,
}

/// Answers whose heads break a rule that clients overlook, or are so long that many clients refuse them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OddHeads {
    /// Heads with lines that end in LF without CR.
    pub bare_lf: u64,
    /// Heads with both Content-Length and Transfer-Encoding.
    pub two_framings: u64,
    /// Heads of more than 64 KiB.
    pub long: u64,
    /// The longest head in bytes.
    pub longest_bytes: u64,
}

/// Size in bytes above which a head is reported as long: clients and proxies differ in their limits, and most of them
/// accept a head of this size.
pub(crate) const LONG_HEAD_BYTES: u64 = 64 << 10;

impl OddHeads {
    /// Adds the head of one answer.
    pub(crate) fn add(&mut self, bytes: u64, oddities: Oddities) {
        self.bare_lf += u64::from(oddities.bare_lf);
        self.two_framings += u64::from(oddities.two_framings);
        self.long += u64::from(bytes > LONG_HEAD_BYTES);
        self.longest_bytes = self.longest_bytes.max(bytes);
    }

    /// Adds the heads of other answers.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.bare_lf += other.bare_lf;
        self.two_framings += other.two_framings;
        self.long += other.long;
        self.longest_bytes = self.longest_bytes.max(other.longest_bytes);
    }
}

/// One second of the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// Right answers.
    pub right: u64,
    /// All other outcomes.
    pub wrong: u64,
    /// Time of the slowest right answer, from when it was due in an open loop, else from sending, in microseconds.
    pub max_us: u64,
    /// Sum of the times of right answers, counted likewise.
    pub sum_us: u64,
    /// Sum of the squares of these times, in µs².
    #[serde(skip)]
    pub(crate) squares: f64,
    /// Median and 99th percentile of the times, right within an eighth; `None` if there are too few answers, and after
    /// the first hour.
    #[serde(default)]
    pub p50_us: Option<f64>,
    #[serde(default)]
    pub p99_us: Option<f64>,
}

/// The first wrong answer, to be shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstWrong {
    /// The request: the method and the URL.
    pub request: String,
    /// The fault of the answer.
    pub why: String,
    /// The head, or the bytes that came in its place, with escapes for bytes that are no text; only the beginning of a
    /// long head.
    pub head: String,
}

/// A request that is under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    /// When the request was due.
    pub(crate) due_ns: u64,
    /// When the request was begun.
    pub(crate) begun_ns: u64,
    /// The index of the request in the plan.
    pub(crate) which: u32,
    /// Whether the request was begun within the measurement.
    pub(crate) counted: bool,
}

/// The outcomes of one of several requests.
#[derive(Debug)]
pub(crate) struct OfUrl {
    pub(crate) sent: u64,
    pub(crate) right: u64,
    pub(crate) wrong: u64,
    /// Times from when a request was due in an open loop, else from when it was sent.
    pub(crate) times: Times,
}

impl OfUrl {
    /// Makes empty counts.
    pub(crate) fn new() -> Self {
        Self { sent: 0, right: 0, wrong: 0, times: Times::coarse() }
    }
}

/// The answers of one connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OfConnection {
    /// Right answers.
    pub(crate) right: u64,
    /// Sum of the times of these answers, each from the beginning of its request.
    pub(crate) sum_ns: u64,
}

/// A histogram for a live view: the first place counts times of up to a microsecond, and the longest time of each
/// further place is twice that of the place before.
pub type Doublings = [u64; DOUBLINGS];

/// Places of the histogram: the last one is for everything above 2²³ µs, which is eight seconds.
pub(crate) const DOUBLINGS: usize = 24;
