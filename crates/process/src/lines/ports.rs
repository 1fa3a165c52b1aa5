//! The listening sockets of slots.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use adyton_sys::{child, socket};

/// The listening sockets of one worker: for each of its loops, the sockets of all addresses.
pub type Sockets = Vec<Vec<OwnedFd>>;

/// Opens another set of sockets at the same addresses, among which the kernel spreads the connections.
pub(crate) type Open = Box<dyn Fn() -> io::Result<Sockets>>;

/// The most sockets of other workers that a worker gets: a message carries no more.
const OTHERS_MAX: usize = 128;

/// The sockets of all slots.
pub(crate) struct Ports {
    slots: Vec<Sockets>,
    /// Sockets of former slots, kept for the next slots; the other workers serve clients that are still in the queues
    /// of these sockets.
    spare: Vec<Sockets>,
    /// Sockets for the first slots.
    first: Vec<Sockets>,
    open: Open,
    /// Whether each worker may also listen at the sockets of all other workers, for which every address must be
    /// shareable.
    are_shared: bool,
}

impl Ports {
    /// Makes the ports, without a slot at first.
    pub(crate) fn new(first: Vec<Sockets>, open: Open, are_shared: bool) -> Self {
        Self { slots: Vec::new(), spare: Vec::new(), first, open, are_shared }
    }

    /// Adds sockets for one more slot.
    pub(crate) fn add(&mut self) -> io::Result<()> {
        let sockets = match self.spare.pop() {
            Some(sockets) => sockets,
            None if self.first.is_empty() => (self.open)()?,
            None => self.first.remove(0),
        };
        self.slots.push(sockets);
        Ok(())
    }

    /// Gives up the last slots; their sockets stay open.
    pub(crate) fn give_up(&mut self, number: usize) {
        for _ in 0..number {
            self.spare.extend(self.slots.pop());
        }
    }

    /// Brings back the former slot at whose sockets a client waits, and all slots that were given up after it; returns
    /// how many slots came back. If clients wait at several slots, the slot that was given up first counts.
    pub(crate) fn recall(&mut self) -> usize {
        let Some(first) = self.spare.iter().position(is_waited_at) else { return 0 };
        let back = self.spare.split_off(first);
        let number = back.len();
        // The sockets of a group keep their order.
        self.slots.extend(back.into_iter().rev());
        number
    }

    /// Takes over the sockets of former slots from an earlier program.
    pub(crate) fn take_spare(&mut self, spare: Vec<Sockets>) {
        self.spare = spare;
    }

    /// Whether a client waits at the sockets of a slot.
    pub(crate) fn is_waited_at(&self, at: usize) -> bool {
        self.slots.get(at).is_some_and(is_waited_at)
    }

    /// Returns the sockets of a slot.
    pub(crate) fn of(&self, at: usize) -> &[Vec<OwnedFd>] {
        self.slots.get(at).map_or(&[], Vec::as_slice)
    }

    /// Returns the sockets of the other slots, former ones included, if workers may listen there.
    pub(crate) fn beside(&self, at: usize) -> Vec<BorrowedFd<'_>> {
        let others = self.slots.iter().enumerate().filter(|(other, _)| *other != at);
        let others = others.map(|(_, sockets)| sockets).chain(&self.spare);
        // Only a process with one loop listens everywhere: a process with several loops shares its connections among
        // these.
        let is_one = |sockets: &&Sockets| self.are_shared && sockets.len() == 1;
        others.filter(is_one).flatten().flatten().map(AsFd::as_fd).take(OTHERS_MAX).collect()
    }

    /// Lets new connections come only to the `wanted` slots that stay.
    pub(crate) fn spread(&self, wanted: usize) {
        let Some(first) = self.slots.first() else { return };
        let count = u32::try_from(wanted * first.len()).unwrap_or(u32::MAX);
        for socket in first.iter().flatten() {
            // The kernel need not choose for a socket that all workers share, so a failure does not matter.
            let _ = socket::choose_among(socket, count);
        }
    }

    /// Closes all sockets, and opens no more. Once the workers have closed their sockets, too, a client that connects
    /// is refused at once, and does not wait until the server has ended.
    pub(crate) fn close(&mut self) {
        self.open = Box::new(|| Err(io::Error::other("the server stops")));
        self.first.clear();
        self.spare.clear();
        self.slots.iter_mut().for_each(Vec::clear);
    }

    /// Returns all descriptors.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.slots.iter().chain(&self.spare).flatten().flatten().map(AsFd::as_fd)
    }

    /// Returns the numbers of the descriptors of each slot, and of the spare sockets.
    pub(crate) fn numbers(&self) -> [Vec<Vec<Vec<RawFd>>>; 2] {
        let of = |all: &Vec<Sockets>| all.iter().map(|sockets| numbers(sockets)).collect();
        [of(&self.slots), of(&self.spare)]
    }
}

/// Returns the numbers of descriptors.
pub(crate) fn numbers(sockets: &[Vec<OwnedFd>]) -> Vec<Vec<RawFd>> {
    sockets.iter().map(|all| all.iter().map(AsRawFd::as_raw_fd).collect()).collect()
}

/// Takes over the sockets that have these numbers.
pub(crate) fn inherit(numbers: &[Vec<RawFd>]) -> io::Result<Sockets> {
    numbers.iter().map(|all| child::inherit_all(all)).collect()
}

/// Whether a client waits to be accepted at a socket that belongs to the slot alone.
fn is_waited_at(sockets: &Sockets) -> bool {
    let own = sockets.iter().flatten().filter(|socket| socket::is_shared(socket));
    let own: Vec<_> = own.map(AsFd::as_fd).collect();
    !own.is_empty() && socket::wait_readable(&own, 0).is_ok_and(|readable| readable.contains(&true))
}
