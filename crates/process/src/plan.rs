//! The plan of a supervisor.

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

/// The plan of a supervisor: its workers, sockets, limits and logs.
pub struct Plan {
    /// The program that becomes a worker.
    pub program: Program,
    /// Further arguments of the program, as the user typed them.
    pub arguments: Vec<OsString>,
    /// Whether workers are forked from a process that has imported the application.
    pub preload: bool,
    /// Number of workers that serve.
    pub processes: usize,
    /// Bounds between which the number of workers may change by itself.
    pub bounds: Bounds,
    /// Number of workers that may be started at once to replace others.
    pub pace: Pace,
    /// When a worker is replaced, and how long each step may take.
    pub limits: Limits,
    /// Whether each worker may also listen at the sockets of all other workers, for which every address must be
    /// shareable.
    pub shares: bool,
    /// Opens another set of sockets at the same addresses, among which the kernel spreads the connections.
    pub open: Box<dyn Fn() -> io::Result<Sockets>>,
    /// Sockets for the first slots, from an earlier life of this supervisor or opened already.
    pub sockets: Vec<Sockets>,
    /// The control socket, where programs ask for the state and give orders.
    pub control: Option<OwnedFd>,
    /// The admin listener, where monitors ask for the state.
    pub admin: Option<OwnedFd>,
    /// The requests that the admin listener answers.
    pub access: Access,
    /// Called once, when the first worker serves, with the application that it serves.
    pub on_ready: Box<dyn FnMut(&str)>,
    /// The file of sites for workers, if they have one.
    pub edition: Option<Edition>,
    /// Sockets of groups that an earlier life of this supervisor has left.
    pub group_sockets: Vec<Arc<GroupSocket>>,
    /// Names and ports of the door's listeners, for groups.
    pub entrances: Vec<Entrance>,
    /// The parts of the supervisor of a group.
    pub branch: Option<BranchPlan>,
    /// Files whose change causes a reload.
    pub touch: Vec<PathBuf>,
    /// Whether a change of the application's own files causes a reload, as in development.
    pub develops: bool,
    /// The note that an earlier life of this supervisor has left.
    pub note: Option<Note>,
    /// The outputs of access logs, for the lines that a dead worker has left.
    pub access_logs: Vec<Destination>,
    /// Bytes that may wait until a log takes them.
    pub log_queue_bytes_max: usize,
    /// Time between the beginning of a graceful stop and its first act.
    pub drain_delay_ms: u64,
}

/// The pace at which workers are replaced, once one of the new workers has shown that it can serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// One worker after the other.
    One,
    /// All workers at the same time.
    All,
}

/// Variables of the environment that only supervisors of the server get, and no other process.
pub(crate) const OWN_VARIABLES: [&str; 1] = ["ADYTON_ADMIN_TOKEN"];

impl Plan {
    /// Returns the arguments of a program that this supervisor starts: its role, its settings, and the arguments that
    /// the user typed.
    pub(crate) fn arguments_of(&self, command: &str, told: String) -> Vec<OsString> {
        [command.into(), told.into()].into_iter().chain(self.arguments.iter().cloned()).collect()
    }
}
