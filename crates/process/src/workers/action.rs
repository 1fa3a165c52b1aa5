//! Actions, as values: the modules that decide return them, and the supervisor carries them out.

use adyton_log::messages::Message;
use adyton_server::Ending;
use adyton_sys::child::Kick;

/// A name for one worker, as long as the supervisor runs: process numbers are reused, and a worker that is being forked
/// has none yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Id(pub(crate) u64);

/// The process that gets a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recipient {
    /// A child that was not reaped yet.
    Child(u32),
    /// A process that is about to fork a worker. It is no child of the supervisor: the number means this process only
    /// while the time of birth is the same.
    Forker {
        /// The process's number.
        pid: u32,
        /// The time when it began.
        birth: u64,
    },
}

/// An action for the supervisor.
#[derive(Debug)]
pub(crate) enum Action {
    /// Write an entry to the error log.
    Log(&'static Message, String),
    /// Tell a worker to finish its requests, and to end; with SIGTERM if the message cannot be sent.
    Drain(Id, Ending),
    /// Tell a worker that drains to be quicker.
    Hurry(Id, Ending),
    /// Send a signal to a process.
    Signal(Recipient, Kick),
    /// Give up the prototype of this generation, which has not followed an order.
    DoomPrototype(u32),
    /// Close the line to the prototype that is this process; the prototype then ends by itself.
    Release(u32),
}

#[cfg(test)]
impl std::fmt::Display for Action {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let of = |ending: &Ending| match (ending.is_patient, ending.takes_queue) {
            (true, true) => "unhurried",
            (true, false) => "stuck",
            (false, _) => "prompt",
        };
        match self {
            Self::Log(_, text) => write!(out, "log: {text}"),
            Self::Drain(id, ending) => write!(out, "drain #{}, {}", id.0, of(ending)),
            Self::Hurry(id, ending) => write!(out, "hurry #{}, {}", id.0, of(ending)),
            Self::Signal(Recipient::Child(pid), kick) => write!(out, "{kick:?} {pid}"),
            Self::Signal(Recipient::Forker { pid, .. }, kick) => write!(out, "{kick:?} forker {pid}"),
            Self::Release(pid) => write!(out, "release {pid}"),
            Self::DoomPrototype(generation) => write!(out, "doom prototype of generation {generation}"),
        }
    }
}

/// Returns the actions as lines, for the tables of tests.
#[cfg(test)]
pub(crate) fn lines(actions: &[Action]) -> Vec<String> {
    actions.iter().map(Action::to_string).collect()
}
