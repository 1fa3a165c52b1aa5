//! What a run has found, as one value that programs can read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::counting::counts::{Counts, FirstWrong, OddHeads, OwnLimits, Second};
use crate::counting::hits::Hits;
use crate::counting::latency::{Latency, Times};
use crate::generator::slow_side::SlowSide;
use crate::machine::listen_queue::QueueOwner;
use crate::report::numbers::float;
use crate::report::reason::Reason;

/// Which shape a report has.
pub(crate) const SCHEMA: &str = "adyton-bench/1";

/// CPU time is told if it is right within this part.
const CPU_ERROR_MAX: f64 = 0.1;

/// The least number of seconds that a rate takes: in less a machine schedules only a few times.
pub(crate) const RATE_SECONDS_MIN: f64 = 0.1;

/// Seconds below which no drift can be told; a stall is named however short the measurement is.
pub(crate) const STEADY_SECONDS_MIN: usize = 5;

/// The result of one run. Times of requests are in microseconds, sizes in bytes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// Which shape this is: `adyton-bench/1`.
    pub schema: &'static str,
    /// The version of this program.
    pub version: &'static str,
    /// Why the figures must not be used; empty when they may.
    pub invalid: Vec<Reason>,
    /// What has disturbed the figures, although the user accepts them (`--accept`): gates that would be in `invalid` else.
    #[serde(default)]
    pub disturbed: Vec<Reason>,
    /// What the figures do not say, and their reader should know.
    #[serde(default)]
    pub warnings: Vec<Reason>,
    /// The user has ended it before what was asked had been measured.
    pub interrupted: bool,
    /// When, where, and by which command line.
    #[serde(default)]
    pub run: Run,
    /// What was asked.
    pub asked: Asked,
    /// Length of the measurement in seconds.
    pub seconds: f64,
    /// Right answers a second.
    pub rate: f64,
    /// Every request, by what became of it.
    pub counts: Counts,
    /// Right answers within the deadline, if there is one: from when they were due with an open loop, else from sending.
    pub in_time: Option<u64>,
    /// Answers by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Why requests have no answer, and what is wrong with bodies: connection errors, timeouts and wrong bodies by cause.
    pub errors: BTreeMap<String, u64>,
    /// The first answer that was not right, or broke a rule of HTTP.
    #[serde(default)]
    pub first_wrong: Option<FirstWrong>,
    /// Interim answers (1xx) that came before the others.
    #[serde(default)]
    pub interim_answers: u64,
    /// How many at most came before one.
    #[serde(default)]
    pub interim_most: u32,
    /// Answers that began before their request was sent.
    #[serde(default)]
    pub early_answers: u64,
    /// Answers whose heads break a rule that clients overlook, or are very long.
    #[serde(default)]
    pub odd_heads: OddHeads,
    /// What this program itself ran out of.
    pub own_limits: OwnLimits,
    /// From the time at which a request was due to its last byte; only with an open loop.
    pub response: Option<Latency>,
    /// From when it was begun to the last byte: the time to connect is in it where a request has a connection of its own.
    pub service: Latency,
    /// From sending, over a connection that was made, to the first byte: the time to connect is never in it.
    pub first_byte: Latency,
    /// From beginning to connect to the connection; of connections that were made within the measurement.
    pub connect: Option<Latency>,
    /// The same, of those that were made before it, in the warm-up.
    pub connect_before: Option<Latency>,
    /// Percentiles, and the time that so many do not exceed, in microseconds: of `response` if there is one, else of
    /// `service`.
    pub curve: Vec<(f64, f64)>,
    /// How many of the same took from one time to another, in microseconds.
    #[serde(default)]
    pub histogram: Vec<(f64, f64, u64)>,
    /// By what was asked for, if there was a list of URLs.
    pub urls: Vec<UrlSide>,
    /// The times as a histogram, in nanoseconds.
    #[serde(skip)]
    pub(crate) times: Times,
    /// Bytes of the heads of right answers.
    pub head_bytes: u64,
    /// Bytes of the bodies of right answers.
    pub body_bytes: u64,
    /// The same for each second.
    pub body_bytes_per_second: f64,
    /// Right answers of which every byte was compared.
    pub compared: u64,
    /// Connections that were made within the measurement.
    pub connections_made: u64,
    /// Right answers by connection.
    pub fairness: Fairness,
    /// Requests under way on average.
    pub in_flight_mean: f64,
    /// What of that is in no time of this report, or in one that began before: what was under way at either end.
    pub in_flight_edges: f64,
    /// The age of the oldest request that was under way at the end, in milliseconds.
    pub oldest_in_flight_ms: u64,
    /// The age of the oldest request that has no answer, in milliseconds.
    pub oldest_ms: u64,
    /// Requests of an open loop that were due and found no connection.
    pub never_sent: u64,
    /// What had no answer at the end of an open loop, and had been due for longer than 99 of 100 answers took.
    pub overdue: Option<Overdue>,
    /// The longest time without a right answer, in milliseconds.
    pub longest_lull_ms: u64,
    /// What nine of ten answers did not exceed, those aside that this time held up.
    #[serde(skip)]
    pub(crate) usual_us: f64,
    /// Second by second.
    pub series: Vec<Second>,
    /// What the application has seen of the load, if it was asked.
    pub hits: Option<Hits>,
    /// Clients beside the load that were slow, if there were any.
    pub slow: Vec<SlowSide>,
    /// This program.
    pub generator: GeneratorSide,
    /// The server's processes, if they are on this machine and ours to see.
    pub server: Option<ServerSide>,
    /// Everything else on this machine.
    pub machine: MachineSide,
}

/// When, where, and by which command line a run was made; what is not known is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// When it ended, by the clock of this machine (RFC 3339, UTC).
    pub date: String,
    /// The CPU, how many of them this program may use, and the kernel.
    pub machine: String,
    /// The command line, without what is secret in it.
    pub command: String,
}

/// What was asked, and how.
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
    /// Requests a second that were due; only with an open loop.
    pub rate: Option<f64>,
    /// How many requests; `None` if the time was given.
    pub requests: Option<u64>,
    /// How long; `None` if the number of requests was given.
    pub duration_ms: Option<u64>,
    /// If anything is left to chance.
    pub seed: Option<u64>,
    pub warm_up_ms: u64,
    pub timeout_ms: u64,
    pub deadline_ms: Option<u64>,
    /// The right answer; with a list of URLs, that of the first.
    pub status: u16,
    pub answer_head_bytes: u64,
    pub answer_body_bytes: u64,
    /// What of it is compared.
    pub checked: &'static str,
    /// Every byte is compared of one body in this many; 1: of all that are compared at all.
    pub sample: usize,
}

/// One of several URLs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UrlSide {
    pub url: String,
    pub method: String,
    /// How often it was drawn, beside the others' weights.
    pub weight: u32,
    /// The right answer.
    pub status: u16,
    pub answer_body_bytes: u64,
    /// Requests that were sent.
    pub sent: u64,
    /// Right answers.
    pub right: u64,
    /// Everything else that had an outcome.
    pub wrong: u64,
    /// From when it was due with an open loop, else from sending, to the last byte; within a hundredth.
    pub times: Latency,
}

/// How evenly connections were served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fairness {
    /// Right answers of the connection that got fewest.
    pub min: u64,
    /// Of the one in the middle.
    pub median: u64,
    /// Of the one that got most.
    pub max: u64,
    /// Jain's index: 1 when all got the same, one over their number when one got all.
    pub jain: f64,
    /// Percentiles over connections, each of which counts once however many answers it got: the mean time of its answers.
    #[serde(default)]
    pub mean_p50_us: f64,
    #[serde(default)]
    pub mean_p90_us: f64,
    #[serde(default)]
    pub mean_max_us: f64,
    /// Connections whose answers took much longer on average than 99 of 100 of all took, and how many answers they got.
    #[serde(default)]
    pub slow_connections: u64,
    #[serde(default)]
    pub slow_right: u64,
}

/// This program.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GeneratorSide {
    /// CPU time of the busiest thread over the length of the measurement, from 0 to 1; with the time that it waited for a
    /// CPU, unless the server may use the same CPUs.
    pub busy: f64,
    /// For which part of the measurement the thread that waited most was ready and had no CPU.
    pub waiting: f64,
    /// Requests a second that it could send and check, given the CPU.
    pub ceiling_rate: f64,
}

/// The server's processes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerSide {
    /// Processes that listen, and their descendants, at the end.
    pub processes: u32,
    /// CPU time over requests that had an outcome.
    pub cpu_us_per_request: f64,
    /// By how much that may be wrong by itself: the kernel counts CPU time in ticks.
    #[serde(default)]
    pub cpu_us_error: f64,
    /// CPUs that were busy with it on average.
    pub cpus: f64,
    /// Proportional memory at the end.
    pub pss_bytes: u64,
}

/// What had no answer at the end, and would change the times if it had one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overdue {
    /// How many requests had been due for longer than 99 of 100 answers took.
    pub requests: u64,
    /// How long the oldest that had no answer had been due, in milliseconds.
    pub oldest_ms: u64,
}

/// Everything else on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineSide {
    /// CPU time that the hypervisor gave to other machines, in percent of all; unknown, as each of these, if it could
    /// not be read.
    pub steal_percent: Option<f64>,
    /// CPUs that were busy with other programs on average; unknown, too, if the server is here and not ours to see.
    pub foreign_cpus: Option<f64>,
    /// Packets of new connections that found a listen queue full.
    pub listen_overflows: Option<u64>,
    /// Packets of new connections that a listener has dropped for this or any other reason.
    pub listen_drops: Option<u64>,
    /// Whose listeners these are.
    pub listen_queues_of: QueueOwner,
}

impl Report {
    /// Whether the figures may be used.
    pub fn is_valid(&self) -> bool {
        self.invalid.is_empty()
    }

    /// Right answers a second, and bytes, are told of a measurement that is long enough.
    pub(crate) fn has_rate(&self) -> bool {
        self.seconds >= RATE_SECONDS_MIN
    }

    /// The report as JSON, on several lines.
    ///
    /// # Errors
    ///
    /// None that is known: every field can be written.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self)
    }

    /// Reads what [`to_json`](Self::to_json) has written. The histogram, which is for the log only, is not in it.
    ///
    /// # Errors
    ///
    /// It is no report.
    pub fn from_json(json: &'static str) -> serde_json::Result<Self> {
        serde_json::from_str(json)
    }
}

impl ServerSide {
    /// CPU time of a request, where there was enough to tell it.
    pub(crate) fn cpu_us(&self) -> Option<f64> {
        (self.cpu_us_error <= CPU_ERROR_MAX * self.cpu_us_per_request).then_some(self.cpu_us_per_request)
    }

    /// What it was at most.
    pub(crate) fn cpu_us_max(&self) -> f64 {
        self.cpu_us_per_request + self.cpu_us_error
    }
}

/// The whole seconds of the measurement: the last one need not be.
pub(crate) fn whole_seconds(report: &Report) -> &[Second] {
    &report.series[..count_whole(report.series.len(), report.seconds)]
}

/// How many of the first `count` seconds are whole in a measurement of `seconds`.
pub(crate) fn count_whole(count: usize, seconds: f64) -> usize {
    (1..=count).take_while(|second| float(*second as u64) <= seconds).count()
}

/// Whether the measurement was long enough to tell a drift.
pub(crate) fn can_drift(report: &Report) -> bool {
    whole_seconds(report).len() >= STEADY_SECONDS_MIN
}

/// What this machine did not tell, so that the gates which go by it cannot have closed.
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
        .then(|| format!("{}: nothing is said of it, so it may have been any", unknown.join("; ")))
}
