//! The pause after failures that follow each other, in which no process is started.

/// The longest pause before the next attempt.
pub(crate) const BACKOFF_MS_MAX: u64 = 30_000;

/// Returns how long no process is started after this number of failures, of which the first costs `first_ms`.
pub(crate) fn backoff_ms(first_ms: u64, failures: u32) -> u64 {
    (first_ms << failures.saturating_sub(1).min(16)).min(BACKOFF_MS_MAX)
}
