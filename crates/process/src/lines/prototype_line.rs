//! The supervisor's end of the line to a prototype.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use adyton_sys::{pass, socket};

use crate::lines::message::{FromWorker, Source};
use crate::lines::place::Place;
use crate::lines::prototype::{READY, REOPEN};

/// What ties the supervisor to a prototype.
pub(crate) struct PrototypeLine(OwnedFd);

/// What a prototype has said.
#[derive(Default)]
pub(crate) struct Heard {
    /// It has imported the application.
    pub(crate) is_ready: bool,
    /// The files that keep it from that.
    pub(crate) blamed: Vec<Source>,
}

impl PrototypeLine {
    pub(crate) fn new(line: OwnedFd) -> Self {
        Self(line)
    }

    /// Takes what it has said so far.
    pub(crate) fn listen(&self) -> Heard {
        let mut heard = Heard::default();
        let says = || socket::wait_readable(&[self.0.as_fd()], 0).is_ok_and(|says| says == [true]);
        while !heard.is_ready && says() {
            // Its end is noticed as that of a child.
            let Ok(Some((said, _))) = pass::receive(&self.0) else { break };
            if said == READY {
                heard.is_ready = true;
            } else if let Ok(FromWorker::Sources(files)) = serde_json::from_slice(&said) {
                heard.blamed.extend(files);
            }
        }
        heard
    }

    /// Has it fork a worker.
    pub(crate) fn fork(&self, place: &Place, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        pass::send(&self.0, place.written().as_bytes(), descriptors)
    }

    /// Has it open its log again.
    pub(crate) fn reopen(&self) -> io::Result<()> {
        pass::send(&self.0, REOPEN, &[])
    }
}

impl AsFd for PrototypeLine {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
