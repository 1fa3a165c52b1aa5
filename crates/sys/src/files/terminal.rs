//! The terminal, if there is one.

use std::io;
use std::os::fd::AsFd;

/// How much a terminal shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Characters in each line.
    pub columns: usize,
    /// Lines.
    pub rows: usize,
}

impl Size {
    /// Of what is no terminal: a file, or a pipe.
    pub const ENDLESS: Self = Self { columns: usize::MAX, rows: usize::MAX };

    /// The size of standard output, as it is now.
    pub fn of_stdout() -> Self {
        Self::of(io::stdout())
    }

    /// The size of standard error, as it is now.
    pub fn of_stderr() -> Self {
        Self::of(io::stderr())
    }

    fn of(stream: impl AsFd) -> Self {
        match rustix::termios::tcgetwinsize(stream) {
            // A terminal that was never told its size says 0.
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
                Self { columns: size.ws_col.into(), rows: size.ws_row.into() }
            }
            _ => Self::ENDLESS,
        }
    }
}
