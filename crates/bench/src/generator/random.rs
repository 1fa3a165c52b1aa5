//! Random numbers that are the same for the same seed, on every machine.

/// `SplitMix64` (Steele, Lea, Flood 2014): 64 bits of state, good enough for times and for drawing samples.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a number of [0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "53 bits are what a double holds")]
        let unit = (self.bits() >> 11) as f64 / (1_u64 << 53) as f64;
        unit
    }

    /// Returns a number below `count`, which is not 0.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        // The bias is below count / 2⁶⁴.
        usize::try_from(self.bits() % count as u64).unwrap_or(0)
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }
}
