//! The supervisor starts prototypes, hears from them, and lets them go (`--preload`).

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use adyton_log::{self as log, messages};
use adyton_sys::pass;

use super::Supervisor;
use crate::lines::prototype_line::PrototypeLine;
use crate::plan::OWN_VARIABLES;

impl Supervisor {
    /// Has prototypes open their log again: otherwise the renamed file stays open until the next reload.
    pub(super) fn reopen_in_prototypes(&self) {
        for line in self.prototypes.pids(true).filter_map(|pid| self.prototype_lines.get(&pid)) {
            // If the prototype is gone, the supervisor learns that by the end of its process.
            let _ = line.reopen();
        }
    }

    /// Hears from the prototypes that import the application.
    pub(super) fn listen_to_prototypes(&mut self) {
        let importing: Vec<u32> = self.prototypes.pids(false).collect();
        for pid in importing {
            self.listen_to_prototype(pid);
        }
    }

    /// Hears from a prototype that imports the application.
    pub(super) fn listen_to_prototype(&mut self, pid: u32) {
        if self.prototypes.pids(false).all(|other| other != pid) {
            return;
        }
        let heard = self.prototype_lines.get(&pid).map(PrototypeLine::listen).unwrap_or_default();
        if heard.is_ready {
            self.prototypes.note_ready(pid);
        }
        self.watch_sources(&heard.blamed);
    }

    /// Starts the prototype that workers of this generation are forked from; ends prototypes that are no longer needed.
    pub(super) fn keep_prototypes(&mut self, now_ms: u64) {
        let generation = self.reloads.generation();
        let mut actions = Vec::new();
        self.prototypes.look([generation, self.reloads.proven()], now_ms, &mut actions);
        self.carry_out(actions, now_ms);
        let is_wanted = self.fleet.wants_worker(generation, now_ms);
        if !self.prototypes.wants_one(generation, is_wanted, now_ms) {
            return;
        }
        match self.start_prototype() {
            Ok((pid, line)) => {
                self.prototypes.note_started(pid, generation, now_ms);
                self.prototype_lines.insert(pid, line);
            }
            Err(error) => {
                log::write(
                    &messages::PROTOTYPE_NOT_STARTED,
                    format_args!("the prototype cannot be started: {error}"),
                );
                self.prototypes.note_not_started(now_ms);
            }
        }
    }

    fn start_prototype(&self) -> io::Result<(u32, PrototypeLine)> {
        let (ours, theirs) = pass::pair()?;
        let mut told = theirs.as_raw_fd().to_string();
        let mut kept = vec![theirs.as_fd()];
        if let Some(edition) = self.editions.of(self.reloads.generation()) {
            told = format!("{told},{}", edition.as_raw_fd());
            if let Some((branch, _)) = &self.parent {
                told = format!("{told},{}", branch.group);
            }
            kept.push(edition);
        }
        let arguments = self.plan.arguments_of("prototype", told);
        let pid = self.plan.program.spawn_as(None, &OWN_VARIABLES, &arguments, &kept)?;
        Ok((pid, PrototypeLine::new(ours)))
    }

    /// Lets all prototypes go.
    pub(super) fn dismiss_prototypes(&mut self, now_ms: u64) {
        let mut actions = Vec::new();
        self.prototypes.dismiss_all(now_ms, &mut actions);
        self.carry_out(actions, now_ms);
    }

    /// Returns the line to the prototype of this generation, once it can fork.
    pub(super) fn prototype_line(&self) -> Option<&PrototypeLine> {
        self.prototypes.ready(self.reloads.generation()).and_then(|pid| self.prototype_lines.get(&pid))
    }
}
