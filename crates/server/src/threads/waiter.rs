//! Lets a thread wait for a client from deep inside the application, in the way that its driver has set.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

/// Lets other threads have the loop and the slot of a thread while that thread waits.
pub(crate) trait Waiter {
    /// Calls `wait`, which blocks, while other threads go on.
    ///
    /// # Errors
    ///
    /// The error of `wait`; or no thread is left to go on meanwhile, and `wait` was not called.
    fn wait(&self, wait: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()>;
}

thread_local! {
    /// The waiter of this thread, while it works for a server.
    static WAITER: RefCell<Option<Rc<dyn Waiter>>> = const { RefCell::new(None) };
}

/// Sets the waiter of this thread, or removes it.
pub(crate) fn set_waiter(waiter: Option<Rc<dyn Waiter>>) {
    WAITER.set(waiter);
}

/// Waits for a client inside a call of the application, detached: other threads have the loop and the slot meanwhile.
///
/// # Errors
///
/// The error of `wait`; or no thread is left to go on meanwhile.
pub(crate) fn wait_for_client<R>(mut wait: impl FnMut() -> io::Result<R>) -> io::Result<R> {
    let Some(waiter) = WAITER.with_borrow(Clone::clone) else { return wait() };
    let mut made = None;
    waiter.wait(&mut || {
        made = Some(wait()?);
        Ok(())
    })?;
    made.ok_or_else(|| io::Error::other("the thread did not wait"))
}
