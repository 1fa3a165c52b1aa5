//! One connection of the generator: its socket, the bytes to be sent, and the requests without an answer.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use adyton_sys::socket;

use crate::counting::answer::{Came, Reader};
use crate::counting::cause::Cause;
use crate::counting::counts::Sent;
use crate::target::url::Address;

/// The stage of a connection's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// No socket. One is opened with the next request, not before `not_before_ns`.
    Closed {
        /// Zero, or some time after a failure to connect, so that a dead server is not hammered.
        not_before_ns: u64,
    },
    /// The connection was begun, and the server has not taken it yet.
    Connecting {
        /// When the connection was begun.
        since_ns: u64,
    },
    /// The connection is made.
    Open,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) socket: Option<OwnedFd>,
    pub(crate) stage: Stage,
    pub(crate) reader: Reader,
    /// The requests without an answer, the oldest first.
    pub(crate) waiting: VecDeque<Sent>,
    /// When the connection was made; before that nothing can be sent.
    made_ns: u64,
    /// When the first byte of the present answer came; 0 if it has not come.
    pub(crate) first_ns: u64,
    /// Answers that have come over the connection since it was made.
    pub(crate) answers: u64,
    /// Whether this is among the free connections of an open loop.
    pub(crate) is_free: bool,
    /// The place of the next byte to send within a request.
    offset: usize,
    /// Bytes of `waiting` that the kernel has not taken yet.
    unsent_bytes: usize,
}

impl Connection {
    /// Makes a connection without a socket; its reader has this seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            socket: None,
            stage: Stage::Closed { not_before_ns: 0 },
            reader: Reader::new(seed),
            waiting: VecDeque::new(),
            made_ns: 0,
            first_ns: 0,
            answers: 0,
            is_free: true,
            offset: 0,
            unsent_bytes: 0,
        }
    }

    /// Begins to connect.
    ///
    /// # Errors
    ///
    /// As [`socket::connect_tcp`] and [`socket::connect_unix`].
    pub(crate) fn open(&mut self, address: &Address, now_ns: u64) -> io::Result<()> {
        let opened = match address {
            Address::Tcp(address) => socket::connect_tcp(*address)?,
            Address::Unix(path) => socket::connect_unix(path)?,
        };
        self.socket = Some(opened);
        self.stage = Stage::Connecting { since_ns: now_ns };
        Ok(())
    }

    /// Notes that the server has taken the connection.
    pub(crate) fn made(&mut self, now_ns: u64) {
        self.stage = Stage::Open;
        self.made_ns = now_ns;
    }

    /// Returns the time from the sending of a request to the first byte of its answer. If the connection had to be made
    /// first, the request counts as sent when the connection was made.
    pub(crate) fn first_byte_ns(&self, sent: &Sent) -> u64 {
        self.first_ns.saturating_sub(sent.begun_ns.max(self.made_ns))
    }

    /// Puts one more request behind the requests that wait to be sent.
    pub(crate) fn queue(&mut self, sent: Sent, request_bytes: usize) {
        self.waiting.push_back(sent);
        self.unsent_bytes += request_bytes;
    }

    /// Sends as much as the kernel takes. `requests` repeats one request of `request_bytes`: once for each request that
    /// may be under way on a connection, and once more.
    ///
    /// # Errors
    ///
    /// The connection is gone.
    pub(crate) fn send(&mut self, requests: &[u8], request_bytes: usize) -> io::Result<()> {
        let Some(socket) = &self.socket else { return Ok(()) };
        while self.unsent_bytes > 0 {
            let bytes = &requests[self.offset..self.offset + self.unsent_bytes];
            let Some(taken) = socket::send(socket.as_fd(), bytes, false)? else { break };
            self.unsent_bytes -= taken;
            self.offset = (self.offset + taken) % request_bytes;
        }
        Ok(())
    }

    /// Closes the socket and forgets what was under way on it.
    pub(crate) fn close(&mut self, not_before_ns: u64) {
        self.socket = None;
        self.stage = Stage::Closed { not_before_ns };
        self.reader.reset();
        self.waiting.clear();
        (self.first_ns, self.offset, self.unsent_bytes, self.answers) = (0, 0, 0, 0);
    }

    /// Returns how much has come for the oldest request without an answer; each request is `request_bytes` long.
    pub(crate) fn came(&self, request_bytes: usize) -> Came {
        match self.reader.came() {
            _ if self.stage != Stage::Open => Came::NoConnection,
            Came::Nothing if self.is_unsent(request_bytes) => Came::Unsent,
            came => came,
        }
    }

    /// Returns why a connection has failed: `cause`, or, if a kept connection ends between two answers,
    /// [`Cause::EndedKept`], whichever error the kernel reports.
    pub(crate) fn cause(&self, cause: Cause) -> Cause {
        let ends = matches!(
            cause,
            Cause::EndedBefore | Cause::Kernel(io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe)
        );
        if ends && self.answers > 0 && self.reader.is_between() { Cause::EndedKept } else { cause }
    }

    /// Whether a part of the oldest request without an answer is not sent yet; each request is `request_bytes` long.
    pub(crate) fn is_unsent(&self, request_bytes: usize) -> bool {
        self.unsent_bytes > self.waiting.len().saturating_sub(1) * request_bytes
    }
}
