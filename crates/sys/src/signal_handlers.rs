//! Signal handlers, for a process that runs an application (a supervisor has a queue instead: `signal_queue.rs`).
//!
//! Of SIGTERM and SIGINT the first asks for a clean stop, and the second ends the process at once; SIGUSR1 does nothing.
//!
//! The handler does two things, both async-signal-safe (signal-safety(7)): an atomic count and a
//! write to an eventfd. A `signalfd` would need the signals blocked in every thread, and children
//! of the application would inherit that mask.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use crate::wake::Wake;

static ASKED: AtomicU32 = AtomicU32::new(0);
static WAKE: AtomicI32 = AtomicI32::new(-1);

const SIGNALS: [libc::c_int; 3] = [libc::SIGTERM, libc::SIGINT, libc::SIGUSR1];

/// The handlers in place; dropping it puts the former ones back.
pub struct Stop {
    former: [libc::sigaction; SIGNALS.len()],
    // Kept open for as long as the handler may write to it.
    _wake: Arc<Wake>,
}

impl Stop {
    /// Takes over SIGTERM and SIGINT; each of them wakes `wake`.
    ///
    /// # Errors
    ///
    /// As sigaction(2); or `ResourceBusy` when another server of this process holds them.
    pub fn install(wake: Arc<Wake>) -> io::Result<Self> {
        if WAKE.compare_exchange(-1, wake.raw(), Ordering::SeqCst, Ordering::SeqCst).is_err() {
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, "a server already runs in this process"));
        }
        ASKED.store(0, Ordering::SeqCst);
        // SAFETY: all-zero is a valid `sigaction` (no flags, empty mask, default action).
        let mut former: [libc::sigaction; SIGNALS.len()] = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        let handler: extern "C" fn(libc::c_int) = on_signal;
        action.sa_flags = libc::SA_RESTART;
        for (signal, former) in SIGNALS.into_iter().zip(&mut former) {
            // A supervisor opens logs again at SIGUSR1. Without one nobody does, and it must not be the end.
            let ignores = signal == libc::SIGUSR1;
            action.sa_sigaction = if ignores { libc::SIG_IGN } else { handler as libc::sighandler_t };
            // SAFETY: both point to whole `sigaction`s; the handler is async-signal-safe.
            if unsafe { libc::sigaction(signal, &raw const action, former) } == -1 {
                WAKE.store(-1, Ordering::SeqCst);
                return Err(io::Error::last_os_error());
            }
        }
        Ok(Self { former, _wake: wake })
    }

    /// Whether a stop was asked for.
    pub fn asked(&self) -> bool {
        ASKED.load(Ordering::Relaxed) > 0
    }
}

impl Drop for Stop {
    fn drop(&mut self) {
        for (signal, former) in SIGNALS.into_iter().zip(&self.former) {
            // SAFETY: `former` is what sigaction(2) itself gave us.
            unsafe { libc::sigaction(signal, former, std::ptr::null_mut()) };
        }
        WAKE.store(-1, Ordering::SeqCst);
    }
}

extern "C" fn on_signal(signal: libc::c_int) {
    if ASKED.fetch_add(1, Ordering::SeqCst) > 0 {
        // SAFETY: `_exit` is async-signal-safe; the second signal means "at once".
        unsafe { libc::_exit(128 + signal) };
    }
    let wake = WAKE.load(Ordering::SeqCst);
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
