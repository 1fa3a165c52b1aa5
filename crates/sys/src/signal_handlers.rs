//! Signal handlers, for a process that runs an application (a supervisor has a queue instead: `signal_queue.rs`).
//!
//! Of SIGTERM and SIGINT the first asks for a clean stop, and the second ends the process at once. SIGUSR1 wakes who opens
//! the logs again, if somebody does; it is never the end.
//!
//! The handler does two things, both async-signal-safe (signal-safety(7)): an atomic count and a
//! write to an eventfd. A `signalfd` would need the signals blocked in every thread, and children
//! of the application would inherit that mask.
//!
//! They are put in place when the application is loaded, so that they come after its own. What Python code sets later,
//! which is possible on the main thread only, `adyton._load.keep_signals` keeps from the kernel.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use crate::wake::Wake;

static ASKED: AtomicU32 = AtomicU32::new(0);
static STOP_WAKE: AtomicI32 = AtomicI32::new(-1);
static USER1_WAKE: AtomicI32 = AtomicI32::new(-1);

const SIGNALS: [libc::c_int; 3] = [libc::SIGTERM, libc::SIGINT, libc::SIGUSR1];

/// Sends the calling thread, and no other, a signal (raise(3)): its handler has run when this returns.
///
/// # Errors
///
/// There is no such signal.
pub fn raise(signal: i32) -> io::Result<()> {
    // SAFETY: nothing is read or written.
    match unsafe { libc::raise(signal) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The handlers in place; dropping it puts the former ones back.
pub struct Handlers {
    former: [libc::sigaction; SIGNALS.len()],
    // Kept open for as long as the handler may write to them.
    _wakes: (Arc<Wake>, Option<Arc<Wake>>),
}

impl Handlers {
    /// Takes over SIGTERM and SIGINT, each of which wakes `stop`, and SIGUSR1, which wakes `user1` or nobody.
    ///
    /// # Errors
    ///
    /// As sigaction(2); or `ResourceBusy` when another server of this process holds them.
    pub fn install(stop: Arc<Wake>, user1: Option<Arc<Wake>>) -> io::Result<Self> {
        if STOP_WAKE.compare_exchange(-1, stop.raw(), Ordering::SeqCst, Ordering::SeqCst).is_err() {
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, "a server already runs in this process"));
        }
        USER1_WAKE.store(user1.as_ref().map_or(-1, |wake| wake.raw()), Ordering::SeqCst);
        ASKED.store(0, Ordering::SeqCst);
        // SAFETY: all-zero is a valid `sigaction` (no flags, empty mask, default action).
        let mut former: [libc::sigaction; SIGNALS.len()] = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        let handler: extern "C" fn(libc::c_int) = on_signal;
        action.sa_flags = libc::SA_RESTART;
        for (signal, former) in SIGNALS.into_iter().zip(&mut former) {
            // To a worker its supervisor says so, but who sends SIGUSR1 to all of them must not end them.
            let ignores = signal == libc::SIGUSR1 && user1.is_none();
            action.sa_sigaction = if ignores { libc::SIG_IGN } else { handler as libc::sighandler_t };
            // SAFETY: both point to whole `sigaction`s; the handler is async-signal-safe.
            if unsafe { libc::sigaction(signal, &raw const action, former) } == -1 {
                forget_wakes();
                return Err(io::Error::last_os_error());
            }
        }
        Ok(Self { former, _wakes: (stop, user1) })
    }

    /// Whether a stop was asked for.
    pub fn stop_asked(&self) -> bool {
        ASKED.load(Ordering::Relaxed) > 0
    }
}

impl Drop for Handlers {
    fn drop(&mut self) {
        for (signal, former) in SIGNALS.into_iter().zip(&self.former) {
            // SAFETY: `former` is what sigaction(2) itself gave us.
            unsafe { libc::sigaction(signal, former, std::ptr::null_mut()) };
        }
        forget_wakes();
    }
}

fn forget_wakes() {
    STOP_WAKE.store(-1, Ordering::SeqCst);
    USER1_WAKE.store(-1, Ordering::SeqCst);
}

extern "C" fn on_signal(signal: libc::c_int) {
    let is_user1 = signal == libc::SIGUSR1;
    if !is_user1 && ASKED.fetch_add(1, Ordering::SeqCst) > 0 {
        // SAFETY: `_exit` is async-signal-safe; the second signal means "at once".
        unsafe { libc::_exit(128 + signal) };
    }
    let wake = if is_user1 { &USER1_WAKE } else { &STOP_WAKE }.load(Ordering::SeqCst);
    if wake >= 0 {
        let one = 1u64.to_ne_bytes();
        // SAFETY: `errno` belongs to this thread; the interrupted code must find it unchanged.
        let errno = unsafe { *libc::__errno_location() };
        // SAFETY: `write` is async-signal-safe, reads 8 bytes of `one`, and `wake` stays open
        // while the handler is installed.
        unsafe { libc::write(wake, one.as_ptr().cast(), one.len()) };
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = errno };
    }
}
