//! The event loop: a value that one thread drives at a time.
//!
//! Everything that is begun and not done lives in here and not on the driver's stack: events taken
//! from the kernel and not looked at, connections with more to do, timers, answers not yet sent.
//! What a driver works with besides (its receive buffer, its scratch head) is its desk. So another
//! thread can go on wherever this one is. The loop never calls the application: it says what is to be
//! asked ([`Errand`]), and is told what came of it.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use adyton_crew::{Called, Post, SlotClaim};
use adyton_files::{Counts, Folder};
use adyton_log::request::{RequestId, RequestIds};
use adyton_log::{self as log, messages};
use adyton_sys::epoll::{Epoll, Events, Interest};
use adyton_sys::wake::Wake;
use adyton_sys::{clock, process, socket};
use slab::Slab;

use crate::addresses::Addresses;
use crate::common::Ending;
use crate::config::HandOver;
use crate::connection::{Connection, Phase};
use crate::date::date_now;
use crate::desk::Desk;
use crate::endpoints::{Endpoint, Endpoints};
use crate::errand::{Errand, Job, LOOK_FOR_CLIENT_MS};
use crate::exchange::{Exchange, Waiting};
use crate::inbox::Return;
use crate::lock::lock;
use crate::outbox::Outbox;
use crate::outcome::Left;
use crate::plan::Plan;
use crate::share::{Share, Surplus};
use crate::shared::{Http, Shared};
use crate::step::Worked;
use crate::tally::Cell;
use crate::task::{NO_KEY, Task, What};
use crate::timer::Wheel;

/// Tokens from here on are listeners; those below are connections.
const LISTENERS: u64 = 1 << 62;

/// The token of the wake-up: a signal, or whoever wants the loop's attention.
const WAKE: u64 = u64::MAX;

/// Connections taken from one listener before the others get their turn.
const ACCEPTS_PER_TURN: u32 = 64;

/// How long nothing is accepted once the process is out of descriptors: trying at once would fail
/// again, and keep a CPU busy with it.
const ACCEPT_PAUSE_MS: u64 = 100;

/// How long the log hears nothing more of it: a full disk is no help.
const ACCEPT_COMPLAINT_MS: u64 = 10_000;

/// How often the queue is looked at for what has waited too long, while there is one.
const QUEUE_LOOK_MS: u64 = 10;

/// A loop whose last quick call is older has no use for a slot that others wait for.
const KEEP_SLOT_MS: u64 = 50;

/// How often it is looked at while any connection is away.
const INBOX_LOOK_MS: u64 = 500;

/// How long a worker that is ahead of the others leaves new connections to them.
const SHARE_PAUSE_MS: u64 = 1;

/// How long connections that idle are kept, when there is no hurry to stop.
const IDLE_MS_MAX: u64 = 5_000;

/// How long they are kept when there is: a request that is on its way is answered.
const IDLE_HURRY_MS: u64 = 250;

/// How long one connection with requests in a row has its turn while others wait for theirs. Each sends its answers
/// together: shorter turns cost a client of quick requests more system calls.
const TURN_US: u64 = 250;

/// The same when nobody is known to wait: the kernel has not been asked meanwhile.
const TURN_ALONE_US: u64 = 10_000;

/// How long connections that could go on have their turns, one at least, before the kernel is asked for others: so many
/// busy clients are no longer ahead of a quick one than few of them.
const AGAIN_US: u64 = 2_000;

/// How often the board is told how things stand, while they change.
const STANDING_MS: u64 = 1_000;

/// What it is told.
const STANDING_CELLS: usize = 10;

/// A batch that takes longer than this, and [`CALL_US`] more for each call, has a slow call in it: the next calls are
/// timed one by one, to find out which.
const BATCH_US: u64 = 150;

/// What a quick call takes at most.
const CALL_US: u64 = 20;

/// What a loop is made of.
pub struct Parts {
    /// Listening sockets, non-blocking: those of every address, and again those of every address for each other
    /// worker at whose sockets this one listens, too.
    pub listeners: Vec<OwnedFd>,
    /// How many addresses there are.
    pub addresses: usize,
    /// How many connections this process may have beside others.
    pub share: Option<Arc<Share>>,
    /// The folders that the plan's routes name by number. Each loop has its own of each, with a cache of its own.
    pub folders: Vec<Folder>,
    /// Wakes the loop, from signal handlers too.
    pub wake: Arc<Wake>,
}

/// A connection's place in the loop's table.
pub(crate) struct Slot {
    /// `None` while it is being worked on.
    pub(crate) connection: Option<Box<Connection>>,
    /// The peer's end was announced, and will not be again.
    ending: bool,
    /// Something came while it was away.
    missed: bool,
    /// It is in [`Loop::again`], where it has one place, whatever comes for it meanwhile.
    is_queued: bool,
}

impl Slot {
    /// The connection, unless it is away or being worked on.
    pub(crate) fn here(&self) -> Option<&Connection> {
        self.connection.as_deref().filter(|connection| !connection.is_away())
    }

    /// The connection, to work on it, unless it is away.
    pub(crate) fn take_here(&mut self) -> Option<Box<Connection>> {
        self.connection.take_if(|connection| !connection.is_away())
    }
}

/// The call that the loop's driver is in.
#[derive(Clone)]
pub(crate) struct Calling {
    pub(crate) key: usize,
    pub(crate) endpoint: Endpoint,
    pub(crate) what: What,
    pub(crate) id: Option<RequestId>,
    /// Whether it is a request, and not the rest of one that was counted before.
    pub(crate) counts: bool,
}

/// What a driver does next.
pub(crate) enum Advance {
    /// Goes on an errand, and tells the loop what came of it.
    Errand(Errand),
    /// Calls [`Loop::wait`]. `lets_go`: lets go of the interpreter first, since that may block, or nobody was called in
    /// this round: others may have waited for it all the while.
    Wait { lets_go: bool },
    /// Drops the loop: it has ended.
    End,
}

/// An event loop over connections.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, and they come in any mixture")]
pub(crate) struct Loop {
    pub(crate) shared: Arc<Shared>,
    /// Its number among the server's loops.
    pub(crate) home: usize,
    pub(crate) plan: Arc<Plan>,
    pub(crate) folders: Vec<Folder>,
    /// What the `Date` field says now.
    pub(crate) date: [u8; 29],
    pub(crate) timers: Wheel,
    /// Connections that can go on without an event, but gave the others a turn.
    pub(crate) again: VecDeque<usize>,
    pub(crate) now_ms: u64,
    /// Counts the times when a file may have changed since it was looked at: each wait for the kernel, and whatever comes
    /// later than that. What was looked at since is not looked at again: all requests that one wait has told of see the
    /// same file, which is no older than the wait.
    pub(crate) looks: u64,
    /// When running requests have to be done; set once a stop was asked for.
    pub(crate) stopping_ms: Option<u64>,
    /// Until when connections that idle are kept although a stop was asked for.
    idle_until_ms: Option<u64>,
    /// When the ends of answers whose clients have gone are looked at: they may take too long.
    pub(crate) discards_due_ms: Option<u64>,
    /// Who drives.
    pub(crate) driver: Option<Arc<Post<Http>>>,
    /// The slot of its inline calls.
    pub(crate) slot: SlotClaim,
    /// When it last had, or would have had, a quick call to make.
    quick_ms: u64,
    /// Threads with a request from this loop that sleep until its driver has let go of the interpreter.
    pub(crate) called: Called<Http>,
    /// The way to the client that is answered by the call in which the driver is.
    pub(crate) lent: Option<Box<Outbox>>,
    pub(crate) calling: Calling,
    pub(crate) endpoints: Endpoints,
    /// Calls are timed one by one: there is a slow one among them.
    pub(crate) closely: bool,
    /// Calls since the last wait.
    calls: u64,
    /// When the kernel last said what is ready.
    pub(crate) batch_since_us: u64,
    epoll: Epoll,
    events: Events,
    next_event: usize,
    /// Listeners where connections wait, and how many may come in before the others get their turn.
    to_accept: VecDeque<(usize, u32)>,
    returned: VecDeque<Return>,
    /// Connections that are with other threads, or wait for one.
    pub(crate) away: usize,
    /// Connections whose requests are answered later.
    pub(crate) waiting: HashMap<usize, Waiting>,
    /// Connections whose tickets are redeemed.
    redeemed: Vec<usize>,
    /// Requests that have waited too long in the queue.
    expired: VecDeque<Job>,
    due: Vec<(usize, u64)>,
    /// How many of `again` have their turn before the next wait, and since when they have had it.
    again_left: usize,
    again_since_us: Option<u64>,
    /// The clock as it was read last.
    pub(crate) seen_us: u64,
    /// When the connection that is worked on got its turn.
    turn_since_us: u64,
    listeners: Vec<OwnedFd>,
    /// How many addresses these are, over and over.
    listened: usize,
    share: Option<Arc<Share>>,
    surplus: Surplus,
    pub(crate) ids: RequestIds,
    /// Others have had the time to take what waits: one is taken here, however many there are.
    has_waited: bool,
    /// The listeners are closed as soon as nothing waits there.
    closing: bool,
    /// When accepting goes on; set while there were too few descriptors, or no place.
    accept_paused_ms: Option<u64>,
    /// When the log may hear of it again.
    accept_complaint_ms: u64,
    /// Whether the listeners are watched.
    accepting: bool,
    pub(crate) connections: Slab<Slot>,
    addresses: Addresses,
    date_due_ms: u64,
    /// When the board is told how things stand; `None` when nothing has happened since.
    standing_due_ms: Option<u64>,
    /// What it was told last.
    standing: [u64; STANDING_CELLS],
    wake: Arc<Wake>,
}

impl Loop {
    pub(crate) fn new(parts: Parts, home: usize, shared: Arc<Shared>) -> io::Result<Self> {
        let now_ms = clock::monotonic_ms();
        let epoll = Epoll::new()?;
        epoll.add(&*parts.wake, WAKE, Interest::Level)?;
        shared.tally.shift(Cell::Listening, 0, 1);
        Ok(Self {
            home,
            plan: shared.plan(),
            folders: parts.folders,
            date: [b' '; 29],
            timers: Wheel::new(now_ms),
            again: VecDeque::new(),
            now_ms,
            looks: 0,
            stopping_ms: None,
            idle_until_ms: None,
            discards_due_ms: None,
            driver: None,
            slot: SlotClaim::default(),
            quick_ms: 0,
            called: Called::empty(),
            lent: None,
            calling: Calling {
                key: NO_KEY,
                endpoint: Endpoint::NONE,
                what: What::REST,
                id: None,
                counts: false,
            },
            endpoints: Endpoints::new(),
            closely: false,
            calls: 0,
            batch_since_us: 0,
            epoll,
            events: Events::new(),
            next_event: 0,
            to_accept: VecDeque::new(),
            returned: VecDeque::new(),
            away: 0,
            waiting: HashMap::new(),
            redeemed: Vec::new(),
            expired: VecDeque::new(),
            due: Vec::new(),
            again_left: 0,
            again_since_us: None,
            seen_us: 0,
            turn_since_us: 0,
            listeners: parts.listeners,
            listened: parts.addresses.max(1),
            share: parts.share,
            surplus: Surplus::default(),
            ids: RequestIds::new(process::random()),
            has_waited: false,
            closing: false,
            accept_paused_ms: None,
            accept_complaint_ms: 0,
            accepting: false,
            connections: Slab::new(),
            addresses: Addresses::new(shared.config.connections_per_address_max),
            date_due_ms: 0,
            standing_due_ms: None,
            standing: [0; STANDING_CELLS],
            wake: parts.wake,
            shared,
        })
    }

    /// Goes on until the driver is needed.
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

    /// One thing that can be done without waiting, and the errand that came of it; `None` when there is none.
    #[expect(clippy::option_option, reason = "whether something was done, and whether an errand came of it")]
    fn step(&mut self, desk: &mut Desk) -> Option<Option<Errand>> {
        if let Some((index, left)) = self.to_accept.front_mut() {
            let index = *index;
            *left -= 1;
            if *left == 0 {
                self.to_accept.pop_front();
            }
            return Some(self.accept(index, desk));
        }
        if std::mem::take(&mut self.closing) {
            self.close_listeners();
            return Some(None);
        }
        // Before the events, which may be for those who come back.
        if let Some(back) = self.returned.pop_front() {
            return Some(self.take_back(back, desk));
        }
        if self.shared.inboxes[self.home].filled.load(Ordering::Relaxed) {
            let inbox = &self.shared.inboxes[self.home];
            self.returned.extend(inbox.take());
            self.redeemed.extend(inbox.take_redeemed());
            if let Some((plan, folders)) = inbox.take_plan() {
                (self.plan, self.folders) = (plan, folders);
            }
            return Some(None);
        }
        if let Some(key) = self.redeemed.pop() {
            return Some(self.redeem(key));
        }
        if let Some(ready) = self.events.at(self.next_event) {
            self.next_event += 1;
            return Some(match ready.token {
                WAKE => {
                    self.look_at_wake();
                    None
                }
                token if token >= LISTENERS => {
                    let index = usize::try_from(token - LISTENERS).unwrap_or(usize::MAX);
                    self.to_accept.push_back((index, ACCEPTS_PER_TURN));
                    None
                }
                token => self.see(usize::try_from(token).unwrap_or(usize::MAX), ready.ending, desk),
            });
        }
        if let Some(job) = self.expired.pop_front() {
            return Some(self.give_up(job, desk));
        }
        if let Some((key, tick)) = self.due.pop() {
            let fired = self.timers.fired(key, tick, self.now_ms);
            return Some(if fired { self.time_out(key, desk) } else { None });
        }
        if self.again_left > 0 && self.may_go_again() {
            self.again_left -= 1;
            return Some(self.again.pop_front().and_then(|key| self.turn_again(key, desk)));
        }
        let remains = self.shared.host.as_ref().and_then(|host| host.remains())?;
        Some(self.send(NO_KEY, Errand::Discard(remains)))
    }

    /// Whether there is time for one more of the connections that could go on.
    fn may_go_again(&mut self) -> bool {
        self.seen_us = clock::monotonic_us();
        let since_us = *self.again_since_us.get_or_insert(self.seen_us);
        self.seen_us.saturating_sub(since_us) < AGAIN_US
    }

    /// Whether a connection leaves the rest of its requests for its next turn: a client that always has the next ones under
    /// way would keep the loop for ever.
    pub(crate) fn is_turn_over(&self, connection: &Connection) -> bool {
        let took_us = self.seen_us.saturating_sub(self.turn_since_us);
        connection.has_had_its_turn()
            || (took_us >= TURN_US && (took_us >= TURN_ALONE_US || self.do_others_wait()))
    }

    fn do_others_wait(&self) -> bool {
        self.events.at(self.next_event).is_some()
            || !self.again.is_empty()
            || !self.to_accept.is_empty()
            || !self.returned.is_empty()
            || self.shared.inboxes[self.home].filled.load(Ordering::Relaxed)
    }

    /// Nothing is left to do but to wait for the kernel.
    fn before_wait(&mut self) -> Advance {
        let calls = std::mem::take(&mut self.calls);
        if calls > 0 {
            self.note_batch(calls);
        }
        self.update_accepting();
        let inbox = &self.shared.inboxes[self.home];
        // SeqCst on both sides: either we see what came, or who brings it sees us asleep.
        inbox.asleep.store(true, Ordering::SeqCst);
        if inbox.filled.load(Ordering::SeqCst) {
            inbox.asleep.store(false, Ordering::Relaxed);
            return Advance::Wait { lets_go: calls == 0 };
        }
        Advance::Wait { lets_go: calls == 0 || self.again.is_empty() }
    }

    /// Times the next calls one by one if this batch took longer than quick calls do.
    fn note_batch(&mut self, calls: u64) {
        let took_us = clock::monotonic_us().saturating_sub(self.batch_since_us);
        self.closely = self.learns() && took_us > BATCH_US + CALL_US * calls;
    }

    /// Waits for the kernel.
    ///
    /// # Errors
    ///
    /// The kernel refuses to wait, which no correct program sees.
    pub(crate) fn wait(&mut self) -> io::Result<()> {
        if self.standing_due_ms.is_some_and(|due_ms| due_ms <= self.now_ms) {
            self.publish_standing();
        }
        let inbox = &self.shared.inboxes[self.home];
        let timeout_ms = if inbox.asleep.load(Ordering::Relaxed) { self.timeout_ms() } else { Some(0) };
        if self.shared.inboxes.len() > 1 {
            // Another loop may need it, and nobody could take it from one that sleeps.
            self.shared.crew.give_slot(&mut self.slot, self.now_ms);
        }
        self.shared.tally.add(Cell::Waits, 1);
        let waited = self.epoll.wait(&mut self.events, timeout_ms);
        self.shared.inboxes[self.home].asleep.store(false, Ordering::Relaxed);
        waited?;
        if !self.events.is_empty() && self.standing_due_ms.is_none() {
            self.standing_due_ms = Some(self.now_ms + STANDING_MS);
        }
        self.looks += 1;
        self.next_event = 0;
        self.batch_since_us = clock::monotonic_us();
        self.now_ms = self.batch_since_us / 1000;
        self.seen_us = self.batch_since_us;
        self.again_since_us = None;
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
        self.again_left = self.again.len();
        if self.shared.crew.waiting() > 0 {
            let home = self.home;
            self.expired.extend(self.shared.crew.expire(self.now_ms, |job| job.home == home));
            if !self.needs_slot() {
                self.shared.crew.give_slot(&mut self.slot, self.now_ms);
            }
        }
        Ok(())
    }

    /// Tells the board how things stand.
    fn publish_standing(&mut self) {
        self.standing_due_ms = None;
        self.surplus.look(surplus(self.share.as_deref(), self.shared.inboxes.len()));
        let [mut idle, mut receiving, mut asking, mut answering, mut closing] = [0; 5];
        for (_, slot) in &self.connections {
            let kind = match slot.here() {
                None => &mut asking,
                Some(connection) if connection.is_idle() => &mut idle,
                Some(connection) => match connection.phase {
                    Phase::Head | Phase::Upload(_) => &mut receiving,
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
            (Cell::Closing, closing),
            (Cell::StaticHits, files.hits),
            (Cell::StaticLoads, files.loads),
            (Cell::StaticEvictions, files.evictions),
            (Cell::StaticEntries, files.entries as u64),
            (Cell::StaticBytes, files.bytes),
        ];
        for (before, (cell, now)) in self.standing.iter_mut().zip(now) {
            self.shared.tally.shift(cell, std::mem::replace(before, now), now);
        }
        self.shared.publish_threads();
    }

    /// Whether one connection more is left to other workers: its client opens the next one there.
    pub(crate) fn gives_away(&mut self) -> bool {
        self.surplus.gives(|| surplus(self.share.as_deref(), self.shared.inboxes.len()))
    }

    /// Takes note that there is a quick call to make.
    pub(crate) fn note_quick(&mut self) {
        self.quick_ms = self.now_ms;
    }

    /// Whether quick calls keep coming, and slow ones may not have every slot.
    pub(crate) fn needs_slot(&self) -> bool {
        self.now_ms - self.quick_ms <= KEEP_SLOT_MS && self.shared.crew.can_spare_slots()
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

    /// How long the kernel may let us sleep; `None` for ever.
    fn timeout_ms(&mut self) -> Option<u32> {
        if !self.again.is_empty() {
            return Some(0);
        }
        let now_ms = self.now_ms;
        let log_ms = self.plan.logs().filter_map(|log| lock(log).tick(now_ms)).min().map(u64::from);
        let deadlines = [
            self.accept_paused_ms,
            self.stopping_ms,
            self.idle_until_ms,
            self.discards_due_ms,
            self.standing_due_ms,
        ];
        let waits = [
            self.timers.next_ms(now_ms),
            log_ms,
            (self.shared.crew.waiting() > 0).then_some(QUEUE_LOOK_MS),
            // Who gives a connection back that has nothing left to do wakes nobody.
            (self.away > 0).then_some(INBOX_LOOK_MS),
        ];
        // For ever, rather than an option: what an empty one holds may be compared before it is seen to be empty, which is
        // without effect, and a fault to those who watch the memory.
        let until = |deadline: Option<u64>| deadline.map_or(u64::MAX, |at_ms| at_ms.saturating_sub(now_ms));
        let deadline_ms = deadlines.into_iter().map(until).fold(u64::MAX, u64::min);
        let wait_ms = waits.into_iter().map(|wait| wait.unwrap_or(u64::MAX)).fold(deadline_ms, u64::min);
        // One more, because the kernel's clock is finer than ours: waking early would spin.
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
            // Who was patient is in a hurry now.
            Some(Ending { is_patient: false, .. }) => {
                let soon_ms = self.now_ms + IDLE_HURRY_MS;
                self.idle_until_ms = self.idle_until_ms.map(|until_ms| until_ms.min(soon_ms));
            }
            _ => {}
        }
    }

    /// Something has come for a connection. One that has its next turn soon gets no other: a client that always sends
    /// would have the more turns, the more it sends.
    fn see(&mut self, key: usize, ending: bool, desk: &mut Desk) -> Option<Errand> {
        let slot = self.connections.get_mut(key)?;
        if slot.is_queued
            && let Some(connection) = slot.connection.as_deref_mut().filter(|held| !held.is_away())
        {
            slot.ending |= ending;
            connection.more = true;
            return None;
        }
        self.turn(key, ending, desk)
    }

    /// A connection has its next turn after all others have had theirs.
    pub(crate) fn queue(&mut self, key: usize) {
        if let Some(slot) = self.connections.get_mut(key)
            && !std::mem::replace(&mut slot.is_queued, true)
        {
            self.again.push_back(key);
        }
    }

    /// The turn of a connection that was queued.
    fn turn_again(&mut self, key: usize, desk: &mut Desk) -> Option<Errand> {
        self.connections.get_mut(key)?.is_queued = false;
        self.looks += 1;
        self.turn(key, false, desk)
    }

    /// Works on one connection for as long as that needs nobody else.
    fn turn(&mut self, key: usize, ending: bool, desk: &mut Desk) -> Option<Errand> {
        self.turn_since_us = self.seen_us;
        let slot = self.connections.get_mut(key)?;
        slot.ending |= ending;
        let Some(connection) = slot.take_here() else {
            let first = !std::mem::replace(&mut slot.missed, true);
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

    /// A connection comes back from another thread.
    fn take_back(&mut self, back: Return, desk: &mut Desk) -> Option<Errand> {
        let Return { exchange, left, is_departed, learned } = back;
        let key = exchange.key;
        self.looks += 1;
        self.turn_since_us = self.seen_us;
        if let Some((endpoint, us)) = learned {
            self.endpoints.took(endpoint, us);
        }
        let missed = self.connections.get_mut(key).is_some_and(|slot| std::mem::take(&mut slot.missed));
        if missed {
            self.shared.inboxes[self.home].missed.fetch_sub(1, Ordering::Relaxed);
        }
        self.away -= 1;
        let stream = match left {
            Left::Nothing => None,
            Left::Stream(stream) => Some(stream),
            Left::Later(claim) => {
                let errand = self.keep_ticket(exchange, claim, desk);
                if missed && self.is_waiting(key) {
                    self.expect_departed(key);
                }
                return errand;
            }
        };
        self.guarded(key, desk, |this, desk| {
            let mut connection = this.take_away(key);
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

    /// Its exchange is with the application: the connection waits in the table.
    pub(crate) fn put_away(&mut self, key: usize, connection: Box<Connection>) {
        debug_assert!(connection.is_away(), "its exchange has the outbox");
        if let Some(slot) = self.connections.get_mut(key) {
            slot.connection = Some(connection);
        }
    }

    /// A connection whose exchange is with the application.
    pub(crate) fn kept(&mut self, key: usize) -> Option<&mut Connection> {
        self.connections.get_mut(key)?.connection.as_deref_mut()
    }

    /// The connection of an exchange that comes back. A fault of ours if it is not there: see [`Loop::guarded`].
    #[expect(clippy::unnecessary_box_returns, reason = "it is moved as a pointer, and lives in its box")]
    pub(crate) fn take_away(&mut self, key: usize) -> Box<Connection> {
        let connection = self.connections.get_mut(key).and_then(|slot| slot.connection.take());
        let Some(connection) = connection else { unreachable!("it waits in the table") };
        connection
    }

    /// Works on a connection that was taken out of the table. A fault of our own ends that connection and no more.
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

    /// What the loop does with a connection's announced end, once: looks at it.
    pub(crate) fn take_ending(&mut self, key: usize) -> bool {
        self.connections.get_mut(key).is_some_and(|slot| std::mem::take(&mut slot.ending))
    }

    /// Whether it was announced, and nobody has looked yet.
    pub(crate) fn has_ended(&self, key: usize) -> bool {
        self.connections.get(key).is_some_and(|slot| slot.ending)
    }

    fn put_back(&mut self, key: usize, mut connection: Box<Connection>) {
        if self.stopping_ms.is_some() && self.idle_until_ms.is_none() && connection.is_idle() {
            self.forget(key);
            return;
        }
        if let Err(error) = self.watch(key, connection.outbox_mut()) {
            self.forget(key);
            self.pause_accepting(&error);
            return;
        }
        self.connections[key].connection = Some(connection);
    }

    /// What comes from here on makes an event; what has come since the turn makes one at once.
    pub(crate) fn watch(&mut self, key: usize, outbox: &mut Outbox) -> io::Result<()> {
        if !outbox.watched {
            self.epoll.add(&*outbox, key as u64, Interest::Edge)?;
            outbox.watched = true;
        }
        Ok(())
    }

    pub(crate) fn forget(&mut self, key: usize) {
        let slot = self.connections.remove(key);
        if let Some(share) = &self.share {
            share.leave(1);
        }
        if slot.missed {
            self.shared.inboxes[self.home].missed.fetch_sub(1, Ordering::Relaxed);
        }
        if !self.waiting.is_empty() {
            self.waiting.remove(&key);
        }
        self.addresses.leave(key);
        self.timers.clear(key);
        // There is a descriptor again, and a place.
        self.accept_paused_ms = None;
    }

    /// The driver's call takes too long, or waits: the loop leaves it behind with its slot and its connection.
    pub(crate) fn relieve(&mut self, post: &Post<Http>) {
        let Calling { key, endpoint, what, id, counts } = self.calling.clone();
        let now_ms = clock::monotonic_ms();
        self.called.wake();
        self.slot.held = false;
        if counts {
            self.shared.tally.count(Cell::HandedOver);
        }
        self.endpoints.slow(endpoint);
        *lock(&post.own.task) = Some(Task::new(self.home, key, now_ms, what, id));
        self.expect(key, now_ms);
        if let Some(mut outbox) = self.lent.take() {
            // What is written so far must not wait.
            outbox.send();
            post.own.lent.put(outbox);
        }
    }

    /// Looks after a connection that is away, or the end of an answer whose client has gone.
    pub(crate) fn expect(&mut self, key: usize, now_ms: u64) {
        let due_ms = self.shared.config.call_timeout_ms().map(|timeout_ms| now_ms + timeout_ms);
        if key == NO_KEY {
            self.shared.inboxes[self.home].discards.fetch_add(1, Ordering::SeqCst);
            if let Some(due_ms) = due_ms {
                self.look_at_discards_by(due_ms);
            }
        } else if self.connections.contains(key) {
            self.away += 1;
            match due_ms {
                None => self.timers.clear(key),
                Some(due_ms) => self.timers.set(key, due_ms),
            }
        }
    }

    /// The client of a connection that is away has ended its side. For so long it may still listen.
    pub(crate) fn expect_departed(&mut self, key: usize) {
        self.timers.set(key, self.now_ms + LOOK_FOR_CLIENT_MS);
    }

    /// A call begins on the driver's thread.
    pub(crate) fn note_call(&mut self, exchange: &Exchange, buffer: &[u8]) {
        let Exchange { key, endpoint, request, answer, .. } = exchange;
        let calling = &mut self.calling;
        (calling.key, calling.endpoint, calling.counts) = (*key, *endpoint, true);
        calling.what.note(request.head_bytes(buffer));
        calling.id = Some(answer.id.clone());
        self.calls += 1;
        self.shared.tally.add(Cell::Begun, 1);
    }

    /// A call goes on with an answer, or ends it.
    pub(crate) fn note_rest(&mut self, key: usize, id: Option<RequestId>) {
        self.calling = Calling { key, endpoint: Endpoint::NONE, what: What::REST, id, counts: false };
    }

    /// Whether requests are timed and learned from.
    pub(crate) fn learns(&self) -> bool {
        self.shared.config.hand_over == HandOver::Auto
    }

    /// Takes a connection that waits at a listener.
    fn accept(&mut self, index: usize, desk: &mut Desk) -> Option<Errand> {
        if let Some(connection) = self.accept_one(index, desk) {
            return self.welcome(connection, desk);
        }
        self.to_accept.retain(|(other, _)| *other != index);
        None
    }

    /// `None` when no more come for now.
    fn accept_one(&mut self, index: usize, desk: &mut Desk) -> Option<Box<Connection>> {
        if self.leaves_to_others() {
            self.accept_paused_ms = Some(self.now_ms + SHARE_PAUSE_MS);
            return None;
        }
        loop {
            if self.connections.len() >= self.shared.config.connections_max {
                if !self.is_awaited(index) {
                    return None;
                }
                if !self.shed(desk) {
                    self.accept_paused_ms = Some(self.now_ms + ACCEPT_PAUSE_MS);
                    return None;
                }
            }
            match socket::accept(self.listeners.get(index)?) {
                Ok(accepted) => {
                    let (socket, peer) = accepted?;
                    self.shared.tally.add(Cell::Accepted, 1);
                    let listener = u16::try_from(index % self.listened).unwrap_or(u16::MAX);
                    return Some(Box::new(Connection::new(
                        socket,
                        peer,
                        listener,
                        Arc::clone(&self.plan.first().terms),
                        self.now_ms,
                    )));
                }
                // The client was gone before we came; the next one may wait.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    // With no descriptor left, accept(2) does not look whether anybody waits.
                    if !self.is_awaited(index) {
                        return None;
                    }
                    if !self.shed(desk) {
                        self.pause_accepting(&error);
                        return None;
                    }
                }
            }
        }
    }

    /// Whether other workers shall take what waits: this one is ahead of them. After they have had the time it takes
    /// one, and then they have it again.
    fn leaves_to_others(&mut self) -> bool {
        let has_waited = std::mem::take(&mut self.has_waited);
        !has_waited && self.stopping_ms.is_none() && self.share.as_ref().is_some_and(|share| share.is_ahead())
    }

    /// Whether a connection waits at a listener. The last one that did may be in already, and nobody is closed
    /// to make room for nobody.
    fn is_awaited(&self, index: usize) -> bool {
        let listener = self.listeners.get(index);
        listener.is_some_and(|listener| socket::wait(listener, socket::Until::Readable, 0).unwrap_or(true))
    }

    /// Takes a new connection in. Its first request has often arrived already; when that is the only one, the
    /// connection is answered and closed without ever being watched.
    fn welcome(&mut self, connection: Box<Connection>, desk: &mut Desk) -> Option<Errand> {
        let key = self.connections.vacant_key();
        if !self.addresses.enter(key, connection.peer()) {
            log::write(
                &messages::CLIENT_CONNECTIONS,
                format_args!("a client has too many connections; one more was closed"),
            );
            return None;
        }
        let deadline_ms = self.now_ms + self.shared.config.first_byte_timeout_ms;
        self.timers.set(key, deadline_ms);
        self.connections.insert(Slot {
            connection: Some(connection),
            ending: false,
            missed: false,
            is_queued: false,
        });
        if let Some(share) = &self.share {
            share.enter();
        }
        // What a new connection asks may have been sent since the wait.
        self.looks += 1;
        self.turn(key, false, desk)
    }

    fn pause_accepting(&mut self, error: &io::Error) {
        if self.now_ms >= self.accept_complaint_ms {
            self.accept_complaint_ms = self.now_ms + ACCEPT_COMPLAINT_MS;
            log::write(
                &messages::ACCEPT_PAUSED,
                format_args!(
                    "connections cannot be accepted: {error}; trying again every {ACCEPT_PAUSE_MS} ms \
                     (the limit of open files, `ulimit -n`, may be too low)"
                ),
            );
        }
        self.accept_paused_ms = Some(self.now_ms + ACCEPT_PAUSE_MS);
    }

    /// Watches the listeners exactly while connections may be accepted.
    fn update_accepting(&mut self) {
        if self.accept_paused_ms.is_some_and(|until_ms| until_ms <= self.now_ms) {
            self.accept_paused_ms = None;
            // What waits still was taken by nobody.
            self.has_waited = true;
        } else if self.accept_paused_ms.is_none() && !self.has_waited && self.leaves_to_others() {
            self.accept_paused_ms = Some(self.now_ms + SHARE_PAUSE_MS);
        }
        let wanted = self.accept_paused_ms.is_none() && self.stopping_ms.is_none();
        if wanted == self.accepting {
            return;
        }
        for (index, listener) in self.listeners.iter().enumerate() {
            let result = if wanted {
                self.epoll.add(listener, LISTENERS + index as u64, Interest::Exclusive)
            } else {
                self.epoll.remove(listener)
            };
            if let Err(error) = result {
                log::write(
                    &messages::LISTENER_UNWATCHED,
                    format_args!("a listener cannot be watched: {error}"),
                );
            }
        }
        self.accepting = wanted;
    }

    /// No new connections, no further requests: what runs may finish.
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
        // What comes from now on is to wake another process that listens there, too: to close a descriptor does not end
        // its watch while others have the same socket open (epoll(7)).
        self.update_accepting();
        // What this worker still has is no reason for those that stay to take more than an equal share.
        if let Some(share) = self.share.take() {
            share.leave(self.connections.len());
        }
        // What the kernel has accepted for us is ours: a client in the queue would see a reset.
        let queues = if ending.takes_queue { self.listeners.len() } else { 0 };
        self.to_accept = (0..queues).map(|index| (index, u32::MAX)).collect();
        self.closing = true;
    }

    fn close_listeners(&mut self) {
        self.listeners.clear();
        self.shared.tally.shift(Cell::Listening, 1, 0);
    }

    /// Ends the connections that idle. A request that has arrived and was not read yet is answered first.
    fn close_idle(&mut self) {
        self.idle_until_ms = None;
        self.again = self.connections.iter().map(|(key, _)| key).collect();
        self.again_left = self.again.len();
    }
}

/// The connections that one of a worker's loops has too many.
fn surplus(share: Option<&Share>, loops: usize) -> u64 {
    share.map_or(0, |share| share.surplus().div_ceil(loops as u64))
}
