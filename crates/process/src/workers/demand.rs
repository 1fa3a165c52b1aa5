//! The wanted number of workers, between `--min-processes` and `--max-processes`: more while requests wait for a
//! thread, fewer when one worker less could do all of the work.
//!
//! The number grows within seconds and shrinks within a minute, and then rests for a moment: a worker that starts uses
//! the CPU itself.

use serde::{Deserialize, Serialize};

/// The bounds of the number of workers; equal bounds keep the number as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// The least number.
    pub least: usize,
    /// The greatest number.
    pub most: usize,
}

/// How many looks in a row, a second apart, find requests waiting before a worker is added.
const LOOKS_TO_GROW: u32 = 3;

/// How many looks in a row find one worker too many before a worker is given up.
const LOOKS_TO_SHRINK: u32 = 60;

/// How many looks pass after a change before the next change.
const LOOKS_TO_SETTLE: u32 = 5;

/// A worker that is this busy, in thousandths of a CPU, has nothing to spare.
const BUSY_THOUSANDTHS: u64 = 500;

/// The measurements of one look.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    /// Workers that serve.
    pub(crate) workers: usize,
    /// Requests that wait for a thread, in all workers.
    pub(crate) queued: u64,
    /// Threads inside slow calls, in all workers.
    pub(crate) busy: u64,
    /// Threads, in all workers.
    pub(crate) threads: u64,
    /// CPU time of all workers since the last look, in milliseconds.
    pub(crate) cpu_ms: u64,
    /// Time since the last look.
    pub(crate) elapsed_ms: u64,
}

/// Counts of the looks so far.
#[derive(Debug, Default)]
pub(crate) struct Demand {
    waiting: u32,
    idle: u32,
    settling: u32,
}

impl Demand {
    /// Takes note of a look; returns the change in the number of workers.
    pub(crate) fn look(&mut self, seen: Seen, bounds: Bounds) -> i8 {
        if self.settling > 0 {
            self.settling -= 1;
            return 0;
        }
        self.waiting = if seen.queued > 0 { self.waiting + 1 } else { 0 };
        self.idle = if could_do_with_less(seen) { self.idle + 1 } else { 0 };
        let change = if seen.workers < bounds.least
            || (self.waiting >= LOOKS_TO_GROW && seen.workers < bounds.most)
        {
            1
        } else if seen.workers > bounds.most || (self.idle >= LOOKS_TO_SHRINK && seen.workers > bounds.least)
        {
            -1
        } else {
            return 0;
        };
        *self = Self { settling: LOOKS_TO_SETTLE, ..Self::default() };
        change
    }
}

/// Whether one worker less would have had the time and the threads for all of the work, and half of both to spare.
fn could_do_with_less(seen: Seen) -> bool {
    let (workers, others) = (seen.workers as u64, seen.workers.saturating_sub(1) as u64);
    seen.queued == 0
        && seen.cpu_ms * 1000 < others * BUSY_THOUSANDTHS * seen.elapsed_ms
        && seen.busy * 2 * workers < others * seen.threads
}

#[cfg(test)]
mod tests {
    use super::{Bounds, Demand, LOOKS_TO_GROW, LOOKS_TO_SETTLE, LOOKS_TO_SHRINK, Seen, could_do_with_less};

    const BOUNDS: Bounds = Bounds { least: 1, most: 3 };
    const CALM: Seen = Seen { workers: 2, queued: 0, busy: 0, threads: 32, cpu_ms: 10, elapsed_ms: 1_000 };
    const FULL: Seen = Seen { queued: 5, busy: 32, ..CALM };

    /// Returns the changes, with the look at which each came.
    fn changes(seen: Seen, looks: u32) -> Vec<(u32, i8)> {
        let mut demand = Demand::default();
        (1..=looks).map(|look| (look, demand.look(seen, BOUNDS))).filter(|(_, change)| *change != 0).collect()
    }

    /// The number grows soon, and then waits for the effect.
    #[test]
    fn grows() {
        let next = LOOKS_TO_GROW + LOOKS_TO_SETTLE + LOOKS_TO_GROW;

        assert_eq!(vec![(LOOKS_TO_GROW, 1), (next, 1)], changes(FULL, next));
        assert!(changes(Seen { workers: 3, ..FULL }, 100).is_empty(), "there are as many as there may be");
    }

    /// The number shrinks late, and neither below the least number nor while there is work for all workers.
    #[test]
    fn shrinks() {
        assert_eq!(vec![(LOOKS_TO_SHRINK, -1)], changes(CALM, LOOKS_TO_SHRINK));
        assert!(changes(Seen { workers: 1, threads: 16, ..CALM }, 200).is_empty());
        assert!(changes(Seen { cpu_ms: 900, ..CALM }, 200).is_empty(), "they compute");
        assert!(changes(Seen { busy: 12, ..CALM }, 200).is_empty(), "they wait, in many threads");
    }

    /// Among many workers, workers that have never had a request are given up, even if other workers are busy.
    #[test]
    fn many() {
        let of = |workers: usize| Seen { workers, threads: 18 * workers as u64, ..CALM };
        let fewest = |busy: u64, cpu_ms: u64| {
            let enough = |workers: &usize| !could_do_with_less(Seen { busy, cpu_ms, ..of(*workers) });
            (1..=20).rev().find(enough)
        };

        assert_eq!(Some(1), fewest(0, 0), "there was never a request");
        assert_eq!(Some(2), fewest(16, 0), "one has all the threads of its application inside");
        assert_eq!(Some(3), fewest(1, 1_000), "one computes");
        assert!(
            could_do_with_less(Seen { threads: 18, ..of(20) }),
            "of the others it is not known yet how many threads they have"
        );
    }

    /// A moment's calm begins the count anew.
    #[test]
    fn hesitates() {
        let mut demand = Demand::default();
        for look in 0..100 {
            let seen = if look % 3 == 2 { CALM } else { FULL };

            assert_eq!(0, demand.look(seen, BOUNDS), "look {look}");
        }
    }
}
