//! What a supervisor is to do.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use adyton_log::sink::Target;
use adyton_sys::child::Program;

use crate::access::Access;
use crate::demand::Bounds;
use crate::succession::Note;

/// The listening sockets of one worker: for each of its loops those of every address.
pub type Sockets = Vec<Vec<OwnedFd>>;

/// What a supervisor is to do.
pub struct Plan {
    /// The program that becomes a worker.
    pub program: Program,
    /// Its further arguments: what the user typed.
    pub arguments: Vec<OsString>,
    /// Whether workers are forked from a process that has imported the application.
    pub preload: bool,
    /// How many workers serve.
    pub processes: usize,
    /// Between which numbers that may change by itself.
    pub bounds: Bounds,
    /// How many may be started at once in the place of others.
    pub pace: Pace,
    /// When a worker is replaced, and how long it may take for what.
    pub limits: Limits,
    /// Whether each worker may listen at the sockets of the others, too: all are of addresses that can be shared.
    pub shares: bool,
    /// Opens another set of sockets at the same addresses, among which the kernel spreads the connections.
    pub open: Box<dyn Fn() -> io::Result<Sockets>>,
    /// Sockets for the first slots, from an earlier life of this supervisor or opened already.
    pub sockets: Vec<Sockets>,
    /// Where programs ask how things stand, and give orders.
    pub control: Option<OwnedFd>,
    /// Where monitors ask how things stand.
    pub admin: Option<OwnedFd>,
    /// Who may ask there.
    pub access: Access,
    /// Told, once, when the first worker serves: with what it serves.
    pub on_ready: Box<dyn FnMut(&str)>,
    /// A file whose change is a reload.
    pub touch: Option<PathBuf>,
    /// Whether a change of the application's own files is a reload: in development.
    pub develops: bool,
    /// What an earlier life of this supervisor has left.
    pub note: Option<Note>,
    /// Where requests are logged, for the lines that a dead worker has left.
    pub access_log: Option<Target>,
    /// How many bytes may wait until a log takes them.
    pub log_queue_bytes_max: usize,
    /// From a graceful stop's beginning to its first act.
    pub drain_delay_ms: u64,
}

/// How many workers are replaced at the same time, once one of the new ones has shown that it can serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// One after the other.
    One,
    /// All.
    All,
}

/// When a worker is replaced; 0 is never.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Requests that it may serve, before the jitter.
    pub requests_max: u64,
    /// How long it may serve, before the jitter.
    pub lifetime_max_ms: u64,
    /// Memory that it may have resident.
    pub rss_max_bytes: u64,
    /// CPU time that it may use.
    pub cpu_max_ms: u64,
    /// How long it may give no sign of life.
    pub heartbeat_timeout_ms: u64,
    /// How long it may take to be ready.
    pub startup_timeout_ms: u64,
    /// How long its running requests may take when it is told to drain.
    pub graceful_timeout_ms: u64,
}

impl Plan {
    /// The arguments of a program that this supervisor starts: what it is to be, what it is told, what the user typed.
    pub(crate) fn arguments_of(&self, command: &str, told: String) -> Vec<OsString> {
        [command.into(), told.into()].into_iter().chain(self.arguments.iter().cloned()).collect()
    }
}

impl Limits {
    /// When a process that is started now has to be ready; `None`: whenever it is.
    pub(crate) fn startup_due_ms(&self, now_ms: u64) -> Option<u64> {
        (self.startup_timeout_ms > 0).then_some(now_ms + self.startup_timeout_ms)
    }
}
