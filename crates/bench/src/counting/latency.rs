//! Durations: histograms in nanoseconds, and the figures that reports have of them.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// The longest time that a histogram distinguishes: an hour. Longer times count as an hour.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// Digits of a histogram: with three, a percentile is right within a thousandth.
const DIGITS: u8 = 3;

/// Digits if there may be a thousand histograms: with two, a percentile is right within a hundredth, and a histogram
/// takes an eighth of the memory.
const DIGITS_COARSE: u8 = 2;

/// Points of a curve for each halving of the distance to 100 %.
const QUANTILE_STEPS: u32 = 5;

/// Times of one kind.
#[derive(Clone, Debug)]
pub(crate) struct Times(Histogram<u64>);

impl Times {
    pub(crate) fn new() -> Self {
        Self::within(DIGITS)
    }

    /// Makes a histogram that takes less memory, because there may be many.
    pub(crate) fn coarse() -> Self {
        Self::within(DIGITS_COARSE)
    }

    fn within(digits: u8) -> Self {
        // The bounds are constants, and a test shows that they are valid.
        #[expect(clippy::expect_used, reason = "constants")]
        Self(Histogram::new_with_bounds(1, LONGEST_NS, digits).expect("the bounds are in range"))
    }

    /// Adds one time in nanoseconds.
    #[inline]
    pub(crate) fn add(&mut self, ns: u64) {
        self.0.saturating_record(ns);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        // Both histograms have the same bounds, so adding cannot fail.
        let _ = self.0.add(&other.0);
    }

    pub(crate) fn histogram(&self) -> &Histogram<u64> {
        &self.0
    }

    /// Returns the longest time, in nanoseconds; 0 if there is none.
    pub(crate) fn max_ns(&self) -> u64 {
        self.0.max()
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.len()
    }

    /// Returns the mean time, in microseconds; 0 if there is none.
    pub(crate) fn mean_us(&self) -> f64 {
        self.0.mean() / 1e3
    }

    /// Counts the times that are longer than `us`, as far as the histogram tells them apart.
    pub(crate) fn count_above(&self, us: f64) -> u64 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a time, far below 2⁶³ ns"
        )]
        let ns = (us * 1e3) as u64;
        self.0.count_between(self.0.next_non_equivalent(ns), LONGEST_NS)
    }

    /// Returns the time that `percentile` of a hundred do not exceed, in microseconds.
    pub(crate) fn percentile_us(&self, percentile: f64) -> f64 {
        us(self.0.value_at_percentile(percentile))
    }

    /// Returns pairs of a percentile and its time in microseconds; the nearer to 100, the closer the pairs are to one
    /// another.
    pub(crate) fn curve(&self) -> Vec<(f64, f64)> {
        self.0
            .iter_quantiles(QUANTILE_STEPS)
            .map(|step| (step.percentile(), us(step.value_iterated_to())))
            .collect()
    }

    /// Returns intervals in microseconds, each with its two ends and the number of times in it: four intervals for each
    /// doubling.
    pub(crate) fn stretches(&self) -> Vec<(f64, f64, u64)> {
        let bound = |place: i32| f64::from(place) / 4.0;
        let mut out: Vec<(f64, f64, u64)> = Vec::new();
        for step in self.0.iter_recorded() {
            let us = us(step.value_iterated_to()).max(0.001);
            #[expect(clippy::cast_possible_truncation, reason = "four times the logarithm of an hour")]
            let place = (us.log2() * 4.0).floor() as i32;
            let (from, to) = (bound(place).exp2(), bound(place + 1).exp2());
            match out.last_mut() {
                Some(last) if (last.0 - from).abs() < from * 1e-6 => {
                    last.2 += step.count_since_last_iteration();
                }
                _ => out.push((from, to, step.count_since_last_iteration())),
            }
        }
        out
    }

    pub(crate) fn summary_if_any(&self) -> Option<Latency> {
        (self.count() > 0).then(|| self.summary())
    }

    pub(crate) fn summary(&self) -> Latency {
        Latency {
            count: self.count(),
            mean_us: self.mean_us(),
            min_us: us(self.0.min()),
            p50_us: self.percentile_us(50.0),
            p75_us: self.percentile_us(75.0),
            p90_us: self.percentile_us(90.0),
            p95_us: self.percentile_us(95.0),
            p99_us: self.percentile_us(99.0),
            p999_us: self.percentile_us(99.9),
            p9999_us: self.percentile_us(99.99),
            max_us: us(self.0.max()),
        }
    }
}

impl Default for Times {
    fn default() -> Self {
        Self::new()
    }
}

/// A column of a table of times: its title, where its figure is, and the number of times that the figure needs.
pub(crate) type Column = (&'static str, fn(&Latency) -> f64, u64);

/// Times that must be expected beyond a percentile, or else it is not reported. If fewer than three are expected, the
/// probability that none at all lies there is 5 % or more, and the percentile is then just the longest time.
const BEYOND_MIN: u64 = 3;

/// Returns the number of times that are needed to report a percentile that one time in `count` exceeds.
const fn one_in(count: u64) -> u64 {
    BEYOND_MIN * count
}

/// The figures of times in a report, in the order of the columns.
pub(crate) const COLUMNS: [Column; 8] = [
    ("mean", |times| times.mean_us, 1),
    ("p50", |times| times.p50_us, one_in(2)),
    ("p90", |times| times.p90_us, one_in(10)),
    ("p95", |times| times.p95_us, one_in(20)),
    ("p99", |times| times.p99_us, one_in(100)),
    ("p99.9", |times| times.p999_us, one_in(1_000)),
    ("p99.99", |times| times.p9999_us, one_in(10_000)),
    ("max", |times| times.max_us, 1),
];

/// Returns the figure of a column in microseconds, if there are enough times for it.
pub(crate) fn told(column: &Column, times: &Latency) -> Option<f64> {
    let (_, of, least) = column;
    (times.count >= *least).then(|| of(times))
}

/// Returns the column with this title.
pub(crate) fn column(title: &str) -> Option<&'static Column> {
    COLUMNS.iter().find(|(name, ..)| *name == title)
}

/// The figures of times of one kind, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it: percentiles, and the ends")]
pub struct Latency {
    pub count: u64,
    pub mean_us: f64,
    pub min_us: f64,
    pub p50_us: f64,
    pub p75_us: f64,
    pub p90_us: f64,
    pub p95_us: f64,
    pub p99_us: f64,
    pub p999_us: f64,
    pub p9999_us: f64,
    pub max_us: f64,
}

#[expect(clippy::cast_precision_loss, reason = "three digits are all there is")]
fn us(ns: u64) -> f64 {
    ns as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles() {
        let mut times = Times::new();
        (1..=1000).for_each(|ms: u64| times.add(ms * 1_000_000));
        times.add(u64::MAX);
        let close = |expected: f64, actual: f64| assert!((actual / expected - 1.0).abs() < 0.002, "{actual}");

        close(500_500.0, times.percentile_us(50.0));
        close(990_000.0, times.percentile_us(99.0));
        close(us(LONGEST_NS), times.summary().max_us);
        assert_eq!(1001, times.count());

        let stretches = times.stretches();
        assert_eq!(1001, stretches.iter().map(|(_, _, count)| count).sum::<u64>());
        assert!(stretches.iter().all(|(from, to, _)| (to / from - 2.0_f64.powf(0.25)).abs() < 1e-6));

        assert_eq!(11, times.count_above(990_000.0));
        assert_eq!(0, times.count_above(us(LONGEST_NS)));

        let told =
            |count, title| told(column(title).unwrap_or(&COLUMNS[0]), &Latency { count, ..times.summary() });
        assert!(told(300, "p99").is_some() && told(6, "p50").is_some() && told(1, "max").is_some());
        assert_eq!([None; 4], [told(299, "p99"), told(100, "p99.99"), told(5, "p50"), told(0, "mean")]);

        let mut coarse = Times::coarse();
        coarse.add(1_000_000);
        assert!((coarse.percentile_us(50.0) / 1000.0 - 1.0).abs() < 0.01);
    }
}
