//! How many slots there are, and at which sockets their workers listen.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use adyton_log::{self as log, messages};
use adyton_server::share;
use adyton_server::tally::Cell;
use adyton_sys::socket;

use crate::cause::Reason;
use crate::demand::Seen;
use crate::ports::{Sockets, is_waited_at};
use crate::slot::{Slot, Staff, State, UNHURRIED};
use crate::supervisor::Supervisor;
use crate::usage;

/// How long a slot that is given up still accepts: handshakes that had begun are over by then, even if a packet was lost,
/// which is sent again after one second, and after two more (RFC 6298).
const RETIRING_MS: u64 = 3_500;

/// Workers that are wanted at most, as many as the settings allow: with all that drain they have to find a seat.
pub(crate) const WORKERS_MAX: usize = 1_024;

/// Sockets of others that a worker gets at most: a message carries so many.
const OTHERS_MAX: usize = 128;

impl Supervisor {
    /// Says to the workers how many they are.
    pub(crate) fn count_seats(&self) {
        let serves = |worker: &&Staff| worker.state == State::Serving && !worker.pulse.is_silent;
        let serving = self.workers().filter(serves).count();
        let used = self.workers().map(|worker| worker.seat + 1).max().unwrap_or(0);
        share::set_serving(&self.shares, serving, used);
    }

    pub(crate) fn free_seat(&self) -> usize {
        (0..share::SEATS).find(|seat| self.workers().all(|worker| worker.seat != *seat)).unwrap_or(0)
    }

    /// The sockets of the other slots, those that there are no more included, if workers may listen there.
    pub(crate) fn sockets_beside(&self, at: usize) -> Vec<BorrowedFd<'_>> {
        let others = self.slots.iter().enumerate().filter(|(other, _)| *other != at);
        let others = others.map(|(_, slot)| &slot.sockets).chain(&self.spare);
        // One loop has all: those of a process with several have enough to share among themselves.
        let is_one = |sockets: &&Sockets| self.plan.shares && sockets.len() == 1;
        others.filter(is_one).flatten().flatten().map(AsFd::as_fd).take(OTHERS_MAX).collect()
    }

    /// How many workers are wanted.
    pub(crate) fn wanted(&self) -> usize {
        self.slots.iter().filter(|slot| slot.is_wanted()).count()
    }

    /// Whether there may be one worker more.
    pub(crate) fn may_grow(&self) -> bool {
        self.wanted() < WORKERS_MAX
    }

    pub(crate) fn scale(&mut self, by: i8, now_ms: u64) {
        if by > 0 && !self.may_grow() {
            log::write(
                &messages::WORKER_NOT_ADDED,
                format_args!("there can be no worker more: {WORKERS_MAX} are the most"),
            );
            return;
        }
        if by > 0 {
            match self.add_slot() {
                Ok(()) => {
                    log::write(&messages::WORKER_MORE, format_args!("one worker more: {}", self.wanted()));
                }
                Err(error) => log::write(
                    &messages::WORKER_NOT_ADDED,
                    format_args!("there can be no worker more: {error}"),
                ),
            }
        } else if self.wanted() > 1
            && let Some(slot) = self.slots.iter_mut().rfind(|slot| slot.is_wanted())
        {
            slot.retires_ms = Some(now_ms + RETIRING_MS);
            log::write(&messages::WORKER_LESS, format_args!("one worker less: {}", self.wanted()));
        }
        self.spread();
    }

    pub(crate) fn add_slot(&mut self) -> io::Result<()> {
        // One that is about to go stays instead.
        if let Some(slot) = self.slots.iter_mut().find(|slot| !slot.is_wanted()) {
            (slot.retires_ms, slot.is_recalled) = (None, false);
            return Ok(());
        }
        let sockets = match self.spare.pop() {
            Some(sockets) => sockets,
            None if self.plan.sockets.is_empty() => (self.plan.open)()?,
            None => self.plan.sockets.remove(0),
        };
        self.slots.push(Slot::new(self.slots.len() + 1, sockets));
        Ok(())
    }

    /// Lets new connections come to the slots that stay.
    fn spread(&self) {
        let Some(first) = self.slots.first() else { return };
        let loops = first.sockets.len();
        let count = u32::try_from(self.wanted() * loops).unwrap_or(u32::MAX);
        for socket in first.sockets.iter().flatten() {
            // One that is not ours alone is shared by all workers, who need no choice among them.
            let _ = socket::choose_among(socket, count);
        }
    }

    /// Brings slots back that were given up, when somebody waits at their sockets all the same: no worker may listen there
    /// any more, so that nobody would ever be accepted.
    pub(crate) fn recall(&mut self) {
        let waited_at = self.spare.iter().position(is_waited_at);
        // The sockets of a group keep their order.
        for sockets in waited_at.map(|first| self.spare.split_off(first)).into_iter().flatten().rev() {
            let slot = Slot::new(self.slots.len() + 1, sockets);
            self.slots.push(Slot { is_recalled: true, ..slot });
        }
    }

    /// Ends the slots that are given up, once nothing comes to them any more.
    pub(crate) fn retire(&mut self, now_ms: u64) {
        for slot in self.slots.iter_mut().filter(|slot| slot.is_recalled && slot.serving().is_some()) {
            if !is_waited_at(&slot.sockets) {
                (slot.is_recalled, slot.retires_ms) = (false, Some(now_ms + RETIRING_MS));
            }
        }
        let graceful_ms = self.plan.limits.graceful_timeout_ms;
        for slot in &mut self.slots {
            if slot.retires_ms.is_some_and(|at_ms| at_ms <= now_ms) {
                for worker in &mut slot.workers {
                    let why = Reason::other("there are to be fewer workers");
                    worker.drain(why, UNHURRIED, graceful_ms, now_ms);
                }
            }
        }
        // The last socket of a group that shares an address must go first, so that the others keep their numbers.
        while self.slots.last().is_some_and(|slot| {
            slot.workers.is_empty() && slot.retires_ms.is_some_and(|at_ms| at_ms <= now_ms)
        }) {
            let slot = self.slots.pop();
            self.spare.extend(slot.map(|slot| slot.sockets));
        }
    }

    /// Starts one worker more or gives one up, as the requests that there are demand.
    pub(crate) fn look_at_demand(&mut self, elapsed_ms: u64, now_ms: u64) {
        let bounds = self.plan.bounds;
        if bounds.least == bounds.most || self.stop.is_some() {
            return;
        }
        let mut seen = Seen { elapsed_ms, ..Seen::default() };
        for slot in self.slots.iter_mut().filter(|slot| slot.retires_ms.is_none()) {
            for worker in slot.workers.iter_mut().filter(|worker| worker.state == State::Serving) {
                let cpu_ms = usage::cpu_ms(worker.pid);
                seen.cpu_ms += cpu_ms.saturating_sub(std::mem::replace(&mut worker.cpu_ms, cpu_ms));
                seen.queued += worker.tally.get(Cell::QueueLength);
                seen.busy += worker.tally.get(Cell::ThreadsBusy);
                seen.threads += worker.tally.get(Cell::Threads);
            }
        }
        seen.workers = self.wanted();
        match self.demand.look(seen, bounds) {
            0 => {}
            by => self.scale(by, now_ms),
        }
    }
}
