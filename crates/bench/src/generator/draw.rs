//! The choice of the next request among several: drawn by weight, and the same for the same seed.

use crate::generator::random::Random;

/// An endless series of draws.
#[derive(Clone, Debug)]
pub(crate) struct Draw {
    /// The sums of the weights up to each request.
    sums: Vec<u64>,
    random: Random,
}

impl Draw {
    /// Makes draws among as many requests as there are weights, none of which is 0.
    pub(crate) fn new(weights: impl Iterator<Item = u32>, seed: u64) -> Self {
        let sums = weights.scan(0, |sum, weight| {
            *sum += u64::from(weight);
            Some(*sum)
        });
        Self { sums: sums.collect(), random: Random::new(seed) }
    }

    /// Returns the index of the next request.
    #[inline]
    pub(crate) fn next(&mut self) -> u32 {
        let all = match self.sums[..] {
            [] | [_] => return 0,
            [.., all] => usize::try_from(all).unwrap_or(usize::MAX),
        };
        let drawn = self.random.below(all) as u64;
        u32::try_from(self.sums.partition_point(|sum| *sum <= drawn)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_the_weights_and_a_seed_repeats() {
        let drawn = |seed| {
            let mut draw = Draw::new([1, 6, 3].into_iter(), seed);
            (0..10_000).map(|_| draw.next()).collect::<Vec<_>>()
        };
        let all = drawn(7);
        for (index, share) in [(0, 1_000), (1, 6_000), (2, 3_000)] {
            let count = all.iter().filter(|drawn| **drawn == index).count();
            assert!(count.abs_diff(share) < 200, "{index}: {count}");
        }
        assert_eq!(all, drawn(7));
        assert_ne!(all, drawn(8));
        assert_eq!(0, Draw::new([5].into_iter(), 1).next());
    }
}
