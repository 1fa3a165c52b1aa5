//! A thread's hold on the loop that it drives, or on a request alone, and how the thread lets other threads have them.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use adyton_crew::{Held, Post};
use adyton_sys::clock;

use crate::answering::reply::Holder;
use crate::board::tally::Histogram;
use crate::client::outbox::Outbox;
use crate::event_loop::Loop;
use crate::lock::lock;
use crate::threads::pace::Waited;
use crate::threads::shared::{Http, Shared};
use crate::threads::waiter::Waiter;

/// Threads that may wait for their clients without a slot, besides the threads inside the application; further threads
/// keep their slots.
const PARKED_MAX: usize = 1024;

/// Time between two items of a stream: items that come faster are sent together.
const QUICK_ITEM_US: u64 = 100;

/// A thread's hold on its loop, or on a request alone.
#[expect(clippy::struct_excessive_bools, reason = "each says something else, and all combinations occur")]
pub(crate) struct Hand {
    pub(crate) shared: Arc<Shared>,
    pub(crate) post: Arc<Post<Http>>,
    /// The loop, while this thread holds it.
    pub(crate) driven: Option<Box<Loop>>,
    /// Whether the errand at hand has no loop to come back to.
    pub(crate) late: bool,
    /// Whether this thread has a slot of its own.
    pub(crate) slot: bool,
    attached: bool,
    /// The time at which this thread last lent an outbox while late.
    lent_us: u64,
    /// Bytes of the answer's body at that time.
    lent_body_bytes: u64,
    /// Number of outboxes lent with unsent bytes.
    lent_times: usize,
    /// Whether it also has to run the requests that have queued while it waited long for the interpreter.
    pub(crate) takes_along: bool,
    /// Whether other threads are to be called up for requests that were left to this thread.
    pub(crate) leaves_rest: bool,
    /// Its wait for the interpreter since its errand began.
    pub(crate) waited: Waited,
}

impl Hand {
    /// Makes the empty hand of a new thread.
    pub(crate) fn new(shared: Arc<Shared>, post: Arc<Post<Http>>) -> Self {
        Self {
            shared,
            post,
            driven: None,
            late: false,
            slot: false,
            attached: false,
            lent_us: 0,
            lent_body_bytes: 0,
            lent_times: 0,
            takes_along: false,
            leaves_rest: false,
            waited: Waited::default(),
        }
    }

    /// Lets other threads have the loop, if this thread holds it, while the application has the thread.
    pub(crate) fn lend_loop(&mut self) {
        if let Some(driven) = self.driven.take() {
            self.shared.publish(&self.post, driven);
        }
    }

    /// Sends the bytes written so far, which must not wait for the application, and lends the outbox. But items that
    /// come one right after the other are left to be sent together: a system call for each would take ten times as long
    /// as the items.
    fn lend_late(&mut self, mut outbox: Box<Outbox>, body_bytes: u64) {
        let now_us = clock::monotonic_us();
        if std::mem::replace(&mut self.lent_body_bytes, body_bytes) != body_bytes {
            self.post.own.item_ms.store(now_us / 1000, Ordering::Relaxed);
        }
        let since_us = now_us.saturating_sub(std::mem::replace(&mut self.lent_us, now_us));
        let is_watched = self.shared.watch.get().is_some();
        if is_watched && since_us < QUICK_ITEM_US && !outbox.output.is_empty() {
            self.lent_times += 1;
            self.shared.lend_unsent(&self.post, outbox, self.lent_times);
        } else {
            outbox.send();
            self.post.own.lent.put(outbox);
        }
    }

    /// Takes the loop back with the lent outbox, or finds that this thread is late.
    pub(crate) fn reclaim_loop(&mut self) -> Option<Box<Outbox>> {
        let Some(mut driven) = self.post.reclaim() else {
            self.become_late();
            return None;
        };
        let outbox = driven.calls.lent.take();
        self.driven = Some(driven);
        outbox
    }

    /// Leaves the loop's slot to this thread, which is late from now on.
    fn become_late(&mut self) {
        self.late = true;
        self.slot = true;
    }

    /// Gives the loop up, if this thread still has it, because it is about to wait.
    pub(crate) fn give_up(&mut self) {
        if !self.late {
            if let Some(driven) = self.driven.take() {
                give_up(&self.shared, &self.post, driven);
            }
            self.become_late();
        }
    }

    /// Takes the interpreter, which the application's calls need.
    pub(crate) fn take_interpreter(&mut self) {
        if !self.attached
            && let Some(host) = &self.shared.host
        {
            let since_us = clock::monotonic_us();
            let mut waited_us = 0;
            let attach = || {
                host.attach();
                waited_us = clock::monotonic_us() - since_us;
            };
            if self.late {
                self.shared.crew.attach_worker(since_us / 1000, attach);
            } else {
                let held = self.shared.crew.attach_driver(&self.post, attach);
                if held != Held::Nothing {
                    self.takes_along = held == Held::Many;
                    self.leaves_rest = true;
                    self.shared.wake_watch();
                }
            }
            self.shared.tally.observe(Histogram::InterpreterWait, waited_us);
            self.waited.add(waited_us);
            self.attached = true;
        }
    }

    pub(crate) fn detach(&mut self) {
        if std::mem::take(&mut self.attached)
            && let Some(host) = &self.shared.host
        {
            host.detach();
        }
    }
}

impl Holder for Hand {
    fn attach(&mut self) {
        self.take_interpreter();
    }

    fn lend(&mut self, outbox: Box<Outbox>, body_bytes: u64) {
        if let Some(mut driven) = self.driven.take() {
            driven.calls.lent = Some(outbox);
            self.shared.publish(&self.post, driven);
        } else {
            self.lend_late(outbox, body_bytes);
        }
    }

    fn reclaim(&mut self) -> Box<Outbox> {
        loop {
            if !self.late {
                if let Some(outbox) = self.reclaim_loop() {
                    return outbox;
                }
            } else if let Some(outbox) = self.post.own.lent.take() {
                return outbox;
            } else {
                // The thread that has taken the loop is about to put the outbox here.
                std::thread::yield_now();
            }
        }
    }

    fn is_late(&self) -> bool {
        self.late
    }

    fn may_wait(&self) -> bool {
        self.shared.crew.slots() > 1
    }

    fn park(&mut self, wait: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
        self.give_up();
        park(&self.shared, &self.post, PARKED_MAX, wait)
    }
}

fn give_up(shared: &Shared, post: &Post<Http>, mut driven: Box<Loop>) {
    driven.relieve(post);
    shared.crew.offer(driven);
}

/// Waits for a client: without a slot, unless `parked_max` other threads wait without one already.
fn park(
    shared: &Shared,
    post: &Arc<Post<Http>>,
    parked_max: usize,
    wait: &mut dyn FnMut() -> io::Result<()>,
) -> io::Result<()> {
    let crew = &shared.crew;
    let since_ms = clock::monotonic_ms();
    if let Some(task) = &mut *lock(&post.own.task) {
        task.park();
    }
    let gives_slot = crew.slots() > 1 && crew.parked() < parked_max;
    let lacks = gives_slot && crew.park(since_ms);
    let spawned = lacks && shared.host.as_ref().is_some_and(|host| host.spawn());
    let waited = if !lacks || spawned || crew.manages_without(since_ms) {
        wait()
    } else {
        Err(io::Error::other(
            "no other thread can be started, and the threads that do not wait for a client are needed",
        ))
    };
    if gives_slot {
        crew.unpark(post);
    }
    if let Some(task) = &mut *lock(&post.own.task) {
        let waited_ms = clock::monotonic_ms() - since_ms;
        task.unpark(waited_ms);
        // The beginning of the task was moved by this wait. The time of the last item is moved, too, so that it does
        // not fall before that beginning.
        post.own.item_ms.fetch_add(waited_ms, Ordering::Relaxed);
    }
    waited
}

/// A server, and a thread's place there, which the thread needs in order to wait from deep inside the application.
pub(crate) struct Employment {
    pub(crate) shared: Arc<Shared>,
    pub(crate) post: Arc<Post<Http>>,
}

impl Waiter for Employment {
    fn wait(&self, wait: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
        if let Some(driven) = self.post.reclaim() {
            give_up(&self.shared, &self.post, driven);
        }
        // Bodies that are read live have a limit of their own.
        park(&self.shared, &self.post, usize::MAX, wait)
    }
}
