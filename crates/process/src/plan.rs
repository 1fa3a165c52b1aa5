//! What a supervisor is to do.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use adyton_log::sink::Destination;
use adyton_sys::child::Program;

use crate::control::access::Access;
use crate::groups::branch::{BranchPlan, Entrance};
use crate::groups::group_sockets::GroupSocket;
use crate::lines::ports::Sockets;
use crate::versions::editions::Edition;
use crate::versions::note::Note;
use crate::workers::demand::Bounds;
use crate::workers::limits::Limits;

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
    /// How many may be started at once to replace others.
    pub pace: Pace,
    /// When a worker is replaced, and how long it may take for what.
    pub limits: Limits,
    /// Whether each worker may listen at the sockets of the others, too: all their addresses can be shared.
    pub shares: bool,
    /// Opens another set of sockets at the same addresses, among which the kernel spreads the connections.
    pub open: Box<dyn Fn() -> io::Result<Sockets>>,
    /// Sockets for the first slots, from an earlier life of this supervisor or opened already.
    pub sockets: Vec<Sockets>,
    /// Where programs ask how things stand, and give orders.
    pub control: Option<OwnedFd>,
    /// Where monitors ask how things stand.
    pub admin: Option<OwnedFd>,
    /// Which requests are answered there.
    pub access: Access,
    /// Told, once, when the first worker serves: with what it serves.
    pub on_ready: Box<dyn FnMut(&str)>,
    /// What workers are handed of what they serve, if they do not find it by themselves.
    pub edition: Option<Edition>,
    /// Sockets of groups that an earlier life of this supervisor has left.
    pub group_sockets: Vec<Arc<GroupSocket>>,
    /// What the door's listeners are called, for groups.
    pub entrances: Vec<Entrance>,
    /// For the supervisor of a group.
    pub branch: Option<BranchPlan>,
    /// Files whose change is a reload.
    pub touch: Vec<PathBuf>,
    /// Whether a change of the application's own files is a reload: in development.
    pub develops: bool,
    /// What an earlier life of this supervisor has left.
    pub note: Option<Note>,
    /// Where requests are logged, for the lines that a dead worker has left.
    pub access_logs: Vec<Destination>,
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

/// Variables of the environment that no process gets but supervisors of the server.
pub(crate) const OWN_VARIABLES: [&str; 1] = ["ADYTON_ADMIN_TOKEN"];

impl Plan {
    /// The arguments of a program that this supervisor starts: what it is to be, what it is told, what the user typed.
    pub(crate) fn arguments_of(&self, command: &str, told: String) -> Vec<OsString> {
        [command.into(), told.into()].into_iter().chain(self.arguments.iter().cloned()).collect()
    }
}
