//! Whether a server goes on: its loops, and the interpreter when a thread waits for it.
//!
//! A thread outside asks from time to time, and writes the answer on the board, where another process can see it. Each loop
//! is woken, also one that idles, and has to say by the next time that it was; that costs the path of a request nothing.

use std::sync::atomic::Ordering;

use crate::board::tally::{Cell, Histogram};
use crate::config::HandOver;
use crate::server::Server;

/// What keeps a server from going on, as its board has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Ailment {
    /// Nothing that it knows of. If it gives no sign all the same, none of its threads runs.
    None,
    /// An event loop does not come to its next wait.
    Loop,
    /// Threads wait for the interpreter, and none has got it since the last look.
    Interpreter,
}

impl Ailment {
    /// The one that a board tells of.
    pub fn of(cell: u64) -> Self {
        match cell {
            1 => Self::Loop,
            2 => Self::Interpreter,
            _ => Self::None,
        }
    }
}

impl Server {
    /// Looks whether everything has gone on since the last look, and gives a sign of life on the board if it has. Memory that
    /// was not needed meanwhile goes back to the kernel.
    pub fn beat(&self) {
        let shared = self.shared();
        let got = shared.tally.sample().histogram(Histogram::InterpreterWait).0.iter().sum::<u64>();
        let is_kept =
            shared.got_interpreter.swap(got, Ordering::Relaxed) == got && shared.crew.wants_interpreter();
        // All are asked: each says it for itself.
        let heard = shared.inboxes.iter().filter(|inbox| inbox.heard.swap(false, Ordering::Relaxed)).count();
        let is_deaf = heard < shared.inboxes.len()
            && (shared.stop)().is_none()
            && shared.config.hand_over != HandOver::Never;
        let ailment = match (is_deaf, is_kept) {
            (true, _) => Ailment::Loop,
            (_, true) => Ailment::Interpreter,
            _ => Ailment::None,
        };
        shared.tally.set(Cell::Ailment, ailment as u64);
        if ailment == Ailment::None {
            shared.tally.count(Cell::Beats);
        }
        shared.config.body_memory.trim();
        for inbox in &shared.inboxes {
            inbox.wake.wake();
        }
    }
}
