//! The terminal that somebody looks at.

use std::io;

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
        match rustix::termios::tcgetwinsize(io::stdout()) {
            // A terminal that was never told its size says 0.
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
                Self { columns: size.ws_col.into(), rows: size.ws_row.into() }
            }
            _ => Self::ENDLESS,
        }
    }
}
