//! The result of a run, as one value that programs can read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::counting::counts::{Counts, FirstWrong, OddHeads, OwnLimits, Second};
use crate::counting::hits::Hits;
use crate::counting::latency::{Latency, Times};
use crate::generator::slow_side::SlowSide;
use crate::machine::listen_queue::QueueOwner;
use crate::report::numbers::float;
use crate::report::reason::Reason;

/// The name of the report's schema.
pub(crate) const SCHEMA: &str = "adyton-bench/1";

/// CPU time is reported if its error is at most this part of it.
const CPU_ERROR_MAX: f64 = 0.1;

/// The least number of seconds for which a rate is reported: in a shorter time, the kernel schedules threads only a few
/// times.
pub(crate) const RATE_SECONDS_MIN: f64 = 0.1;

/// Seconds below which no drift can be told; a stall is named however short the measurement is.
pub(crate) const STEADY_SECONDS_MIN: usize = 5;

/// The result of one run. Times of requests are in microseconds, sizes in bytes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// The name of the schema: `adyton-bench/1`.
    pub schema: &'static str,
    /// The version of this program.
    pub version: &'static str,
    /// Reasons why the figures must not be used; empty if they may be used.
    pub invalid: Vec<Reason>,
    /// Reasons why the figures are disturbed, which the user accepts (`--accept`): gates that would otherwise be in
    /// `invalid`.
    #[serde(default)]
    pub disturbed: Vec<Reason>,
    /// Facts that the figures do not show, and that a reader of the figures should know.
    #[serde(default)]
    pub warnings: Vec<Reason>,
    /// Whether the user has ended the run before its planned end.
    pub interrupted: bool,
    /// When, where, and by which command line the run was made.
    #[serde(default)]
    pub run: Run,
    /// The requests and the load.
    pub asked: Asked,
    /// Length of the measurement in seconds.
    pub seconds: f64,
    /// Right answers a second.
    pub rate: f64,
    /// Every request, by its outcome.
    pub counts: Counts,
    /// Right answers within the deadline, if there is one. Their time counts from when the request was due in an open
    /// loop, else from when it was sent.
    pub in_time: Option<u64>,
    /// Answers by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Connection errors, timeouts and wrong bodies, by their cause.
    pub errors: BTreeMap<String, u64>,
    /// The first answer that was not right, or broke a rule of HTTP.
    #[serde(default)]
    pub first_wrong: Option<FirstWrong>,
    /// Interim answers (1xx) that came before final answers.
    #[serde(default)]
    pub interim_answers: u64,
    /// The most interim answers that came before one answer.
    #[serde(default)]
    pub interim_most: u32,
    /// Answers that began before their request was sent.
    #[serde(default)]
    pub early_answers: u64,
    /// Answers whose heads break a rule that clients overlook, or are very long.
    #[serde(default)]
    pub odd_heads: OddHeads,
    /// Resources that this program itself ran out of.
    pub own_limits: OwnLimits,
    /// Times from when a request was due to its last byte; only in an open loop.
    pub response: Option<Latency>,
    /// Times from when a request was begun to its last byte: they include the time to connect if each request has a
    /// connection of its own.
    pub service: Latency,
    /// Times from when a request was sent over an open connection to the first byte: they never include the time to
    /// connect.
    pub first_byte: Latency,
    /// Times to connect, of connections that were made within the measurement.
    pub connect: Option<Latency>,
    /// Times to connect, of connections that were made before the measurement, in the warm-up.
    pub connect_before: Option<Latency>,
    /// Pairs of a percentile and its time in microseconds: of `response` if there is one, else of `service`.
    pub curve: Vec<(f64, f64)>,
    /// Intervals of times in microseconds, each with its ends and the number of answers in it, of the same times as
    /// `curve`.
    #[serde(default)]
    pub histogram: Vec<(f64, f64, u64)>,
    /// The results of each URL, if there was a list of URLs.
    pub urls: Vec<UrlSide>,
    /// The times as a histogram, in nanoseconds.
    #[serde(skip)]
    pub(crate) times: Times,
    /// Bytes of the heads of right answers.
    pub head_bytes: u64,
    /// Bytes of the bodies of right answers.
    pub body_bytes: u64,
    /// Bytes of the bodies of right answers, a second.
    pub body_bytes_per_second: f64,
    /// Right answers of which every byte was compared.
    pub compared: u64,
    /// Connections that were made within the measurement.
    pub connections_made: u64,
    /// Right answers by connection.
    pub fairness: Fairness,
    /// Requests under way on average.
    pub in_flight_mean: f64,
    /// The part of `in_flight_mean` due to requests that were still open at the end or began before the measurement.
    pub in_flight_edges: f64,
    /// The age of the oldest request that was under way at the end, in milliseconds.
    pub oldest_in_flight_ms: u64,
    /// The age of the oldest request that has no answer, in milliseconds.
    pub oldest_ms: u64,
    /// Requests of an open loop that were due and found no connection.
    pub never_sent: u64,
    /// Requests of an open loop that had no answer at the end, although they had been due for longer than 99 of 100
    /// answers took.
    pub overdue: Option<Overdue>,
    /// The longest time without a right answer, in milliseconds.
    pub longest_lull_ms: u64,
    /// The time that nine of ten answers did not exceed, without the answers that the longest lull may have held up.
    #[serde(skip)]
    pub(crate) usual_us: f64,
    /// Counts and times of each second.
    pub series: Vec<Second>,
    /// The requests of the load that the application has seen, if it was asked.
    pub hits: Option<Hits>,
    /// Clients beside the load that were slow, if there were any.
    pub slow: Vec<SlowSide>,
    /// This program.
    pub generator: GeneratorSide,
    /// The server's processes, if they are on this machine and this user may see them.
    pub server: Option<ServerSide>,
    /// Everything else on this machine.
    pub machine: MachineSide,
}

/// When, where, and by which command line a run was made; an unknown field is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// When the run ended, by the clock of this machine (RFC 3339, UTC).
    pub date: String,
    /// The model of the CPU, the number of CPUs that this program may use, and the kernel.
    pub machine: String,
    /// The command line, without its secrets.
    pub command: String,
}

/// The requests and the load that were asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Asked {
    pub url: String,
    pub method: String,
    pub connections: u32,
    pub threads: u32,
    pub keep_alive: bool,
    pub pipeline: u32,
    /// `closed`, `constant` or `poisson`.
    pub load: &'static str,
    /// Requests a second that were due; only in an open loop.
    pub rate: Option<f64>,
    /// Number of requests; `None` if the time was given.
    pub requests: Option<u64>,
    /// Length of the measurement; `None` if the number of requests was given.
    pub duration_ms: Option<u64>,
    /// The seed, if anything is left to chance.
    pub seed: Option<u64>,
    pub warm_up_ms: u64,
    pub timeout_ms: u64,
    pub deadline_ms: Option<u64>,
    /// The status of the right answer; if there is a list of URLs, the status for the first URL.
    pub status: u16,
    pub answer_head_bytes: u64,
    pub answer_body_bytes: u64,
    /// The part of the answer that is compared.
    pub checked: &'static str,
    /// One body in this many is compared byte by byte; 1 if every body is compared, or none.
    pub sample: usize,
}

/// The results of one of several URLs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UrlSide {
    pub url: String,
    pub method: String,
    /// The weight of the URL, which is relative to the weights of the others.
    pub weight: u32,
    /// The status of the right answer.
    pub status: u16,
    pub answer_body_bytes: u64,
    /// Requests that were sent.
    pub sent: u64,
    /// Right answers.
    pub right: u64,
    /// All other outcomes.
    pub wrong: u64,
    /// Times from when a request was due in an open loop, or else sent, to the last byte; right within a hundredth.
    pub times: Latency,
}

/// Fairness among connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fairness {
    /// Right answers of the connection that got the fewest.
    pub min: u64,
    /// Right answers of the connection in the middle.
    pub median: u64,
    /// Right answers of the connection that got the most.
    pub max: u64,
    /// Jain's index: 1 if all connections got equally many answers, and 1 / n if one of n connections got all answers.
    pub jain: f64,
    /// Percentiles, over all connections, of a connection's mean time of an answer: each connection counts once,
    /// however many answers it got.
    #[serde(default)]
    pub mean_p50_us: f64,
    #[serde(default)]
    pub mean_p90_us: f64,
    #[serde(default)]
    pub mean_max_us: f64,
    /// Connections whose mean time is much longer than the p99 of all answers, and the number of their answers.
    #[serde(default)]
    pub slow_connections: u64,
    #[serde(default)]
    pub slow_right: u64,
}

/// This program.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GeneratorSide {
    /// CPU time of the busiest thread divided by the length of the measurement, from 0 to 1. It includes the time that
    /// the thread waited for a CPU, unless the server may use the same CPUs.
    pub busy: f64,
    /// Part of the measurement for which a thread was ready and had no CPU, of the thread that waited longest.
    pub waiting: f64,
    /// Requests a second that this program could send and check, given the CPU.
    pub ceiling_rate: f64,
}

/// The server's processes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerSide {
    /// Processes that listen, and their descendants, at the end.
    pub processes: u32,
    /// CPU time divided by the number of requests that had an outcome.
    pub cpu_us_per_request: f64,
    /// Possible error of that CPU time, because the kernel counts in ticks.
    #[serde(default)]
    pub cpu_us_error: f64,
    /// CPUs that were busy with the server on average.
    pub cpus: f64,
    /// Proportional memory at the end.
    pub pss_bytes: u64,
}

/// Requests that had no answer at the end, and whose times would change the figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overdue {
    /// Number of requests that had been due for longer than 99 of 100 answers took.
    pub requests: u64,
    /// For how long the oldest request without an answer had been due, in milliseconds.
    pub oldest_ms: u64,
}

/// Everything else on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineSide {
    /// CPU time that the hypervisor gave to other virtual machines, in percent of all CPU time; `None`, as in the
    /// fields below, if it could not be read.
    pub steal_percent: Option<f64>,
    /// CPUs that were busy with other programs on average; also `None` if the server is on this machine and this user
    /// may not see its processes.
    pub foreign_cpus: Option<f64>,
    /// Packets of new connections that found a listen queue full.
    pub listen_overflows: Option<u64>,
    /// Packets of new connections that a listening socket has dropped for any reason.
    pub listen_drops: Option<u64>,
    /// The owner of the listeners.
    pub listen_queues_of: QueueOwner,
}

impl Report {
    /// Whether the figures may be used.
    pub fn is_valid(&self) -> bool {
        self.invalid.is_empty()
    }

    /// Whether the measurement is long enough to report rates (right answers and bytes per second).
    pub(crate) fn has_rate(&self) -> bool {
        self.seconds >= RATE_SECONDS_MIN
    }

    /// Returns the report as JSON, on several lines.
    ///
    /// # Errors
    ///
    /// None that is known: every field can be written.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self)
    }

    /// Reads a report that [`to_json`](Self::to_json) has written. The histogram of times is not part of the JSON; only
    /// the log has it.
    ///
    /// # Errors
    ///
    /// The text is no report.
    pub fn from_json(json: &'static str) -> serde_json::Result<Self> {
        serde_json::from_str(json)
    }
}

impl ServerSide {
    /// Returns the CPU time of a request, if enough CPU time was counted to tell it.
    pub(crate) fn cpu_us(&self) -> Option<f64> {
        (self.cpu_us_error <= CPU_ERROR_MAX * self.cpu_us_per_request).then_some(self.cpu_us_per_request)
    }

    /// Returns an upper bound of the CPU time of a request.
    pub(crate) fn cpu_us_max(&self) -> f64 {
        self.cpu_us_per_request + self.cpu_us_error
    }
}

/// Returns the whole seconds of the measurement, without a last second that is not whole.
pub(crate) fn whole_seconds(report: &Report) -> &[Second] {
    &report.series[..count_whole(report.series.len(), report.seconds)]
}

/// Returns how many of the first `count` seconds are whole in a measurement of `seconds`.
pub(crate) fn count_whole(count: usize, seconds: f64) -> usize {
    (1..=count).take_while(|second| float(*second as u64) <= seconds).count()
}

/// Whether the measurement was long enough to find a drift.
pub(crate) fn can_drift(report: &Report) -> bool {
    whole_seconds(report).len() >= STEADY_SECONDS_MIN
}

/// Lists values that could not be read on this machine. Gates that need them were not checked.
pub(crate) fn unknown(report: &Report) -> Option<String> {
    let machine = &report.machine;
    let parts = [
        (machine.steal_percent.is_none(), "what the hypervisor gave to other machines"),
        (machine.foreign_cpus.is_none(), "what other programs took"),
        (machine.listen_overflows.is_none(), "whether a listen queue was full"),
    ];
    let unknown: Vec<&str> =
        parts.into_iter().filter_map(|(is_unknown, what)| is_unknown.then_some(what)).collect();
    (!unknown.is_empty())
        .then(|| format!("{}: this machine does not tell, so it was not checked", unknown.join("; ")))
}
