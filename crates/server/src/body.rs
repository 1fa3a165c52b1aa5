//! Request bodies: read whole by the loop before the application is called, or live by the application itself where
//! that is asked for (`--stream-body`) and threads may wait for clients.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use adyton_http1::{Chunked, Framing, Refusal};
use adyton_sys::{clock, forks};

use crate::config::Config;
use crate::limits::SiteLimits;
use crate::refusals::{BROKE_OFF, NO_DISK, NO_READER, NO_ROOM, TOO_LARGE, TOO_SLOW};
use crate::stored::Stored;
use crate::transport::{Transport, Until};
use crate::verdict::Verdict;
use crate::waiter::wait_for_client;
use adyton_log::{self as log, messages};

/// The body of one request, as the application gets it.
pub enum Body<'c> {
    /// There is none.
    Empty,
    /// All of it, in memory.
    Bytes(&'c [u8]),
    /// All of it, in an unlinked file that stands at its beginning.
    File(Stored),
    /// To be read from the connection, which blocks.
    Live(Arc<Mutex<Live>>),
}

impl Body<'_> {
    /// How long it is; `None` while it still comes.
    pub fn known_bytes(&self) -> Option<u64> {
        match self {
            Self::Empty => Some(0),
            Self::Bytes(bytes) => Some(bytes.len() as u64),
            Self::File(stored) => Some(stored.len()),
            Self::Live(_) => None,
        }
    }
}

/// A body that needs no desk.
pub(crate) enum OwnedBody {
    Empty,
    Bytes(Vec<u8>),
    File(Stored),
    Live(Arc<Mutex<Live>>),
}

impl OwnedBody {
    /// The body as the application gets it; the file goes with it.
    pub(crate) fn lend(&mut self) -> Body<'_> {
        if matches!(self, Self::File(_)) {
            let Self::File(stored) = std::mem::replace(self, Self::Empty) else { return Body::Empty };
            return Body::File(stored);
        }
        match self {
            Self::Bytes(bytes) => Body::Bytes(bytes),
            Self::Live(live) => Body::Live(Arc::clone(live)),
            Self::Empty | Self::File(_) => Body::Empty,
        }
    }

    pub(crate) fn live(&self) -> Option<Arc<Mutex<Live>>> {
        if let Self::Live(live) = self { Some(Arc::clone(live)) } else { None }
    }
}

/// Takes body bytes out of what arrives.
enum Decoder {
    Length(u64),
    Chunked(Box<Chunked>),
}

impl Decoder {
    fn new(framing: Framing) -> Self {
        match framing {
            Framing::None => Self::Length(0),
            Framing::Length(bytes) => Self::Length(bytes),
            Framing::Chunked => Self::Chunked(Box::new(Chunked::new())),
        }
    }

    /// Bytes that are known to follow.
    fn announced_bytes(&self) -> u64 {
        match self {
            Self::Length(left) => *left,
            Self::Chunked(chunked) => chunked.announced_bytes(),
        }
    }

    fn is_done(&self) -> bool {
        match self {
            Self::Length(left) => *left == 0,
            Self::Chunked(chunked) => chunked.is_done(),
        }
    }

    /// One step: how much of `input` it used, and where in it the data is.
    fn step(&mut self, input: &[u8]) -> Result<(usize, std::ops::Range<usize>), Refusal> {
        match self {
            Self::Length(left) => {
                let bytes = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                *left -= bytes as u64;
                Ok((bytes, 0..bytes))
            }
            Self::Chunked(chunked) => chunked.decode(input).map(|step| (step.consumed, step.data)),
        }
    }
}

/// A body on its way in: in memory, then in a file.
pub(crate) struct Upload {
    /// The request's head, kept because the loop's buffer is lent to other connections meanwhile.
    pub(crate) head: Vec<u8>,
    /// When the body began, in ms of the monotonic clock.
    pub(crate) since_ms: u64,
    /// What has come of the request's credentials, if they were looked at before the body came.
    pub(crate) verdict: Option<Box<Verdict>>,
    decoder: Decoder,
    memory: Vec<u8>,
    file: Option<Stored>,
    bytes: u64,
    bytes_max: u64,
    memory_bytes_max: u64,
}

/// Smaller pieces of a body that goes into a file are gathered before they are written: else a client could have a
/// system call for each byte.
const SPOOL_BYTES: usize = 16 << 10;

impl Upload {
    pub(crate) fn new(head: &[u8], framing: Framing, limits: &SiteLimits, now_ms: u64) -> Self {
        Self {
            head: head.to_vec(),
            since_ms: now_ms,
            verdict: None,
            decoder: Decoder::new(framing),
            memory: Vec::new(),
            file: None,
            bytes: 0,
            bytes_max: limits.body_bytes_max,
            memory_bytes_max: limits.body_memory_bytes_max,
        }
    }

    /// Body bytes so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn is_done(&self) -> bool {
        self.decoder.is_done()
    }

    /// Takes what belongs to the body, and says how much of `input` that was: not all when no `parts_left` of the turn
    /// are left, of which each piece of data takes one.
    pub(crate) fn feed(
        &mut self,
        input: &[u8],
        config: &Config,
        parts_left: &mut u32,
    ) -> Result<usize, Refusal> {
        let mut used = 0;
        while used < input.len() && *parts_left > 0 && !self.decoder.is_done() {
            *parts_left -= 1;
            let (consumed, data) = self.decoder.step(&input[used..])?;
            self.store(&input[used..][data], config)?;
            used += consumed;
            if self.bytes.saturating_add(self.decoder.announced_bytes()) > self.bytes_max {
                return Err(TOO_LARGE);
            }
        }
        if self.file.is_some() {
            self.spool_memory(config)?;
        }
        Ok(used)
    }

    fn store(&mut self, data: &[u8], config: &Config) -> Result<(), Refusal> {
        self.bytes += data.len() as u64;
        if self.bytes > self.bytes_max {
            return Err(TOO_LARGE);
        }
        if self.file.is_none() && self.bytes <= self.memory_bytes_max {
            self.memory.extend_from_slice(data);
            return Ok(());
        }
        if self.file.is_none() || self.memory.len() + data.len() > SPOOL_BYTES {
            self.spool_memory(config)?;
        }
        if data.len() >= SPOOL_BYTES {
            return self.spool(data, config);
        }
        self.memory.extend_from_slice(data);
        Ok(())
    }

    /// Adds what is in memory to the file.
    fn spool_memory(&mut self, config: &Config) -> Result<(), Refusal> {
        let memory = std::mem::take(&mut self.memory);
        self.spool(&memory, config)
    }

    /// Adds to the file, which is made with the first bytes.
    fn spool(&mut self, data: &[u8], config: &Config) -> Result<(), Refusal> {
        let complain = |error: io::Error| {
            let folder = config.temp_dir.display();
            log::write(
                &messages::BODY_NOT_STORED,
                format_args!("a request body cannot be stored in {folder} (setting --temp-dir): {error}"),
            );
            NO_ROOM
        };
        let stored = match &mut self.file {
            Some(stored) => stored,
            None => self.file.insert(Stored::new(&config.temp_dir, &config.body_files).map_err(complain)?),
        };
        if !stored.reserve(data) {
            return Err(NO_DISK);
        }
        stored.write_reserved(data).map_err(complain)
    }

    /// The whole body, once it is done.
    pub(crate) fn body(&mut self) -> io::Result<OwnedBody> {
        match self.file.take() {
            Some(mut stored) => {
                stored.rewind()?;
                Ok(OwnedBody::File(stored))
            }
            None if self.memory.is_empty() => Ok(OwnedBody::Empty),
            None => Ok(OwnedBody::Bytes(std::mem::take(&mut self.memory))),
        }
    }
}

/// The answer to `Expect: 100-continue` (RFC 9110 section 10.1.1).
pub(crate) const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// One of the places for bodies that the application reads from the connection: each may have a thread that waits.
pub(crate) struct Reading(Arc<AtomicUsize>);

impl Reading {
    /// Takes one of `most` places.
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

/// How much one read of a live body takes from the socket.
const LIVE_BYTES_PER_READ: usize = 64 << 10;

/// A body that the application reads from the connection itself.
pub struct Live {
    transport: Transport,
    /// Until it is read, or has failed.
    reading: Option<Reading>,
    decoder: Decoder,
    /// Bytes received and not decoded, from `at`.
    raw: Vec<u8>,
    at: usize,
    /// The client waits for `100 Continue`, and nothing has been answered yet.
    awaited: bool,
    bytes: u64,
    bytes_max: u64,
    idle_timeout_ms: u64,
    rate: u64,
    rate_grace_ms: u64,
    since_ms: u64,
    /// Why it cannot be read.
    failure: Option<Refusal>,
}

/// Why a live body cannot be read on.
enum Failure {
    /// Its client breaks a rule or a limit.
    Refused(Refusal),
    /// The connection has failed, or no thread is left to wait for it.
    Failed(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Failure> for io::Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(refusal) if refusal == TOO_SLOW => {
                Self::new(io::ErrorKind::TimedOut, refusal.reason)
            }
            Failure::Refused(refusal) => Self::new(io::ErrorKind::InvalidData, refusal.reason),
            Failure::Failed(error) => error,
        }
    }
}

impl Failure {
    /// What its client is told if it still listens.
    fn refusal(&self) -> Refusal {
        match self {
            Self::Refused(refusal) => *refusal,
            Self::Failed(error) if error.kind() == io::ErrorKind::Other => NO_READER,
            Self::Failed(_) => BROKE_OFF,
        }
    }
}

/// The body of a request that has been answered; `None` while a thread of the application still reads it, which may
/// take as long as its client likes.
pub(crate) fn unless_read(live: &Mutex<Live>) -> Option<MutexGuard<'_, Live>> {
    match live.try_lock() {
        Ok(live) => Some(live),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

impl Live {
    /// A body of which `early` has arrived; `awaited` says whether its client waits to be told to go on.
    pub(crate) fn new(
        (transport, reading): (Transport, Reading),
        framing: Framing,
        limits: &SiteLimits,
        (early, awaited): (&[u8], bool),
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

    /// The next piece of the body; empty at its end. Blocks: call it detached from the interpreter.
    ///
    /// # Errors
    ///
    /// The client is gone, too slow, or sends something that is no body; the same at every later call.
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
        self.failure = piece.as_ref().err().map(Failure::refusal);
        if self.failure.is_some() || self.is_done() {
            self.reading = None;
        }
        Ok(piece?)
    }

    /// What the client is to be told, if the body could not be read.
    pub(crate) fn failure(&self) -> Option<Refusal> {
        self.failure
    }

    /// All the data of what has been received, or of what comes next.
    fn next(&mut self) -> Result<Vec<u8>, Failure> {
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

    fn receive(&mut self) -> Result<(), Failure> {
        if std::mem::take(&mut self.awaited) {
            // 25 bytes into an empty send buffer: taken whole, or the connection is gone.
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

    fn wait_and_receive(&mut self) -> Result<usize, Failure> {
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

    /// The final answer has begun: `100 Continue` may not follow it.
    pub(crate) fn answered(&mut self) {
        self.awaited = false;
    }

    /// What was received behind the body's end: the next request.
    pub(crate) fn leftover(&mut self) -> Vec<u8> {
        self.raw.drain(..self.at);
        self.at = 0;
        std::mem::take(&mut self.raw)
    }
}
