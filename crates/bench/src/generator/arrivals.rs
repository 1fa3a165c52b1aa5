//! The times at which the requests of an open loop are due.

use crate::generator::random::Random;
use crate::plan::Arrivals;

/// Nanoseconds in a second.
const SECOND_NS: f64 = 1e9;

/// An endless series of times, in nanoseconds from the start; one seed always gives the same times.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    arrivals: Arrivals,
    /// The mean distance of two arrivals in nanoseconds.
    distance_ns: f64,
    next_ns: f64,
    random: Random,
}

/// One of the threads that share the requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    /// The number of the thread, from 0.
    pub(crate) thread: u32,
    /// The number of all threads.
    pub(crate) threads: u32,
}

impl Schedule {
    /// Makes the schedule of one thread. If arrivals are constant, the arrivals of all threads together are at equal
    /// distances.
    pub(crate) fn new(rate: f64, arrivals: Arrivals, seed: u64, share: Share) -> Self {
        let Share { thread, threads } = share;
        let distance_ns = SECOND_NS * f64::from(threads) / rate;
        let first_ns = distance_ns * f64::from(thread) / f64::from(threads);
        let mut schedule = Self {
            arrivals,
            distance_ns,
            next_ns: first_ns,
            random: Random::new(seed ^ (u64::from(thread) << 32)),
        };
        if arrivals == Arrivals::Poisson {
            schedule.next_ns = 0.0;
            schedule.advance();
        }
        schedule
    }

    /// Returns the time at which the next request is due.
    pub(crate) fn next_ns(&self) -> u64 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "positive, and years away from 2⁶³"
        )]
        let next = self.next_ns as u64;
        next
    }

    /// Goes on to the next request.
    pub(crate) fn advance(&mut self) {
        self.next_ns += match self.arrivals {
            Arrivals::Constant => self.distance_ns,
            // The logarithm of 0 is infinite, and 1 minus a number of [0, 1) is never 0.
            Arrivals::Poisson => -(1.0 - self.random.unit()).ln() * self.distance_ns,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(mut schedule: Schedule, count: usize) -> Vec<u64> {
        let mut times = Vec::new();
        for _ in 0..count {
            times.push(schedule.next_ns());
            schedule.advance();
        }
        times
    }

    /// Two threads together must have the same distances between arrivals as one thread.
    #[test]
    fn constant_arrivals_interleave() {
        let share =
            |thread| times(Schedule::new(1000.0, Arrivals::Constant, 0, Share { thread, threads: 2 }), 3);

        assert_eq!(vec![0, 2_000_000, 4_000_000], share(0));
        assert_eq!(vec![1_000_000, 3_000_000, 5_000_000], share(1));
    }

    /// The mean distance must match the rate, the spread of the distances must equal the mean, and a seed must repeat
    /// the times.
    #[test]
    fn poisson_arrivals_are_exponential() {
        let times = |seed| {
            times(Schedule::new(1000.0, Arrivals::Poisson, seed, Share { thread: 0, threads: 1 }), 20_001)
        };
        let all = times(7);
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let distances: Vec<f64> = all.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let count = distances.len() as f64;
        let mean = distances.iter().sum::<f64>() / count;
        let spread = (distances.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / count).sqrt();

        assert!((mean / 1e6 - 1.0).abs() < 0.03, "{mean}");
        assert!((spread / mean - 1.0).abs() < 0.05, "{spread}");
        assert_eq!(all, times(7));
        assert_ne!(all, times(8));
    }
}
