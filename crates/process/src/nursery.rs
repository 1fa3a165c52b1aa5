//! Prototypes, as the supervisor has them.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use adyton_sys::{pass, socket};

use crate::message::{FromWorker, Source};
use crate::place::Place;
use crate::prototype::{READY, REOPEN};

/// How long nobody is started in the place of the first prototype that could not import the application.
pub(crate) const PROTOTYPE_PAUSE_MS: u64 = 1_000;

/// A prototype, as the supervisor has it.
pub(crate) struct Prototype {
    pub(crate) pid: u32,
    pub(crate) generation: u32,
    pub(crate) is_ready: bool,
    pub(crate) due_ms: Option<u64>,
    /// It was not ready in time, or has not forked in time, and was made to say where it is.
    pub(crate) is_doomed: bool,
    line: OwnedFd,
}

/// One that nobody needs any more.
pub(crate) struct Dismissed {
    pub(crate) pid: u32,
    /// When it is killed.
    pub(crate) due_ms: Option<u64>,
}

impl Prototype {
    pub(crate) fn new(pid: u32, generation: u32, line: OwnedFd, due_ms: Option<u64>) -> Self {
        Self { pid, generation, is_ready: false, due_ms, is_doomed: false, line }
    }

    /// Takes note of what it says: that it is ready, or else which files are to blame, which are returned.
    pub(crate) fn listen(&mut self) -> Vec<Source> {
        let mut blamed = Vec::new();
        let says =
            |line: &OwnedFd| socket::wait_readable(&[line.as_fd()], 0).is_ok_and(|says| says == [true]);
        while !self.is_ready && says(&self.line) {
            // Its end is noticed as that of a child.
            let Ok(Some((said, _))) = pass::receive(&self.line) else { break };
            if said == READY {
                (self.is_ready, self.due_ms) = (true, None);
            } else if let Ok(FromWorker::Sources(files)) = serde_json::from_slice(&said) {
                blamed.extend(files);
            }
        }
        blamed
    }

    /// It does not follow orders: it is made to say where it is, and ended.
    pub(crate) fn doom(&mut self, now_ms: u64) {
        if !self.is_doomed {
            (self.is_ready, self.due_ms) = (false, Some(now_ms));
        }
    }

    /// Has it fork a worker.
    pub(crate) fn fork(&self, place: &Place, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        pass::send(&self.line, place.written().as_bytes(), descriptors)
    }

    /// Has it open its log again.
    pub(crate) fn reopen(&self) -> io::Result<()> {
        pass::send(&self.line, REOPEN, &[])
    }
}

impl AsFd for Prototype {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.line.as_fd()
    }
}
