//! What a worker is given: its place among the others.

use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

use adyton_log::Level;
use serde::{Deserialize, Serialize};

use crate::ports;

/// What a worker is given: its place among the others, and descriptors by their numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Its slot, from 1 on.
    pub number: usize,
    /// How many slots there were when it was started.
    pub of: usize,
    /// Its version of the application: reload makes a new one.
    pub generation: u32,
    pub(crate) seat: usize,
    pub(crate) channel: RawFd,
    pub(crate) board: RawFd,
    pub(crate) shares: RawFd,
    pub(crate) sockets: Vec<Vec<RawFd>>,
    /// The sockets of the others, at which it listens while it has fewer connections than they.
    pub(crate) others: Vec<RawFd>,
    /// From where on is logged, if somebody has changed that.
    log_level: Option<String>,
}

impl Place {
    /// The place that is described by these descriptors.
    pub(crate) fn new(
        (number, of, generation, seat): (usize, usize, u32, usize),
        [channel, board, shares]: [BorrowedFd<'_>; 3],
        sockets: &[Vec<OwnedFd>],
        others: &[BorrowedFd<'_>],
        log_level: Option<Level>,
    ) -> Self {
        Self {
            number,
            of,
            generation,
            seat,
            channel: channel.as_raw_fd(),
            board: board.as_raw_fd(),
            shares: shares.as_raw_fd(),
            sockets: ports::numbers(sockets),
            others: others.iter().map(AsRawFd::as_raw_fd).collect(),
            log_level: log_level.map(|level| level.name().to_owned()),
        }
    }

    /// From where on is logged, if somebody has changed that while the server ran.
    pub fn log_level(&self) -> Option<Level> {
        self.log_level.as_deref().and_then(Level::named)
    }

    /// As an argument of the program.
    pub(crate) fn written(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads the argument.
    ///
    /// # Errors
    ///
    /// It is none.
    pub fn read(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| format!("this is no place of a worker: {error}"))
    }
}
