//! The access log: one line per answer, in Apache's notation or as JSON.
//!
//! A line is appended to a buffer, without a system call and without an allocation; the buffer is written
//! when it is full or half a second old. So a line costs a fraction of a microsecond. What the buffer holds is on the
//! board, too, from where the supervisor writes it when the process has died (`estate.rs`).

mod client;
mod format;
mod json;
mod line;

use std::net::SocketAddr;
use std::time::Duration;
use std::{fmt, io};

use adyton_http1::Head;
use adyton_log::request::RequestId;
use adyton_log::sink::{Sink, Target};
use adyton_log::stamp::Stamp;
use adyton_sys::clock;

use crate::estate::Lines;
use format::Format;

/// One answer, as the log sees it.
pub struct Record<'r> {
    /// The client; `None` on unix sockets.
    pub peer: Option<SocketAddr>,
    /// The request's head; `None` when it could not be parsed.
    pub head: Option<&'r Head>,
    /// What the head's positions point into. Without a head: what came in its place, perhaps nothing.
    pub bytes: &'r [u8],
    /// The status sent.
    pub status: u16,
    /// Body bytes sent.
    pub body_bytes: u64,
    /// From the head's arrival to the answer's last byte, in microseconds.
    pub duration_us: u64,
    /// What the request is called in all logs.
    pub id: &'r RequestId,
}

/// An open access log. It must not live through a fork: both processes would write what it holds.
pub struct AccessLog {
    format: Format,
    stamp: Stamp,
    /// Whole lines that have not been written yet.
    held: Vec<u8>,
    /// The first tick that saw the oldest of them.
    held_since_ms: Option<u64>,
    sink: Sink,
    target: Target,
    /// The same lines where they outlive this process.
    left: Option<Lines>,
}

impl AccessLog {
    /// Opens the log at `target`.
    ///
    /// `format` is `common`, `combined`, `json`, or made of atoms as in Apache's `LogFormat`:
    ///
    /// | atom | stands for |
    /// | --- | --- |
    /// | `%h`, `%a` | the client's address |
    /// | `%l`, `%u` | `-`: nobody is asked who they are |
    /// | `%t` | when the answer was finished, in UTC: `[20/Nov/2026:10:55:52 +0000]` |
    /// | `%r` | the request line; of a request that was refused, its first bytes |
    /// | `%m`, `%U`, `%q`, `%H` | method, path as it was sent, query with its `?`, protocol |
    /// | `%s`, `%>s` | the status |
    /// | `%b`, `%B` | body bytes sent; none are `-` in `%b` |
    /// | `%D`, `%T` | duration in microseconds, in whole seconds |
    /// | `%P` | number of the process |
    /// | `%L` | id of the request, which the error log has, too |
    /// | `%{Name}i` | a field of the request; fields that hold credentials are refused |
    /// | `%%`, `\"`, `\\`, `\n`, `\t` | `%`, `"`, `\`, line feed, tab |
    ///
    /// # Errors
    ///
    /// The format is wrong, or the file cannot be opened.
    pub fn open(target: &Target, format: &str) -> Result<Self, AccessLogError> {
        let format = Format::read(format).map_err(AccessLogError::Format)?;
        let sink =
            Sink::open(target).map_err(|source| AccessLogError::Open { target: target.clone(), source })?;
        Ok(Self {
            format,
            stamp: Stamp::at(0),
            held: Vec::with_capacity(HELD_BYTES_CAPACITY),
            held_since_ms: None,
            sink,
            target: target.clone(),
            left: None,
        })
    }

    /// Keeps what it holds back there, too.
    pub(crate) fn leaving(mut self, left: Lines) -> Self {
        self.left = Some(left);
        self
    }

    /// Whether `format` could be opened with.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong, and where.
    pub fn check_format(format: &str) -> Result<(), String> {
        Format::read(format).map(|_| ())
    }

    /// Opens its file again, under the same name.
    ///
    /// # Errors
    ///
    /// Those of open(2); the old file stays.
    pub fn reopen(&mut self) -> io::Result<()> {
        self.flush();
        self.sink = Sink::open(&self.target)?;
        Ok(())
    }

    /// Adds one line.
    pub fn record(&mut self, record: &Record<'_>) {
        self.stamp.set(clock::unix_seconds());
        let before = self.held.len();
        self.format.write(&mut self.held, record, &self.stamp);
        let is_left = self.left.as_mut().is_none_or(|left| left.push(&self.held[before..]));
        if self.held.len() >= HELD_BYTES_MAX || !is_left {
            self.flush();
        }
    }

    /// Tells the time, once per wait of the loop, and writes what has waited long enough. Says in how
    /// many milliseconds it wants to be told again; `None` when nothing is held back.
    pub fn tick(&mut self, now_ms: u64) -> Option<u32> {
        if self.held.is_empty() {
            return None;
        }
        let since_ms = *self.held_since_ms.get_or_insert(now_ms);
        let waited_ms = u32::try_from(now_ms.saturating_sub(since_ms)).unwrap_or(u32::MAX);
        if waited_ms >= HELD_MS_MAX {
            self.flush();
            if self.held.is_empty() {
                return None;
            }
            self.held_since_ms = Some(now_ms.saturating_sub((HELD_MS_MAX - RETRY_MS).into()));
            return Some(RETRY_MS);
        }
        Some(HELD_MS_MAX - waited_ms)
    }

    /// Writes everything held back, but for what its reader has no room for now. What cannot be written is lost, with a
    /// message in the error log.
    pub fn flush(&mut self) {
        let done = self.sink.write(&self.held);
        if done < self.held.len() && self.held.len() < HELD_BYTES_MAX {
            self.held.drain(..done);
        } else {
            if done < self.held.len() {
                self.sink.lose(&io::Error::other("its reader does not keep up"));
            }
            self.held.clear();
            // One line of escaped garbage can be longer than all others together.
            self.held.shrink_to(HELD_BYTES_CAPACITY);
        }
        self.held_since_ms = None;
        // Whoever dies between a write and this leaves lines that stand in the log already: better twice than not at all.
        if let Some(left) = &mut self.left {
            left.clear();
            let has_room = left.push(&self.held);
            debug_assert!(has_room, "what is held back has room");
        }
    }
}

impl Drop for AccessLog {
    fn drop(&mut self) {
        for _ in 0..RETRIES_LAST {
            self.flush();
            if self.held.is_empty() {
                break;
            }
            std::thread::sleep(Duration::from_millis(RETRY_MS.into()));
        }
    }
}

/// Why there is no access log.
#[derive(Debug)]
pub enum AccessLogError {
    /// The format is wrong; the sentence says how.
    Format(String),
    /// The log cannot be opened.
    Open {
        /// Which.
        target: Target,
        /// What the kernel says.
        source: io::Error,
    },
}

impl fmt::Display for AccessLogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format(sentence) => f.write_str(sentence),
            Self::Open { target, source } => write!(f, "cannot open the access log {target}: {source}"),
        }
    }
}

impl std::error::Error for AccessLogError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Format(_) => None,
            Self::Open { source, .. } => Some(source),
        }
    }
}

/// When the held lines are written: some 400 of them share a system call, and the caches are not flooded.
const HELD_BYTES_MAX: usize = 64 * 1024;

/// Room for the line that passes the limit, too.
pub(crate) const HELD_BYTES_CAPACITY: usize = HELD_BYTES_MAX + 4 * 1024;

/// How long a line is held at most while the loop has time for ticks: short enough to watch the log live.
const HELD_MS_MAX: u32 = 500;

/// How soon what its reader had no room for is tried again.
const RETRY_MS: u32 = 5;

/// How often in the end.
const RETRIES_LAST: u32 = 100;

#[cfg(test)]
mod tests;
