//! The supervisor's end of the line to a prototype.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use adyton_sys::{pass, socket};

use crate::lines::message::{FromWorker, Source};
use crate::lines::place::Place;
use crate::lines::prototype::{READY, REOPEN};

/// The line to one prototype.
pub(crate) struct PrototypeLine(OwnedFd);

/// The messages of a prototype.
#[derive(Default)]
pub(crate) struct Heard {
    /// Whether the prototype has imported the application.
    pub(crate) is_ready: bool,
    /// The files that the prototype blames, because it could not import the application.
    pub(crate) blamed: Vec<Source>,
}

impl PrototypeLine {
    pub(crate) fn new(line: OwnedFd) -> Self {
        Self(line)
    }

    /// Returns the messages that have come so far.
    pub(crate) fn listen(&self) -> Heard {
        let mut heard = Heard::default();
        let says = || socket::wait_readable(&[self.0.as_fd()], 0).is_ok_and(|says| says == [true]);
        while !heard.is_ready && says() {
            // The supervisor learns of the prototype's end in the same way as of the end of any child.
            let Ok(Some((said, _))) = pass::receive(&self.0) else { break };
            if said == READY {
                heard.is_ready = true;
            } else if let Ok(FromWorker::Sources(files)) = serde_json::from_slice(&said) {
                heard.blamed.extend(files);
            }
        }
        heard
    }

    /// Has the prototype fork a worker.
    pub(crate) fn fork(&self, place: &Place, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        pass::send(&self.0, place.written().as_bytes(), descriptors)
    }

    /// Has the prototype open its log again.
    pub(crate) fn reopen(&self) -> io::Result<()> {
        pass::send(&self.0, REOPEN, &[])
    }
}

impl AsFd for PrototypeLine {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
