//! The event loop: a value that one thread drives at a time.
//!
//! All unfinished work is in the loop and not on the driver's stack: events taken from the kernel and not yet handled,
//! connections with more to do, timers, answers not yet sent. A driver's other tools (its receive buffer, its scratch
//! head) are its desk. So another thread can take the loop over, wherever its driver is at that moment. The loop never
//! calls the application: it returns an [`Errand`], and gets the result.
//!
//! [`Loop`] is the state, and its methods are about that state alone. The files of this folder are parts of the loop,
//! except three, which call the steps of `course`:
//!
//! | file | holds |
//! | --- | --- |
//! | `rounds` | all that a driver has the loop do: events, one by one, and then the wait for the kernel |
//! | `arrivals` | new connections |
//! | `shed` | room for new connections when there is none |

mod acceptor;
pub(crate) mod arrivals;
mod calls;
mod connections;
mod departures;
#[cfg(test)]
mod moves;
mod poll;
pub(crate) mod rounds;
mod scripts;
mod shed;
mod standing;
mod tickets;
mod timer;
mod turns;

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use adyton_crew::{Called, Post};
use adyton_files::Folder;
use adyton_log::request::RequestIds;
use adyton_sys::epoll::Interest;
use adyton_sys::wake::Wake;
use adyton_sys::{clock, process};

use crate::answering::errand::{Errand, Job, LOOK_FOR_CLIENT_MS};
use crate::answering::exchange::Exchange;
use crate::board::share::Share;
use crate::board::tally::Cell;
use crate::cgi::ScriptPart;
use crate::client::addresses::Addresses;
use crate::client::connection::Connection;
use crate::client::outbox::Outbox;
use crate::client::passage::Passage;
use crate::client::transport::Transport;
use crate::config::HandOver;
use crate::event_loop::timer::Wheel;
use crate::lock::lock;
use crate::site::limits::CallLimits;
use crate::site::plan::{LastHost, Plan};
use crate::threads::inbox::Return;
use crate::threads::shared::{Http, Shared};
use crate::threads::task::{NO_KEY, Task};

use self::acceptor::Acceptor;
use self::calls::{Calling, Calls};
use self::connections::Connections;
pub(crate) use self::connections::Slot;
use self::departures::Departures;
use self::poll::{Poll, ROOMS};
use self::scripts::{Fired, Scripts};
use self::standing::Standing;
use self::tickets::Tickets;
pub(crate) use self::tickets::{Awaited, Waiting};
use self::turns::Turns;

/// The parts of which a loop is made.
pub struct Parts {
    /// Listening sockets, non-blocking: one for each address, and then as many again for each other worker at whose
    /// sockets this worker listens, too.
    pub listeners: Vec<OwnedFd>,
    /// Number of addresses.
    pub addresses: usize,
    /// This process's ends of the passages to other processes, which the plan's routes name by number; non-blocking.
    pub passages: Vec<Passage>,
    /// This process's share of the connections, beside other workers; `None` if it has no other workers.
    pub share: Option<Arc<Share>>,
    /// The folders that the plan's routes name by number. Each loop has its own instance of each folder, with its own
    /// cache.
    pub folders: Vec<Folder>,
    /// Wakes the loop, even from signal handlers.
    pub wake: Arc<Wake>,
}

/// A driver's next step.
pub(crate) enum Advance {
    /// Runs an errand, and tells the loop its result.
    Errand(Errand),
    /// Calls [`rounds::wait`]. `lets_go`: lets go of the interpreter first, because the wait may block, or because the
    /// application was not called in this round and other threads may have waited for the interpreter all the while.
    Wait { lets_go: bool },
    /// Drops the loop: it has ended.
    End,
}

/// An event loop over connections.
pub(crate) struct Loop {
    pub(crate) shared: Arc<Shared>,
    /// The loop's number among the server's loops.
    pub(crate) home: usize,
    pub(crate) plan: Arc<Plan>,
    pub(crate) last_host: LastHost,
    pub(crate) folders: Vec<Folder>,
    pub(crate) ids: RequestIds,
    pub(crate) now_ms: u64,
    /// The present value of the `Date` field, and when it changes.
    pub(crate) date: [u8; 29],
    date_due_ms: u64,
    /// A buffer for the key of a request in the cache.
    pub(crate) cache_key: Vec<u8>,
    /// Counts the moments at which a file may have changed since it was looked at: each wait for the kernel, each call
    /// of the application, and each further moment at which a request may have come after the wait. A file that was
    /// looked at since the last such moment is not looked at again: all requests of one wait see the same file, which
    /// is no older than the wait.
    pub(crate) looks: u64,
    /// Whether quick requests of this loop may wait in the queue.
    pub(crate) has_queued: bool,
    /// Whether the loop tries, after the present events, to take one of its quick requests back from the queue.
    pub(crate) recalls: bool,
    wake: Arc<Wake>,
    poll: Poll,
    acceptor: Acceptor,
    pub(crate) departures: Departures,
    pub(crate) connections: Connections,
    pub(crate) turns: Turns,
    pub(crate) timers: Wheel,
    due: Vec<Fired>,
    /// The thread that drives the loop.
    pub(crate) driver: Option<Arc<Post<Http>>>,
    /// Sleeping threads that have a request from this loop, and are woken when its driver has let go of the
    /// interpreter.
    pub(crate) called: Called<Http>,
    pub(crate) calls: Calls,
    pub(crate) tickets: Tickets,
    pub(crate) scripts: Scripts,
    /// Connections whose bodies wait for memory, in the order in which they came; some may have stopped waiting.
    pub(crate) bodies: VecDeque<usize>,
    /// Exchanges that other threads have given back.
    returned: VecDeque<Return>,
    /// Requests that have waited too long in the queue.
    expired: VecDeque<Job>,
    /// The time at which to look at threads that drop the rest of answers whose clients have gone: dropping the rest
    /// may take too long.
    pub(crate) discards_due_ms: Option<u64>,
    standing: Standing,
    /// The time at which running requests have to be done; set once a stop was asked for.
    pub(crate) stopping_ms: Option<u64>,
    /// The time until which idle connections are kept although a stop was asked for.
    idle_until_ms: Option<u64>,
}

impl Loop {
    pub(crate) fn new(parts: Parts, home: usize, shared: Arc<Shared>) -> io::Result<Self> {
        let now_ms = clock::monotonic_ms();
        let poll = Poll::new(&*parts.wake)?;
        shared.tally.shift(Cell::Listening, 0, 1);
        let clients = Addresses::new(shared.config.connections_per_address_max);
        // The loop watches a copy of each passage's end for connections that arrive, and the end itself for room.
        let arrivals: io::Result<Vec<OwnedFd>> =
            parts.passages.iter().map(|one| one.end.try_clone()).collect();
        let (arrivals, seal_key) = (arrivals?, shared.config.seal_key.clone());
        Ok(Self {
            home,
            plan: shared.plan(),
            last_host: LastHost::default(),
            folders: parts.folders,
            ids: RequestIds::new(process::random()),
            now_ms,
            date: [b' '; 29],
            date_due_ms: 0,
            cache_key: Vec::new(),
            looks: 0,
            has_queued: false,
            recalls: false,
            wake: parts.wake,
            poll,
            acceptor: Acceptor::new(
                parts.listeners,
                arrivals,
                seal_key,
                parts.addresses,
                clients,
                parts.share,
            ),
            departures: Departures::new(parts.passages),
            connections: Connections::new(),
            turns: Turns::default(),
            timers: Wheel::new(now_ms),
            due: Vec::new(),
            driver: None,
            called: Called::empty(),
            calls: Calls::new(),
            tickets: Tickets::default(),
            scripts: Scripts::default(),
            bodies: VecDeque::new(),
            returned: VecDeque::new(),
            expired: VecDeque::new(),
            discards_due_ms: None,
            standing: Standing::default(),
            stopping_ms: None,
            idle_until_ms: None,
            shared,
        })
    }

    /// Whether a connection leaves the rest of its requests for its next turn.
    pub(crate) fn is_turn_over(&self, connection: &Connection) -> bool {
        self.turns.is_over(connection, || self.do_others_wait())
    }

    fn do_others_wait(&self) -> bool {
        self.poll.has_next()
            || !self.turns.is_empty()
            || !self.tickets.at_once.is_empty()
            || self.acceptor.is_ready()
            || !self.returned.is_empty()
            || self.shared.inboxes[self.home].filled.load(Ordering::Relaxed)
    }

    /// Returns the time at which the loop learned of the requests that it looks at, in us of the monotonic clock.
    pub(crate) fn start_us(&self) -> u64 {
        self.calls.batch_since_us()
    }

    /// Has a connection wait for its next turn, after all other connections that wait.
    pub(crate) fn queue(&mut self, key: usize) {
        if self.connections.enqueue(key) {
            self.turns.push(key);
        }
    }

    /// Whether a connection's request waits with the loop.
    pub(crate) fn is_waiting(&self, key: usize) -> bool {
        self.tickets.waiting.contains_key(&key)
    }

    pub(crate) fn put_back(&mut self, key: usize, mut connection: Box<Connection>) {
        if self.stopping_ms.is_some() && self.idle_until_ms.is_none() && connection.is_idle() {
            self.forget(key);
            return;
        }
        if let Err(error) = self.watch(key, connection.outbox_mut()) {
            self.forget(key);
            self.acceptor.pause(self.now_ms, Some(&error));
            return;
        }
        self.connections.put(key, connection);
    }

    pub(crate) fn forget(&mut self, key: usize) {
        if self.connections.remove(key) {
            self.shared.inboxes[self.home].missed.fetch_sub(1, Ordering::Relaxed);
        }
        self.tickets.forget(key);
        self.scripts.leave(key);
        self.timers.clear(key);
        self.acceptor.leave(key);
    }

    /// Watches a connection's socket: bytes that come from here on make an event, and bytes that have come after the
    /// turn make an event at once.
    pub(crate) fn watch(&mut self, key: usize, outbox: &mut Outbox) -> io::Result<()> {
        if !outbox.watched {
            self.poll.epoll.add(&outbox.transport, key as u64, Interest::Edge)?;
            outbox.watched = true;
        }
        Ok(())
    }

    /// Ends the watch of a connection's socket. The socket stays open in another process, so closing it here would not
    /// end the watch.
    pub(crate) fn unwatch(&self, connection: &Connection) {
        if connection.outbox().watched {
            // The socket is watched, so this does not fail; if it did, useless events would come.
            let _ = self.poll.epoll.remove(&connection.outbox().transport);
        }
    }

    /// Watches a part of a script, as [`Loop::watch`] watches a connection.
    pub(crate) fn poll_script(
        &self,
        number: usize,
        part: ScriptPart,
        descriptor: impl AsFd,
    ) -> io::Result<()> {
        self.poll.watch_script(descriptor, number, part)
    }

    /// Has a connection wait for room in a passage; `false` if the kernel cannot watch for that.
    pub(crate) fn await_room(&mut self, passage: usize, key: usize) -> bool {
        self.departures.wait(passage, key, &self.poll.epoll, ROOMS + passage as u64).is_ok()
    }

    pub(crate) fn new_connection(
        &self,
        socket: OwnedFd,
        peer: Option<SocketAddr>,
        listener: u16,
    ) -> Connection {
        let terms = Arc::clone(&self.plan.first().terms);
        Connection::new(Transport::new(socket), peer, listener, terms, self.now_ms)
    }

    /// Whether all threads are inside the application, while other workers may have free ones.
    pub(crate) fn is_full(&self) -> bool {
        let shared = &self.shared;
        let may_be = self.acceptor.has_others() && shared.host.is_some() && !self.calls.slot.held;
        may_be && shared.crew.slots_free() == 0
    }

    /// Whether one more connection is closed after its answer, so that its client opens the next one with another
    /// worker.
    pub(crate) fn gives_away(&mut self) -> bool {
        self.acceptor.gives_away(self.shared.inboxes.len())
    }

    /// Whether the loop needs a slot: quick calls keep coming, and slow calls must not take every slot.
    pub(crate) fn needs_slot(&self) -> bool {
        self.calls.are_quick(self.now_ms) && self.shared.crew.can_spare_slots()
    }

    /// Whether calls are timed, and endpoints learn from them.
    pub(crate) fn learns(&self) -> bool {
        self.shared.config.hand_over == HandOver::Auto
    }

    /// Notes that a call begins on the driver's thread.
    pub(crate) fn note_call(&mut self, exchange: &Exchange, buffer: &[u8]) {
        self.calls.begin(exchange, buffer);
        self.shared.tally.add(Cell::Begun, 1);
    }

    /// Has the loop leave its driver, whose call takes too long or waits; the driver keeps its slot and the connection
    /// of the call.
    pub(crate) fn relieve(&mut self, post: &Post<Http>) {
        let Calling { key, endpoint, what, id, limits, counts } = self.calls.now.clone();
        let now_ms = clock::monotonic_ms();
        self.called.wake();
        self.calls.slot.held = false;
        if counts {
            self.shared.tally.count(Cell::HandedOver);
        }
        self.calls.endpoints.slow(endpoint);
        *lock(&post.own.task) = Some(Task::new(self.home, key, now_ms, what, id, limits));
        self.expect(key, now_ms, limits);
        if let Some(mut outbox) = self.calls.lent.take() {
            // The bytes written so far must not wait for the call.
            outbox.send();
            post.own.lent.put(outbox);
        }
    }

    /// Sets the deadline of a connection that is away, or of a call that drops the rest of an answer.
    pub(crate) fn expect(&mut self, key: usize, now_ms: u64, limits: CallLimits) {
        let due_ms = limits.first_ms().map(|timeout_ms| now_ms + timeout_ms);
        if key == NO_KEY {
            self.shared.inboxes[self.home].discards.fetch_add(1, Ordering::SeqCst);
            if let Some(due_ms) = due_ms {
                self.look_at_discards_by(due_ms);
            }
        } else if self.connections.contains(key) {
            self.connections.away += 1;
            match due_ms {
                None => self.timers.clear(key),
                Some(due_ms) => self.timers.set(key, due_ms),
            }
        }
    }

    /// Has the loop look, by `due_ms` at the latest, at the threads that drop the rest of answers.
    pub(crate) fn look_at_discards_by(&mut self, due_ms: u64) {
        self.discards_due_ms = Some(self.discards_due_ms.map_or(due_ms, |before_ms| before_ms.min(due_ms)));
    }

    /// Has the loop look, in a moment, at a connection that is away and whose client has ended its side. Until then the
    /// client is not taken for gone.
    pub(crate) fn expect_departed(&mut self, key: usize) {
        self.timers.set(key, self.now_ms + LOOK_FOR_CLIENT_MS);
    }

    /// The handle that wakes the loop.
    pub(crate) fn wake(&self) -> &Arc<Wake> {
        &self.wake
    }
}
