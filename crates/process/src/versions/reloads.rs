//! Versions of the application: which version is wanted, which has served, and what follows when a version does not
//! start.
//!
//! This module does no I/O: it takes events with their times, and returns verdicts.
//!
//! A reload makes a new *generation*. It is *proven* when one worker of it has served, and *announced* when it serves
//! in all slots. A generation of which no worker serves is given up; a generation that serves only in some slots
//! *stalls*, and is tried again in the other slots.

use adyton_sys::child::Exit;

use crate::workers::cause::NOT_LOADED;

/// How many workers in a row do not start before a reload counts as stalled.
const NOT_STARTED_MAX: u32 = 3;

/// The exit status of a worker that finds its settings wrong.
const MISUSED: i32 = 2;

/// The consequence when a worker has ended before it served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The version is tried again when its slot starts the next worker.
    TryLater,
    /// A newer version is wanted already, and is tried at once.
    TryAtOnce,
    /// The version is tried again when one of the application's files has changed.
    AwaitChange,
    /// The server does not start, and ends with this status.
    Fail(u8),
    /// The new version does not start; the old one serves on.
    GiveUp,
    /// The new version serves in some slots, and the old version in the other slots.
    Stall,
}

/// The progress of the newest version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reloads {
    generation: u32,
    /// The last generation of which a worker has served.
    proven: u32,
    /// The last generation that served in all workers.
    announced: u32,
    /// Workers of this generation in a row that did not start.
    not_started: u32,
    /// The last generation that serves in some workers and does not start in others.
    stalled: u32,
}

impl Reloads {
    /// Makes the first generation, which has not served yet.
    pub(crate) fn new() -> Self {
        Self { generation: 1, proven: 0, announced: 1, not_started: 0, stalled: 0 }
    }

    /// Takes over from another program.
    pub(crate) fn taken(generation: u32, proven: u32) -> Self {
        Self { generation, proven, announced: generation, not_started: 0, stalled: 0 }
    }

    /// Returns the newest generation.
    pub(crate) fn generation(&self) -> u32 {
        self.generation
    }

    /// Returns the newest generation of which a worker has served; 0 if no worker has.
    pub(crate) fn proven(&self) -> u32 {
        self.proven
    }

    /// Whether any worker has ever served.
    pub(crate) fn has_served(&self) -> bool {
        self.proven > 0
    }

    /// Whether a worker of the newest generation has served.
    pub(crate) fn is_proven(&self) -> bool {
        self.proven == self.generation
    }

    /// Whether no worker of this generation has served yet, although workers of an older generation have.
    pub(crate) fn is_on_trial(&self, generation: u32) -> bool {
        self.has_served() && generation > self.proven
    }

    /// Whether a reload has neither come to its end nor been given up.
    pub(crate) fn is_open(&self) -> bool {
        self.generation > self.announced
    }

    /// Whether two versions serve because the newest has stalled.
    pub(crate) fn has_stalled(&self) -> bool {
        self.stalled == self.generation && self.announced != self.generation
    }

    /// Whether nothing more is awaited of the newest generation: it serves in all slots, or has stalled.
    pub(crate) fn is_settled(&self) -> bool {
        self.announced == self.generation || self.stalled == self.generation
    }

    /// Begins a new version; returns its generation.
    pub(crate) fn begin(&mut self) -> u32 {
        self.generation += 1;
        self.not_started = 0;
        self.generation
    }

    /// Notes that a worker of this generation serves; returns whether it is the first worker of all that serves.
    pub(crate) fn note_served(&mut self, generation: u32) -> bool {
        let is_first = self.proven == 0;
        self.proven = self.proven.max(generation);
        self.not_started = 0;
        is_first
    }

    /// Notes that a worker or a prototype of this generation has ended before it served, with its exit if that is
    /// known. `awaits_changes` says that the next try waits for a change of the application's files: in development, if
    /// some of them are known.
    pub(crate) fn note_not_started(
        &mut self,
        generation: u32,
        exit: Option<Exit>,
        awaits_changes: bool,
    ) -> Verdict {
        let is_newest = generation == self.generation;
        if !self.has_served() {
            return match exit {
                Some(Exit::Status(NOT_LOADED)) if awaits_changes && is_newest => Verdict::AwaitChange,
                Some(Exit::Status(NOT_LOADED)) if awaits_changes => Verdict::TryAtOnce,
                Some(Exit::Status(status @ (NOT_LOADED | MISUSED))) => {
                    Verdict::Fail(u8::try_from(status).unwrap_or(1))
                }
                _ => Verdict::Fail(1),
            };
        }
        if !is_newest {
            return Verdict::TryLater;
        }
        if generation > self.proven {
            self.generation = self.proven;
            return Verdict::GiveUp;
        }
        if self.is_open() {
            self.not_started += 1;
            if self.not_started == NOT_STARTED_MAX {
                self.stalled = generation;
                return Verdict::Stall;
            }
        }
        Verdict::TryLater
    }

    /// Announces the newest generation, if it serves everywhere and has not been announced; returns whether it did.
    pub(crate) fn end(&mut self, is_everywhere: bool) -> bool {
        let ends = self.is_open() && is_everywhere;
        if ends {
            self.announced = self.generation;
        }
        ends
    }
}

#[cfg(test)]
mod tests {
    use adyton_sys::child::Exit;

    use super::{Reloads, Verdict};

    /// An event in the life of generations.
    #[derive(Clone, Copy, Debug)]
    enum Event {
        Reload,
        Serves(u32),
        /// A worker ends before it has served.
        NotStarted(u32, Option<Exit>),
        /// In development, a worker ends before it has served.
        NotStartedIn(u32, Option<Exit>),
        /// The newest generation serves in all slots, or not.
        Everywhere(bool),
    }

    use Event::{Everywhere, NotStarted, NotStartedIn, Reload, Serves};
    use Verdict::{AwaitChange, Fail, GiveUp, TryAtOnce, TryLater};

    const NOT_LOADED: Option<Exit> = Some(Exit::Status(3));
    const CRASHED: Option<Exit> = Some(Exit::Signal(11));

    /// Returns the consequence of an event, in words.
    fn happens(reloads: &mut Reloads, event: Event) -> String {
        match event {
            Reload => format!("generation {}", reloads.begin()),
            Serves(generation) if reloads.note_served(generation) => "first".to_owned(),
            NotStarted(generation, exit) => {
                format!("{:?}", reloads.note_not_started(generation, exit, false))
            }
            NotStartedIn(generation, exit) => {
                format!("{:?}", reloads.note_not_started(generation, exit, true))
            }
            Everywhere(is_everywhere) if reloads.end(is_everywhere) => "announced".to_owned(),
            Serves(_) | Everywhere(_) => String::new(),
        }
    }

    /// Plays a table: the event, its consequence, and then the newest generation and the newest generation that has
    /// served.
    fn plays(table: &[(Event, &str, (u32, u32))]) -> Reloads {
        let mut reloads = Reloads::new();
        for (at, (event, expected, generations)) in table.iter().enumerate() {
            let found = happens(&mut reloads, *event);

            assert_eq!(*expected, found, "{at}: {event:?}");
            assert_eq!(*generations, (reloads.generation(), reloads.proven()), "{at}: {event:?}");
        }
        reloads
    }

    /// Before any worker has served, a worker that does not start ends the server, with the worker's status if that
    /// says why.
    #[test]
    fn not_started_at_all() {
        for (exit, awaits_changes, expected) in [
            (NOT_LOADED, false, Fail(3)),
            (Some(Exit::Status(2)), false, Fail(2)),
            (Some(Exit::Status(1)), false, Fail(1)),
            (Some(Exit::Status(0)), false, Fail(1)),
            (CRASHED, false, Fail(1)),
            (None, false, Fail(1)),
            (NOT_LOADED, true, AwaitChange),
            (Some(Exit::Status(2)), true, Fail(2)),
            (CRASHED, true, Fail(1)),
            (None, true, Fail(1)),
        ] {
            assert_eq!(expected, Reloads::new().note_not_started(1, exit, awaits_changes), "{exit:?}");
        }
        let reloads = plays(&[
            (NotStartedIn(1, NOT_LOADED), "AwaitChange", (1, 0)),
            (Reload, "generation 2", (2, 0)),
            (NotStartedIn(1, NOT_LOADED), "TryAtOnce", (2, 0)),
            (Serves(2), "first", (2, 2)),
            (Everywhere(true), "announced", (2, 2)),
        ]);

        assert!(reloads.is_settled() && !reloads.has_stalled());
        assert_eq!(
            TryAtOnce,
            Reloads { generation: 2, ..Reloads::new() }.note_not_started(1, NOT_LOADED, true)
        );
    }

    /// A reload ends when its generation serves everywhere, and is given up when its first worker does not start.
    #[test]
    fn reloads() {
        plays(&[
            (Serves(1), "first", (1, 1)),
            (Everywhere(true), "", (1, 1)),
            (Reload, "generation 2", (2, 1)),
            (Everywhere(false), "", (2, 1)),
            (Serves(2), "", (2, 2)),
            (Everywhere(false), "", (2, 2)),
            (Everywhere(true), "announced", (2, 2)),
            (Everywhere(true), "", (2, 2)),
            (Reload, "generation 3", (3, 2)),
            (NotStarted(2, CRASHED), "TryLater", (3, 2)),
            (NotStarted(3, NOT_LOADED), "GiveUp", (2, 2)),
            (NotStarted(3, NOT_LOADED), "TryLater", (2, 2)),
            (Everywhere(true), "", (2, 2)),
            // A second reload begins before the first has ended: the first does not matter any more.
            (Reload, "generation 3", (3, 2)),
            (Reload, "generation 4", (4, 2)),
            (NotStarted(3, CRASHED), "TryLater", (4, 2)),
            (Serves(3), "", (4, 3)),
            (NotStarted(4, CRASHED), "GiveUp", (3, 3)),
            (Everywhere(true), "announced", (3, 3)),
        ]);
    }

    /// A generation that serves somewhere is not given up: after three workers in a row that did not start, it has
    /// stalled, which is said once.
    #[test]
    fn stalls() {
        let begun: &[(Event, &str, (u32, u32))] = &[
            (Serves(1), "first", (1, 1)),
            (Reload, "generation 2", (2, 1)),
            (Serves(2), "", (2, 2)),
            (NotStarted(2, CRASHED), "TryLater", (2, 2)),
            (NotStarted(2, None), "TryLater", (2, 2)),
            (Serves(2), "", (2, 2)),
            (NotStarted(2, CRASHED), "TryLater", (2, 2)),
            (NotStarted(2, CRASHED), "TryLater", (2, 2)),
            (NotStarted(2, NOT_LOADED), "Stall", (2, 2)),
            (NotStarted(2, CRASHED), "TryLater", (2, 2)),
        ];
        let stalled = plays(begun);

        assert!(stalled.has_stalled() && stalled.is_settled() && stalled.is_open());

        let ended = plays(&[begun, &[(Everywhere(true), "announced", (2, 2))]].concat());

        assert!(!ended.has_stalled() && ended.is_settled() && !ended.is_open());

        let mut again = plays(&[begun, &[(Reload, "generation 3", (3, 2))]].concat());

        assert!(!again.has_stalled() && !again.is_settled());
        assert_eq!(GiveUp, again.note_not_started(3, CRASHED, false));
    }

    /// Once a generation serves everywhere, a worker that does not start concerns its own slot alone.
    #[test]
    fn afterwards() {
        let mut reloads = Reloads::taken(7, 7);

        assert!(reloads.has_served() && reloads.is_proven() && reloads.is_settled() && !reloads.is_open());
        for _ in 0..9 {
            assert_eq!(TryLater, reloads.note_not_started(7, CRASHED, false));
        }
        assert!(!reloads.has_stalled());
    }

    /// A generation is on trial from its reload until it serves, and the first generation never is.
    #[test]
    fn only_a_newer_version_is_on_trial() {
        let mut reloads = Reloads::new();
        assert!(!reloads.is_on_trial(reloads.generation()));

        reloads.note_served(reloads.generation());
        let (old, new) = (reloads.generation(), reloads.begin());
        assert_eq!([false, true], [old, new].map(|one| reloads.is_on_trial(one)));

        reloads.note_served(new);
        assert!(!reloads.is_on_trial(new));
    }
}
