//! Messages of workers to the supervisor.

use serde_json::Value;

use super::Supervisor;
use crate::lines::message::{FromWorker, Source};
use crate::view::usage;
use crate::workers::action::{Id, Recipient};

impl Supervisor {
    /// Takes a message of a worker.
    pub(super) fn note(&mut self, id: Id, message: FromWorker, now_ms: u64) {
        match message {
            FromWorker::Sources(files) => self.watch_sources(&files),
            FromWorker::Forking { pid } => self.note_forking(id, pid),
            FromWorker::Hello { pid } => self.note_hello(id, pid, now_ms),
            FromWorker::Leaving => {
                let is_told = !self.stopping.has_begun();
                self.decide(now_ms, |fleet, out| fleet.note_leaving(id, is_told, now_ms, out));
            }
            FromWorker::Ready { serves } => self.note_ready(id, serves, now_ms),
            FromWorker::Answer(number, value) => self.note_answer(id, number, &value),
        }
    }

    fn note_answer(&mut self, id: Id, number: u64, value: &Value) {
        if let Some(worker) = self.fleet.worker(id) {
            self.rounds.note(number, worker.pid(), value);
        }
    }

    /// Notes that a prototype has begun to fork a worker, by way of a process of its own.
    fn note_forking(&mut self, id: Id, pid: u32) {
        let birth = usage::birth(pid);
        if usage::parent(pid).is_some_and(|parent| self.prototypes.knows(parent)) {
            self.fleet.note_forking(id, birth.map(|birth| Recipient::Forker { pid, birth }));
        }
    }

    /// Takes the process number of a forked worker. The number is checked, because this process sends signals to the
    /// process named, mostly with more rights than the worker has itself.
    fn note_hello(&mut self, id: Id, pid: u32, now_ms: u64) {
        let is_known = self.fleet.worker(id).is_none_or(|worker| worker.pid() != 0);
        // If the worker has ended already, its end is noted at once, and nothing is sent to it.
        let has_ended = self.links.has_ended(id) && self.unknown_children.has(pid);
        if is_known || self.knows(pid) || !(has_ended || usage::is_our_child(pid)) {
            return;
        }
        self.decide(now_ms, |fleet, out| fleet.note_hello(id, pid, out));
        if !has_ended {
            usage::end_before_us(pid);
        }
    }

    /// Watches the files of the application, but only in development: workers may send any names.
    pub(super) fn watch_sources(&mut self, files: &[Source]) {
        if self.plan.develops {
            self.watched.add_sources(files);
        }
    }

    fn note_ready(&mut self, id: Id, serves: String, now_ms: u64) {
        let Some(generation) = self.decide(now_ms, |fleet, out| fleet.note_ready(id, now_ms, out)) else {
            return;
        };
        if self.reloads.note_served(generation) {
            (self.plan.on_ready)(&serves);
            self.manager.ready(&format!("serves {serves}"));
            self.tell_parent(&FromWorker::Ready { serves: serves.clone() });
        }
        self.serves = serves;
        self.report(now_ms);
        debug_assert!(self.stopping.failed().is_none(), "a worker has served");
    }
}
