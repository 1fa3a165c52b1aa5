//! A worker's place among all workers, which the supervisor assigns.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

use adyton_log::Level;
use adyton_sys::child;
use serde::{Deserialize, Serialize};

use crate::groups::branch::Entrance;
use crate::lines::ports::{self, Sockets};

/// A worker's place among all workers, with descriptors by their numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The worker's slot, from 1 on.
    pub number: usize,
    /// The number of slots when the worker was started.
    pub of: usize,
    /// The worker's version of the application: reload makes a new one.
    pub generation: u32,
    /// The worker's row on the board on which all workers count their connections.
    #[serde(alias = "seat")]
    row: usize,
    channel: RawFd,
    board: RawFd,
    shares: RawFd,
    sockets: Vec<Vec<RawFd>>,
    /// Sockets of other workers, at which this worker listens while it has fewer connections than these workers.
    others: Vec<RawFd>,
    /// The descriptor of the worker's file of sites, if it gets one.
    #[serde(default)]
    edition: Option<RawFd>,
    /// The group that the worker belongs to, if any.
    #[serde(default)]
    pub group: Option<String>,
    /// The door's listeners, for a worker of a group, because such a worker has no listeners itself.
    #[serde(default)]
    pub entrances: Vec<Entrance>,
    /// The worker's ends of passages: first the ends for the groups that its file names, in their order, and then the
    /// ends for other groups. A worker of a group has one end.
    #[serde(default)]
    passages: Vec<Passageway>,
    /// The names of the processes at the other end of each passage, as the log calls them.
    #[serde(default)]
    names: Vec<String>,
    /// The board that shows the door's workers whether a group takes connections, and the secret with which these
    /// workers seal connections.
    #[serde(default)]
    door: Option<[RawFd; 2]>,
    /// The level of the log, if it was changed while the server ran.
    log_level: Option<String>,
}

/// The descriptor of a passage's end, and the cell that says whether the other end takes connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Passageway(RawFd, Option<usize>);

/// An end of a passage for a worker.
pub(crate) struct PassageEnd<'f> {
    pub(crate) socket: BorrowedFd<'f>,
    /// The cell that says whether the other end takes connections.
    pub(crate) cell: Option<usize>,
    /// The name of the processes at the other end, as the log calls them.
    pub(crate) name: String,
}

/// The passages of a worker.
#[derive(Default)]
pub(crate) struct Passages<'f> {
    /// The group that the worker belongs to, and the door's listeners.
    pub(crate) group: Option<(String, Vec<Entrance>)>,
    /// The worker's ends.
    pub(crate) ends: Vec<PassageEnd<'f>>,
    /// The board of the cells, and the secret that the door seals with.
    pub(crate) door: Option<[BorrowedFd<'f>; 2]>,
}

impl<'f> Passages<'f> {
    /// Returns all descriptors, in the order in which they are taken.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'f>> {
        self.ends.iter().map(|end| end.socket).chain(self.door.into_iter().flatten())
    }
}

/// The descriptors that came with a worker's place.
pub(crate) struct Given {
    pub(crate) passages: Vec<OwnedFd>,
    /// The board of the cells, and the secret that the door seals with.
    pub(crate) door: Option<[OwnedFd; 2]>,
    pub(crate) channel: OwnedFd,
    pub(crate) board: OwnedFd,
    pub(crate) shares: OwnedFd,
    pub(crate) sockets: Sockets,
    pub(crate) others: Vec<OwnedFd>,
}

/// The numbers of a worker.
#[derive(Clone, Copy)]
pub(crate) struct Position {
    /// The worker's own number.
    pub(crate) number: usize,
    /// The number of workers that are wanted.
    pub(crate) of: usize,
    pub(crate) generation: u32,
    /// The row on the board of connections.
    pub(crate) row: usize,
}

impl Place {
    /// Makes the place that these descriptors describe.
    pub(crate) fn new(
        position: Position,
        [channel, board, shares]: [BorrowedFd<'_>; 3],
        sockets: &[Vec<OwnedFd>],
        others: &[BorrowedFd<'_>],
        passages: &Passages<'_>,
        edition: Option<BorrowedFd<'_>>,
        log_level: Option<Level>,
    ) -> Self {
        let Position { number, of, generation, row } = position;
        let (group, entrances) = passages.group.clone().unzip();
        Self {
            number,
            of,
            generation,
            row,
            channel: channel.as_raw_fd(),
            board: board.as_raw_fd(),
            shares: shares.as_raw_fd(),
            sockets: ports::numbers(sockets),
            others: others.iter().map(AsRawFd::as_raw_fd).collect(),
            edition: edition.map(|edition| edition.as_raw_fd()),
            group,
            entrances: entrances.unwrap_or_default(),
            passages: passages.ends.iter().map(|end| Passageway(end.socket.as_raw_fd(), end.cell)).collect(),
            names: passages.ends.iter().map(|end| end.name.clone()).collect(),
            door: passages.door.map(|door| door.map(|one| one.as_raw_fd())),
            log_level: log_level.map(|level| level.name().to_owned()),
        }
    }

    /// Returns the level of the log, if it was changed while the server ran.
    pub fn log_level(&self) -> Option<Level> {
        self.log_level.as_deref().and_then(Level::named)
    }

    /// Returns the descriptor of the worker's file of sites, if it gets one.
    pub(crate) fn edition(&self) -> Option<RawFd> {
        self.edition
    }

    /// Returns the cell of each of the worker's passages, and the name of the passage's other end; an earlier program
    /// gives no names.
    pub(crate) fn doorways(&self) -> impl Iterator<Item = (Option<usize>, &str)> {
        let names = self.names.iter().map(String::as_str).chain(std::iter::repeat("another process"));
        self.passages.iter().map(|passage| passage.1).zip(names)
    }

    /// Returns the worker's row on the board of connections.
    pub(crate) fn row(&self) -> usize {
        self.row
    }

    /// Takes over the descriptors that have these numbers.
    pub(crate) fn inherit(&self) -> io::Result<Given> {
        Ok(Given {
            channel: child::inherit(self.channel)?,
            board: child::inherit(self.board)?,
            shares: child::inherit(self.shares)?,
            sockets: ports::inherit(&self.sockets)?,
            others: child::inherit_all(&self.others)?,
            passages: self
                .passages
                .iter()
                .map(|passage| child::inherit(passage.0))
                .collect::<io::Result<_>>()?,
            door: match self.door {
                Some([board, secret]) => Some([child::inherit(board)?, child::inherit(secret)?]),
                None => None,
            },
        })
    }

    /// Takes descriptors that came with the place, in this order: channel, board and shares, the worker's sockets, the
    /// sockets of other workers, the passages, and the two descriptors of the door.
    pub(crate) fn receive(&self, descriptors: Vec<OwnedFd>) -> io::Result<Given> {
        let mut descriptors = descriptors.into_iter();
        let mut next = || descriptors.next().ok_or_else(|| io::Error::other("a descriptor is missing"));
        let (channel, board, shares) = (next()?, next()?, next()?);
        let sockets = self.sockets.iter().map(|all| all.iter().map(|_| next()).collect());
        let sockets = sockets.collect::<io::Result<Sockets>>()?;
        let others = self.others.iter().map(|_| next()).collect::<io::Result<_>>()?;
        let passages = self.passages.iter().map(|_| next()).collect::<io::Result<_>>()?;
        let door = if self.door.is_some() { Some([next()?, next()?]) } else { None };
        Ok(Given { passages, door, channel, board, shares, sockets, others })
    }

    /// Returns the place as an argument of the program.
    pub(crate) fn written(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads the place from the argument.
    ///
    /// # Errors
    ///
    /// The text describes no place.
    pub fn read(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| format!("this is no place of a worker: {error}"))
    }
}
