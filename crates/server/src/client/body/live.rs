//! Bodies that the application reads from the connection by itself (`--stream-body`), if threads may wait for clients.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use adyton_http1::{Framing, Refusal};
use adyton_sys::{clock, forks};

use crate::answering::refusals::{BROKE_OFF, NO_READER, TOO_LARGE, TOO_SLOW};
use crate::client::body::decoder::Decoder;
use crate::client::transport::{Transport, Until};
use crate::site::limits::SiteLimits;
use crate::threads::waiter::wait_for_client;

/// The answer to `Expect: 100-continue` (RFC 9110 section 10.1.1).
pub(crate) const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// One of the places for bodies that the application reads from the connection: each such body may keep a thread
/// waiting.
pub(crate) struct Reading(Arc<AtomicUsize>);

impl Reading {
    /// Takes one of `most` places; `None` if all are taken.
    pub(crate) fn begin(taken: &Arc<AtomicUsize>, most: usize) -> Option<Self> {
        let add = |now: usize| if now < most { Some(now + 1) } else { None };
        taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).ok()?;
        Some(Self(Arc::clone(taken)))
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Maximum number of bytes that one read of a live body takes from the socket.
const LIVE_BYTES_PER_READ: usize = 64 << 10;

/// A body that the application reads from the connection itself.
pub struct Live {
    transport: Transport,
    /// The place of this body, until it is read or has failed.
    reading: Option<Reading>,
    decoder: Decoder,
    /// Received bytes; the bytes from `at` on are not decoded yet.
    raw: Vec<u8>,
    at: usize,
    /// Whether the client waits for `100 Continue`, and nothing has been answered yet.
    awaited: bool,
    bytes: u64,
    bytes_max: u64,
    idle_timeout_ms: u64,
    rate: u64,
    rate_grace_ms: u64,
    since_ms: u64,
    /// The reason why the body cannot be read.
    failure: Option<Refusal>,
}

/// The reason why no more of a live body can be read.
enum LiveFailure {
    /// The client breaks a rule or a limit.
    Refused(Refusal),
    /// The connection has failed, or no thread is left to wait for it.
    Failed(io::Error),
}

impl From<io::Error> for LiveFailure {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<Refusal> for LiveFailure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<LiveFailure> for io::Error {
    fn from(failure: LiveFailure) -> Self {
        match failure {
            LiveFailure::Refused(refusal) if refusal == TOO_SLOW => {
                Self::new(io::ErrorKind::TimedOut, refusal.reason)
            }
            LiveFailure::Refused(refusal) => Self::new(io::ErrorKind::InvalidData, refusal.reason),
            LiveFailure::Failed(error) => error,
        }
    }
}

impl LiveFailure {
    /// The refusal that the client is sent if it still listens.
    fn refusal(&self) -> Refusal {
        match self {
            Self::Refused(refusal) => *refusal,
            Self::Failed(error) if error.kind() == io::ErrorKind::Other => NO_READER,
            Self::Failed(_) => BROKE_OFF,
        }
    }
}

/// Locks the body of a request that has been answered. `None` while a thread of the application still reads the body,
/// which may take as long as the client likes.
pub(crate) fn unless_read(live: &Mutex<Live>) -> Option<MutexGuard<'_, Live>> {
    match live.try_lock() {
        Ok(live) => Some(live),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

impl Live {
    /// Makes a body of which `early` has arrived; `awaited` says whether the client waits for `100 Continue`.
    pub(crate) fn new(
        transport: Transport,
        reading: Reading,
        framing: Framing,
        limits: &SiteLimits,
        early: &[u8],
        awaited: bool,
    ) -> Self {
        Self {
            transport,
            reading: Some(reading),
            decoder: Decoder::new(framing),
            raw: early.to_vec(),
            at: 0,
            awaited,
            bytes: 0,
            bytes_max: limits.body_bytes_max,
            idle_timeout_ms: limits.body_idle_timeout_ms,
            rate: limits.body_rate,
            rate_grace_ms: limits.body_rate_grace_ms,
            since_ms: clock::monotonic_ms(),
            failure: None,
        }
    }

    /// Whether the body was read to its end.
    pub fn is_done(&self) -> bool {
        self.decoder.is_done()
    }

    /// Reads the next piece of the body; empty at its end. Blocks: call it detached from the interpreter.
    ///
    /// # Errors
    ///
    /// The client is gone, too slow, or sends something that is no body; every later call returns the same error.
    pub fn read(&mut self) -> io::Result<Vec<u8>> {
        if self.failure.is_some() {
            return Err(io::Error::new(io::ErrorKind::BrokenPipe, "the request body already failed"));
        }
        if forks::is_child() {
            return Err(io::Error::other(
                "the client belongs to the server that this process was forked from",
            ));
        }
        let piece = self.next();
        self.failure = piece.as_ref().err().map(LiveFailure::refusal);
        if self.failure.is_some() || self.is_done() {
            self.reading = None;
        }
        Ok(piece?)
    }

    /// The refusal to send to the client, if the body could not be read.
    pub(crate) fn failure(&self) -> Option<Refusal> {
        self.failure
    }

    /// Decodes all the received bytes, or receives more if there are none.
    fn next(&mut self) -> Result<Vec<u8>, LiveFailure> {
        let mut piece = Vec::new();
        while !self.decoder.is_done() {
            if self.at == self.raw.len() {
                if !piece.is_empty() {
                    break;
                }
                self.receive()?;
            }
            let (consumed, data) = self.decoder.step(&self.raw[self.at..])?;
            self.bytes += data.len() as u64;
            piece.extend_from_slice(&self.raw[self.at..][data]);
            self.at += consumed;
            if self.bytes.saturating_add(self.decoder.announced_bytes()) > self.bytes_max {
                return Err(TOO_LARGE.into());
            }
        }
        Ok(piece)
    }

    fn receive(&mut self) -> Result<(), LiveFailure> {
        if std::mem::take(&mut self.awaited) {
            // The send buffer is empty, so it takes all 25 bytes, unless the connection is gone.
            self.transport.send(CONTINUE, false)?;
        }
        self.raw.resize(LIVE_BYTES_PER_READ, 0);
        self.at = 0;
        let received = self.wait_and_receive();
        self.raw.truncate(*received.as_ref().unwrap_or(&0));
        match received? {
            0 => {
                let text = "the client ended inside the request body";
                Err(io::Error::new(io::ErrorKind::UnexpectedEof, text).into())
            }
            _ => Ok(()),
        }
    }

    fn wait_and_receive(&mut self) -> Result<usize, LiveFailure> {
        loop {
            if let Some(bytes) = self.transport.receive(&mut self.raw)? {
                return Ok(bytes);
            }
            let age_ms = clock::monotonic_ms() - self.since_ms;
            let slow = age_ms > self.rate_grace_ms && self.bytes * 1000 < self.rate * age_ms;
            let wait = || self.transport.wait(Until::Readable, self.idle_timeout_ms);
            if slow || !wait_for_client(wait)? {
                return Err(TOO_SLOW.into());
            }
        }
    }

    /// Notes that the final answer has begun: `100 Continue` may not follow it.
    pub(crate) fn answered(&mut self) {
        self.awaited = false;
    }

    /// Takes the bytes received behind the body's end: the next request.
    pub(crate) fn leftover(&mut self) -> Vec<u8> {
        self.raw.drain(..self.at);
        self.at = 0;
        std::mem::take(&mut self.raw)
    }
}
