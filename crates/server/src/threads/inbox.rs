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
    /// What is left of the answer.
    pub(crate) left: Left,
    /// Whether nothing was asked, because the client has gone.
    pub(crate) is_departed: bool,
    /// The endpoint whose call was measured, and how that was.
    pub(crate) learned: Option<(Endpoint, Pace)>,
}

impl Return {
    /// Whether nothing is left to do for the connection but to wait for the next request.
    fn is_idle(&self) -> bool {
        matches!(self.left, Left::Nothing) && !self.is_departed && self.exchange.is_answered()
    }
}

/// Where a loop finds what other threads give back.
pub(crate) struct Inbox {
    returns: Mutex<Vec<Return>>,
    /// Connections whose tickets are redeemed.
    redeemed: Mutex<Vec<usize>>,
    /// What is to be served from now on, with the loop's folders for it.
    plan: Mutex<Option<(Arc<Plan>, Vec<Folder>)>>,
    pub(crate) filled: AtomicBool,
    /// Whether the loop waits for the kernel.
    pub(crate) asleep: AtomicBool,
    /// Connections that are away while something has come for them.
    pub(crate) missed: AtomicUsize,
    /// Ends of answers whose clients have gone that wait in the queue, or are in the hands of threads without the loop.
    pub(crate) discards: AtomicUsize,
    pub(crate) wake: Arc<Wake>,
    /// Whether the loop has been woken, and says so, since it was asked for.
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
            // It was not asked for yet.
            heard: AtomicBool::new(true),
        }
    }

    /// Gives a connection back. One with nothing left to do can wait until the loop wakes for another reason: its
    /// client's next request is one, and a switch of threads is saved.
    pub(crate) fn put(&self, back: Return, stopping: bool) {
        let idle = !stopping && back.is_idle();
        lock(&self.returns).push(back);
        self.filled.store(true, Ordering::SeqCst);
        // SeqCst on both sides: either the loop sees that there is something, or we see it asleep, and what it missed.
        let urgent = !idle || self.missed.load(Ordering::SeqCst) > 0;
        if urgent && self.asleep.swap(false, Ordering::SeqCst) {
            self.wake.wake();
        }
    }

    pub(crate) fn take(&self) -> Vec<Return> {
        self.filled.store(false, Ordering::SeqCst);
        std::mem::take(&mut *lock(&self.returns))
    }

    /// Has the loop serve something else from its next request on. The caller wakes it.
    pub(crate) fn put_plan(&self, plan: Arc<Plan>, folders: Vec<Folder>) {
        *lock(&self.plan) = Some((plan, folders));
        self.filled.store(true, Ordering::SeqCst);
    }

    /// What is to be served from now on, if that is something else. To be called after [`Inbox::take`].
    pub(crate) fn take_plan(&self) -> Option<(Arc<Plan>, Vec<Folder>)> {
        lock(&self.plan).take()
    }

    /// Connections whose tickets were redeemed since this was asked last. To be asked after [`Inbox::take`].
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
