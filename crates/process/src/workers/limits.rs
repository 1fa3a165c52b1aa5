//! Limits of a worker, as numbers: its age, requests and memory, and how long each step may take; `worker_process.rs`
//! compares a worker with them.

/// How many signs of life are expected within the time after which a silent worker is given up.
const BEATS: u64 = 30;

/// Signs of life in a row that may be missing before a worker is called silent.
const MISSED_MAX: u64 = 3;

/// The shortest time between signs of life: each sign wakes a thread and every loop.
const BEAT_MS_MIN: u64 = 50;

/// Limits at which a worker is replaced; 0 is no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Requests that a worker may serve, before the jitter.
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
    /// Returns how often a worker gives a sign of life; `None` if it need not.
    pub fn beat_ms(&self) -> Option<u64> {
        let timeout_ms = self.heartbeat_timeout_ms;
        (timeout_ms > 0).then(|| (timeout_ms / BEATS).max(BEAT_MS_MIN))
    }

    /// Returns how long a worker gives no sign of life before it is called silent.
    pub(crate) fn silence_ms(&self) -> u64 {
        self.beat_ms().map_or(u64::MAX, |beat_ms| beat_ms * MISSED_MAX)
    }

    /// Returns the time at which a process that is started now has to be ready; `None` if there is no such time.
    pub(crate) fn startup_due_ms(&self, now_ms: u64) -> Option<u64> {
        (self.startup_timeout_ms > 0).then_some(now_ms + self.startup_timeout_ms)
    }
}
