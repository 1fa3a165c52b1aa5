//! Whether another program is to take the place of this one (SIGUSR2), and the next step of that change.
//!
//! This module does no I/O: it takes events with their times, and returns steps.

use adyton_sys::child::{Exit, signal_name};

/// How long the trial may take: an interpreter has to start, and to read settings.
const TRIAL_MS: u64 = 30_000;

/// The progress of the change from this program to another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// No program was asked for.
    #[default]
    Unasked,
    /// The program is to be tried out.
    Wanted,
    /// A process shows whether the program can be started, with these settings.
    Tried {
        pid: u32,
        /// The time by which the process has to be done; `None` if it was late and has been killed.
        due_ms: Option<u64>,
    },
    /// The program can be started, and takes over once no worker is between two states.
    Proven,
    /// Clients that have asked for the state get their answers first.
    Closing,
}

/// The condition of the supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// All workers are there, and the next program can be told of everything that has begun.
    Settled,
    /// Workers are between two states.
    Changing,
    /// The server stops.
    Stopping,
}

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Start the program for a trial; see [`Succession::note_tried`] and [`Succession::fail`].
    TryOut,
    /// Kill the process of the trial, which takes too long.
    Kill(u32),
    /// Let prototypes go: the next supervisor would not know them.
    DismissPrototypes,
    /// Close the control socket and the admin listener, once every question is answered.
    CloseAdmin,
    /// Answer questions again: a change has begun meanwhile, and is finished first.
    OpenAdmin,
    /// Replace this program; see [`Succession::fail`].
    Replace,
}

/// The change from this program to another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Succession(Stage);

impl Succession {
    /// Asks for another program. If a program is being tried out already, that program is meant.
    pub(crate) fn ask(&mut self) {
        if !matches!(self.0, Stage::Tried { .. } | Stage::Closing) {
            self.0 = Stage::Wanted;
        }
    }

    /// Whether another program was asked for.
    pub(crate) fn is_asked(self) -> bool {
        self.0 != Stage::Unasked
    }

    /// Returns the process of the trial.
    pub(crate) fn trial(self) -> Option<u32> {
        if let Stage::Tried { pid, .. } = self.0 { Some(pid) } else { None }
    }

    /// Whether the succession waits for the last questions to be answered.
    pub(crate) fn is_closing(self) -> bool {
        self.0 == Stage::Closing
    }

    /// Returns the next step. `has_prototypes` says whether prototypes are left, `is_closed` whether the control socket
    /// and the admin listener are closed.
    pub(crate) fn look(
        &mut self,
        condition: Condition,
        has_prototypes: bool,
        is_closed: bool,
        now_ms: u64,
    ) -> Option<Step> {
        match (self.0, condition) {
            (Stage::Wanted, Condition::Settled) => Some(Step::TryOut),
            (Stage::Tried { pid, due_ms: Some(due_ms) }, _) if due_ms <= now_ms => {
                self.0 = Stage::Tried { pid, due_ms: None };
                Some(Step::Kill(pid))
            }
            // Changes that have begun during the trial are finished first.
            (Stage::Proven, Condition::Settled) if has_prototypes => Some(Step::DismissPrototypes),
            (Stage::Proven, Condition::Settled) => {
                self.0 = Stage::Closing;
                Some(Step::CloseAdmin)
            }
            // Changes that have begun meanwhile are finished first.
            (Stage::Closing, Condition::Changing) => {
                self.0 = Stage::Proven;
                Some(Step::OpenAdmin)
            }
            (Stage::Closing, Condition::Settled) if is_closed => Some(Step::Replace),
            _ => None,
        }
    }

    /// Notes that the trial has begun, in this process.
    pub(crate) fn note_tried(&mut self, pid: u32, now_ms: u64) {
        self.0 = Stage::Tried { pid, due_ms: Some(now_ms + TRIAL_MS) };
    }

    /// Notes that this program is not replaced.
    pub(crate) fn fail(&mut self) {
        self.0 = Stage::Unasked;
    }

    /// Notes that the trial is over; returns what was wrong, if anything was.
    pub(crate) fn note_trial(&mut self, exit: Exit) -> Option<String> {
        let why = match (self.0, exit) {
            (Stage::Tried { due_ms: None, .. }, _) => format!("it is not ready after {} s", TRIAL_MS / 1000),
            (_, Exit::Status(0)) => {
                self.0 = Stage::Proven;
                return None;
            }
            (_, Exit::Status(status)) => {
                format!("it ends with status {status}; the reason stands above")
            }
            (_, Exit::Signal(number)) => format!("it ends by {}", signal_name(number)),
        };
        self.fail();
        Some(why)
    }
}

#[cfg(test)]
mod tests {
    use adyton_sys::child::Exit;

    use super::{Condition, Step, Succession, TRIAL_MS};

    /// An event on the way.
    #[derive(Clone, Copy, Debug)]
    enum Event {
        /// SIGUSR2.
        Ask,
        Look(Condition),
        /// A look while there are prototypes.
        LookWithPrototypes,
        /// A look when the last questions are answered.
        LookWhenClosed(Condition),
        LookLate,
        /// The trial is process 7.
        Tried,
        Ends(Exit),
        /// The program cannot be started, or cannot take the place of this program.
        Fails,
    }

    use Condition::{Changing, Settled, Stopping};
    use Event::{Ask, Ends, Fails, Look, LookLate, LookWhenClosed, LookWithPrototypes, Tried};
    use Step::{CloseAdmin, DismissPrototypes, Kill, OpenAdmin, Replace, TryOut};

    const WELL: Exit = Exit::Status(0);

    fn plays(table: &[(Event, Option<Step>)]) -> Succession {
        let mut succession = Succession::default();
        for (at, (event, expected)) in table.iter().enumerate() {
            let step = match *event {
                Look(condition) => succession.look(condition, false, false, 5 + TRIAL_MS - 1),
                LookWithPrototypes => succession.look(Settled, true, false, 5),
                LookWhenClosed(condition) => succession.look(condition, false, true, 5),
                LookLate => succession.look(Settled, false, false, 5 + TRIAL_MS),
                Ask => {
                    succession.ask();
                    None
                }
                Tried => {
                    succession.note_tried(7, 5);
                    None
                }
                Ends(exit) => {
                    assert_eq!(exit == WELL, succession.note_trial(exit).is_none(), "{at}: {event:?}");
                    None
                }
                Fails => {
                    succession.fail();
                    None
                }
            };
            assert_eq!(*expected, step, "{at}: {event:?}");
        }
        succession
    }

    /// After the signal the new program is tried out, prototypes are dismissed, questions are answered, and this
    /// program is replaced; none of this happens while workers are between two states.
    #[test]
    fn succeeds() {
        let closing = plays(&[
            (Look(Settled), None),
            (Ask, None),
            (Ask, None),
            (Look(Changing), None),
            (Look(Settled), Some(TryOut)),
            (Tried, None),
            (Ask, None),
            (Look(Settled), None),
            (Ends(WELL), None),
            (Look(Changing), None),
            (LookWithPrototypes, Some(DismissPrototypes)),
            (LookWithPrototypes, Some(DismissPrototypes)),
            (Look(Settled), Some(CloseAdmin)),
            (Look(Settled), None),
            (Ask, None),
            (LookWhenClosed(Changing), Some(OpenAdmin)),
            (Look(Changing), None),
            (Look(Settled), Some(CloseAdmin)),
            (LookWhenClosed(Settled), Some(Replace)),
        ]);

        assert!(closing.is_closing() && closing.is_asked());
    }

    /// A failure leaves the server as it was; another program can be asked for again.
    #[test]
    fn fails() {
        let tried: &[(Event, Option<Step>)] = &[(Ask, None), (Look(Settled), Some(TryOut)), (Tried, None)];
        for ends in [
            &[(Ends(Exit::Status(2)), None)][..],
            &[(Ends(Exit::Signal(11)), None)],
            &[(LookLate, Some(Kill(7))), (LookLate, None), (Ends(Exit::Signal(9)), None)],
            &[
                (Ends(WELL), None),
                (Look(Settled), Some(CloseAdmin)),
                (LookWhenClosed(Settled), Some(Replace)),
                (Fails, None),
            ],
        ] {
            let over = plays(&[tried, ends, &[(Look(Settled), None)]].concat());

            assert_eq!(Succession::default(), over);

            plays(&[tried, ends, tried].concat());
        }
        let mut late = plays(&[tried, &[(LookLate, Some(Kill(7)))]].concat());

        assert_eq!(Some(7), late.trial());
        assert_eq!(Some("it is not ready after 30 s"), late.note_trial(WELL).as_deref(), "although it was");
    }

    /// A stop at any time takes precedence: no program takes the place of a program that ends.
    #[test]
    fn stops() {
        let table = [
            (Ask, None),
            (Look(Settled), Some(TryOut)),
            (Tried, None),
            (Ends(WELL), None),
            (Look(Settled), Some(CloseAdmin)),
        ];
        for length in 0..=table.len() {
            let stopped = [(Look(Stopping), None), (LookWhenClosed(Stopping), None)];
            plays(&[&table[..length], &stopped].concat());
        }
    }
}
