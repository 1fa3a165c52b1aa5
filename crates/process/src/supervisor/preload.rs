//! Which prototypes there are to be (`--preload`).

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use adyton_log::{self as log, messages};
use adyton_sys::child::{self, Kick};
use adyton_sys::pass;

use super::Supervisor;
use crate::nursery::{Dismissed, PROTOTYPE_PAUSE_MS, Prototype};
use crate::staff::LAST_WORDS_MS;

impl Supervisor {
    /// Has prototypes open their log again: else the file that was renamed stays open until the next reload.
    pub(super) fn reopen_in_prototypes(&self) {
        for prototype in self.prototypes.iter().filter(|prototype| prototype.is_ready) {
            // One that is gone is noticed by its end.
            let _ = prototype.reopen();
        }
    }

    /// Starts the process that workers of this generation are forked from; ends those that are no longer needed.
    pub(super) fn keep_prototypes(&mut self, now_ms: u64) {
        if !self.plan.preload {
            return;
        }
        let (generation, proven) = (self.generation, self.proven);
        // The newest that has served is what is left if this one does not.
        self.dismiss_prototypes(|prototype| ![generation, proven].contains(&prototype.generation), now_ms);
        for prototype in &mut self.prototypes {
            if prototype.due_ms.is_some_and(|due_ms| due_ms <= now_ms) {
                let pid = prototype.pid;
                if std::mem::replace(&mut prototype.is_doomed, true) {
                    child::kick(pid, Kick::Kill);
                    prototype.due_ms = None;
                    continue;
                }
                log::write(
                    &messages::PROTOTYPE_STUCK,
                    format_args!("the prototype (process {pid}) is not ready; this is where it is:"),
                );
                child::kick(pid, Kick::Abort);
                prototype.due_ms = Some(now_ms + LAST_WORDS_MS);
            }
        }
        let is_there = self.prototypes.iter().any(|prototype| prototype.generation == generation);
        let is_wanted = self.fleet.wants_worker(generation, now_ms);
        if is_there || !is_wanted || now_ms < self.prototype_not_before_ms {
            return;
        }
        if let Err(error) = self.start_prototype(now_ms) {
            log::write(
                &messages::PROTOTYPE_NOT_STARTED,
                format_args!("the prototype cannot be started: {error}"),
            );
            self.prototype_not_before_ms = now_ms + PROTOTYPE_PAUSE_MS;
        }
    }

    /// Lets prototypes go. One that imports has nothing to finish; the others end by themselves, unless threads that the
    /// application has started keep them.
    pub(super) fn dismiss_prototypes(&mut self, which: impl Fn(&Prototype) -> bool, now_ms: u64) {
        for prototype in self.prototypes.extract_if(.., |prototype| which(prototype)) {
            let grace_ms = if prototype.is_ready { LAST_WORDS_MS } else { 0 };
            self.dismissed.push(Dismissed { pid: prototype.pid, due_ms: Some(now_ms + grace_ms) });
        }
        for dismissed in &mut self.dismissed {
            if dismissed.due_ms.is_some_and(|due_ms| due_ms <= now_ms) {
                child::kick(dismissed.pid, Kick::Kill);
                dismissed.due_ms = None;
            }
        }
    }

    fn start_prototype(&mut self, now_ms: u64) -> io::Result<()> {
        let (ours, theirs) = pass::pair()?;
        let arguments = self.plan.arguments_of("prototype", theirs.as_raw_fd().to_string());
        let pid = self.plan.program.spawn(&arguments, &[theirs.as_fd()])?;
        let due_ms = self.plan.limits.startup_due_ms(now_ms);
        self.prototypes.push(Prototype::new(pid, self.generation, ours, due_ms));
        Ok(())
    }

    /// The prototype of this generation, once it can fork.
    pub(super) fn prototype(&self) -> Option<&Prototype> {
        self.prototypes.iter().find(|prototype| prototype.is_ready && prototype.generation == self.generation)
    }
}
