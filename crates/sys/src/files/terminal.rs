//! The size of the terminal, if there is one.

use std::io;
use std::os::fd::AsFd;

/// The size of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Characters in each line.
    pub columns: usize,
    /// Lines.
    pub rows: usize,
}

impl Size {
    /// The size of an output that is a file or a pipe, not a terminal.
    pub const ENDLESS: Self = Self { columns: usize::MAX, rows: usize::MAX };

    /// The present size of standard output.
    pub fn of_stdout() -> Self {
        Self::of(io::stdout())
    }

    /// The present size of standard error.
    pub fn of_stderr() -> Self {
        Self::of(io::stderr())
    }

    fn of(stream: impl AsFd) -> Self {
        match rustix::termios::tcgetwinsize(stream) {
            // A terminal whose size was never set reports 0.
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
                Self { columns: size.ws_col.into(), rows: size.ws_row.into() }
            }
            _ => Self::ENDLESS,
        }
    }
}
