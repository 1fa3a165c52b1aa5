//! Marks the server's descriptors, so that a child that the application forks closes them.
//!
//! All of this is atomic, because a handler of `pthread_atfork(3)` reads the marks.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};

/// Descriptors below this number can be marked. The server opens its long-lived descriptors early, so they have low
/// numbers.
pub(crate) const MARKED_MAX: usize = 4096;

/// A bit for each descriptor.
pub(crate) struct Marks([AtomicU64; MARKED_MAX / 64]);

/// Descriptors of the server.
pub(crate) static OWN: Marks = Marks::none();

/// Descriptors at which the server listens, or has listened: the reader of a mark checks that the descriptor still
/// listens.
pub(crate) static LISTENERS: Marks = Marks::none();

/// Marks a descriptor as the server's, until it is [`disown`]ed.
pub fn own(descriptor: impl AsFd) {
    OWN.set(descriptor);
}

/// Marks a listening socket of the server. The mark may stay after the socket is closed, without [`disown`].
pub fn own_listener(socket: impl AsFd) {
    LISTENERS.set(socket);
}

/// Removes the mark, before the descriptor is closed or given away.
pub fn disown(descriptor: impl AsFd) {
    let (cell, bit) = place_of(descriptor.as_fd().as_raw_fd());
    if let Some(cell) = OWN.0.get(cell) {
        cell.fetch_and(!bit, Ordering::SeqCst);
    }
}

/// A descriptor that is marked as the server's for as long as it is open.
#[derive(Debug)]
pub struct Own(OwnedFd);

impl Own {
    /// Marks the descriptor.
    pub fn new(descriptor: OwnedFd) -> Own {
        own(&descriptor);
        Own(descriptor)
    }
}

impl AsFd for Own {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        disown(&self.0);
    }
}

impl Marks {
    const fn none() -> Self {
        Self([const { AtomicU64::new(0) }; MARKED_MAX / 64])
    }

    fn set(&self, descriptor: impl AsFd) {
        let (cell, bit) = place_of(descriptor.as_fd().as_raw_fd());
        if let Some(cell) = self.0.get(cell) {
            cell.fetch_or(bit, Ordering::SeqCst);
        }
    }

    /// Removes all marks.
    pub(crate) fn clear(&self) {
        self.0.iter().for_each(|bits| bits.store(0, Ordering::SeqCst));
    }

    /// Calls `act` with the number of each marked descriptor. Async-signal-safe if `act` is.
    pub(crate) fn for_each(&self, mut act: impl FnMut(RawFd)) {
        for (cell, bits) in self.0.iter().enumerate() {
            let mut left = bits.load(Ordering::SeqCst);
            while left != 0 {
                let number = cell * 64 + left.trailing_zeros() as usize;
                act(RawFd::try_from(number).unwrap_or(-1));
                left &= left - 1;
            }
        }
    }
}

fn place_of(number: RawFd) -> (usize, u64) {
    let number = usize::try_from(number).unwrap_or(usize::MAX);
    (number / 64, 1 << (number % 64))
}
