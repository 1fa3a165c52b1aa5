//! The pause after repeated failures, during which no process is started.

/// The longest pause before the next attempt.
pub(crate) const BACKOFF_MS_MAX: u64 = 30_000;

/// Returns how long no process is started after this number of failures in a row: `first_ms` after the first failure,
/// and twice as long after each further one.
pub(crate) fn backoff_ms(first_ms: u64, failures: u32) -> u64 {
    (first_ms << failures.saturating_sub(1).min(16)).min(BACKOFF_MS_MAX)
}
