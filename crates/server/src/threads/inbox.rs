//! The way back from the threads that call the application to the loop.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use adyton_files::Folder;
use adyton_sys::wake::Wake;

use crate::answering::exchange::Exchange;
use crate::answering::outcome::Left;
use crate::lock::lock;
use crate::site::plan::Plan;
use crate::threads::endpoints::Endpoint;
use crate::threads::home::Home;
use crate::threads::pace::Pace;

/// An exchange on its way back to its loop.
pub(crate) struct Return {
    pub(crate) exchange: Box<Exchange>,
    /// The rest of the answer.
    pub(crate) left: Left,
    /// Whether the application was not called, because the client has gone.
    pub(crate) is_departed: bool,
    /// The endpoint whose call was measured, and the pace of that call.
    pub(crate) learned: Option<(Endpoint, Pace)>,
}

impl Return {
    /// Whether the connection only has to wait for the next request.
    fn is_idle(&self) -> bool {
        matches!(self.left, Left::Nothing) && !self.is_departed && self.exchange.is_answered()
    }
}

/// The place where a loop finds exchanges that other threads give back.
pub(crate) struct Inbox {
    returns: Mutex<Vec<Return>>,
    /// Connections whose tickets are redeemed.
    redeemed: Mutex<Vec<usize>>,
    /// The plan to serve from now on, with the loop's folders for it.
    plan: Mutex<Option<(Arc<Plan>, Vec<Folder>)>>,
    pub(crate) filled: AtomicBool,
    /// Whether the loop waits for the kernel.
    pub(crate) asleep: AtomicBool,
    /// Number of connections for which something has come while they are away.
    pub(crate) missed: AtomicUsize,
    /// Number of errands whose only work is to drop the rest of an answer, and that wait in the queue or are run by
    /// threads without the loop.
    pub(crate) discards: AtomicUsize,
    pub(crate) wake: Arc<Wake>,
    /// Whether the loop has reported that it was woken, after it was last asked.
    pub(crate) heard: AtomicBool,
}

impl Inbox {
    pub(crate) fn new(wake: Arc<Wake>) -> Self {
        let flag = || AtomicBool::new(false);
        Self {
            returns: Mutex::new(Vec::new()),
            redeemed: Mutex::new(Vec::new()),
            plan: Mutex::new(None),
            filled: flag(),
            asleep: flag(),
            missed: AtomicUsize::new(0),
            discards: AtomicUsize::new(0),
            wake,
            // A loop that was not asked yet does not count as silent.
            heard: AtomicBool::new(true),
        }
    }

    /// Gives a connection back. A connection with nothing left to do can wait until the loop wakes for another reason,
    /// such as its client's next request: that saves a switch of threads.
    pub(crate) fn put(&self, back: Return, stopping: bool) {
        let idle = !stopping && back.is_idle();
        lock(&self.returns).push(back);
        self.filled.store(true, Ordering::SeqCst);
        // SeqCst on both sides: either the loop sees that the inbox is filled, or this thread sees the loop asleep, and
        // the count of `missed`.
        let urgent = !idle || self.missed.load(Ordering::SeqCst) > 0;
        if urgent && self.asleep.swap(false, Ordering::SeqCst) {
            self.wake.wake();
        }
    }

    pub(crate) fn take(&self) -> Vec<Return> {
        self.filled.store(false, Ordering::SeqCst);
        std::mem::take(&mut *lock(&self.returns))
    }

    /// Has the loop serve another plan from its next request on. The caller wakes the loop.
    pub(crate) fn put_plan(&self, plan: Arc<Plan>, folders: Vec<Folder>) {
        *lock(&self.plan) = Some((plan, folders));
        self.filled.store(true, Ordering::SeqCst);
    }

    /// Takes the plan to serve from now on, if it is a new one. To be called after [`Inbox::take`].
    pub(crate) fn take_plan(&self) -> Option<(Arc<Plan>, Vec<Folder>)> {
        lock(&self.plan).take()
    }

    /// Takes the connections whose tickets were redeemed since the last call. To be called after [`Inbox::take`].
    pub(crate) fn take_redeemed(&self) -> Vec<usize> {
        std::mem::take(&mut *lock(&self.redeemed))
    }
}

impl Home for Inbox {
    fn redeemed(&self, key: usize) {
        lock(&self.redeemed).push(key);
        self.filled.store(true, Ordering::SeqCst);
        if self.asleep.swap(false, Ordering::SeqCst) {
            self.wake.wake();
        }
    }
}
