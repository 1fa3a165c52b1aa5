//! Turns of connections, and how long they last: no client has the loop to itself.

use std::collections::VecDeque;

use adyton_sys::clock;

use crate::client::connection::Connection;

/// Time of a turn of a connection with requests in a row, while other connections wait. The answers of a turn are sent
/// together: shorter turns would cost a client of quick requests more system calls.
const TURN_US: u64 = 250;

/// Time of a turn while no other connection is known to wait. The turn ends nevertheless, because the kernel, which may
/// know of other connections, is not asked during a turn.
const TURN_ALONE_US: u64 = 10_000;

/// Time for the turns of connections that could go on, at least one of which gets its turn, before the kernel is asked
/// for other connections. With this limit, many busy clients delay a quick client no longer than a few do.
const AGAIN_US: u64 = 2_000;

/// Connections that can go on without an event, but give the other connections a turn first.
#[derive(Default)]
pub(crate) struct Turns {
    queue: VecDeque<usize>,
    /// How many of them may have their turn before the next wait, and when the first of these got its turn.
    left: usize,
    since_us: Option<u64>,
    /// The clock, as it was last read.
    seen_us: u64,
    /// When the present connection got its turn.
    turn_since_us: u64,
}

impl Turns {
    /// Whether no connection waits for its turn.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Has a connection wait for its turn, after all that wait already.
    pub(crate) fn push(&mut self, key: usize) {
        self.queue.push_back(key);
    }

    /// Begins a round, after the kernel was asked: connections that wait now have their turn before the kernel is asked
    /// again.
    pub(crate) fn begin_round(&mut self, now_us: u64) {
        (self.seen_us, self.since_us, self.left) = (now_us, None, self.queue.len());
    }

    /// Has all of these connections get their turn before the kernel is asked again.
    pub(crate) fn take_all(&mut self, keys: impl Iterator<Item = usize>) {
        self.queue = keys.collect();
        self.left = self.queue.len();
    }

    /// Takes the next connection that has its turn before the next wait, if there is one.
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

    /// Reads the monotonic clock, in us. Turns are measured by the times read here.
    pub(crate) fn read_clock(&mut self) -> u64 {
        self.seen_us = clock::monotonic_us();
        self.seen_us
    }

    /// Begins a connection's turn.
    pub(crate) fn begin(&mut self) {
        self.turn_since_us = self.seen_us;
    }

    /// Whether a connection leaves the rest of its requests for its next turn: a client that always has further
    /// requests under way would keep the loop for ever. `do_others_wait` says whether another connection is known to
    /// wait.
    pub(crate) fn is_over(&self, connection: &Connection, do_others_wait: impl FnOnce() -> bool) -> bool {
        let took_us = self.seen_us.saturating_sub(self.turn_since_us);
        connection.has_had_its_turn()
            || (took_us >= TURN_US && (took_us >= TURN_ALONE_US || do_others_wait()))
    }
}
