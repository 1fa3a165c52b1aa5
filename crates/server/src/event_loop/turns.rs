//! Whose turn it is, and for how long: no client has the loop to itself.

use std::collections::VecDeque;

use adyton_sys::clock;

use crate::client::connection::Connection;

/// How long one connection with requests in a row has its turn while others wait for theirs. Each sends its answers
/// together: shorter turns cost a client of quick requests more system calls.
const TURN_US: u64 = 250;

/// The same while no other is known to wait: the kernel has not been asked meanwhile.
const TURN_ALONE_US: u64 = 10_000;

/// How long connections that could go on have their turns, one at least, before the kernel is asked for others: so many
/// busy clients are no longer ahead of a quick one than few of them.
const AGAIN_US: u64 = 2_000;

/// Connections that can go on without an event, but gave the others a turn.
#[derive(Default)]
pub(crate) struct Turns {
    queue: VecDeque<usize>,
    /// How many of them have their turn before the next wait, and since when they have had it.
    left: usize,
    since_us: Option<u64>,
    /// The clock as it was read last.
    seen_us: u64,
    /// When the connection that is worked on got its turn.
    turn_since_us: u64,
}

impl Turns {
    /// Whether no connection waits for its turn.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// A connection has its turn after all that wait for theirs.
    pub(crate) fn push(&mut self, key: usize) {
        self.queue.push_back(key);
    }

    /// The kernel was asked: those that wait now have their turn before it is asked again.
    pub(crate) fn begin_round(&mut self, now_us: u64) {
        (self.seen_us, self.since_us, self.left) = (now_us, None, self.queue.len());
    }

    /// All of these connections have their turn before the kernel is asked again.
    pub(crate) fn take_all(&mut self, keys: impl Iterator<Item = usize>) {
        self.queue = keys.collect();
        self.left = self.queue.len();
    }

    /// The next one, if there is one and it has its turn before the next wait.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<usize> {
        if self.left == 0 {
            return None;
        }
        let now_us = self.read_clock();
        let since_us = *self.since_us.get_or_insert(now_us);
        if now_us.saturating_sub(since_us) >= AGAIN_US {
            return None;
        }
        self.left -= 1;
        self.queue.pop_front()
    }

    /// The time in us of the monotonic clock. Turns are measured by what is read here.
    pub(crate) fn read_clock(&mut self) -> u64 {
        self.seen_us = clock::monotonic_us();
        self.seen_us
    }

    /// A connection gets its turn.
    pub(crate) fn begin(&mut self) {
        self.turn_since_us = self.seen_us;
    }

    /// Whether a connection leaves the rest of its requests for its next turn: a client that always has the next ones under
    /// way would keep the loop for ever. `do_others_wait` says whether another is known to wait.
    pub(crate) fn is_over(&self, connection: &Connection, do_others_wait: impl FnOnce() -> bool) -> bool {
        let took_us = self.seen_us.saturating_sub(self.turn_since_us);
        connection.has_had_its_turn()
            || (took_us >= TURN_US && (took_us >= TURN_ALONE_US || do_others_wait()))
    }
}
