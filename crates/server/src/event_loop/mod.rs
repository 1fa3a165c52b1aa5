//! The event loop: a value that one thread drives at a time.
//!
//! Everything that is begun and not done lives in here and not on the driver's stack: events taken from the kernel and
//! not looked at, connections with more to do, timers, answers not yet sent. A driver's other tools (its receive
//! buffer, its scratch head) are its desk. So another thread can go on wherever this one is. The loop never calls the
//! application: it returns an [`Errand`], and is told its result.

mod acceptor;
mod calls;
mod connections;
mod departures;
#[cfg(test)]
mod moves;
mod poll;
mod scripts;
mod standing;
mod tickets;
mod timer;
mod turns;

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use adyton_crew::{Called, Post};
use adyton_files::{Counts, Folder};
use adyton_log::request::RequestIds;
use adyton_log::{self as log, messages};
use adyton_sys::epoll::Interest;
use adyton_sys::wake::Wake;
use adyton_sys::{clock, process};

use crate::answering::date::date_now;
use crate::answering::errand::{Errand, Job, LOOK_FOR_CLIENT_MS};
use crate::answering::exchange::Exchange;
use crate::answering::outcome::Left;
use crate::answering::step::Worked;
use crate::board::share::Share;
use crate::board::tally::Cell;
use crate::cgi::ScriptPart;
use crate::client::addresses::Addresses;
use crate::client::connection::{Connection, Phase};
use crate::client::outbox::Outbox;
use crate::client::passage::{Arrival, Passage, Passenger};
use crate::client::transport::Transport;
use crate::common::Ending;
use crate::config::HandOver;
use crate::event_loop::timer::Wheel;
use crate::lock::lock;
use crate::site::limits::CallLimits;
use crate::site::plan::{LastHost, Plan};
use crate::threads::desk::Desk;
use crate::threads::inbox::Return;
use crate::threads::shared::{Http, Shared};
use crate::threads::task::{NO_KEY, Task};

use self::acceptor::{Accepted, Acceptor};
use self::calls::{Calling, Calls};
use self::connections::Connections;
pub(crate) use self::connections::Slot;
use self::departures::Departures;
use self::poll::{Poll, ROOMS, Told};
use self::scripts::{FIRST_SCRIPT, Fired, Scripts};
use self::standing::Standing;
use self::tickets::Tickets;
pub(crate) use self::tickets::{Awaited, Waiting};
use self::turns::Turns;

/// Time between two looks at the queue for requests that have waited too long, while there is a queue.
const QUEUE_LOOK_MS: u64 = 10;

/// Time between two looks at the inbox while any connection is away.
const INBOX_LOOK_MS: u64 = 500;

/// How long idle connections are kept at a stop that is in no hurry.
const IDLE_MS_MAX: u64 = 5_000;

/// How long idle connections are kept at a stop in a hurry: a request that is on its way is answered.
const IDLE_HURRY_MS: u64 = 250;

/// The parts of which a loop is made.
pub struct Parts {
    /// Listening sockets, non-blocking: one for every address, and again one for every address for each other worker at
    /// whose sockets this one listens, too.
    pub listeners: Vec<OwnedFd>,
    /// Number of addresses.
    pub addresses: usize,
    /// This process's ends of the passages to other processes, which the plan's routes name by number; non-blocking.
    pub passages: Vec<Passage>,
    /// This process's share of the connections, beside other workers; `None` if it has no other workers.
    pub share: Option<Arc<Share>>,
    /// The folders that the plan's routes name by number. Each loop has its own instance of each, with its own cache.
    pub folders: Vec<Folder>,
    /// Wakes the loop, even from signal handlers.
    pub wake: Arc<Wake>,
}

/// A driver's next step.
pub(crate) enum Advance {
    /// Runs an errand, and tells the loop its result.
    Errand(Errand),
    /// Calls [`Loop::wait`]. `lets_go`: lets go of the interpreter first, because the wait may block, or because the
    /// application was not called in this round and other threads may have waited for the interpreter all the while.
    Wait { lets_go: bool },
    /// Drops the loop: it has ended.
    End,
}

/// An event loop over connections.
pub(crate) struct Loop {
    pub(crate) shared: Arc<Shared>,
    /// Its number among the server's loops.
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
    /// Counts the moments at which a file may have changed since it was looked at: each wait for the kernel, and each
    /// event that comes later. A file that was looked at since the last such moment is not looked at again: all
    /// requests of one wait see the same file, which is no older than the wait.
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
    /// The thread that drives.
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
    /// When to look at threads that drop the rest of answers whose clients have gone: that may take too long.
    pub(crate) discards_due_ms: Option<u64>,
    standing: Standing,
    /// When running requests have to be done; set once a stop was asked for.
    pub(crate) stopping_ms: Option<u64>,
    /// Until when idle connections are kept although a stop was asked for.
    idle_until_ms: Option<u64>,
}

impl Loop {
    pub(crate) fn new(parts: Parts, home: usize, shared: Arc<Shared>) -> io::Result<Self> {
        let now_ms = clock::monotonic_ms();
        let poll = Poll::new(&*parts.wake)?;
        shared.tally.shift(Cell::Listening, 0, 1);
        let clients = Addresses::new(shared.config.connections_per_address_max);
        // Copies are watched for connections that arrive, and the originals for room.
        let arrivals: io::Result<Vec<OwnedFd>> =
            parts.passages.iter().map(|one| one.end.try_clone()).collect();
        let arrivals = (arrivals?, shared.config.seal_key.clone());
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
            acceptor: Acceptor::new(parts.listeners, arrivals, parts.addresses, clients, parts.share),
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

    /// Works until the driver is needed.
    pub(crate) fn advance(&mut self, desk: &mut Desk) -> Advance {
        loop {
            match self.step(desk) {
                Some(None) => {}
                Some(Some(errand)) => return Advance::Errand(errand),
                None if self.is_finished() => return Advance::End,
                None => return self.before_wait(),
            }
        }
    }

    /// Does one thing that needs no waiting, and returns its errand, if it has one; `None` if there is nothing to do.
    #[expect(clippy::option_option, reason = "whether something was done, and whether an errand came of it")]
    fn step(&mut self, desk: &mut Desk) -> Option<Option<Errand>> {
        if let Some(listener) = self.acceptor.next() {
            return Some(self.accept(listener, desk));
        }
        if self.acceptor.close() {
            self.shared.tally.shift(Cell::Listening, 1, 0);
            return Some(None);
        }
        // Returns come before the events, which may be for connections that come back.
        if let Some(back) = self.returned.pop_front() {
            return Some(self.take_back(back, desk));
        }
        if self.shared.inboxes[self.home].filled.load(Ordering::Relaxed) {
            let inbox = &self.shared.inboxes[self.home];
            self.returned.extend(inbox.take());
            self.tickets.redeemed.extend(inbox.take_redeemed());
            if let Some((plan, folders)) = inbox.take_plan() {
                (self.plan, self.folders, self.last_host) = (plan, folders, LastHost::default());
            }
            return Some(None);
        }
        if let Some(key) = self.tickets.redeemed.pop() {
            return Some(self.redeem(key, desk));
        }
        if let Some(told) = self.poll.next() {
            return Some(match told {
                Told::Wake => {
                    self.look_at_wake();
                    None
                }
                Told::Listener(listener) => {
                    self.acceptor.note_ready(listener);
                    None
                }
                Told::Room(passage) => {
                    for key in self.departures.take_waiting(passage) {
                        self.queue(key);
                    }
                    None
                }
                Told::Connection { key, ending } => self.see(key, ending, desk),
                Told::Script { number, part } => self.hear_script(number, part, desk),
            });
        }
        if let Some(job) = self.expired.pop_front() {
            return Some(self.give_up(job, desk));
        }
        if let Some((key, tick)) = self.due.pop() {
            if key >= FIRST_SCRIPT {
                return Some(self.end_script(key - FIRST_SCRIPT, desk));
            }
            let fired = self.timers.fired(key, tick, self.now_ms);
            return Some(if fired { self.time_out(key, desk) } else { None });
        }
        if self.recalls
            && let Some(done) = self.recall(desk)
        {
            return Some(done);
        }
        if let Some(key) = self.turns.next() {
            return Some(self.turn_again(key, desk));
        }
        let remains = self.shared.host.as_ref().and_then(|host| host.remains())?;
        Some(self.send(NO_KEY, Errand::Discard(remains, self.plan.first().terms.limits.call)))
    }

    /// Whether a connection leaves the rest of its requests for its next turn.
    pub(crate) fn is_turn_over(&self, connection: &Connection) -> bool {
        self.turns.is_over(connection, || self.do_others_wait())
    }

    fn do_others_wait(&self) -> bool {
        self.poll.has_next()
            || !self.turns.is_empty()
            || self.acceptor.is_ready()
            || !self.returned.is_empty()
            || self.shared.inboxes[self.home].filled.load(Ordering::Relaxed)
    }

    /// The handle that wakes the loop.
    pub(crate) fn wake(&self) -> &Arc<Wake> {
        &self.wake
    }

    /// Prepares the wait for the kernel, when nothing else is left to do.
    fn before_wait(&mut self) -> Advance {
        if !self.bodies.is_empty() {
            self.admit_waiting();
        }
        let learns = self.learns();
        let calls = self.calls.end_batch(learns);
        let is_full = self.is_full();
        self.acceptor.update_watch(&self.poll.epoll, self.now_ms, is_full);
        let inbox = &self.shared.inboxes[self.home];
        // SeqCst on both sides: either this thread sees that the inbox is filled, or the thread that fills it sees the
        // loop asleep.
        inbox.asleep.store(true, Ordering::SeqCst);
        if inbox.filled.load(Ordering::SeqCst) {
            inbox.asleep.store(false, Ordering::Relaxed);
            return Advance::Wait { lets_go: calls == 0 };
        }
        Advance::Wait { lets_go: calls == 0 || self.turns.is_empty() }
    }

    /// Waits for the kernel.
    ///
    /// # Errors
    ///
    /// The kernel refuses to wait, which does not happen to a correct program.
    pub(crate) fn wait(&mut self) -> io::Result<()> {
        if self.standing.take_due(self.now_ms) {
            self.publish_standing();
        }
        let inbox = &self.shared.inboxes[self.home];
        let timeout_ms = if inbox.asleep.load(Ordering::Relaxed) { self.timeout_ms() } else { Some(0) };
        if self.shared.inboxes.len() > 1 {
            // Another loop may need the slot, and could not take it from a loop that sleeps.
            self.shared.crew.give_slot(&mut self.calls.slot, self.now_ms);
        }
        self.shared.tally.add(Cell::Waits, 1);
        let waited = self.poll.wait(timeout_ms);
        self.shared.inboxes[self.home].asleep.store(false, Ordering::Relaxed);
        if waited? {
            self.standing.change(self.now_ms);
        }
        self.looks += 1;
        self.recalls = self.has_queued;
        let now_us = clock::monotonic_us();
        self.now_ms = now_us / 1000;
        self.calls.begin_batch(now_us);
        if self.now_ms >= self.date_due_ms {
            self.update_date();
        }
        if self.idle_until_ms.is_some_and(|until_ms| until_ms <= self.now_ms) {
            self.close_idle();
        }
        if self.discards_due_ms.is_some_and(|due_ms| due_ms <= self.now_ms) {
            self.look_at_discards();
        }
        self.timers.take_due(self.now_ms, &mut self.due);
        self.scripts.take_due(self.now_ms, &mut self.due);
        self.turns.begin_round(now_us);
        if self.acceptor.pauses_full() {
            let is_full = self.is_full();
            self.acceptor.end_pause(self.now_ms, is_full);
        }
        if self.shared.crew.waiting() > 0 {
            let home = self.home;
            self.expired.extend(self.shared.crew.expire(self.now_ms, |job| job.home == home));
            if !self.needs_slot() {
                self.shared.crew.give_slot(&mut self.calls.slot, self.now_ms);
            }
        }
        Ok(())
    }

    /// Writes the loop's figures on the board.
    fn publish_standing(&mut self) {
        self.acceptor.look_at_surplus(self.shared.inboxes.len());
        let [mut idle, mut receiving, mut asking, mut answering, mut moving, mut closing] = [0; 6];
        for (_, slot) in self.connections.iter() {
            let kind = match slot.here() {
                None => &mut asking,
                Some(connection) if connection.is_idle() => &mut idle,
                Some(connection) => match connection.phase {
                    Phase::Head | Phase::Upload(_) => &mut receiving,
                    Phase::Depart(_) => &mut moving,
                    Phase::Respond(_) => &mut answering,
                    Phase::Linger(_) => &mut closing,
                },
            };
            *kind += 1;
        }
        self.folders.iter_mut().for_each(Folder::give_way);
        let files = self.folders.iter().map(Folder::counts);
        let files = files.fold(Counts::default(), |sum, one| Counts {
            hits: sum.hits + one.hits,
            loads: sum.loads + one.loads,
            evictions: sum.evictions + one.evictions,
            entries: sum.entries + one.entries,
            bytes: sum.bytes + one.bytes,
            open_files: sum.open_files + one.open_files,
        });
        let now = [
            (Cell::Idle, idle),
            (Cell::Receiving, receiving),
            (Cell::Asking, asking),
            (Cell::Answering, answering),
            (Cell::Moving, moving),
            (Cell::Closing, closing),
            (Cell::StaticHits, files.hits),
            (Cell::StaticLoads, files.loads),
            (Cell::StaticEvictions, files.evictions),
            (Cell::StaticEntries, files.entries as u64),
            (Cell::StaticBytes, files.bytes),
        ];
        self.standing.publish(&self.shared.tally, now);
        // All loops share one cache.
        let (entries, bytes) = self.shared.cache.size();
        self.shared.tally.set(Cell::CacheEntries, entries as u64);
        self.shared.tally.set(Cell::CacheBytes, bytes as u64);
        self.shared.publish_threads();
    }

    /// Whether one more connection is closed after its answer, so that its client opens the next one with another
    /// worker.
    pub(crate) fn gives_away(&mut self) -> bool {
        self.acceptor.gives_away(self.shared.inboxes.len())
    }

    /// Whether the loop needs a slot: quick calls keep coming, and slow ones may not have every slot.
    pub(crate) fn needs_slot(&self) -> bool {
        self.calls.are_quick(self.now_ms) && self.shared.crew.can_spare_slots()
    }

    fn is_finished(&mut self) -> bool {
        match self.stopping_ms {
            None => false,
            Some(_) if self.connections.is_empty() => true,
            Some(deadline_ms) if self.now_ms < deadline_ms => false,
            Some(_) => {
                let left = self.connections.len();
                log::write(&messages::STILL_OPEN, format_args!("stopped with {left} connections still open"));
                true
            }
        }
    }

    /// Returns how long the wait for the kernel may last; `None` for ever.
    fn timeout_ms(&mut self) -> Option<u32> {
        if !self.turns.is_empty() {
            return Some(0);
        }
        let now_ms = self.now_ms;
        let log_ms = self.plan.logs().filter_map(|log| lock(log).tick(now_ms)).min().map(u64::from);
        let deadlines = [
            self.acceptor.paused_ms(),
            self.stopping_ms,
            self.idle_until_ms,
            self.discards_due_ms,
            self.standing.due_ms,
            self.scripts.due_ms(),
        ];
        let waits = [
            self.timers.next_ms(now_ms),
            log_ms,
            (self.shared.crew.waiting() > 0).then_some(QUEUE_LOOK_MS),
            // A thread that gives a connection back with nothing left to do does not wake the loop.
            (self.connections.away > 0).then_some(INBOX_LOOK_MS),
        ];
        // `u64::MAX` for ever, and no option: the compiler may compare the content of an empty option before it looks
        // whether it is empty, which has no effect, but is a fault to tools that watch the memory.
        let mut wait_ms = u64::MAX;
        for deadline_ms in &deadlines {
            wait_ms = wait_ms.min(deadline_ms.map_or(u64::MAX, |at_ms| at_ms.saturating_sub(now_ms)));
        }
        for wait in &waits {
            wait_ms = wait_ms.min(wait.unwrap_or(u64::MAX));
        }
        // One millisecond more, because the kernel's clock is finer than ours: waking early would spin.
        (wait_ms < u64::MAX).then(|| u32::try_from(wait_ms + 1).unwrap_or(u32::MAX))
    }

    fn update_date(&mut self) {
        self.date = date_now();
        self.shared.refusals.tell(self.now_ms, false);
        let since_second =
            SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |age| age.subsec_millis());
        self.date_due_ms = self.now_ms + u64::from(1000 - since_second.min(999));
    }

    fn look_at_wake(&mut self) {
        self.wake.clear();
        self.shared.inboxes[self.home].heard.store(true, Ordering::Relaxed);
        match (self.shared.stop)() {
            Some(ending) if self.stopping_ms.is_none() => self.begin_stop(ending),
            // A patient stop has become one in a hurry.
            Some(Ending { is_patient: false, .. }) => {
                let soon_ms = self.now_ms + IDLE_HURRY_MS;
                self.idle_until_ms = self.idle_until_ms.map(|until_ms| until_ms.min(soon_ms));
            }
            _ => {}
        }
    }

    /// Gives a connection its turn, because something has come for it. A connection that waits for its turn gets no
    /// further one: else a client would have the more turns, the more it sends.
    fn see(&mut self, key: usize, ending: bool, desk: &mut Desk) -> Option<Errand> {
        if self.connections.get_mut(key)?.hears_while_queued(ending) {
            return None;
        }
        self.turn(key, ending, desk)
    }

    /// Has a connection wait for its next turn, after all others have had theirs.
    pub(crate) fn queue(&mut self, key: usize) {
        if self.connections.enqueue(key) {
            self.turns.push(key);
        }
    }

    /// Gives a connection that was queued its turn.
    fn turn_again(&mut self, key: usize, desk: &mut Desk) -> Option<Errand> {
        self.connections.dequeue(key)?;
        self.looks += 1;
        self.turn(key, false, desk)
    }

    /// Works on one connection until it waits, or needs the application.
    pub(crate) fn turn(&mut self, key: usize, ending: bool, desk: &mut Desk) -> Option<Errand> {
        self.turns.begin();
        let slot = self.connections.get_mut(key)?;
        slot.note_ending(ending);
        let Some(connection) = slot.take_here() else {
            let first = slot.miss();
            self.shared.inboxes[self.home].missed.fetch_add(usize::from(first), Ordering::SeqCst);
            if ending && !self.look_for_departed(key) {
                self.expect_departed(key);
            }
            return None;
        };
        self.guarded(key, desk, |this, desk| this.work(key, connection, desk))
    }

    fn time_out(&mut self, key: usize, desk: &mut Desk) -> Option<Errand> {
        match self.connections.get_mut(key)?.take_here() {
            Some(connection) => self.guarded(key, desk, |this, desk| this.expire(key, connection, desk)),
            None => self.overdue(key, desk),
        }
    }

    /// Takes a connection back that comes from another thread.
    fn take_back(&mut self, back: Return, desk: &mut Desk) -> Option<Errand> {
        let Return { exchange, left, is_departed, learned } = back;
        let key = exchange.key;
        self.looks += 1;
        self.turns.begin();
        if let Some((endpoint, pace)) = learned {
            self.calls.endpoints.took(endpoint, pace);
        }
        let missed = self.connections.take_missed(key);
        if missed {
            self.shared.inboxes[self.home].missed.fetch_sub(1, Ordering::Relaxed);
        }
        self.connections.away -= 1;
        let stream = match left {
            Left::Nothing => None,
            Left::Stream(stream) => Some(stream),
            Left::Onward => {
                return self.guarded(key, desk, |this, desk| {
                    let mut connection = this.connections.take_away(key);
                    connection.more |= missed;
                    let step = this.send_on(connection, exchange, desk);
                    this.work_on(key, step, desk)
                });
            }
            Left::Judged(judged) => {
                return self.guarded(key, desk, |this, desk| {
                    let mut connection = this.connections.take_away(key);
                    connection.more |= missed;
                    let step = this.answer_judged(connection, exchange, *judged, desk);
                    this.work_on(key, step, desk)
                });
            }
            Left::Later(claim) => {
                return self.guarded(key, desk, |this, desk| {
                    let errand = this.keep_ticket(exchange, claim, desk);
                    if missed && this.is_waiting(key) {
                        this.expect_departed(key);
                    }
                    Worked::Away(errand)
                });
            }
        };
        self.guarded(key, desk, |this, desk| {
            let mut connection = this.connections.take_away(key);
            if is_departed {
                connection.depart(exchange);
            } else {
                connection.come_back(exchange, stream);
            }
            // An error shows again when more is sent.
            let _ = connection.flush();
            if !missed && connection.is_answered() {
                return this.go_on(key, connection, desk);
            }
            let streams = matches!(&connection.phase, Phase::Respond(respond) if respond.stream.is_some());
            if streams || !connection.outbox().output.is_empty() {
                this.watch_reader(key, &mut connection);
            }
            this.work(key, connection, desk)
        })
    }

    /// Works on a connection that was taken out of the table. A panic in `work`, a fault of our own, ends that
    /// connection and no more.
    pub(crate) fn guarded(
        &mut self,
        key: usize,
        desk: &mut Desk,
        work: impl FnOnce(&mut Self, &mut Desk) -> Worked,
    ) -> Option<Errand> {
        let worked = catch_unwind(AssertUnwindSafe(|| work(self, desk))).unwrap_or_else(|_| {
            // The panic's own message is in the log already.
            log::write(
                &messages::SERVER_FAILED,
                format_args!("the server itself failed; one connection was closed"),
            );
            *desk = Desk::new(&self.shared.config);
            Worked::Ended(None)
        });
        match worked {
            Worked::Kept(connection) => {
                self.put_back(key, connection);
                None
            }
            Worked::Away(errand) => errand,
            Worked::Ended(errand) => {
                self.forget(key);
                errand
            }
        }
    }

    fn put_back(&mut self, key: usize, mut connection: Box<Connection>) {
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

    /// Watches a connection's socket: bytes that come from here on make an event, and bytes that have come since the
    /// turn make one at once.
    pub(crate) fn watch(&mut self, key: usize, outbox: &mut Outbox) -> io::Result<()> {
        if !outbox.watched {
            self.poll.epoll.add(&outbox.transport, key as u64, Interest::Edge)?;
            outbox.watched = true;
        }
        Ok(())
    }

    /// Watches a part of a script, like [`Loop::watch`].
    pub(crate) fn poll_script(&self, part: (usize, ScriptPart), descriptor: impl AsFd) -> io::Result<()> {
        self.poll.watch_script(descriptor, part.0, part.1)
    }

    /// Ends the watch of a connection's socket. The socket stays open in another process, so closing it here would not
    /// end the watch.
    pub(crate) fn unwatch(&self, connection: &Connection) {
        if connection.outbox().watched {
            // The socket is watched, so this does not fail; if it did, events would come for nothing.
            let _ = self.poll.epoll.remove(&connection.outbox().transport);
        }
    }

    /// Has a connection wait for room in a passage; `false` if the kernel cannot watch for that.
    pub(crate) fn await_room(&mut self, passage: usize, key: usize) -> bool {
        self.departures.wait(passage, key, &self.poll.epoll, ROOMS + passage as u64).is_ok()
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

    /// Leaves the driver behind with its slot and its connection, because its call takes too long, or waits.
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

    /// Has a connection that is away looked at in a moment, because its client has ended its side: until then it may
    /// still listen.
    pub(crate) fn expect_departed(&mut self, key: usize) {
        self.timers.set(key, self.now_ms + LOOK_FOR_CLIENT_MS);
    }

    /// Notes that a call begins on the driver's thread.
    pub(crate) fn note_call(&mut self, exchange: &Exchange, buffer: &[u8]) {
        self.calls.begin(exchange, buffer);
        self.shared.tally.add(Cell::Begun, 1);
    }

    /// Whether calls are timed, and endpoints learn from them.
    pub(crate) fn learns(&self) -> bool {
        self.shared.config.hand_over == HandOver::Auto
    }

    /// Takes a connection that waits at a listener.
    fn accept(&mut self, listener: usize, desk: &mut Desk) -> Option<Errand> {
        if let Some(connection) = self.accept_one(listener, desk) {
            return self.welcome(connection, desk);
        }
        self.acceptor.note_empty(listener);
        None
    }

    /// Whether all threads are inside the application, while other workers may have free ones.
    fn is_full(&self) -> bool {
        let shared = &self.shared;
        let may_be = self.acceptor.has_others() && shared.host.is_some() && !self.calls.slot.held;
        may_be && shared.crew.slots_free() == 0
    }

    /// Accepts a connection; `None` if no more come for now.
    fn accept_one(&mut self, listener: usize, desk: &mut Desk) -> Option<Box<Connection>> {
        let is_full = self.is_full();
        if self.acceptor.leaves_to_others(self.now_ms, is_full) {
            return None;
        }
        loop {
            let is_full = self.connections.len() >= self.shared.config.connections_max;
            match self.acceptor.take(listener, is_full, &mut desk.buffer, &self.shared.tally) {
                Accepted::Passed(socket, passenger, seal, bytes) => {
                    self.shared.tally.add(Cell::Arrived, 1);
                    let Passenger { peer, listener, hops, has_missed } = passenger;
                    let mut connection = self.new_connection(socket, peer, listener);
                    connection.arrived = Some(Box::new(Arrival { hops, has_missed, seal }));
                    connection.keep(&desk.buffer[..bytes], true);
                    return Some(Box::new(connection));
                }
                Accepted::Client(socket, peer) => {
                    self.shared.tally.add(Cell::Accepted, 1);
                    let address = self.acceptor.address(listener);
                    return Some(Box::new(self.new_connection(socket, peer, address)));
                }
                Accepted::Nothing => return None,
                Accepted::End => {
                    self.acceptor.note_end(listener, &self.poll.epoll);
                    return None;
                }
                Accepted::NoRoom(error) => {
                    if !self.shed(desk) {
                        self.acceptor.pause(self.now_ms, error.as_ref());
                        return None;
                    }
                }
            }
        }
    }

    fn new_connection(&self, socket: OwnedFd, peer: Option<SocketAddr>, listener: u16) -> Connection {
        let terms = Arc::clone(&self.plan.first().terms);
        Connection::new(Transport::new(socket), peer, listener, terms, self.now_ms)
    }

    /// Takes a new connection in. Its first request has often arrived already; if that is the only one, it is answered,
    /// and the connection closed, without ever being watched.
    fn welcome(&mut self, mut connection: Box<Connection>, desk: &mut Desk) -> Option<Errand> {
        let key = self.connections.next_key();
        let config = &self.shared.config;
        let is_proxy = config.trusts(connection.peer());
        connection.begins_with_header = match &connection.arrived {
            None => is_proxy && config.proxy_headers,
            Some(arrival) => arrival.is_stranded(),
        };
        // A proxy has the connections of many clients.
        if !self.acceptor.enter(key, connection.peer().filter(|_| !is_proxy)) {
            log::write(
                &messages::CLIENT_CONNECTIONS,
                format_args!("a client has too many connections; one more was closed"),
            );
            return None;
        }
        let deadline_ms = self.now_ms + self.shared.config.first_byte_timeout_ms;
        self.timers.set(key, deadline_ms);
        self.connections.insert(connection);
        // The first request may have been sent since the wait.
        self.looks += 1;
        self.turn(key, false, desk)
    }

    /// Begins a stop: no new connections and no further requests are taken, and running requests may finish.
    fn begin_stop(&mut self, ending: Ending) {
        let graceful_ms = self.shared.config.graceful_timeout_ms;
        self.stopping_ms = Some(self.now_ms + graceful_ms);
        let idle_ms = if ending.is_patient { IDLE_MS_MAX } else { IDLE_HURRY_MS };
        self.idle_until_ms = Some(self.now_ms + graceful_ms.min(idle_ms));
        // The signal has woken one loop, and each looks whether it should stop when it is woken.
        for (home, inbox) in self.shared.inboxes.iter().enumerate() {
            if home != self.home {
                inbox.wake.wake();
            }
        }
        self.acceptor.begin_stop(&self.poll.epoll, ending.takes_queue, self.connections.len(), self.now_ms);
    }

    /// Ends the connections that idle. A request that has arrived and was not read yet is answered first.
    fn close_idle(&mut self) {
        self.idle_until_ms = None;
        self.turns.take_all(self.connections.iter().map(|(key, _)| key));
    }
}
