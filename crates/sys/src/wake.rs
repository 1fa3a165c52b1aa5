//! A descriptor by which one thread wakes another thread that waits on it: eventfd(2).

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use rustix::event::EventfdFlags;

use crate::files::marks;

/// A wake-up, to be registered with an epoll instance.
#[derive(Debug)]
pub struct Wake {
    fd: OwnedFd,
}

impl Wake {
    /// Makes a wake-up.
    ///
    /// # Errors
    ///
    /// The process is out of descriptors or memory.
    pub fn new() -> io::Result<Self> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let fd = rustix::event::eventfd(0, flags)?;
        marks::own(&fd);
        Ok(Self { fd })
    }

    /// Wakes the waiting thread now or, if it does not wait yet, at its next wait.
    pub fn wake(&self) {
        // Writing fails only if the counter is full, and then a wake-up is already pending.
        let _ = rustix::io::write(&self.fd, &1u64.to_ne_bytes());
    }

    /// Removes the pending wake-ups.
    pub fn clear(&self) {
        let mut counter = [0; 8];
        // Reading fails only if the counter is zero, and then there is nothing to take back.
        let _ = rustix::io::read(&self.fd, &mut counter);
    }

    /// The descriptor's number, for a signal handler.
    pub(crate) fn raw(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

impl Drop for Wake {
    fn drop(&mut self) {
        marks::disown(&self.fd);
    }
}

impl AsFd for Wake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
