//! Children that have ended before it was known which worker they were.

use adyton_sys::child::Exit;

/// The most unknown children whose ends are remembered.
const UNKNOWN_MAX: usize = 64;

/// How long an end is remembered: a worker has said within this time which process it was, or never will.
const UNKNOWN_MS: u64 = 60_000;

/// The unknown children that have ended last.
#[derive(Debug, Default)]
pub(crate) struct UnknownChildren(Vec<(u32, Exit, u64)>);

impl UnknownChildren {
    /// Notes the end of an unknown child. Process 1, and any process that adopts orphans, hears of the ends of other
    /// processes' children, too: only a few of the unknown children can be workers.
    pub(crate) fn note(&mut self, pid: u32, exit: Exit, now_ms: u64) {
        self.0.push((pid, exit, now_ms));
        let surplus = self.0.len().saturating_sub(UNKNOWN_MAX);
        self.0.drain(..surplus);
    }

    /// Forgets ends of long ago, because process numbers come again.
    pub(crate) fn forget(&mut self, now_ms: u64) {
        self.0.retain(|(_, _, since_ms)| now_ms < since_ms + UNKNOWN_MS);
    }

    pub(crate) fn has(&self, pid: u32) -> bool {
        self.0.iter().any(|(child, ..)| *child == pid)
    }

    /// Returns how a child has ended, now that it is known which worker it was.
    pub(crate) fn take(&mut self, pid: u32) -> Option<Exit> {
        let at = self.0.iter().position(|(child, ..)| *child == pid)?;
        Some(self.0.swap_remove(at).1)
    }
}

#[cfg(test)]
mod tests {
    use adyton_sys::child::Exit;

    use super::{UNKNOWN_MAX, UNKNOWN_MS, UnknownChildren};

    /// The latest ends are remembered for a minute, and each is taken once.
    #[test]
    fn for_a_moment() {
        let mut unknown_children = UnknownChildren::default();
        for pid in 0..=64 {
            unknown_children.note(pid, Exit::Status(3), 1_000);
        }

        assert_eq!(64, UNKNOWN_MAX);
        assert!(!unknown_children.has(0) && unknown_children.has(1) && unknown_children.has(64));
        assert_eq!([Some(Exit::Status(3)), None], [unknown_children.take(7), unknown_children.take(7)]);

        unknown_children.forget(1_000 + UNKNOWN_MS - 1);

        assert!(unknown_children.has(1));

        unknown_children.forget(1_000 + UNKNOWN_MS);

        assert!(!unknown_children.has(1));
    }
}
