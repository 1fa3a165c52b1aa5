//! The pace at which a client reads.

use crate::client::outbox::Outbox;
use crate::site::limits::SiteLimits;

/// Measures from time to time how fast a client takes an answer.
///
/// The kernel says that it has room only when a third of a send buffer of megabytes is free: a client may read all the
/// time and cause no event for a minute. Therefore the kernel is asked how many bytes the client's side has taken.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reader {
    since_ms: u64,
    since_bytes: u64,
    taken_bytes: u64,
    progress_ms: u64,
}

impl Reader {
    pub(crate) fn new(outbox: &Outbox, now_ms: u64) -> Self {
        let taken_bytes = taken_bytes(outbox);
        Self { since_ms: now_ms, since_bytes: taken_bytes, taken_bytes, progress_ms: now_ms }
    }

    /// Whether the client is too slow by now.
    pub(crate) fn is_too_slow(&mut self, outbox: &Outbox, now_ms: u64) -> bool {
        let limits = &outbox.terms.limits;
        let taken_bytes = taken_bytes(outbox);
        if taken_bytes > self.taken_bytes {
            self.taken_bytes = taken_bytes;
            self.progress_ms = now_ms;
        }
        let age_ms = now_ms - self.since_ms;
        let too_few = taken_bytes.saturating_sub(self.since_bytes) * 1000 < limits.write_rate * age_ms;
        now_ms - self.progress_ms >= limits.write_idle_timeout_ms
            || (age_ms >= limits.write_rate_grace_ms && too_few)
    }

    /// The time until the next look: short enough for both limits.
    pub(crate) fn look_again_ms(limits: &SiteLimits) -> u64 {
        let rate_ms = if limits.write_rate > 0 { limits.write_rate_grace_ms } else { u64::MAX };
        limits.write_idle_timeout_ms.min(rate_ms).div_ceil(2)
    }
}

fn taken_bytes(outbox: &Outbox) -> u64 {
    outbox.output.total_bytes().saturating_sub(outbox.transport.untaken_bytes())
}
