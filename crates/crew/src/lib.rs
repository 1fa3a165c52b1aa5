//! The threads of a server, and how a loop changes hands between them.
//!
//! # The theory
//!
//! A loop is a value that one thread drives. It is always in exactly one of these places, and moving it is
//! taking it out of one and putting it into the next, so that no two threads ever have it:
//!
//! | the loop is | who may take it | where it goes |
//! | --- | --- | --- |
//! | *held* on a driver's stack | nobody | *published*, *offered*, or finished |
//! | *published* in its driver's seat, during a call of the application | the driver, when the call is over; the watch, when it takes too long | *held* again; *offered* |
//! | *offered*: assigned to an idle thread, or in the roster until there is one | that thread; the next that comes free | *held* by its new driver |
//!
//! Driver and watch meet in one atomic swap: whoever finds the loop in the seat has it, and the other finds
//! the seat empty. Each thread has its own seat. Were there one for each loop, a late thread could take the
//! loop out of the call of the next driver.
//!
//! A thread is, in turn, one of these:
//!
//! | a thread is | with a slot | becomes |
//! | --- | --- | --- |
//! | *idle*, in the roster | no | *driver* or *worker*, as assigned; or leaves |
//! | *driver* of a loop | the loop's, or none | *late*, when the loop was taken from its seat; *idle*, when it gave the loop up |
//! | *late*: still in a call that began on a loop | the one that the loop had | *worker*, if something waits; *idle* |
//! | *worker* on a request from the queue | yes | *worker* with the next one; *idle* |
//! | *parked*: inside a call, waiting for its client | given back | *late* or *worker* again, with the next free slot |
//!
//! *Slots* bound the threads inside the application. The loop carries the slot of its inline calls along,
//! so that the common call touches no counter: `slots = free + one for each loop that has one + one for each
//! late thread and each worker`. A driver without a slot, because all are taken, still accepts, parses,
//! serves files, and puts requests into the queue: it is the driver of last resort. There is one thread more
//! than slots for each loop, so that there is always such a driver. A loop with quick calls to make *wants* the next slot
//! that comes free, before the queue: otherwise slow requests, once they had all slots, would keep them.
//!
//! With one slot the application belongs to one thread (it may not be thread-safe, nor know another thread's
//! objects): only that one *enters*. The other never does, and gives the loop back as soon as the first is
//! idle.
//!
//! A thread that has *worked* from the queue may run at a lower priority from then on, if what it ran computes, so that
//! this leaves the CPU to the loop; and a process that is not root cannot take that back. So some threads stay
//! *fresh*: a reserve that takes loops only, and the loops go to them first.
//!
//! The roster's lock is taken when somebody changes his place, never by a call that is quick.

#![forbid(unsafe_code)]

mod queue;
mod sync;

#[cfg(all(test, loom))]
mod model;

use std::collections::VecDeque;

use crossbeam_utils::CachePadded;

use self::queue::Queue;
pub use self::sync::Place;
use self::sync::{Arc, AtomicBool, AtomicUsize, Mutex, MutexGuard, Ordering, Thread, fence, lock, thread};

/// What a crew's threads do.
pub trait Duties: Sized + 'static {
    /// What is driven.
    type Loop: Send;
    /// What waits in the queue.
    type Job: Send;
    /// What each thread has besides.
    type Own: Send + Sync;
}

/// What a thread does next.
pub enum Duty<D: Duties> {
    /// Drive this loop.
    Drive(Box<D::Loop>),
    /// Run this request; the slot comes with it.
    Work(D::Job),
    /// Go on inside the application: here is the slot.
    Resume,
    /// End.
    Leave,
}

/// Attached, or it does not try.
const CALM: usize = 0;
/// Waiting for the interpreter.
const ATTACHING: usize = 1;
/// Waiting for the interpreter so long that its loop was taken.
const STARVED: usize = 2;

/// One thread's place in the crew.
pub struct Post<D: Duties> {
    /// The loop, while its driver is in a call.
    seat: CachePadded<Place<D::Loop>>,
    /// Odd during a call; counts calls by two.
    calls: AtomicUsize,
    attaching: AtomicUsize,
    assignment: Place<Duty<D>>,
    thread: Thread,
    /// Whether it has run a request from the queue.
    worked: AtomicBool,
    /// Whether it may enter the application.
    pub enters: bool,
    /// What it has besides.
    pub own: D::Own,
}

impl<D: Duties> Post<D> {
    /// Leaves the loop in the seat for the time of a call.
    pub fn publish(&self, driven: Box<D::Loop>) {
        self.seat.put(driven);
        self.calls.store(self.calls.load(Ordering::Relaxed) | 1, Ordering::Release);
    }

    /// Takes the loop back; `None` if somebody else drives it now.
    pub fn reclaim(&self) -> Option<Box<D::Loop>> {
        let calls = self.calls.load(Ordering::Relaxed);
        self.calls.store(calls.wrapping_add(calls & 1), Ordering::Release);
        self.seat.take()
    }

    fn wait(&self) -> Duty<D> {
        loop {
            if let Some(duty) = self.assignment.take() {
                return *duty;
            }
            thread::park();
        }
    }

    fn assign(&self, duty: Duty<D>) {
        self.give(duty);
        self.thread.unpark();
    }

    /// Assigns a duty to a thread that is woken later.
    fn give(&self, duty: Duty<D>) {
        self.assignment.put(Box::new(duty));
    }
}

/// A loop's claim to a slot for its inline calls.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Claim {
    /// Whether it has one.
    pub held: bool,
    /// Whether it gets the next one that comes free.
    wanted: bool,
}

/// Threads that were given a duty and not woken yet: never under the roster's lock, which they want first, and by a
/// driver not before it has let go of the interpreter, which they want next. At the latest when this is dropped.
pub struct Called<D: Duties>(Vec<Arc<Post<D>>>);

impl<D: Duties> Called<D> {
    /// Nobody.
    pub fn nobody() -> Self {
        Self(Vec::new())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Wakes them.
    pub fn wake(&mut self) {
        for post in self.0.drain(..) {
            post.thread.unpark();
        }
    }

    fn give(&mut self, post: Arc<Post<D>>, duty: Duty<D>) {
        post.give(duty);
        self.0.push(post);
    }
}

impl<D: Duties> Drop for Called<D> {
    fn drop(&mut self) {
        self.wake();
    }
}

/// What changes under the lock.
struct Roster<D: Duties> {
    /// The one that was busy last is called first: its memory is warm.
    idle: Vec<Arc<Post<D>>>,
    /// Loops that nobody drives yet.
    offered: VecDeque<Box<D::Loop>>,
    queue: Queue<D::Job>,
    slots_free: usize,
    /// Threads inside the application that want their slot back.
    resuming: VecDeque<Arc<Post<D>>>,
    posts: Vec<Arc<Post<D>>>,
    parked: usize,
    loops_left: usize,
    /// Threads that have not worked.
    fresh: usize,
    /// How many of them take loops only.
    reserve: usize,
    /// Loops that want a slot for their quick calls: the next ones that come free are theirs.
    wanted: usize,
}

/// Threads that share loops and a queue of requests.
pub struct Crew<D: Duties> {
    roster: Mutex<Roster<D>>,
    /// Who drives each loop.
    drivers: Vec<Mutex<Option<Arc<Post<D>>>>>,
    slots: usize,
    reserve: usize,
    /// Idle threads that may enter: a driver that may not looks for them.
    entering_idle: AtomicUsize,
    /// Those of them that are fresh.
    fresh_idle: AtomicUsize,
    /// Length of the queue, for those who only want to know whether there is one.
    waiting: AtomicUsize,
    /// Threads that have waited long for the interpreter and still do.
    starved: AtomicUsize,
    /// Whether the watch sleeps.
    watch_sleeps: AtomicBool,
}

impl<D: Duties> Crew<D> {
    /// A crew without threads, for `loops` loops and `slots` threads inside the application, of which `reserve` take
    /// loops only; for a queue of `queue_max` requests that wait for `queue_timeout_ms` at most.
    pub fn new(
        (loops, slots, reserve): (usize, usize, usize),
        (queue_max, queue_timeout_ms): (usize, u64),
    ) -> Self {
        let roster = Roster {
            idle: Vec::new(),
            offered: VecDeque::new(),
            queue: Queue::new(queue_max, queue_timeout_ms),
            slots_free: slots,
            resuming: VecDeque::new(),
            posts: Vec::new(),
            parked: 0,
            loops_left: loops,
            fresh: 0,
            reserve,
            wanted: 0,
        };
        Self {
            roster: Mutex::new(roster),
            drivers: (0..loops).map(|_| Mutex::new(None)).collect(),
            slots,
            reserve,
            entering_idle: AtomicUsize::new(0),
            fresh_idle: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            starved: AtomicUsize::new(0),
            watch_sleeps: AtomicBool::new(false),
        }
    }

    /// Threads inside the application at most.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Threads that the crew needs while nobody is parked.
    pub fn threads_wanted(&self) -> usize {
        self.slots + self.drivers.len().max(self.reserve)
    }

    fn lock(&self) -> MutexGuard<'_, Roster<D>> {
        lock(&self.roster)
    }

    /// Makes the calling thread one of the crew.
    pub fn join(&self, enters: bool, own: D::Own) -> Arc<Post<D>> {
        let post = Arc::new(Post {
            seat: CachePadded::new(Place::empty()),
            calls: AtomicUsize::new(0),
            attaching: AtomicUsize::new(CALM),
            assignment: Place::empty(),
            thread: thread::current(),
            worked: AtomicBool::new(false),
            enters,
            own,
        });
        let mut roster = self.lock();
        roster.fresh += 1;
        roster.posts.push(Arc::clone(&post));
        drop(roster);
        post
    }

    /// The calling thread is the driver of loop `home` from now on.
    pub fn begin_driving(&self, home: usize, post: &Arc<Post<D>>) {
        *lock(&self.drivers[home]) = Some(Arc::clone(post));
    }

    /// The watch's look at a loop: takes it out of the seat if its driver is in the same call as at the last look, and
    /// `is_slow` finds no other reason for that.
    pub fn look(
        &self,
        home: usize,
        last: &mut Look,
        is_slow: impl FnOnce(&D::Own) -> bool,
    ) -> Option<Taken<D>> {
        let who = lock(&self.drivers[home]);
        let post = who.as_ref()?;
        let look =
            Look { post: Arc::as_ptr(post).addr(), calls: post.calls.load(Ordering::Acquire), moved: false };
        let former = std::mem::replace(last, look);
        last.moved = former.post != look.post || former.calls != look.calls;
        if last.moved || look.calls.is_multiple_of(2) || !is_slow(&post.own) {
            return None;
        }
        let driven = post.seat.take()?;
        let post = Arc::clone(post);
        drop(who);
        let starving =
            post.attaching.compare_exchange(ATTACHING, STARVED, Ordering::SeqCst, Ordering::SeqCst);
        if starving.is_ok() {
            self.starved.fetch_add(1, Ordering::SeqCst);
        }
        Some((driven, post))
    }

    /// Lets the watch know that there is something to look at.
    pub fn wake_watch(&self, watch: &Thread) {
        // The swap that published the loop and this fence: either we see the watch asleep, or it sees the call.
        fence(Ordering::SeqCst);
        if self.watch_sleeps.load(Ordering::Relaxed) {
            watch.unpark();
        }
    }

    /// The watch says whether it is about to sleep. What was published before is seen by a look after.
    pub fn watch_sleeps(&self, sleeps: bool) {
        self.watch_sleeps.store(sleeps, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Gives a loop to a thread that is idle, or to the next that will be.
    pub fn offer(&self, driven: Box<D::Loop>) {
        let mut roster = self.lock();
        let fresh = |post: &Arc<Post<D>>| post.enters && !post.worked.load(Ordering::Relaxed);
        let at = roster.idle.iter().rposition(fresh);
        let at = at.or_else(|| roster.idle.iter().rposition(|post| post.enters));
        let at = at.or(roster.idle.len().checked_sub(1));
        match at {
            Some(at) => {
                let post = self.rouse(&mut roster, at);
                drop(roster);
                post.assign(Duty::Drive(driven));
            }
            None => roster.offered.push_back(driven),
        }
    }

    fn rouse(&self, roster: &mut Roster<D>, at: usize) -> Arc<Post<D>> {
        let post = roster.idle.remove(at);
        self.count_idle(roster);
        post
    }

    fn count_idle(&self, roster: &Roster<D>) {
        let entering = roster.idle.iter().filter(|post| post.enters);
        let fresh = entering.clone().filter(|post| !post.worked.load(Ordering::Relaxed)).count();
        self.entering_idle.store(entering.count(), Ordering::Relaxed);
        self.fresh_idle.store(fresh, Ordering::Relaxed);
    }

    /// Whether a thread that may enter the application has nothing to do.
    pub fn has_entering_idle(&self) -> bool {
        self.entering_idle.load(Ordering::Relaxed) > 0
    }

    /// Whether a driver had better leave its loop to another thread: it may not enter and somebody else may; only it may
    /// enter, and requests wait; or it has worked, and somebody fresh is idle.
    pub fn should_give_up(&self, post: &Post<D>) -> bool {
        if !post.enters {
            return self.has_entering_idle();
        }
        (self.slots == 1 && self.waiting() > 0)
            || (post.worked.load(Ordering::Relaxed) && self.fresh_idle.load(Ordering::Relaxed) > 0)
    }

    /// Waits for the next duty. `slot` says whether the thread has one, before and after; `rest` is called before it
    /// sleeps.
    pub fn next(&self, post: &Arc<Post<D>>, slot: &mut bool, now_ms: u64, rest: impl FnOnce()) -> Duty<D> {
        let mut called = Called::nobody();
        let mut roster = self.lock();
        // What only this thread can do comes before what others can do, too.
        let is_needed = post.enters && self.slots == 1 && !roster.queue.is_empty();
        if !is_needed && let Some(driven) = roster.offered.pop_front() {
            return Duty::Drive(driven);
        }
        if post.enters {
            *slot = *slot || roster.take_slot();
            if *slot && !roster.resuming.is_empty() {
                roster.slots_free += 1;
                self.call_up(&mut roster, now_ms, &mut called);
                *slot = roster.take_slot();
            }
            if *slot
                && roster.slots_free >= roster.wanted
                && roster.may_work(post)
                && let Some(job) = roster.queue.pop(now_ms)
            {
                roster.note_work(post);
                self.waiting.store(roster.queue.len(), Ordering::Relaxed);
                return Duty::Work(job);
            }
        }
        if std::mem::take(slot) {
            roster.slots_free += 1;
            self.call_up(&mut roster, now_ms, &mut called);
        }
        if roster.loops_left == 0 || roster.posts.len() - roster.parked > self.threads_wanted() {
            roster.leave(post);
            return Duty::Leave;
        }
        roster.idle.push(Arc::clone(post));
        self.count_idle(&roster);
        drop(roster);
        rest();
        called.wake();
        let duty = post.wait();
        *slot = matches!(duty, Duty::Work(_));
        duty
    }

    /// Puts a request into the queue, or gives it to an idle thread, which is then among those `called`. The driver's own
    /// slot, if it can spare it, goes to it if that is the only one.
    ///
    /// # Errors
    ///
    /// The request itself, when the queue is full, or when it has waited too long already.
    pub fn submit(
        &self,
        job: D::Job,
        (since_ms, now_ms): (u64, u64),
        spare: Option<&mut Claim>,
        called: &mut Called<D>,
    ) -> Result<(), D::Job> {
        let mut roster = self.lock();
        if roster.slots_free == 0 && spare.is_some_and(|claim| std::mem::take(&mut claim.held)) {
            roster.slots_free = 1;
        }
        // The queue is for those for whom nobody is free: its limit does not count for the others.
        let is_free = roster.queue.is_empty()
            && roster.slots_free > roster.wanted
            && !self.is_starved()
            && roster.worker().is_some();
        roster.queue.push(job, since_ms, now_ms, is_free)?;
        self.call_up(&mut roster, now_ms, called);
        Ok(())
    }

    /// Gives free slots to those who wait for one.
    fn call_up(&self, roster: &mut Roster<D>, now_ms: u64, called: &mut Called<D>) {
        while roster.slots_free > 0
            && let Some(post) = roster.resuming.pop_front()
        {
            roster.slots_free -= 1;
            called.give(post, Duty::Resume);
        }
        // A starved thread takes the queue along as soon as it has the interpreter; others would only wait beside it.
        let starved = self.starved.load(Ordering::Relaxed) > 0;
        while !starved
            && roster.slots_free > roster.wanted
            && !roster.queue.is_empty()
            && let Some(at) = roster.worker()
            && let Some(job) = roster.queue.pop(now_ms)
        {
            roster.slots_free -= 1;
            let post = self.rouse(roster, at);
            roster.note_work(&post);
            called.give(post, Duty::Work(job));
        }
        self.waiting.store(roster.queue.len(), Ordering::Relaxed);
    }

    /// Requests in the queue.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Takes out of the queue what has waited too long, as far as it is `mine`.
    pub fn expire(&self, now_ms: u64, mine: impl Fn(&D::Job) -> bool) -> Vec<D::Job> {
        let mut roster = self.lock();
        let expired = std::iter::from_fn(|| roster.queue.expire(now_ms, &mine)).collect();
        self.call_up_now(roster, now_ms);
        expired
    }

    /// Lets go of the roster, and wakes those that it has something for.
    fn call_up_now(&self, mut roster: MutexGuard<'_, Roster<D>>, now_ms: u64) {
        let mut called = Called::nobody();
        self.call_up(&mut roster, now_ms, &mut called);
        drop(roster);
    }

    /// Whether a loop may keep a slot for its quick calls while requests wait in the queue: only if that leaves them one.
    pub fn can_spare_slots(&self) -> bool {
        self.slots > self.drivers.len()
    }

    /// Takes a slot for a loop's inline calls; `false` when there is none. Then the loop has a claim to the next one, before
    /// the queue.
    pub fn take_slot(&self, claim: &mut Claim) -> bool {
        if claim.held {
            return true;
        }
        let mut roster = self.lock();
        claim.held = roster.resuming.is_empty() && roster.take_slot();
        let wanted = !claim.held && self.can_spare_slots();
        let wanted_before = std::mem::replace(&mut claim.wanted, wanted);
        roster.wanted = roster.wanted + usize::from(wanted) - usize::from(wanted_before);
        claim.held
    }

    /// A loop has no use for the slot that it has, or wants.
    pub fn give_slot(&self, claim: &mut Claim, now_ms: u64) {
        let Claim { held, wanted } = std::mem::take(claim);
        if held || wanted {
            let mut roster = self.lock();
            roster.slots_free += usize::from(held);
            roster.wanted -= usize::from(wanted);
            self.call_up_now(roster, now_ms);
        }
    }

    /// A thread inside the application begins to wait for its client: its slot goes to others. `true` when the crew
    /// then lacks a thread.
    pub fn park(&self, now_ms: u64) -> bool {
        let mut roster = self.lock();
        roster.parked += 1;
        roster.slots_free += 1;
        let lacks = roster.posts.len() - roster.parked < self.threads_wanted();
        self.call_up_now(roster, now_ms);
        lacks
    }

    /// Threads that wait for their clients.
    pub fn parked(&self) -> usize {
        self.lock().parked
    }

    /// The client has come back: waits for a slot.
    pub fn unpark(&self, post: &Arc<Post<D>>) {
        let mut roster = self.lock();
        roster.parked -= 1;
        if roster.take_slot() {
            return;
        }
        roster.resuming.push_back(Arc::clone(post));
        drop(roster);
        let duty = post.wait();
        debug_assert!(matches!(duty, Duty::Resume), "nothing else is assigned to a parked thread");
    }

    /// Takes the interpreter, and says meanwhile that this thread waits for it.
    pub fn attach(&self, post: &Post<D>, now_ms: u64, attach: impl FnOnce()) {
        post.attaching.store(ATTACHING, Ordering::SeqCst);
        attach();
        if post.attaching.swap(CALM, Ordering::SeqCst) == STARVED {
            self.starved.fetch_sub(1, Ordering::SeqCst);
            if self.waiting() > 0 {
                self.call_up_now(self.lock(), now_ms);
            }
        }
    }

    /// Whether somebody has waited long for the interpreter and still does: one more would only wait with him.
    pub fn is_starved(&self) -> bool {
        self.starved.load(Ordering::Relaxed) > 0
    }

    /// A loop has ended. After the last one the idle threads leave, and the others when they come free.
    pub fn end_loop(&self) {
        let mut roster = self.lock();
        roster.loops_left -= 1;
        if roster.loops_left > 0 {
            return;
        }
        for post in std::mem::take(&mut roster.idle) {
            roster.leave(&post);
            post.assign(Duty::Leave);
        }
    }

    /// A thread of the crew that fits.
    pub fn find(&self, fits: impl Fn(&Post<D>) -> bool) -> Option<Arc<Post<D>>> {
        self.lock().posts.iter().find(|post| fits(post)).map(Arc::clone)
    }

    /// How many threads there are, and how many of them are inside the application: in a call on a loop, or `busy`, and
    /// not parked.
    pub fn threads(&self, busy: impl Fn(&D::Own) -> bool) -> (usize, usize) {
        let roster = self.lock();
        let inside = |post: &&Arc<Post<D>>| post.calls.load(Ordering::Relaxed) % 2 == 1 || busy(&post.own);
        let inside = roster.posts.iter().filter(inside).count();
        (roster.posts.len(), inside.saturating_sub(roster.parked))
    }

    /// Slots that nobody has.
    pub fn slots_free(&self) -> usize {
        self.lock().slots_free
    }

    /// Says what is wrong if something has to be done, and somebody could do it, and nobody does. Between two calls a
    /// moment apart that both complain lies a lost wake-up: the crew is stuck.
    #[cfg(debug_assertions)]
    pub fn complaint(&self) -> Option<String> {
        let roster = self.lock();
        let (idle, entering) =
            (roster.idle.len(), roster.idle.iter().filter(|post| roster.may_work(post)).count());
        let (offered, waiting, free) = (roster.offered.len(), roster.queue.len(), roster.slots_free);
        let starved = self.starved.load(Ordering::Relaxed);
        let wrong = (offered > 0 && idle > 0)
            || (free > 0 && !roster.resuming.is_empty())
            || (waiting > 0 && free > roster.wanted && entering > 0 && starved == 0)
            || free > self.slots;
        wrong.then(|| {
            format!(
                "{idle} threads idle, {entering} may work; {offered} loops offered, {waiting} requests waiting, \
                 {free} of {} slots free, {} resuming, {starved} starved",
                self.slots,
                roster.resuming.len()
            )
        })
    }
}

impl<D: Duties> Roster<D> {
    fn leave(&mut self, post: &Arc<Post<D>>) {
        self.posts.retain(|other| !Arc::ptr_eq(other, post));
        self.fresh -= usize::from(!post.worked.load(Ordering::Relaxed));
    }

    /// Whether a thread may take a request from the queue.
    fn may_work(&self, post: &Post<D>) -> bool {
        post.enters && (post.worked.load(Ordering::Relaxed) || self.fresh > self.reserve)
    }

    /// The idle thread that takes the next request: one that has worked, if there is one.
    fn worker(&self) -> Option<usize> {
        let worked = |post: &Arc<Post<D>>| post.enters && post.worked.load(Ordering::Relaxed);
        let at = self.idle.iter().rposition(worked);
        at.or_else(|| self.idle.iter().rposition(|post| self.may_work(post)))
    }

    fn note_work(&mut self, post: &Post<D>) {
        self.fresh -= usize::from(!post.worked.swap(true, Ordering::Relaxed));
    }

    fn take_slot(&mut self) -> bool {
        let free = self.slots_free > 0;
        self.slots_free -= usize::from(free);
        free
    }
}

/// A loop that was taken from its seat, and whose seat that was.
pub type Taken<D> = (Box<<D as Duties>::Loop>, Arc<Post<D>>);

/// What the watch saw at its last look at a loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    post: usize,
    calls: usize,
    /// Whether anything had changed.
    pub moved: bool,
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    struct Plain;

    impl Duties for Plain {
        type Loop = ();
        type Job = u32;
        type Own = ();
    }

    /// A loop that has no slot gets the next one that comes free, and the queue the one after that.
    #[test]
    fn a_loop_comes_before_the_queue() {
        let crew = Crew::<Plain>::new((1, 2, 0), (10, 1_000));
        let post = crew.join(true, ());
        let mut claims = [Claim::default(), Claim::default(), Claim::default()];
        assert!(crew.take_slot(&mut claims[0]) && crew.take_slot(&mut claims[1]));
        assert!(!crew.take_slot(&mut claims[2]) && claims[2].wanted, "both are taken");
        assert_eq!(Ok(()), crew.submit(7, (0, 0), None, &mut Called::nobody()));

        crew.give_slot(&mut claims[0], 0);
        assert_eq!((1, 1), (crew.slots_free(), crew.waiting()), "it is kept for the loop");
        assert!(crew.take_slot(&mut claims[2]) && !claims[2].wanted);
        crew.give_slot(&mut claims[1], 0);
        let duty = crew.next(&post, &mut false, 0, || ());
        assert!(matches!(duty, Duty::Work(7)), "the next one is the queue's");
    }

    /// A loop that gives up waiting for a slot, or a slot, leaves it to the queue.
    #[test]
    fn a_loop_without_quick_calls_wants_nothing() {
        let crew = Crew::<Plain>::new((1, 2, 0), (10, 1_000));
        let post = crew.join(true, ());
        let mut claims = [Claim::default(), Claim::default(), Claim::default()];
        assert!(crew.take_slot(&mut claims[0]) && crew.take_slot(&mut claims[1]));
        assert!(!crew.take_slot(&mut claims[2]), "both are taken");
        assert_eq!(Ok(()), crew.submit(7, (0, 0), Some(&mut claims[0]), &mut Called::nobody()));
        assert_eq!((false, 1), (claims[0].held, crew.slots_free()));

        crew.give_slot(&mut claims[2], 0);
        assert_eq!(Claim::default(), claims[2]);
        let mut slot = false;
        assert!(matches!(crew.next(&post, &mut slot, 0, || ()), Duty::Work(7)));
        assert_eq!((true, 0), (slot, crew.slots_free()));
    }
}
