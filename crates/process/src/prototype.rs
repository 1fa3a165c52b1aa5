//! The prototype (`--preload`): a process that has imported the application once, and forks workers that share its
//! memory.
//!
//! A worker is forked twice, so that it is the supervisor's child and not the prototype's.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use adyton_sys::{child, pass, socket};

use crate::worker::{Place, Worker};

/// What a prototype says when it has imported the application.
const READY: &[u8] = b"ready";

/// A prototype, as the supervisor has it. Dropped, it ends.
pub(crate) struct Prototype {
    pub(crate) pid: u32,
    pub(crate) generation: u32,
    pub(crate) is_ready: bool,
    pub(crate) due_ms: Option<u64>,
    line: OwnedFd,
}

impl Prototype {
    pub(crate) fn new(pid: u32, generation: u32, line: OwnedFd, due_ms: Option<u64>) -> Self {
        Self { pid, generation, is_ready: false, due_ms, line }
    }

    /// Takes note of what it says.
    pub(crate) fn listen(&mut self) {
        let readable = socket::wait_readable(&[self.line.as_fd()], 0);
        if !self.is_ready && readable.is_ok_and(|readable| readable == [true]) {
            // Its end is noticed as that of a child.
            self.is_ready =
                pass::receive(&self.line).is_ok_and(|said| said.is_some_and(|(said, _)| said == READY));
            if self.is_ready {
                self.due_ms = None;
            }
        }
    }

    /// Has it fork a worker.
    pub(crate) fn fork(&self, place: &Place, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        pass::send(&self.line, place.written().as_bytes(), descriptors)
    }
}

impl AsFd for Prototype {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.line.as_fd()
    }
}

/// The line of a prototype to its supervisor.
pub struct Orders {
    line: OwnedFd,
}

impl Orders {
    /// The line that is the descriptor with this number.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn open(number: &str) -> io::Result<Self> {
        Ok(Self { line: child::inherit(number.parse().map_err(io::Error::other)?)? })
    }

    /// Says that the application is imported.
    ///
    /// # Errors
    ///
    /// The supervisor is gone.
    pub fn ready(&self) -> io::Result<()> {
        pass::send(&self.line, READY, &[])
    }

    /// Waits for the next worker that is wanted; `None` when no more are.
    ///
    /// # Errors
    ///
    /// What the supervisor says is not understood.
    pub fn next(&self) -> io::Result<Option<Worker>> {
        let Some((text, descriptors)) = pass::receive(&self.line)? else { return Ok(None) };
        let place = std::str::from_utf8(&text).map_err(io::Error::other)?;
        let place = Place::read(place).map_err(io::Error::other)?;
        Worker::received(place, descriptors).map(Some)
    }
}
