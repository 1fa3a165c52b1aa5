//! The access log: one line per answer, in Apache's notation or as JSON.
//!
//! A line is appended to a buffer, without a system call and without an allocation; the buffer is given to the log's
//! own thread when it is full or half a second old. A line therefore costs a fraction of a microsecond, and no request
//! waits for the log. Lines that are not written yet are also on the board: if the process dies, the supervisor writes
//! them from there (`board/crash_record.rs`).

mod client;
mod format;
mod json;
mod line;
mod record;
mod step;

use std::time::Duration;
use std::{fmt, io};

use adyton_log::sink::Destination;
use adyton_log::stamp::Stamp;
use adyton_log::{Counter, Journal};
use adyton_sys::clock;

use crate::board::crash_record::{LINES_BYTES_MAX, LinePages, Page, PagesOfLog};
pub use record::Record;

use format::Format;

/// An open access log. It must not live through a fork: both processes would write the lines that it holds.
pub struct AccessLog {
    format: Format,
    stamp: Stamp,
    /// Whole lines that were not given to the log's thread yet.
    held: Vec<u8>,
    /// Time of the first tick after the oldest of the held lines was added, in ms.
    held_since_ms: Option<u64>,
    journal: Journal,
    /// The key of its destination.
    key: u64,
    /// Pages of the board, on which its lines outlive this process.
    pages: Option<PagesOfLog>,
    /// The page of the board with a copy of the held lines, if a page was free.
    page: Option<Page>,
}

impl AccessLog {
    /// Opens the log at `target`.
    ///
    /// `format` is `common`, `combined`, `json`, or made of atoms as in Apache's `LogFormat`:
    ///
    /// | atom | stands for |
    /// | --- | --- |
    /// | `%h`, `%a` | the client's address |
    /// | `%l` | `-` |
    /// | `%u` | the user who has asked, if the server authenticates its clients |
    /// | `%t` | the time at which the answer was finished, in UTC: `[20/Nov/2026:10:55:52 +0000]` |
    /// | `%r` | the request line; of a request that was refused, its first bytes |
    /// | `%m`, `%U`, `%q`, `%H` | method, path as it was sent, query with its `?`, protocol |
    /// | `%s`, `%>s` | the status |
    /// | `%b`, `%B` | body bytes sent; none are `-` in `%b` |
    /// | `%D`, `%T` | duration in microseconds, in whole seconds |
    /// | `%P`, `%{group}P` | number of the process, its group |
    /// | `%v` | the site that has answered, by its first name |
    /// | `%L` | id of the request, which the error log has, too |
    /// | `%{Name}i` | a field of the request; fields that hold credentials are refused |
    /// | `%%`, `\"`, `\\`, `\n`, `\t` | `%`, `"`, `\`, line feed, tab |
    ///
    /// # Errors
    ///
    /// The format is wrong, the file cannot be opened, or the log's thread cannot be started.
    pub fn open(target: &Destination, format: &str, queue_bytes_max: usize) -> Result<Self, AccessLogError> {
        let format = Format::read(format).map_err(AccessLogError::Format)?;
        let journal = Journal::access(target, queue_bytes_max)
            .map_err(|source| AccessLogError::Open { target: target.clone(), source })?;
        Ok(Self {
            format,
            stamp: Stamp::at(0),
            held: Vec::with_capacity(LINES_BYTES_MAX),
            held_since_ms: None,
            journal,
            key: target.key(),
            pages: None,
            page: None,
        })
    }

    /// From now on, lines that are not written yet are noted in `pages` as well as in the buffer, and lost lines are
    /// counted in `lost`. Only the first call has an effect.
    pub(crate) fn leave_on(&mut self, pages: &LinePages, lost: Counter) {
        if self.pages.is_some() {
            return;
        }
        self.journal.count_in(lost);
        let pages = pages.of_log(self.key);
        self.page = pages.take();
        self.pages = Some(pages);
    }

    /// Checks whether a log could be opened with `format`.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong, and where.
    pub fn check_format(format: &str) -> Result<(), String> {
        Format::read(format).map(|_| ())
    }

    /// Has the log's thread open its file again, under the same name. A failure is reported in the error log, and the
    /// old file stays.
    pub fn reopen(&mut self) {
        self.flush();
        self.journal.reopen();
    }

    /// Adds one line.
    pub fn record(&mut self, record: &Record<'_>) {
        self.stamp.set(clock::unix_seconds());
        let before = self.held.len();
        self.format.write(&mut self.held, record, &self.stamp);
        let is_left = self.page.as_mut().is_none_or(|page| page.push(&self.held[before..]));
        if !is_left {
            self.turn_page(before);
        }
        if self.held.len() >= HELD_BYTES_MAX {
            self.flush();
        }
    }

    /// Gives the held lines before `start` to the thread, and begins another page with the line from `start` on.
    #[cold]
    fn turn_page(&mut self, start: usize) {
        let line = self.held.split_off(start);
        self.flush();
        self.held.extend_from_slice(&line);
        if let Some(page) = &mut self.page {
            // A line that is longer than a page is not noted.
            page.push(&line);
        }
    }

    /// Tells the log the time, once per wait of the loop, and gives lines that were held long enough to the thread.
    /// Returns the number of milliseconds until the next call is due; `None` when no line is held back.
    pub fn tick(&mut self, now_ms: u64) -> Option<u32> {
        if self.held.is_empty() {
            return None;
        }
        let since_ms = *self.held_since_ms.get_or_insert(now_ms);
        let waited_ms = u32::try_from(now_ms.saturating_sub(since_ms)).unwrap_or(u32::MAX);
        if waited_ms >= HELD_MS_MAX {
            self.flush();
            return None;
        }
        Some(HELD_MS_MAX - waited_ms)
    }

    /// Gives all held lines to the thread. Lines for which its queue has no room are lost, with a message in the error
    /// log.
    pub fn flush(&mut self) {
        if self.held.is_empty() {
            return;
        }
        let left = self.page.take().map(|page| Box::new(page) as Box<dyn Send>);
        self.page = self.pages.as_ref().and_then(PagesOfLog::take);
        let spare = self.journal.put_lines(std::mem::take(&mut self.held), left);
        self.held = spare;
        // One line of escaped garbage can be longer than all other lines together.
        self.held.shrink_to(LINES_BYTES_MAX);
        self.held.reserve(LINES_BYTES_MAX);
        self.held_since_ms = None;
    }

    /// Waits until all lines are written, for at most `patience`; lines that are not written by then are lost.
    pub fn settle(&mut self, patience: Duration) {
        self.flush();
        self.journal.settle(patience);
    }
}

impl Drop for AccessLog {
    fn drop(&mut self) {
        self.flush();
    }
}

/// The reason why there is no access log.
#[derive(Debug)]
pub enum AccessLogError {
    /// The format is wrong; the sentence says how.
    Format(String),
    /// The log cannot be opened.
    Open {
        /// The log.
        target: Destination,
        /// The kernel's error.
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

/// Bytes at which the held lines are given to the thread: some 400 lines share two system calls, and the caches are not
/// flooded.
const HELD_BYTES_MAX: usize = LINES_BYTES_MAX - 4 * 1024;

/// Longest time that a line is held while the loop has time for ticks: short enough to watch the log live.
const HELD_MS_MAX: u32 = 500;

#[cfg(test)]
mod tests;
