//! The prototypes that there should be (`--preload`), which workers are forked from: one of the newest generation, and
//! one of the last generation that has served, while that generation is needed.
//!
//! This module does no I/O: it takes events with their times, and returns actions.

use adyton_log::messages;
use adyton_sys::child::{Exit, Kick};

use crate::workers::action::{Action, Recipient};
use crate::workers::backoff::backoff_ms;
use crate::workers::cause::{Cause, Known, Reason, cause};
use crate::workers::limits::Limits;
use crate::workers::worker_process::LAST_WORDS_MS;

/// The pause after a prototype could not import the application, before another prototype is started; it doubles with
/// each failure.
const PAUSE_MS: u64 = 1_000;

/// A prototype.
#[derive(Debug)]
struct Prototype {
    pid: u32,
    generation: u32,
    /// Whether the prototype has imported the application, and forks.
    is_ready: bool,
    due_ms: Option<u64>,
    /// Whether the prototype was not ready or has not forked in time, and was made to print its stack.
    is_doomed: bool,
}

/// A prototype that is not needed any more.
#[derive(Debug)]
struct Dismissed {
    pid: u32,
    /// The time when it is killed.
    due_ms: Option<u64>,
}

/// A prototype that has ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Loss {
    pub(crate) generation: u32,
    /// Whether the prototype had imported the application.
    pub(crate) was_ready: bool,
    /// How the prototype has ended, in words, unless it was no longer needed.
    pub(crate) words: Option<String>,
}

/// All prototypes.
#[derive(Debug)]
pub(crate) struct Prototypes {
    /// Whether workers are forked at all.
    is_used: bool,
    limits: Limits,
    all: Vec<Prototype>,
    /// Prototypes that are about to end.
    dismissed: Vec<Dismissed>,
    /// Prototypes in a row that could not import the application.
    failures: u32,
    /// No prototype is started before this time.
    not_before_ms: u64,
}

impl Prototypes {
    /// Begins without a prototype.
    pub(crate) fn new(is_used: bool, limits: Limits) -> Self {
        let (all, dismissed) = (Vec::new(), Vec::new());
        Self { is_used, limits, all, dismissed, failures: 0, not_before_ms: 0 }
    }

    /// Whether no prototype is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty() && self.dismissed.is_empty()
    }

    /// Whether some prototypes are about to end.
    pub(crate) fn has_dismissed(&self) -> bool {
        !self.dismissed.is_empty()
    }

    /// Whether this process is a prototype, perhaps one that is about to end.
    pub(crate) fn knows(&self, pid: u32) -> bool {
        self.has(pid) || self.dismissed.iter().any(|dismissed| dismissed.pid == pid)
    }

    /// Whether this process is a prototype that is needed.
    pub(crate) fn has(&self, pid: u32) -> bool {
        self.all.iter().any(|prototype| prototype.pid == pid)
    }

    /// Whether a worker of this generation can be made, which may need a prototype.
    pub(crate) fn may_fork(&self, generation: u32) -> bool {
        !self.is_used || self.ready(generation).is_some()
    }

    /// Returns the prototype of this generation, once it can fork.
    pub(crate) fn ready(&self, generation: u32) -> Option<u32> {
        let mut ready = self.all.iter().filter(|prototype| prototype.is_ready);
        ready.find(|prototype| prototype.generation == generation).map(|prototype| prototype.pid)
    }

    /// Whether all prototypes can fork.
    pub(crate) fn are_ready(&self) -> bool {
        self.all.iter().all(|prototype| prototype.is_ready)
    }

    /// Returns the prototypes that can fork if `is_ready`, else the prototypes that cannot fork yet.
    pub(crate) fn pids(&self, is_ready: bool) -> impl Iterator<Item = u32> {
        let such = self.all.iter().filter(move |prototype| prototype.is_ready == is_ready);
        such.map(|prototype| prototype.pid)
    }

    /// Lets prototypes go that are not needed, and ends late ones. `needed` are the newest generation, and the newest
    /// generation that has served, which remains if the newest never serves.
    pub(crate) fn look(&mut self, needed: [u32; 2], now_ms: u64, out: &mut Vec<Action>) {
        self.dismiss(|prototype| !needed.contains(&prototype.generation), now_ms, out);
        let is_late = |prototype: &&mut Prototype| prototype.due_ms.is_some_and(|due_ms| due_ms <= now_ms);
        for prototype in self.all.iter_mut().filter(is_late) {
            let pid = prototype.pid;
            if std::mem::replace(&mut prototype.is_doomed, true) {
                out.push(Action::Signal(Recipient::Child(pid), Kick::Kill));
                prototype.due_ms = None;
                continue;
            }
            let text = format!("the prototype (process {pid}) is not ready; this is where it is:");
            out.push(Action::Log(&messages::PROTOTYPE_STUCK, text));
            out.push(Action::Signal(Recipient::Child(pid), Kick::Abort));
            prototype.due_ms = Some(now_ms + LAST_WORDS_MS);
        }
    }

    /// Whether a prototype of this generation is to be started; `is_wanted` says whether a worker is wanted from it.
    pub(crate) fn wants_one(&self, generation: u32, is_wanted: bool, now_ms: u64) -> bool {
        let is_there = self.all.iter().any(|prototype| prototype.generation == generation);
        self.is_used && is_wanted && !is_there && now_ms >= self.not_before_ms
    }

    /// Notes that this process has been started.
    pub(crate) fn note_started(&mut self, pid: u32, generation: u32, now_ms: u64) {
        let due_ms = self.limits.startup_due_ms(now_ms);
        self.all.push(Prototype { pid, generation, is_ready: false, due_ms, is_doomed: false });
    }

    /// Notes that no prototype could be started.
    pub(crate) fn note_not_started(&mut self, now_ms: u64) {
        self.not_before_ms = now_ms + PAUSE_MS;
    }

    /// Notes that a prototype has imported the application.
    pub(crate) fn note_ready(&mut self, pid: u32) {
        for prototype in self.all.iter_mut().filter(|prototype| prototype.pid == pid) {
            (prototype.is_ready, prototype.due_ms) = (true, None);
        }
    }

    /// Gives up a prototype that does not follow orders: it is made to print its stack, and is killed.
    pub(crate) fn doom(&mut self, generation: u32, now_ms: u64) {
        let is_meant =
            |prototype: &&mut Prototype| prototype.generation == generation && !prototype.is_doomed;
        for prototype in self.all.iter_mut().filter(is_meant) {
            (prototype.is_ready, prototype.due_ms) = (false, Some(now_ms));
        }
    }

    /// Notes that a newer version is wanted, for which failures of older versions do not count.
    pub(crate) fn reload(&mut self, now_ms: u64) {
        (self.failures, self.not_before_ms) = (0, now_ms);
    }

    /// Lets all prototypes go.
    pub(crate) fn dismiss_all(&mut self, now_ms: u64, out: &mut Vec<Action>) {
        self.dismiss(|_| true, now_ms, out);
    }

    /// Lets prototypes go. A prototype that still imports is killed at once, because it has nothing to finish. All
    /// other prototypes end by themselves, and are killed only if threads of the application keep them.
    fn dismiss(&mut self, which: impl Fn(&Prototype) -> bool, now_ms: u64, out: &mut Vec<Action>) {
        for prototype in self.all.extract_if(.., |prototype| which(prototype)) {
            let grace_ms = if prototype.is_ready { LAST_WORDS_MS } else { 0 };
            out.push(Action::Release(prototype.pid));
            self.dismissed.push(Dismissed { pid: prototype.pid, due_ms: Some(now_ms + grace_ms) });
        }
        for dismissed in &mut self.dismissed {
            if dismissed.due_ms.is_some_and(|due_ms| due_ms <= now_ms) {
                out.push(Action::Signal(Recipient::Child(dismissed.pid), Kick::Kill));
                dismissed.due_ms = None;
            }
        }
    }

    /// Notes that a process has ended; returns whether it was a prototype that was not needed any more.
    pub(crate) fn note_dismissed_end(&mut self, pid: u32) -> bool {
        let at = self.dismissed.iter().position(|dismissed| dismissed.pid == pid);
        at.map(|at| self.dismissed.swap_remove(at)).is_some()
    }

    /// Notes that a prototype has ended, while `newest` is the newest generation.
    pub(crate) fn note_end(
        &mut self,
        pid: u32,
        exit: Exit,
        memory_was_short: bool,
        newest: u32,
        now_ms: u64,
    ) -> Option<Loss> {
        let at = self.all.iter().position(|prototype| prototype.pid == pid)?;
        let prototype = self.all.remove(at);
        if prototype.is_ready {
            (self.failures, self.not_before_ms) = (0, now_ms);
        } else {
            self.failures += 1;
            self.not_before_ms = now_ms + backoff_ms(PAUSE_MS, self.failures);
        }
        let unneeded = Reason::other("it is no longer needed");
        let known = Known {
            served: prototype.is_ready,
            told: (prototype.generation != newest).then_some(&unneeded),
            hurried: true,
            doomed: prototype.is_doomed.then_some("was not ready in time, or has not forked in time"),
            memory_was_short,
            rss_bytes: 0,
        };
        let (cause, words) = cause(Some(exit), &known);
        let words = (cause != Cause::Told).then_some(words);
        Some(Loss { generation: prototype.generation, was_ready: prototype.is_ready, words })
    }
}

#[cfg(test)]
mod tests {
    use adyton_sys::child::Exit;

    use super::Prototypes;
    use crate::workers::action::lines;
    use crate::workers::limits::Limits;

    /// An event. The prototype of generation 2 is process 2.
    #[derive(Clone, Copy, Debug)]
    enum Event {
        Pass(u64),
        /// A look, with a worker wanted: the newest generation, and the newest that has served.
        Look(u32, u32),
        /// A `Look` in which no process can be started.
        LookInVain(u32, u32),
        Ready(u32),
        /// The prototype of a generation has not forked in time.
        Doom(u32),
        Reload,
        DismissAll,
        /// A process ends, while the last number is the newest generation.
        Ends(u32, Exit, u32),
    }

    use Event::{DismissAll, Doom, Ends, Look, LookInVain, Pass, Ready, Reload};

    const NOT_LOADED: Exit = Exit::Status(3);
    const DONE: Exit = Exit::Status(0);
    const KILLED: Exit = Exit::Signal(9);

    /// Plays a table of events and the expected actions.
    fn plays(table: &[(Event, &[&str])]) {
        let limits = Limits { startup_timeout_ms: 60_000, ..Limits::default() };
        let (mut prototypes, mut now_ms) = (Prototypes::new(true, limits), 1_000_000);
        for (at, (event, expected)) in table.iter().enumerate() {
            let (mut out, mut seen) = (Vec::new(), Vec::new());
            match *event {
                Pass(ms) => now_ms += ms,
                Look(newest, proven) | LookInVain(newest, proven) => {
                    prototypes.look([newest, proven], now_ms, &mut out);
                    if prototypes.wants_one(newest, true, now_ms) {
                        seen.push(format!("start {newest}"));
                        match event {
                            Look(..) => prototypes.note_started(newest, newest, now_ms),
                            _ => prototypes.note_not_started(now_ms),
                        }
                    }
                }
                Ready(pid) => prototypes.note_ready(pid),
                Doom(generation) => prototypes.doom(generation, now_ms),
                Reload => prototypes.reload(now_ms),
                DismissAll => prototypes.dismiss_all(now_ms, &mut out),
                Ends(pid, ..) if prototypes.note_dismissed_end(pid) => {
                    seen.push("it was dismissed".to_owned());
                }
                Ends(pid, exit, newest) => {
                    let loss = prototypes.note_end(pid, exit, false, newest, now_ms);
                    seen.push(
                        loss.map_or_else(String::new, |loss| loss.words.unwrap_or("unneeded".to_owned())),
                    );
                }
            }
            seen.splice(0..0, lines(&out));
            assert_eq!(*expected, seen, "{at}: {event:?}");
        }
    }

    /// Each generation that is needed has one prototype; an older prototype goes when the newer generation has served.
    #[test]
    fn generations() {
        plays(&[
            (Look(1, 0), &["start 1"]),
            (Look(1, 0), &[]),
            (Ready(1), &[]),
            (Look(1, 1), &[]),
            (Reload, &[]),
            (Look(2, 1), &["start 2"]),
            (Ready(2), &[]),
            (Look(2, 1), &[]),
            (Look(2, 2), &["release 1"]),
            (Pass(1_999), &[]),
            (Look(2, 2), &[]),
            (Pass(1), &[]),
            (Look(2, 2), &["Kill 1"]),
            (Look(2, 2), &[]),
            (Ends(1, KILLED, 2), &["it was dismissed"]),
            (Ends(2, KILLED, 2), &["was killed by SIGKILL from outside"]),
            (Look(2, 2), &["start 2"]),
        ]);
    }

    /// A prototype that does not import the application is followed by the next after 1 s, 2 s and so on; a reload
    /// begins anew.
    #[test]
    fn failures() {
        let failed: &[&str] = &["could not load the application; the reason stands above"];
        plays(&[
            (LookInVain(1, 0), &["start 1"]),
            (Look(1, 0), &[]),
            (Pass(1_000), &[]),
            (Look(1, 0), &["start 1"]),
            (Ends(1, NOT_LOADED, 1), failed),
            (Pass(999), &[]),
            (Look(1, 0), &[]),
            (Pass(1), &[]),
            (Look(1, 0), &["start 1"]),
            (Ends(1, NOT_LOADED, 1), failed),
            (Pass(1_999), &[]),
            (Look(1, 0), &[]),
            (Pass(1), &[]),
            (Look(1, 0), &["start 1"]),
            (Ends(1, NOT_LOADED, 1), failed),
            (Reload, &[]),
            (Look(2, 0), &["start 2"]),
            (Ends(2, NOT_LOADED, 2), failed),
            (Pass(1_000), &[]),
            (Look(2, 0), &["start 2"]),
            (Ready(2), &[]),
            (
                Ends(2, DONE, 2),
                &[
                    "ended by itself with status 0: something in it has called os._exit, or ended its main thread",
                ],
            ),
            (Look(2, 0), &["start 2"]),
        ]);
    }

    /// A prototype that is too slow, or does not fork, is made to print its stack, and then killed; a prototype that is
    /// not needed is killed at once if it still imports.
    #[test]
    fn escalation() {
        let stuck = "log: the prototype (process 1) is not ready; this is where it is:";
        let overdue: &[&str] = &["was killed: it was not ready in time, or has not forked in time"];
        plays(&[
            (Look(1, 0), &["start 1"]),
            (Pass(59_999), &[]),
            (Look(1, 0), &[]),
            (Pass(1), &[]),
            (Look(1, 0), &[stuck, "Abort 1"]),
            (Doom(1), &[]),
            (Pass(1_999), &[]),
            (Look(1, 0), &[]),
            (Pass(1), &[]),
            (Look(1, 0), &["Kill 1"]),
            (Pass(60_000), &[]),
            (Look(1, 0), &[]),
            (Ends(1, KILLED, 1), overdue),
        ]);
        plays(&[
            (Look(1, 0), &["start 1"]),
            (Ready(1), &[]),
            (Pass(60_000), &[]),
            (Look(1, 1), &[]),
            (Doom(1), &[]),
            (Doom(1), &[]),
            (Look(1, 1), &[stuck, "Abort 1"]),
            (Ends(1, Exit::Signal(6), 1), overdue),
            (Look(1, 1), &[]),
            (Pass(1_000), &[]),
            (Look(1, 1), &["start 1"]),
            (DismissAll, &["release 1", "Kill 1"]),
            (DismissAll, &[]),
            (Ends(1, KILLED, 1), &["it was dismissed"]),
        ]);
    }

    /// The end of a prototype whose generation is over is not reported, in whatever order the events come.
    #[test]
    fn unneeded() {
        plays(&[
            (Look(1, 0), &["start 1"]),
            (Ready(1), &[]),
            (Look(2, 1), &["start 2"]),
            (Ends(1, DONE, 2), &["unneeded"]),
            (Ends(2, KILLED, 1), &["unneeded"]),
            (Ends(2, KILLED, 1), &[""]),
        ]);
    }

    /// If workers are not forked, there is no prototype.
    #[test]
    fn unused() {
        let prototypes = Prototypes::new(false, Limits::default());

        assert!(prototypes.may_fork(1) && !prototypes.wants_one(1, true, u64::MAX) && prototypes.is_empty());
    }
}
