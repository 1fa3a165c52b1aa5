//! A server's signs of life: whether its loops go on, and whether threads that wait for the interpreter get it.
//!
//! A thread outside asks from time to time, and writes the answer on the board, where another process can see it. Each
//! loop is woken, even an idle one, and has to report that it was woken before the thread asks again. The path of a
//! request pays nothing for that.

use std::sync::atomic::Ordering;

use crate::board::tally::{Cell, Histogram};
use crate::config::HandOver;
use crate::server::Server;

/// A reason why a server does not go on, as its board tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Ailment {
    /// No reason that the server knows of. If the server gives no sign of life although its board tells no reason, none
    /// of its threads runs.
    None,
    /// An event loop does not come to its next wait.
    Loop,
    /// Threads wait for the interpreter, and no thread has got it since the last look.
    Interpreter,
}

impl Ailment {
    /// Returns the ailment that a cell of the board tells.
    pub fn of(cell: u64) -> Self {
        match cell {
            1 => Self::Loop,
            2 => Self::Interpreter,
            _ => Self::None,
        }
    }
}

impl Server {
    /// Checks whether everything has gone on since the last look, and gives a sign of life on the board if it has.
    /// Returns memory that was not needed meanwhile to the kernel.
    pub fn beat(&self) {
        let shared = self.shared();
        let got = shared.tally.sample().histogram(Histogram::InterpreterWait).0.iter().sum::<u64>();
        let is_kept =
            shared.got_interpreter.swap(got, Ordering::Relaxed) == got && shared.crew.wants_interpreter();
        // All inboxes are asked, because each loop answers only for itself.
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
