//! The supervisor starts workers, and changes the number of slots.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use adyton_log::{self as log, messages};
use adyton_server::tally::Tally;
use adyton_sys::socket;

use super::Supervisor;
use crate::lines::links::Link;
use crate::lines::message::Channel;
use crate::lines::place::{Place, Position};
use crate::plan::OWN_VARIABLES;
use crate::view::usage;
use crate::workers::fleet::{WORKERS_MAX, Wanted};
use crate::workers::worker_process::Birth;

impl Supervisor {
    /// Starts the workers that are due.
    pub(super) fn start_workers(&mut self, now_ms: u64) {
        for at in 0..self.fleet.slots().len() {
            let wanted = Wanted {
                generation: self.reloads.generation(),
                is_proven: self.reloads.is_proven(),
                may_fork: self.prototypes.may_fork(self.reloads.generation()),
            };
            if let Some(birth) = self.fleet.start(at, wanted, now_ms)
                && let Err(error) = self.start(at, &birth)
            {
                self.fleet.note_not_spawned(birth.id, now_ms);
                log::write(
                    &messages::WORKER_NOT_STARTED,
                    format_args!("worker {} cannot be started: {error}", birth.number),
                );
                self.note_not_started(self.reloads.generation(), None, now_ms);
            }
        }
    }

    fn start(&mut self, at: usize, birth: &Birth) -> io::Result<()> {
        let (ours, theirs) = socket::pair()?;
        let tally = Tally::new()?;
        let position = Position {
            number: birth.number,
            of: self.fleet.wanted(),
            generation: birth.generation,
            row: birth.row,
        };
        let own = [theirs.as_fd(), tally.board().as_fd(), self.shares.as_fd()];
        let (sockets, others) = (self.ports.of(at), self.ports.beside(at));
        let prototype = self.prototype_line();
        // A prototype has the file already.
        let edition = if prototype.is_none() { self.editions.of(birth.generation) } else { None };
        let passages = self.passages(birth.generation);
        let place = Place::new(position, own, sockets, &others, &passages, edition, self.log_level);
        let mut kept = own.to_vec();
        kept.extend(sockets.iter().flatten().map(OwnedFd::as_fd));
        kept.extend(&others);
        kept.extend(passages.descriptors());
        kept.extend(edition);
        if let Some(prototype) = prototype {
            // The worker says itself which process it is.
            prototype.fork(&place, &kept)?;
        } else {
            let arguments = self.plan.arguments_of("worker", place.written());
            let pid = self.plan.program.spawn_as(None, &OWN_VARIABLES, &arguments, &kept)?;
            usage::end_before_us(pid);
            self.fleet.note_spawned(birth.id, pid);
        }
        self.links.insert(birth.id, Link::to_unborn(Channel::new(ours), &theirs, tally));
        Ok(())
    }

    /// Adds a slot, unless a slot that is about to go can stay instead.
    pub(super) fn add_slot(&mut self) -> io::Result<()> {
        if !self.fleet.keep_one() {
            self.ports.add()?;
            self.fleet.add();
        }
        Ok(())
    }

    /// Adds a worker, or gives one up.
    pub(super) fn scale(&mut self, by: i8, now_ms: u64) {
        if by > 0 && !self.fleet.may_grow() {
            log::write(
                &messages::WORKER_NOT_ADDED,
                format_args!("no further worker can be started: {WORKERS_MAX} are the most"),
            );
            return;
        }
        if by > 0 {
            match self.add_slot() {
                Ok(()) => {
                    let wanted = self.fleet.wanted();
                    log::write(&messages::WORKER_MORE, format_args!("one more worker: {wanted}"));
                }
                Err(error) => log::write(
                    &messages::WORKER_NOT_ADDED,
                    format_args!("no further worker can be started: {error}"),
                ),
            }
        } else if self.fleet.give_up_one(now_ms) {
            let wanted = self.fleet.wanted();
            log::write(&messages::WORKER_LESS, format_args!("one worker fewer: {wanted}"));
        }
        self.ports.spread(self.fleet.wanted());
    }

    /// Ends the slots that are given up, once no connection comes to them any more.
    pub(super) fn retire(&mut self, now_ms: u64) {
        let mut actions = Vec::new();
        let gone = self.fleet.retire(|at| self.ports.is_waited_at(at), now_ms, &mut actions);
        self.carry_out(actions, now_ms);
        self.ports.give_up(gone);
    }
}
