//! What is counted: requests by what became of them, seconds, connections, and what was asked for.

use adyton_http1::Oddities;
use serde::{Deserialize, Serialize};

use crate::counting::latency::Times;

/// Requests by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Requests that were under way at any time of the measurement: those that were sent within it, or that could not
    /// be because the connection was not taken, and those that were under way when it began. With a number of requests
    /// only these count.
    pub sent: u64,
    /// Answers that are right in all that is checked.
    pub right: u64,
    /// Answers with a status that is not right.
    pub wrong_status: u64,
    /// Answers with a right status and another body, or to HEAD another length.
    pub wrong_body: u64,
    /// Requests whose connection could not be made, was cut, or carried nonsense.
    pub connection_error: u64,
    /// Requests that were given up.
    pub timeout: u64,
    /// Requests without an outcome when the measurement ended.
    pub in_flight: u64,
}

impl Counts {
    /// All outcomes, those under way included; equals `sent`, or there is a mistake in this program.
    pub fn outcomes(&self) -> u64 {
        self.settled() + self.in_flight
    }

    /// All outcomes but those under way.
    pub(crate) fn settled(&self) -> u64 {
        self.right + self.wrong()
    }

    /// Everything that went wrong.
    pub fn wrong(&self) -> u64 {
        self.wrong_status + self.wrong_body + self.connection_error + self.timeout
    }

    /// Adds those of another thread.
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

/// What this program itself ran out of; the server is not to blame.
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

/// From here on a head is told as long: clients and proxies differ in what they take, and most take this much.
pub(crate) const LONG_HEAD_BYTES: u64 = 64 << 10;

impl OddHeads {
    /// Adds the head of one answer.
    pub(crate) fn add(&mut self, bytes: u64, oddities: Oddities) {
        self.bare_lf += u64::from(oddities.bare_lf);
        self.two_framings += u64::from(oddities.two_framings);
        self.long += u64::from(bytes > LONG_HEAD_BYTES);
        self.longest_bytes = self.longest_bytes.max(bytes);
    }

    /// Adds those of other answers.
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
    /// Everything else that had an outcome.
    pub wrong: u64,
    /// The slowest right answer, from when it was due with an open loop, else from sending, in microseconds.
    pub max_us: u64,
    /// All times of right answers together, counted likewise.
    pub sum_us: u64,
    /// The squares of these times together, in µs².
    #[serde(skip)]
    pub(crate) squares: f64,
    /// What half of these times, and 99 of 100, do not exceed, within an eighth; `None` of too few, or behind the first
    /// hour.
    #[serde(default)]
    pub p50_us: Option<f64>,
    #[serde(default)]
    pub p99_us: Option<f64>,
}

/// The first answer that was wrong, to be looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstWrong {
    /// What was asked for: the method and the URL.
    pub request: String,
    /// What is wrong with it.
    pub why: String,
    /// Its head, or what came in its place, with escapes for what is no text; only the beginning, if it is long.
    pub head: String,
}

/// A request that is under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    /// When it was due.
    pub(crate) due_ns: u64,
    /// When it was begun.
    pub(crate) begun_ns: u64,
    /// Which of the plan's requests it is.
    pub(crate) which: u32,
    /// It was begun within the measurement.
    pub(crate) counted: bool,
}

/// What became of one of several requests.
#[derive(Debug)]
pub(crate) struct OfUrl {
    pub(crate) sent: u64,
    pub(crate) right: u64,
    pub(crate) wrong: u64,
    /// From when it was due with an open loop, else from when it was sent.
    pub(crate) times: Times,
}

impl OfUrl {
    /// Nothing yet.
    pub(crate) fn new() -> Self {
        Self { sent: 0, right: 0, wrong: 0, times: Times::coarse() }
    }
}

/// What one connection got.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OfConnection {
    /// Right answers.
    pub(crate) right: u64,
    /// All their times from when they were begun.
    pub(crate) sum_ns: u64,
}

/// A histogram for a live view: the first place counts what takes up to a microsecond, and each other what takes up to
/// twice as long as the one before.
pub type Doublings = [u64; DOUBLINGS];

/// The last one is for everything above 2²³ µs, which is eight seconds.
pub(crate) const DOUBLINGS: usize = 24;
