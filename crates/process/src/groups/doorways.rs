//! The door supervisor's connections to its branches: passages, lines, and a board that shows workers which branches
//! take connections.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use adyton_server::SealKey;
use adyton_server::passage::{self, TurnedBack, TurningBack};
use adyton_sys::board::Board;
use adyton_sys::child::Program;
use adyton_sys::pass;
use adyton_sys::user::Identity;
use adyton_sys::{process, socket, temp};

use crate::groups::branches::{BranchId, Branches, GroupKey};
use crate::groups::group_sockets::GroupSocket;
use crate::lines::message::Channel;

/// The most branches at the same time: enough for two versions.
pub(crate) const BRANCHES_MAX: usize = 256;

/// Bytes of the secret that the door's workers share.
const SECRET_BYTES: usize = 32;

/// The most clients that are accepted in a row at one socket of a group that does not start, before other work gets its
/// turn.
const STRANDED_PER_TURN: usize = 64;

/// How long no client is accepted for a group that does not start, after a client could not be accepted or passed on.
const STRANDED_PAUSE_MS: u64 = 1_000;

/// A group of workers with a supervisor of its own.
#[derive(Clone, Debug)]
pub struct GroupPlan {
    /// The group's name.
    pub name: String,
    /// The executable and the first arguments that make it Adyton.
    pub program: Program,
    /// The user that the group runs as, if that is not the server's.
    pub identity: Option<Identity>,
    /// All that the group's processes depend on, as one text: while it stays the same, a reload keeps the processes.
    pub fingerprint: String,
    /// Whether the group has no process until a connection comes.
    pub is_lazy: bool,
    /// The part of the file of sites that the group's processes get.
    pub text: Arc<str>,
    /// Sockets at which the group accepts by itself; if there are none, connections come through the door.
    pub sockets: Vec<Arc<GroupSocket>>,
}

impl GroupPlan {
    pub(crate) fn key(&self) -> GroupKey {
        GroupKey {
            name: self.name.clone(),
            fingerprint: self.fingerprint.clone(),
            is_lazy: self.is_lazy,
            is_bound: !self.sockets.is_empty(),
        }
    }
}

/// The descriptors and the state of the way to one branch.
pub(crate) struct Doorway {
    /// The door's end of the passage.
    pub(crate) door: OwnedFd,
    /// The branch's end of the passage, kept for the next process of the branch.
    pub(crate) branch: OwnedFd,
    /// The line to the branch's process.
    pub(crate) line: Option<Channel>,
    /// The file of sites, as it was when the branch was planned.
    pub(crate) edition: OwnedFd,
    /// The branch's cell on the board.
    pub(crate) cell: usize,
    pub(crate) plan: GroupPlan,
    /// Connections on their way back to the door, because no process of the branch takes them.
    pub(crate) back: TurningBack,
    /// Whether the next connection that goes back waits until the door has taken earlier ones.
    pub(crate) awaits_room: bool,
    /// Whether the branch is gone.
    pub(crate) is_over: bool,
    /// The time before which no client is accepted for the branch, because there was no descriptor left.
    pub(crate) paused_until_ms: u64,
    /// Whether the branch's process has said that it accepts nothing any more.
    pub(crate) has_closed: bool,
}

impl Doorway {
    /// Makes the way to a branch that is to start or has been taken over.
    pub(crate) fn new(
        [door, branch, edition]: [OwnedFd; 3],
        line: Option<Channel>,
        cell: usize,
        plan: GroupPlan,
    ) -> Self {
        let back = TurningBack::default();
        Self {
            door,
            branch,
            line,
            edition,
            cell,
            plan,
            back,
            awaits_room: false,
            is_over: false,
            paused_until_ms: 0,
            has_closed: false,
        }
    }

    /// Whether this branch and the other one have a socket in common.
    fn shares_socket(&self, other: &Doorway) -> bool {
        let is_its =
            |socket: &Arc<GroupSocket>| other.plan.sockets.iter().any(|another| Arc::ptr_eq(socket, another));
        self.plan.sockets.iter().any(is_its)
    }

    /// Whether a client waits at one of the branch's own sockets.
    pub(crate) fn is_waited_at(&self) -> bool {
        let all: Vec<BorrowedFd<'_>> = self.plan.sockets.iter().map(AsFd::as_fd).collect();
        !all.is_empty() && socket::wait_readable(&all, 0).is_ok_and(|readable| readable.contains(&true))
    }

    /// Whether the passage takes another connection now.
    pub(crate) fn has_room(&self) -> bool {
        socket::wait(&self.branch, socket::Until::Writable, 0).unwrap_or(false)
    }

    /// Returns the bytes of connections that wait in the passage.
    pub(crate) fn waiting_bytes(&self) -> u64 {
        socket::unread_bytes(&self.branch)
    }

    /// Accepts clients that wait at the branch's own sockets, and has the door answer them.
    ///
    /// # Errors
    ///
    /// No descriptor is left, or the door is gone.
    fn strand(&self, key: &SealKey) -> io::Result<()> {
        for socket in &self.plan.sockets {
            for _ in 0..STRANDED_PER_TURN {
                // A client for whom there is no room stays in the kernel's queue.
                if !self.has_room() {
                    return Ok(());
                }
                let client = match socket::accept(&**socket) {
                    Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                    other => other?,
                };
                let Some((client, peer)) = client else { break };
                if !passage::strand(&self.branch, client, peer, key)? {
                    return Err(io::Error::other("too many connections are on their way"));
                }
            }
        }
        Ok(())
    }
}

/// The ways to all branches.
pub(crate) struct Doorways {
    all: BTreeMap<BranchId, Doorway>,
    /// A board with a cell for each branch: whether connections may wait for it.
    open: Board,
    /// The secret with which the door's workers seal connections.
    secret: OwnedFd,
}

impl Doorways {
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

    pub(crate) fn taken(
        all: BTreeMap<BranchId, Doorway>,
        open: OwnedFd,
        secret: OwnedFd,
    ) -> io::Result<Self> {
        Ok(Self { all, open: Board::open(open, BRANCHES_MAX)?, secret })
    }

    pub(crate) fn board(&self) -> BorrowedFd<'_> {
        self.open.as_fd()
    }

    pub(crate) fn secret(&self) -> BorrowedFd<'_> {
        self.secret.as_fd()
    }

    pub(crate) fn get(&self, id: BranchId) -> Option<&Doorway> {
        self.all.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: BranchId) -> Option<&mut Doorway> {
        self.all.get_mut(&id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (BranchId, &Doorway)> {
        self.all.iter().map(|(id, doorway)| (*id, doorway))
    }

    pub(crate) fn ids(&self) -> Vec<BranchId> {
        self.all.keys().copied().collect()
    }

    /// Makes the passage of a new branch.
    ///
    /// # Errors
    ///
    /// The process is out of descriptors or memory, or there are too many branches.
    pub(crate) fn add(&mut self, id: BranchId, plan: GroupPlan) -> io::Result<()> {
        let is_free = |cell: &usize| self.all.values().all(|doorway| doorway.cell != *cell);
        let cell =
            (0..BRANCHES_MAX).find(is_free).ok_or_else(|| io::Error::other("there are too many groups"))?;
        let (door, branch) = pass::passage()?;
        let edition = temp::sealed(plan.text.as_bytes())?;
        self.all.insert(id, Doorway::new([door, branch, edition], None, cell, plan));
        Ok(())
    }

    /// Notes that a branch is gone: its passage is closed as soon as no connection is left in it.
    pub(crate) fn retire(&mut self, id: BranchId) {
        if let Some(doorway) = self.all.get_mut(&id) {
            doorway.is_over = true;
        }
    }

    /// Says on the board for which branches connections may wait.
    pub(crate) fn publish(&self, branches: &Branches) {
        for branch in branches.iter() {
            let cell = self.all.get(&branch.id).and_then(|doorway| self.open.cells().get(doorway.cell));
            if let Some(cell) = cell {
                cell.store(u64::from(branch.is_open()), Ordering::Relaxed);
            }
        }
    }

    /// Hands back to the door the connections that a branch does not take; the door answers them. A connection for
    /// which the passage has no room stays where it is.
    ///
    /// # Errors
    ///
    /// No descriptor is left, or the door is gone.
    pub(crate) fn turn_back(&mut self, id: BranchId) -> io::Result<()> {
        let Some(doorway) = self.all.get_mut(&id) else { return Ok(()) };
        let done = doorway.back.go_on(&doorway.branch);
        doorway.awaits_room = matches!(done, Ok(TurnedBack::NoRoom));
        // Connections that the door has not taken yet must not be left to its workers alone, which may die.
        let is_empty =
            || socket::wait(&doorway.door, socket::Until::Readable, 0).is_ok_and(|readable| !readable);
        if doorway.is_over && (done.is_err() || (!doorway.awaits_room && is_empty())) {
            self.all.remove(&id);
        }
        done.map(|_| ())
    }

    /// Has the door's workers take the connections that have come back so far, and no later ones: a process that tries
    /// to pass a connection back from now on gets an error, and answers the connection itself.
    pub(crate) fn close_for_returning(&self) {
        self.all.values().for_each(|doorway| socket::shutdown_read(&doorway.door));
    }

    /// Whether another branch accepts at the sockets of this one; `serves` says whether a branch serves.
    pub(crate) fn is_served_by_another(&self, id: BranchId, serves: impl Fn(BranchId) -> bool) -> bool {
        let Some(doorway) = self.all.get(&id) else { return false };
        self.all.iter().any(|(other, its)| *other != id && serves(*other) && doorway.shares_socket(its))
    }

    /// Has the door answer clients that wait at the sockets of a branch that does not start.
    ///
    /// # Errors
    ///
    /// No descriptor is left, or the door is gone.
    pub(crate) fn strand(&mut self, id: BranchId, now_ms: u64) -> io::Result<()> {
        let key = seal_key(self.secret.try_clone()?)?;
        let Some(doorway) = self.all.get_mut(&id) else { return Ok(()) };
        doorway.strand(&key).inspect_err(|_| doorway.paused_until_ms = now_ms + STRANDED_PAUSE_MS)
    }

    /// Gives up the supervisor's own descriptors of the sockets of a branch that is to end; the branch closes its
    /// descriptors itself.
    pub(crate) fn close_sockets(&mut self, id: BranchId) {
        if let Some(doorway) = self.all.get_mut(&id) {
            doorway.plan.sockets.clear();
        }
    }

    /// Returns the sockets of all branches, each once.
    pub(crate) fn sockets(&self) -> Vec<&Arc<GroupSocket>> {
        let mut all: Vec<&Arc<GroupSocket>> = Vec::new();
        for socket in self.all.values().flat_map(|doorway| &doorway.plan.sockets) {
            if !all.iter().any(|other| Arc::ptr_eq(socket, other)) {
                all.push(socket);
            }
        }
        all
    }

    /// Shuts down the door's ends, because the door answers nothing any more: connections on their way back are
    /// answered where they are.
    pub(crate) fn close_door(&self) {
        self.all.values().for_each(|doorway| socket::shutdown(&doorway.door));
    }
}

/// Reads the key with which the door's workers seal connections.
pub(crate) fn seal_key(secret: OwnedFd) -> io::Result<SealKey> {
    let mut bytes = [0; SECRET_BYTES];
    // All processes that have the file share its position, so the position is not used.
    File::from(secret).read_exact_at(&mut bytes, 0)?;
    Ok(SealKey::new(bytes))
}
