//! How a loop stands, as the board is told of it from time to time.

use crate::board::tally::{Cell, Tally};

/// How often the board is told, while things change.
const EVERY_MS: u64 = 1_000;

/// How many figures it is told.
const FIGURES: usize = 11;

/// What the board was told last, and when it is told again.
#[derive(Default)]
pub(crate) struct Standing {
    /// `None` while nothing has happened since.
    pub(crate) due_ms: Option<u64>,
    told: [u64; FIGURES],
}

impl Standing {
    /// Something has happened.
    pub(crate) fn change(&mut self, now_ms: u64) {
        if self.due_ms.is_none() {
            self.due_ms = Some(now_ms + EVERY_MS);
        }
    }

    /// Whether the board has to be told now; `true` once.
    pub(crate) fn take_due(&mut self, now_ms: u64) -> bool {
        self.due_ms.take_if(|due_ms| *due_ms <= now_ms).is_some()
    }

    /// Tells the board. Its figures are sums over all loops: each adds what has changed of its own.
    pub(crate) fn publish(&mut self, tally: &Tally, now: [(Cell, u64); FIGURES]) {
        for (before, (cell, now)) in self.told.iter_mut().zip(now) {
            tally.shift(cell, std::mem::replace(before, now), now);
        }
    }
}
