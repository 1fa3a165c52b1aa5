//! Where a loop's connections come from: its listeners, and when it leaves what waits there to other workers.

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

/// Connections taken from one listener before the others get their turn.
const ACCEPTS_PER_TURN: u32 = 64;

/// How long nothing is accepted once the process is out of descriptors: trying at once would fail
/// again, and keep a CPU busy with it.
const PAUSE_MS: u64 = 100;

/// How long the log hears nothing more of it: that helps no full disk.
const COMPLAINT_MS: u64 = 10_000;

/// How long a worker that is ahead of the others leaves new connections to them.
const SHARE_PAUSE_MS: u64 = 1;

/// Pause of a worker that leaves new connections to others because it has no thread for them.
const FULL_PAUSE_MS: u64 = 10;

/// Looks in a row that find a connection that others do not take, until a worker that has no thread for it takes it.
const FULL_LOOKS: u32 = 10;

/// What came of an attempt to accept.
pub(crate) enum Accepted {
    /// A client, with its address; `None` on unix sockets.
    Client(OwnedFd, Option<SocketAddr>),
    /// A client that another process has passed on, with so many received bytes in the buffer.
    Passed(OwnedFd, Passenger, Seal, usize),
    /// No client waits.
    Nothing,
    /// No client comes any more: nobody is left at the other end of a passage.
    End,
    /// A client waits, and there is no place for it, or no descriptor (the kernel's error).
    NoRoom(Option<io::Error>),
}

/// Listening sockets, and how many connections may come from them.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, and they come in any mixture")]
pub(crate) struct Acceptor {
    listeners: Vec<OwnedFd>,
    /// Where other processes pass connections on; nothing in the place of one that has ended. Their numbers follow those of the
    /// listeners.
    passages: Vec<Option<OwnedFd>>,
    /// What the door seals with.
    seal_key: Option<SealKey>,
    /// How many addresses these are, over and over.
    addresses: usize,
    clients: Addresses,
    share: Option<Arc<Share>>,
    surplus: Surplus,
    /// Listeners where connections wait, and how many may come in before the others get their turn.
    ready: VecDeque<(usize, u32)>,
    /// Connections that are taken here, however many there are: other workers have had the time to take what waits.
    owed: usize,
    /// Whether it pauses because it has no thread for what comes.
    pauses_full: bool,
    /// Looks in a row that have found something that waits.
    looks: u32,
    /// Whether the other workers were told that this one has no thread that is free.
    told_full: bool,
    /// The listeners are closed as soon as nothing waits there.
    closing: bool,
    /// When accepting goes on; set while there were too few descriptors, or no place.
    paused_ms: Option<u64>,
    /// When the log may hear of it again.
    complaint_ms: u64,
    is_stopping: bool,
    /// Whether the listeners are watched.
    is_watching: bool,
}

impl Acceptor {
    /// Listens at sockets of so many addresses, over and over.
    pub(crate) fn new(
        listeners: Vec<OwnedFd>,
        (passages, seal_key): (Vec<OwnedFd>, Option<SealKey>),
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

    /// A connection waits at a listener.
    pub(crate) fn note_ready(&mut self, listener: usize) {
        self.ready.push_back((listener, ACCEPTS_PER_TURN));
    }

    /// Nothing more comes from a listener for now.
    pub(crate) fn note_empty(&mut self, listener: usize) {
        self.ready.retain(|(other, _)| *other != listener);
    }

    /// Whether a connection may wait.
    pub(crate) fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// The listener to take the next connection from.
    pub(crate) fn next(&mut self) -> Option<usize> {
        let (listener, left) = self.ready.front_mut()?;
        let listener = *listener;
        *left -= 1;
        if *left == 0 {
            self.ready.pop_front();
        }
        Some(listener)
    }

    /// Whether it pauses because it has no thread for what comes.
    pub(crate) fn pauses_full(&self) -> bool {
        self.pauses_full
    }

    /// Whether others may take what comes here.
    pub(crate) fn has_others(&self) -> bool {
        self.share.is_some()
    }

    /// Whether other workers shall take what waits: this one is ahead of them, or it `is_full`, and they are not. After they have
    /// had the time it takes one, and then they have it again.
    pub(crate) fn leaves_to_others(&mut self, now_ms: u64, is_full: bool) -> bool {
        // Of one that ends the others know that it takes nothing.
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

    /// Ends a pause that is over. A worker that has no thread for new connections only looks whether others take them: while it
    /// listened, the kernel would tell it, and not them. If connections wait at [`FULL_LOOKS`] looks in a row, it takes them: the
    /// others may stand still.
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

    /// Tells other workers whether this one has no thread for what comes.
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
        // No connection is closed to make room for one that has gone: the last one that waited may be in already.
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
                    // Who says where it came in may have other listeners.
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

    /// Nobody is left at the other end of this passage, of which the kernel would tell again and again.
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

    /// A client is taken in; `false` if its address has too many connections.
    pub(crate) fn enter(&mut self, key: usize, peer: Option<SocketAddr>) -> bool {
        if !self.clients.enter(key, peer) {
            return false;
        }
        if let Some(share) = &self.share {
            share.enter();
        }
        true
    }

    /// A client has gone: there is a descriptor again, and a place.
    pub(crate) fn leave(&mut self, key: usize) {
        if let Some(share) = &self.share {
            share.leave(1);
        }
        self.clients.leave(key);
        self.paused_ms = None;
    }

    /// Accepts nothing for a while: there is no room, or the kernel refuses.
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

    /// Watches the listeners exactly while connections may be accepted. Called before each wait.
    #[inline]
    pub(crate) fn update_watch(&mut self, epoll: &Epoll, now_ms: u64, is_full: bool) {
        if self.paused_ms.is_some_and(|until_ms| until_ms <= now_ms) {
            self.paused_ms = None;
            // What waits still was taken by no other worker.
            self.owed = 1;
        } else if self.paused_ms.is_none() && self.owed == 0 && self.share.is_some() {
            self.leaves_to_others(now_ms, is_full);
        }
        let wanted = self.paused_ms.is_none() && !self.is_stopping;
        if wanted != self.is_watching {
            self.watch(epoll, wanted);
        }
    }

    /// Has the kernel tell of connections that wait, or no longer.
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

    /// A stop was asked for. If `takes_queue`, what the kernel has accepted already is taken: a client in its queue would
    /// see a reset. `connections`: how many the loop has.
    pub(crate) fn begin_stop(&mut self, epoll: &Epoll, takes_queue: bool, connections: usize, now_ms: u64) {
        self.is_stopping = true;
        // What comes from now on is to wake another process that listens there, too: to close a descriptor does not end
        // its watch while others have the same socket open (epoll(7)).
        self.update_watch(epoll, now_ms, false);
        // What this worker still has is no reason for those that stay to take more than an equal share.
        if let Some(share) = self.share.take() {
            share.leave(connections);
        }
        let queues = if takes_queue { self.listeners.len() + self.passages.len() } else { 0 };
        self.ready = (0..queues).map(|listener| (listener, u32::MAX)).collect();
        self.closing = true;
    }

    /// Closes the listeners if that is due. Whether it was.
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

    /// Looks at how many connections this worker, with so many loops, has too many.
    pub(crate) fn look_at_surplus(&mut self, loops: usize) {
        self.surplus.look(surplus(self.share.as_deref(), loops));
    }

    /// Whether one connection more is left to other workers: its client opens the next one there.
    pub(crate) fn gives_away(&mut self, loops: usize) -> bool {
        self.surplus.gives(|| surplus(self.share.as_deref(), loops))
    }
}

/// The connections that one of a worker's loops has too many.
fn surplus(share: Option<&Share>, loops: usize) -> u64 {
    share.map_or(0, |share| share.surplus().div_ceil(loops as u64))
}
