//! The program that is on the disk now takes the place of this one (SIGUSR2).

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use adyton_log::{self as log, Level, messages};
use adyton_server::prefixes::Prefixes;
use adyton_sys::child::{self, Exit, Kick};
use adyton_sys::clock;

use super::Supervisor;
use super::branches::LEAVE_MS;
use crate::groups::branches::{Branch, Standing};
use crate::groups::doorways::GroupPlan;
use crate::groups::group_sockets::NotedSocket;
use crate::versions::note::{Note, NotedBranch, NotedBranches, NotedSlot, NotedWorker, TRIAL};
use crate::versions::reloads::Reloads;
use crate::versions::succession::{Condition, Step};
use crate::workers::action::Id;
use crate::workers::cause::Cause;
use crate::workers::worker_process::{Record, WorkerProcess};

/// Returns a table of requests in the form that a note has.
fn noted(table: &Prefixes) -> BTreeMap<String, [u64; 3]> {
    let numbers = table.iter().map(|(name, asked)| (name, [asked.requests, asked.errors, asked.duration_us]));
    numbers.map(|(name, numbers)| (name.clone(), numbers)).collect()
}

impl Supervisor {
    /// Replaces this process by its program, as it is on the disk now. Returns only if that fails.
    fn succeed(&self) -> io::Error {
        let note = match self.written() {
            Ok(note) => note,
            Err(error) => return error,
        };
        let number = note.as_raw_fd().to_string();
        let mut kept: Vec<BorrowedFd<'_>> = vec![note.as_fd()];
        kept.extend(self.ports.descriptors());
        kept.extend(self.links.descriptors());
        kept.push(self.shares.as_fd());
        for (_, doorway) in self.doorways.iter() {
            kept.extend([doorway.door.as_fd(), doorway.branch.as_fd(), doorway.edition.as_fd()]);
            kept.extend(doorway.line.as_ref().map(AsFd::as_fd));
        }
        kept.extend(self.doorways.sockets().into_iter().map(AsFd::as_fd));
        kept.extend([self.doorways.board(), self.doorways.secret()]);
        kept.extend(self.admin_servers.sockets().into_iter().flatten());
        self.ended_workers.settle();
        log::settle();
        self.plan.program.replace_this(&self.plan.arguments_of("succeed", number), &kept)
    }

    fn written(&self) -> io::Result<OwnedFd> {
        let [sockets, spare] = self.ports.numbers();
        let records = self.fleet.records(clock::monotonic_ms());
        let slots = sockets.into_iter().zip(records).map(|(sockets, (retires_ms, workers))| NotedSlot {
            sockets,
            workers: workers.into_iter().filter_map(|(id, record)| self.noted(id, record)).collect(),
            retires_ms,
        });
        let past = self.ended_workers.total();
        let [control, admin] = self.admin_servers.sockets().map(|socket| Some(socket?.as_raw_fd()));
        let note = Note {
            slots: slots.collect(),
            bounds: Some(self.plan.bounds),
            generation: self.reloads.generation(),
            proven: self.reloads.proven(),
            starts: self.fleet.starts(),
            since_ms: self.since_ms,
            serves: self.serves.clone(),
            past: past.cells().to_vec(),
            prefixes: noted(past.prefixes()),
            sites: noted(past.sites()),
            deaths: self
                .ended_workers
                .deaths()
                .iter()
                .map(|(cause, count)| (cause.word().to_owned(), *count))
                .collect(),
            log_level: self.log_level.map(|level| level.name().to_owned()),
            shares: self.shares.as_fd().as_raw_fd(),
            spare,
            control,
            admin,
            branches: Some(self.noted_branches()),
        };
        child::note(&serde_json::to_vec(&note)?)
    }

    fn noted_branches(&self) -> NotedBranches {
        let noted = |branch: &Branch| {
            let doorway = self.doorways.get(branch.id)?;
            let (pid, since_ms) = match branch.standing {
                Standing::Serving { pid, since_ms, .. } => (pid, since_ms),
                _ => (0, 0),
            };
            Some(NotedBranch {
                id: branch.id,
                name: branch.key.name.clone(),
                fingerprint: branch.key.fingerprint.clone(),
                pid,
                since_ms,
                starts: branch.starts,
                cell: doorway.cell,
                door: doorway.door.as_raw_fd(),
                branch: doorway.branch.as_raw_fd(),
                line: doorway.line.as_ref().map(|line| line.as_fd().as_raw_fd()),
                edition: doorway.edition.as_raw_fd(),
                addresses: doorway.plan.sockets.iter().map(|socket| socket.address.clone()).collect(),
            })
        };
        NotedBranches {
            all: self.branches.iter().filter_map(noted).collect(),
            versions: self.branches.versions().clone(),
            open: self.doorways.board().as_raw_fd(),
            secret: self.doorways.secret().as_raw_fd(),
            sockets: self.doorways.sockets().into_iter().map(|socket| NotedSocket::new(socket)).collect(),
        }
    }

    fn noted(&self, id: Id, record: Record) -> Option<NotedWorker> {
        self.links.get(id).map(|link| NotedWorker::new(record, link))
    }

    /// Takes over from another program.
    pub(super) fn go_on(&mut self, note: &Note, groups: &[GroupPlan]) -> io::Result<()> {
        let leave_ms = self.plan.limits.graceful_timeout_ms.saturating_add(LEAVE_MS);
        let sockets = std::mem::take(&mut self.plan.group_sockets);
        if let Some((branches, doorways)) = note.take_branches(groups, &sockets, leave_ms)? {
            (self.branches, self.doorways) = (branches, doorways);
        }
        let (slots, boards) = note.take_workers()?;
        let ids = self.fleet.take(note.starts, slots);
        for (id, link) in ids.into_iter().zip(boards) {
            self.links.insert(id, link);
        }
        self.shares = note.take_shares()?;
        self.ports.take_spare(note.take_spare()?);
        self.reloads = Reloads::taken(note.generation, note.proven);
        (self.since_ms, self.serves) = (note.since_ms, note.serves.clone());
        let known =
            note.deaths.iter().filter_map(|(word, count)| Cause::named(word).map(|cause| (cause, *count)));
        self.ended_workers.take(note.past(), known.collect());
        if let Some(level) = note.log_level.as_deref().and_then(Level::named) {
            log::set_level(level);
            self.log_level = Some(level);
        }
        log::write(
            &messages::PROGRAM_REPLACED,
            format_args!("the supervisor is version {} now", env!("CARGO_PKG_VERSION")),
        );
        Ok(())
    }

    /// Lets the program that is on the disk now take the place of this one, once a trial has shown that it can be
    /// started, and while no worker is between two states.
    pub(super) fn make_way(&mut self, now_ms: u64) {
        if !self.succession.is_asked() {
            return;
        }
        let (condition, has_prototypes) = (self.condition(now_ms), !self.prototypes.is_empty());
        let is_closed = self.admin_servers.have_ended();
        match self.succession.look(condition, has_prototypes, is_closed, now_ms) {
            None => {}
            Some(Step::TryOut) => self.try_out(now_ms),
            Some(Step::Kill(pid)) => child::kick(pid, Kick::Kill),
            Some(Step::DismissPrototypes) => self.dismiss_prototypes(now_ms),
            Some(Step::CloseAdmin) => self.admin_servers.give_up(),
            Some(Step::OpenAdmin) => self.answer_again(),
            Some(Step::Replace) => {
                let error = self.succeed();
                self.stay(&error);
                self.answer_again();
            }
        }
    }

    /// Opens the control socket and the admin listener again. They were closed for another program, which has not taken
    /// over after all.
    fn answer_again(&mut self) {
        if let Err(error) = self.admin_servers.open_again(&self.questions) {
            log::write(
                &messages::PROGRAM_NOT_REPLACED,
                format_args!("this server answers no questions and takes no orders any more: {error}"),
            );
        }
    }

    /// Returns the condition of the server: settled if all workers, prototypes and branches are there, and no change is
    /// under way that a note cannot describe.
    fn condition(&self, now_ms: u64) -> Condition {
        let is_settled = self.reloads.has_served()
            && self.reloads.is_settled()
            && self.prototypes.are_ready()
            && self.branches.is_settled()
            && self.fleet.workers().all(WorkerProcess::has_served)
            && !self.fleet.wants_worker(self.reloads.generation(), now_ms);
        match is_settled {
            _ if self.stopping.has_begun() => Condition::Stopping,
            true => Condition::Settled,
            false => Condition::Changing,
        }
    }

    fn try_out(&mut self, now_ms: u64) {
        match self.plan.program.spawn(&self.plan.arguments_of("succeed", TRIAL.to_owned()), &[]) {
            Ok(pid) => self.succession.note_tried(pid, now_ms),
            Err(error) => {
                self.succession.fail();
                log::write(
                    &messages::PROGRAM_NOT_STARTED,
                    format_args!("the program cannot be started: {error}"),
                );
            }
        }
    }

    /// Notes that the trial is over.
    pub(super) fn note_trial(&mut self, exit: Exit) {
        if let Some(why) = self.succession.note_trial(exit) {
            self.stay(&why);
        }
    }

    fn stay(&mut self, why: &dyn fmt::Display) {
        self.succession.fail();
        log::write(
            &messages::PROGRAM_NOT_REPLACED,
            format_args!("the program on the disk cannot take over, and this one goes on: {why}"),
        );
    }
}
