//! Settings that the supervisor of a group gets at its start from the door's supervisor.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

use adyton_log::Level;
use adyton_sys::child;
use serde::{Deserialize, Serialize};

/// A listener of the door, as applications are told of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entrance {
    /// `SERVER_NAME`, unless the request says it.
    pub name: String,
    /// `SERVER_PORT`, unless the request says it.
    pub port: String,
}

/// The settings for the supervisor of a group, with descriptors by their numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchTold {
    /// The group.
    pub group: String,
    /// The door's listeners.
    pub entrances: Vec<Entrance>,
    passage: RawFd,
    line: RawFd,
    edition: RawFd,
    /// Sockets for this group alone.
    #[serde(default)]
    pub sockets: Vec<RawFd>,
    log_level: Option<String>,
}

/// The parts of a plan that only the supervisor of a group has.
pub struct BranchPlan {
    /// The group.
    pub group: String,
    /// The door's listeners.
    pub entrances: Vec<Entrance>,
    /// The socket through which connections come from the door, and go back.
    pub passage: OwnedFd,
    /// The line to the door's supervisor.
    pub line: OwnedFd,
    /// How long a group may have no request to answer before it ends; `None` if it stays.
    pub idle_timeout_ms: Option<u64>,
}

impl BranchTold {
    pub(crate) fn new(
        group: &str,
        entrances: &[Entrance],
        [passage, line, edition]: [BorrowedFd<'_>; 3],
        sockets: &[BorrowedFd<'_>],
        log_level: Option<Level>,
    ) -> Self {
        Self {
            group: group.to_owned(),
            entrances: entrances.to_vec(),
            passage: passage.as_raw_fd(),
            line: line.as_raw_fd(),
            edition: edition.as_raw_fd(),
            sockets: sockets.iter().map(AsRawFd::as_raw_fd).collect(),
            log_level: log_level.map(|level| level.name().to_owned()),
        }
    }

    /// Returns the settings as an argument of the program.
    pub(crate) fn written(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads the settings from the argument.
    ///
    /// # Errors
    ///
    /// The text describes no branch.
    pub fn read(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| format!("these are not the settings of a group: {error}"))
    }

    /// The descriptor of the file of sites.
    pub(crate) fn edition(&self) -> RawFd {
        self.edition
    }

    /// The level of the log, if it was changed while the server ran.
    pub fn log_level(&self) -> Option<Level> {
        self.log_level.as_deref().and_then(Level::named)
    }

    /// Takes over the descriptors.
    ///
    /// # Errors
    ///
    /// A descriptor is not there.
    pub fn take(self, idle_timeout_ms: Option<u64>) -> io::Result<BranchPlan> {
        let (passage, line) = (child::inherit(self.passage)?, child::inherit(self.line)?);
        Ok(BranchPlan { group: self.group, entrances: self.entrances, passage, line, idle_timeout_ms })
    }
}
