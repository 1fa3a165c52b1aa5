//! The sources of a loop's connections: its listeners and passages, and when it leaves connections that wait there to
//! other workers.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use adyton_log::{self as log, messages};
use adyton_sys::epoll::{Epoll, Interest};
use adyton_sys::socket;

use super::poll::LISTENERS;
use crate::board::share::{Share, Surplus};
use crate::board::tally::{Cell, Tally};
use crate::client::addresses::Addresses;
use crate::client::passage::{self, Came, Passenger, Seal, SealKey};

/// Connections taken from one listener before the other listeners get their turn.
const ACCEPTS_PER_TURN: u32 = 64;

/// Pause in accepting after the process has run out of descriptors: trying again at once would fail, and keep a CPU
/// busy.
const PAUSE_MS: u64 = 100;

/// Time between two log lines about such pauses: more lines would only fill the disk.
const COMPLAINT_MS: u64 = 10_000;

/// Pause of a worker that leaves new connections to other workers because it is ahead of them.
const SHARE_PAUSE_MS: u64 = 1;

/// Pause of a worker that leaves new connections to other workers because it has no thread for these connections.
const FULL_PAUSE_MS: u64 = 10;

/// Number of looks: if so many in a row find a connection waiting, a worker takes the connection although no thread is
/// free for it.
const FULL_LOOKS: u32 = 10;

/// The result of an attempt to accept.
pub(crate) enum Accepted {
    /// A client, with its address; `None` on unix sockets.
    Client(OwnedFd, Option<SocketAddr>),
    /// A client that another process has passed on, with so many received bytes in the buffer.
    Passed(OwnedFd, Passenger, Seal, usize),
    /// No client waits.
    Nothing,
    /// No client comes any more: no process is left at the other end of a passage.
    End,
    /// A client waits, and there is no room for it, or no descriptor (the kernel's error).
    NoRoom(Option<io::Error>),
}

/// Listening sockets and passages, and the rules for taking connections from them.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, and they come in any mixture")]
pub(crate) struct Acceptor {
    listeners: Vec<OwnedFd>,
    /// Ends of the passages through which other processes pass connections on; `None` in the place of a passage that
    /// has ended. Their numbers follow the numbers of the listeners.
    passages: Vec<Option<OwnedFd>>,
    /// The key with which the door seals its messages about clients.
    seal_key: Option<SealKey>,
    /// Number of addresses. The list of listeners repeats the addresses in the same order: once for each worker.
    addresses: usize,
    clients: Addresses,
    share: Option<Arc<Share>>,
    surplus: Surplus,
    /// Listeners at which connections wait, and how many may be taken from each before the others get their turn.
    ready: VecDeque<(usize, u32)>,
    /// Number of connections that are taken here even if this worker is ahead or full: other workers have had the time
    /// to take them.
    owed: usize,
    /// Whether it pauses because it has no thread for new connections.
    pauses_full: bool,
    /// Looks in a row that have found a connection waiting.
    looks: u32,
    /// Whether the other workers were told that this one has no free thread.
    told_full: bool,
    /// Whether the listeners are to be closed as soon as no connection waits there.
    closing: bool,
    /// When accepting goes on; `None` unless it pauses.
    paused_ms: Option<u64>,
    /// When a pause may be logged again.
    complaint_ms: u64,
    is_stopping: bool,
    /// Whether the listeners are watched.
    is_watching: bool,
}

impl Acceptor {
    /// Makes an acceptor for listeners of `addresses` addresses; the list of listeners repeats these in the same order.
    pub(crate) fn new(
        listeners: Vec<OwnedFd>,
        passages: Vec<OwnedFd>,
        seal_key: Option<SealKey>,
        addresses: usize,
        clients: Addresses,
        share: Option<Arc<Share>>,
    ) -> Self {
        Self {
            listeners,
            passages: passages.into_iter().map(Some).collect(),
            seal_key,
            addresses: addresses.max(1),
            clients,
            share,
            surplus: Surplus::default(),
            ready: VecDeque::new(),
            owed: 0,
            pauses_full: false,
            looks: 0,
            told_full: false,
            closing: false,
            paused_ms: None,
            complaint_ms: 0,
            is_stopping: false,
            is_watching: false,
        }
    }

    /// When accepting goes on, if it pauses.
    pub(crate) fn paused_ms(&self) -> Option<u64> {
        self.paused_ms
    }

    /// The number of the address at which a listener listens.
    pub(crate) fn address(&self, listener: usize) -> u16 {
        u16::try_from(listener % self.addresses).unwrap_or(u16::MAX)
    }

    /// Notes that a connection waits at a listener.
    pub(crate) fn note_ready(&mut self, listener: usize) {
        self.ready.push_back((listener, ACCEPTS_PER_TURN));
    }

    /// Notes that no more connections come from a listener for now.
    pub(crate) fn note_empty(&mut self, listener: usize) {
        self.ready.retain(|(other, _)| *other != listener);
    }

    /// Whether a connection may wait.
    pub(crate) fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Returns the listener to take the next connection from.
    pub(crate) fn next(&mut self) -> Option<usize> {
        let (listener, left) = self.ready.front_mut()?;
        let listener = *listener;
        *left -= 1;
        if *left == 0 {
            self.ready.pop_front();
        }
        Some(listener)
    }

    /// Whether it pauses because it has no thread for new connections.
    pub(crate) fn pauses_full(&self) -> bool {
        self.pauses_full
    }

    /// Whether other workers may take connections that come here.
    pub(crate) fn has_others(&self) -> bool {
        self.share.is_some()
    }

    /// Whether connections that wait are left to other workers, because this worker is ahead of them, or because it
    /// `is_full` and another worker is not. After a pause in favour of the other workers it takes one connection, and
    /// then pauses again.
    pub(crate) fn leaves_to_others(&mut self, now_ms: u64, is_full: bool) -> bool {
        // The other workers know that a worker which is stopping takes nothing.
        let is_full = is_full && !self.is_stopping;
        self.tell_full(is_full);
        let Some(share) = &self.share else { return false };
        if self.owed > 0 {
            self.owed -= 1;
            return false;
        }
        self.pauses_full = is_full && share.has_free();
        let leaves = !self.is_stopping && (self.pauses_full || share.is_ahead());
        if leaves {
            self.paused_ms = Some(now_ms + if self.pauses_full { FULL_PAUSE_MS } else { SHARE_PAUSE_MS });
        }
        leaves
    }

    /// Ends a pause whose time is over. A worker that has no thread for new connections only looks whether other
    /// workers take these connections: if it listened, the kernel would wake it instead of another worker. If
    /// connections wait at [`FULL_LOOKS`] looks in a row, this worker takes them, because the other workers may be
    /// stuck.
    pub(crate) fn end_pause(&mut self, now_ms: u64, is_full: bool) {
        if !self.pauses_full || self.paused_ms.is_none_or(|until_ms| until_ms > now_ms) {
            return;
        }
        self.paused_ms = None;
        self.tell_full(is_full);
        if !is_full || !self.share.as_ref().is_some_and(|share| share.has_free()) {
            self.pauses_full = false;
            self.owed = 1;
            return;
        }
        let passages = self.passages.iter().map(Option::as_ref);
        let all = self.listeners.iter().map(Some).chain(passages).enumerate();
        let is_waited_at =
            |socket: &OwnedFd| socket::wait(socket, socket::Until::Readable, 0).unwrap_or(false);
        let all = all.filter_map(|(listener, socket)| Some((listener, socket?)));
        let ready: Vec<usize> =
            all.filter(|(_, socket)| is_waited_at(socket)).map(|(listener, _)| listener).collect();
        self.looks = if ready.is_empty() { 0 } else { self.looks + 1 };
        if self.looks < FULL_LOOKS {
            self.paused_ms = Some(now_ms + FULL_PAUSE_MS);
            return;
        }
        self.looks = 0;
        self.owed = ready.len();
        for listener in ready {
            self.note_ready(listener);
        }
    }

    /// Tells other workers whether this one has no thread for new connections.
    fn tell_full(&mut self, is_full: bool) {
        if is_full != self.told_full
            && let Some(share) = &self.share
        {
            share.set_full(is_full);
            self.told_full = is_full;
        }
    }

    /// Takes a connection from a listener, or from a passage, unless the loop is full.
    pub(crate) fn take(&self, listener: usize, is_full: bool, buffer: &mut [u8], tally: &Tally) -> Accepted {
        let passage = || self.passages.get(listener - self.listeners.len())?.as_ref();
        let socket = self.listeners.get(listener);
        let Some(socket) = socket.or_else(passage) else { return Accepted::Nothing };
        // The last connection that waited may have been taken already: then no other connection is to be closed to make
        // room.
        let room_for = |error| match socket::wait(socket, socket::Until::Readable, 0) {
            Ok(false) => Accepted::Nothing,
            _ => Accepted::NoRoom(error),
        };
        if is_full {
            return room_for(None);
        }
        if listener >= self.listeners.len() {
            return self.take_passed(socket, buffer, tally).unwrap_or_else(|error| room_for(Some(error)));
        }
        loop {
            match socket::accept(socket) {
                Ok(None) => return Accepted::Nothing,
                Ok(Some((client, peer))) => return Accepted::Client(client, peer),
                // The client was gone before we came; the next one may wait.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                // With no descriptor left, accept(2) does not look whether a client waits.
                Err(error) => return room_for(Some(error)),
            }
        }
    }

    /// Takes a connection from a passage.
    fn take_passed(&self, passage: &OwnedFd, buffer: &mut [u8], tally: &Tally) -> io::Result<Accepted> {
        loop {
            match passage::take(passage, self.seal_key.as_ref(), buffer)? {
                Came::Nothing => return Ok(Accepted::Nothing),
                Came::End => return Ok(Accepted::End),
                Came::Connection(client, passenger, seal, bytes) => {
                    // The number comes from another process, which may have more listeners than this process.
                    let listener = passenger.listener % u16::try_from(self.addresses).unwrap_or(u16::MAX);
                    let passenger = Passenger { listener, ..passenger };
                    return Ok(Accepted::Passed(client, passenger, seal, bytes));
                }
                Came::Strange(what) => {
                    tally.count(Cell::ConnectionsLost);
                    log::write(
                        &messages::STRANGE_PASSENGER,
                        format_args!("a process of another group has passed on {what}; it was dropped"),
                    );
                }
            }
        }
    }

    /// Drops a passage that has no process at its other end. The kernel would tell of that end again and again.
    pub(crate) fn note_end(&mut self, listener: usize, epoll: &Epoll) {
        let place =
            listener.checked_sub(self.listeners.len()).and_then(|number| self.passages.get_mut(number));
        if let Some(passage) = place.and_then(Option::take)
            && self.is_watching
        {
            // The passage is watched, so removing it does not fail.
            let _ = epoll.remove(&passage);
        }
    }

    /// Counts a new client; `false` if its address has too many connections.
    pub(crate) fn enter(&mut self, key: usize, peer: Option<SocketAddr>) -> bool {
        if !self.clients.enter(key, peer) {
            return false;
        }
        if let Some(share) = &self.share {
            share.enter();
        }
        true
    }

    /// Stops counting a client, which has gone: there is a free descriptor again, and room.
    pub(crate) fn leave(&mut self, key: usize) {
        if let Some(share) = &self.share {
            share.leave(1);
        }
        self.clients.leave(key);
        self.paused_ms = None;
    }

    /// Pauses accepting: there is no room, or the kernel refuses (`error`).
    pub(crate) fn pause(&mut self, now_ms: u64, error: Option<&io::Error>) {
        self.pauses_full = false;
        self.paused_ms = Some(now_ms + PAUSE_MS);
        if now_ms < self.complaint_ms {
            return;
        }
        self.complaint_ms = now_ms + COMPLAINT_MS;
        match error {
            Some(error) => log::write(
                &messages::ACCEPT_PAUSED,
                format_args!(
                    "connections cannot be accepted: {error}; trying again every {PAUSE_MS} ms \
                     (the limit of open files, `ulimit -n`, may be too low)"
                ),
            ),
            None => log::write(
                &messages::ACCEPT_PAUSED,
                format_args!(
                    "connections wait to be accepted: there are as many as may be, and none of them can give way \
                     (--connections-max, which the limit of open files, `ulimit -n`, decides unless it is set)"
                ),
            ),
        }
    }

    /// Watches the listeners while connections may be accepted, and not otherwise. Called before each wait.
    #[inline]
    pub(crate) fn update_watch(&mut self, epoll: &Epoll, now_ms: u64, is_full: bool) {
        if self.paused_ms.is_some_and(|until_ms| until_ms <= now_ms) {
            self.paused_ms = None;
            // No other worker has taken the connection that still waits.
            self.owed = 1;
        } else if self.paused_ms.is_none() && self.owed == 0 && self.share.is_some() {
            self.leaves_to_others(now_ms, is_full);
        }
        let wanted = self.paused_ms.is_none() && !self.is_stopping;
        if wanted != self.is_watching {
            self.watch(epoll, wanted);
        }
    }

    /// Has the kernel tell of connections that wait, or stops that.
    fn watch(&mut self, epoll: &Epoll, wanted: bool) {
        let passages = self.passages.iter().map(Option::as_ref);
        let all = self.listeners.iter().map(Some).chain(passages).enumerate();
        for (listener, socket) in all.filter_map(|(listener, socket)| Some((listener, socket?))) {
            let result = if wanted {
                epoll.add(socket, LISTENERS + listener as u64, Interest::Exclusive)
            } else {
                epoll.remove(socket)
            };
            if let Err(error) = result {
                log::write(
                    &messages::LISTENER_UNWATCHED,
                    format_args!("a listener cannot be watched: {error}"),
                );
            }
        }
        self.is_watching = wanted;
    }

    /// Begins a stop. If `takes_queue`, connections that the kernel has accepted already are taken: their clients would
    /// see a reset otherwise. `connections`: how many the loop has.
    pub(crate) fn begin_stop(&mut self, epoll: &Epoll, takes_queue: bool, connections: usize, now_ms: u64) {
        self.is_stopping = true;
        // Connections that come from now on are to wake another process that listens there, too. Closing a descriptor
        // would not end its watch while other processes have the socket open (epoll(7)).
        self.update_watch(epoll, now_ms, false);
        // Connections that this worker still has must not make the remaining workers take more than an equal share.
        if let Some(share) = self.share.take() {
            share.leave(connections);
        }
        let queues = if takes_queue { self.listeners.len() + self.passages.len() } else { 0 };
        self.ready = (0..queues).map(|listener| (listener, u32::MAX)).collect();
        self.closing = true;
    }

    /// Closes the listeners if that is due. Returns whether it was.
    #[inline]
    pub(crate) fn close(&mut self) -> bool {
        self.closing && self.close_now()
    }

    #[cold]
    fn close_now(&mut self) -> bool {
        self.closing = false;
        self.listeners.clear();
        self.passages.clear();
        true
    }

    /// Notes the surplus of connections of one loop, if this worker has `loops` loops.
    pub(crate) fn look_at_surplus(&mut self, loops: usize) {
        self.surplus.look(surplus(self.share.as_deref(), loops));
    }

    /// Whether one more connection is closed after its answer, so that its client opens the next one with another
    /// worker.
    pub(crate) fn gives_away(&mut self, loops: usize) -> bool {
        self.surplus.gives(|| surplus(self.share.as_deref(), loops))
    }
}

/// Returns the surplus of one of a worker's loops: its part of the connections that other workers should have.
fn surplus(share: Option<&Share>, loops: usize) -> u64 {
    share.map_or(0, |share| share.surplus().div_ceil(loops as u64))
}
