//! What the kernel has told a loop, and what of that is still to be looked at.

use std::io;
use std::os::fd::AsFd;

use adyton_sys::epoll::{Epoll, Events, Interest};

/// Tokens from here on are listeners; those below are connections.
pub(crate) const LISTENERS: u64 = 1 << 62;

/// The token of the wake-up: by a signal, or by a thread that has something for the loop.
const WAKE: u64 = u64::MAX;

/// Something that the kernel has told.
pub(crate) enum Told {
    /// The loop was woken.
    Wake,
    /// A connection waits at the listener of this number.
    Listener(usize),
    /// Something has come for the connection with this key.
    Connection {
        key: usize,
        /// Its peer has ended its side.
        ending: bool,
    },
}

/// An epoll instance with the events of its last wait.
pub(crate) struct Poll {
    pub(crate) epoll: Epoll,
    events: Events,
    next: usize,
}

impl Poll {
    /// Watches the descriptor that wakes the loop.
    ///
    /// # Errors
    ///
    /// Those of `epoll_create1(2)` and `epoll_ctl(2)`.
    pub(crate) fn new(wake: impl AsFd) -> io::Result<Self> {
        let epoll = Epoll::new()?;
        epoll.add(wake, WAKE, Interest::Level)?;
        Ok(Self { epoll, events: Events::new(), next: 0 })
    }

    /// Waits for the kernel, for ever if `timeout_ms` is `None`. Returns whether it has told anything.
    ///
    /// # Errors
    ///
    /// Those of `epoll_wait(2)`.
    pub(crate) fn wait(&mut self, timeout_ms: Option<u32>) -> io::Result<bool> {
        self.next = 0;
        self.epoll.wait(&mut self.events, timeout_ms)?;
        Ok(!self.events.is_empty())
    }

    /// Whether something is still to be looked at.
    pub(crate) fn has_next(&self) -> bool {
        self.events.at(self.next).is_some()
    }

    /// The next thing to look at.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Told> {
        let ready = self.events.at(self.next)?;
        self.next += 1;
        Some(match ready.token {
            WAKE => Told::Wake,
            token if token >= LISTENERS => Told::Listener(number(token - LISTENERS)),
            token => Told::Connection { key: number(token), ending: ready.ending },
        })
    }
}

/// A token as a number: every one that is given out is one.
fn number(token: u64) -> usize {
    usize::try_from(token).unwrap_or(usize::MAX)
}
