//! The gates: reasons why the figures of a run must not be used.
//!
//! Each gate looks at a finished report. If a gate fails, its sentence is shown instead of the figures, because people
//! quote a figure without its footnote.

use std::f64::consts::PI;

use crate::counting::counts::Second;
use crate::machine::listen_queue::QueueOwner;
use crate::report::numbers::{float, ms};
use crate::report::reason::Reason;
use crate::report::whole::{MachineSide, Report, STEADY_SECONDS_MIN, can_drift, whole_seconds};

/// Tolerance for Little's law: the mean number of requests under way must equal rate times mean time, or the figures
/// lack some requests. Requests under way at either end lie only partly in the measurement, which matters if requests
/// take long; their part is known, and does not count as a deviation.
const LITTLE_OFF_MAX: f64 = 0.05;

/// Answers and seconds below which Little's law and steadiness say nothing.
const ANSWERS_MIN: u64 = 1_000;
const SECONDS_MIN: f64 = 1.0;

/// Share of busy time above which the generator measures its own speed, not the server's.
const BUSY_MAX: f64 = 0.9;

/// Time that the hypervisor may take, in percent, and CPUs that other programs may take.
const STEAL_PERCENT_MAX: f64 = 2.0;
const FOREIGN_CPUS_MAX: f64 = 0.1;

/// Part by which the rates of the first and the last third of the seconds may differ.
const DRIFT_MAX: f64 = 0.1;

/// A second is a stall if its right answers are fewer than this share of the median.
const STALL_SHARE: f64 = 0.5;

/// Deviation of random numbers that chance explains, in standard deviations: it is exceeded one time in 16,000.
const CHANCE: f64 = 4.0;

/// A server gets slower if the times of the last third of the seconds are more than this many times the times of the
/// first third, and exceed them by more than `SLOWER_US_MIN`, because smaller differences occur on any machine. This is
/// checked in open loops only; in a closed loop the rate falls.
const SLOWER_TIMES: f64 = 1.5;
const SLOWER_US_MIN: f64 = 1_000.0;

/// A time without an answer is a stall if it is longer than this, if answers usually take less than half of it, and if
/// answers come so often that chance does not explain such a gap: of `n` gaps of a random series, the longest exceeds
/// `ln n + 5` times the mean once in 150 runs.
const STALL_MS_MIN: u64 = 500;
const STALL_TIMES: f64 = 2.0;
const STALL_CHANCE: f64 = 5.0;

/// A request under way at the end is a stall if it is older than this, and older than `HUNG_TIMES` times the slowest
/// answer.
const HUNG_MS_MIN: u64 = 500;
const HUNG_TIMES: f64 = 2.0;

/// Part of the due requests that may have no answer, not counting the requests under way.
const MISSING_MAX: f64 = 0.05;

/// Part of the due requests that may, at the end, have waited for an answer for longer than p99: more would change p99.
/// A few are always allowed, because a machine that stops for a moment leaves a few.
const OVERDUE_MAX: f64 = 0.01;
const OVERDUE_MIN: u64 = 5;

type Gate = (&'static str, fn(&Report) -> Option<String>);

const GATES: [Gate; 11] = [
    ("count", count),
    ("answers", answers),
    ("hits", hits),
    ("own-limits", own_limits),
    ("little", little),
    ("generator", generator),
    ("listen-queue", listen_queue),
    ("steal", steal),
    ("foreign-load", foreign_load),
    ("steady", steady),
    ("late", late),
];

impl Report {
    /// Settles whether the figures may be used. If a gate of `accepted` fails, the figures are marked as disturbed, and
    /// may be used.
    pub(crate) fn judge(&mut self, accepted: &[&str]) {
        let is_accepted = |reason: &Reason| accepted.contains(&reason.gate);
        (self.disturbed, self.invalid) = reasons(self).into_iter().partition(is_accepted);
        let warnings = warnings(self);
        self.warnings.extend(warnings);
    }
}

/// Returns the reasons of all gates that fail.
fn reasons(report: &Report) -> Vec<Reason> {
    GATES.iter().filter_map(|(gate, look)| Some(Reason { gate, why: look(report)? })).collect()
}

/// The warnings: facts that the figures of a run do not tell.
const WARNINGS: [Gate; 7] = [
    ("fairness", unfair),
    ("drift", drifts),
    ("interim", interim),
    ("early", early),
    ("bare-lf", bare_lf),
    ("two-framings", two_framings),
    ("long-head", long_head),
];

/// A drift of an open loop above this is reported as a warning, although no gate fails yet.
const DRIFTS_TIMES: f64 = 1.1;

/// Returns all warnings that there are reasons for.
fn warnings(report: &Report) -> Vec<Reason> {
    WARNINGS.iter().filter_map(|(gate, look)| Some(Reason { gate, why: look(report)? })).collect()
}

/// Warns of slow connections: in a closed loop slow connections send few requests, so percentiles over requests show
/// only the other connections.
fn unfair(report: &Report) -> Option<String> {
    let fair = &report.fairness;
    let is_told = report.is_valid() && report.asked.keep_alive && fair.slow_connections > 0;
    is_told.then(|| {
        format!(
            "{} of {} connections waited far longer on average than p99 of all answers, which is {} ms: they got {:.1} % of \
             the answers, so that percentiles over requests hide them. Over connections, the mean time of an answer is \
             {} ms (p50), {} ms (p90), {} ms (max)",
            fair.slow_connections,
            report.asked.connections,
            ms(report.service.p99_us),
            100.0 * float(fair.slow_right) / float(report.counts.right.max(1)),
            ms(fair.mean_p50_us),
            ms(fair.mean_p90_us),
            ms(fair.mean_max_us)
        )
    })
}

/// Warns of answers that get slower, but not enough for a gate to fail; the rate of an open loop does not show this.
fn drifts(report: &Report) -> Option<String> {
    let seconds = whole_seconds(report);
    if !report.is_valid() || report.asked.rate.is_none() || !can_drift(report) {
        return None;
    }
    let [Some(first), Some(middle), Some(last)] = thirds(seconds).map(typical) else { return None };
    let chance_us = CHANCE * (first.variance + last.variance).sqrt();
    let (first, middle, last) = (first.mean_us, middle.mean_us, last.mean_us);
    let rises = first <= middle && middle <= last && last > DRIFTS_TIMES * first && last - first > chance_us;
    rises.then(|| {
        format!(
            "answers took {:.0} % longer in the last third than in the first ({} and {} ms), and the middle third lies \
             between: the server may get slower and slower",
            100.0 * (last / first - 1.0),
            ms(last),
            ms(first)
        )
    })
}

fn interim(report: &Report) -> Option<String> {
    let (all, most) = (report.interim_answers, report.interim_most);
    (all > 0).then(|| {
        format!("{all} interim answers (1xx) came before the final ones, at most {most} before one answer")
    })
}

fn early(report: &Report) -> Option<String> {
    let early = report.early_answers;
    (early > 0).then(|| {
        format!(
            "{early} answers began before their request was sent: the server does not answer what is asked"
        )
    })
}

fn bare_lf(report: &Report) -> Option<String> {
    let odd = report.odd_heads.bare_lf;
    (odd > 0).then(|| {
        format!(
            "{odd} answers have heads with lines that end in LF without CR: some clients accept them, others do not \
             (RFC 9112 section 2.2)"
        )
    })
}

fn two_framings(report: &Report) -> Option<String> {
    let odd = report.odd_heads.two_framings;
    (odd > 0).then(|| {
        format!(
            "{odd} answers have both Content-Length and Transfer-Encoding: this program reads them by the latter, as \
             RFC 9112 section 6.3 says; proxies may take them for an attack"
        )
    })
}

fn long_head(report: &Report) -> Option<String> {
    let (odd, longest) = (report.odd_heads.long, report.odd_heads.longest_bytes);
    (odd > 0).then(|| {
        format!("{odd} answers have heads of more than 64 KiB, the longest {longest} bytes: many clients refuse them")
    })
}

fn count(report: &Report) -> Option<String> {
    let (sent, outcomes) = (report.counts.sent, report.counts.outcomes());
    (sent != outcomes).then(|| {
        format!("{sent} requests were sent and {outcomes} are accounted for: a mistake in this program; please report it")
    })
}

fn answers(report: &Report) -> Option<String> {
    let (wrong, settled) = (report.counts.wrong(), report.counts.settled());
    if report.counts.right == 0 {
        return Some("there was no right answer".to_owned());
    }
    let slow: u64 = report.slow.iter().map(|side| side.counts.wrong).sum();
    if wrong == 0 && slow > 0 {
        return Some(format!("{slow} answers to slow clients were not right"));
    }
    (wrong > 0).then(|| format!("{wrong} of {settled} requests had no right answer"))
}

fn hits(report: &Report) -> Option<String> {
    let hits = report.hits?;
    if hits.seen < hits.right {
        return Some(format!(
            "{} answers came, and the application has seen {} requests: the others came out of a cache, or from \
             processes that do not count",
            hits.right, hits.seen
        ));
    }
    (hits.seen > hits.sent).then(|| {
        format!(
            "{} requests were sent, and the application has seen {}: something asks twice, or other clients ask, too",
            hits.sent, hits.seen
        )
    })
}

fn own_limits(report: &Report) -> Option<String> {
    let own = report.own_limits;
    let total = own.descriptors + own.ports;
    let (what, remedy) = if own.descriptors > 0 {
        ("descriptors", "raise the limit (ulimit -n), or ask for fewer connections")
    } else {
        ("local ports", "keep connections alive, or let the server close them")
    };
    (total > 0).then(|| format!("this program ran out of {what} {total} times: {remedy}"))
}

fn little(report: &Report) -> Option<String> {
    if report.counts.right < ANSWERS_MIN || report.seconds < SECONDS_MIN || report.counts.wrong() > 0 {
        return None;
    }
    let expected = report.rate * report.service.mean_us / 1e6 + report.in_flight_edges;
    let off = expected / report.in_flight_mean - 1.0;
    let times = (off.abs() > LITTLE_OFF_MAX).then(|| {
        format!(
            "{:.1} requests were under way on average, rate times time is {expected:.1}: the times do not include \
             all requests",
            report.in_flight_mean
        )
    });
    times.or_else(|| idle(report))
}

/// Tells if connections were idle. In a closed loop every connection always has its requests under way, however long
/// answers take. A run with a given number of requests is not checked, because towards its end some connections have no
/// request left.
fn idle(report: &Report) -> Option<String> {
    let asked = &report.asked;
    let all = f64::from(asked.connections) * f64::from(asked.pipeline);
    let is_idle = asked.rate.is_none()
        && asked.requests.is_none()
        && report.in_flight_mean < (1.0 - LITTLE_OFF_MAX) * all;
    is_idle.then(|| {
        format!(
            "{:.1} requests were under way on average, and there was always room for {all}: connections waited for \
             something other than answers",
            report.in_flight_mean
        )
    })
}

fn generator(report: &Report) -> Option<String> {
    let side = report.generator;
    if side.busy > BUSY_MAX {
        let (busy, waiting) = (100.0 * side.busy, 100.0 * side.waiting);
        return Some(format!(
            "the generator was {busy:.0} % busy, and measures itself; give it more threads (-t), or CPUs of its own: for \
             {waiting:.0} % of the time it waited for a CPU"
        ));
    }
    (side.ceiling_rate > 0.0 && report.rate > BUSY_MAX * side.ceiling_rate).then(|| {
        format!(
            "the generator is near its ceiling of {:.0} requests/s; give it more threads (-t)",
            side.ceiling_rate
        )
    })
}

fn listen_queue(report: &Report) -> Option<String> {
    let dropped = report.machine.listen_overflows.max(report.machine.listen_drops)?;
    let (whose, doubt) = match report.machine.listen_queues_of {
        QueueOwner::Server => ("the server's", ""),
        QueueOwner::Anyone => {
            ("a", "; it may be that of another program, which this machine does not tell apart")
        }
    };
    (dropped > 0).then(|| {
        format!(
            "{whose} listen queue was full: the kernel dropped {dropped} packets of new connections, which had to try \
             again a second later{doubt}"
        )
    })
}

/// Whether other programs or virtual machines are known to use the machine.
pub(crate) fn is_disturbed(machine: &MachineSide) -> bool {
    machine.steal_percent.is_some_and(|percent| percent > STEAL_PERCENT_MAX)
        || machine.foreign_cpus.is_some_and(|cpus| cpus > FOREIGN_CPUS_MAX)
}

fn steal(report: &Report) -> Option<String> {
    let steal = report.machine.steal_percent?;
    (steal > STEAL_PERCENT_MAX)
        .then(|| format!("the hypervisor gave {steal:.1} % of the CPU time to other machines"))
}

fn foreign_load(report: &Report) -> Option<String> {
    let foreign = report.machine.foreign_cpus.filter(|cpus| *cpus > FOREIGN_CPUS_MAX)?;
    Some(format!(
        "other programs kept {foreign:.2} CPUs busy, or processes of the server that have ended without being waited for"
    ))
}

fn steady(report: &Report) -> Option<String> {
    let (oldest_ms, slowest_ms) = (report.oldest_in_flight_ms, report.service.max_us / 1e3);
    if oldest_ms > HUNG_MS_MIN && float(oldest_ms) > HUNG_TIMES * slowest_ms {
        return Some(format!(
            "at the end a request had waited for {oldest_ms} ms, and the slowest answer took {slowest_ms:.0} ms"
        ));
    }
    if let Some(why) = stall(report) {
        return Some(why);
    }
    let seconds = whole_seconds(report);
    if seconds.len() < STEADY_SECONDS_MIN {
        return None;
    }
    let rates: Vec<f64> = seconds.iter().map(|second| float(second.right)).collect();
    let middle = median(&rates);
    let is_stall = |rate: &f64| *rate < STALL_SHARE * middle && middle - rate > by_chance(report, middle);
    if let Some(second) = rates.iter().position(is_stall) {
        let rate = rates[second];
        return Some(format!(
            "in second {} there were {rate:.0} right answers, in the others {middle:.0}",
            second + 1
        ));
    }
    let [first, _, last] = thirds(&rates).map(median);
    // The median of many random numbers varies less than a single number.
    let of_medians = by_chance(report, middle) * (PI / float(rates.len().div_ceil(3) as u64)).sqrt();
    let has_drifted = (last / first - 1.0).abs() > DRIFT_MAX && (last - first).abs() > of_medians;
    let drift = has_drifted
        .then(|| format!("no steady state: {first:.0} requests/s in the first third, {last:.0} in the last"));
    drift.or_else(|| slower(report, seconds))
}

/// Returns by how much the number of answers in a second may differ from the usual number by chance. The number of
/// random arrivals varies by its square root; constant arrivals vary only by which second an answer at the boundary
/// falls into.
fn by_chance(report: &Report, usual: f64) -> f64 {
    if report.asked.load == "poisson" { CHANCE * usual.sqrt() } else { 2.0 }
}

/// Finds a time without a right answer that is explained neither by slow answers nor by chance.
fn stall(report: &Report) -> Option<String> {
    if report.counts.right == 0 {
        // Another gate says that there is no right answer.
        return None;
    }
    let lull_ms = report.longest_lull_ms;
    let usual_ms = STALL_TIMES * report.usual_us / 1e3;
    let by_chance_ms = 1e3 / report.rate * (float(report.counts.right).ln() + STALL_CHANCE);
    (lull_ms > STALL_MS_MIN && float(lull_ms) > usual_ms.max(by_chance_ms)).then(|| {
        format!(
            "for {lull_ms} ms there was no right answer, and nine of ten others take less than {:.0} ms",
            (report.usual_us / 1e3).ceil()
        )
    })
}

/// Tells whether answers come at the rate at which they are due, but later and later.
fn slower(report: &Report, seconds: &[Second]) -> Option<String> {
    report.asked.rate?;
    let [Some(first), Some(middle), Some(last)] = thirds(seconds).map(typical) else { return None };
    let goes_back = middle.mean_us > SLOWER_TIMES * last.mean_us;
    let chance_us = CHANCE * (first.variance + last.variance).sqrt();
    let (first, last) = (first.mean_us, last.mean_us);
    let is_slower = last > SLOWER_TIMES * first && last - first > chance_us.max(SLOWER_US_MIN);
    (is_slower && !goes_back).then(|| {
        format!(
            "no steady state: answers took {:.1} ms in the first third, and {:.1} ms in the last: the server gets \
             slower, or does not keep up",
            first / 1e3,
            last / 1e3
        )
    })
}

/// The mean time of a second's answers, and its variance.
#[derive(Clone, Copy, Debug)]
struct Mean {
    mean_us: f64,
    /// The variance of the mean, not of the times: in µs².
    variance: f64,
}

impl Mean {
    /// Returns the mean of a second with several answers: one time alone does not say how much the times differ.
    fn of(second: &Second) -> Option<Self> {
        let count = float(second.right);
        let mean_us = float(second.sum_us) / count;
        let variance = (second.squares / count - mean_us.powi(2)).max(0.0) / (count - 1.0);
        (second.right > 1).then_some(Self { mean_us, variance })
    }
}

/// Returns the second whose mean time is the median; of two middle seconds the faster one, because disturbances only
/// make a server slower.
fn typical(seconds: &[Second]) -> Option<Mean> {
    let mut means: Vec<Mean> = seconds.iter().filter_map(Mean::of).collect();
    means.sort_by(|one, other| one.mean_us.total_cmp(&other.mean_us));
    means.get(means.len().saturating_sub(1) / 2).copied()
}

/// Returns the first, the middle and the last third.
fn thirds<T>(all: &[T]) -> [&[T]; 3] {
    let third = all.len().div_ceil(3);
    let from = (all.len() - third) / 2;
    [&all[..third], &all[from..from + third], &all[all.len() - third..]]
}

fn late(report: &Report) -> Option<String> {
    let (never, sent) = (report.never_sent, report.counts.sent);
    // At the very end, one request for each connection may be late by chance.
    if never > u64::from(report.asked.connections) {
        return Some(format!(
            "{never} requests were due and found no connection free, besides the {sent} that were sent: the server \
             does not keep up with this rate, or there are too few connections (-c)"
        ));
    }
    if let Some(why) = overdue(report) {
        return Some(why);
    }
    let rate = report.asked.rate.filter(|_| report.counts.wrong() == 0)?;
    let (response_us, service_us) = (report.response?.mean_us, report.service.mean_us);
    let (due, missing) = if let Some(requests) = report.asked.requests {
        // After the last request no further one is due, however long its answer takes. If requests are sent later and
        // later, the mean wait for a connection is half of the wait of the last request.
        (float(requests), rate * 2.0 * (response_us - service_us) / 1e6)
    } else {
        // A request under way is not missing, unless it has been under way for longer than answers usually take.
        let due = rate * report.seconds;
        (due, due - float(report.counts.right) - rate * response_us / 1e6)
    };
    // The number of random arrivals varies by its square root.
    (missing > (MISSING_MAX * due).max(4.0 * due.sqrt())).then(|| {
        format!(
            "{rate:.0} requests/s were due, and {:.0} were answered: the server does not keep up",
            report.rate
        )
    })
}

/// Finds requests without an answer that are so old and so many that they would change the reported times.
fn overdue(report: &Report) -> Option<String> {
    let overdue = report.overdue.filter(|_| report.counts.right > 0)?;
    let due = report.counts.sent + report.never_sent;
    let is_much = overdue.requests >= OVERDUE_MIN && float(overdue.requests) > OVERDUE_MAX * float(due);
    is_much.then(|| {
        format!(
            "at the end {} of {due} requests had been due for longer than p99, the oldest for {} ms, and had no answer: \
             the times do not include them",
            overdue.requests, overdue.oldest_ms
        )
    })
}

fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::counting::counts::{Counts, OddHeads, OwnLimits};
    use crate::counting::hits::Hits;
    use crate::counting::latency::{Latency, Times};
    use crate::generator::slow_side::{SlowCounts, SlowSide};
    use crate::report::whole::{Asked, Fairness, GeneratorSide, Overdue};

    /// A case: its name, a change to a report, and the gates that then fail.
    type Case = (&'static str, fn(&mut Report), &'static [&'static str]);

    /// A case for each way to fail, and one for a report that is just good enough.
    const CASES: &[Case] = &[
        ("good", |_| {}, &[]),
        ("one lost", |report| report.counts.sent += 1, &["count"]),
        ("one wrong status", |report| add_wrong(report, |counts| &mut counts.wrong_status), &["answers"]),
        ("one wrong body", |report| add_wrong(report, |counts| &mut counts.wrong_body), &["answers"]),
        ("one cut", |report| add_wrong(report, |counts| &mut counts.connection_error), &["answers"]),
        ("one given up", |report| add_wrong(report, |counts| &mut counts.timeout), &["answers"]),
        ("none right", |report| report.counts = Counts::default(), &["answers"]),
        ("slow clients", |report| report.slow = vec![slow(1, 0)], &["answers"]),
        ("slow clients cut off", |report| report.slow = vec![slow(0, 1)], &[]),
        ("all hits", |report| report.hits = hits(6_000), &[]),
        ("hits under way", |report| report.hits = hits(6_064), &[]),
        ("too few hits", |report| report.hits = hits(5_999), &["hits"]),
        ("too many hits", |report| report.hits = hits(6_065), &["hits"]),
        ("descriptors", |report| report.own_limits.descriptors = 1, &["own-limits"]),
        ("ports", |report| report.own_limits.ports = 1, &["own-limits"]),
        ("times too short", |report| report.service.mean_us = 60_000.0, &["little"]),
        ("times too long", |report| report.service.mean_us = 68_000.0, &["little"]),
        ("times within a twentieth", |report| report.service.mean_us = 62_000.0, &[]),
        ("edges", |report| (report.in_flight_mean, report.in_flight_edges) = (72.0, 8.0), &[]),
        ("no edges", |report| report.in_flight_mean = 72.0, &["little"]),
        ("few answers", |report| few_answers(report, 999), &[]),
        ("enough answers", |report| few_answers(report, 1_000), &["little"]),
        ("busy", |report| report.generator.busy = 0.91, &["generator"]),
        ("half busy", |report| report.generator.busy = 0.89, &[]),
        ("at its ceiling", |report| report.generator.ceiling_rate = 1_100.0, &["generator"]),
        ("below its ceiling", |report| report.generator.ceiling_rate = 1_120.0, &[]),
        ("no ceiling", |report| report.generator.ceiling_rate = 0.0, &[]),
        ("overflows", |report| report.machine.listen_overflows = Some(1), &["listen-queue"]),
        ("anyone's overflows", |report| anyones_overflows(report, 1), &["listen-queue"]),
        ("none of anyone's", |report| anyones_overflows(report, 0), &[]),
        ("drops", |report| report.machine.listen_drops = Some(1), &["listen-queue"]),
        ("steal", |report| report.machine.steal_percent = Some(2.1), &["steal"]),
        ("little steal", |report| report.machine.steal_percent = Some(1.9), &[]),
        ("steal unknown", |report| report.machine.steal_percent = None, &[]),
        ("others", |report| report.machine.foreign_cpus = Some(0.11), &["foreign-load"]),
        ("few others", |report| report.machine.foreign_cpus = Some(0.09), &[]),
        ("others unknown", |report| report.machine.foreign_cpus = None, &[]),
        ("stall", |report| report.series[2].right = 499, &["steady"]),
        ("half a stall", |report| report.series[2].right = 501, &[]),
        ("stall at the end", |report| report.series[5].right = 0, &["steady"]),
        ("part of a second", |report| report.series.push(Second::default()), &[]),
        ("drift", |report| rates(report, &[1120, 1110, 1000, 1000, 1000, 1000]), &["steady"]),
        ("little drift", |report| rates(report, &[1080, 1080, 1000, 1000, 1000, 1000]), &[]),
        (
            "drift of random arrivals",
            |report| random(report, &[1250, 1240, 1000, 1000, 1000, 1000]),
            &["steady"],
        ),
        ("as random arrivals are", |report| random(report, &[1120, 1110, 1000, 1000, 1000, 1000]), &[]),
        ("few random arrivals", |report| random(report, &[12, 4, 9, 11, 8, 16]), &[]),
        ("stall of random arrivals", |report| random(report, &[100, 100, 49, 100, 100, 100]), &["steady"]),
        ("one of a few", |report| rates(report, &[4, 3, 3, 4, 3, 4]), &[]),
        ("few seconds", |report| (report.seconds, report.series[2].right) = (4.9, 0), &[]),
        ("lull", |report| report.longest_lull_ms = 501, &["steady"]),
        ("short lull", |report| report.longest_lull_ms = 500, &[]),
        ("lull in few seconds", |report| (report.seconds, report.longest_lull_ms) = (1.0, 501), &["steady"]),
        ("lull of slow answers", |report| lull(report, 501, 251_000.0), &[]),
        ("lull by chance", |report| (report.rate, report.longest_lull_ms) = (20.0, 600), &["little"]),
        ("slower and slower", |report| times_of_open_loop(report, &[10, 10, 13, 14, 16, 16]), &["steady"]),
        ("a little slower", |report| times_of_open_loop(report, &[10, 11, 12, 13, 14, 14]), &[]),
        ("a step", |report| times_of_open_loop(report, &[10, 10, 9, 9, 80, 90]), &["steady"]),
        ("an early step", |report| times_of_open_loop(report, &[10, 10, 90, 90, 89, 88]), &["steady"]),
        ("a step that chance may make", |report| times_by_chance(report, &[10, 10, 11, 11, 80, 90]), &[]),
        ("slower in noise", |report| times_of_open_loop(report, &[10, 40, 90, 12, 16, 40]), &["steady"]),
        ("one slow second", |report| times_of_open_loop(report, &[10, 10, 10, 10, 10, 90]), &[]),
        ("slow in between", |report| times_of_open_loop(report, &[10, 10, 30, 30, 16, 16]), &[]),
        ("unevenly slow", |report| times_of_open_loop(report, &[16, 10, 16, 10, 16, 10]), &[]),
        (
            "slower within a millisecond",
            |report| in_microseconds(report, &[100, 100, 400, 400, 900, 900]),
            &[],
        ),
        ("hung", |report| report.oldest_in_flight_ms = 501, &["steady"]),
        ("soon", |report| report.oldest_in_flight_ms = 499, &[]),
        ("slow as ever", |report| slow_answers(report, 600.0, 1_100), &[]),
        ("slower than ever", |report| slow_answers(report, 600.0, 1_300), &["steady"]),
        ("late", |report| report.never_sent = 65, &["late"]),
        ("late at the end", |report| report.never_sent = 64, &[]),
        ("overdue", |report| overdue_ones(report, 61), &["late"]),
        ("a hundredth overdue", |report| overdue_ones(report, 60), &[]),
        ("a few overdue", |report| few_overdue(report, 4), &[]),
        ("not a few overdue", |report| few_overdue(report, 5), &["late"]),
        ("rate not reached", |report| offered(report, 1_080.0), &["late"]),
        ("number at its rate", |report| numbered(report, 1_200.0, 64_000.0), &[]),
        ("number not at its rate", |report| numbered(report, 1_200.0, 264_000.0), &["late"]),
        ("rate within a twentieth", |report| offered(report, 1_060.0), &[]),
        ("no request on some connections", |report| report.asked.connections = 68, &["little"]),
        ("a moment without", |report| report.asked.connections = 67, &[]),
        ("requests of a number", |report| few_requests(report, 68), &[]),
        ("several at once", |report| report.asked.pipeline = 2, &["little"]),
    ];

    #[test]
    fn every_gate_fires_when_it_must_and_not_else() {
        for (name, change, expected) in CASES {
            let mut report = good();
            change(&mut report);
            report.judge(&[]);
            let failed: Vec<&str> = report.invalid.iter().map(|reason| reason.gate).collect();

            assert_eq!(*expected, failed, "{name}");
        }
        let fired = |gate| CASES.iter().any(|(_, _, gates)| gates.contains(&gate));
        assert!(GATES.iter().all(|(gate, _)| fired(*gate)), "a gate has no case");
    }

    /// A gate that the user accepts must mark the figures as disturbed, and every other gate must still make them
    /// invalid.
    #[test]
    fn what_is_accepted_disturbs() {
        let mut report = good();
        (report.machine.foreign_cpus, report.machine.steal_percent) = (Some(0.3), Some(2.5));
        report.judge(&["foreign-load"]);
        let gates = |reasons: &[Reason]| reasons.iter().map(|reason| reason.gate).collect::<Vec<_>>();

        assert_eq!((vec!["foreign-load"], vec!["steal"]), (gates(&report.disturbed), gates(&report.invalid)));
        report.judge(&["foreign-load", "steal"]);
        assert!(report.is_valid());
        report.machine = good().machine;
        report.judge(&["foreign-load", "steal"]);
        assert_eq!((0, true), (report.disturbed.len(), report.is_valid()));
    }

    /// A case for each warning, and cases without one.
    const WARNED: &[Case] = &[
        ("good", |_| {}, &[]),
        ("slow connections", |report| report.fairness.slow_connections = 4, &["fairness"]),
        ("a connection each", |report| one_each(report), &[]),
        ("slow, and invalid", |report| (report.fairness.slow_connections, report.counts.sent) = (4, 1), &[]),
        ("interim", |report| report.interim_answers = 1, &["interim"]),
        ("early", |report| report.early_answers = 1, &["early"]),
        ("bare LF", |report| report.odd_heads.bare_lf = 1, &["bare-lf"]),
        ("two framings", |report| report.odd_heads.two_framings = 1, &["two-framings"]),
        ("long head", |report| report.odd_heads.long = 1, &["long-head"]),
        ("long enough", |report| report.odd_heads.longest_bytes = 1 << 16, &[]),
        ("drifts", |report| times_of_open_loop(report, &[20, 20, 22, 22, 23, 23]), &["drift"]),
        ("hardly", |report| times_of_open_loop(report, &[20, 20, 21, 21, 21, 21]), &[]),
        ("to and fro", |report| times_of_open_loop(report, &[20, 20, 25, 25, 23, 23]), &[]),
        ("by chance", |report| times_by_chance(report, &[20, 20, 22, 22, 23, 23]), &[]),
    ];

    #[test]
    fn what_is_warned_of() {
        for (name, change, expected) in WARNED {
            let mut report = good();
            change(&mut report);
            report.judge(&[]);

            assert_eq!(
                *expected,
                report.warnings.iter().map(|reason| reason.gate).collect::<Vec<_>>(),
                "{name}"
            );
        }
    }

    fn one_each(report: &mut Report) {
        (report.asked.keep_alive, report.fairness.slow_connections) = (false, 4);
    }

    /// Sets the number of answers of each second, for requests that were due at random times.
    fn random(report: &mut Report, right: &[u64]) {
        report.asked.load = "poisson";
        rates(report, right);
    }

    /// Counts one of the requests that were under way as wrong instead.
    fn add_wrong(report: &mut Report, count: fn(&mut Counts) -> &mut u64) {
        report.counts.in_flight -= 1;
        *count(&mut report.counts) += 1;
    }

    fn slow(wrong: u64, cut_off: u64) -> SlowSide {
        SlowSide {
            kind: "readers",
            clients: 1,
            bytes_per_second: 1,
            counts: SlowCounts { begun: 1, wrong, cut_off, ..SlowCounts::default() },
            right_times: times(0.0),
            cut_off_times: times(0.0),
            oldest_ms: 0,
        }
    }

    #[expect(clippy::unnecessary_wraps, reason = "as the report has it")]
    fn hits(seen: u64) -> Option<Hits> {
        Some(Hits { seen, right: 6_000, sent: 6_064, processes: 1 })
    }

    /// Sets the number of answers, and a mean time that contradicts Little's law.
    fn few_answers(report: &mut Report, right: u64) {
        (report.counts.right, report.counts.sent) = (right, right + 64);
        report.service.mean_us = 1.0;
    }

    fn anyones_overflows(report: &mut Report, overflows: u64) {
        (report.machine.listen_overflows, report.machine.listen_queues_of) =
            (Some(overflows), QueueOwner::Anyone);
    }

    /// The message must blame the server only if the server's own queues were counted.
    #[test]
    fn whose_queue_was_full() {
        let mut report = good();
        report.machine.listen_overflows = Some(2);

        assert_eq!(
            Some(
                "the server's listen queue was full: the kernel dropped 2 packets of new connections, which had to try \
                 again a second later"
            ),
            listen_queue(&report).as_deref()
        );
        anyones_overflows(&mut report, 2);
        let why = listen_queue(&report).unwrap_or_default();

        assert!(why.starts_with("a listen queue was full: "), "{why}");
        assert!(why.contains("another program"), "{why}");
    }

    fn rates(report: &mut Report, rates: &[u64]) {
        report.series = rates.iter().map(|right| second(*right)).collect();
    }

    fn slow_answers(report: &mut Report, max_ms: f64, oldest_ms: u64) {
        (report.service.max_us, report.oldest_in_flight_ms) = (max_ms * 1e3, oldest_ms);
    }

    fn second(right: u64) -> Second {
        Second { right, max_us: 64_000, sum_us: 64_000 * right, ..Second::default() }
    }

    fn lull(report: &mut Report, ms: u64, usual_us: f64) {
        (report.longest_lull_ms, report.usual_us) = (ms, usual_us);
    }

    fn overdue_ones(report: &mut Report, requests: u64) {
        report.overdue = Some(Overdue { requests, oldest_ms: 430 });
    }

    /// Makes a report of one second in which this many of 80 requests are overdue.
    fn few_overdue(report: &mut Report, requests: u64) {
        overdue_ones(report, requests);
        (report.seconds, report.rate) = (1.0, 75.0);
        report.counts = Counts { sent: 80, right: 75, in_flight: 5, ..Counts::default() };
        report.series = vec![second(75)];
        report.asked.connections = 64;
    }

    /// Sets a few answers in each second, which take half as long as these times, or one and a half times as long.
    fn times_by_chance(report: &mut Report, ms: &[u64]) {
        times_of_open_loop(report, ms);
        report.counts = Counts { sent: 76, right: 12, in_flight: 64, ..Counts::default() };
        report.rate = 2.0;
        for (second, ms) in report.series.iter_mut().zip(ms) {
            (second.right, second.sum_us) = (2, 2_000 * ms);
            second.squares = 2.0 * 1.25 * float(1_000 * ms).powi(2);
        }
        offered(report, 2.0);
    }

    fn offered(report: &mut Report, rate: f64) {
        (report.asked.rate, report.response) = (Some(rate), Some(report.service));
    }

    /// Sets a rate, a number of requests, and their mean time from when they were due.
    fn numbered(report: &mut Report, rate: f64, response_us: f64) {
        offered(report, rate);
        (report.asked.requests, report.response) = (Some(6_000), Some(times(response_us)));
    }

    fn few_requests(report: &mut Report, connections: u32) {
        (report.asked.requests, report.asked.connections) = (Some(6_000), connections);
    }

    /// Sets the mean times of the seconds, in milliseconds.
    fn times_of_open_loop(report: &mut Report, ms: &[u64]) {
        in_microseconds(report, &ms.iter().map(|ms| 1_000 * ms).collect::<Vec<_>>());
    }

    fn in_microseconds(report: &mut Report, us: &[u64]) {
        offered(report, 1_000.0);
        report.series.iter_mut().zip(us).for_each(|(second, us)| second.sum_us = us * second.right);
    }

    fn times(us: f64) -> Latency {
        Latency { count: 6_000, mean_us: us, p50_us: us, max_us: us, ..Times::new().summary() }
    }

    /// Returns the report of six seconds with 64 connections; each request is answered after 64 ms.
    pub(crate) fn good() -> Report {
        Report {
            schema: crate::report::whole::SCHEMA,
            version: "",
            invalid: Vec::new(),
            disturbed: Vec::new(),
            warnings: Vec::new(),
            interrupted: false,
            run: crate::report::whole::Run::default(),
            asked: asked(),
            seconds: 6.0,
            rate: 1_000.0,
            counts: Counts { sent: 6_064, right: 6_000, in_flight: 64, ..Counts::default() },
            in_time: None,
            statuses: BTreeMap::from([(200, 6_000)]),
            errors: BTreeMap::new(),
            first_wrong: None,
            interim_answers: 0,
            interim_most: 0,
            odd_heads: OddHeads::default(),
            early_answers: 0,
            own_limits: OwnLimits::default(),
            response: None,
            service: times(64_000.0),
            first_byte: times(64_000.0),
            connect: None,
            connect_before: None,
            curve: Vec::new(),
            histogram: Vec::new(),
            urls: Vec::new(),
            times: Times::new(),
            head_bytes: 0,
            body_bytes: 0,
            body_bytes_per_second: 0.0,
            compared: 6_000,
            connections_made: 0,
            fairness: Fairness::default(),
            in_flight_mean: 64.0,
            in_flight_edges: 0.0,
            oldest_in_flight_ms: 64,
            oldest_ms: 64,
            never_sent: 0,
            overdue: None,
            longest_lull_ms: 64,
            usual_us: 64_000.0,
            series: vec![second(1_000); 6],
            hits: None,
            slow: Vec::new(),
            generator: GeneratorSide { busy: 0.5, waiting: 0.0, ceiling_rate: 100_000.0 },
            server: None,
            machine: MachineSide {
                steal_percent: Some(0.0),
                foreign_cpus: Some(0.0),
                listen_overflows: Some(0),
                listen_drops: Some(0),
                listen_queues_of: QueueOwner::Server,
            },
        }
    }

    fn asked() -> Asked {
        Asked {
            url: String::new(),
            method: String::new(),
            connections: 64,
            threads: 1,
            keep_alive: true,
            pipeline: 1,
            load: "closed",
            rate: None,
            requests: None,
            duration_ms: Some(6_000),
            seed: None,
            warm_up_ms: 0,
            timeout_ms: 0,
            deadline_ms: None,
            status: 200,
            answer_head_bytes: 0,
            answer_body_bytes: 0,
            checked: "",
            sample: 1,
        }
    }
}
