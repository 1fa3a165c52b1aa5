//! Messages about a program, over its line between the helper and the server.

use std::io;

use adyton_sys::child::Exit;

/// The longest message.
pub(crate) const FRAME_BYTES: usize = 5;

/// News of a program, as its server hears it.
#[derive(Debug)]
pub enum Heard {
    /// The program could not be started.
    NotStarted(io::Error),
    /// The program has ended; other processes of its group may go on.
    Exit(Exit),
    /// No process of its group is left.
    Gone,
}

/// A message from the helper.
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
    /// Reads a message. The end of the line, or a message that makes no sense, means that no process of the group is
    /// left.
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
