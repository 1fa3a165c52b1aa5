//! When a worker is replaced, and how long it may take for what.

/// So many signs of life are expected in the time after which a worker is given up.
const BEATS: u64 = 30;

/// So many of them may fail to come before a worker is called silent.
const MISSED_MAX: u64 = 3;

/// The quickest heart: each beat wakes a thread, and each loop.
const BEAT_MS_MIN: u64 = 50;

/// When a worker is replaced; 0 is never.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Requests that it may serve, before the jitter.
    pub requests_max: u64,
    /// How long it may serve, before the jitter.
    pub lifetime_max_ms: u64,
    /// Memory that it may have resident.
    pub rss_max_bytes: u64,
    /// CPU time that it may use.
    pub cpu_max_ms: u64,
    /// How long it may give no sign of life.
    pub heartbeat_timeout_ms: u64,
    /// How long it may take to be ready.
    pub startup_timeout_ms: u64,
    /// How long its running requests may take when it is told to drain.
    pub graceful_timeout_ms: u64,
}

impl Limits {
    /// How often a worker gives a sign of life; `None`: it need not.
    pub fn beat_ms(&self) -> Option<u64> {
        let timeout_ms = self.heartbeat_timeout_ms;
        (timeout_ms > 0).then(|| (timeout_ms / BEATS).max(BEAT_MS_MIN))
    }

    /// When a worker is called silent.
    pub(crate) fn silence_ms(&self) -> u64 {
        self.beat_ms().map_or(u64::MAX, |beat_ms| beat_ms * MISSED_MAX)
    }

    /// When a process that is started now has to be ready; `None`: whenever it is.
    pub(crate) fn startup_due_ms(&self, now_ms: u64) -> Option<u64> {
        (self.startup_timeout_ms > 0).then_some(now_ms + self.startup_timeout_ms)
    }
}
