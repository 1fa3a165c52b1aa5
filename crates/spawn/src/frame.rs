//! What is said over the line of a program.

use std::io;

use adyton_sys::child::Exit;

/// The longest message.
pub(crate) const FRAME_BYTES: usize = 5;

/// What a server hears of a program.
#[derive(Debug)]
pub enum Heard {
    /// It could not be started.
    NotStarted(io::Error),
    /// It has ended; others of its group may go on.
    Exit(Exit),
    /// Nothing of its group is left.
    Gone,
}

/// A message of the helper's.
pub(crate) enum Frame {
    NotStarted(i32),
    Exit(Exit),
}

impl Frame {
    pub(crate) fn bytes(&self) -> [u8; FRAME_BYTES] {
        let (kind, number) = match *self {
            Frame::NotStarted(number) => (b'F', number),
            Frame::Exit(Exit::Status(status)) => (b'X', status),
            Frame::Exit(Exit::Signal(signal)) => (b'S', signal),
        };
        let [a, b, c, d] = number.to_le_bytes();
        [kind, a, b, c, d]
    }
}

impl Heard {
    /// What a message says. The end, and what makes no sense, say that nothing is left.
    pub(crate) fn of(message: &[u8]) -> Heard {
        let Some((kind, number)) =
            message.split_first().and_then(|(kind, rest)| Some((kind, rest.try_into().ok()?)))
        else {
            return Heard::Gone;
        };
        let number = i32::from_le_bytes(number);
        match kind {
            b'F' => Heard::NotStarted(io::Error::from_raw_os_error(number)),
            b'X' => Heard::Exit(Exit::Status(number)),
            b'S' => Heard::Exit(Exit::Signal(number)),
            _ => Heard::Gone,
        }
    }
}
