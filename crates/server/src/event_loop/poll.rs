//! Events that the kernel has reported to a loop, and which of them are still to be looked at.

use std::io;
use std::os::fd::AsFd;

use adyton_sys::epoll::{Epoll, Events, Interest};

use crate::cgi::ScriptPart;

/// Tokens from here on are parts of scripts; lower tokens are connections.
const SCRIPTS: u64 = 1 << 61;

/// Tokens from here on are listeners.
pub(crate) const LISTENERS: u64 = 1 << 62;

/// Tokens from here on are passages in which there may be room again.
pub(crate) const ROOMS: u64 = LISTENERS + (1 << 32);

/// The token of the wake-up: by a signal, or by a thread that has something for the loop.
const WAKE: u64 = u64::MAX;

/// An event that the kernel has told.
pub(crate) enum Told {
    /// The loop was woken.
    Wake,
    /// A connection waits at the listener of this number.
    Listener(usize),
    /// The passage of this number may have room again.
    Room(usize),
    /// Something has come for the connection of this key.
    Connection {
        key: usize,
        /// Whether the peer has ended its side.
        ending: bool,
    },
    /// Something has come from the script of this number.
    Script { number: usize, part: ScriptPart },
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
    /// Errors of `epoll_create1(2)` and `epoll_ctl(2)`.
    pub(crate) fn new(wake: impl AsFd) -> io::Result<Self> {
        let epoll = Epoll::new()?;
        epoll.add(wake, WAKE, Interest::Level)?;
        Ok(Self { epoll, events: Events::new(), next: 0 })
    }

    /// Watches a part of a script. The output is watched edge-triggered, because it is read only as the client takes
    /// it.
    ///
    /// # Errors
    ///
    /// Errors of `epoll_ctl(2)`.
    pub(crate) fn watch_script(&self, fd: impl AsFd, number: usize, part: ScriptPart) -> io::Result<()> {
        let token = SCRIPTS + (number * ScriptPart::ALL.len() + part as usize) as u64;
        let interest = if part == ScriptPart::Output { Interest::Edge } else { Interest::Level };
        self.epoll.add(fd, token, interest)
    }

    /// Waits for events, for ever if `timeout_ms` is `None`. Returns whether there are any.
    ///
    /// # Errors
    ///
    /// Errors of `epoll_wait(2)`.
    pub(crate) fn wait(&mut self, timeout_ms: Option<u32>) -> io::Result<bool> {
        self.next = 0;
        self.epoll.wait(&mut self.events, timeout_ms)?;
        Ok(!self.events.is_empty())
    }

    /// Whether an event is still to be looked at.
    pub(crate) fn has_next(&self) -> bool {
        self.events.at(self.next).is_some()
    }

    /// Returns the next event to look at.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Told> {
        let ready = self.events.at(self.next)?;
        self.next += 1;
        Some(match ready.token {
            token if token < SCRIPTS => Told::Connection { key: number(token), ending: ready.ending },
            WAKE => Told::Wake,
            token if token >= ROOMS => Told::Room(number(token - ROOMS)),
            token if token >= LISTENERS => Told::Listener(number(token - LISTENERS)),
            token => {
                let parts = ScriptPart::ALL.len();
                let token = number(token - SCRIPTS);
                Told::Script { number: token / parts, part: ScriptPart::ALL[token % parts] }
            }
        })
    }
}

/// Converts a token to a number; every token that was given out fits.
fn number(token: u64) -> usize {
    usize::try_from(token).unwrap_or(usize::MAX)
}
