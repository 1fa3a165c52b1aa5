//! What a run has found, as one value that programs can read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::answer::SAMPLE;
use crate::hits::Hits;
use crate::latency::{Latency, Times};
use crate::listen_queue::{Dropped, Whose};
use crate::machine::{self, TICK_US, Ticks};
use crate::plan::{Check, Load, Plan, Until};
use crate::probe::Learnt;
use crate::server_side::Used;
use crate::slow::SlowSide;
use crate::tally::{Counts, FirstWrong, OfConnection, OfTarget, OwnLimits, Second, Tally};
use crate::verdict::{self, Reason};

/// Which shape a report has.
pub(crate) const SCHEMA: &str = "adyton-bench/1";

/// The answers of a connection took much longer than those of others if their mean is so many times p99 of all; of fewer
/// answers than that, chance decides.
const SLOW_TIMES: f64 = 2.0;
const SLOW_ANSWERS_MIN: u64 = 3;

/// CPU time is told if it is right within this part.
const CPU_ERROR_MAX: f64 = 0.1;

/// A rate takes so many seconds: in less a machine schedules a few times.
pub(crate) const RATE_SECONDS_MIN: f64 = 0.1;

/// What the kernel said while the load was on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Observed {
    /// The length of the measurement.
    pub(crate) elapsed_ns: u64,
    /// The user did not let it end by itself.
    pub(crate) interrupted: bool,
    /// Between the two looks at the server and the machine.
    pub(crate) watched_ns: u64,
    pub(crate) ceiling_rate: f64,
    /// Of the server's processes; unknown, as what follows, where it could not be read.
    pub(crate) server_cpu_us: Option<u64>,
    /// The server's processes at the end, if they are ours to see.
    pub(crate) server: Option<Used>,
    pub(crate) own_cpu_us: Option<u64>,
    pub(crate) ticks: Option<Ticks>,
    pub(crate) dropped: Option<Dropped>,
    /// The server may use the CPUs of this program; or it is here, and not ours to see.
    pub(crate) shares_cpus: bool,
}

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
    /// What the figures do not say, and who reads them should know.
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
    /// How many requests; none if the time was given.
    pub requests: Option<u64>,
    /// How long; none if the number of requests was given.
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
    /// Every byte of one body in so many is; 1: of all that are compared at all.
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
    /// CPU time that the hypervisor gave to others, in percent of all; unknown, as each of these, if it could not be read.
    pub steal_percent: Option<f64>,
    /// CPUs that were busy with other programs on average; unknown, too, if the server is here and not ours to see.
    pub foreign_cpus: Option<f64>,
    /// Packets of new connections that found a listen queue full.
    pub listen_overflows: Option<u64>,
    /// Packets of new connections that a listener has dropped for this or any other reason.
    pub listen_drops: Option<u64>,
    /// Whose listeners these are.
    pub listen_queues_of: Whose,
}

impl Report {
    pub(crate) fn new(plan: &Plan, learnt: &[Learnt], tally: Tally, observed: &Observed) -> Self {
        let seconds = float(observed.elapsed_ns.max(1)) / 1e9;
        let generator = GeneratorSide::new(&tally, observed, seconds);
        let longest_lull_ns = tally.lulls.longest_ns(tally.ended_ns);
        let usual_us = usual_us(plan, &tally, longest_lull_ns);
        let errors = tally.errors();
        let times = if tally.response.count() > 0 { &tally.response } else { &tally.service };
        Self {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION"),
            invalid: Vec::new(),
            disturbed: Vec::new(),
            warnings: of_heads(learnt),
            interrupted: observed.interrupted,
            run: Run { machine: machine::described(), ..Run::default() },
            asked: Asked::new(plan, &learnt[0]),
            seconds,
            rate: float(tally.counts.right) / seconds,
            counts: tally.counts,
            in_time: plan.deadline_ms.map(|_| tally.in_time),
            own_limits: tally.own,
            response: matches!(plan.load, Load::Open { .. }).then(|| tally.response.summary()),
            service: tally.service.summary(),
            first_byte: tally.first_byte.summary(),
            connect: tally.connect.summary_if_any(),
            connect_before: tally.connect_before.summary_if_any(),
            curve: times.curve(),
            histogram: times.stretches(),
            urls: tally.by_target.iter().zip(learnt).map(|(of, learnt)| UrlSide::new(learnt, of)).collect(),
            times: times.clone(),
            head_bytes: tally.head_bytes,
            body_bytes: tally.body_bytes,
            body_bytes_per_second: float(tally.body_bytes) / seconds,
            compared: tally.compared,
            connections_made: tally.connections_made,
            fairness: Fairness::of(&tally.by_connection, tally.service.percentile_us(99.0)),
            in_flight_mean: tally.in_flight_mean,
            in_flight_edges: edges(tally.edges_ns) / float(observed.elapsed_ns.max(1)),
            oldest_in_flight_ms: tally.oldest_pending_ns / 1_000_000,
            oldest_ms: tally.oldest_ns / 1_000_000,
            never_sent: tally.never_sent,
            overdue: plan.load.rate().map(|_| Overdue::of(&tally.unanswered, &tally.response)),
            longest_lull_ms: longest_lull_ns / 1_000_000,
            usual_us,
            series: tally.series,
            hits: None,
            slow: Vec::new(),
            generator,
            server: observed.server.and_then(|used| ServerSide::new(used, observed, &tally.counts)),
            machine: MachineSide::new(plan, observed),
            statuses: tally.statuses,
            errors,
            first_wrong: tally.first_wrong.map(|(_, wrong)| wrong),
            interim_answers: tally.interim.0,
            interim_most: tally.interim.1,
            early_answers: tally.early,
        }
    }

    /// Settles whether the figures may be used. Where a gate of `accepted` fails, they are disturbed.
    pub(crate) fn judge(&mut self, accepted: &[&str]) {
        let is_accepted = |reason: &Reason| accepted.contains(&reason.gate);
        (self.disturbed, self.invalid) = verdict::reasons(self).into_iter().partition(is_accepted);
        let warnings = verdict::warnings(self);
        self.warnings.extend(warnings);
    }

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

impl Asked {
    fn new(plan: &Plan, learnt: &Learnt) -> Self {
        let (load, rate) = (plan.load.word(), plan.load.rate());
        let (requests, duration_ms) = match plan.until {
            Until::Duration(ms) => (None, Some(ms)),
            Until::Requests(count) => (Some(count), None),
        };
        let is_random = load == "poisson" || plan.targets.len() > 1 || plan.check == Check::Sample;
        Self {
            url: plan.url.to_string(),
            method: plan.method.clone(),
            connections: plan.connections,
            threads: plan.threads,
            keep_alive: plan.keep_alive,
            pipeline: plan.pipeline,
            load,
            rate,
            requests,
            duration_ms,
            seed: is_random.then_some(plan.seed),
            warm_up_ms: plan.warm_up_ms,
            timeout_ms: plan.timeout_ms,
            deadline_ms: plan.deadline_ms,
            status: learnt.answer.status,
            answer_head_bytes: learnt.answer.head_bytes,
            answer_body_bytes: learnt.answer.body_bytes,
            checked: plan.checked(),
            sample: if plan.check == Check::Sample { SAMPLE } else { 1 },
        }
    }
}

impl UrlSide {
    fn new(learnt: &Learnt, of: &OfTarget) -> Self {
        let Learnt { target, answer, .. } = learnt;
        Self {
            url: target.url.to_string(),
            method: target.method.clone(),
            weight: target.weight,
            status: answer.status,
            answer_body_bytes: answer.body_bytes,
            sent: of.sent,
            right: of.right,
            wrong: of.wrong,
            times: of.times.summary(),
        }
    }
}

impl Fairness {
    /// Of connections of which each has many requests; 99 of 100 of all answers took `p99_us` at most.
    fn of(connections: &[OfConnection], p99_us: f64) -> Self {
        let mut counts: Vec<u64> = connections.iter().map(|of| of.right).collect();
        counts.sort_unstable();
        let (Some(min), Some(max)) = (counts.first().copied(), counts.last().copied()) else {
            return Self::default();
        };
        let sum: f64 = counts.iter().map(|count| float(*count)).sum();
        let squares: f64 = counts.iter().map(|count| float(*count).powi(2)).sum();
        let jain = if squares > 0.0 { sum * sum / (float(counts.len() as u64) * squares) } else { 0.0 };
        let mean_us = |of: &OfConnection| float(of.sum_ns) / 1e3 / float(of.right);
        let served = connections.iter().filter(|of| of.right >= SLOW_ANSWERS_MIN);
        let slow: Vec<_> = served.filter(|of| mean_us(of) > SLOW_TIMES * p99_us).collect();
        let mut means: Vec<f64> = connections.iter().filter(|of| of.right > 0).map(mean_us).collect();
        means.sort_by(f64::total_cmp);
        let mean_at =
            |tenths: usize| means.get(means.len() * tenths / 10).or(means.last()).copied().unwrap_or(0.0);
        Self {
            min,
            median: counts[counts.len() / 2],
            max,
            jain,
            mean_p50_us: mean_at(5),
            mean_p90_us: mean_at(9),
            mean_max_us: mean_at(10),
            slow_connections: slow.len() as u64,
            slow_right: slow.iter().map(|of| of.right).sum(),
        }
    }
}

impl GeneratorSide {
    /// Who shares his CPUs with the server waits for it, as it does for him: then it is the server that keeps him busy.
    fn new(tally: &Tally, observed: &Observed, seconds: f64) -> Self {
        let busy_us = if observed.shares_cpus { tally.cpu_us } else { tally.busy_us };
        Self {
            busy: float(busy_us) / 1e6 / seconds,
            waiting: float(tally.waited_us) / 1e6 / seconds,
            ceiling_rate: observed.ceiling_rate,
        }
    }
}

impl ServerSide {
    fn new(used: Used, observed: &Observed, counts: &Counts) -> Option<Self> {
        let cpu_us = float(observed.server_cpu_us?);
        Some(Self {
            processes: used.processes,
            cpu_us_per_request: cpu_us / float(counts.settled().max(1)),
            // A tick for each process, which are as often too many as too few.
            cpu_us_error: float(TICK_US) * f64::from(used.processes).sqrt() / float(counts.settled().max(1)),
            cpus: cpu_us * 1e3 / float(observed.watched_ns.max(1)),
            pss_bytes: used.pss_bytes,
        })
    }
}

impl MachineSide {
    pub(crate) fn new(plan: &Plan, observed: &Observed) -> Self {
        let is_seen = observed.server.is_some() || !plan.url.is_local();
        let ticks = observed.ticks;
        Self {
            steal_percent: ticks.map(|ticks| 100.0 * float(ticks.steal) / float(ticks.all.max(1))),
            foreign_cpus: observed.foreign_cpus().filter(|_| is_seen),
            listen_overflows: observed.dropped.map(|dropped| dropped.overflows),
            listen_drops: observed.dropped.map(|dropped| dropped.drops),
            listen_queues_of: observed.dropped.unwrap_or_default().of,
        }
    }
}

impl Observed {
    /// CPUs that were busy with what is neither this program nor the server, if all three are known.
    fn foreign_cpus(&self) -> Option<f64> {
        let busy_us = float(self.ticks?.busy * TICK_US);
        let known_us = float(self.own_cpu_us? + self.server_cpu_us?);
        Some((busy_us - known_us).max(0.0) * 1e3 / float(self.watched_ns.max(1)))
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

impl Overdue {
    fn of(unanswered: &Times, answered: &Times) -> Self {
        Self {
            requests: unanswered.count_above(answered.percentile_us(99.0)),
            oldest_ms: unanswered.max_ns() / 1_000_000,
        }
    }
}

/// What the heads of the first answers tell, each kind once.
fn of_heads(learnt: &[Learnt]) -> Vec<Reason> {
    let mut told: Vec<Reason> = Vec::new();
    for reason in learnt.iter().flat_map(|learnt| &learnt.warnings) {
        if !told.iter().any(|known| known.gate == reason.gate) {
            told.push(reason.clone());
        }
    }
    told
}

/// What nine of ten answers do not exceed, without those that a time of `lull_ns` without any may have held up: of a closed
/// loop all that can be under way at once, of an open loop all that were due meanwhile.
fn usual_us(plan: &Plan, tally: &Tally, lull_ns: u64) -> f64 {
    let at_once = f64::from(plan.connections) * f64::from(plan.pipeline);
    let held_up = plan.load.rate().map_or(at_once, |rate| rate * float(lull_ns) / 1e9);
    let others = (1.0 - held_up / float(tally.counts.right.max(1))).max(0.0);
    tally.service.percentile_us(90.0 * others)
}

#[expect(clippy::cast_precision_loss, reason = "a mean for five percent")]
fn edges(ns: i64) -> f64 {
    ns as f64
}

#[expect(clippy::cast_precision_loss, reason = "counts and times far below 2⁵³")]
pub(crate) fn float(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What could not be read once is no number: the ticks since the machine was started are not those of a run.
    #[test]
    fn others_are_known_if_all_that_is_needed_is() {
        let known = Observed {
            watched_ns: 1_000_000_000,
            server_cpu_us: Some(100_000),
            own_cpu_us: Some(200_000),
            ticks: Some(Ticks { busy: 50, steal: 0, all: 200 }),
            ..Observed::default()
        };

        assert!(known.foreign_cpus().is_some_and(|cpus| (cpus - 0.2).abs() < 1e-9));
        assert_eq!(None, Observed { ticks: None, ..known }.foreign_cpus());
        assert_eq!(None, Observed { own_cpu_us: None, ..known }.foreign_cpus());
        assert_eq!(None, Observed { server_cpu_us: None, ..known }.foreign_cpus());
    }

    #[test]
    fn fairness_is_one_when_all_got_the_same() {
        let of = |rights: [u64; 3]| {
            let connections = rights.map(|right| OfConnection { right, sum_ns: 1_000 * right });
            Fairness::of(&connections, 1.0)
        };
        let (fair, unfair) = (of([5, 5, 5]), of([9, 0, 0]));

        assert_eq!((5, 5, 5), (fair.min, fair.median, fair.max));
        assert!((fair.jain - 1.0).abs() < 1e-9);
        assert!((unfair.jain - 1.0 / 3.0).abs() < 1e-9);
    }

    /// Four of sixteen wait for 20 ms, the others for 0.1 ms: of all answers these are one in 600.
    #[test]
    fn percentiles_over_connections() {
        let of = |right, us| OfConnection { right, sum_ns: right * us * 1_000 };
        let connections = [vec![of(100_000, 100); 12], vec![of(500, 20_000); 4]].concat();
        let fairness = Fairness::of(&connections, 385.0);

        assert_eq!((4, 2_000), (fairness.slow_connections, fairness.slow_right));
        assert!((fairness.mean_p50_us - 100.0).abs() < 1e-9);
        assert!((fairness.mean_p90_us - 20_000.0).abs() < 1e-9);
        assert_eq!(0, Fairness::of(&connections, 15_000.0).slow_connections);
        assert_eq!(0, Fairness::of(&[of(2, 20_000), of(9, 1)], 385.0).slow_connections);
        assert_eq!(1, Fairness::of(&[of(3, 20_000), of(9, 1)], 385.0).slow_connections);
    }
}
