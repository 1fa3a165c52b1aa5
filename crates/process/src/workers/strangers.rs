//! Children that have ended before it was known which worker they were.

use adyton_sys::child::Exit;

/// Unknown children whose end is remembered.
const STRANGERS_MAX: usize = 64;

/// How long an end is remembered: a worker has said within this time which process it was, or never will.
const STRANGERS_MS: u64 = 60_000;

/// The unknown children that have ended last.
#[derive(Debug, Default)]
pub(crate) struct Strangers(Vec<(u32, Exit, u64)>);

impl Strangers {
    /// Notes the end of an unknown child. Process 1, and any process that adopts orphans, hears of the ends of other
    /// processes' children, too: only a few can be workers.
    pub(crate) fn note(&mut self, pid: u32, exit: Exit, now_ms: u64) {
        self.0.push((pid, exit, now_ms));
        let surplus = self.0.len().saturating_sub(STRANGERS_MAX);
        self.0.drain(..surplus);
    }

    /// Forgets ends of long ago, because process numbers come again.
    pub(crate) fn forget(&mut self, now_ms: u64) {
        self.0.retain(|(_, _, since_ms)| now_ms < since_ms + STRANGERS_MS);
    }

    pub(crate) fn has(&self, pid: u32) -> bool {
        self.0.iter().any(|(stranger, ..)| *stranger == pid)
    }

    /// Returns how a child has ended that is known now.
    pub(crate) fn take(&mut self, pid: u32) -> Option<Exit> {
        let at = self.0.iter().position(|(stranger, ..)| *stranger == pid)?;
        Some(self.0.swap_remove(at).1)
    }
}

#[cfg(test)]
mod tests {
    use adyton_sys::child::Exit;

    use super::{STRANGERS_MAX, STRANGERS_MS, Strangers};

    /// The latest ends are known for a minute, and each is taken once.
    #[test]
    fn for_a_moment() {
        let mut strangers = Strangers::default();
        for pid in 0..=64 {
            strangers.note(pid, Exit::Status(3), 1_000);
        }

        assert_eq!(64, STRANGERS_MAX);
        assert!(!strangers.has(0) && strangers.has(1) && strangers.has(64));
        assert_eq!([Some(Exit::Status(3)), None], [strangers.take(7), strangers.take(7)]);

        strangers.forget(1_000 + STRANGERS_MS - 1);

        assert!(strangers.has(1));

        strangers.forget(1_000 + STRANGERS_MS);

        assert!(!strangers.has(1));
    }
}
