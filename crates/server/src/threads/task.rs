//! The request that a late thread or a worker is in: its limits, its way to being interrupted, and its line in the log.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use adyton_log::request::RequestId;
use adyton_log::{self as log, messages};

use crate::site::limits::CallLimits;

/// Stands for the key of a connection in a task that has none: a call that drops the rest of an answer whose client has
/// gone.
pub(crate) const NO_KEY: usize = usize::MAX;

/// The request that a late thread or a worker is in. A worker here is a thread that has taken the request from the
/// queue.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) home: usize,
    pub(crate) key: usize,
    pub(crate) since_ms: u64,
    pub(crate) what: What,
    /// The id by which the logs call the request; `None` for the end of an answer whose client has gone.
    pub(crate) id: Option<RequestId>,
    /// The time limits of the request.
    pub(crate) limits: CallLimits,
    pub(crate) stage: Stage,
    /// Whether the loop has given the thread up, and answered in its place.
    pub(crate) lost: bool,
}

/// How far a task is from being interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The task's time runs.
    Runs,
    /// The task waits for its client, which does not count as its own time.
    Parked,
    /// The task's time is over, and a thread is about to interrupt it.
    Overdue,
    Interrupted,
}

/// A limit that a request has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// The time for which nothing of the answer came.
    Silence,
    /// The time of the whole request.
    Whole,
}

impl Task {
    pub(crate) fn new(
        home: usize,
        key: usize,
        since_ms: u64,
        what: What,
        id: Option<RequestId>,
        limits: CallLimits,
    ) -> Self {
        Self { home, key, since_ms, what, id, limits, stage: Stage::Runs, lost: false }
    }

    /// Identifies the task: there is one task at a time for a loop, a key and a beginning.
    pub(crate) fn place(&self) -> (usize, usize, u64) {
        (self.home, self.key, self.since_ms)
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.stage == Stage::Interrupted
    }

    /// Returns the time at which the task passes its next limit, and that limit; `None` if it has no limit.
    pub(crate) fn due_ms(&self, item_ms: &AtomicU64) -> Option<(u64, Limit)> {
        let silent_since_ms = self.last_item_ms(item_ms).unwrap_or(self.since_ms);
        let limits = [
            (silent_since_ms, self.limits.silence_ms, Limit::Silence),
            (self.since_ms, self.limits.total_ms, Limit::Whole),
        ];
        let set = limits.into_iter().filter(|&(_, timeout_ms, _)| timeout_ms > 0);
        set.map(|(since_ms, timeout_ms, limit)| (since_ms + timeout_ms, limit))
            .min_by_key(|&(due_ms, _)| due_ms)
    }

    /// Returns the time at which the last piece of the answer's body came.
    pub(crate) fn last_item_ms(&self, item_ms: &AtomicU64) -> Option<u64> {
        Some(item_ms.load(Ordering::Relaxed)).filter(|&item_ms| item_ms > self.since_ms)
    }

    /// Notes that the task's time is over, unless it waits for its client by now.
    pub(crate) fn expire(&mut self) {
        if self.stage == Stage::Runs {
            self.stage = Stage::Overdue;
        }
    }

    /// Stops the task's time.
    pub(crate) fn park(&mut self) {
        if !self.is_interrupted() {
            self.stage = Stage::Parked;
        }
    }

    /// Has the task's time run again, after a wait of `waited_ms`.
    pub(crate) fn unpark(&mut self, waited_ms: u64) {
        if self.stage == Stage::Parked {
            self.since_ms += waited_ms;
            self.stage = Stage::Runs;
        }
    }
}

/// The description of a call in the log: enough to recognise the call, and so short that every call can note it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    /// The beginning of a request's head.
    Head { bytes: [u8; What::HEAD_BYTES_MAX], length: u8 },
    /// A call without a head, in words.
    Named(&'static str),
}

impl What {
    /// Bytes of a head that are noted.
    pub(crate) const HEAD_BYTES_MAX: usize = 96;

    /// The next pieces of an answer that has begun, or its end.
    pub(crate) const REST: Self = Self::Named("the rest of an answer");

    /// Notes the beginning of a head in the place of the last head.
    pub(crate) fn note(&mut self, head: &[u8]) {
        match self {
            Self::Head { bytes, length } => {
                let noted = head.len().min(bytes.len());
                bytes[..noted].copy_from_slice(&head[..noted]);
                *length = u8::try_from(noted).unwrap_or(0);
            }
            Self::Named(_) => *self = Self::of(head),
        }
    }

    /// Notes the beginning of a head.
    pub(crate) fn of(head: &[u8]) -> Self {
        let mut bytes = [0; Self::HEAD_BYTES_MAX];
        let length = head.len().min(bytes.len());
        bytes[..length].copy_from_slice(&head[..length]);
        Self::Head { bytes, length: u8::try_from(length).unwrap_or(0) }
    }
}

impl fmt::Display for What {
    /// Method and target, as far as they were noted.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bytes, length) = match self {
            Self::Named(words) => return f.write_str(words),
            Self::Head { bytes, length } => (bytes, length),
        };
        let start = bytes[..usize::from(*length)].trim_ascii_start();
        let line = &start[..memchr::memchr(b'\r', start).unwrap_or(start.len())];
        let mut words = line.splitn(3, |&byte| byte == b' ');
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        write!(f, "{} {}", method.escape_ascii(), target.escape_ascii())
    }
}

/// Logs that a call does not end: it does not react to its interruption, or cannot be interrupted, because some call
/// keeps the interpreter.
pub(crate) fn log_stuck(task: &Task, waited_ms: u64, stacks: impl FnOnce() -> Option<String>) {
    let (what, seconds) = (task.what.to_string(), waited_ms / 1000);
    let text = if task.is_interrupted() {
        format!(
            "{what} was interrupted and does not react after {seconds} s; its thread is lost until it does"
        )
    } else {
        let stacks = stacks().map(|stacks| format!("; this is where all threads are:\n{stacks}"));
        format!(
            "{what} is not reached after {seconds} s, because it or another request keeps the interpreter; its thread \
             is lost until that lets go{}",
            stacks.unwrap_or_default()
        )
    };
    log::write_about(task.id.as_ref(), &messages::THREAD_LOST, format_args!("{}", text.trim_end()));
}
