//! A loop's figures, which are written on the board from time to time.

use crate::board::tally::{Cell, Tally};

/// Time between two writes to the board, while things change.
const EVERY_MS: u64 = 1_000;

/// Number of figures.
const FIGURES: usize = 11;

/// The figures as they are on the board, and the time at which they are written again.
#[derive(Default)]
pub(crate) struct Standing {
    /// The time at which they are written; `None` while nothing has happened after the last write.
    pub(crate) due_ms: Option<u64>,
    told: [u64; FIGURES],
}

impl Standing {
    /// Notes that something has happened.
    pub(crate) fn change(&mut self, now_ms: u64) {
        if self.due_ms.is_none() {
            self.due_ms = Some(now_ms + EVERY_MS);
        }
    }

    /// Whether the figures are to be written now; `true` once.
    pub(crate) fn take_due(&mut self, now_ms: u64) -> bool {
        self.due_ms.take_if(|due_ms| *due_ms <= now_ms).is_some()
    }

    /// Writes the figures on the board, where they are sums over all loops: each loop adds the change of its own
    /// figures.
    pub(crate) fn publish(&mut self, tally: &Tally, now: [(Cell, u64); FIGURES]) {
        for (before, (cell, now)) in self.told.iter_mut().zip(now) {
            tally.shift(cell, std::mem::replace(before, now), now);
        }
    }
}
