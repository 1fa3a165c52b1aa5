//! The gates: reasons why the figures of a run must not be used.
//!
//! Each gate looks at a finished report. One that fails puts its sentence in the place of the figures, because a
//! figure with a footnote is quoted without it.

use serde::Serialize;

use crate::report::{Report, float};

/// Why the figures must not be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// Which gate it is, in a word.
    pub gate: &'static str,
    /// What was seen, and what it means.
    pub why: String,
}

/// Little's law: the requests under way must be rate times time, or some are not in the figures.
const LITTLE_OFF_MAX: f64 = 0.05;

/// Below this many answers or seconds Little's law and steadiness say nothing.
const ANSWERS_MIN: u64 = 1_000;
const SECONDS_MIN: f64 = 1.0;

/// From this share of its time on, the generator measures itself.
const BUSY_MAX: f64 = 0.9;

/// Time that the hypervisor may take, in percent; and CPUs that other programs may.
const STEAL_PERCENT_MAX: f64 = 2.0;
const FOREIGN_CPUS_MAX: f64 = 0.1;

/// How far the first and the last third of the seconds may differ.
const DRIFT_MAX: f64 = 0.1;

/// A second with less than this share of the median is a stall.
const STALL_SHARE: f64 = 0.5;

/// Seconds below which nothing is said of steadiness.
const STEADY_SECONDS_MIN: usize = 5;

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

/// All gates that fail.
pub(crate) fn reasons(report: &Report) -> Vec<Reason> {
    GATES.iter().filter_map(|(gate, look)| Some(Reason { gate, why: look(report)? })).collect()
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
            "{} requests were sent, and the application has seen {}: something asks twice, or others ask, too",
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
    let expected = report.rate * report.service.mean_us / 1e6;
    let off = expected / report.in_flight_mean - 1.0;
    (off.abs() > LITTLE_OFF_MAX).then(|| {
        format!(
            "{:.1} requests were under way on average, rate times time is {expected:.1}: the times are not those of \
             all requests",
            report.in_flight_mean
        )
    })
}

fn generator(report: &Report) -> Option<String> {
    let side = report.generator;
    if side.busy > BUSY_MAX {
        let busy = 100.0 * side.busy;
        return Some(format!(
            "the generator was {busy:.0} % busy, and measures itself; give it more threads (-t)"
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
    let (overflows, drops) = (report.machine.listen_overflows, report.machine.listen_drops);
    (overflows + drops > 0).then(|| {
        format!(
            "{} connections found a listen queue full, and had to try again a second later",
            overflows.max(drops)
        )
    })
}

fn steal(report: &Report) -> Option<String> {
    let steal = report.machine.steal_percent;
    (steal > STEAL_PERCENT_MAX).then(|| format!("the hypervisor gave {steal:.1} % of the CPU time to others"))
}

fn foreign_load(report: &Report) -> Option<String> {
    let foreign = report.machine.foreign_cpus.filter(|cpus| *cpus > FOREIGN_CPUS_MAX)?;
    Some(format!("other programs kept {foreign:.2} CPUs busy"))
}

fn steady(report: &Report) -> Option<String> {
    // The last second is not a whole one.
    let whole = report.series.len().saturating_sub(1);
    let rates: Vec<f64> = report.series[..whole].iter().map(|second| float(second.right)).collect();
    if rates.len() < STEADY_SECONDS_MIN {
        return None;
    }
    let middle = median(&rates);
    if let Some(second) = rates.iter().position(|rate| *rate < STALL_SHARE * middle) {
        let rate = rates[second];
        return Some(format!(
            "in second {} there were {rate:.0} right answers, in others {middle:.0}",
            second + 1
        ));
    }
    let third = rates.len().div_ceil(3);
    let (first, last) = (median(&rates[..third]), median(&rates[rates.len() - third..]));
    ((last / first - 1.0).abs() > DRIFT_MAX)
        .then(|| format!("no steady state: {first:.0} requests/s in the first third, {last:.0} in the last"))
}

fn late(report: &Report) -> Option<String> {
    let (never, sent) = (report.never_sent, report.counts.sent);
    // One connection's worth may be late by chance at the very end.
    (never > u64::from(report.asked.connections)).then(|| {
        format!("{never} requests were due and found no connection free, besides the {sent} that were sent: the server \
                 does not keep up with this rate, or there are too few connections (-c)")
    })
}

fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}
