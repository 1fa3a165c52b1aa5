//! Limits that differ a little from worker to worker: workers that were started together shall not end together.

/// A source of random numbers that are good enough for such limits: a xorshift generator (Marsaglia 2003).
#[derive(Debug)]
pub(crate) struct Jitter(u64);

impl Jitter {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    /// Returns a number up to a tenth larger.
    pub(crate) fn add(&mut self, number: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        number + self.0 % (number / 10 + 1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::Jitter;

    /// All numbers between the limit and a tenth more come about equally often, whatever the seed.
    #[test]
    fn spreads() {
        for seed in [0, 1, 1 << 40, u64::MAX] {
            let mut jitter = Jitter::new(seed);
            let mut counts = BTreeMap::<u64, u32>::new();
            for _ in 0..101 * 100 {
                *counts.entry(jitter.add(1000)).or_default() += 1;
            }

            assert!(counts.keys().copied().eq(1000..=1100), "seed {seed}: {counts:?}");
            assert!(counts.values().all(|&count| (40..200).contains(&count)), "seed {seed}: {counts:?}");
        }
    }

    /// A limit that is off stays off, and a small one is kept.
    #[test]
    fn leaves_small_ones() {
        let mut jitter = Jitter::new(7);

        assert_eq!([0, 9], [0, 9].map(|number| jitter.add(number)));
    }
}
