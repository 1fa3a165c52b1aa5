//! Whether another program is to take the place of this one (SIGUSR2), and what is the next step to that.
//!
//! It does no I/O: what has happened comes in, with its time; what is to be done comes out.

use adyton_sys::child::{Exit, signal_name};

/// How long the trial may take: an interpreter has to start, and to read settings.
const TRIAL_MS: u64 = 30_000;

/// How far another program has come on its way into this one's place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// It was not asked for.
    #[default]
    Unasked,
    /// It is to be tried out.
    Wanted,
    /// A process shows whether it can be started, with these settings.
    Tried {
        pid: u32,
        /// Until when it has to be done; `None`: it was not, and has been killed.
        due_ms: Option<u64>,
    },
    /// It can be: its time comes when workers are not between two states.
    Proven,
    /// Clients that have asked how things stand get their answers first.
    Closing,
}

/// What the supervisor is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// What is to be there is there, and nothing has begun that the next program would not be told of.
    Settled,
    /// Workers are between two states.
    Changing,
    /// The server stops.
    Stopping,
}

/// What is to be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The program is started for a trial; see [`Succession::note_tried`] and [`Succession::fail`].
    TryOut,
    /// The trial takes too long: its process is killed.
    Kill(u32),
    /// Prototypes are let go: the next supervisor would not know them.
    DismissPrototypes,
    /// The control socket and the admin listener are closed, once all that was asked is answered.
    CloseAdmin,
    /// Something has begun meanwhile, and is done first: questions are answered again.
    OpenAdmin,
    /// The program takes the place of this one; see [`Succession::fail`].
    Replace,
}

/// Another program on its way into this one's place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Succession(Stage);

impl Succession {
    /// It is asked for. A program that is tried out already is the one that is meant.
    pub(crate) fn ask(&mut self) {
        if !matches!(self.0, Stage::Tried { .. } | Stage::Closing) {
            self.0 = Stage::Wanted;
        }
    }

    /// Whether it was asked for.
    pub(crate) fn is_asked(self) -> bool {
        self.0 != Stage::Unasked
    }

    /// The process of the trial.
    pub(crate) fn trial(self) -> Option<u32> {
        if let Stage::Tried { pid, .. } = self.0 { Some(pid) } else { None }
    }

    /// Whether it waits for the last questions to be answered.
    pub(crate) fn is_closing(self) -> bool {
        self.0 == Stage::Closing
    }

    /// Looks what is next. There may be prototypes left, and the control socket and the admin listener may be closed.
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
            // What has begun while it was tried out is done first.
            (Stage::Proven, Condition::Settled) if has_prototypes => Some(Step::DismissPrototypes),
            (Stage::Proven, Condition::Settled) => {
                self.0 = Stage::Closing;
                Some(Step::CloseAdmin)
            }
            // What has begun meanwhile is done first.
            (Stage::Closing, Condition::Changing) => {
                self.0 = Stage::Proven;
                Some(Step::OpenAdmin)
            }
            (Stage::Closing, Condition::Settled) if is_closed => Some(Step::Replace),
            _ => None,
        }
    }

    /// The trial has begun, in this process.
    pub(crate) fn note_tried(&mut self, pid: u32, now_ms: u64) {
        self.0 = Stage::Tried { pid, due_ms: Some(now_ms + TRIAL_MS) };
    }

    /// It does not come to it.
    pub(crate) fn fail(&mut self) {
        self.0 = Stage::Unasked;
    }

    /// The trial is over; says what was wrong, if something was.
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

    /// What happens on the way.
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
        /// The program cannot be started, or cannot take this one's place.
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

    /// From the signal to the new program: tried out, prototypes gone, questions answered, replaced; nothing of it while workers
    /// are between two states.
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

    /// What fails leaves the server as it was; it can be asked for again.
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

    /// A stop at any time is what counts: no program takes the place of one that ends.
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
