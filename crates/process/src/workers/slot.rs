//! A slot: the workers that serve on its sockets, one after the other.
//!
//! This module does no I/O: it takes events with their times, and returns actions.

use crate::workers::action::{Action, Id};
use crate::workers::backoff::backoff_ms;
use crate::workers::cause::Reason;
use crate::workers::worker_process::{State, WorkerProcess};

/// How long a slot waits after the first failure; twice as long after each further one.
const BACKOFF_MS: u64 = 100;

/// How long a worker has to serve before it counts as sound.
const PROVEN_MS: u64 = 10_000;

/// How long a slot that is given up still accepts: handshakes that had begun are over by then, even if a packet was
/// lost: it is sent again after one second, and after two more seconds (RFC 6298).
const RETIRING_MS: u64 = 3_500;

/// A slot, with its workers.
#[derive(Debug)]
pub(crate) struct Slot {
    /// The slot's number, from 1 on.
    number: usize,
    /// The slot's workers, the oldest first.
    workers: Vec<WorkerProcess>,
    /// Workers in a row that have ended soon after they were started.
    failures: u32,
    /// No worker is started before this time.
    not_before_ms: u64,
    /// Set when there shall be fewer slots: this slot ends when the connections in its sockets are accepted.
    retires_ms: Option<u64>,
    /// Whether the slot was given up, and is back only for clients that had come to its sockets too late.
    is_recalled: bool,
}

impl Slot {
    pub(crate) fn new(number: usize) -> Self {
        Self {
            number,
            workers: Vec::new(),
            failures: 0,
            not_before_ms: 0,
            retires_ms: None,
            is_recalled: false,
        }
    }

    /// Makes a slot that is back for a moment.
    pub(crate) fn recalled(number: usize) -> Self {
        Self { is_recalled: true, ..Self::new(number) }
    }

    /// Makes a slot of an earlier program.
    pub(crate) fn taken(number: usize, retires_ms: Option<u64>) -> Self {
        Self { retires_ms, ..Self::new(number) }
    }

    pub(crate) fn number(&self) -> usize {
        self.number
    }

    pub(crate) fn workers(&self) -> &[WorkerProcess] {
        &self.workers
    }

    pub(crate) fn workers_mut(&mut self) -> &mut [WorkerProcess] {
        &mut self.workers
    }

    /// Adds a worker.
    pub(crate) fn push(&mut self, worker: WorkerProcess) {
        self.workers.push(worker);
    }

    /// Removes a worker that is gone.
    pub(crate) fn remove(&mut self, id: Id) -> Option<WorkerProcess> {
        let of = self.workers.iter().position(|worker| worker.id() == id)?;
        Some(self.workers.remove(of))
    }

    /// Whether new connections come to the slot.
    pub(crate) fn is_wanted(&self) -> bool {
        !self.is_retiring() && !self.is_recalled
    }

    /// Whether the slot is about to go.
    pub(crate) fn is_retiring(&self) -> bool {
        self.retires_ms.is_some()
    }

    /// Returns the time at which the slot goes; a slot that is back for a moment goes as if it had been given up now.
    pub(crate) fn retires_ms(&self, now_ms: u64) -> Option<u64> {
        self.retires_ms.or(self.is_recalled.then_some(now_ms))
    }

    /// Whether the slot is back for a moment, with a worker that serves.
    pub(crate) fn serves_recalled(&self) -> bool {
        self.is_recalled && self.serving().is_some()
    }

    /// Keeps the slot after all.
    pub(crate) fn keep(&mut self) {
        (self.retires_ms, self.is_recalled) = (None, false);
    }

    /// Gives the slot up.
    pub(crate) fn give_up(&mut self, now_ms: u64) {
        (self.is_recalled, self.retires_ms) = (false, Some(now_ms + RETIRING_MS));
    }

    /// Ends the slot now if it is given up.
    pub(crate) fn hurry(&mut self, now_ms: u64) {
        self.retires_ms = self.retires_ms.map(|at_ms| at_ms.min(now_ms));
    }

    /// Whether the slot's time to go has come.
    pub(crate) fn is_over(&self, now_ms: u64) -> bool {
        self.retires_ms.is_some_and(|at_ms| at_ms <= now_ms)
    }

    /// Returns the worker that serves and was not told to end.
    pub(crate) fn serving(&self) -> Option<&WorkerProcess> {
        self.workers.iter().rev().find(|worker| worker.state() == State::Serving)
    }

    /// Whether a worker serves and gives signs of life.
    pub(crate) fn is_served(&self) -> bool {
        self.serving().is_some_and(|worker| !worker.pulse().is_silent)
    }

    /// Whether a worker of this generation serves.
    pub(crate) fn serves(&self, generation: u32) -> bool {
        self.serving().is_some_and(|worker| worker.generation() == generation)
    }

    /// Whether a worker starts, or was too slow to start and has not ended yet.
    pub(crate) fn is_starting(&self) -> bool {
        self.workers.iter().any(WorkerProcess::is_starting)
    }

    /// Whether the slot is given up, has no worker that serves, or has a worker with a deadline, so that the supervisor
    /// looks at it more often.
    pub(crate) fn is_between(&self) -> bool {
        !self.is_wanted() || self.serving().is_none() || self.workers.iter().any(WorkerProcess::has_deadline)
    }

    /// Whether a worker has to be started: there is no worker, or the worker that serves is to be replaced.
    pub(crate) fn wants_worker(&self, generation: u32, now_ms: u64) -> bool {
        let wanted = match self.serving() {
            None => true,
            Some(worker) => worker.generation() != generation || worker.is_to_be_replaced(),
        };
        wanted && !self.is_retiring() && !self.is_starting() && now_ms >= self.not_before_ms
    }

    /// Starts no worker before this time.
    pub(crate) fn hold_until(&mut self, not_before_ms: u64) {
        self.not_before_ms = not_before_ms;
    }

    /// Notes that a newer version is wanted: a worker of an older version that still starts, and may hang, is not
    /// waited for.
    pub(crate) fn reload(&mut self, now_ms: u64, out: &mut Vec<Action>) {
        self.not_before_ms = now_ms;
        for worker in self.workers.iter_mut().filter(|worker| worker.state() == State::Starting) {
            worker.abandon(Reason::other("a newer version is wanted"), out);
        }
        // If the slot is given up, its old worker takes connections until the slot ends, and the whole reload would
        // wait for that. So the slot ends now: other workers serve clients that come late.
        self.hurry(now_ms);
    }

    /// Notes that a worker has ended unasked, `age_ms` after it began: the next ones wait longer and longer.
    pub(crate) fn note_failure(&mut self, age_ms: u64, now_ms: u64) {
        self.failures = if age_ms >= PROVEN_MS { 0 } else { self.failures + 1 };
        // After the first failure the next worker starts at once: a worker that crashes once a day costs no wait.
        self.not_before_ms =
            now_ms + if self.failures < 2 { 0 } else { backoff_ms(BACKOFF_MS, self.failures - 1) };
    }

    /// Returns the time at which the next worker starts, in words, if that is not at once.
    pub(crate) fn said_of_next(&self, now_ms: u64) -> String {
        match self.not_before_ms.saturating_sub(now_ms) {
            0 => String::new(),
            wait_ms => format!("; the next one starts in {}.{} s", wait_ms / 1000, wait_ms % 1000 / 100),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PROVEN_MS, Slot};
    use crate::workers::backoff::BACKOFF_MS_MAX;

    /// After one crash the next worker starts at once, after repeated crashes later and later, and a long life makes up
    /// for them.
    #[test]
    fn backoff() {
        let mut slot = Slot::new(1);
        let mut waits = Vec::new();
        for _ in 0..14 {
            slot.note_failure(1, 1_000);
            waits.push(slot.not_before_ms - 1_000);
        }

        assert_eq!([0, 100, 200, 400, 800], waits[..5]);
        assert_eq!(Some(&BACKOFF_MS_MAX), waits.last());

        slot.note_failure(PROVEN_MS, 1_000);

        assert_eq!(1_000, slot.not_before_ms);
        assert!(slot.wants_worker(1, 1_000));
    }
}
