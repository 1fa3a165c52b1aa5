//! What ties the door's supervisor to its branches: passages, lines, and where its workers see whether a branch is there.

use std::collections::BTreeMap;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;

use adyton_sys::board::Board;
use adyton_sys::child::Program;
use adyton_sys::pass::{self, Taken};
use adyton_sys::user::Identity;
use adyton_sys::{process, socket, temp};

use crate::branches::{BranchId, Branches, GroupKey};
use crate::message::Channel;

/// Branches that there may be at the same time: those of two versions.
pub(crate) const BRANCHES_MAX: usize = 256;

/// The bytes of the secret of the door's workers.
const SECRET_BYTES: usize = 32;

/// How long it is waited for room, when connections go back.
const ROOM_MS: u64 = 1_000;

/// The longest message in a passage.
const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// A group of workers with a supervisor of its own.
#[derive(Clone, Debug)]
pub struct GroupPlan {
    /// Its name.
    pub name: String,
    /// Its Python, with what makes it Adyton.
    pub program: Program,
    /// The user that it runs as, if that is another one.
    pub identity: Option<Identity>,
    /// All that its processes depend on: with the same they stay at a reload.
    pub fingerprint: String,
    /// Whether it has no process until a connection comes.
    pub is_lazy: bool,
}

impl GroupPlan {
    pub(crate) fn key(&self) -> GroupKey {
        GroupKey { name: self.name.clone(), fingerprint: self.fingerprint.clone(), is_lazy: self.is_lazy }
    }
}

/// What there is of one branch.
pub(crate) struct Way {
    /// The door's end of its passage.
    pub(crate) door: OwnedFd,
    /// Its own, for its processes to come.
    pub(crate) branch: OwnedFd,
    /// The line to its process.
    pub(crate) line: Option<Channel>,
    /// The file of sites, as it was when the branch was planned.
    pub(crate) edition: OwnedFd,
    /// Its cell on the board.
    pub(crate) cell: usize,
    pub(crate) plan: GroupPlan,
}

/// Those of all branches.
pub(crate) struct Ways {
    all: BTreeMap<BranchId, Way>,
    /// For each branch whether connections may wait for it.
    open: Board,
    /// What the door's workers seal with.
    secret: OwnedFd,
}

impl Ways {
    pub(crate) fn new() -> io::Result<Self> {
        let mut secret = Vec::new();
        while secret.len() < SECRET_BYTES {
            secret.extend_from_slice(&process::random().to_ne_bytes());
        }
        Ok(Self {
            all: BTreeMap::new(),
            open: Board::new(BRANCHES_MAX)?,
            secret: temp::sealed(&secret[..SECRET_BYTES])?,
        })
    }

    pub(crate) fn taken(all: BTreeMap<BranchId, Way>, open: OwnedFd, secret: OwnedFd) -> io::Result<Self> {
        Ok(Self { all, open: Board::open(open, BRANCHES_MAX)?, secret })
    }

    pub(crate) fn board(&self) -> BorrowedFd<'_> {
        self.open.as_fd()
    }

    pub(crate) fn secret(&self) -> BorrowedFd<'_> {
        self.secret.as_fd()
    }

    pub(crate) fn get(&self, id: BranchId) -> Option<&Way> {
        self.all.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: BranchId) -> Option<&mut Way> {
        self.all.get_mut(&id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (BranchId, &Way)> {
        self.all.iter().map(|(id, way)| (*id, way))
    }

    pub(crate) fn ids(&self) -> Vec<BranchId> {
        self.all.keys().copied().collect()
    }

    /// Makes the passage of a new branch.
    ///
    /// # Errors
    ///
    /// The process is out of descriptors, or there are too many branches.
    pub(crate) fn add(&mut self, id: BranchId, plan: GroupPlan, edition: BorrowedFd<'_>) -> io::Result<()> {
        let is_free = |cell: &usize| self.all.values().all(|way| way.cell != *cell);
        let cell =
            (0..BRANCHES_MAX).find(is_free).ok_or_else(|| io::Error::other("there are too many groups"))?;
        let (door, branch) = pass::passage()?;
        let edition = edition.try_clone_to_owned()?;
        self.all.insert(id, Way { door, branch, line: None, edition, cell, plan });
        Ok(())
    }

    /// Closes the passage of a branch that is no more.
    pub(crate) fn drop_one(&mut self, id: BranchId) {
        self.all.remove(&id);
    }

    /// Says on the board for which branches connections may wait.
    pub(crate) fn publish(&self, branches: &Branches) {
        for branch in branches.iter() {
            let cell = self.all.get(&branch.id).and_then(|way| self.open.cells().get(way.cell));
            if let Some(cell) = cell {
                cell.store(u64::from(branch.is_open()), Ordering::Relaxed);
            }
        }
    }

    /// Gives the door back what waits for a branch that does not start: it answers.
    ///
    /// # Errors
    ///
    /// There is no descriptor left.
    pub(crate) fn turn_back(&self, id: BranchId) -> io::Result<()> {
        let Some(way) = self.all.get(&id) else { return Ok(()) };
        let mut bytes = vec![0; MESSAGE_BYTES_MAX];
        loop {
            match pass::try_take(&way.branch, &mut [IoSliceMut::new(&mut bytes)])? {
                Taken::Nothing | Taken::End => return Ok(()),
                Taken::Unfit => {}
                Taken::Message(length, client) => {
                    let parts = [IoSlice::new(&bytes[..length])];
                    while !pass::try_pass(&way.branch, &parts, client.as_fd())? {
                        if !socket::wait(&way.branch, socket::Until::Writable, ROOM_MS)? {
                            break;
                        }
                    }
                }
            }
        }
    }

    /// The door answers nothing any more: what would come back is answered where it is.
    pub(crate) fn close_door(&self) {
        self.all.values().for_each(|way| socket::shutdown(&way.door));
    }
}
