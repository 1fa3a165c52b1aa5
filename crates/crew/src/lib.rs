//! The threads of a server, and how a loop changes hands between them.
//!
//! # The theory
//!
//! A loop is a value that one thread drives. It is always in exactly one of these places. To move it, a thread takes it
//! out of one place and puts it into the next, so that two threads never have it at once:
//!
//! | the loop is | who may take it | where it goes |
//! | --- | --- | --- |
//! | *held* on a driver's stack | no other thread | *published*, *offered*, or finished |
//! | *published* in its driver's seat for a call | the driver after the call; the watch, if the call is long | *held*; *offered* |
//! | *offered* to an idle thread, or to the roster | that thread; the next thread that comes free | *held* by its new driver |
//!
//! Driver and watch meet in one atomic swap: the one that finds the loop in the seat has it, and the other finds the
//! seat empty. Each thread has its own seat. If each loop had a seat instead, a late thread could take the loop out of
//! its seat during a call of the next driver.
//!
//! A thread is, in turn, one of these:
//!
//! | a thread is | with a slot | becomes |
//! | --- | --- | --- |
//! | *idle*, in the roster | no | *driver* or *worker*, as assigned; or leaves |
//! | *driver* of a loop | the loop's, or none | *late*, when it lost the loop; *idle*, when it gave the loop up |
//! | *late*: still in a call that began on a loop | the one that the loop had | *worker*, if a request waits; else *idle* |
//! | *worker* on a request from the queue | yes | *worker* with the next request; else *idle* |
//! | *parked*: inside a call, waiting for its client | given back | *late* or *worker* again, with the next free slot |
//!
//! *Slots* bound the threads inside the application. The loop carries the slot of its inline calls along, so that the
//! common call touches no counter: `slots = free + one for each loop with a slot + one for each late thread and each
//! worker`. A driver without a slot, because all are taken, still accepts, parses, serves files, and puts requests into
//! the queue: it is the driver of last resort. For each loop there is one thread beyond the slots, so that there is
//! always such a driver. A loop with quick calls to make *wants* the next slot that comes free, and gets it before the
//! queue: otherwise slow requests that once had all slots would keep them.
//!
//! With one slot the application belongs to one thread, because it may not be thread-safe, or may use objects that are
//! bound to one thread. Only that thread *enters* the application. The other thread never does, and gives the loop back
//! as soon as the first thread is idle.
//!
//! A thread that has *worked* on requests from the queue may run at a lower priority from then on, if these requests
//! compute, so that the loop gets the CPU first. A process that is not root cannot raise the priority again. So some
//! threads stay *fresh*: they are a reserve that takes only loops, and loops go to them first. A crew is *short* if a
//! thread that it needs could not be started. A short crew has no reserve: otherwise its last threads would leave
//! requests in the queue although slots are free.
//!
//! The roster's lock is taken when a thread changes its state, never by a call that is quick.

#![forbid(unsafe_code)]

mod queue;
mod sync;

#[cfg(all(test, loom))]
mod model;

use std::collections::VecDeque;

use crossbeam_utils::CachePadded;

use self::queue::Queue;
pub use self::sync::Spot;
use self::sync::{Arc, AtomicBool, AtomicUsize, Mutex, MutexGuard, Ordering, Thread, fence, lock, thread};

/// The types that a crew's threads work with.
pub trait Duties: Sized + 'static {
    /// A value that one thread drives at a time.
    type Loop: Send;
    /// A request that waits in the queue.
    type Job: Send;
    /// The data that each thread has besides its post.
    type Own: Send + Sync;
}

/// The requests that were left to a driver while it waited for the interpreter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// No requests.
    Nothing,
    /// Requests for which the driver [calls up](Crew::call_up_rest) other threads once it has let go of the
    /// interpreter.
    Some,
    /// Requests that came during a long wait. The driver had better [withdraw](Crew::withdraw) and run the quick ones
    /// first, while it has the interpreter: any other thread would wait as long again.
    Many,
}

/// The next thing that a thread does.
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

/// The thread is attached to the interpreter, or does not try to attach.
const CALM: usize = 0;
/// The thread waits for the interpreter.
const ATTACHING: usize = 1;
/// The thread has waited for the interpreter so long that its loop was taken.
const STARVED: usize = 2;

/// One thread's place in the crew.
pub struct Post<D: Duties> {
    /// The loop, while its driver is in a call.
    seat: CachePadded<Spot<D::Loop>>,
    /// Counts errands (the calls for one request) in steps of two; odd while this thread has left the loop in the seat.
    /// During one errand, the thread may leave the loop there many times.
    errands: AtomicUsize,
    attaching: AtomicUsize,
    assignment: Spot<Duty<D>>,
    thread: Thread,
    /// Whether the thread has run a request from the queue.
    worked: AtomicBool,
    /// Whether the thread is done with its request, and comes for the next one.
    is_done: AtomicBool,
    /// Whether the thread may enter the application.
    pub enters: bool,
    /// Further data of the thread.
    pub own: D::Own,
}

impl<D: Duties> Post<D> {
    /// Begins an errand. A stream, which goes back and forth between the application and the loop, is one errand: other
    /// requests have waited since it began, however quick its items are.
    pub fn begin_errand(&self) {
        self.errands.store(self.errands.load(Ordering::Relaxed).wrapping_add(2) & !1, Ordering::Release);
    }

    /// Leaves the loop in the seat for the time of a call.
    pub fn publish(&self, driven: Box<D::Loop>) {
        self.seat.put(driven);
        self.errands.store(self.errands.load(Ordering::Relaxed) | 1, Ordering::Release);
    }

    /// Takes the loop back; `None` if another thread drives it now.
    pub fn reclaim(&self) -> Option<Box<D::Loop>> {
        self.errands.store(self.errands.load(Ordering::Relaxed) & !1, Ordering::Release);
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
pub struct SlotClaim {
    /// Whether the loop has a slot.
    pub held: bool,
    /// Whether the loop gets the next slot that comes free.
    wanted: bool,
}

/// Threads that were given a duty and not woken yet. They are woken only after the caller has let go of the roster's
/// lock and of the interpreter, because they need both right away; at the latest, when this value is dropped.
pub struct Called<D: Duties>(Vec<Arc<Post<D>>>);

impl<D: Duties> Called<D> {
    /// No threads.
    pub fn empty() -> Self {
        Self(Vec::new())
    }

    /// The number of threads.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no threads to wake.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Wakes the threads.
    #[inline]
    pub fn wake(&mut self) {
        // Most calls have nobody to wake.
        if !self.0.is_empty() {
            self.wake_all();
        }
    }

    fn wake_all(&mut self) {
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

/// The part of a crew that changes under the lock.
struct Roster<D: Duties> {
    /// Idle threads. The one that was busy last is called first: its memory is warm.
    idle: Vec<Arc<Post<D>>>,
    /// Loops that no thread drives yet.
    offered: VecDeque<Box<D::Loop>>,
    queue: Queue<D::Job>,
    slots_free: usize,
    /// Threads inside the application that want their slot back.
    resuming: VecDeque<Arc<Post<D>>>,
    posts: Vec<Arc<Post<D>>>,
    parked: usize,
    /// Whether the crew lacks threads that could not be started.
    is_short: bool,
    loops_left: usize,
    /// Threads that have never run a request from the queue.
    fresh: usize,
    /// How many fresh threads take loops only.
    reserve: usize,
    /// Loops that want a slot for their quick calls: the next slots that come free are theirs.
    wanted: usize,
}

/// The size of a crew and of its queue.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// The loops that its threads drive.
    pub loops: usize,
    /// Most threads inside the application at once.
    pub slots: usize,
    /// Fresh threads that take loops only.
    pub reserve: usize,
    /// Most requests in the queue.
    pub queue_max: usize,
    /// The longest time that a request waits in the queue.
    pub queue_timeout_ms: u64,
}

/// The times of a request that comes into the queue.
#[derive(Clone, Copy, Debug)]
pub struct QueueTimes {
    /// The time since when the request has waited.
    pub since_ms: u64,
    /// The time now.
    pub now_ms: u64,
}

/// Threads that share loops and a queue of requests.
pub struct Crew<D: Duties> {
    roster: Mutex<Roster<D>>,
    /// Which thread drives each loop.
    drivers: Vec<Mutex<Option<Arc<Post<D>>>>>,
    slots: usize,
    reserve: usize,
    /// Idle threads that may enter the application: a driver that may not enter it looks for them.
    entering_idle: AtomicUsize,
    /// Threads of `entering_idle` that are fresh.
    fresh_idle: AtomicUsize,
    /// Threads that are done with their requests and have not come for the next ones yet.
    coming: AtomicUsize,
    /// Length of the queue, for threads that only want to know whether requests wait.
    waiting: AtomicUsize,
    /// Threads that have waited long for the interpreter and still do.
    starved: AtomicUsize,
    /// Threads that wait for the interpreter, with a request from the queue or of a loop.
    attaching: AtomicUsize,
    /// Threads that have the interpreter, and take along requests that queued while they waited for it.
    taking: AtomicUsize,
    /// Whether a thread that has got the interpreter takes along requests that queued meanwhile.
    taken_along: AtomicBool,
    /// Whether the watch sleeps.
    watch_sleeps: AtomicBool,
}

impl<D: Duties> Crew<D> {
    /// A crew of this size without threads.
    pub fn new(size: Size) -> Self {
        let Size { loops, slots, reserve, queue_max, queue_timeout_ms } = size;
        let roster = Roster {
            idle: Vec::new(),
            offered: VecDeque::new(),
            queue: Queue::new(queue_max, queue_timeout_ms),
            slots_free: slots,
            resuming: VecDeque::new(),
            posts: Vec::new(),
            parked: 0,
            is_short: false,
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
            coming: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            starved: AtomicUsize::new(0),
            taking: AtomicUsize::new(0),
            attaching: AtomicUsize::new(0),
            taken_along: AtomicBool::new(false),
            watch_sleeps: AtomicBool::new(false),
        }
    }

    /// Most threads inside the application at once.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Threads that the crew needs besides the parked ones.
    pub fn threads_wanted(&self) -> usize {
        self.slots + self.drivers.len().max(self.reserve)
    }

    fn lock(&self) -> MutexGuard<'_, Roster<D>> {
        lock(&self.roster)
    }

    /// Makes the calling thread one of the crew.
    pub fn join(&self, enters: bool, own: D::Own) -> Arc<Post<D>> {
        let post = Arc::new(Post {
            seat: CachePadded::new(Spot::empty()),
            errands: AtomicUsize::new(0),
            attaching: AtomicUsize::new(CALM),
            assignment: Spot::empty(),
            thread: thread::current(),
            worked: AtomicBool::new(false),
            is_done: AtomicBool::new(false),
            enters,
            own,
        });
        let mut roster = self.lock();
        roster.fresh += 1;
        roster.posts.push(Arc::clone(&post));
        roster.is_short = false;
        drop(roster);
        post
    }

    /// Makes the calling thread the driver of loop `home`.
    pub fn begin_driving(&self, home: usize, post: &Arc<Post<D>>) {
        *lock(&self.drivers[home]) = Some(Arc::clone(post));
    }

    /// Looks at a loop for the watch: takes it out of the seat if its driver is still on the errand of the last look,
    /// and `is_slow` confirms that the errand is slow.
    pub fn look(
        &self,
        home: usize,
        last: &mut Look,
        is_slow: impl FnOnce(&D::Own) -> bool,
    ) -> Option<Taken<D>> {
        let who = lock(&self.drivers[home]);
        let post = who.as_ref()?;
        let errands = post.errands.load(Ordering::Acquire);
        let look = Look { post: Arc::as_ptr(post).addr(), errand: errands | 1, moved: false };
        let former = std::mem::replace(last, look);
        last.moved = former.post != look.post || former.errand != look.errand;
        if last.moved || errands.is_multiple_of(2) || !is_slow(&post.own) {
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
        // The swap that published the loop and this fence ensure that either this thread sees the watch asleep, or the
        // watch sees the call.
        fence(Ordering::SeqCst);
        if self.watch_sleeps.load(Ordering::Relaxed) {
            watch.unpark();
        }
    }

    /// Notes whether the watch is about to sleep. A look after this call sees every loop that was published before it.
    pub fn watch_sleeps(&self, sleeps: bool) {
        self.watch_sleeps.store(sleeps, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Gives a loop to an idle thread, or to the next thread that becomes idle.
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

    /// Whether a driver had better leave its loop to another thread: because the driver may not enter the application
    /// and an idle thread may; because only the driver may enter, and requests wait; or because the driver has worked,
    /// and a fresh thread is idle.
    pub fn should_give_up(&self, post: &Post<D>) -> bool {
        if !post.enters {
            return self.has_entering_idle();
        }
        (self.slots == 1 && self.waiting() > 0)
            || (post.worked.load(Ordering::Relaxed) && self.fresh_idle.load(Ordering::Relaxed) > 0)
    }

    /// Notes that a thread is done with its request, before the client can have the whole answer. The thread is as good
    /// as free, so the next request has a place in the queue even if the queue is full.
    pub fn note_done(&self, post: &Post<D>) {
        if !post.is_done.swap(true, Ordering::Relaxed) {
            self.coming.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Notes that a thread has taken one more request, or comes for the next one.
    pub fn note_back(&self, post: &Post<D>) {
        if post.is_done.swap(false, Ordering::Relaxed) {
            self.coming.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Waits for the next duty. `slot` says whether the thread has a slot, before the call and after it; `rest` is
    /// called before the thread sleeps.
    pub fn next(&self, post: &Arc<Post<D>>, slot: &mut bool, now_ms: u64, rest: impl FnOnce()) -> Duty<D> {
        let mut called = Called::empty();
        let mut roster = self.lock();
        self.note_back(post);
        // Work that only this thread can do comes before work that other threads can do, too.
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
                && !self.is_crowded()
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

    /// Puts a request into the queue, or gives it to an idle thread, and adds that thread to `called`. If no slot is
    /// free, the request gets the driver's own slot, if the driver can `spare` it.
    ///
    /// # Errors
    ///
    /// The request itself, if the queue is full or the request has waited too long already.
    pub fn submit(
        &self,
        job: D::Job,
        times: QueueTimes,
        spare: Option<&mut SlotClaim>,
        called: &mut Called<D>,
    ) -> Result<(), D::Job> {
        let QueueTimes { since_ms, now_ms } = times;
        let mut roster = self.lock();
        if roster.slots_free == 0 && spare.is_some_and(|claim| std::mem::take(&mut claim.held)) {
            roster.slots_free = 1;
        }
        // The limit of the queue counts only requests for which no thread is free.
        let extra = roster.free_workers() + self.coming.load(Ordering::SeqCst);
        roster.queue.push(job, since_ms, now_ms, extra)?;
        self.call_up(&mut roster, now_ms, called);
        Ok(())
    }

    /// Gives free slots to threads that wait for one.
    fn call_up(&self, roster: &mut Roster<D>, now_ms: u64, called: &mut Called<D>) {
        while roster.slots_free > 0
            && let Some(post) = roster.resuming.pop_front()
        {
            roster.slots_free -= 1;
            called.give(post, Duty::Resume);
        }
        self.call_workers(roster, now_ms, called);
        self.waiting.store(roster.queue.len(), Ordering::Relaxed);
        if !roster.queue.is_empty() {
            // A thread that has just got the interpreter looks at the length of the queue, and may not have seen these
            // requests. If it has not, the crew is not crowded any more, and the second call finds a thread for them.
            fence(Ordering::SeqCst);
            self.call_workers(roster, now_ms, called);
            self.waiting.store(roster.queue.len(), Ordering::Relaxed);
        }
    }

    /// Gives free slots to requests in the queue.
    fn call_workers(&self, roster: &mut Roster<D>, now_ms: u64, called: &mut Called<D>) {
        // A starved thread takes queued requests along when it has the interpreter; other threads would only wait
        // beside it.
        while !self.is_crowded()
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
    }

    /// Requests in the queue.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Whether the queue holds requests that were left to the calling thread, which has the interpreter now.
    fn holds_back(&self) -> bool {
        fence(Ordering::SeqCst);
        self.waiting() > 0
    }

    /// Takes out of the queue the requests that have waited too long and are `mine`.
    pub fn expire(&self, now_ms: u64, mine: impl Fn(&D::Job) -> bool) -> Vec<D::Job> {
        let mut roster = self.lock();
        let expired = std::iter::from_fn(|| roster.queue.expire(now_ms, &mine)).collect();
        self.call_up_now(roster, now_ms);
        expired
    }

    /// Takes out of the queue the request that fits, if it is still there.
    pub fn withdraw(&self, fits: impl Fn(&D::Job) -> bool) -> Option<D::Job> {
        let mut roster = self.lock();
        let job = roster.queue.withdraw(fits);
        self.waiting.store(roster.queue.len(), Ordering::Relaxed);
        job
    }

    /// Notes that a request has left the queue because its client had gone. Other clients may be as impatient, so
    /// several such requests press the queue.
    pub fn note_departed(&self) {
        self.lock().queue.note_left(true);
    }

    /// Gives duties to threads that can have one, lets go of the roster's lock, and wakes these threads.
    fn call_up_now(&self, mut roster: MutexGuard<'_, Roster<D>>, now_ms: u64) {
        let mut called = Called::empty();
        self.call_up(&mut roster, now_ms, &mut called);
        drop(roster);
    }

    /// Whether a loop may keep a slot for its quick calls while requests wait in the queue: only if a slot is left for
    /// these requests.
    pub fn can_spare_slots(&self) -> bool {
        self.slots > self.drivers.len()
    }

    /// Takes a slot for a loop's inline calls; `false` if no slot is free. The loop then has a claim to the next slot,
    /// before the queue.
    pub fn take_slot(&self, claim: &mut SlotClaim) -> bool {
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

    /// Gives a loop the slot that its new driver brings.
    pub fn bring_slot(&self, claim: &mut SlotClaim, now_ms: u64) {
        claim.held = true;
        if std::mem::take(&mut claim.wanted) {
            let mut roster = self.lock();
            roster.wanted -= 1;
            self.call_up_now(roster, now_ms);
        }
    }

    /// Takes back the slot that a loop has or wants, but has no use for.
    pub fn give_slot(&self, claim: &mut SlotClaim, now_ms: u64) {
        let SlotClaim { held, wanted } = std::mem::take(claim);
        if held || wanted {
            let mut roster = self.lock();
            roster.slots_free += usize::from(held);
            roster.wanted -= usize::from(wanted);
            self.call_up_now(roster, now_ms);
        }
    }

    /// Parks the calling thread, which is inside the application and begins to wait for its client: its slot goes to
    /// another thread. Returns `true` if the crew lacks a thread now.
    pub fn park(&self, now_ms: u64) -> bool {
        let mut roster = self.lock();
        roster.parked += 1;
        roster.slots_free += 1;
        let lacks = roster.posts.len() - roster.parked < self.threads_wanted();
        self.call_up_now(roster, now_ms);
        lacks
    }

    /// Makes the crew do without the thread that it has lacked since the caller parked: the remaining threads do all
    /// work, and no thread is reserved for the loops. Returns `false` if the caller must not wait, because no thread
    /// would be left for the queue or for a loop.
    pub fn manages_without(&self, now_ms: u64) -> bool {
        let mut roster = self.lock();
        roster.is_short = true;
        let left = roster.posts.len() - roster.parked;
        self.call_up_now(roster, now_ms);
        left > self.drivers.len()
    }

    /// Threads that wait for their clients.
    pub fn parked(&self) -> usize {
        self.lock().parked
    }

    /// Waits for a slot, because the client of the calling thread has come back.
    pub fn unpark(&self, post: &Arc<Post<D>>) {
        let mut roster = self.lock();
        roster.parked -= 1;
        roster.is_short &= roster.posts.len() - roster.parked < self.threads_wanted();
        if roster.take_slot() {
            return;
        }
        roster.resuming.push_back(Arc::clone(post));
        drop(roster);
        let duty = post.wait();
        debug_assert!(matches!(duty, Duty::Resume), "nothing else is assigned to a parked thread");
    }

    /// Takes the interpreter for a driver. While the driver waits for it, requests that come into the queue are left to
    /// the driver: a thread that took one of them would compete with the driver for the interpreter. `CPython`'s lock
    /// has no order: a thread that releases the lock can take it again before a waiting thread has woken.
    pub fn attach_driver(&self, post: &Post<D>, attach: impl FnOnce()) -> Held {
        post.attaching.store(ATTACHING, Ordering::SeqCst);
        self.attaching.fetch_add(1, Ordering::SeqCst);
        attach();
        self.attaching.fetch_sub(1, Ordering::SeqCst);
        let is_starved = post.attaching.swap(CALM, Ordering::SeqCst) == STARVED;
        if is_starved {
            self.starved.fetch_sub(1, Ordering::SeqCst);
        }
        if !self.holds_back() {
            return Held::Nothing;
        }
        // The watch calls up other threads if a request of this thread takes long.
        self.taken_along.store(true, Ordering::SeqCst);
        if is_starved { Held::Many } else { Held::Some }
    }

    /// Notes that a thread runs the quick requests that had queued when it got the interpreter: no driver tries to get
    /// the interpreter meanwhile.
    pub fn begin_taking(&self) {
        self.taking.fetch_add(1, Ordering::SeqCst);
    }

    /// Notes that the thread is done with the quick requests that it took along.
    pub fn end_taking(&self) {
        self.taking.fetch_sub(1, Ordering::SeqCst);
    }

    /// Takes the interpreter for a thread with a request from the queue; the next such thread is called up afterwards.
    /// Only one such thread waits at a time: threads get the interpreter in no order, so one thread of many could wait
    /// for ever; the queue has an order.
    pub fn attach_worker(&self, now_ms: u64, attach: impl FnOnce()) {
        self.attaching.fetch_add(1, Ordering::SeqCst);
        attach();
        self.attaching.fetch_sub(1, Ordering::SeqCst);
        self.call_up_rest(now_ms);
    }

    /// Whether one more thread would only wait for the interpreter beside another thread.
    fn is_crowded(&self) -> bool {
        self.starved.load(Ordering::Relaxed) > 0 || self.attaching.load(Ordering::Relaxed) > 0
    }

    /// Whether requests were left to a thread since the last call.
    pub fn left_some(&self) -> bool {
        self.taken_along.swap(false, Ordering::SeqCst)
    }

    /// Gives free slots to requests that were left to a thread and that it has not taken.
    pub fn call_up_rest(&self, now_ms: u64) {
        if self.holds_back() {
            self.call_up_now(self.lock(), now_ms);
        }
    }

    /// Whether a driver that tried to get the interpreter would only wait, because another thread has waited long for
    /// it, or runs the requests that it took along from the queue.
    pub fn is_starved(&self) -> bool {
        self.starved.load(Ordering::Relaxed) > 0 || self.taking.load(Ordering::Relaxed) > 0
    }

    /// Whether any thread waits for the interpreter.
    pub fn wants_interpreter(&self) -> bool {
        self.is_crowded()
    }

    /// Notes that a loop has ended. After the last loop, idle threads leave at once, and other threads when they come
    /// free.
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

    /// The threads for which `fits` returns a value, each with that value.
    pub fn posts<T>(&self, fits: impl Fn(&D::Own) -> Option<T>) -> Vec<(Arc<Post<D>>, T)> {
        let roster = self.lock();
        roster.posts.iter().filter_map(|post| Some((Arc::clone(post), fits(&post.own)?))).collect()
    }

    /// A thread of the crew that fits.
    pub fn find(&self, fits: impl Fn(&Post<D>) -> bool) -> Option<Arc<Post<D>>> {
        self.lock().posts.iter().find(|post| fits(post)).map(Arc::clone)
    }

    /// Counts the threads, and how many of them are inside the application: in a call on a loop, or `busy`, and not
    /// parked.
    pub fn threads(&self, busy: impl Fn(&D::Own) -> bool) -> (usize, usize) {
        let roster = self.lock();
        let inside = |post: &&Arc<Post<D>>| post.errands.load(Ordering::Relaxed) % 2 == 1 || busy(&post.own);
        let inside = roster.posts.iter().filter(inside).count();
        (roster.posts.len(), inside.saturating_sub(roster.parked))
    }

    /// Slots that no thread has.
    pub fn slots_free(&self) -> usize {
        self.lock().slots_free
    }

    /// Says what is wrong if there is work that a thread could do, and no thread does it. If two calls a moment apart
    /// both complain, a wake-up was lost and the crew is stuck.
    #[cfg(debug_assertions)]
    pub fn complaint(&self) -> Option<String> {
        let roster = self.lock();
        let (idle, entering) =
            (roster.idle.len(), roster.idle.iter().filter(|post| roster.may_work(post)).count());
        let (offered, waiting, free) = (roster.offered.len(), roster.queue.len(), roster.slots_free);
        let crowded = self.is_crowded();
        let wrong = (offered > 0 && idle > 0)
            || (free > 0 && !roster.resuming.is_empty())
            || (waiting > 0 && free > roster.wanted && entering > 0 && !crowded)
            || free > self.slots;
        wrong.then(|| {
            format!(
                "{idle} threads idle, {entering} may work; {offered} loops offered, {waiting} requests waiting, \
                 {free} of {} slots free, {} resuming, crowded: {crowded}",
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
        post.enters && (post.worked.load(Ordering::Relaxed) || self.fresh > self.reserve || self.is_short)
    }

    /// The idle thread that takes the next request: if possible, a thread that has worked.
    fn worker(&self) -> Option<usize> {
        let worked = |post: &Arc<Post<D>>| post.enters && post.worked.load(Ordering::Relaxed);
        let at = self.idle.iter().rposition(worked);
        at.or_else(|| self.idle.iter().rposition(|post| self.may_work(post)))
    }

    /// The number of idle threads that could take a request with the free slots.
    fn free_workers(&self) -> usize {
        let idle = self.idle.iter().filter(|post| self.may_work(post)).count();
        idle.min(self.slots_free.saturating_sub(self.wanted))
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

/// A loop that was taken from its seat, and the post that has the seat.
pub type Taken<D> = (Box<<D as Duties>::Loop>, Arc<Post<D>>);

/// The state of a loop at the watch's last look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    post: usize,
    errand: usize,
    /// Whether anything had changed.
    pub moved: bool,
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    struct Plain;

    const SIZE: Size = Size { loops: 1, slots: 2, reserve: 0, queue_max: 10, queue_timeout_ms: 1_000 };

    const AT_ONCE: QueueTimes = QueueTimes { since_ms: 0, now_ms: 0 };

    impl Duties for Plain {
        type Loop = ();
        type Job = u32;
        type Own = ();
    }

    /// A loop that has no slot gets the next slot that comes free, and the queue gets the slot after that.
    #[test]
    fn a_loop_comes_before_the_queue() {
        let crew = Crew::<Plain>::new(SIZE);
        let post = crew.join(true, ());
        let mut claims = [SlotClaim::default(), SlotClaim::default(), SlotClaim::default()];
        assert!(crew.take_slot(&mut claims[0]) && crew.take_slot(&mut claims[1]));
        assert!(!crew.take_slot(&mut claims[2]) && claims[2].wanted, "both are taken");
        assert_eq!(Ok(()), crew.submit(7, AT_ONCE, None, &mut Called::empty()));

        crew.give_slot(&mut claims[0], 0);
        assert_eq!((1, 1), (crew.slots_free(), crew.waiting()), "it is kept for the loop");
        assert!(crew.take_slot(&mut claims[2]) && !claims[2].wanted);
        crew.give_slot(&mut claims[1], 0);
        let duty = crew.next(&post, &mut false, 0, || ());
        assert!(matches!(duty, Duty::Work(7)), "the next one is the queue's");
    }

    /// A loop that no longer waits for a slot, or gives its slot up, leaves the slot to the queue.
    #[test]
    fn a_loop_without_quick_calls_wants_nothing() {
        let crew = Crew::<Plain>::new(SIZE);
        let post = crew.join(true, ());
        let mut claims = [SlotClaim::default(), SlotClaim::default(), SlotClaim::default()];
        assert!(crew.take_slot(&mut claims[0]) && crew.take_slot(&mut claims[1]));
        assert!(!crew.take_slot(&mut claims[2]), "both are taken");
        assert_eq!(Ok(()), crew.submit(7, AT_ONCE, Some(&mut claims[0]), &mut Called::empty()));
        assert_eq!((false, 1), (claims[0].held, crew.slots_free()));

        crew.give_slot(&mut claims[2], 0);
        assert_eq!(SlotClaim::default(), claims[2]);
        let mut slot = false;
        assert!(matches!(crew.next(&post, &mut slot, 0, || ()), Duty::Work(7)));
        assert_eq!((true, 0), (slot, crew.slots_free()));
    }

    /// If threads are missing, none is reserved for the loops: otherwise the queue would have no thread.
    #[test]
    fn a_short_crew_has_no_reserve() {
        let crew = Crew::<Plain>::new(Size { reserve: 2, ..SIZE });
        let posts: Vec<_> = (0..4).map(|_| crew.join(true, ())).collect();
        let mut slots = [false; 2];
        for (post, slot) in posts.iter().zip(&mut slots) {
            assert_eq!(Ok(()), crew.submit(1, AT_ONCE, None, &mut Called::empty()));
            assert!(matches!(crew.next(post, slot, 0, || ()), Duty::Work(_)));
            assert!(crew.park(0), "one is missing");
        }
        assert_eq!(Ok(()), crew.submit(7, AT_ONCE, None, &mut Called::empty()));
        assert!(!crew.lock().may_work(&posts[2]), "both that are left are the reserve");

        assert!(crew.manages_without(0));
        assert!(matches!(crew.next(&posts[2], &mut false, 0, || ()), Duty::Work(7)));
        assert!(crew.park(0) && !crew.manages_without(0), "the last one is for the loop");
        crew.unpark(&posts[0]);
        crew.unpark(&posts[1]);
        assert!(crew.lock().is_short, "one is missing still");
        crew.give_slot(&mut SlotClaim { held: true, wanted: false }, 0);
        crew.unpark(&posts[2]);
        assert!(!crew.lock().is_short);
    }

    /// A thread that is done makes room for one request beyond the limit of the queue, until the thread has taken a
    /// request or comes for one.
    #[test]
    fn who_is_done_makes_room() {
        let crew = Crew::<Plain>::new(Size { slots: 4, queue_max: 1, ..SIZE });
        let busy = crew.join(true, ());
        let submit = |job| crew.submit(job, AT_ONCE, None, &mut Called::empty());
        assert_eq!((Ok(()), Err(2)), (submit(1), submit(2)));

        crew.note_done(&busy);
        crew.note_done(&busy);
        assert_eq!((Ok(()), Err(3)), (submit(2), submit(3)), "it is done once");

        assert_eq!(Some(1), crew.withdraw(|&job| job == 1));
        crew.note_back(&busy);
        assert_eq!(Err(3), submit(3), "it is busy again");
    }

    /// While one thread waits for the interpreter, no other thread waits beside it, and no request is forgotten.
    #[test]
    fn one_waits_for_the_interpreter() {
        let crew = Crew::<Plain>::new(Size { slots: 4, ..SIZE });
        let idle = crew.join(true, ());
        crew.lock().idle.push(Arc::clone(&idle));
        crew.attach_worker(0, || {
            assert_eq!(Ok(()), crew.submit(7, AT_ONCE, None, &mut Called::empty()));
            assert_eq!(1, crew.waiting(), "it waits although a thread is idle");
        });
        assert_eq!(0, crew.waiting());
        assert!(idle.assignment.take().is_some_and(|duty| matches!(*duty, Duty::Work(7))));
    }

    /// A driver that has lost its loop while it waited for the interpreter takes along the requests that have queued
    /// since.
    #[test]
    fn a_starved_driver_takes_the_queue_along() {
        let crew = Crew::<Plain>::new(Size { slots: 4, ..SIZE });
        let (driver, idle) = (crew.join(true, ()), crew.join(true, ()));
        crew.begin_driving(0, &driver);
        driver.begin_errand();
        driver.publish(Box::new(()));
        crew.lock().idle.push(Arc::clone(&idle));
        let held = crew.attach_driver(&driver, || {
            let mut look = Look::default();
            assert!(crew.look(0, &mut look, |()| true).is_none());
            assert!(crew.look(0, &mut look, |()| true).is_some(), "it loses the loop");
            for job in [1, 2] {
                assert_eq!(Ok(()), crew.submit(job, AT_ONCE, None, &mut Called::empty()));
            }
        });

        assert_eq!(Held::Many, held);
        assert!(crew.left_some() && !crew.left_some());
        assert_eq!((Some(2), 1), (crew.withdraw(|&job| job == 2), crew.waiting()));
        crew.call_up_rest(0);
        assert!(idle.assignment.take().is_some_and(|duty| matches!(*duty, Duty::Work(1))));
    }
}
