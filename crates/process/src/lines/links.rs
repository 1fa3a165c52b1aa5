//! The supervisor's connections to each worker: the line that they talk over, and the board on which the worker counts.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use adyton_server::tally::{Sample, Tally};
use serde::Serialize;

use crate::lines::message::{Channel, FromWorker};
use crate::view::usage;
use crate::workers::action::Id;

/// The supervisor's link to one worker.
pub(crate) struct Link {
    channel: Channel,
    /// The name of the worker's end of the line in its `/proc/PID/fd`, for a worker that may not have said which
    /// process it is.
    far_end: Option<PathBuf>,
    tally: Tally,
    /// CPU time at the last look.
    cpu_ms: u64,
}

impl Link {
    /// Makes a link of the supervisor's end of a line, and a board.
    pub(crate) fn new(channel: Channel, tally: Tally) -> Self {
        Self { channel, far_end: None, tally, cpu_ms: 0 }
    }

    /// Makes a link like [`Link::new`], whose other end goes to a worker that does not exist yet.
    pub(crate) fn to_unborn(channel: Channel, far_end: &OwnedFd, tally: Tally) -> Self {
        Self { far_end: usage::name_of(far_end), ..Self::new(channel, tally) }
    }

    /// Whether a process has the other end.
    pub(crate) fn is_held_by(&self, pid: u32) -> bool {
        self.far_end.as_ref().is_some_and(|far_end| usage::holds(pid, far_end))
    }

    pub(crate) fn channel(&self) -> &Channel {
        &self.channel
    }

    pub(crate) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Returns the worker's messages since the last call.
    pub(crate) fn receive(&mut self) -> Vec<FromWorker> {
        self.channel.receive()
    }

    /// Returns how much of this CPU time is new since the last look.
    pub(crate) fn new_cpu_ms(&mut self, cpu_ms: u64) -> u64 {
        cpu_ms.saturating_sub(std::mem::replace(&mut self.cpu_ms, cpu_ms))
    }
}

/// The links to all workers.
#[derive(Default)]
pub(crate) struct Links(BTreeMap<Id, Link>);

impl Links {
    pub(crate) fn insert(&mut self, id: Id, link: Link) {
        self.0.insert(id, link);
    }

    pub(crate) fn remove(&mut self, id: Id) -> Option<Link> {
        self.0.remove(&id)
    }

    pub(crate) fn get(&self, id: Id) -> Option<&Link> {
        self.0.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: Id) -> Option<&mut Link> {
        self.0.get_mut(&id)
    }

    /// Sends a message to a worker.
    pub(crate) fn send(&self, id: Id, message: &impl Serialize) -> io::Result<()> {
        let link = self.get(id).ok_or(io::ErrorKind::NotConnected)?;
        link.channel.send(message)
    }

    /// Sends a message to all workers; if a worker is gone, the supervisor learns that by the end of its process.
    pub(crate) fn send_to_all(&self, message: &impl Serialize) {
        for link in self.0.values() {
            let _ = link.channel.send(message);
        }
    }

    /// Whether a worker has closed its line.
    pub(crate) fn has_ended(&self, id: Id) -> bool {
        self.get(id).is_some_and(|link| link.channel.has_ended())
    }

    /// Returns the lines that are open, on which messages may come.
    pub(crate) fn open(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.0.values().filter(|link| !link.channel.has_ended()).map(|link| link.channel.as_fd())
    }

    /// Returns the descriptors of all links.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.0.values().flat_map(|link| [link.channel.as_fd(), link.tally.board().as_fd()])
    }

    /// Adds the counts of all workers to `sum`.
    pub(crate) fn add_to(&self, sum: &mut Sample) {
        for link in self.0.values() {
            sum.add(&link.tally.sample());
        }
    }
}
