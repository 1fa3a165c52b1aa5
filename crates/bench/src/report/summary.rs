//! The report of a run, from what was counted, learnt and observed.

use crate::counting::answer::SAMPLE;
use crate::counting::counts::{Counts, OfConnection, OfUrl};
use crate::counting::latency::Times;
use crate::counting::tally::Tally;
use crate::generator::learnt::Learnt;
use crate::machine::listen_queue::Dropped;
use crate::machine::others::{self, TICK_US, Ticks};
use crate::machine::server_side::Used;
use crate::plan::{Check, Load, Plan, Until};
use crate::report::numbers::float;
use crate::report::reason::Reason;
use crate::report::whole::{
    Asked, Fairness, GeneratorSide, MachineSide, Overdue, Report, Run, SCHEMA, ServerSide, UrlSide,
};

/// A connection counts as slow if the mean time of its answers is more than this many times the p99 of all answers. A
/// connection with fewer answers than the minimum does not count, because chance decides its mean time.
const SLOW_TIMES: f64 = 2.0;
const SLOW_ANSWERS_MIN: u64 = 3;

/// Observations made while the load was on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Observed {
    /// The length of the measurement.
    pub(crate) elapsed_ns: u64,
    /// Whether the user ended the measurement early.
    pub(crate) interrupted: bool,
    /// Time between the two looks at the server and the machine.
    pub(crate) watched_ns: u64,
    pub(crate) ceiling_rate: f64,
    /// CPU time of the server's processes; `None`, like the fields that follow, if it could not be read.
    pub(crate) server_cpu_us: Option<u64>,
    /// The server's processes at the end, if this user may see them.
    pub(crate) server: Option<Used>,
    pub(crate) own_cpu_us: Option<u64>,
    pub(crate) ticks: Option<Ticks>,
    pub(crate) dropped: Option<Dropped>,
    /// Whether the server may use the CPUs of this program. It is assumed if the server is on this machine and this
    /// user may not see it.
    pub(crate) shares_cpus: bool,
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
            run: Run { machine: others::described(), ..Run::default() },
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
            urls: tally.by_url.iter().zip(learnt).map(|(of, learnt)| UrlSide::new(learnt, of)).collect(),
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
            odd_heads: tally.odd_heads,
        }
    }
}

impl Asked {
    fn new(plan: &Plan, learnt: &Learnt) -> Self {
        let (load, rate) = (plan.load.word(), plan.load.rate());
        let (requests, duration_ms) = match plan.until {
            Until::Duration(ms) => (None, Some(ms)),
            Until::Requests(count) => (Some(count), None),
        };
        let is_random = load == "poisson" || plan.url_list.len() > 1 || plan.check == Check::Sample;
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
    fn new(learnt: &Learnt, of: &OfUrl) -> Self {
        let Learnt { request, answer, .. } = learnt;
        Self {
            url: request.url.to_string(),
            method: request.method.clone(),
            weight: request.weight,
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
    /// Compares connections that have many requests each. `p99_us` is the p99 of all answers.
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
    /// If the generator and the server share CPUs, each waits while the other runs: the generator's waiting time then
    /// does not count as its own work.
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
            // The time of each process may be wrong by one tick, as often too high as too low.
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
    /// Returns the CPUs that were busy with neither this program nor the server, if all three are known.
    fn foreign_cpus(&self) -> Option<f64> {
        let busy_us = float(self.ticks?.busy * TICK_US);
        let known_us = float(self.own_cpu_us? + self.server_cpu_us?);
        Some((busy_us - known_us).max(0.0) * 1e3 / float(self.watched_ns.max(1)))
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

/// Returns the warnings from the heads of the first answers, each kind once.
fn of_heads(learnt: &[Learnt]) -> Vec<Reason> {
    let mut told: Vec<Reason> = Vec::new();
    for reason in learnt.iter().flat_map(|learnt| &learnt.warnings) {
        if !told.iter().any(|known| known.gate == reason.gate) {
            told.push(reason.clone());
        }
    }
    told
}

/// Returns the time that nine of ten answers do not exceed. Answers that a stretch of `lull_ns` without any answer may
/// have held up do not count: in a closed loop as many as can be under way at once, in an open loop as many as were due
/// in that stretch.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// If a count could not be read, the foreign CPUs must be unknown: the ticks since the start of the machine are not
    /// the ticks of a run.
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

    /// Four of sixteen connections wait for 20 ms, the others for 0.1 ms: the slow connections have only one in 600 of
    /// all answers, and must still be found.
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
