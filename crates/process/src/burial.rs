//! The end of children: of workers, of prototypes, and of those that nobody knows.

use adyton_log::{self as log, Journal, messages};
use adyton_server::share;
use adyton_sys::child::Exit;
use serde_json::json;

use crate::cause::{Cause, Known, NOT_LOADED, Reason, SIGKILL, cause};
use crate::message::FromWorker;
use crate::nursery::PROTOTYPE_PAUSE_MS;
use crate::slot::{Slot, Staff, backoff_ms};
use crate::supervisor::{Stop, Supervisor};

/// Children of others whose end is remembered for a moment.
const STRANGERS_MAX: usize = 64;

/// For so long: whoever is said to be one of them says so, or has ended, at the same time.
const STRANGERS_MS: u64 = 60_000;

/// How many of the requests that a worker has died in are named.
const NAMED_MAX: usize = 20;

/// What the lines of dead workers may take in memory, whatever else may wait for a log: several can leave 272 KiB each.
const LEFT_BYTES_MAX: usize = 4 << 20;

/// Workers that do not start, one after the other, until it is said that a reload does not come to its end.
const NOT_STARTED_MAX: u32 = 3;

impl Supervisor {
    /// A child has ended.
    pub(crate) fn bury(&mut self, pid: u32, exit: Exit, now_ms: u64) {
        if self.succession.trial() == Some(pid) {
            return self.note_trial(exit);
        }
        let found = self.slots.iter().enumerate().find_map(|(at, slot)| {
            slot.workers.iter().position(|worker| worker.pid == pid).map(|of| (at, of))
        });
        match found {
            Some((at, of)) => self.bury_worker(at, of, Some(exit), now_ms),
            None => self.bury_other(pid, exit, now_ms),
        }
    }

    /// A worker has ended; how is not known of one that had not said who it is.
    fn bury_worker(&mut self, at: usize, of: usize, exit: Option<Exit>, now_ms: u64) {
        let memory_was_short = exit.is_some_and(|exit| self.oom_kills.explain(exit));
        let mut worker = self.slots[at].workers.remove(of);
        for message in worker.channel.receive() {
            // One that could not load its application says which files are to blame.
            if let FromWorker::Sources(files) = message {
                self.watch_sources(&files);
            }
        }
        let slot = &mut self.slots[at];
        let known = Known {
            served: worker.serving_ms.is_some(),
            told: worker.told.as_ref(),
            hurried: worker.hurried,
            doomed: worker.doomed.as_deref(),
            memory_was_short,
            rss_bytes: worker.rss_bytes,
        };
        let (cause, words) = cause(exit, &known);
        // One that does not start at all says why, and its own words are enough.
        let is_said = self.proven == 0 && matches!(exit, Some(Exit::Status(2 | NOT_LOADED)));
        let is_well = matches!(cause, Cause::Told | Cause::Limit) && !has_failed(exit) || is_said;
        let message = if is_well { &messages::WORKER_ENDED } else { &messages::WORKER_DIED };
        let inside = if is_well { String::new() } else { said_of(&worker.tally.inside()) };
        let is_unasked = worker.told.is_none();
        if is_unasked {
            slot.note_failure(now_ms - worker.started_ms, now_ms);
        }
        let next = if is_unasked && self.proven > 0 { slot.said_of_next(now_ms) } else { String::new() };
        let process = worker.process();
        log::write(message, format_args!("worker {} ({process}) {words}{inside}{next}", slot.number));
        let lines = worker.tally.lines_left();
        *self.deaths.entry(cause).or_default() += 1;
        share::clear(&self.shares, worker.seat);
        self.past.add_past(&worker.tally.sample());
        self.write_lines(lines);
        let entries = worker.tally.entries_left();
        if !entries.is_empty() {
            log::put_left(entries);
        }
        for round in &mut self.rounds {
            round.waiting.retain(|&(_, other)| other != worker.pid);
        }
        if is_unasked && worker.serving_ms.is_none() {
            self.note_not_started(worker.generation, exit, now_ms);
        }
    }

    /// Writes the lines of its access log that a worker has left, on a thread of the log's.
    fn write_lines(&mut self, lines: Vec<u8>) {
        let Some(target) = self.plan.access_log.as_ref().filter(|_| !lines.is_empty()) else { return };
        let journal = match self.lines_left.take() {
            Some(journal) => Ok(journal),
            None => Journal::passing_access(target, self.plan.log_queue_bytes_max.max(LEFT_BYTES_MAX)),
        };
        match journal {
            Ok(journal) => {
                journal.put_lines(lines, None);
                self.lines_left = Some(journal);
            }
            Err(error) => log::write(
                &messages::ACCESS_LOG_LOST,
                format_args!("there can be no thread that writes the last lines of a worker: {error}"),
            ),
        }
    }

    /// A child has ended that is no worker, or was not known as one yet.
    fn bury_other(&mut self, pid: u32, exit: Exit, now_ms: u64) {
        if let Some(at) = self.dismissed.iter().position(|dismissed| dismissed.pid == pid) {
            self.dismissed.swap_remove(at);
            return;
        }
        if let Some(at) = self.prototypes.iter().position(|prototype| prototype.pid == pid) {
            let mut prototype = self.prototypes.remove(at);
            self.watch_sources(&prototype.listen());
            if prototype.is_ready {
                (self.prototype_failures, self.prototype_not_before_ms) = (0, now_ms);
            } else {
                self.prototype_failures += 1;
                self.prototype_not_before_ms =
                    now_ms + backoff_ms(PROTOTYPE_PAUSE_MS, self.prototype_failures);
            }
            let unneeded = Reason::other("it is no longer needed");
            let known = Known {
                served: prototype.is_ready,
                told: (prototype.generation != self.generation).then_some(&unneeded),
                hurried: true,
                doomed: prototype.is_doomed.then_some("was not ready in time, or has not forked in time"),
                memory_was_short: self.oom_kills.explain(exit),
                rss_bytes: 0,
            };
            let (cause, words) = cause(Some(exit), &known);
            if cause != Cause::Told && self.stop.is_none() {
                log::write(&messages::PROTOTYPE_DIED, format_args!("the prototype (process {pid}) {words}"));
            }
            if !prototype.is_ready {
                self.note_not_started(prototype.generation, Some(exit), now_ms);
            }
            return;
        }
        // Process 1, and who adopts orphans, hears of everybody's children. Only a few can be workers.
        self.strangers.push((pid, exit, now_ms));
        let surplus = self.strangers.len().saturating_sub(STRANGERS_MAX);
        self.strangers.drain(..surplus);
    }

    /// Forked workers that have ended before, or after, they said who they are.
    pub(crate) fn bury_nameless(&mut self, now_ms: u64) {
        // Numbers come again.
        self.strangers.retain(|(_, _, since_ms)| now_ms < since_ms + STRANGERS_MS);
        for at in 0..self.slots.len() {
            while let Some(of) = self.slots[at].workers.iter().position(|worker| {
                worker.channel.has_ended()
                    && (worker.pid == 0 || self.strangers.iter().any(|(pid, ..)| *pid == worker.pid))
            }) {
                let pid = self.slots[at].workers[of].pid;
                let known = self.strangers.iter().position(|(other, ..)| *other == pid);
                let exit = known.map(|known| self.strangers.swap_remove(known).1);
                self.bury_worker(at, of, exit, now_ms);
            }
        }
    }

    /// A worker has ended before it served.
    pub(crate) fn note_not_started(&mut self, generation: u32, exit: Option<Exit>, now_ms: u64) {
        if self.proven == 0
            && self.plan.develops
            && exit == Some(Exit::Status(NOT_LOADED))
            && self.watch.sees_files()
        {
            if generation < self.generation {
                // A change has come already, and is tried at once.
                for slot in &mut self.slots {
                    slot.not_before_ms = now_ms;
                }
                return;
            }
            log::write(
                &messages::WAITS_FOR_CHANGE,
                format_args!("the application does not start; waiting until one of its files changes"),
            );
            // What has been imported is of no use: the next version has a prototype of its own.
            self.dismiss_prototypes(|_| true, now_ms);
            for slot in &mut self.slots {
                slot.not_before_ms = u64::MAX;
            }
        } else if self.proven == 0 {
            let status = match exit {
                Some(Exit::Status(status)) if status == NOT_LOADED || status == 2 => {
                    u8::try_from(status).unwrap_or(1)
                }
                _ => 1,
            };
            self.stop.get_or_insert(Stop {
                asked_ms: now_ms,
                at_ms: now_ms,
                fast: true,
                failed: Some(status),
            });
        } else if generation > self.proven && generation == self.generation {
            self.generation = self.proven;
            self.manager.ready("the last reload has failed; the old version serves on");
            log::write(
                &messages::VERSION_NOT_STARTED,
                format_args!("the new version does not start; the old one serves on"),
            );
            self.refuse_reloads("the new version does not start; the old one serves on");
        } else if generation == self.generation && self.announced < generation {
            self.not_started += 1;
            if self.not_started == NOT_STARTED_MAX {
                self.stall();
            }
        }
    }

    /// A reload does not come to its end: who waits for it is told so. It is tried further, less and less often: what one
    /// worker keeps from the other may come free.
    fn stall(&mut self) {
        self.stalled = self.generation;
        let is_new = |worker: &&Staff| worker.generation == self.generation;
        let served = self.slots.iter().filter_map(Slot::serving).filter(is_new).count();
        let how = format!(
            "the new version serves in {served} of {} workers and does not start in the others, where the old one \
             serves on",
            self.wanted()
        );
        self.manager.ready(&how);
        log::write(&messages::VERSION_STALLED, format_args!("{how}"));
        self.refuse_reloads(&how);
    }

    fn refuse_reloads(&mut self, why: &str) {
        for (reply, _) in self.reloads.drain(..) {
            // Whoever asked may have gone.
            let _ = reply.send((500, json!(why)));
        }
    }
}

/// The requests that a worker has died in, in words.
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

/// Whether it says itself that something went wrong, or some signal but ours has ended it.
fn has_failed(exit: Option<Exit>) -> bool {
    match exit {
        Some(Exit::Status(status)) => status != 0,
        Some(Exit::Signal(number)) => number != SIGKILL,
        None => false,
    }
}
