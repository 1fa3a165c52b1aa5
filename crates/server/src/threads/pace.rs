//! The pace of calls: slow calls wait, or compute for long.
//!
//! Having another thread run a call costs some switches of threads, tens of microseconds. So a call is slow if it
//! computes a hundred times as long as that, or waits so long that other requests could be served meanwhile. The time
//! by the clock tells neither of these: on a busy machine other processes have the CPU for part of that time.

use adyton_sys::clock;

/// CPU time from which on a call is slow.
const COMPUTES_US: u64 = 2_000;

/// Wait from which on a call is slow. A call that takes less by the clock has not waited so long.
pub(crate) const WAITS_US: u64 = 200;

/// Time of a call below which its wait may have been a wait for the interpreter, which another thread had.
const BRIEF_US: u64 = 4_000;

/// Wait for the interpreter below which there was no switch of threads.
const SWITCH_US: u64 = 5;

/// The pace of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// The call computed for a short time.
    Quick,
    /// The call waited for a short time, for something of its own or for the interpreter.
    Brief,
    /// The call waited, or computed, for a long time.
    Slow,
}

/// A thread's wait for the interpreter, which says nothing about the call that needs it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waited {
    /// The length of the wait, in us.
    pub(crate) us: u64,
    /// How often the thread had waited for anything at the time when it first got the interpreter after a wait; 0 if it
    /// never waited for the interpreter.
    pub(crate) waits: u64,
}

impl Waited {
    /// Adds a wait of `us` microseconds, after which the thread has the interpreter.
    pub(crate) fn add(&mut self, us: u64) {
        if self.us == 0 && us >= SWITCH_US {
            self.waits = clock::thread_waits();
        }
        self.us += us;
    }
}

/// The clocks of this thread at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    /// The monotonic clock, in us.
    pub(crate) us: u64,
    /// The thread's CPU time, in us.
    cpu_us: u64,
    /// How often the thread has waited.
    waits: u64,
}

impl Mark {
    /// Reads the clocks: two system calls.
    pub(crate) fn now() -> Self {
        Self { us: clock::monotonic_us(), cpu_us: clock::thread_us(), waits: clock::thread_waits() }
    }

    /// CPU time of the thread since the mark, in us: a system call.
    pub(crate) fn computed_us(&self) -> u64 {
        clock::thread_us() - self.cpu_us
    }

    /// Returns the pace of this thread's call between the marks, without its wait for the interpreter before the call
    /// began.
    pub(crate) fn pace_until(&self, end: &Mark, waited: Waited) -> Pace {
        let took_us = end.us.saturating_sub(self.us + waited.us);
        let computed_us = end.cpu_us.saturating_sub(self.cpu_us);
        let off_us = took_us.saturating_sub(computed_us);
        let waits = off_us >= WAITS_US && end.waits > self.waits.max(waited.waits);
        if computed_us >= COMPUTES_US || (waits && took_us >= BRIEF_US) {
            Pace::Slow
        } else if waits {
            Pace::Brief
        } else {
            Pace::Quick
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A call counts as slow if it computes for long, or if it waits and takes long in all; a shorter call that waits
    /// is brief. Waiting for a CPU makes no call slow.
    #[test]
    fn kinds_of_slow() {
        let start = Mark { us: 1_000, cpu_us: 50, waits: 7 };
        let end =
            |us: u64, cpu_us: u64, waits: u64| Mark { us: 1_000 + us, cpu_us: 50 + cpu_us, waits: 7 + waits };
        for (us, cpu_us, waits, (waited_us, waited), pace) in [
            (150, 150, 0, (0, 0), Pace::Quick),
            (1_500, 1_500, 0, (0, 0), Pace::Quick),
            (2_100, 2_050, 0, (0, 0), Pace::Slow),
            // Calls that wait.
            (400, 150, 1, (0, 0), Pace::Brief),
            (10_000, 150, 1, (0, 0), Pace::Slow),
            (300, 150, 1, (0, 0), Pace::Quick),
            // For the interpreter.
            (900, 150, 1, (700, 1), Pace::Quick),
            // For a CPU.
            (9_000, 150, 0, (0, 0), Pace::Quick),
            // For the interpreter, and then for a CPU.
            (20_000, 150, 1, (12_000, 1), Pace::Quick),
            // For the interpreter, and then for something of its own.
            (13_000, 150, 2, (12_000, 1), Pace::Brief),
            (20_000, 150, 2, (12_000, 1), Pace::Slow),
        ] {
            let waited = Waited { us: waited_us, waits: if waited > 0 { 7 + waited } else { 0 } };
            assert_eq!(pace, start.pace_until(&end(us, cpu_us, waits), waited), "{us} {cpu_us} {waits}");
        }
    }
}
