//! The end of children: of workers, of prototypes, and of unknown ones.

use adyton_log::{self as log, messages};
use adyton_server::share;
use adyton_sys::child::{self, Exit, Kick};
use serde_json::json;

use super::Supervisor;
use crate::control::question::AdminAnswer;
use crate::lines::links::Link;
use crate::lines::message::FromWorker;
use crate::versions::reloads::Verdict;
use crate::view::usage;
use crate::workers::action::Id;
use crate::workers::cause::{Cause, NOT_LOADED, SIGKILL};
use crate::workers::fleet::Death;
use crate::workers::prototypes::Loss;
use crate::workers::worker_process::WorkerProcess;

/// How many of the requests in which a worker has died are named.
const NAMED_MAX: usize = 20;

impl Supervisor {
    /// Notes that a child has ended.
    pub(super) fn note_end(&mut self, pid: u32, exit: Exit, now_ms: u64) {
        if self.succession.trial() == Some(pid) {
            return self.note_trial(exit);
        }
        if self.branches.of_process(pid).is_some() && self.note_branch_end(pid, exit, now_ms) {
            return;
        }
        let found = self.fleet.workers().find(|worker| worker.pid() == pid).map(WorkerProcess::id);
        match found {
            Some(id) => self.note_worker_end(id, Some(exit), now_ms),
            None => self.note_other_end(pid, exit, now_ms),
        }
    }

    /// Notes that a worker has ended; `exit` is unknown for a worker that had not said which process it is.
    fn note_worker_end(&mut self, id: Id, exit: Option<Exit>, now_ms: u64) {
        let memory_was_short = exit.is_some_and(|exit| self.oom_kills.explain(exit));
        let link = self.links.remove(id).map(|mut link| (link.receive(), link));
        let served = |(said, link): &(Vec<FromWorker>, Link)| has_served(said, &link.tally().inside());
        let is_on_trial = self.fleet.generation_of(id).is_some_and(|of| self.reloads.is_on_trial(of));
        // A reload to a version that dies of its first request is given up: the older version serves on.
        if !is_on_trial && link.as_ref().is_some_and(served) {
            self.fleet.note_served(id, now_ms);
        }
        let Some(death) = self.fleet.note_end(id, exit, memory_was_short, now_ms) else { return };
        // A worker that does not start at all says why, and its own words are enough.
        let has_started = self.reloads.has_served() || death.has_served;
        let is_said = !has_started && matches!(exit, Some(Exit::Status(2 | NOT_LOADED)));
        let is_well = matches!(death.cause, Cause::Told | Cause::Limit) && !has_failed(exit) || is_said;
        let message = if is_well { &messages::WORKER_ENDED } else { &messages::WORKER_DIED };
        let inside = match &link {
            Some((_, link)) if !is_well => said_of(&link.tally().inside()),
            _ => String::new(),
        };
        let next = if has_started { &*death.next } else { "" };
        let Death { number, process, words, .. } = &death;
        log::write(message, format_args!("worker {number} ({process}) {words}{inside}{next}"));
        share::clear(&self.shares, death.row);
        if let Some((said, link)) = link {
            for message in said {
                // A worker that could not load its application says which files are to blame.
                if let FromWorker::Sources(files) = message {
                    self.watch_sources(&files);
                }
            }
            self.ended_workers.add(death.cause, link.tally());
        }
        self.rounds.forget(death.pid);
        if death.is_unasked && !death.has_served {
            self.note_not_started(death.generation, exit, now_ms);
        }
    }

    /// Notes the end of a child that is no worker, or is not known as a worker yet.
    fn note_other_end(&mut self, pid: u32, exit: Exit, now_ms: u64) {
        if self.prototypes.note_dismissed_end(pid) {
            return;
        }
        if self.prototypes.has(pid) {
            return self.note_prototype_end(pid, exit, now_ms);
        }
        self.unknown_children.note(pid, exit, now_ms);
    }

    fn note_prototype_end(&mut self, pid: u32, exit: Exit, now_ms: u64) {
        self.listen_to_prototype(pid);
        self.prototype_lines.remove(&pid);
        let memory_was_short = self.oom_kills.explain(exit);
        let loss = self.prototypes.note_end(pid, exit, memory_was_short, self.reloads.generation(), now_ms);
        let Some(Loss { generation, was_ready, words }) = loss else { return };
        if let Some(words) = words
            && !self.stopping.has_begun()
        {
            log::write(&messages::PROTOTYPE_DIED, format_args!("the prototype (process {pid}) {words}"));
        }
        if !was_ready {
            self.note_not_started(generation, Some(exit), now_ms);
        }
    }

    /// Notes the ends of forked workers that have ended, whether or not they had said which process they are.
    pub(super) fn note_unnamed_ends(&mut self, now_ms: u64) {
        self.unknown_children.forget(now_ms);
        let named = self.fleet.workers().map(|worker| (worker.id(), worker.pid()));
        let ended: Vec<(Id, u32)> = named
            .filter(|&(id, pid)| self.links.has_ended(id) && (pid == 0 || self.unknown_children.has(pid)))
            .collect();
        for (id, pid) in ended {
            let exit = self.unknown_children.take(pid);
            self.note_worker_end(id, exit, now_ms);
        }
    }

    /// Ends forked workers that are to end and have not said which process they are. The process that has forked such a
    /// worker may have been ended before it reported the worker, while the worker hangs in the application's fork
    /// handlers. The worker is our child by now, and has the other end of its line.
    pub(super) fn end_lost_workers(&self) {
        let lost: Vec<Id> =
            self.fleet.workers().filter(|worker| worker.is_lost()).map(WorkerProcess::id).collect();
        if lost.is_empty() {
            return;
        }
        let links: Vec<_> = lost.into_iter().filter_map(|id| self.links.get(id)).collect();
        for pid in usage::children().into_iter().filter(|&pid| !self.knows(pid)) {
            if links.iter().any(|link| link.is_held_by(pid)) {
                child::kick(pid, Kick::Kill);
            }
        }
    }

    /// Notes that a worker has ended before it served.
    pub(super) fn note_not_started(&mut self, generation: u32, exit: Option<Exit>, now_ms: u64) {
        let awaits_changes = self.plan.develops && self.watched.sees_files();
        match self.reloads.note_not_started(generation, exit, awaits_changes) {
            Verdict::TryLater => {}
            Verdict::TryAtOnce => self.fleet.hold_until(now_ms),
            Verdict::AwaitChange => {
                log::write(
                    &messages::WAITS_FOR_CHANGE,
                    format_args!("the application does not start; waiting until one of its files changes"),
                );
                // The imported application is of no use: the next version has a prototype of its own.
                self.dismiss_prototypes(now_ms);
                self.fleet.hold_until(u64::MAX);
            }
            Verdict::Fail(status) => self.stopping.fail(status, now_ms),
            Verdict::GiveUp => {
                self.branches.give_up(self.reloads.generation());
                self.manager.ready("the last reload has failed; the old version serves on");
                let how = "the new version does not start; the old one serves on";
                log::write(&messages::VERSION_NOT_STARTED, format_args!("{how}"));
                self.refuse_reloads(how);
            }
            Verdict::Stall => self.stall(),
        }
    }

    /// Tells clients that wait for a reload that the reload has stalled. The new version is tried again, less and less
    /// often: a worker may fail to start because another one holds a resource, which may come free.
    fn stall(&mut self) {
        let served = self.fleet.served_by(self.reloads.generation());
        let how = format!(
            "the new version serves in {served} of {} workers and does not start in the others, where the old one \
             serves on",
            self.fleet.wanted()
        );
        self.manager.ready(&how);
        log::write(&messages::VERSION_STALLED, format_args!("{how}"));
        self.refuse_reloads(&how);
    }

    pub(super) fn refuse_reloads(&mut self, why: &str) {
        for (asker, _) in std::mem::take(&mut self.awaiting_reload) {
            self.tell(asker, AdminAnswer(500, json!(why)));
        }
    }
}

/// Whether a worker has served: its last message said so, or it has died in these requests before it could say so.
fn has_served(said: &[FromWorker], inside: &[String]) -> bool {
    !inside.is_empty() || said.iter().any(|message| matches!(message, FromWorker::Ready { .. }))
}

/// Returns the requests in which a worker has died, in words.
fn said_of(inside: &[String]) -> String {
    match inside {
        [] => String::new(),
        [one] => format!("; the request inside the application was {one}"),
        all => {
            let surplus = all.len().saturating_sub(NAMED_MAX);
            let more = if surplus == 0 { String::new() } else { format!(", and {surplus} more") };
            let named = all[..all.len() - surplus].join(", ");
            format!("; the requests inside the application were {named}{more}")
        }
    }
}

/// Whether the exit status reports a failure, or a signal other than ours has ended the process.
fn has_failed(exit: Option<Exit>) -> bool {
    match exit {
        Some(Exit::Status(status)) => status != 0,
        Some(Exit::Signal(number)) => number != SIGKILL,
        None => false,
    }
}
