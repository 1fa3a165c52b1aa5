//! The number of requests under way: now, and on average.

use crate::report::numbers::float;

/// A number that remembers how long it held each value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InFlight {
    count: usize,
    start_ns: u64,
    changed_ns: u64,
    /// The sum of the values since `start_ns`, each times how long it held.
    sum_ns: u64,
}

impl InFlight {
    /// Starts without a request; the average begins at `start_ns`.
    pub(crate) fn new(start_ns: u64) -> Self {
        Self { count: 0, start_ns, changed_ns: start_ns, sum_ns: 0 }
    }

    /// Adds requests that were sent.
    pub(crate) fn more(&mut self, count: usize, now_ns: u64) {
        self.hold(now_ns);
        self.count += count;
    }

    /// Takes off requests that have an outcome.
    pub(crate) fn fewer(&mut self, count: usize, now_ns: u64) {
        self.hold(now_ns);
        self.count -= count;
    }

    /// Whether no request is under way.
    pub(crate) fn is_none(&self) -> bool {
        self.count == 0
    }

    /// Returns the average until now.
    pub(crate) fn mean(&self, now_ns: u64) -> f64 {
        let mut until_now = *self;
        until_now.hold(now_ns);
        float(until_now.sum_ns) / float(now_ns.saturating_sub(self.start_ns).max(1))
    }

    fn hold(&mut self, now_ns: u64) {
        self.sum_ns += self.count as u64 * now_ns.saturating_sub(self.changed_ns);
        self.changed_ns = self.changed_ns.max(now_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_weighs_by_time() {
        let mut in_flight = InFlight::new(100);
        in_flight.more(2, 50);
        in_flight.more(2, 110);
        in_flight.fewer(4, 120);

        assert!((in_flight.mean(140) - 60.0 / 40.0).abs() < 1e-9);
        assert!(in_flight.is_none());
    }
}
